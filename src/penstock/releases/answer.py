"""What a release answers a question with, and what the answer rests on."""

from __future__ import annotations

from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

from penstock import catalogue
from penstock.report.numbers import percent, readable

if TYPE_CHECKING:
    from penstock.schema import Schema

Basis = Literal["counted", "spread evenly", "model", "declared"]
"""What a number rests on.

*   ``counted``: noisy counts of exactly what was asked, added up. Their noise is known, and so is the error.
*   ``spread evenly``: the question cuts through a bin or a cell that was counted as a whole; its part is
    taken as if the records were spread evenly inside. How uneven they are, nobody knows.
*   ``model``: no noisy count sees all of the question; the number follows from the model.
*   ``declared``: it follows from the schema alone, and is exact.
"""

BASES: tuple[Basis, ...] = get_args(Basis)
Known = Literal["counted", "estimated"]
"""How the range of an answer without an error bar is known.

*   ``counted``: from noisy counts that enclose the question; it covers the truth in at least 95 of 100
    releases, whatever the records are.
*   ``estimated``: from how far the release's own noisy counts and its model let the truth stray, as a study
    found on other tables; it is likely, and not guaranteed.
"""
KNOWN: tuple[Known, ...] = get_args(Known)
CONFIDENCE = 0.95
_NOTABLE = 0.97  # what a 95 % bar may cover without being told


class Bar(NamedTuple):
    """An error bar: the error lies within -half ... half with the probability `covers`.

    `covers` is None where it is at least 95 % and how much more depends on the records.
    """

    half: float
    covers: float | None


class Range(NamedTuple):
    """Between which two numbers the truth lies, and how that is known."""

    low: float
    high: float
    known: Known


@dataclass(frozen=True)
class Answer:
    r"""One number, with what it counts, what it rests on and what to keep in mind.

    `error` is the half-width of a 95 % interval: the number lies within it of what would have been counted
    without noise in at least 95 of 100 releases. It is given where that is known, never where the number
    rests on an assumption; then the first of the `caveats` says why. `covers` is the share of releases in
    which it does: more than 95 % where noise takes few whole values, and None where only "at least 95 %" is
    known. `text` says what the number counts.

    Without an error bar there may be a `range`: between which numbers the truth lies, from counts that
    enclose the question, or as an estimate of how wrong the model is.

    >>> print(Answer(1873.2, 42.0, "records", "counted", covers=0.95))
    1,873 ± 42 records (counted)
    >>> Answer(12, 1.0, "records", "counted", covers=0.982).basis.replace("\u00a0", " ")
    'counted: the bar covers 98 %'
    >>> Answer(12, 40.0, "triangles", "counted").basis.replace("\u00a0", " ")
    'counted: the bar covers at least 95 %'
    >>> print(Answer(50.5, None, "records", "spread evenly"))
    50.5 records (spread evenly: no error bar)
    >>> print(Answer(50.5, None, "records", "spread evenly", range=Range(0, 130, "counted")))
    50.5 records (spread evenly: between 0 and 130)
    >>> print(Answer(50.5, None, "records", "model", range=Range(31, 70, "estimated")))
    50.5 records (model: likely between 31 and 70, not guaranteed)
    """

    value: float
    error: float | None = None
    text: str = ""
    rests_on: Basis = "model"
    caveats: tuple[str, ...] = ()
    covers: float | None = None
    range: Range | None = None

    def __post_init__(self) -> None:
        if self.rests_on not in BASES:
            raise ValueError(f"an answer rests on one of {', '.join(BASES)}, not on {self.rests_on!r}")
        if self.error is not None and self.rests_on not in ("counted", "declared"):
            raise ValueError("only what was counted or declared has a known error")
        if self.covers is not None and self.error is None:
            raise ValueError("nothing covers where there is no error bar")
        if self.range is not None and (self.error is not None or self.range.known not in KNOWN):
            raise ValueError("an answer without an error bar has a range, counted or estimated")

    @classmethod
    def counted(cls, value: float, bar: Bar | None, text: str, caveats: tuple[str, ...] = ()) -> Answer:
        """A noisy count, cut off at zero, with its bar.

        Where the bar reaches zero, noise that would make a count too low by more than the bar no longer
        does, so that the bar covers up to half of what it else misses.

        >>> print(Answer.counted(-3.0, Bar(10.0, 0.95), "records"))
        0 ± 10 records (counted)
        """
        half, covers = (None, None) if bar is None else bar
        return cls(max(0.0, float(value)), half, text, "counted", caveats, covers)

    def __str__(self) -> str:
        return f"{self.number} ({self.basis})"

    @property
    def number(self) -> str:
        """The number with its error bar and what it counts."""
        bar = "" if self.error is None else f" ± {readable(self.error)}"
        return f"{readable(self.value)}{bar} {self.text}".rstrip()

    @property
    def basis(self) -> str:
        """What the number rests on, in words for people."""
        if self.range is not None:
            ends = f"between {readable(self.range.low)} and {readable(self.range.high)}"
            sure = self.range.known == "counted"
            return f"{self.rests_on}: {ends if sure else f'likely {ends}, not guaranteed'}"
        if self.error is None:
            return f"{self.rests_on}: no error bar"
        if self.rests_on == "declared" or (self.covers is not None and self.covers < _NOTABLE):
            return self.rests_on
        share = f"at least {percent(CONFIDENCE)}" if self.covers is None else percent(self.covers)
        return f"{self.rests_on}: the bar covers {share}"

    def __float__(self) -> float:
        return float(self.value)

    def but(self, *caveats: str) -> Answer:
        """The same answer with more to keep in mind."""
        return replace(self, caveats=(*self.caveats, *(each for each in caveats if each not in self.caveats)))

    def to_dict(self) -> dict[str, Any]:
        """The answer as plain JSON."""
        return {
            "value": self.value,
            "error": self.error,
            "covers": self.covers,
            "low": None if self.range is None else self.range.low,
            "high": None if self.range is None else self.range.high,
            "range": None if self.range is None else self.range.known,
            "text": self.text,
            "rests_on": self.rests_on,
            "caveats": list(self.caveats),
        }

    def _repr_html_(self) -> str:
        bar = "" if self.error is None else f' <span style="opacity:.7">± {readable(self.error)}</span>'
        notes = "".join(f'<div style="opacity:.7">{escape(caveat)}</div>' for caveat in self.caveats)
        return (
            f'<strong style="font-size:1.25em">{readable(self.value)}</strong>{bar} {escape(self.text)} '
            f'<span style="opacity:.7">({self.basis})</span>{notes}'
        )


def contributions(schema: Schema) -> tuple[str, ...]:
    """What a bound on the records of one unit means for a count: a caveat, where there is one."""
    unit = catalogue.unit(schema.unit.protects)
    if not unit.bounded:
        return ()
    records = "record" if schema.unit.records == 1 else "records"
    return (f"At most {schema.unit.records} {records} of one {unit.called} were counted.",)
