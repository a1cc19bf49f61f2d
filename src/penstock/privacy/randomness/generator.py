"""Where random bits come from.

There are two sources. The system source reads the operating system's cryptographic generator and is the only
one a publishable release may use. The seeded source expands a seed with SHAKE-256 in counter mode, so that a
test or a study can be repeated bit for bit; whoever knows the seed can take the noise off again, which is why
`secure` is false and a release made with it says so.

NumPy's generators are never used on the private side: they are predictable from their output.

Whatever is drawn on the private side is drawn as a `Law`: a distribution that knows how to be drawn from and
how likely each output is. ``source.draw(law)`` is the one seam through which randomness meets records. A
source that keeps a transcript (`penstock.audit.transcript`) stands in the same place, writes down what came
out, and gives the same again to a neighbour of the records.
"""

from __future__ import annotations

import hashlib
import os
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from typing import Any, ClassVar, Final, Generic, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from penstock.privacy.randomness.logarithms import Log

O = TypeVar("O")  # noqa: E741  # an output

_BLOCK: Final = 1 << 13  # bytes fetched at once for small requests; large requests are passed through whole


class Randomness:
    """An endless stream of independent fair bits.

    >>> source = Randomness.seeded(7)
    >>> source.secure, source.below(6) < 6, source.words(3).dtype
    (False, True, dtype('uint64'))

    Safe to share between threads: no two callers ever receive the same bits. After a fork the child forgets
    what the system source had read ahead, so that parent and child never add the same noise to two releases.
    A seeded source keeps its place in the stream, since repeatability is its purpose; give each worker a
    `spawn` of its own.
    """

    __slots__ = ("__weakref__", "_ahead", "_counter", "_key", "_lock", "_place", "_spawned")

    def __init__(self, key: bytes | None) -> None:
        """Called by `system` and `seeded`; `key` is what a seed expands to, None for the system source."""
        self._key = key
        self._counter = 0
        self._spawned: dict[str, int] = {}
        self._lock = threading.Lock()
        self._ahead = bytearray()
        self._place = 0
        _everyone.add(self)

    @classmethod
    def system(cls) -> Self:
        """The operating system's cryptographic generator."""
        return cls(None)

    @classmethod
    def seeded(cls, seed: int) -> Self:
        """A repeatable source for tests and studies; never for publication."""
        return cls(hashlib.shake_256(f"penstock seed {int(seed)}".encode()).digest(32))

    @property
    def secure(self) -> bool:
        """Whether nobody can predict or repeat these bits."""
        return self._key is None

    def draw(self, law: Law[O]) -> O:
        """One output of a law: the only way in which randomness and records meet."""
        return law.draw(self)

    def charged(self, charge: object) -> Randomness:
        """The source of what this charge pays for; a budget calls it when it has paid."""
        return self

    def take(self, count: int) -> bytearray:
        """The next `count` bytes of the stream."""
        if count < 0:
            raise ValueError(f"cannot draw {count} bytes")
        with self._lock:
            taken = self._ahead[self._place : self._place + count]
            self._place += len(taken)
            missing = count - len(taken)
            if missing:
                whole = missing - missing % _BLOCK
                taken += self._fetch(whole)
                if missing > whole:
                    self._ahead = self._fetch(_BLOCK)
                    self._place = missing - whole
                    taken += self._ahead[: self._place]
            return taken

    def words(self, count: int) -> NDArray[np.uint64]:
        """`count` independent uniform 64-bit words."""
        return np.frombuffer(self.take(8 * count), dtype="<u8").astype(np.uint64, copy=False)

    def halves(self, count: int) -> NDArray[np.uint32]:
        """`count` independent uniform 32-bit words."""
        return np.frombuffer(self.take(4 * count), dtype="<u4").astype(np.uint32, copy=False)

    def quarters(self, count: int) -> NDArray[np.uint16]:
        """`count` independent uniform 16-bit words."""
        return np.frombuffer(self.take(2 * count), dtype="<u2").astype(np.uint16, copy=False)

    def bits(self, count: int) -> int:
        """An integer uniform on 0 ... 2**count - 1."""
        return int.from_bytes(self.take((count + 7) // 8), "little") & ((1 << count) - 1)

    def below(self, bound: int) -> int:
        """An integer uniform on 0 ... bound - 1, for a bound of any size."""
        if bound < 1:
            raise ValueError(f"there is no integer below {bound} to draw; the bound must be at least 1")
        width = (bound - 1).bit_length()
        while True:
            # Rejection, not reduction: a remainder would favour the small values.
            if (drawn := self.bits(width)) < bound:
                return drawn

    def spawn(self, label: str) -> Randomness:
        """A source for a sub-task, independent of this one.

        Seeded sources derive it from the label, whatever has been drawn before, so that tasks can run in any
        order and still repeat; asking for the same label again gives a new stream. The system source, which
        has no order to protect, returns itself.
        """
        if self._key is None:
            return self
        with self._lock:
            turn = self._spawned.get(label, 0)
            self._spawned[label] = turn + 1
        name = f"spawn {turn} {label}".encode()
        return Randomness(hashlib.shake_256(self._key + name).digest(32))

    def erase(self) -> None:
        """Overwrite what was read ahead, used or not: whoever looks into memory later must not find it.

        What has been drawn since stands in the values that were made of it. A seeded source can be repeated
        all the same: it is never for what has to be hidden.
        """
        with self._lock:
            self._ahead[:] = bytes(len(self._ahead))
            self._ahead, self._place = bytearray(), 0

    def __repr__(self) -> str:
        return "Randomness.system()" if self.secure else "Randomness.seeded(...)"

    def __copy__(self) -> Self:
        return self  # a copy of the stream would hand out the same bits twice

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        if self._key is None:
            return (Randomness.system, ())
        raise TypeError("a seeded Randomness cannot be pickled, its copy would repeat it; use spawn")

    def _fetch(self, count: int) -> bytearray:
        """Fresh bytes, `count` a multiple of the block size."""
        if self._key is None:
            return bytearray(os.urandom(count))
        fetched = bytearray()
        for _ in range(count // _BLOCK):
            name = b"block" + self._counter.to_bytes(16, "little")
            fetched += hashlib.shake_256(self._key + name).digest(_BLOCK)
            self._counter += 1
        return fetched

    def _forget(self) -> None:
        """Drop what was read ahead, and a lock that a thread of the parent may have held."""
        self._lock = threading.Lock()
        self._ahead = bytearray()
        self._place = 0


class Law(ABC, Generic[O]):
    """A distribution that a mechanism draws its output from, around values of the records.

    A mechanism joins the audits by drawing through one of these: `draw` is what always happens,
    `log_probability` says how likely an output was, exactly, and `public` names what may not depend on the
    records. What a law returns is published: noise by itself is not, and stays inside `draw`. With an
    `approximate` law rare outputs may lose more than epsilon, as a delta allows; all others are pure.
    """

    approximate: ClassVar[bool] = False

    @property
    @abstractmethod
    def public(self) -> Hashable:
        """All that fixes the law besides the records: shapes, scales, rates. Neighbours must agree on it."""

    @abstractmethod
    def draw(self, source: Randomness) -> O:
        """One output."""

    @abstractmethod
    def log_probability(self, output: O) -> Log:
        """The logarithm of the probability of an output."""

    def loss(self, output: O, other: Law[O]) -> Log:
        """How much more likely the output is under this law than under the same one on other records.

        A law whose outputs have no tractable probability may answer with an upper bound, and says so.
        """
        return self.log_probability(output) - other.log_probability(output)

    @property
    def hidden(self) -> Hidden | None:
        """Noise that this draw shares with others; their outputs are then only likely together."""
        return None


class Hidden(ABC):
    """Noise that several draws share and nobody sees, such as that of a sparse vector's threshold."""

    @abstractmethod
    def log_probability(self, draws: Sequence[tuple[Any, Any]]) -> Log:
        """The logarithm of the probability that these laws gave these outputs, one after the other."""


_everyone: weakref.WeakSet[Randomness] = weakref.WeakSet()


def _after_fork() -> None:
    for source in tuple(_everyone):
        if source.secure:
            source._forget()
        else:
            source._lock = threading.Lock()


if hasattr(os, "register_at_fork"):  # absent on Windows, where there is no fork either
    os.register_at_fork(after_in_child=_after_fork)
