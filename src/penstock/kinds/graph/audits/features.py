"""Which counts a fit matches, under audit: a copy that decides it by the true counts is told apart.

The shipped method leaves out a count whose noisy value is not above zero. To look at the true value instead
seems harmless, since nothing new is told; but the initiator shows which counts it was fitted to.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

from penstock.audit.hostile import Ground, both_ways, trial
from penstock.audit.neighbours import Pair
from penstock.audit.replay import Replays, Tampering
from penstock.audit.target import Kind, Promise, Target
from penstock.kinds.graph.kronecker import KroneckerRelease
from penstock.kinds.graph.models.kronecker import fit
from penstock.kinds.graph.patterns import Star, Triangle
from penstock.privacy.seals.sealed import open_seal
from penstock.privacy.unit import Relation
from penstock.releases.release import Release

FEW = 3
PATTERNS = {"2-star": Star(2), "triangle": Triangle(), "3-star": Star(3)}


def by_true_counts(data: Any, made: Release) -> Release:
    """Broken: a count is matched where the original has any, and not where its noisy value is above zero."""
    assert isinstance(made, KroneckerRelease)
    matched = {"edge": max(1.0, made.counts["edge"])}
    for name, pattern in PATTERNS.items():
        if open_seal(data.count(pattern)):
            matched[name] = max(1.0, made.counts[name])
    return replace(made, initiator=fit(matched, made.levels)[0])


def compared(ground: Ground, pair: Pair, tampering: Tampering, seed: int = 0) -> Replays:
    """A few replays of a pair of graphs, in both directions."""
    made = trial(ground, "kronecker", Relation.ADD_REMOVE, 0, epsilon=Fraction(3), tampering=tampering)
    before, after = (tuple((edge,) for edge in side) for side in (pair.first, pair.second))
    units = Pair(before, after, pair.name)
    found = Replays()
    for turn in range(FEW):
        found = found + both_ways(made, ground, Relation.ADD_REMOVE, units, seed + turn)[0]
    return found


def targets(ground: Ground, pair: Pair) -> tuple[Target, ...]:
    """The copy that looks at the true counts; the shipped choice is replayed with the whole method."""

    def replays(number: int, seed: int) -> Replays:
        return compared(ground, pair, Tampering(release=by_true_counts), seed)

    return (
        Target(
            "broken-kronecker-features-by-true-counts",
            Kind.BROKEN,
            Promise(Fraction(3)),
            "kronecker: which counts are matched follows from the true ones",
            (),
            replays=replays,
        ),
    )
