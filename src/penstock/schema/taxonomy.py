"""Taxonomies: public trees that say how categories may be generalised."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from penstock.errors import SchemaError
from penstock.schema.fact import nearest

Nested = object  # what YAML and JSON give: nested mappings and lists with text at the leaves


@dataclass(frozen=True)
class Taxonomy:
    """A tree of labels; a node without children is a leaf, that is a category of the field.

    >>> tree = Taxonomy.from_nested({"Europe": ["France", "Italy"], "Asia": {"East": ["Japan"]}})
    >>> tree.leaves
    ('France', 'Italy', 'Japan')
    >>> tree.cut(1)
    {'France': 'Europe', 'Italy': 'Europe', 'Japan': 'Asia'}
    """

    label: str
    children: tuple[Taxonomy, ...] = ()

    @classmethod
    def from_nested(cls, nested: Nested, label: str = "*") -> Taxonomy:
        """Read nested mappings (group: members) and lists (members, of which some may be groups)."""
        return cls(label, tuple(_members(nested, label)))

    def to_nested(self) -> dict[str, object] | list[object]:
        """The form that ``from_nested`` reads back as the very same tree."""
        groups = [child for child in self.children if child.children]
        if len(groups) == len(self.children) == len({child.label for child in groups}):
            return {child.label: child.to_nested() for child in groups}
        return [
            {child.label: child.to_nested()} if child.children else child.label for child in self.children
        ]

    @property
    def leaves(self) -> tuple[str, ...]:
        return tuple(path[-1].label for path in self.paths())

    @property
    def depth(self) -> int:
        """The number of edges on the longest way down."""
        return 1 + max(child.depth for child in self.children) if self.children else 0

    def paths(self) -> Iterator[tuple[Taxonomy, ...]]:
        """For each leaf the nodes on the way to it, without the root."""
        for child in self.children:
            if not child.children:
                yield (child,)
            for rest in child.paths():
                yield (child, *rest)

    def cut(self, depth: int) -> dict[str, str]:
        """Each leaf's group when the tree is cut at this depth; a shallower leaf stands for itself."""
        return {path[-1].label: path[min(depth, len(path)) - 1].label for path in self.paths()}

    def groups(self, depth: int) -> list[tuple[str, tuple[str, ...]]]:
        """The nodes of that cut in tree order: label and the leaves below."""
        found: dict[int, tuple[str, list[str]]] = {}
        for path in self.paths():
            node = path[min(depth, len(path)) - 1]
            found.setdefault(id(node), (node.label, []))[1].append(path[-1].label)
        return [(label, tuple(leaves)) for label, leaves in found.values()]

    def under(self, label: str) -> tuple[str, ...]:
        """The leaves below every inner node of that name; empty if there is none."""
        return tuple(
            path[-1].label for path in self.paths() if any(node.label == label for node in path[:-1])
        )

    def inner_labels(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(node.label for path in self.paths() for node in path[:-1]))

    def refuse_unless_covers(self, labels: Sequence[str], field: str) -> None:
        """Every category must be a leaf exactly once, and every leaf a category."""
        leaves = self.leaves
        twice = [leaf for leaf, times in Counter(leaves).items() if times > 1]
        if twice:
            raise SchemaError(
                f"{field}: the taxonomy holds '{twice[0]}' more than once. Keep each category in one place."
            )
        lacking = [label for label in labels if label not in set(leaves)]
        if lacking:
            raise SchemaError(
                f"{field}: category '{lacking[0]}' is not a leaf of the taxonomy. Add it to the taxonomy."
            )
        unknown = [leaf for leaf in leaves if leaf not in set(labels)]
        if unknown:
            raise SchemaError(
                f"{field}: the taxonomy's leaf '{unknown[0]}' is not in the enum"
                f"{nearest(unknown[0], labels)}. "
                "Add it to the enum, or remove it from the taxonomy."
            )


def _members(nested: Nested, place: str) -> Iterator[Taxonomy]:
    if isinstance(nested, Mapping):
        for label, below in nested.items():
            if below is None:
                yield Taxonomy(_leaf(label, place))
            else:
                yield _group(str(label), below)
    elif isinstance(nested, Sequence) and not isinstance(nested, str):
        for item in nested:
            if isinstance(item, Mapping):
                yield from _members(item, place)
            elif isinstance(item, Sequence) and not isinstance(item, str):
                raise SchemaError(
                    f"taxonomy: a list directly inside the list of '{place}'. Give the inner group a name."
                )
            else:
                yield Taxonomy(_leaf(item, place))
    else:
        raise SchemaError(
            f"taxonomy: '{place}' holds {nested!r}. Write a mapping of groups or a list of categories."
        )


def _group(label: str, below: Nested) -> Taxonomy:
    node = Taxonomy.from_nested([below] if isinstance(below, str | int | float) else below, label)
    if not node.children:
        raise SchemaError(
            f"taxonomy: the group '{label}' is empty. Give it members, or write it as a category."
        )
    return node


def _leaf(value: object, place: str) -> str:
    if value is None:
        raise SchemaError(f"taxonomy: an empty category below '{place}'. Give it a name or remove it.")
    return str(value)
