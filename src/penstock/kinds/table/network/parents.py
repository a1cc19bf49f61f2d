"""Attribute-parent pairs: what a network is made of."""

from __future__ import annotations

from typing import NamedTuple


class Parent(NamedTuple):
    """A variable as a child sees it: its number and the level of generalisation (0: as it is)."""

    variable: int
    level: int = 0


ParentSet = tuple[Parent, ...]


class Pair(NamedTuple):
    """An attribute-parent pair: a variable and what it depends on."""

    child: int
    parents: ParentSet = ()

    @property
    def parts(self) -> ParentSet:
        """Child and parents as the axes of their joint table, child first."""
        return (Parent(self.child), *self.parents)
