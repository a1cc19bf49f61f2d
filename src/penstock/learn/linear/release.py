"""Linear predictors as releases: what every value of every column adds to the answer.

The model is a table of effects: for every code of every predictor one number (for each answer), and an
intercept. A row's score is the intercept and the effects of its codes, added up; a link turns it into what is
predicted. Nothing else is saved, and nothing about single records is in it, so it cannot be sampled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel
from pydantic import Field as Range

from penstock.errors import DataError, ReleaseError
from penstock.kinds.table.data import Table
from penstock.learn.linear.features import Problem
from penstock.privacy.budgets.budget import Budget
from penstock.releases import Manifest, Model, Release
from penstock.releases.disk import AGAIN
from penstock.releases.predicting import Predicting
from penstock.report.picture import Picture

if TYPE_CHECKING:
    import polars as pl

Reals = NDArray[np.float64]
Link = Literal["logistic", "sign", "identity"]
"""What a score stands for: log-odds of a label, the side of a border, or a number between -1 and 1."""

LARGEST = 1e12
"""No effect is larger: scores of some thousand columns stay finite."""


class _Saved(BaseModel):
    target: str
    link: Link
    intercepts: list[Annotated[float, Range(ge=-LARGEST, le=LARGEST)]]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class LinearRelease(Release, Predicting):
    """A linear predictor of one column: labels (`link` logistic or sign), or numbers (identity).

    `intercepts` has one number for each answer, `effects` a row for each code of each predictor, in the
    schema's order, and a column for each answer. Two labels need one answer, the score of the second; more
    labels need one for each. A number is told between -1 and 1 of its declared bounds.

    >>> from penstock import Schema, release
    >>> from penstock.demo import survey, survey_schema
    >>> made = release(survey(2000), Schema.from_yaml(survey_schema()), epsilon=1, seed=1,
    ...                method="functional-mechanism", parameters={"target": "health"})
    >>> made.predict(survey(3)).columns[0], len(made.labels)
    ('health', 5)
    """

    kinds: ClassVar[tuple[str, ...]] = ("table",)
    answer: ClassVar[str] = "predictor"
    form: ClassVar[str] = "linear-predictor"

    target: str
    link: Link
    intercepts: Reals
    effects: Reals

    @property
    def predictors(self) -> tuple[str, ...]:
        return tuple(name for name in self.schema.names if name != self.target)

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels in the order of their codes; none where numbers are predicted."""
        return () if self.link == "identity" else self.schema.attribute(self.target).labels

    @cached_property
    def _by_column(self) -> dict[str, Reals]:
        """The effects of each predictor: a row for each of its codes."""
        sizes = [self.schema.sizes[name] for name in self.predictors]
        parts = np.split(self.effects, np.cumsum(sizes)[:-1]) if sizes else []
        return dict(zip(self.predictors, parts, strict=True))

    def effects_of(self, name: str) -> Reals:
        """What each code of one predictor adds to each answer."""
        return self._by_column[name]

    # Predicting -------------------------------------------------------------------------------------

    def scores(self, codes: Mapping[str, NDArray[Any]], rows: int) -> Reals:
        """The score of each of so many coded rows, a column for each answer."""
        found = np.tile(self.intercepts, (rows, 1))
        for name, effects in self._by_column.items():
            found += effects[np.asarray(codes[name])]
        return found

    def chances(self, scores: Reals) -> Reals:
        """How likely each label is by the scores; for a border all or nothing."""
        if self.link == "sign":
            best = scores.argmax(axis=1) if len(self.labels) > 2 else (scores[:, 0] > 0).astype(np.int64)
            return np.asarray(np.eye(len(self.labels))[best])
        each = 1 / (1 + np.exp(-np.clip(scores, -700, 700)))
        if len(self.labels) == 2:
            return np.column_stack([1 - each[:, 0], each[:, 0]])
        shares: Reals = each / each.sum(axis=1, keepdims=True)
        return shares

    def numbers(self, scores: Reals) -> Reals:
        """The numbers that scores stand for, within the declared bounds."""
        edges = self.schema.field(self.target).edges
        found: Reals = edges.low + (np.clip(scores[:, 0], -1.0, 1.0) + 1) / 2 * (edges.high - edges.low)
        return np.clip(found, edges.low, edges.high)

    def predict(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The likeliest label of each row and, where the model says so, how likely each is; or the number.

        Rows need every column of the schema but the target. Where a row has a value that the schema does not
        know, the answer is null.
        """
        import polars as pl

        self.refuse_without_predictors(rows)
        codes = {name: self.schema.codec(name).locate(rows[name]) for name in self.predictors}
        known = np.ones(rows.height, dtype=np.bool_)
        for column in codes.values():
            known &= column >= 0
        scores = self.scores({name: np.maximum(column, 0) for name, column in codes.items()}, rows.height)
        if self.link == "identity":
            told = [pl.Series(self.target, self.numbers(scores), dtype=pl.Float64)]
        else:
            chances = self.chances(scores)
            codec = self.schema.codec(self.target)
            told = [codec.decode(chances.argmax(axis=1), np.random.default_rng(0))]
            if self.link == "logistic":
                told += [pl.Series(f"p({label})", chances[:, at]) for at, label in enumerate(self.labels)]
        return pl.DataFrame(told).with_columns(pl.when(pl.Series(known)).then(pl.all()))

    def coded(self, rows: pl.DataFrame) -> dict[str, NDArray[Any]]:
        """The codes of rows that have a value of the schema in every column, the target among them."""
        lacking = [name for name in self.schema.names if name not in rows.columns]
        if lacking:
            raise DataError(f"The rows lack {', '.join(lacking)}, which this release speaks of. Add it.")
        coded = self.schema.encode(rows)
        return {name: np.asarray(column).astype(np.int64) for name, column in coded.items()}

    # The folder -------------------------------------------------------------------------------------

    def model(self) -> Model:
        import polars as pl

        saved = _Saved(target=self.target, link=self.link, intercepts=self.intercepts.tolist())
        return Model(
            json=saved.model_dump(), tables={"effects": pl.DataFrame({"effect": self.effects.ravel()})}
        )

    @classmethod
    def from_model(cls, manifest: Manifest, model: Model) -> Self:
        import polars as pl

        saved, schema = model.read(_Saved), manifest.schema
        if saved.target not in schema.names:
            raise ReleaseError(f"model.json does not fit schema.yaml. {AGAIN}")
        labels = 0 if schema.field(saved.target).ranged else schema.attribute(saved.target).size
        answers = 1 if labels in (0, 2) else labels
        if (saved.link == "identity") != (labels == 0) or labels == 1 or len(saved.intercepts) != answers:
            raise ReleaseError(f"model.json does not fit schema.yaml. {AGAIN}")
        codes = sum(size for name, size in schema.sizes.items() if name != saved.target)
        flat = model.table("effects", {"effect": pl.Float64}, rows=codes * answers)["effect"].to_numpy()
        if (np.abs(flat) > LARGEST).any():
            raise ReleaseError(f"model-effects.parquet holds impossible numbers. {AGAIN}")
        return cls(
            **manifest.common,
            target=saved.target,
            link=saved.link,
            intercepts=np.array(saved.intercepts, dtype=np.float64),
            effects=flat.reshape(codes, answers),
        )

    # The report -------------------------------------------------------------------------------------

    def strength(self) -> dict[str, float]:
        """How far apart the answers of two rows can be that differ in one column only, the farthest first."""
        far = {
            name: float(np.ptp(effects, axis=0).max(initial=0.0)) if len(effects) else 0.0
            for name, effects in self._by_column.items()
        }
        return dict(sorted(far.items(), key=lambda item: -item[1]))

    def remarks(self) -> Sequence[str]:
        telling = [name for name, far in self.strength().items() if far > 0]
        what = "It predicts numbers of" if self.link == "identity" else "It predicts"
        if len(telling) < len(self.predictors) and len(telling) <= 3:
            return [f"{what} {self.target} from {' and '.join(telling) or 'nothing'} alone."]
        return [f"{what} {self.target} from {len(telling)} columns, mostly from {', '.join(telling[:3])}."]

    def details(self) -> Mapping[str, Any]:
        return {"target": self.target, "link": self.link, "strength": self.strength()}

    def explain(self) -> Sequence[str]:
        words = {
            "logistic": "the logarithm of the odds of a label",
            "sign": "the side of a border that a row lies on",
            "identity": "a number between the declared bounds",
        }
        return [
            f"A linear predictor of {self.target}: every value of every other column adds one number to a "
            f"score, which stands for {words[self.link]}. These numbers were learned with noise, all of "
            "them together for the price on the receipt."
        ]

    def limits(self) -> Sequence[str]:
        return [
            "It adds the columns up and knows nothing of what they mean together.",
            "Ranges are seen in the bins of the schema and scaled by its bounds: bounds that are much wider "
            "than the values make a column count for little.",
            "It holds no model of single records, so no synthetic rows can be drawn from it.",
        ]

    def pictures(self) -> Sequence[Picture]:
        from penstock.learn.linear.pictures import pictures

        return pictures(self)


def predictor(
    method: str,
    table: Table,
    problem: Problem,
    weights: Reals,
    link: Link,
    budget: Budget,
    *,
    parameters: Mapping[str, Any],
) -> LinearRelease:
    """The release of public weights: a row for each feature (of at most 1), a column for each answer.

    Weights may be anything that noise makes of them: what is not finite or too large is held, which is
    post-processing.
    """
    held = np.clip(np.nan_to_num(weights.reshape(problem.features.number, problem.answers)), -1e9, 1e9)
    effects = problem.features.effects(held)
    return LinearRelease(
        method=method,
        schema=table.schema,
        parameters=parameters,
        receipt=budget.receipt(table.schema.unit, table.relation),
        target=problem.target,
        link=link,
        intercepts=problem.features.intercepts(held),
        effects=np.concatenate([np.zeros((0, problem.answers)), *effects]),
    )
