"""Numbers for Arrow, in memory that is Arrow's own.

Arrow borrows the memory of a NumPy array instead of copying it, and whoever is last to let go of what it
borrowed must ask for the Python interpreter. That may be a thread of DuckDB's or Polars' pool which has just
finished its part. Where the interpreter is ending at that moment, the thread is killed in a destructor, and
with it the whole process: "terminate called without an active exception", exit code 134.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pyarrow as pa


def owned(values: NDArray[Any]) -> pa.Array:
    """A copy of a vector of numbers that any thread may let go of, whatever becomes of the interpreter.

    >>> owned(np.array([3, 1, 2])).to_pylist()
    [3, 1, 2]
    """
    import pyarrow as pa

    memory = pa.allocate_buffer(values.nbytes)
    np.frombuffer(memory, dtype=values.dtype)[:] = values
    return pa.Array.from_buffers(pa.from_numpy_dtype(values.dtype), len(values), [None, memory])
