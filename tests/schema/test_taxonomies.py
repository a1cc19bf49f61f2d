"""Taxonomies: trees from nested lists and mappings, and back."""

import pytest

from penstock.errors import SchemaError
from penstock.schema import Taxonomy

NESTED = {"Europe": ["France", "Italy"], "Asia": {"East": ["Japan", "Korea"], "West": ["Iran"]}}


def test_mappings_and_lists_give_the_same_tree() -> None:
    listed = [{"Europe": ["France", "Italy"]}, {"Asia": [{"East": ["Japan", "Korea"]}, {"West": "Iran"}]}]
    keyed = {"Europe": {"France": None, "Italy": None}, "Asia": NESTED["Asia"]}
    tree = Taxonomy.from_nested(NESTED)
    assert Taxonomy.from_nested(listed) == Taxonomy.from_nested(keyed) == tree
    assert tree.to_nested() == NESTED
    assert (tree.depth, tree.leaves) == (3, ("France", "Italy", "Japan", "Korea", "Iran"))


def test_a_mixed_list_survives() -> None:
    nested = ["Moon", {"Europe": ["France"]}, {"Europe": ["Italy", {"Islands": ["Malta"]}]}]
    tree = Taxonomy.from_nested(nested)
    assert tree.to_nested() == nested
    assert tree.groups(1) == [("Moon", ("Moon",)), ("Europe", ("France",)), ("Europe", ("Italy", "Malta"))]


def test_a_leaf_is_generalised_to_its_ancestor_and_a_shallow_one_stands_for_itself() -> None:
    tree = Taxonomy.from_nested(NESTED)
    assert tree.cut(2) == {
        "France": "France",
        "Italy": "Italy",
        "Japan": "East",
        "Korea": "East",
        "Iran": "West",
    }
    assert tree.cut(1)["Iran"] == "Asia"
    assert tree.under("Asia") == ("Japan", "Korea", "Iran")
    assert tree.under("France") == ()
    assert tree.inner_labels() == ("Europe", "Asia", "East", "West")


@pytest.mark.parametrize("nested", [{"a": []}, {"a": {}}, [[1]], [None], 5, "word", {"a": {"b": []}}])
def test_what_is_no_tree_is_refused(nested: object) -> None:
    with pytest.raises(SchemaError, match="taxonomy"):
        Taxonomy.from_nested(nested)


def test_leaves_and_categories_must_agree() -> None:
    tree = Taxonomy.from_nested(NESTED)
    tree.refuse_unless_covers(["Italy", "France", "Japan", "Korea", "Iran"], "land")
    with pytest.raises(SchemaError, match="land: category 'Peru' is not a leaf"):
        tree.refuse_unless_covers(["Italy", "France", "Japan", "Korea", "Iran", "Peru"], "land")
    with pytest.raises(SchemaError, match=r"leaf 'France' is not in the enum \(did you mean 'Frence'\?\)"):
        Taxonomy.from_nested(["France", "Frence"]).refuse_unless_covers(["Frence"], "land")
