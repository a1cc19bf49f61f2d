"""The sealed handle on a table: what a tabular method gets instead of the records.

Every record falls into exactly one cell of a marginal, so a table of counts moves by one in one
cell when a record is added or removed (L1 sensitivity 1), and by one in two cells when a record is
replaced (L1 sensitivity 2). A unit of up to m records moves m times as much. The number of records
is sealed too, except where the schema declares it public, as relation `replace` requires.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.contracts.data import Data, Handle
from penstock.engine import Engine, Marginal, MemoryEngine, open_engine
from penstock.engine.merged import MergedEngine
from penstock.errors import DataError, SchemaError, UsageError
from penstock.kinds.table.adaptive_bins import adaptive, with_adaptive_bins
from penstock.kinds.table.rows import CodedRows, Rows, Scoring, Split, sparse
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.laws.passing import SparseCounts
from penstock.privacy.seals.sealed import FAILED, FAILURE, Sealed, derived
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.schema import Attribute, Relation, Schema

Counts = NDArray[np.int64]

HELD = 1 << 24
"""So many cells of tables that are scored are held at a time."""


class RowPart(Handle):
    """The records whose codes all lie below the nodes of one cut, one node for each attribute."""

    def __init__(self, rows: Rows, records: int) -> None:
        self._rows, self._records = rows, records

    def size(self) -> Sealed[SparseCounts]:
        """How many records there are: a table of one cell."""
        return Sealed(
            sparse(np.array([self._rows.size])),
            Sensitivity.of(self._records, monotone=True),
            Relation.ADD_REMOVE,
            because="a record is counted once, and a unit has as many records as the schema allows",
        )

    def scores(
        self, splits: Sequence[Split], target: tuple[int, int] | None, score: Scoring
    ) -> Sealed[Counts]:
        """How much each split tells apart, in whole steps; `target` is the class's column and its size."""
        classes = None if target is None else self._rows.codes[:, target[0]]
        size = 1 if target is None else target[1]
        found = [score.of(self._rows.table(split, classes, size)) for split in splits]
        return Sealed(
            np.array(found, dtype=np.int64),
            score.sensitivity(self._records, len(splits), size),
            Relation.ADD_REMOVE,
            because="one record moves one number of each table of sub-parts and classes by one, which moves "
            "the score by no more than its bound; a unit of m records moves it m times as far",
        )

    def labels(self, column: int, size: int) -> Sealed[Counts]:
        """How many records have each of the codes of a column."""
        return Sealed(
            self._rows.histogram(column, range(size)),
            Sensitivity.of(self._records, monotone=True),
            Relation.ADD_REMOVE,
            because="a record has one code of a column, and a unit as many records as the schema allows",
        )

    def halves(self, column: int, codes: Sequence[int]) -> Sealed[Counts]:
        """For every place between two codes, how unevenly it divides the records: minus |left - right|."""
        below = np.cumsum(self._rows.histogram(column, codes))[:-1]
        return Sealed(
            -np.abs(2 * below - self._rows.size),
            Sensitivity.scores(self._records, len(codes) - 1),
            Relation.ADD_REMOVE,
            because="one record more is left or right of a place: the difference of both moves by one",
        )

    def divided(self, split: Split) -> RowDivision:
        """The part, told apart by which child of a node its records have."""
        return RowDivision(self._rows, split, self._records)


class RowDivision(Handle):
    """A part and its sub-parts: one for every child of a node of one attribute."""

    def __init__(self, rows: Rows, split: Split, records: int) -> None:
        self._rows, self._split, self._records = rows, split, records

    def counts(self, children: Sequence[int]) -> Sealed[SparseCounts]:
        """How many records some of the children have."""
        counts = self._rows.table(self._split, None, 1)[:, 0]
        return Sealed(
            sparse(counts[list(children)]),
            Sensitivity.of(self._records, monotone=True),
            Relation.ADD_REMOVE,
            because="a record has one code of an attribute, and so one child of a node, which it alone "
            "decides; a unit has as many records as the schema allows",
        )

    def part(self, child: int) -> RowPart:
        """The sub-part of one child, which may be empty."""
        return RowPart(self._rows.of(self._split, child), self._records)


