"""datapackage.json: the table of contents of a release folder, in Frictionless words.

Anything that reads Frictionless data packages understands the synthetic rows from it. What Penstock has
to say beyond that sits in one object, `penstock`. What comes back from disk is validated strictly; keys that
others may add to a data package (licences, contributors) are left alone.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, ValidationError

from penstock.errors import ReleaseError
from penstock.releases.disk import AGAIN, DISTRUST, PLAIN_NAME
from penstock.releases.formats import FORMAT, upgraded

if TYPE_CHECKING:
    import polars as pl

    from penstock.schema import Schema

Text = Annotated[str, Field(max_length=10_000)]
Word = Annotated[str, Field(max_length=200, pattern=r"^[A-Za-z0-9][A-Za-z0-9._ -]*$")]
Amount = Annotated[str, Field(pattern=r"^[0-9]{1,2000}(/[0-9]{1,2000})?$")]

_STRICT = ConfigDict(strict=True, frozen=True, extra="forbid", populate_by_name=True, defer_build=True)
_OPEN = ConfigDict(strict=True, frozen=True, extra="ignore", populate_by_name=True, defer_build=True)


class Resource(BaseModel):
    """One file of the release."""

    model_config = _OPEN

    name: Annotated[str, Field(max_length=200, pattern=r"^[a-z0-9][a-z0-9._-]*$")]
    path: Annotated[str, Field(max_length=200, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
    bytes: Annotated[int, Field(ge=0, le=2**60)]
    hash: Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]
    type: Literal["table"] | None = None
    format: Text | None = None
    mediatype: Text | None = None
    encoding: Text | None = None
    title: Text | None = None
    schema_: Annotated[dict[str, Any] | None, Field(alias="schema")] = None


class About(BaseModel):
    """The object `penstock`: what a release says about itself."""

    model_config = _STRICT

    format: Annotated[int, Field(ge=FORMAT, le=FORMAT)]
    version: Text
    form: Word
    kind: Word
    answer: Word
    method: Word
    parameters: dict[str, Any]
    guarantee: Text
    epsilon: Amount
    delta: Amount
    publishable: bool
    unreviewed: list[Text]


class Package(BaseModel):
    """The whole of datapackage.json."""

    model_config = _OPEN

    name: Annotated[str, Field(max_length=200, pattern=r"^[a-z0-9][a-z0-9._-]*$")]
    title: Text | None = None
    created: Text | None = None
    resources: Annotated[list[Resource], Field(min_length=1, max_length=1000)]
    penstock: About
    _made: int = PrivateAttr(default=FORMAT)

    @property
    def made(self) -> int:
        """The format in which the folder was written; `penstock` is told in today's."""
        return self._made

    def to_json(self) -> str:
        plain = self.model_dump(by_alias=True, exclude_none=True)
        return to_json({"$schema": "https://datapackage.org/profiles/2.0/datapackage.json", **plain})


def read_package(data: bytes, where: str) -> Package:
    """The validated table of contents, or a sentence that says what is wrong with it."""
    parsed = from_json(data, where)
    about = parsed.get("penstock")
    if not isinstance(about, dict):
        raise ReleaseError(f"{where} is a data package, but not one made by Penstock.")
    made = about.get("format")
    if isinstance(made, int) and not isinstance(made, bool) and made > FORMAT:
        raise ReleaseError(
            f"{where} was made by Penstock {str(about.get('version'))[:40]} in release format {made}; this "
            f"version reads up to format {FORMAT}. Upgrade Penstock to open it."
        )
    try:
        package = Package.model_validate({**parsed, "penstock": upgraded(about)})
    except ValidationError as problem:
        first = problem.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(step)[:60] for step in first["loc"])
        if first["loc"][-1] == "path" and first["type"] == "string_pattern_mismatch":
            raise ReleaseError(f"{where} names a file outside its folder ({place}). {DISTRUST}") from None
        raise ReleaseError(f"{where} is damaged: {place}: {first['msg']}. {AGAIN}") from None
    package._made = made if isinstance(made, int) else FORMAT
    paths = [resource.path for resource in package.resources]
    if len({path.lower() for path in paths}) != len(paths):
        raise ReleaseError(f"{where} lists a file twice. {AGAIN}")
    return package


