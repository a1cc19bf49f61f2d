"""What an evaluation says: scores that stand between a floor and a ceiling."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.errors import UsageError

if TYPE_CHECKING:
    from penstock.report.page import Section

NOTICE = "Not for publication: this compares the release with the original records and is itself not private."


@dataclass(frozen=True)
class Score:
    """One measure of closeness.

    `floor` is what a release that knows almost nothing would score, `ceiling` what the original itself,
    resampled, scores. `model` is the same measure taken from the release's model instead of from a
    sample of it, where the release can answer exactly. `lower_is_better` tells distances from accuracies.

    >>> Score("pairs of columns", 0.06, 0.10, 0.02).position
    0.5
    """

    name: str
    value: float
    floor: float
    ceiling: float
    model: float | None = None
    lower_is_better: bool = True
    note: str = ""

    @property
    def position(self) -> float | None:
        """Where the score stands: 0 at the floor, 1 at the ceiling.

        None where the two meet as far as chance can tell: a distance whose floor is not half as much
        again as its ceiling, an accuracy whose ceiling is not a hundredth above its floor.
        """
        gap = self.floor - self.ceiling
        meet = gap < max(1e-3, 0.5 * self.ceiling) if self.lower_is_better else -gap < 0.01
        return None if meet else round((self.floor - self.value) / gap, 6)

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "value": self.value,
            "model": self.model,
            "floor": self.floor,
            "ceiling": self.ceiling,
            "position": self.position,
            "lower_is_better": self.lower_is_better,
            "note": self.note,
        }


@dataclass(frozen=True)
class Evaluation:
    """How good a release is, for the custodian's eyes only.

    Print it, read `scores`, or write the report with `save`. It was computed from the original records
    without any noise: never publish it.
    """

    kind: str
    method: str
    guarantee: str
    rows: int
    scores: tuple[Score, ...]
    details: Mapping[str, Any] = field(default_factory=dict)
    sections: Sequence[Section] = field(default=(), repr=False, compare=False)
    seconds: float = 0.0

    def score(self, name: str) -> Score:
        for score in self.scores:
            if score.name == name:
                return score
        raise UsageError(f"There is no score '{name}'; there are {', '.join(s.name for s in self.scores)}.")

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON for scripts; carries the notice with it."""
        return {
            "notice": NOTICE,
            "kind": self.kind,
            "method": self.method,
            "guarantee": self.guarantee,
            "rows": self.rows,
            "scores": [score.to_dict() for score in self.scores],
            "details": dict(self.details),
            "seconds": round(self.seconds, 2),
        }

    def report(self) -> str:
        """The custodian's report as one self-contained HTML page."""
        from penstock.evaluation.page import page

        return page(self)

    def save(self, path: str | Path) -> Path:
        """Write the report, all of it or nothing; an existing file is replaced."""
        from penstock.releases.disk import whole_file

        place = Path(path)
        try:
            with whole_file(place) as partial:
                partial.write_text(self.report(), encoding="utf-8")
        except OSError as problem:
            raise UsageError(
                f"The report cannot be written to {place}: {problem.strerror}. Choose another place."
            ) from None
        return place

    def __str__(self) -> str:
        width = max((len(score.name) for score in self.scores), default=0)
        lines = [NOTICE, f"{'':{width}}  release    floor  ceiling"]
        lines += [
            f"{score.name:{width}}  {score.value:7.4f}  {score.floor:7.4f}  {score.ceiling:7.4f}"
            for score in self.scores
        ]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td style='text-align:left'>{escape(score.name)}</td><td>{score.value:.4f}</td>"
            f"<td>{score.floor:.4f}</td><td>{score.ceiling:.4f}</td></tr>"
            for score in self.scores
        )
        return (
            f"<p><strong>{escape(NOTICE)}</strong></p><table><tr><th></th><th>release</th><th>floor</th>"
            f"<th>ceiling</th></tr>{rows}</table>"
        )
