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
_DIGITS = 20  # of the largest number of 64 bits
_PIECE = 1 << 14  # texts at a time: their letters stay in the processor's own memory


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

    A text that is nothing but the digits of a number of 64 bits is that number, as it is usually written.

    >>> numbered(["17", "ann"]).tolist()[0], numbered([17]).tolist()
    (17, [17])
    >>> numbered([str((1 << 64) - 1)]) == numbered([(1 << 64) - 1]), numbered(["017"]) == numbered([17])
    (array([ True]), array([False]))
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
    # halves of a pair, which some systems put into names, have no bytes of their own but these
    encoded = [each.encode("utf-8", "surrogatepass") if isinstance(each, str) else each for each in texts]
    return from_texts(encoded)


def _texts(ids: Any) -> bool:
    return isinstance(ids, Sequence) and len(ids) > 0 and all(isinstance(each, str | bytes) for each in ids)


def from_texts(texts: Sequence[bytes]) -> Words:
    """The same for texts that are given as bytes."""
    if not texts:
        return np.zeros(0, dtype=np.uint64)
    kept = [each if 0 < len(each) <= LONG else _shortened(each) for each in texts]
    lengths = np.fromiter(map(len, kept), dtype=np.int64, count=len(kept))
    starts = np.concatenate(([0], np.cumsum(lengths[:-1])))
    return from_letters(np.frombuffer(b"".join(kept), dtype=np.uint8), starts, lengths)


def from_letters(letters: NDArray[np.uint8], starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> Words:
    """The same for texts that stand in a row of letters, from each of `starts` on; none is empty or long."""
    found = np.empty(starts.size, dtype=np.uint64)
    for at in range(0, starts.size, _PIECE):
        piece = slice(at, at + _PIECE)
        found[piece] = _from_letters(letters, starts[piece], lengths[piece])
    return found


def _from_letters(letters: NDArray[np.uint8], starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> Words:
    last, longest = letters.size - 1, int(lengths.max())
    written = lengths <= _DIGITS
    value = np.zeros(starts.size, dtype=np.uint64)
    for place in range(min(longest, _DIGITS)):
        digit = letters[np.minimum(starts + place, last)] - np.uint8(48)
        if place < int(lengths.min()):
            written &= digit < 10
            value = value * np.uint64(10) + digit
        else:
            inside = lengths > place
            written &= (digit < 10) | ~inside
            value = np.where(inside, value * np.uint64(10) + digit, value)
    written &= (letters[starts] != 48) | (lengths == 1)
    # of 20 digits, numbers beyond 64 bits begin with more than 1, or have wrapped around
    written &= (lengths < _DIGITS) | ((letters[starts] == 49) & (value >= np.uint64(10**19)))
    (others,) = np.nonzero(~written)
    if others.size:
        value[others] = _hashed(letters, starts[others], lengths[others])
    return value


def _hashed(letters: NDArray[np.uint8], starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> Words:
    """A text is mixed eight letters at a time, as many times as it has eights of them."""
    width = -(-int(lengths.max()) // 8) * 8
    places = starts[:, None] + np.arange(width)
    inside = np.arange(width) < lengths[:, None]
    matrix = np.where(inside, letters[np.minimum(places, letters.size - 1)], np.uint8(0))
    mixed = scattered(lengths.astype(np.uint64), key=0)
    for place, column in enumerate(np.ascontiguousarray(matrix).view("<u8").T):
        mixed = np.where(lengths > 8 * place, scattered(mixed ^ column, key=place + 1), mixed)
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
