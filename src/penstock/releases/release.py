"""The public result of a method: a model that can be sampled and asked, its receipt and its schema.

Everything reachable from a `Release` is public. It was either known before anyone looked (the
schema, the parameters) or paid for by a charge on the receipt; whatever is computed from it, the
synthetic rows, answers and pictures below, is post-processing and costs nothing more.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import numpy as np

from penstock.errors import QueryError, ReleaseError, UsageError
from penstock.privacy.budgets.amounts import plain
from penstock.privacy.budgets.receipt import Receipt

if TYPE_CHECKING:
    import plotly.graph_objects as go
    import polars as pl
    from pydantic import BaseModel

    from penstock.schema import Schema

M = TypeVar("M", bound="BaseModel")

LARGEST_SAMPLE = 2_000_000_000


@dataclass(frozen=True)
class Answer:
    """What a release says to a question.

    `error` is the half-width of a 95 % interval for the noise that the release added, or None when
    the method does not know it. `text` says what the number counts.

    >>> print(Answer(1873.2, 42.0, "records"))
    1,873 ± 42 records
    """

    value: float
    error: float | None = None
    text: str = ""

    def __str__(self) -> str:
        number = readable(self.value)
        bar = "" if self.error is None else f" ± {readable(self.error)}"
        return f"{number}{bar} {self.text}".rstrip()

    def __float__(self) -> float:
        return float(self.value)

    def to_dict(self) -> dict[str, Any]:
        """The answer as plain JSON."""
        return {"value": self.value, "error": self.error, "text": self.text}

    def _repr_html_(self) -> str:
        bar = "" if self.error is None else f' <span style="opacity:.7">± {readable(self.error)}</span>'
        return f'<strong style="font-size:1.25em">{readable(self.value)}</strong>{bar} {escape(self.text)}'


def readable(number: float) -> str:
    """A number as people read it: whole above 100, else three significant digits.

    >>> readable(1234.56), readable(0.012345), readable(12.0)
    ('1,235', '0.0123', '12')
    """
    if number != number or number in (float("inf"), float("-inf")):
        return str(number)
    if abs(number) >= 100 or number == int(number):
        return f"{number:,.0f}"
    return f"{number:.3g}"


def percent(share: float) -> str:
    r"""A share in words: never rounded to certainty.

    >>> percent(0.731).replace("\u00a0", " "), percent(0.99999).replace("\u00a0", " ")
    ('73 %', 'more than 99.9 %')
    """
    if 0.999 < share < 1:
        return "more than 99.9\u00a0%"
    if 0 < share < 0.001:
        return "less than 0.1\u00a0%"
    digits = 1 if 0.99 < share < 1 or 0 < share < 0.01 else 0
    return f"{100 * share:.{digits}f}\u00a0%"


@dataclass(frozen=True)
class Picture:
    """One picture of the released data, with the words and the numbers behind it.

    `caption` is what a reader who cannot see the picture is told. `columns` and `rows` are the data
    table behind it; the functions of `penstock.report.pictures` fill them in. A `wide` picture gets
    the whole width of the page.
    """

    title: str
    caption: str
    figure: go.Figure
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Any, ...], ...] = ()
    wide: bool = False

    def __repr__(self) -> str:
        return f"Picture({self.title!r})"

    def _repr_html_(self) -> str:
        html = self.figure._repr_html_()
        return f"<h4>{escape(self.title)}</h4>{html}<p>{escape(self.caption)}</p>"


@dataclass(frozen=True)
class Model:
    """What of a release is saved: one JSON object and named tables.

    The accessors are for loading, where nothing in the files is believed until it is checked.
    """

    json: Mapping[str, Any] = field(default_factory=dict)
    tables: Mapping[str, pl.DataFrame] = field(default_factory=dict)

    def read(self, shape: type[M]) -> M:
        """The JSON object as a pydantic model, strictly: no text is taken for a number."""
        from pydantic import ValidationError

        try:
            return shape.model_validate(dict(self.json), strict=True)
        except ValidationError as problem:
            first = problem.errors(include_url=False, include_input=False)[0]
            place = ".".join(str(step) for step in first["loc"]) or "the object"
            raise ReleaseError(
                f"model.json is not a model of this kind of release: {place}: {first['msg']}. "
                "Get the release again from its publisher."
            ) from None

    def table(self, name: str, columns: Mapping[str, Any], *, rows: int | None = None) -> pl.DataFrame:
        """A table with exactly these columns and types, no missing or non-finite values, `rows` rows."""
        frame = self.tables.get(name)
        again = "Get the release again from its publisher."
        if frame is None:
            raise ReleaseError(f"The release has no model table '{name}'. {again}")
        file = f"model-{name}.parquet"
        if dict(frame.schema) != dict(columns):
            found = ", ".join(f"{column} {kind}" for column, kind in frame.schema.items())
            wanted = ", ".join(f"{column} {kind}" for column, kind in columns.items())
            raise ReleaseError(f"{file} has the columns {found[:300]} where {wanted} were expected. {again}")
        if rows is not None and frame.height != rows:
            raise ReleaseError(f"{file} has {frame.height} rows where {rows} were expected. {again}")
        for column in frame.columns:
            series = frame[column]
            if series.null_count():
                raise ReleaseError(f"{file} has missing values in '{column}'. {again}")
            if series.dtype.is_float() and not series.is_finite().all():
                raise ReleaseError(f"{file} has values in '{column}' that are not finite numbers. {again}")
        return frame


@dataclass(frozen=True)
class Manifest:
    """What every release states about itself; given to `Release.from_model`."""

    method: str
    schema: Schema
    receipt: Receipt
    parameters: Mapping[str, Any]
    version: str = ""

    @property
    def common(self) -> dict[str, Any]:
        """The fields of `Release`, for ``cls(**manifest.common, …)``."""
        return {
            "method": self.method,
            "schema": self.schema,
            "receipt": self.receipt,
            "parameters": self.parameters,
        }


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Release(ABC):
    """A differentially private model of the records: save it, sample it, ask it.

    A method's release is a dataclass made with the same four flags (comparing or printing whole
    models is never meant), names its `kind` of data and the `form` of its model, and has a line in
    `penstock.releases.registry`. It must implement `model` and `from_model`; it should implement
    `draw` and `size` (synthetic rows), `ask` (queries) and `pictures` (its part of the report).
    """

    kind: ClassVar[str]
    form: ClassVar[str]

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

    def ask(self, expression: str) -> Answer:
        """The answer to a question in this kind's query language."""
        raise QueryError(f"A {self.method} release cannot be asked with an expression.")

    def pictures(self) -> Sequence[Picture]:
        """Pictures for the public report, drawn from the release alone."""
        return ()

    def explain(self) -> Sequence[str]:
        """Paragraphs for the report: what the model is, in plain words."""
        return ()

    def example(self) -> str | None:
        """A query that suits this release, for the report; None when there is none to show."""
        from penstock.releases.example import example_query

        return example_query(self.schema) if self.kind in ("table", "points") else None

    def limits(self) -> Sequence[str]:
        """Sentences for the report: what this release is not good for."""
        return ()

    # What users call -----------------------------------------------------------------------------

    def sample(self, n: int | None = None, *, seed: int | None = None) -> pl.DataFrame:
        """Synthetic rows, any number of them, at no further privacy cost.

        A seed makes the rows reproducible; it has no bearing on privacy, because the model that is
        sampled is public already.
        """
        return self.draw(*self.drawing(n, seed))

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
        """The answer to a question, with its error bar where the method knows one."""
        if not isinstance(expression, str) or not expression.strip():
            raise QueryError('The query is empty; try one such as "age < 30".')
        return self.ask(expression)

    @property
    def can_sample(self) -> bool:
        """Whether `sample` gives rows."""
        return type(self).draw is not Release.draw or type(self).sample is not Release.sample

    @property
    def can_query(self) -> bool:
        """Whether `query` understands expressions."""
        return type(self).ask is not Release.ask or type(self).query is not Release.query

    @property
    def publishable(self) -> bool:
        """False when the noise came from a fixed seed, which anyone could subtract again."""
        return self.receipt.publishable

    @property
    def unreviewed(self) -> tuple[str, ...]:
        """Facts of the schema that were read off the records and that nobody confirmed."""
        return tuple(self.schema.to_review())

    def save(self, folder: str | Path, *, overwrite: bool = False) -> Path:
        """Write the release as a folder of plain files: all of it, or nothing."""
        from penstock.releases.folder import save

        return save(self, folder, overwrite=overwrite)

    def report(self) -> str:
        """The public report, as one self-contained HTML page."""
        from penstock.releases.public_report import report

        return report(self)

    def facts(self) -> dict[str, Any]:
        """What `penstock inspect --json` prints."""
        return {
            "kind": self.kind,
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
