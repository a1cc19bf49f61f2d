"""Published claims, each checked against our numbers: it holds, it does not, or we cannot say."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from frame.results import Results


@dataclass(frozen=True)
class Verdict:
    """What our numbers say about a claim; `holds` is None where they are missing."""

    holds: bool | None
    numbers: str

    @property
    def words(self) -> str:
        return "not measured" if self.holds is None else "holds" if self.holds else "does not hold"


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, or a part of one that can be checked by itself."""

    number: str
    text: str
    check: Callable[[Results], Verdict]

    def verdict(self, results: Results) -> Verdict:
        """The check, on whatever has been measured."""
        return self.check(results)


def count_of(parts: Iterable[tuple[str, float, float]], needed: float = 1.0) -> Verdict:
    """A claim that the first figure is below the second in every case, or in a share of them.

    Each part is (where, smaller, larger). Cases that were not measured do not count.
    """
    known = [part for part in parts if not (math.isnan(part[1]) or math.isnan(part[2]))]
    if not known:
        return Verdict(None, "")
    true = [part for part in known if part[1] <= part[2]]
    worst = min(known, key=lambda part: part[2] - part[1])
    best = max(known, key=lambda part: part[2] - part[1])
    last = "weakest" if len(true) == len(known) else "furthest off"
    numbers = (
        f"{len(true)} of {len(known)} cases; clearest {best[0]}: {best[1]:.4g} against {best[2]:.4g}; "
        f"{last} {worst[0]}: {worst[1]:.4g} against {worst[2]:.4g}"
    )
    return Verdict(len(true) >= needed * len(known), numbers)
