"""Which columns a release connects, and what it would take to connect the others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log, sqrt
from typing import Any

from penstock.releases.error_bars import rate
from penstock.report.numbers import readable

STRENGTH = 0.1
"""Half the sum of the differences between a pair's shares and those under independence: from 0 to 1."""

GROUPS = 4
"""In so many groups a column is looked at to find a first connection."""


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


@dataclass(frozen=True)
class Connections:
    """Which columns a release knows together, and about what epsilon would connect those that stand alone.

    `groups` are the columns in connected groups, the largest first; `alone` are the groups of one column. The
    `target` is the one that the schema says others will be asked to predict.
    """

    groups: tuple[tuple[str, ...], ...]
    epsilon: float | None = None
    target: str | None = None

    @property
    def alone(self) -> tuple[str, ...]:
        return tuple(group[0] for group in self.groups if len(group) == 1)

    def remarks(self) -> list[str]:
        """What whoever uses the release should know, in a sentence or two; none where all is connected."""
        if len(self.groups) < 2:
            return []
        alone, columns = self.alone, sum(len(group) for group in self.groups)
        if len(alone) == columns:
            found = f"None of the {columns} columns is connected with another"
        elif alone:
            stand = "stands" if len(alone) == 1 else "stand"
            found = f"{len(alone)} of {columns} columns {stand} alone: {listed(alone)}"
        else:
            found = f"The {columns} columns fall into {len(self.groups)} groups that are not connected"
        said = [f"{found}. Answers and rows take unconnected columns to be independent."]
        if self.target in alone:
            said.append(f"The target {self.target} is one of them: nothing here says what predicts it.")
        if self.epsilon is not None:
            said.append(
                f"With these records about epsilon {readable(self.epsilon)} would connect a column on which "
                f"others depend moderately (strength {STRENGTH} of 1); more records, coarser bins or fewer "
                "columns do the same. This is an estimate from public numbers."
            )
        return said

    def to_dict(self) -> dict[str, Any]:
        """The same as plain JSON."""
        return {
            "groups": [list(group) for group in self.groups],
            "alone": list(self.alone),
            "epsilon_to_connect": self.epsilon,
        }


def listed(names: Sequence[str], most: int = 12) -> str:
    """Names in a row, not too many of them."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def grouped(names: Sequence[str], group: Mapping[str, int]) -> tuple[tuple[str, ...], ...]:
    """The names by the number of their group, large groups first."""
    found: dict[int, list[str]] = {}
    for name in names:
        found.setdefault(group[name], []).append(name)
    return tuple(sorted((tuple(each) for each in found.values()), key=lambda each: (-len(each), each)))


def epsilon_to_connect(
    spent: float,
    records: float,
    moves: int,
    views: Sequence[tuple[int, float]],
    lacking: Sequence[int],
    columns: int,
) -> float | None:
    """About the epsilon at which every one of `columns` is connected, if others depend on it moderately.

    From public numbers only: the epsilon `spent`, the released number of `records`, by how much one unit
    `moves` a table of counts, the `views` that were counted with their cells and deviations, and the codes of
    the `lacking` columns. Two things must suffice, and the larger estimate counts.

    *   Noise: a pair that shifts a share STRENGTH of the records has a gap of twice as many. It is worth
        counting when half of the noise that its table adds to all tables stays below that; with W the sum of
        the square roots of the cells of all tables, a table of w² cells adds 2 w W + w² times the scale.
    *   Pairs: how many a budget can choose and count grows in proportion with it, and the strongest ones lie
        between columns that are connected already: so many columns took about the square as many pairs.

    >>> round(epsilon_to_connect(1.0, 10_000, 1, [(64, 60.0)], [8, 8], columns=6), 2)
    2.25
    """
    if records <= 0 or not lacking or spent <= 0:
        return None
    pairs = [sqrt(min(size, GROUPS) * GROUPS) for size in lacking]
    total = sum(sqrt(cells) for cells, _ in views) + sum(pairs)
    paid = sum(-moves * log(rate(deviation)) for _, deviation in views if deviation > 0)
    share = min(1.0, paid / spent) if paid > 0 else 0.5
    widest = max(pairs)
    noise = 0.5 * moves * (2 * widest * total + widest**2)
    connected = max(2, columns - len(lacking))
    return max(noise / (2 * STRENGTH * records) / max(share, 0.05), spent * (columns / connected) ** 2)
