"""Public functions that scatter ids: the same for everybody who has the key, and the key is no secret.

An intruder who sees the counters sees the key, too, and can hash every id there is. No guarantee rests on
these functions, only accuracy: ids that were chosen after somebody saw the key can be made to collide.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.errors import DataError

Words = NDArray[np.uint64]

_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
LONG = 64
"""Longer texts are shortened by a cryptographic hash before anything else."""


def scattered(words: Words, key: int) -> Words:
    """64 bits for each word that look as if drawn at random; SplitMix's finaliser, a permutation for each
    key.

    >>> bits = scattered(np.array([3, 4, 3], dtype=np.uint64), key=7)
    >>> bool(bits[0] == bits[2]), bool(bits[0] == bits[1])
    (True, False)
    """
    mixed: Words = words ^ np.uint64(key & 0xFFFFFFFFFFFFFFFF)
    mixed += _STEP
    mixed ^= mixed >> np.uint64(30)
    mixed *= _FIRST
    mixed ^= mixed >> np.uint64(27)
    mixed *= _SECOND
    mixed ^= mixed >> np.uint64(31)
    return mixed


def lowest_one(words: Words, most: int) -> NDArray[np.int64]:
    """The place of the lowest bit that is 1, and `most` where that is further up: place l with chance
    2^-(l+1).

    >>> lowest_one(np.array([1, 2, 12, 0], dtype=np.uint64), 5).tolist()
    [0, 1, 2, 5]
    """
    marked = words | np.uint64(1 << most)
    alone = marked & (~marked + np.uint64(1))
    # a power of two is a double without rounding, whose exponent is the place
    return (alone.astype(np.float64).view(np.int64) >> 52) - 1023


def numbered(ids: Any) -> Words:
    """Ids as 64-bit words: whole numbers as they are, texts by a fixed hash.

    A text that is nothing but the digits of a number is that number.

    >>> numbered(["17", "ann"]).tolist()[0], numbered([17]).tolist()
    (17, [17])
    """
    if isinstance(ids, str | bytes):
        ids = [ids]
    given = np.atleast_1d(np.asarray(ids)) if not _texts(ids) else None
    if given is not None and given.dtype.kind in "iu":
        if given.dtype.kind == "i" and given.size and int(given.min()) < 0:
            raise DataError("An id that is a number is 0 or more. Nothing of this call was fed.")
        return given.astype(np.uint64, copy=False).ravel()
    if given is not None and given.size == 0:
        return np.zeros(0, dtype=np.uint64)
    if given is not None and given.dtype.kind not in "US" and not _texts(given.ravel().tolist()):
        raise DataError("Ids are whole numbers or texts. Nothing of this call was fed.")
    texts = ids if given is None else given.ravel().tolist()
    return from_texts([each.encode() if isinstance(each, str) else each for each in texts])


def _texts(ids: Any) -> bool:
    return isinstance(ids, Sequence) and len(ids) > 0 and all(isinstance(each, str | bytes) for each in ids)


def from_texts(texts: Sequence[bytes]) -> Words:
    """The same for texts that are given as bytes."""
    if not texts:
        return np.zeros(0, dtype=np.uint64)
    kept = [each if len(each) <= LONG else _shortened(each) for each in texts]
    lengths = np.fromiter(map(len, kept), dtype=np.int64, count=len(kept))
    width = max(8, -(-int(lengths.max()) // 8) * 8)
    return from_letters(np.array(kept, dtype=f"S{width}").view(np.uint8).reshape(len(kept), width), lengths)


def from_letters(letters: NDArray[np.uint8], lengths: NDArray[np.int64]) -> Words:
    """The same for a matrix of bytes, a text in each row with zeros behind it; its width is a multiple of
    8."""
    mixed = scattered(lengths.astype(np.uint64), key=0)
    for place, column in enumerate(np.ascontiguousarray(letters).view("<u8").T):
        further = lengths > 8 * place
        mixed = np.where(further, scattered(mixed ^ column, key=place + 1), mixed)
    digits = letters[:, :18]
    inside = np.arange(digits.shape[1])[None, :] < lengths[:, None]
    written = (lengths >= 1) & (lengths <= 18) & (((digits >= 48) & (digits <= 57)) | ~inside).all(axis=1)
    written &= (letters[:, 0] != 48) | (lengths == 1)
    if written.any():
        value = np.zeros(len(letters), dtype=np.uint64)
        for place in range(digits.shape[1]):
            value = np.where(
                inside[:, place], value * np.uint64(10) + (digits[:, place] - np.uint8(48)), value
            )
        mixed = np.where(written, value, mixed)
    return mixed


def _shortened(text: bytes) -> bytes:
    return blake2b(text, digest_size=32).hexdigest().encode()


def whole_numbers(deltas: Any, count: int) -> NDArray[np.int64]:
    """One change for each of `count` ids; a single number is meant for all of them."""
    given = np.asarray(deltas)
    if given.dtype.kind not in "iub" or given.dtype.kind == "b":
        raise DataError("A change of a total is a whole number. Nothing of this call was fed.")
    if given.size and given.dtype == np.uint64 and int(given.max()) >= 1 << 62:
        raise DataError("A change of a total is far beyond all totals. Nothing of this call was fed.")
    if given.ndim == 0:
        return np.full(count, int(given), dtype=np.int64)
    if given.size != count:
        raise DataError(
            "There must be one change for each id, or one for all of them. Nothing of this call was fed."
        )
    return given.astype(np.int64).ravel()
