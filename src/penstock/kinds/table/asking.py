"""What releases of tables can be asked: counts, sums, means, quantiles and histograms, whole or by groups."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock.errors import QueryError
from penstock.kinds.table.answering import Asked, answer
from penstock.kinds.table.counted import CountedTable
from penstock.kinds.table.groups import by_group, columns_of, histogram
from penstock.kinds.table.measures import mean_of, total_of
from penstock.kinds.table.quantiles import USUAL, quantiles_of
from penstock.kinds.table.support import Support
from penstock.releases import Answer, Question, Release
from penstock.releases.batch import with_answers
from penstock.schema import Amounts, everything, parse

if TYPE_CHECKING:
    import polars as pl

    from penstock.releases.sql import Selected, Statement
    from penstock.schema import Condition

Reals = NDArray[np.float64]
Told: TypeAlias = "Answer | pl.DataFrame"
By: TypeAlias = str | Sequence[str] | None


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class AskedTable(Release):
    """A distribution over the codes of a table, seen by whoever asks it.

    >>> from penstock import Schema, release
    >>> from penstock.demo import survey, survey_schema
    >>> made = release(survey(2000), Schema.from_yaml(survey_schema()), epsilon=1, seed=1)
    >>> made.mean("income", "age between 31 and 60").text
    'mean income'
    >>> made.count("smoker = true", by="sex").columns[:3]
    ['sex', 'count', 'error']
    """

    total: float

    @property
    @abstractmethod
    def support(self) -> Support:
        """What the schema's rules leave possible."""

    @property
    @abstractmethod
    def counted_tables(self) -> Sequence[CountedTable]:
        """The noisy counts that the release holds as they came out of the noise, where there are any."""

    @property
    @abstractmethod
    def estimates_errors(self) -> bool:
        """Whether a study has found how far the truth strays from models that were made like this one."""

    @property
    @abstractmethod
    def loose(self) -> Sequence[Condition]:
        """The rules that the model does not keep by itself."""

    @abstractmethod
    def in_groups(self, names: Sequence[str]) -> list[tuple[str, ...]]:
        """These columns in groups between which the model knows of no connection."""

    @abstractmethod
    def marginal(self, names: Sequence[str]) -> Reals:
        """The joint probabilities of these attributes' codes, one axis each."""

    @abstractmethod
    def share(self, condition: Condition, worth: str | None = None) -> float:
        """The share of all rows for which a question holds; with `worth`, what these are worth of all."""

    def ask(self, expression: str) -> Answer:
        """The estimated number of records for which the expression holds."""
        return answer(self, parse(expression, self.schema))

    def count(self, where: str | None = None, *, by: By = None) -> Told:
        """How many records meet a condition: one answer, or a frame with one for each group.

        `by` names one or two columns; their bins and categories are the groups.
        """
        condition = self._condition(where)
        return answer(self, condition) if by is None else by_group(self, condition, by, answer, "count")

    def sum(self, column: str, where: str | None = None, *, by: By = None) -> Told:
        """The sum of a column of numbers over the records that meet a condition; as `count`."""
        return self._measured("sum", total_of, column, where, by)

    def mean(self, column: str, where: str | None = None, *, by: By = None) -> Told:
        """The mean of a column of numbers over the records that meet a condition; as `count`."""
        return self._measured("mean", mean_of, column, where, by)

    def _measured(
        self,
        value: str,
        measure: Callable[[Asked, Condition, str], Answer],
        column: str,
        where: str | None,
        by: By,
    ) -> Told:
        Amounts.of(self.schema.codec(self._column(column)))
        condition = self._condition(where)
        if by is None:
            return measure(self, condition, column)
        return by_group(self, condition, by, lambda release, asked: measure(release, asked, column), value)

    def quantiles(
        self, column: str, shares: Sequence[float] = USUAL, where: str | None = None
    ) -> pl.DataFrame:
        """The values of a column of numbers below which such shares of the records lie."""
        import polars as pl

        found = quantiles_of(self, self._condition(where), self._column(column), shares)
        return with_answers(pl.DataFrame({"share": [float(share) for share in shares]}), found, "quantile")

    def histogram(self, column: str, where: str | None = None) -> pl.DataFrame:
        """How many records each category or bin of a column has."""
        return histogram(self, self._condition(where), self._column(column))

    def select_exactly(self, statement: Statement) -> Selected | str:
        from penstock.kinds.table.sql import selected  # most releases are never asked in SQL

        return selected(self, statement)

    def _condition(self, where: str | None) -> Condition:
        return everything(self.schema.codecs) if where is None else parse(where, self.schema)

    def _column(self, column: str) -> str:
        return columns_of([column], self.schema)[0]

    def questions(self) -> Mapping[str, Question]:
        first = self.schema.names[0]
        return {
            **super().questions(),
            "groups": Question(
                "records are counted by groups",
                lambda text: self.count(by=text),
                example=first,
                narrowed=lambda text, where, by: self.count(where, by=text),
            ),
            "histogram": Question(
                "the bins of a column are counted",
                self.histogram,
                example=first,
                narrowed=partial(_undivided, self.histogram),
            ),
            **self._of_numbers(),
        }

    def _of_numbers(self) -> dict[str, Question]:
        """What can be asked where there is a column of numbers."""
        numbers = [field.name for field in self.schema.fields if field.type in ("integer", "number")]
        if not numbers:
            return {}
        measures: dict[str, Callable[..., Told]] = {"sum": self.sum, "mean": self.mean}
        found = {
            name: Question(
                f"the {name} of a column is told", ask, example=numbers[0], narrowed=partial(_within, ask)
            )
            for name, ask in measures.items()
        }
        return found | {
            "quantiles": Question(
                "quantiles of a column are told",
                self._quantiles_written,
                example=numbers[0],
                narrowed=partial(_undivided, self._quantiles_written),
            )
        }

    def _quantiles_written(self, text: str, where: str | None = None) -> pl.DataFrame:
        """Quantiles as somebody wrote them: a column, and behind '=' the shares where others are wanted."""
        if text in self.schema.names or "=" not in text:
            return self.quantiles(text.strip(), USUAL, where)
        column, _, listed = text.rpartition("=")
        try:
            shares = [float(part) for part in listed.split(",")]
        except ValueError:
            raise QueryError(
                f"'{listed}' is no list of shares; write quantiles as {column.strip()}=0.1,0.5,0.9."
            ) from None
        return self.quantiles(column.strip(), shares, where)


def _within(ask: Callable[..., Told], column: str, where: str | None, by: str | None) -> Told:
    return ask(column, where, by=by)


def _undivided(
    ask: Callable[..., pl.DataFrame], text: str, where: str | None, by: str | None
) -> pl.DataFrame:
    if by is not None:
        raise QueryError(
            f"Histograms and quantiles are not told by {by}; ask for one group at a time with a condition. "
            "Counts, sums and means are told by one or two columns."
        )
    return ask(text, where)