def from_json(data: bytes, where: str) -> dict[str, Any]:
    """A JSON object without NaN, infinities, repeated keys or bottomless nesting."""

    def constant(name: str) -> Any:
        raise ValueError(f"{name} is not a number")

    def finite(text: str) -> float:
        value = float(text)
        if not math.isfinite(value):
            raise ValueError(f"{text[:30]} is too large a number")
        return value

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) != len(pairs):
            raise ValueError("a key is repeated")
        return found

    try:
        text = data.decode("utf-8")
        value = json.loads(text, parse_constant=constant, parse_float=finite, object_pairs_hook=once)
    except RecursionError:
        raise ReleaseError(f"{where} is nested too deeply. {DISTRUST}") from None
    except ValueError as problem:
        reason = "it is not UTF-8 text" if isinstance(problem, UnicodeDecodeError) else str(problem)[:200]
        raise ReleaseError(f"{where} is not valid JSON: {reason}. {AGAIN}") from None
    if not isinstance(value, dict):
        raise ReleaseError(f"{where} is not a JSON object. {AGAIN}")
    return value


def to_json(value: Mapping[str, Any]) -> str:
    """Readable JSON, finite numbers only."""
    try:
        return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    except (TypeError, ValueError) as problem:
        raise ReleaseError(f"The release holds something that JSON cannot: {problem}.") from None


def penstock_version() -> str:
    """The version that makes this release."""
    try:
        return version("penstock")
    except PackageNotFoundError:
        return "unknown"


def slug(text: str) -> str:
    """A name as data packages want it.

    >>> slug("Census 2021: people")
    'census-2021-people'
    """
    return re.sub(r"[^a-z0-9._]+", "-", text.lower()).strip("-._")[:100] or "release"


def file_name(table: str) -> str:
    """The file of a model table."""
    name = f"model-{table}.parquet"
    if not PLAIN_NAME.match(name):
        raise ReleaseError(f"A model table cannot be called {table!r}.")
    return name


def table_schema(frame: pl.DataFrame, schema: Schema) -> dict[str, Any]:
    """The Frictionless Table Schema of synthetic rows: types from the rows, the rest from our schema."""
    import polars as pl

    from penstock.schema.reading import read

    declared = {field.name: field for field in schema.fields}
    fields = []
    for column, dtype in frame.schema.items():
        entry: dict[str, Any] = {"name": column, "type": _type_word(dtype)}
        field = declared.get(column)
        if field is not None:
            stated = field.model_dump(mode="json", by_alias=True, exclude_none=True)
            for word in ("title", "description"):
                if isinstance(stated.get(word), str):
                    entry[word] = stated[word]
            reading = read(field, frame[column], schema.codec(column).markers)
            present = frame[column].filter(pl.Series(~reading.missing))
            limits = {
                word: limit
                for word, limit in stated.get("constraints", {}).items()
                if _holds(word, limit, present)
            }
            if limits:
                entry["constraints"] = limits
            marker = schema.codec(column).marker
            if marker is not None:
                entry["missingValues"] = [marker]
        fields.append(entry)
    return {"fields": fields, "missingValues": [""]}


def _holds(word: str, limit: Any, values: pl.Series) -> bool:
    """Whether the rows keep to a declared limit; rows that stand for `other` values may not."""
    import polars as pl

    texts = values.drop_nulls().unique().cast(pl.String)
    if word == "enum":
        return set(texts.str.to_lowercase()) <= {str(each).lower() for each in limit}
    if values.dtype == pl.String:
        return False  # a part of what is declared, such as the time of day of a moment
    low, high = values.min(), values.max()
    if (
        low is None
        or isinstance(limit, str)
        or not isinstance(low, int | float)
        or not isinstance(high, int | float)
    ):
        return word in ("minimum", "maximum")
    return bool(low >= limit if word == "minimum" else high <= limit)


def _type_word(dtype: pl.DataType) -> str:
    import polars as pl

    if dtype == pl.Boolean:
        return "boolean"
    if dtype.is_integer():
        return "integer"
    if dtype.is_numeric():
        return "number"
    if dtype == pl.Date:
        return "date"
    if dtype == pl.Datetime:
        return "datetime"
    if dtype.is_nested():
        return "array"
    return "string"
