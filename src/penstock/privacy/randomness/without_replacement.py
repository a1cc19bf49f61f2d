"""Several different candidates at once, drawn exactly: the samplers behind top-c selection.

Nothing here touches private data or a budget; `choice.best_several` does. Two laws, each drawn by integer
arithmetic from whole scores and a rational rate:

* `largest_noisy`: every score gets independent exponential noise of rate r once, and the largest are taken.
  Exponential noise is a geometric whole part plus an independent part below one, and the parts below one are
  independent of everything and alike for all candidates. On whole scores the order of the noisy scores is
  therefore the order of score plus geometric noise, ties in uniformly random order: nothing is rounded.
* `tilted_several`: one candidate after another, with probability proportional to exp(-r gap) among those that
  are left. Drawn by rejection from an integer envelope that is made anew only when those already taken fill
  half of it, so that a million candidates cost little more for a hundred choices than for one.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.randomness.samplers import Integers, geometric, permutation, tilted_cells, under_exp

_ROOM: Final = 1 << 61
_BITS: Final = 30


def largest_noisy(gaps: Integers, rate: Fraction | None, many: int, source: Randomness) -> list[int]:
    """Indices of the `many` largest of noise - gap, largest first; noise is exponential of the given rate.

    A rate of None stands for no noise at all: the smallest gaps, ties in random order.
    """
    noise: Integers = np.zeros(gaps.size, np.int64) if rate is None else geometric(rate, gaps.size, source)
    wide = noise.dtype == object or gaps.dtype == object or int(gaps.max(initial=0)) >= _ROOM
    kind = object if wide else np.int64
    values = noise.astype(kind) - gaps.astype(kind)
    edge = np.sort(values)[-many] if wide else np.partition(values, values.size - many)[-many]
    (standing,) = np.nonzero(values >= edge)
    # A random order first and a stable sort after it: equal values end up in random order.
    standing = standing[permutation(standing.size, source)]
    order = np.argsort(-values[standing], kind="stable")[:many]
    return [int(index) for index in standing[order]]


def tilted_several(gaps: Integers, rate: Fraction, many: int, source: Randomness) -> list[int]:
    """`many` different indices one after another, each in proportion to exp(-rate gap) among the rest."""
    pool = _Pool(gaps)
    chosen: list[int] = []
    while len(chosen) < many:
        envelope = _Envelope(pool, rate)
        while len(chosen) < many and not envelope.stale:
            found = envelope.draw(source)
            if found is not None:
                chosen.append(pool.take(*found))
    return chosen


class _Pool:
    """Candidates grouped by gap, nearest first; those still to be had come first in their group."""

    def __init__(self, gaps: Integers) -> None:
        self._members = np.argsort(gaps, kind="stable")
        ranked = gaps[self._members]
        self.starts: NDArray[np.int64] = np.flatnonzero(np.append(True, ranked[1:] != ranked[:-1]))
        self.gaps = ranked[self.starts]
        self.left: NDArray[np.int64] = np.diff(np.append(self.starts, gaps.size))
        self.size = gaps.size

    def take(self, group: int, place: int) -> int:
        """The candidate at a place of a group, which is then no longer to be had."""
        here = int(self.starts[group]) + place
        self.left[group] -= 1
        last = int(self.starts[group]) + int(self.left[group])
        taken = int(self._members[here])
        self._members[here], self._members[last] = self._members[last], taken
        return taken


class _Envelope:
    """Integer weights at least as large as 2**30 exp(-rate gap), measured from the nearest candidate left.

    Beyond the gaps at which that is below 1 every candidate weighs 1, without a table. Weights stay as they
    are when candidates are taken; a draw that meets one of those is void. Given that a draw counts, it has
    the right law whatever the envelope, so when to make a new one is a matter of speed alone.
    """

    def __init__(self, pool: _Pool, rate: Fraction) -> None:
        self._pool, self._rate = pool, rate
        self._first = int(np.argmax(pool.left > 0))
        self._base = pool.gaps[self._first]
        reach = min(_BITS / rate + 1, Fraction(1 << 62))  # exp(-x) < 2**-x
        near = pool.gaps[self._first :] - self._base
        # An unsigned limit: beside a signed one NumPy would turn unsigned gaps into doubles.
        limit = int(reach) if near.dtype == object else np.uint64(int(reach))
        self._last = self._first + int(np.searchsorted(near, limit, side="right"))
        self._sizes = pool.left[self._first : self._last].copy()
        self._cells = tilted_cells(near[: self._last - self._first], rate, _BITS)
        self._bounds = np.cumsum(self._cells * self._sizes)
        beyond = int(pool.starts[self._last]) if self._last < pool.starts.size else pool.size
        self._beyond, self._near = beyond, int(self._bounds[-1])
        self._total = self._near + pool.size - beyond
        self._void = 0

    @property
    def stale(self) -> bool:
        """Whether half of the envelope belongs to candidates that are taken."""
        return 2 * self._void >= self._total

    def draw(self, source: Randomness) -> tuple[int, int] | None:
        """Group and place of a candidate, or None when the draw is void."""
        pool = self._pool
        at = source.below(self._total)
        if at >= self._near:
            position = self._beyond + at - self._near
            group = int(np.searchsorted(pool.starts, position, side="right")) - 1
            place, cell, weight = position - int(pool.starts[group]), 0, 1
        else:
            row = int(np.searchsorted(self._bounds, at, side="right"))
            inside = at - (int(self._bounds[row - 1]) if row else 0)
            group, weight = self._first + row, int(self._cells[row])
            place, cell = divmod(inside, weight)
        if place >= pool.left[group]:
            return None
        gap = int(pool.gaps[group]) - int(self._base)
        if not under_exp(cell, _BITS, self._rate * gap, source):
            return None
        self._void += weight
        return group, place
