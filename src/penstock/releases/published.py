"""What a release makes public: a model that can be sampled and asked, its receipt and its schema.

Everything reachable from here is public. It was either known before anyone looked (the schema, the
parameters) or paid for by a charge on the receipt; whatever is computed from it, the synthetic rows,
answers and pictures below, is post-processing and costs nothing more.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from penstock import catalogue
from penstock.errors import QueryError, UsageError
from penstock.privacy.budgets.amounts import plain
from penstock.privacy.budgets.receipt import Receipt
from penstock.progress import progress
from penstock.releases.answer import Answer
from penstock.releases.batch import answered
from penstock.releases.model import Manifest, Model
from penstock.releases.question import Question
from penstock.report.picture import Picture

if TYPE_CHECKING:
    from pathlib import Path

    import polars as pl

    from penstock.releases.sql import Selected, Statement
    from penstock.schema import Schema

LARGEST_SAMPLE = 2_000_000_000
ROWS_AT_ONCE = 1 << 17
"""More synthetic rows than this are drawn in pieces of so many: they need not fit into memory together."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Published(ABC):
    """What every release states, and what a method's release provides: all of a `Release` but its folder.

    A method's release derives from `Release`. It is a dataclass made with the same four flags (comparing or
    printing whole models is never meant), and says of which `kinds` of data it may be, what kind of `answer`
    it is, and the `form` of its model, by which `penstock.catalogue` knows it. It must implement
    `model` and `from_model`; it should implement `draw` and `size` (synthetic rows), `ask` and `questions`
    (where there is more to ask than conditions), and `pictures` (its part of the report).
    """

    kinds: ClassVar[tuple[str, ...]]
    answer: ClassVar[str]
    form: ClassVar[str]
    sampled: ClassVar[str] = "records"
    """What the number given to `sample` counts."""
    sampled_often: ClassVar[int] = 10_000
    """How many of them an example draws."""

    method: str
    schema: Schema
    receipt: Receipt
    parameters: Mapping[str, Any] = field(default_factory=dict)

    # What a method's release provides ------------------------------------------------------------

    @abstractmethod
    def model(self) -> Model:
        """Everything that `from_model` needs: finite JSON and tables of plain columns."""

    @classmethod
    @abstractmethod
    def from_model(cls, manifest: Manifest, model: Model) -> Self:
        """The release behind `model`, every part of which is checked; raises ReleaseError."""

    @property
    def size(self) -> int:
        """The number of synthetic rows to draw when nobody says how many; from noisy or public counts."""
        return 1000

    def draw(self, n: int, rng: np.random.Generator) -> pl.DataFrame:
        """`n` synthetic rows."""
        raise UsageError(f"A {self.method} release cannot be sampled: it holds no model of single records.")

    def draw_again(self, n: int, rng: np.random.Generator) -> pl.DataFrame:
        """As many rows once more, to see by how much drawing moves a number; perhaps in less time."""
        return self.draw(n, rng)

    def draw_where(self, where: str, n: int, rng: np.random.Generator) -> pl.DataFrame:
        """`n` synthetic rows for which an expression holds; UsageError where rows meet no conditions."""
        raise UsageError(f"Rows of a {self.method} release cannot be drawn under a condition; leave it out.")

    def pieces(self, n: int, rng: np.random.Generator) -> Iterator[pl.DataFrame]:
        """`n` synthetic rows, a piece at a time: all of them might not fit into memory."""
        if n <= ROWS_AT_ONCE:
            yield self.draw(n, rng)
            return
        with progress("drawing rows", total=-(-n // ROWS_AT_ONCE)) as step:
            for begin in range(0, n, ROWS_AT_ONCE):
                yield self.draw(min(ROWS_AT_ONCE, n - begin), rng)
                step(1)

    def on_days(self, days: int) -> Self:
        """The same release, drawing rows for another number of days; UsageError where rows have none."""
        raise UsageError(f"A {self.method} release draws rows without days; leave the number of days out.")

    def files(self) -> Mapping[str, Callable[[pl.DataFrame, Path], None]]:
        """Further files that synthetic rows can be written to besides CSV and Parquet, by their ending."""
        return {}

    def ask(self, expression: str) -> Answer:
        """The answer to a question in this kind's query language."""
        raise QueryError(f"A {self.method} release cannot be asked with an expression.")

    def questions(self) -> Mapping[str, Question]:
        """All that this release can be asked, by name; a condition where it understands expressions."""
        found: dict[str, Question] = {}
        if self.can_query:
            words = "what meets a condition is counted"
            many = partial(answered, column="condition", ask=self.query)
            found["condition"] = Question(words, self.query, many, self.example())
        return {**found, **self.in_sql()}

    def in_sql(self) -> dict[str, Question]:
        """The question that is asked in SQL, where there are rows that it could be about."""
        words = "synthetic rows are asked in SQL"
        asked = Question(words, self.sql, example="select * from release limit 3")
        return {"sql": asked} if self.can_sample else {}

    def pictures(self) -> Sequence[Picture]:
        """Pictures for the public report, drawn from the release alone."""
        return ()

    @property
    def not_drawn(self) -> int:
        """How many fields have no picture, because there are too many of them for a page."""
        return 0

    def explain(self) -> Sequence[str]:
        """Paragraphs for the report: what the model is, in plain words."""
        return ()

    def example(self) -> str | None:
        """A query that suits this release, for the report; None when there is none to show."""
        return None

    def limits(self) -> Sequence[str]:
        """Sentences for the report: what this release is not good for."""
        return ()

    def remarks(self) -> Sequence[str]:
        """Sentences that users should read first; `release`, `inspect` and the report show them."""
        return ()

    def details(self) -> Mapping[str, Any]:
        """What `remarks` speak of, as plain JSON for `inspect --json`."""
        return {}

    # What users call -----------------------------------------------------------------------------

    @property
    def kind(self) -> str:
        """The kind of data that was released."""
        return self.schema.kind

    def sample(
        self, n: int | None = None, *, seed: int | None = None, where: str | None = None
    ) -> pl.DataFrame:
        """Synthetic rows, any number of them, at no further privacy cost; `to_pandas()` makes them pandas'.

        `where` asks for rows for which an expression holds, such as ``where="age between 30 and 40"``.
        A seed makes the rows reproducible; it has no bearing on privacy, because the model that is
        sampled is public already. A missing value is null, or the first of the `missingValues` that the
        schema declares where that is a value of the column's type.
        """
        import polars as pl

        wanted, rng = self.drawing(n, seed)
        if where is not None:
            return self.schema.marked(self.draw_where(where, wanted, rng))
        return self.schema.marked(pl.concat(self.pieces(wanted, rng)))

    def drawing(self, n: int | None, seed: int | None) -> tuple[int, np.random.Generator]:
        """How many rows to draw and with which randomness, checked."""
        wanted = self.size if n is None else n
        if not _is_whole(wanted) or not 0 <= wanted <= LARGEST_SAMPLE:
            raise UsageError(
                f"The number of rows must be a whole number from 0 to {LARGEST_SAMPLE:,}, not {wanted!r}."
            )
        if seed is not None and (not _is_whole(seed) or seed < 0):
            raise UsageError(f"The seed must be a whole number of at least 0, not {seed!r}.")
        return int(wanted), np.random.default_rng(None if seed is None else int(seed))

    def query(self, expression: str) -> Answer:
        """The answer to a question: what it rests on, its error bar where that is known, and caveats."""
        if not isinstance(expression, str) or not expression.strip():
            raise QueryError('The query is empty; try one such as "age < 30".')
        return self.ask(expression)

    def sql(self, statement: str, *, rows: int | None = None) -> Selected:
        """What one SELECT statement about the table `release` says, and what that rests on.

        A statement that is one of the query language is answered by the model, with bars and ranges; any
        other one, and all with a number of `rows`, by that many synthetic rows. Missing values are NULL.
        """
        from penstock.releases.sql import Statement, by_sample

        asked = Statement.read(statement)
        if not self.can_sample:
            raise QueryError(f"A {self.method} release holds no rows that SQL could ask about.")
        found = self.select_exactly(asked) if rows is None else "as many as were asked for"
        if not isinstance(found, str):
            return found
        usual = self.size if self.sampled == "records" else min(self.size, self.sampled_often)
        wanted = None if rows is None else self.drawing(rows, None)[0]

        def draw(n: int, seed: int) -> pl.DataFrame:
            """The first sample is what is told, the others say how far it varies."""
            return (self.draw_again if seed else self.draw)(*self.drawing(n, seed))

        return by_sample(asked, draw, usual, wanted, found)

    def select_exactly(self, statement: Statement) -> Selected | str:
        """The answer of the model itself to a statement; or, in words, why synthetic rows have to answer."""
        return "because a release of this kind has no model that SQL could ask"

    @property
    def can_sample(self) -> bool:
        """Whether `sample` gives rows."""
        return catalogue.ANSWERS[self.answer].sampled

    @property
    def can_query(self) -> bool:
        """Whether `query` understands expressions."""
        return type(self).ask is not Published.ask

    @property
    def publishable(self) -> bool:
        """False when noise came from a fixed seed, which anyone could subtract again: the release's own, or
        that of the private draft behind its schema.
        """
        return self.receipt.publishable and self.schema.publishable

    @property
    def unreviewed(self) -> tuple[str, ...]:
        """Facts of the schema that were read off the records and that nobody confirmed."""
        return tuple(self.schema.to_review())

    def summary(self) -> dict[str, Any]:
        """What there is to know about the release, as plain JSON; `penstock inspect --json` prints it."""
        return {
            "kind": self.kind,
            "answer": self.answer,
            "form": self.form,
            "method": self.method,
            "parameters": dict(self.parameters),
            "guarantee": self.receipt.guarantee,
            "epsilon": str(self.receipt.epsilon),
            "delta": str(self.receipt.delta),
            "publishable": self.publishable,
            "unreviewed": list(self.unreviewed),
            "drafted": None if self.schema.drafted is None else self.schema.drafted.model_dump(),
            "fields": list(self.schema.names),
            "remarks": list(self.remarks()),
            "details": dict(self.details()),
            "receipt": self.receipt.to_dict(),
        }

    def __repr__(self) -> str:
        price = f"epsilon {plain(self.receipt.epsilon)}"
        if self.receipt.delta:
            price += f", delta {plain(self.receipt.delta)}"
        mark = "" if self.publishable else ", not publishable"
        fields = ", ".join(self.schema.names[:6]) + (", …" if len(self.schema.names) > 6 else "")
        return f"{type(self).__name__}({self.method}, {price}, {fields}{mark})"

    def _repr_html_(self) -> str:
        rows = [
            ("method", self.method),
            ("data", self.kind),
            ("answer", self.answer),
            ("guarantee", self.receipt.guarantee),
            ("fields", ", ".join(self.schema.names)),
            ("charges", str(sum(1 for _ in self.receipt.charges()))),
        ]
        if not self.publishable:
            rows.append(("not publishable", "made with a fixed seed"))
        head = "text-align:left;vertical-align:top;padding:2px 14px 2px 0;opacity:.65;font-weight:500"
        cells = "".join(
            f'<tr><th style="{head}">{escape(name)}</th><td style="text-align:left">{escape(value)}</td></tr>'
            for name, value in rows
        )
        return (
            f'<div style="border-left:4px solid #0072B2;padding:4px 0 4px 14px">'
            f"<strong>{escape(type(self).__name__)}</strong>"
            f'<table style="border:0;margin-top:4px">{cells}</table></div>'
        )


def _is_whole(number: object) -> bool:
    return isinstance(number, int | np.integer) and not isinstance(number, bool)
