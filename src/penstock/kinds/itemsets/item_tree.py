"""The public tree of items: groups of neighbours, groups of groups, up to one root.

It says in which order a set is found out: first which of the largest groups it meets, then which smaller
ones inside. Where the schema declares a taxonomy of the items its groups are used; a group of more than
`fan_out` members, such as the whole of a plain list, is cut into groups of neighbours. Nothing of it depends
on the records.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from penstock.kinds.itemsets.layout import ItemSetLayout
from penstock.schema import Schema
from penstock.schema.taxonomy import Taxonomy

Numbers = NDArray[np.int64]
Cut = tuple[int, ...]

LARGEST_FAN_OUT = 20


@dataclass(frozen=True, eq=False)
class ItemTree:
    """Nodes 0 ... size - 1 are the items, in the order of the tree; the others are groups, the root last.

    `order` has the code of the item at each place, `children` the members of each group, in order. A group
    of one member is left out, since there is nothing to find out inside.

    >>> tree = ItemTree.of(range(4), 2)
    >>> tree.root, tree.children, tree.heights.tolist(), tree.inner.tolist()
    (6, ((0, 1), (2, 3), (4, 5)), [0, 0, 0, 0, 1, 1, 2], [0, 0, 0, 0, 1, 1, 3])
    """

    order: Numbers
    children: tuple[tuple[int, ...], ...]

    @classmethod
    def of(cls, items: Sequence[int], fan_out: int) -> ItemTree:
        """The tree over a plain list of items: neighbours are grouped, whatever they mean."""
        builder = _Builder(fan_out, len(items))
        builder.joined(list(range(len(items))))
        return cls(np.array(items, dtype=np.int64), tuple(builder.groups))

    @classmethod
    def declared(cls, schema: Schema, fan_out: int) -> ItemTree:
        """The tree over the items of a schema, with the groups of its taxonomy where it has one."""
        field = schema.field(ItemSetLayout.of(schema).item)
        if field.taxonomy is None:
            return cls.of(range(len(field.labels)), fan_out)
        codes = {label: code for code, label in enumerate(field.labels)}
        leaves = field.taxonomy.leaves
        builder = _Builder(fan_out, len(leaves))
        builder.grouped(field.taxonomy, {label: place for place, label in enumerate(leaves)})
        order = np.array([codes[label] for label in leaves], dtype=np.int64)
        return cls(order, tuple(builder.groups))

    @cached_property
    def size(self) -> int:
        """The number of items."""
        return len(self.order)

    @property
    def root(self) -> int:
        """The last group, which holds everything; the item itself where there is only one."""
        return self.size + len(self.children) - 1

    def members(self, node: int) -> tuple[int, ...]:
        """The children of a group; an item has none."""
        return () if node < self.size else self.children[node - self.size]

    @cached_property
    def bounds(self) -> NDArray[np.int64]:
        """The first place below each node, and the one behind the last: a row for each node."""
        found = np.zeros((self.root + 1, 2), dtype=np.int64)
        found[: self.size, 0] = np.arange(self.size)
        found[: self.size, 1] = np.arange(self.size) + 1
        for place, members in enumerate(self.children):
            found[self.size + place] = found[members[0], 0], found[members[-1], 1]
        return found

    @cached_property
    def heights(self) -> Numbers:
        """The largest number of steps from each node down to an item."""
        found = np.zeros(self.root + 1, dtype=np.int64)
        for place, members in enumerate(self.children):
            found[self.size + place] = 1 + max(found[member] for member in members)
        return found

    @cached_property
    def inner(self) -> Numbers:
        """How many groups each node holds, itself included: so often a record below it can be told apart."""
        found = np.zeros(self.root + 1, dtype=np.int64)
        for place, members in enumerate(self.children):
            found[self.size + place] = 1 + sum(int(found[member]) for member in members)
        return found


class _Builder:
    """Groups in the order of their making, so that members come before the groups that hold them."""

    def __init__(self, fan_out: int, items: int) -> None:
        self.fan_out, self.items = fan_out, items
        self.groups: list[tuple[int, ...]] = []

    def joined(self, nodes: list[int]) -> int:
        """One node above these: neighbours are grouped, and their groups again, until one is left."""
        while len(nodes) > 1:
            nodes = [
                self._group(nodes[begin : begin + self.fan_out])
                for begin in range(0, len(nodes), self.fan_out)
            ]
        return nodes[0]

    def _group(self, members: list[int]) -> int:
        if len(members) == 1:
            return members[0]
        self.groups.append(tuple(members))
        return self.items + len(self.groups) - 1

    def grouped(self, tree: Taxonomy, places: dict[str, int]) -> int:
        """The node of a declared group."""
        if not tree.children:
            return places[tree.label]
        return self.joined([self.grouped(child, places) for child in tree.children])


@dataclass(frozen=True, eq=False)
class Operation:
    """Telling apart which members of one group of a cut the sets meet: every non-empty choice of them.

    Of a cut, a set meets every node and nothing else. In its place a sub-part has some of the members of the
    group. Choices whose cut is made of items alone are *whole*: they say which set it is. The others are
    *open*. Both kinds are numbered from 0, so that each is a table of its own.
    """

    tree: ItemTree
    cut: Cut
    group: int

    @cached_property
    def members(self) -> tuple[int, ...]:
        return self.tree.members(self.group)

    @cached_property
    def rest(self) -> Cut:
        return tuple(node for node in self.cut if node != self.group)

    @cached_property
    def _order(self) -> list[int]:
        """The members by place: items that may make a set whole first, all others behind them."""
        single = all(node < self.tree.size for node in self.rest)
        first = [place for place, member in enumerate(self.members) if single and member < self.tree.size]
        return first + [place for place in range(len(self.members)) if place not in set(first)]

    @cached_property
    def _ordered(self) -> list[int]:
        return [self.members[place] for place in self._order]

    @cached_property
    def _single(self) -> int:
        """How many members are items whose choices make sets whole."""
        if any(node >= self.tree.size for node in self.rest):
            return 0
        return sum(member < self.tree.size for member in self.members)

    @property
    def whole(self) -> int:
        """How many choices say which set it is."""
        return (1 << self._single) - 1

    @property
    def open(self) -> int:
        """How many choices leave something to find out."""
        return (1 << len(self.members)) - (1 << self._single)

    @cached_property
    def bits(self) -> NDArray[np.unsignedinteger]:
        """The bit of each place below the group in the number of a choice: whole ones are the smallest."""
        low = int(self.tree.bounds[self.group, 0])
        narrow = np.uint16 if len(self.members) < 16 else np.uint32
        found: NDArray[np.unsignedinteger] = np.zeros(
            int(self.tree.bounds[self.group, 1]) - low, dtype=narrow
        )
        for bit, place in enumerate(self._order):
            begin, end = self.tree.bounds[self.members[place]]
            found[begin - low : end - low] = 1 << bit
        return found

    def choices_of(self, masks: NDArray[np.int64]) -> NDArray[np.int64]:
        """The numbers of choices of which it is known which members, by place, they have as a bit."""
        found = np.zeros_like(masks)
        for bit, place in enumerate(self._order):
            found |= (masks >> place & 1) << bit
        return found

    def mask_of(self, choice: int) -> int:
        """The places of the members of a choice, as bits."""
        return sum(1 << place for bit, place in enumerate(self._order) if choice >> bit & 1)

    def cut_of(self, choice: int) -> Cut:
        """The cut of a sub-part: the other nodes, and the chosen members."""
        chosen = [member for bit, member in enumerate(self._ordered) if choice >> bit & 1]
        return (*self.rest, *chosen)

    def whole_choice(self, cell: int) -> int:
        """The choice behind a cell of the table of whole ones."""
        return cell + 1

    def open_choice(self, cell: int) -> int:
        """The choice behind a cell of the table of open ones."""
        return cell + (1 << self._single)
