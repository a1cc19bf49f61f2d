"""The saved parts of a release: its model, and what every release states about itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from penstock.errors import ReleaseError
from penstock.releases.disk import AGAIN

if TYPE_CHECKING:
    import polars as pl
    from pydantic import BaseModel

    from penstock.privacy.budgets.receipt import Receipt
    from penstock.schema import Schema

M = TypeVar("M", bound="BaseModel")


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
                f"model.json is not a model of this kind of release: {place}: {first['msg']}. {AGAIN}"
            ) from None

    def table(self, name: str, columns: Mapping[str, Any], *, rows: int | None = None) -> pl.DataFrame:
        """A table with exactly these columns and types, no missing or non-finite values, `rows` rows."""
        frame = self.tables.get(name)
        if frame is None:
            raise ReleaseError(f"The release has no model table '{name}'. {AGAIN}")
        file = f"model-{name}.parquet"
        if dict(frame.schema) != dict(columns):
            found = ", ".join(f"{column} {dtype}" for column, dtype in frame.schema.items())
            wanted = ", ".join(f"{column} {dtype}" for column, dtype in columns.items())
            raise ReleaseError(f"{file} has the columns {found[:300]} where {wanted} were expected. {AGAIN}")
        if rows is not None and frame.height != rows:
            raise ReleaseError(f"{file} has {frame.height} rows where {rows} were expected. {AGAIN}")
        for column in frame.columns:
            series = frame[column]
            if series.null_count():
                raise ReleaseError(f"{file} has missing values in '{column}'. {AGAIN}")
            if series.dtype.is_float() and not series.is_finite().all():
                raise ReleaseError(f"{file} has values in '{column}' that are not finite numbers. {AGAIN}")
        return frame


@dataclass(frozen=True)
class Manifest:
    """What every release states about itself; given to `Release.from_model`."""

    method: str
    schema: Schema
    receipt: Receipt
    parameters: Mapping[str, Any]

    @property
    def common(self) -> dict[str, Any]:
        """The fields of `Release`, for ``cls(**manifest.common, …)``."""
        return {
            "method": self.method,
            "schema": self.schema,
            "receipt": self.receipt,
            "parameters": self.parameters,
        }
