"""Writing synthetic sequences: from a model, by the rules of the schema, with the counted lengths."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from penstock.kinds.sequences.lengths import Bending, Lengths, bent, thinned
from penstock.kinds.sequences.markov import Markov
from penstock.kinds.sequences.rules import OrderRules

Codes = NDArray[np.unsignedinteger]
Numbers = NDArray[np.int64]
Reals = NDArray[np.float64]

_AT_ONCE = 1 << 22  # entries of what can come next, of as many sequences as are written together


@dataclass(frozen=True, eq=False)
class Writer:
    """Writes sequences of up to `longest` symbols, one symbol after the other.

    With `kept`, a sequence is only kept with the chance that it has for its length.
    """

    model: Markov
    longest: int
    rules: OrderRules | None = None
    bending: Bending | None = None
    kept: Reals | None = None

    @classmethod
    def of(cls, model: Markov, longest: int, rules: OrderRules | None, lengths: Lengths | None) -> Writer:
        """A writer whose sequences keep the rules and have the counted lengths, where there are any."""
        plain = cls(model, longest, rules)
        if lengths is None:
            return plain
        writer = plain.with_bending(bent(model, lengths, plain.with_bending, longest))
        return writer if rules is None else replace(writer, kept=thinned(lengths, writer, longest))

    def with_bending(self, bending: Bending | None) -> Writer:
        return replace(self, bending=bending)

    def draw(self, many: int, rng: np.random.Generator) -> tuple[Codes, Numbers]:
        """So many sequences: their symbols end to end, and the length of each."""
        if self.rules is None and self.bending is None:
            return self.model.draw(many, self.longest, rng)
        return self._written(many, rng) if self.kept is None else self._kept(many, self.kept, rng)

    def _kept(self, many: int, chances: Reals, rng: np.random.Generator) -> tuple[Codes, Numbers]:
        """So many of those that were written as the lengths ask for."""
        codes, lengths, done = [], [np.zeros(0, dtype=np.int64)], 0
        while done < many:
            written, long = self._written(many - done, rng)
            stays = rng.random(len(long)) < chances[long]
            codes.append(written[np.repeat(stays, long)])
            lengths.append(long[stays])
            done += int(stays.sum())
        return np.concatenate(codes or [self._none]), np.concatenate(lengths)

    def _written(self, many: int, rng: np.random.Generator) -> tuple[Codes, Numbers]:
        step = max(1, _AT_ONCE // (self.model.mark + 1))
        parts = [self._together(min(step, many - done), rng) for done in range(0, many, step)]
        if not parts:
            return self._none, np.zeros(0, dtype=np.int64)
        codes, lengths = zip(*parts, strict=True)
        return np.concatenate(codes), np.concatenate(lengths)

    @property
    def _none(self) -> Codes:
        """No symbols."""
        return np.zeros(0, dtype=np.min_scalar_type(self.model.mark))

    def _together(self, many: int, rng: np.random.Generator) -> tuple[Codes, Numbers]:
        kind = np.min_scalar_type(self.model.mark)
        owners: list[Numbers] = []
        symbols: list[Codes] = []
        for alive, drawn in self._places(many, rng):
            owners.append(alive)
            symbols.append(drawn.astype(kind))
        if not owners:
            return self._none, np.zeros(many, dtype=np.int64)
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
