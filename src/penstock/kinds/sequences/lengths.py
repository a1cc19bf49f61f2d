"""Lengths of sequences: noisy counts in public bins, and a model that is bent until its lengths agree.

A Markov model made from noisy counts has lengths of its own: where noise fills an entry that was empty, or
empties one that was not, its sequences come to their end too late or too early. Their lengths are cheap to
count, because a sequence has one length and many places. So they are counted too, and the model is bent as
little as possible: each of its sequences w keeps its probability up to a factor for the length of w alone. Of
all distributions with the counted lengths that is the closest to the model (in relative entropy).

With factors b(0), b(1), ..., let B(t, c) be what a sequence that knows the context c at its place t can
expect as its factor. Backwards from the longest length,

    B(longest, c) = b(longest),    B(t, c) = P(end | c) b(t) + sum over x of P(x | c) B(t + 1, c x),

and the bent model continues with x in proportion to P(x | c) B(t + 1, c x), and ends in proportion to
P(end | c) b(t). Rules about the order of symbols depend on more than a context, so that B does not know of
them. Where there are any, what is left of the difference is made up by thinning: of the sequences whose
length is drawn too often, some are dropped. All of it is post-processing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from penstock.kinds.sequences.markov import Markov
from penstock.postprocessing import onto_simplex

Numbers = NDArray[np.int64]
Reals = NDArray[np.float64]

MOST_EXPECTATIONS = 1 << 26
"""Places times contexts: a model with more of them keeps the lengths that it has."""
_ROUNDS, _DRAWN, _LARGEST, _RAREST = 4, 4000, 1e3, 0.05


def length_bins(longest: int) -> Numbers:
    """The first length of each bin, from 0 up to the longest: exact where short, then half as long again.

    >>> length_bins(20).tolist()
    [0, 1, 2, 3, 4, 6, 9, 13, 19]
    """
    starts = [0, 1]
    while (following := max(starts[-1] + 1, starts[-1] * 3 // 2)) <= longest:
        starts.append(following)
    return np.array(starts)


def binned(lengths: Numbers, longest: int, counts: Numbers | None = None) -> Numbers:
    """How many sequences have a length in each bin; what is longer counts as the longest.

    `counts` says how many have each of the lengths (None: one).
    """
    bins = length_bins(longest)
    places = np.searchsorted(bins, np.minimum(lengths, longest), side="right") - 1
    return np.bincount(places, weights=counts, minlength=len(bins)).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Lengths:
    """Noisy counts of the lengths in each bin, with the standard deviation of their noise."""

    counts: Numbers
    deviation: float

    @property
    def total(self) -> float:
        """The estimated number of sequences, at least one."""
        return max(1.0, float(self.counts.sum()))

    def shares(self) -> Reals:
        """The share of each bin: the nearest counts to the noisy ones that are not below zero."""
        return onto_simplex(self.counts, self.total) / self.total


@dataclass(frozen=True, eq=False)
class Bending:
    """How much the sequences of a model are to be preferred by their length: `factors` has one for each."""

    factors: Reals
    following: NDArray[np.int32]
    expected: Reals

    @classmethod
    def of(cls, model: Markov, factors: Reals) -> Bending:
        """Work out, backwards from the longest length, what every context can expect."""
        following = model.following
        expected = np.empty((len(factors), len(model.children)))
        expected[-1] = factors[-1]
        symbols, ends = model.shares[:, :-1], model.shares[:, -1]
        for place in range(len(factors) - 2, -1, -1):
            expected[place] = (symbols * expected[place + 1][following]).sum(axis=1) + ends * factors[place]
        return cls(factors, following, expected)

    def weights(self, place: int, nodes: Numbers, shares: Reals) -> Reals:
        """The bent shares of everything that can come next, up to a factor for each sequence."""
        ahead = self.expected[place + 1][self.following[nodes]]
        bent: Reals = shares * np.concatenate([ahead, np.full((len(nodes), 1), self.factors[place])], axis=1)
        return bent


class Writing(Protocol):
    """What writes sequences: their symbols end to end, and the length of each."""

    def draw(self, many: int, rng: np.random.Generator) -> tuple[NDArray[np.unsignedinteger], Numbers]: ...


def bent(
    model: Markov, lengths: Lengths, writer: Callable[[Bending | None], Writing], longest: int
) -> Bending | None:
    """The model bent to the counted lengths, in a few rounds of drawing and correcting; repeatable.

    A bin whose count is mostly noise says little, so that it asks for little: both sides of the comparison
    are raised by the noise. None where the model is too large for it.
    """
    if (longest + 1) * len(model.children) > MOST_EXPECTATIONS:
        return None
    place = _places(longest)
    weights = np.ones(place[-1] + 1)
    bending = None
    for turn in range(_ROUNDS):
        asked = weights * _asked(lengths, writer(bending), longest, turn)
        weights = np.clip(asked, 1 / _LARGEST, _LARGEST)
        bending = Bending.of(model, weights[place])
    return bending


def thinned(lengths: Lengths, writer: Writing, longest: int) -> Reals:
    """For every length the chance that a sequence which the writer wrote is kept; repeatable.

    The length that is written too seldom by most is kept always. No chance is below one in twenty, so that
    no more than so many sequences are written for each that is kept.
    """
    asked = _asked(lengths, writer, longest, _ROUNDS)
    chances: Reals = np.maximum(asked / asked.max(), _RAREST)
    return chances[_places(longest)]


def _places(longest: int) -> Numbers:
    """The bin of every length."""
    return np.searchsorted(length_bins(longest), np.arange(longest + 1), side="right") - 1


def _asked(lengths: Lengths, writer: Writing, longest: int, seed: int) -> Reals:
    """By what factor each bin was counted more often than it is written, as far as noise lets one say."""
    _, drawn = writer.draw(_DRAWN, np.random.default_rng(seed))
    found = binned(drawn, longest) / _DRAWN
    doubt = lengths.deviation / lengths.total / 2
    asked: Reals = (lengths.shares() + doubt) / (found + doubt)
    return asked