class Table(Data):
    """Records that can be counted and not seen.

    >>> import polars as pl
    >>> from penstock.schema import Schema
    >>> schema = Schema.from_yaml('''
    ... fields:
    ...   - {name: smoker, type: boolean}
    ... ''')
    >>> table = Table.open(pl.DataFrame({"smoker": ["true", "false", "true"]}), schema)
    >>> table.counts([("smoker",)])
    [Sealed(sensitivity 1, add-remove)]
    """

    def __init__(self, engine: Engine, schema: Schema, declared: Schema | None = None) -> None:
        schema.refuse_if_nothing_is_possible()
        self._engine = engine
        self.schema = schema
        self._declared = schema if declared is None else declared
        if schema.relation is Relation.REPLACE:
            if schema.unit.records > 1:
                raise SchemaError(
                    "relation 'replace' keeps the number of records fixed, but a user who is replaced "
                    "may bring another number of records; set unit.at_most to 1, or use relation "
                    "'add-remove'."
                )
            if schema.size is None:
                raise SchemaError(
                    "relation 'replace' makes the number of records public; declare it in the "
                    "schema as 'size', or use relation 'add-remove'."
                )
            if schema.size != engine.rows():
                raise DataError(
                    f"The schema declares a public size of {schema.size} records and the data has "
                    "another number; correct one of them. Nothing was spent."
                )

    @classmethod
    def _opened(
        cls, source: Any, schema: Schema, *, table: str | None, engine: str, order_key: bytes | None
    ) -> Table:
        return cls(open_engine(source, schema, table=table, engine=engine, order_key=order_key), schema)

    def __repr__(self) -> str:
        return f"Table({len(self.schema.fields)} attributes, sealed, {self.schema.relation.value})"

    @property
    def declared(self) -> Schema:
        return self._declared

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """What a method works with; UsageError while bins that follow the data are still to be found."""
        names = adaptive(self.schema)
        if names:
            raise UsageError(
                f"{', '.join(names)}: the adaptive bins are still to be found. Use penstock.release, or "
                "`prepared` before the method. Nothing was spent."
            )
        return self.schema.attributes

    @property
    def public_size(self) -> int | None:
        """The number of records where that is a public fact, else None."""
        return self.schema.size

    def marginal_sensitivity(self, marginals: int = 1) -> Sensitivity:
        """Of `marginals` tables of counts over the same records, end to end."""
        records = self.schema.unit.records
        if self.schema.relation is Relation.ADD_REMOVE:
            return Sensitivity.of(
                records * marginals, linf=records, l2_squared=records**2 * marginals, monotone=True
            )
        return Sensitivity.of(2 * records * marginals, linf=records, l2_squared=2 * records**2 * marginals)

    def counts(self, marginals: Sequence[Marginal]) -> list[Sealed[Counts]]:
        """One sealed table of counts for each marginal, flat in C order, answered in few passes."""
        sensitivity = self.marginal_sensitivity()
        return [
            Sealed(
                counts,
                sensitivity,
                self.schema.relation,
                because="a record falls into exactly one cell of a marginal: coming or going it moves that "
                "cell by one, and replaced by another record at most two cells by one each; a unit of m "
                "records moves m times as much, all of it perhaps in one cell",
            )
            for counts in self._engine.counts(marginals)
        ]

    def derive(
        self,
        marginals: Sequence[Marginal],
        function: Callable[[list[Counts]], Counts],
        sensitivity: Sensitivity,
        *,
        shape: tuple[int, ...],
        because: str,
    ) -> Sealed[Counts]:
        """A sealed vector computed from many marginals at once, such as one score for each of them.

        As with `Sealed.claim`, the caller vouches for the sensitivity and says why it holds. The result is
        a vector of 64-bit integers of the declared shape, and a failure says nothing of the records.
        """
        found = derived(function, self._engine.counts(marginals), shape=shape, dtype=np.int64)
        if found is FAILED:
            raise UsageError(FAILURE)
        return Sealed(found, sensitivity, self.schema.relation, because=because)

    def scored(
        self,
        marginals: Sequence[Marginal],
        score: Callable[[list[Counts]], Counts],
        sensitivity: Sensitivity,
        *,
        because: str,
    ) -> Sealed[Counts]:
        """One sealed whole number for each marginal, such as what choosing it would be worth.

        `score` is given some of the tables at a time, so that very many of them are never held at once; how
        many depends on their sizes alone. The caller vouches for the sensitivity, as with `derive`.
        """
        found: list[Counts] = []
        for batch in self._batches(marginals):
            part = derived(score, self._engine.counts(batch), shape=(len(batch),), dtype=np.int64)
            if part is FAILED:
                found.clear()
                raise UsageError(FAILURE)
            found.append(part)
        return Sealed(np.concatenate(found), sensitivity, self.schema.relation, because=because)

    def _batches(self, marginals: Sequence[Marginal]) -> Iterator[Sequence[Marginal]]:
        """Runs of marginals that have so many cells together, or one that has more."""
        sizes = self._engine.sizes
        first = held = 0
        for place, marginal in enumerate(marginals):
            cells = prod(
                sizes[column] if isinstance(column, str) else column.size or sizes[column.name]
                for column in marginal
            )
            if held and held + cells > HELD:
                yield marginals[first:place]
                first, held = place, 0
            held += cells
        yield marginals[first:]

    def merged(self, lookups: Mapping[str, NDArray[np.integer]], schema: Schema) -> Table:
        """The same records with some attributes coarser: a public lookup from old to new codes for each.

        `schema` describes the new codes; a record still falls into one cell of every marginal.
        """
        merged = Table(MergedEngine(self._engine, lookups), schema, self._declared)
        merged.repeatable = self.repeatable
        return merged

    def everything(self) -> RowPart:
        """All records, to be told apart step by step."""
        rows, weights = self._engine.distinct(self.schema.names)
        return RowPart(Rows(rows.astype(np.int64), weights.astype(np.int64)), self.schema.unit.records)

    def coded_rows(self) -> Sealed[CodedRows]:
        """All records as rows of codes, sealed, for whatever is a sum over records.

        Its sensitivity counts records: what is derived from it is that far times what one record adds.
        """
        names = self.schema.names
        if isinstance(self._engine, MemoryEngine):
            columns, weights = self._engine.weighted(names)
            length = self._engine.rows() if weights is None else len(weights)
        else:
            rows, weights = self._engine.distinct(names)
            columns, length = [np.ascontiguousarray(column) for column in rows.T], len(rows)
        return Sealed(
            CodedRows(dict(zip(names, columns, strict=True)), weights, length),
            self.marginal_sensitivity(),
            self.schema.relation,
            because="a unit has as many records as the schema allows; replaced by another, one record goes "
            "and one comes",
        )

    def prepared(self, budget: Budget) -> tuple[Table, Budget]:
        """The table with the bins that follow its data found, and what is left for the release itself."""
        return with_adaptive_bins(self, budget)

    def size(self) -> Sealed[Counts]:
        """The number of records, as a vector of one."""
        moves = self.schema.unit.records if self.schema.relation is Relation.ADD_REMOVE else 0
        return Sealed(
            np.array([self._engine.rows()], dtype=np.int64),
            Sensitivity.of(Fraction(moves), monotone=True),
            self.schema.relation,
            because="every record is counted once; under replace the number is public and stays as it is",
        )
