"""Which ids have a counter of their own: all of them, or a public sample.

A sketch with a counter for each id keeps as many counters as there may be ids. Where that is too many, it
keeps those of a sample that the public key chooses, whatever the stream holds, and scales up what they say.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from penstock.contracts.sketch import Setting
from penstock.errors import SchemaError
from penstock.kinds.stream.hashing import scattered
from penstock.kinds.stream.layout import StreamLayout
from penstock.schema import Schema

MOST = 1 << 28
"""Counters that fit into memory."""


def refuse_size(name: str, schema: Schema, sample: int | None) -> None:
    """Raise SchemaError where there would be too many counters, or a sample of more ids than there are."""
    ids = StreamLayout.of(schema).ids
    if sample is not None and sample > ids:
        raise SchemaError(f"{name}: a sample of {sample:,} ids is more than there are. Nothing was spent.")
    if ids > MOST:
        raise SchemaError(
            f"{name} numbers its ids, {MOST:,} at most, and the schema says {ids:,}; use pp-bucket. Nothing "
            "was "
            "spent."
        )


def number_of(setting: Setting, sample: int | None) -> int:
    """How many ids have a counter."""
    return setting.ids if sample is None else sample


@lru_cache(maxsize=4)
def _members(ids: int, sample: int, key: int) -> NDArray[np.int64]:
    """The sample, in ascending order."""
    order = scattered(np.arange(ids, dtype=np.uint64), key)
    return np.sort(np.argpartition(order, sample - 1)[:sample])


def places(
    setting: Setting, sample: int | None, ids: NDArray[np.uint64]
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """For each update the place of its counter, and whether it has one."""
    known = ids.astype(np.int64)
    if sample is None:
        return known, np.ones(ids.size, dtype=np.bool_)
    members = _members(setting.ids, sample, setting.key)
    at = np.minimum(np.searchsorted(members, known), members.size - 1)
    return at, members[at] == known
