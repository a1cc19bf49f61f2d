"""Published statements, each checked against our numbers: it holds, it does not, or we cannot say."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from frame.results import Results, Summary


@dataclass(frozen=True)
class Verdict:
    """What our numbers say about a statement; `holds` is None where they are missing."""

    holds: bool | None
    numbers: str

    @property
    def words(self) -> str:
        return "not measured" if self.holds is None else "holds" if self.holds else "does not hold"


@dataclass(frozen=True)
class Statement:
    """A sentence of the paper, or a part of one that can be checked by itself."""

    number: str
    text: str
    check: Callable[[Results], Verdict]

    def verdict(self, results: Results) -> Verdict:
        """The check, on whatever has been measured."""
        return self.check(results)


@dataclass(frozen=True)
class Checked:
    """A statement beside its verdict."""

    number: str
    text: str
    verdict: Verdict

    @property
    def parts(self) -> tuple[str, str]:
        """Of what it speaks, and what it says: 'On roads: it grows.' speaks of roads."""
        where, colon, what = self.text.partition(": ")
        return (where.removeprefix("On "), what) if colon and where.startswith("On ") else ("", self.text)


def checked(*studies: Results) -> list[Checked]:
    """Every statement of some studies, on whatever has been measured."""
    return [
        Checked(statement.number, statement.text, statement.verdict(results))
        for results in studies
        for statement in results.study.statements
    ]


def tally(found: Sequence[Checked], whose: str) -> str:
    """How many hold and how many do not.

    >>> grows, falls = (Checked("1", "It grows.", Verdict(held, "")) for held in (True, None))
    >>> tally([grows, falls], "statements of the paper")
    '2 statements of the paper: 1 holds, 0 do not, 1 could not be measured'
    """
    hold, not_, unknown = (sum(one.verdict.holds is held for one in found) for held in (True, False, None))
    words = f"{len(found)} {whose}: {hold} {'holds' if hold == 1 else 'hold'}, {not_} "
    words += "does not" if not_ == 1 else "do not"
    return words + (f", {unknown} could not be measured" if unknown else "")


MOST_LISTED = 12


def refuted(found: Sequence[Checked]) -> list[str]:
    """Those that do not hold, or cannot be measured for a known reason; with the first of our numbers."""
    against = [one for one in found if not one.verdict.holds and one.verdict.numbers]
    lines = []
    for what, group in groupby(against, lambda one: one.parts[1]):
        same = list(group)
        numbers = ", ".join(one.number for one in same)
        shown = "; ".join(one.verdict.numbers.partition(";")[0] for one in same)
        if same[0].verdict.holds is None:
            shown = f"{same[0].verdict.words}: {shown}"
        where = " and ".join(one.parts[0] for one in same if one.parts[0])
        lines.append(f"{numbers}: {f'On {where}: {what}' if where else what} ({shown})")
    rest = len(lines) - MOST_LISTED
    return lines if rest <= 0 else [*lines[:MOST_LISTED], f"and {rest} more, below."]


def statement_table(found: Sequence[Checked]) -> str:
    """Every statement with its verdict and our numbers."""
    lines = [
        f"| {one.number} | {one.text} | **{one.verdict.words}** | {one.verdict.numbers} |" for one in found
    ]
    return "\n".join(["| | statement | in our runs | our numbers |", "|---|---|---|---|", *lines])


Figure = Summary | float | None

ROUNDING = 1e-12
"""Means of the same numbers, added up in another order, differ by less."""


def count_of(parts: Iterable[tuple[str, Figure, Figure]], needed: float = 1.0) -> Verdict:
    """A statement that the first figure is not above the second in every case, or in a share of them.

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
