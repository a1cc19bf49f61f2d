"""Loops that Numba compiles where it is installed (the extra `fast`), and that run as they are elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

try:
    from numba import njit
except ImportError:  # the extra `fast` is not installed
    njit = None

F = TypeVar("F", bound=Callable[..., object])

COMPILED = njit is not None


def compiled(function: F) -> F:
    """The same function, where possible compiled when it is first called and kept for the next process."""
    fast: F = njit(cache=True)(function) if COMPILED else function
    return fast
