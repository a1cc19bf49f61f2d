"""What an evaluation says: scores that stand between a floor and a ceiling."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from penstock.errors import UsageError
from penstock.evaluation.page import page
from penstock.evaluation.score import NOTICE, RESAMPLED, Score

if TYPE_CHECKING:
    from penstock.report.page import Section


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
    ceiling: str = RESAMPLED
    seconds: float = 0.0
    remarks: tuple[str, ...] = ()

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
            "remarks": list(self.remarks),
            "details": dict(self.details),
            "seconds": round(self.seconds, 2),
        }

    def report(self) -> str:
        """The custodian's report as one self-contained HTML page."""
        return page(
            self.method, self.guarantee, self.rows, self.scores, self.sections, self.ceiling, self.remarks
        )

    def save(self, path: str | Path) -> Path:
        """Write the report, all of it or nothing, for its owner alone; an existing file is replaced.

        A place inside a release folder is refused: what lies there is published.
        """
        from penstock.releases.custodian import custodians_file

        place = Path(path)
        try:
            with custodians_file(place, "an evaluation") as partial:
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
        return "\n".join([*lines, *self.remarks])

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td style='text-align:left'>{escape(score.name)}</td><td>{score.value:.4f}</td>"
            f"<td>{score.floor:.4f}</td><td>{score.ceiling:.4f}</td></tr>"
            for score in self.scores
        )
        return (
            f"<p><strong>{escape(NOTICE)}</strong></p><table><tr><th></th><th>release</th><th>floor</th>"
            f"<th>ceiling</th></tr>{rows}</table>{''.join(f'<p>{escape(each)}</p>' for each in self.remarks)}"
        )
