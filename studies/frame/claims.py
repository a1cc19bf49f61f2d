"""Published claims, each checked against our numbers: it holds, it does not, or we cannot say."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from frame.results import Results, Summary


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


Figure = Summary | float | None

ROUNDING = 1e-12
"""Means of the same numbers, added up in another order, differ by less."""


def count_of(parts: Iterable[tuple[str, Figure, Figure]], needed: float = 1.0) -> Verdict:
    """A claim that the first figure is not above the second in every case, or in a share of them.

    Each part is (where, smaller, larger). Cases that were not measured do not count. A case that goes the
    other way by no more than two standard errors of the difference is noise, and does not refute.
    """
    cases = [(where, one, two) for where, one, two in parts if _known(one) and _known(two)]
    if not cases:
        return Verdict(None, "")
    gaps = {where: _mean(two) - _mean(one) for where, one, two in cases}
    noise = {where: 2 * math.hypot(_error(one), _error(two)) for where, one, two in cases}
    true = [where for where, gap in gaps.items() if gap >= -ROUNDING]
    unclear = [where for where, gap in gaps.items() if -noise[where] <= gap < -ROUNDING]
    shown = {where: f"{where}: {_mean(one):.4g} against {_mean(two):.4g}" for where, one, two in cases}
    ascending = sorted(gaps, key=lambda where: gaps[where])
    refuting = len(cases) - len(true) - len(unclear)
    last = "furthest off" if refuting else "closest"
    within = f", {len(unclear)} more within noise" if unclear else ""
    numbers = f"{len(true)} of {len(cases)} cases{within}; clearest {shown[ascending[-1]]}"
    if len(cases) > 1:
        numbers += f"; {last} {shown[ascending[0]]}"
    return Verdict(len(true) + len(unclear) >= needed * len(cases), numbers)


def _known(figure: Figure) -> bool:
    return figure is not None and not math.isnan(_mean(figure))


def _mean(figure: Figure) -> float:
    return figure.mean if isinstance(figure, Summary) else math.nan if figure is None else figure


def _error(figure: Figure) -> float:
    """The standard error of a mean; a single run claims none."""
    if not isinstance(figure, Summary):
        return 0.0
    return figure.error if figure.runs > 1 else 0.0
