"""Looks for planted values in everything that a release folder contains.

A canary is a string or number that occurs in the records and nowhere in the schema. If it shows up
in a release, the release leaked. Files are searched as bytes, as text in the encodings in which
text could hide, and cell by cell where the format packs values: Parquet, and the binary arrays
inside charts.
"""

from __future__ import annotations

import base64
import html
import json
import math
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import quote

import numpy as np
import polars as pl

from penstock.report.shapes import DIGITS

Canary = str | int | float

_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_PACKED = re.compile(r'"bdata"\s*:\s*"([^"]*)"')
_DTYPE = re.compile(r'"dtype"\s*:\s*"([^"]*)"')
_SHORT = {"f4": "f4", "f8": "f8", "i1": "i1", "i2": "i2", "i4": "i4", "u1": "u1", "u2": "u2", "u4": "u4"}


def assert_no_canary(folder: str | Path, canaries: Sequence[Canary]) -> None:
    """Fail, naming the file, if any of the canaries occurs anywhere below the folder."""
    root = Path(folder)
    assert canaries, "no canary was planted"
    files = [path for path in sorted(root.rglob("*")) if path.is_file()] if root.is_dir() else [root]
    assert files, f"{root} is empty: nothing was searched"
    for path in files:
        for canary in canaries:
            where = found_in(path, canary)
            assert where is None, f"canary {canary!r} is in {path.name} ({where})"


def found_in(path: Path, canary: Canary) -> str | None:
    """How the canary shows up in the file, or None."""
    assert str(canary) not in str(path), "a canary is in the name of the file"
    data = path.read_bytes()
    if isinstance(canary, str):
        for how, form in _forms(canary):
            if form in data or form.lower() in data.lower():
                return how
    elif any(_same(_number(token), canary) for token in set(_NUMBER.findall(data))):
        return "as a number"
    for how, values in _cells(path, data):
        for value in values:
            if isinstance(canary, str) and isinstance(value, str) and canary.lower() in value.lower():
                return how
            if not isinstance(canary, str) and isinstance(value, int | float) and _same(value, canary):
                return how
    return None


def _forms(text: str) -> Iterator[tuple[str, bytes]]:
    yield "as text", text.encode()
    yield "as JSON", json.dumps(text)[1:-1].encode()
    yield "as HTML", html.escape(text).encode()
    yield "in a URL", quote(text).encode()
    yield "as UTF-16", text.encode("utf-16-le")
    for shift in range(3):
        # The inner letters of a base64 text do not depend on what surrounds it.
        packed = base64.b64encode(b"\0" * shift + text.encode())
        core = packed[4 if shift else 0 : -4]
        if len(core) >= 8:
            yield "as base64", core


def _cells(path: Path, data: bytes) -> Iterator[tuple[str, list[object]]]:
    if path.suffix == ".parquet":
        for column in pl.read_parquet(path):
            values = column.explode() if column.dtype == pl.List else column
            yield f"in column {column.name}", values.to_list()
    if path.suffix in (".html", ".json"):
        text = data.decode("utf-8", "replace")
        for packed in _PACKED.finditer(text):
            raw = base64.b64decode(packed.group(1))
            around = text[max(0, packed.start() - 60) : packed.end() + 60]
            kind = _DTYPE.search(around)
            kinds = [_SHORT.get(kind.group(1))] if kind else list(_SHORT.values())
            for one in kinds:
                if one is not None and len(raw) % np.dtype(one).itemsize == 0:
                    yield "in a chart", np.frombuffer(raw, dtype=one).tolist()


def _number(token: bytes) -> float:
    try:
        return float(token)
    except (ValueError, OverflowError):
        return math.nan


def _same(value: float, canary: float) -> bool:
    """Also where a chart has cut it to the digits that reach a page."""
    cut = float(f"{float(canary):.{DIGITS}g}")
    return any(math.isclose(float(value), each, rel_tol=1e-12, abs_tol=0.0) for each in (float(canary), cut))
