"""Memory that is given back is overwritten first: what was noise, or an update, is not found there later.

The first counters of a stream are noise, and so is every array that they were drawn through. Whoever finds
one of these in the freed memory of a process that still runs takes the noise off the counters. Python cannot
overwrite what it no longer owns, but the allocator of the C library can.
"""

from __future__ import annotations

import ctypes
from functools import lru_cache

import numpy as np

_FILL_FREED = -6  # M_PERTURB of malloc.h: freed memory is filled with this byte
_BYTE = 0x5A
_SMALL = 1100
_KEPT = 8
"""NumPy and the C library keep seven pieces of each size below about a kilobyte."""


@lru_cache(maxsize=1)
def overwrite_freed() -> bool:
    """From now on the C library overwrites what this process frees; False where it cannot.

    The GNU library can. Texts and arrays of less than a kilobyte have allocators of their own, which
    overwrite nothing: see `overwrite_small`.
    """
    try:
        return bool(ctypes.CDLL(None).mallopt(_FILL_FREED, _BYTE))
    except (AttributeError, OSError, TypeError):
        return False


def overwrite_small() -> None:
    """Use the small pieces of memory again that were freed last, and leave nothing in them.

    Python, NumPy and the C library each keep some of every size at hand. Takes a few milliseconds.
    """
    arrays = [np.zeros(size, dtype=np.uint8) for size in range(1, _SMALL) for _ in range(_KEPT)]
    texts = [bytes(size) for size in range(1, _SMALL) for _ in range(_KEPT)]
    del arrays, texts
