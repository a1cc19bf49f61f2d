"""Audits of sample and aggregate: the exact loss of noisy sums over blocks, and mistakes to be caught.

Each output is a whole number plus independent discrete Laplace noise, so the largest loss of any outcome is
the sum of all changes over the scale of the noise, and outcomes beyond both values have it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from penstock.audit.neighbours import Pair, small_pairs
from penstock.audit.target import Kind, Promise, Target
from penstock.learn.aggregate.blocks import Analysis, Blocks, Counts, Reals
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.seals.sealed import Sealed, open_seal
from penstock.privacy.unit import Relation

Records = Sequence[tuple[float, ...]]
UNIVERSE = ((-1.0,), (1.0,), (0.5,))
MANY = 3
OUTPUTS = 2


class ByRank(Blocks):
    """Blocks of rows that follow each other when they are sorted: one row more moves others along."""

    def _assigned(self, many: int, chance: Randomness) -> tuple[NDArray[np.intp], Counts]:
        order = np.argsort(self.values[:, 0], kind="stable")
        return order, np.arange(len(order)) * many // max(1, len(order))


class HeldAbove(Blocks):
    """Outputs that are bounded on one side of the range, and not on the other."""

    def _held(self, found: Reals) -> Reals:
        return np.minimum(found, 1.0)


def equal(values: Reals) -> Analysis:
    """One end of the range where all rows of a block are equal, and else the other."""
    return lambda here: np.full(OUTPUTS, 9.0 if len(here) and not np.ptp(values[here]) else -9.0)


def scaled_first(values: Reals) -> Analysis:
    """Whether a block has a large row, after all rows were divided by the largest of all blocks."""
    whole = values / max(np.abs(values).max(initial=0.0), 1e-9)
    return lambda here: np.full(OUTPUTS, 9.0 if (whole[here] > 0.75).any() else -9.0)


def warm(values: Reals) -> Analysis:
    """One step of a solver towards what a block says, from where it ended in the block before."""
    found, place = equal(values), np.zeros(OUTPUTS)

    def stepped(here: NDArray[np.intp]) -> Reals:
        nonlocal place
        place = place + np.sign(found(here))
        return place

    return stepped


@dataclass(frozen=True)
class Averages:
    """Two outputs of an analysis.

    `scale` changes the noise that the sensitivity asks for.
    """

    relation: Relation = Relation.ADD_REMOVE
    kind: type[Blocks] = Blocks
    scale: Fraction = Fraction(1)
    analysis: Callable[[Reals], Analysis] = equal

    def loss(self, first: Records, second: Records) -> float:
        """The exact loss of both outputs together."""
        one, two = (self.sealed(records) for records in (first, second))
        moved = int(np.abs(open_seal(one) - open_seal(two)).sum())
        return float(moved / (one.sensitivity.l1 * self.scale))

    def sealed(self, records: Records) -> Sealed[Counts]:
        """The sums over the blocks, whose public chance is the same on both inputs."""
        values = np.array(records, dtype=np.float64).reshape(-1, 1)
        blocks = self.kind(values, self.relation)
        return blocks.sums(MANY, OUTPUTS, self.analysis(values), Randomness.seeded(0))


def targets() -> tuple[Target, ...]:
    """Sums over blocks as they are shipped, for both relations, and five mistakes."""
    return (
        _target("aggregate", "noisy sums over blocks of what an analysis found", Averages()),
        _target("aggregate-replace", "the same where a row is replaced", Averages(Relation.REPLACE)),
        _target(
            "broken-aggregate-blocks-by-rank",
            "rows that follow each other share a block, so that one more moves others to the next",
            Averages(kind=ByRank),
        ),
        _target(
            "broken-aggregate-one-output",
            "noise for one output where there are two",
            Averages(scale=Fraction(1, OUTPUTS)),
        ),
        _target(
            "broken-aggregate-scaled",
            "rows are divided by the largest of all before they go to their blocks",
            Averages(analysis=scaled_first),
        ),
        _target(
            "broken-aggregate-warm",
            "a solver stops after one step in each block, and goes on from there in the next",
            Averages(analysis=warm),
        ),
        _target(
            "broken-aggregate-one-side",
            "outputs are bounded on one side of their range only",
            Averages(kind=HeldAbove),
        ),
    )


def _target(name: str, summary: str, averages: Averages) -> Target:
    kind = Kind.BROKEN if name.startswith("broken") else Kind.SHIPPED
    least, largest = (6, 6) if averages.relation is Relation.REPLACE else (1, 4)
    pairs = [*small_pairs(UNIVERSE, largest, averages.relation, smallest=least, most=80)]
    if averages.relation is Relation.ADD_REMOVE:
        doubled = tuple(row for row in UNIVERSE for _ in range(2))
        pairs.append(Pair(doubled, doubled[1:]))
        crowd = ((0.5,),) * 12
        pairs.append(Pair(crowd, (*crowd, (1.0,))))
    return Target(
        name, kind, Promise(Fraction(1), relation=averages.relation), summary, pairs, loss=averages.loss
    )
