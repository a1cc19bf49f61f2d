"""Writing synthetic sequences: from a model, by the rules of the schema, with the counted lengths."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from penstock.kinds.sequences.lengths import Bending, Lengths, bent
from penstock.kinds.sequences.markov import Markov
from penstock.kinds.sequences.rules import OrderRules

Codes = NDArray[np.unsignedinteger]
Numbers = NDArray[np.int64]
Reals = NDArray[np.float64]

_AT_ONCE = 1 << 22  # entries of what can come next, of as many sequences as are written together


@dataclass(frozen=True, eq=False)
class Writer:
    """Writes sequences of up to `longest` symbols, one symbol after the other."""

    model: Markov
    longest: int
    rules: OrderRules | None = None
    bending: Bending | None = None

    @classmethod
    def of(cls, model: Markov, longest: int, rules: OrderRules | None, lengths: Lengths | None) -> Writer:
        """A writer whose sequences keep the rules and have the counted lengths, where there are any."""
        plain = cls(model, longest, rules)
        if lengths is None:
            return plain
        return cls(model, longest, rules, bent(model, lengths, plain.with_bending, longest))

    def with_bending(self, bending: Bending | None) -> Writer:
        return Writer(self.model, self.longest, self.rules, bending)

    def draw(self, many: int, rng: np.random.Generator) -> tuple[Codes, Numbers]:
        """So many sequences: their symbols end to end, and the length of each."""
        if self.rules is None and self.bending is None:
            return self.model.draw(many, self.longest, rng)
        step = max(1, _AT_ONCE // (self.model.mark + 1))
        parts = [self._together(min(step, many - done), rng) for done in range(0, many, step)]
        if not parts:
            return np.zeros(0, dtype=np.min_scalar_type(self.model.mark)), np.zeros(0, dtype=np.int64)
        codes, lengths = zip(*parts, strict=True)
        return np.concatenate(codes), np.concatenate(lengths)

    def _together(self, many: int, rng: np.random.Generator) -> tuple[Codes, Numbers]:
        kind = np.min_scalar_type(self.model.mark)
        owners: list[Numbers] = []
        symbols: list[Codes] = []
        for alive, drawn in self._places(many, rng):
            owners.append(alive)
            symbols.append(drawn.astype(kind))
        if not owners:
            return np.zeros(0, dtype=kind), np.zeros(many, dtype=np.int64)
        owner = np.concatenate(owners)
        order = np.argsort(owner, kind="stable")
        return np.concatenate(symbols)[order], np.bincount(owner, minlength=many)

    def _places(self, many: int, rng: np.random.Generator) -> Iterator[tuple[Numbers, Numbers]]:
        """Place by place, which sequences go on and with which symbol."""
        mark, depth = self.model.mark, self.model.depth
        alive = np.arange(many)
        before = [np.full(many, mark, dtype=np.min_scalar_type(mark))]
        barred = np.zeros((many, mark), dtype=np.bool_)
        for place in range(self.longest):
            nodes = self.model.nodes(before)
            weights = self.model.shares[nodes]
            if self.bending is not None:
                weights = self.bending.weights(place, nodes, weights)
            if self.rules is not None:
                may = self.rules.allowed(barred, before[0], place)
                weights = _only(weights, may, self.model.shares[0])
            drawn = _picked(weights, rng)
            going = drawn != mark
            alive, drawn, barred = alive[going], drawn[going], barred[going]
            if not len(alive):
                return
            if self.rules is not None:
                barred |= self.rules.bars[drawn]
            past = [symbols[going] for symbols in before[: max(0, depth - 1)]]
            before = [drawn.astype(before[0].dtype), *past]
            yield alive, drawn


def _only(weights: Reals, may: NDArray[np.bool_], usual: Reals) -> Reals:
    """Weights of what may come alone; where none is left, what is usual anywhere, or else all of it."""
    kept = np.where(may, weights, 0.0)
    for instead in (usual[None, :], np.ones((1, len(usual)))):
        none = kept.sum(axis=1) <= 0
        if none.any():
            kept[none] = may[none] * instead
    return kept


def _picked(weights: Reals, rng: np.random.Generator) -> Numbers:
    """For every row the first entry whose running sum exceeds a uniform part of the whole."""
    sums = np.cumsum(weights, axis=1)
    parts = rng.random(len(weights)) * sums[:, -1]
    picked: Numbers = np.argmax(sums > parts[:, None], axis=1)
    return picked
