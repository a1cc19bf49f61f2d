"""DiffPart: the worked examples, what a chain spends, and exactly how much one set more can change."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from math import exp, sqrt
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock
from penstock.audit.hostile import Ground, trial
from penstock.audit.replay import replay
from penstock.errors import SchemaError, UsageError
from penstock.kinds.itemsets.data import ItemSets
from penstock.kinds.itemsets.diffpart import DiffPart, part_factor, set_factor
from penstock.kinds.itemsets.item_tree import ItemTree, Operation
from penstock.kinds.itemsets.release import SetsRelease
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.laws.passing import Passed, Passing, log_tail
from penstock.privacy.mechanisms.chains import Chain, least_above
from penstock.privacy.randomness.generator import Law, Randomness
from penstock.privacy.randomness.logarithms import Log
from penstock.privacy.seals.sealed import open_seal
from penstock.privacy.unit import Relation
from penstock.schema import Schema

TABLE = ["1 2 3 4", "2 4", "2", "1 2", "2", "1", "1 2 3 4", "2 3 4"]


def schema(items: int, top: str = "", rest: str = "") -> Schema:
    labels = ", ".join(f"'{item}'" for item in range(1, items + 1))
    fields = f"fields: [{{name: s, constraints: {{enum: [{labels}]}}{rest}}}]"
    return Schema.from_yaml(f"{top}\nkind: itemsets\nitems: {{item: s}}\n{fields}")


def opened(rows: list[str], items: int = 4, **more: str) -> ItemSets:
    return ItemSets.open(pl.DataFrame({"s": rows}, schema={"s": pl.String}), schema(items, **more))


def fitted(
    rows: list[str], items: int = 4, epsilon: Any = 1, seed: int = 1, **parameters: Any
) -> SetsRelease:
    budget = Budget(epsilon, randomness=Randomness.seeded(seed))
    return DiffPart(**parameters).fit(opened(rows, items), budget)


class Silent(Randomness):
    """No noise: what reaches the threshold passes, and nothing else. For worked examples only."""

    __slots__ = ("laws",)

    def __init__(self) -> None:
        super().__init__(b"silent")
        self.laws: list[Law[Any]] = []

    def charged(self, charge: object) -> Randomness:
        return self

    def draw(self, law: Law[Any]) -> Any:
        self.laws.append(law)
        if not isinstance(law, Passing):
            return super().draw(law)
        above = law.table.counts >= 1
        return Passed(law.table.cells[above], law.table.counts[above] if law.told else None)


# --- the tree ---


@pytest.mark.parametrize(
    ("items", "fan_out", "groups", "height"),
    [
        (4, 2, 3, 2),
        (17, 10, 3, 2),
        (11, 10, 2, 2),
        (1012, 10, 115, 4),
        (1012, 4, 337, 5),
        (1012, 2, 1011, 10),
    ],
)
def test_the_tree_has_the_groups_of_the_literature_without_those_of_one_member(
    items: int, fan_out: int, groups: int, height: int
) -> None:
    tree = ItemTree.of(range(items), fan_out)
    assert len(tree.children) == groups == tree.inner[tree.root]
    assert tree.heights[tree.root] == height
    assert tree.bounds[tree.root].tolist() == [0, items]
    assert all(2 <= len(members) <= fan_out for members in tree.children)


def test_a_declared_taxonomy_gives_the_groups_and_their_order() -> None:
    tree = ItemTree.declared(schema(4, rest=", taxonomy: {odd: ['1', '3'], even: ['2', '4']}"), 10)
    assert tree.order.tolist() == [0, 2, 1, 3]
    assert tree.children == ((0, 1), (2, 3), (4, 5))
    wide = ItemTree.declared(schema(4, rest=", taxonomy: {all: ['1', '2', '3', '4']}"), 2)
    assert len(wide.children) == 3


def test_a_universe_of_one_item_is_counted_at_once() -> None:
    release = fitted(["1"] * 500, items=1)
    assert abs(release.count("1").value - 500) < 20
    assert release.divided == 0


@given(st.integers(1, 60), st.integers(2, 12))
@settings(max_examples=60, deadline=None)
def test_chains_always_end_and_budgets_by_remaining_groups_add_up(items: int, fan_out: int) -> None:
    """Down a random chain: shares never decrease, groups only become fewer, and the rest is left over."""
    tree = ItemTree.of(range(items), fan_out)
    rng = np.random.default_rng(items * 100 + fan_out)
    cut, left, shares = (tree.root,), Fraction(1, 2), [Fraction(0)]
    while any(node >= tree.size for node in cut):
        groups = int(tree.inner[list(cut)].sum())
        shares.append(left / groups)
        left -= shares[-1]
        open_nodes = [node for node in cut if node >= tree.size]
        operation = Operation(tree, cut, open_nodes[int(rng.integers(len(open_nodes)))])
        choice = int(rng.integers(1, 1 << len(operation.members)))
        cut = operation.cut_of(choice)
        assert (choice <= operation.whole) == all(node < tree.size for node in cut)
        assert int(tree.inner[list(cut)].sum()) < groups
    assert shares == sorted(shares)
    assert sum(shares) + left == Fraction(1, 2)


# --- worked examples ---


def test_without_noise_the_worked_example_comes_out_as_it_went_in() -> None:
    silent = Silent()
    release = DiffPart(fan_out=2).fit(opened(TABLE), Budget(1, randomness=silent))
    found = {row["items"]: row["count"] for row in release.compact().to_dicts()}
    assert found == {"1": 1, "2": 2, "1,2": 1, "2,4": 1, "2,3,4": 1, "1,2,3,4": 2}


def test_shares_and_last_counts_of_the_worked_example() -> None:
    """Root B/6, {I12} B/3, {I12, I34} B/6; the whole sets below {I12} 5B/6, those of all four items 2B/3."""
    silent = Silent()
    DiffPart(fan_out=2).fit(opened(TABLE), Budget(1, randomness=silent))
    tests = {law.rate for law in silent.laws if isinstance(law, Passing) and not law.told}
    counts = Counter(law.rate for law in silent.laws if isinstance(law, Passing) and law.told)
    assert tests == {Fraction(1, 6)}
    assert counts[Fraction(5, 6)] == 1
    assert counts[Fraction(2, 3)] >= 1
    assert set(counts) == {Fraction(5, 6), Fraction(2, 3), Fraction(1)}  # the last: sets without an item
    two = Silent()
    DiffPart(fan_out=2, leaves="two-stage").fit(opened(TABLE), Budget(1, randomness=two))
    told = {law.rate for law in two.laws if isinstance(law, Passing) and law.told}
    assert told == {Fraction(1, 2), Fraction(1)}
    tested = {law.rate for law in two.laws if isinstance(law, Passing) and not law.told}
    assert tested == {Fraction(1, 6), Fraction(1, 3)}


@pytest.mark.parametrize(
    ("items", "count"),
    [("1", 4), ("2", 7), ("3", 3), ("4", 4), ("1,2", 3), ("2,4", 4), ("3,4", 3), ("1,2,3,4", 2)],
)
def test_counts_of_the_worked_example(items: str, count: int) -> None:
    release = DiffPart(fan_out=2).fit(opened(TABLE), Budget(1, randomness=Silent()))
    assert release.count(items).value == count


@pytest.mark.parametrize(
    "parameters", [{}, {"leaves": "two-stage"}, {"allocation": "equal"}, {"keeping": "exponential"}]
)
def test_no_chain_spends_more_than_epsilon_and_the_default_exactly_that(
    parameters: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    ends: list[Fraction] = []
    original = Chain.counted

    def counted(chain: Chain, *arguments: Any) -> Any:
        found = original(chain, *arguments)
        ends.append(chain.left)
        return found

    monkeypatch.setattr(Chain, "counted", counted)
    fitted(TABLE * 200, fan_out=2, c1="1/10", c2="1/10", **parameters)
    assert len(ends) > 3
    assert set(ends) == {Fraction(0)}


# --- how much one set more can change ---


def test_the_loss_of_the_worst_output_is_exactly_epsilon() -> None:
    """Four items in pairs: from nothing to the set of all four, every step of its chain loses."""
    ground = Ground("four items", schema(4).to_yaml(), (("1 2 3 4",),))
    made = trial(
        ground, "diffpart", Relation.ADD_REMOVE, 2, parameters={"fan_out": 2, "c1": "1/100", "c2": "1/100"}
    )
    one = ((("1 2 3 4",),),)
    shares = [replay(made, one, (), seed).share for seed in range(40)]
    assert max(shares) == 1.0
    assert all(share <= 1 for share in shares)


class Forced(Silent):
    """Lets the choice of all members pass, whatever its count, and adds up how likely that was."""

    __slots__ = ("chance",)

    def __init__(self) -> None:
        super().__init__()
        self.chance = Log()

    def draw(self, law: Law[Any]) -> Any:
        if not isinstance(law, Passing) or law.rate == 1:  # the last: sets without an item
            return super().draw(law)
        last = law.table.size - 1
        count = dict(zip(law.table.cells.tolist(), law.table.counts.tolist(), strict=True)).get(last, 0)
        self.laws.append(law)
        self.chance = self.chance + log_tail(law.rate, law.least - count)
        return Passed(np.array([last]), np.array([law.least]) if law.told else None)


def test_one_set_more_makes_that_set_exactly_e_to_the_epsilon_times_as_likely() -> None:
    """The published log-ratio test in whole numbers: four items in pairs, C1 = C2 = 1, nothing and {1234}.

    With real noise the probability on nothing is 0.125 exp(-4 sqrt 2); thresholds that are rounded up to
    whole numbers, and noise that is one, change it a little. The ratio stays exp(epsilon), exactly.
    """
    found = []
    for rows in ([], ["1 2 3 4"]):
        forced = Forced()
        release = DiffPart(fan_out=2, c1=1, c2=1).fit(opened(rows), Budget(1, randomness=forced))
        assert release.sets.support([0, 1, 2, 3]) > 0
        found.append(forced.chance)
    assert (found[1] - found[0]).exact == 1
    assert float(found[1] - found[0]) == 1.0
    assert 0.3 < exp(float(found[0])) / (0.125 * exp(-4 * sqrt(2))) < 1.1


# --- thresholds and caps ---


def test_factors_follow_the_fan_out_alone() -> None:
    assert [float(part_factor(fan_out)) for fan_out in (2, 4, 8, 10)] == [2.63, 3.76, 5.77, 6.75]
    assert float(set_factor(10)) == 2.75
    assert all(set_factor(fan_out) >= 1 for fan_out in range(2, 21))


@given(
    st.fractions(min_value=Fraction(1, 100), max_value=50),
    st.fractions(min_value=Fraction(1, 10**6), max_value=2),
)
def test_thresholds_are_exact(factor: Fraction, amount: Fraction) -> None:
    """The smallest whole number k above sqrt(2) c / a: k^2 > 2 c^2/a^2 >= (k - 1)^2."""
    least = least_above(factor, amount)
    assert least**2 > 2 * (factor / amount) ** 2 >= (least - 1) ** 2


def test_an_empty_database_of_a_large_universe_ends_at_once() -> None:
    """With the factor of the paper's text it would breed without end; see `part_factor`."""
    assert all(fitted([], items=1012, seed=seed).divided <= 3 for seed in range(5))


