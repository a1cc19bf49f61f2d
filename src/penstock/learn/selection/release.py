"""A selection as a release: who was chosen, and how many units each has where that was paid for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel

from penstock.errors import QueryError, ReleaseError
from penstock.releases import Answer, Manifest, Model, Question, Release
from penstock.releases.answer import contributions
from penstock.releases.error_bars import charged
from penstock.report.picture import Picture

if TYPE_CHECKING:
    import polars as pl

_COUNTED = ("item sets", "users", "records")
FAVOURED = (
    "These counts also decided who is selected, so they are too large on average: the noise favoured them."
)

HOW = {
    "histogram": "Every candidate's count got noise, and the noisy counts decided.",
    "one-shot": "Every candidate's count got noise once, and the largest were taken, without telling "
    "how large they are.",
    "exponential": "Candidates were chosen one after another, likelier the larger their count.",
    "sparse-vector": "Candidates were compared with the threshold in random order, both with noise; "
    "the first ones found above it are listed.",
}
"""What a report says of each mechanism that can have chosen."""

COUNTS_OF_SELECTED = "counts of the selected"
"""The charge for counts that did not decide who is selected."""


class _Saved(BaseModel):
    field: str
    mechanism: str
    counted: str
    candidates: int
    margin: float | None


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SelectionRelease(Release):
    """The selected candidates, best first; in the schema's order where nothing says which is better.

    `counts` are noisy, and within `margin` of the truth with 95 % probability each; both are None where they
    were not paid for. Where the same counts also decided who is selected, the margin holds for each
    candidate and not for those that were selected, and answers have no error bar. `counted` says what they
    count, `mechanism` how was chosen.

    >>> from penstock import Schema, select
    >>> from penstock.demo import survey, survey_schema
    >>> schema = Schema.from_yaml(survey_schema())
    >>> found = select(survey(2000), schema, epsilon=1, c=2, column="commute", counts="1/2", seed=1)
    >>> found.items
    ('home', 'bus')
    >>> len(found.counts), found.counted
    (2, 'records')
    """

    kinds: ClassVar[tuple[str, ...]] = ("table", "itemsets")
    answer: ClassVar[str] = "selection"
    form: ClassVar[str] = "selection"

    field: str
    mechanism: str
    items: tuple[str, ...]
    counts: NDArray[np.int64] | None
    margin: float | None
    counted: str
    candidates: int

    def frame(self) -> pl.DataFrame:
        """Rank, label and, where it was paid for, noisy count."""
        import polars as pl

        columns: dict[str, Any] = {"rank": range(1, len(self.items) + 1), "selected": self.items}
        if self.counts is not None:
            columns["count"] = self.counts
        types = {"rank": pl.Int64, "selected": pl.String, "count": pl.Int64}
        return pl.DataFrame(columns, schema={name: types[name] for name in columns})

    def ask(self, expression: str) -> Answer:
        """The noisy count of one selected candidate, by its name."""
        name = expression.strip().strip("'\"")
        if name not in self.items:
            raise QueryError(f"'{name}' is not among the {len(self.items)} that were selected.")
        if self.counts is None:
            raise QueryError("Counts were not paid for in this release; it says only what was selected.")
        value = float(self.counts[self.items.index(name)])
        told = contributions(self.schema)
        if self.favoured:
            return Answer.counted(value, None, self.counted, (FAVOURED, *told))
        known = charged(self.receipt, COUNTS_OF_SELECTED, self.margin)
        return Answer.counted(value, known, self.counted, told)

    @property
    def favoured(self) -> bool:
        """Whether the same noisy counts decided who is selected, which favours those that noise raised."""
        return self.mechanism == "histogram"

    def questions(self) -> Mapping[str, Question]:
        condition = super().questions()["condition"]
        return {"condition": replace(condition, words="one of the selected is counted, by its name")}

    def model(self) -> Model:
        saved = _Saved(
            field=self.field,
            mechanism=self.mechanism,
            counted=self.counted,
            candidates=self.candidates,
            margin=self.margin,
        )
        return Model(json=saved.model_dump(), tables={"selected": self.frame()})

    @classmethod
    def from_model(cls, manifest: Manifest, model: Model) -> Self:
        import polars as pl

        saved = model.read(_Saved)
        counted = saved.margin is not None
        columns = {"rank": pl.Int64, "selected": pl.String} | ({"count": pl.Int64} if counted else {})
        frame = model.table("selected", columns)
        again = "get the release again from its publisher."
        if saved.field not in manifest.schema.names or saved.counted not in _COUNTED:
            raise ReleaseError(f"model.json does not fit schema.yaml; {again}")
        if saved.mechanism not in HOW:
            raise ReleaseError(f"model.json names a mechanism that selects nothing; {again}")
        labels = manifest.schema.field(saved.field).labels
        items = tuple(frame["selected"].to_list())
        if frame["rank"].to_list() != list(range(1, len(items) + 1)) or len(set(items)) != len(items):
            raise ReleaseError(f"model-selected.parquet is not a ranking; {again}")
        if not set(items) <= set(labels) or saved.candidates != len(labels):
            raise ReleaseError(f"model-selected.parquet does not fit the candidates of schema.yaml; {again}")
        if saved.margin is not None and not 0 <= saved.margin < 1e300:
            raise ReleaseError(f"model.json holds an impossible margin; {again}")
        return cls(
            **manifest.common,
            field=saved.field,
            mechanism=saved.mechanism,
            items=items,
            counts=frame["count"].to_numpy() if counted else None,
            margin=saved.margin,
            counted=saved.counted,
            candidates=saved.candidates,
        )

    def pictures(self) -> Sequence[Picture]:
        from penstock.learn.selection.pictures import counted, ranked

        if not self.items:
            return []
        title = f"{self.field}: selected of {self.candidates:,} candidates"
        if self.counts is None or self.margin is None:
            return [ranked(title, self.items)]
        margin = None if self.favoured else self.margin
        return [counted(title, self.items, self.counts.tolist(), margin, self.counted)]

    def example(self) -> str | None:
        return self.items[0] if self.items and self.counts is not None else None

    def explain(self) -> Sequence[str]:
        found = f"{len(self.items)} of {self.candidates:,} candidates were selected."
        return [f"{found} {HOW[self.mechanism]}"]

    def limits(self) -> Sequence[str]:
        limits = [
            "Who is missing here may still be frequent: near the edge of the selection, noise decides.",
        ]
        if self.counts is None:
            limits.append("How frequent the selected ones are was not paid for, and cannot be inferred.")
        elif self.favoured:
            limits.append(FAVOURED)
        return limits
