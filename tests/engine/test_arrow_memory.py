"""What is handed to native threads holds nothing of Python's.

A thread that lets go of Python's memory asks for the interpreter, and a process whose interpreter is ending
at that moment is aborted. `studies/exits.py` counts how often; here is the cause, which needs no luck.
"""

from __future__ import annotations

import sys
from io import BytesIO
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.engine.arrow_memory import owned
from penstock.releases.parquet import read_table


@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint8, np.float64])
def test_owned_numbers_are_a_copy_that_does_not_hold_the_original(dtype: type[Any]) -> None:
    values = np.arange(5).astype(dtype)
    holders = sys.getrefcount(values)
    borrowed = pa.array(values)
    assert sys.getrefcount(values) > holders  # what Arrow does by itself
    del borrowed
    copied = owned(values)
    assert sys.getrefcount(values) == holders
    values[:] = 0
    assert copied.to_pylist() == [0, 1, 2, 3, 4]
    assert copied.type == pa.from_numpy_dtype(dtype)


def test_a_model_is_read_without_the_threads_of_arrow(monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pl.DataFrame({"code": [0, 1, 2], "word": ["a", "b", "c"], "share": [0.5, 0.25, 0.25]})
    written = BytesIO()
    frame.write_parquet(written)
    threads: list[bool] = []
    read = pq.ParquetFile.read

    def spied(self: Any, *given: Any, use_threads: bool = True, **named: Any) -> Any:
        threads.append(use_threads)
        return read(self, *given, use_threads=use_threads, **named)

    monkeypatch.setattr(pq.ParquetFile, "read", spied)
    assert read_table(written.getvalue(), "a model").equals(frame)
    assert threads == [False]