def test_parts_beyond_the_cap_are_left_out_and_the_release_says_so() -> None:
    free = fitted(TABLE * 300, fan_out=2, c1="1/100", c2="1/100")
    capped = fitted(TABLE * 300, fan_out=2, c1="1/100", c2="1/100", most_parts=2)
    assert free.left_out == 0
    assert free.divided > 2
    assert capped.divided == 2
    assert capped.left_out > 0
    assert any("limit on their number" in text for text in capped.explain())


def test_counts_are_whole_numbers() -> None:
    release = fitted(TABLE * 200, fan_out=2)
    assert release.sets.weights.dtype == np.int64
    assert (release.sets.weights > 0).all()


def test_sets_without_items_are_counted_apart() -> None:
    release = fitted(["1"] * 300 + [""] * 200)
    assert abs(release.empty - 200) < 20
    rows = release.sample(seed=1)
    assert rows.height == release.size == release.sets.total + release.empty
    assert (rows["s"] == "").sum() == release.empty


def test_users_with_several_sets_get_more_noise() -> None:
    users = "unit: {protects: user, column: u, at_most: 25}"
    rows = pl.DataFrame({"s": ["1"] * 400, "u": [f"p{i % 40}" for i in range(400)]})
    budget = Budget(1, randomness=Randomness.seeded(1))
    silent = Silent()
    DiffPart(fan_out=2).fit(
        ItemSets.open(rows, schema(4, users), order_key=b"k"), Budget(1, randomness=silent)
    )
    rates = {law.rate for law in silent.laws if isinstance(law, Passing)}
    assert max(rates) == Fraction(1, 25)
    made = DiffPart(fan_out=2).fit(ItemSets.open(rows, schema(4, users), order_key=b"k"), budget)
    assert made.receipt.epsilon == 1


