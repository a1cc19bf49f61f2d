"""Which columns a release connects, and what it would take to connect the others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def components(names: Sequence[str], edges: Iterable[tuple[str, str]]) -> dict[str, int]:
    """For each name the number of the group, connected by edges, that it belongs to.

    >>> components(["age", "sex", "income", "region"], [("age", "income")])
    {'age': 0, 'sex': 1, 'income': 0, 'region': 3}
    """
    group = {name: number for number, name in enumerate(names)}
    for one, two in edges:
        low, high = sorted((group[one], group[two]))
        group = {name: low if number == high else number for name, number in group.items()}
    return group