# --- refusals ---


def test_what_cannot_work_is_refused_before_anything_is_spent() -> None:
    with pytest.raises(SchemaError, match="add-remove"):
        DiffPart().check(schema(3, "relation: replace\nsize: 5"))
    with pytest.raises(UsageError, match="fan_out to at most 12"):
        DiffPart(keeping="exponential", fan_out=13).check(schema(3))
    blank = Schema.from_yaml(
        "kind: itemsets\nitems: {item: s}\nfields: [{name: s, constraints: {enum: [whole milk, tea]}}]"
    )
    with pytest.raises(SchemaError, match="'whole milk' holds a blank"):
        DiffPart().check(blank)


def test_release_without_a_method_makes_synthetic_sets() -> None:
    frame = pl.DataFrame({"s": TABLE * 300})
    release = penstock.release(frame, schema(4), epsilon=1, seed=1)
    assert release.answer == "synthetic data"
    assert release.sample(10, seed=1).columns == ["s"]


def test_what_was_dropped_comes_back_for_a_share_of_the_budget() -> None:
    """3,000 pairs of 400 items, each pair far below every threshold: their number and items are known."""
    rng = np.random.default_rng(2)
    rows = ["1"] * 9000 + [f"{one} {two}" for one, two in rng.integers(2, 401, size=(3000, 2))]
    literal, release = fitted(rows, 400, epsilon=2), fitted(rows, 400, epsilon=2, recover="1/2")
    assert release.parameters["recover"] == "1/2"
    assert release.receipt.epsilon == 2
    assert literal.number.value < 9200
    assert abs(release.number.value - 12000) < 600
    right = open_seal(opened(rows, 400).supports())[1:]
    lost, kept = (float(np.abs(one.synthetic.supports(400)[1:] - right).mean()) for one in (literal, release))
    assert kept < 0.7 * lost


def test_a_bound_of_many_sets_a_user_lets_no_more_empty_parts_pass() -> None:
    """Thresholds are as many times as high as the noise is wide: else empty parts would breed without end."""
    items = [f"i{number}" for number in range(100)]
    schema = Schema.model_validate(
        {
            "kind": "itemsets",
            "unit": {"protects": "user", "column": "who", "at_most": 10},
            "items": {"item": "basket"},
            "fields": [{"name": "basket", "constraints": {"enum": items}}],
        }
    )
    frame = pl.DataFrame({"who": ["ann"], "basket": ["i1"]})
    made = penstock.release(
        frame, schema, epsilon=1, method="diffpart", parameters={"most_parts": 300}, seed=1
    )
    assert isinstance(made, SetsRelease)
    assert made.left_out == 0
    assert made.divided < 30
    assert made.size < 1000
