"""A noisy matrix of products as an audit target, and copies of it that are broken.

Records are vectors of two numbers, the matrix is the sum of their squares v v'. What comes out is told by the
one question in which the bound of the theorem is reached: whether the matrix that came out, less the squares
of some public records, has no eigenvalue below zero. If W - W' is positive semidefinite, it is so for all of
the noise that a further record would need, and exp(-epsilon) times as likely.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.audit.neighbours import Pair
from penstock.audit.target import Kind, Promise, Target
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.laws.matrices import MatrixAround
from penstock.privacy.mechanisms import products
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.randomness.normals import normals
from penstock.privacy.seals.sealed import Sealed
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.privacy.unit import Relation

Reals = NDArray[np.float64]
Records = Sequence[tuple[int, int]]

UNIT = 1 << 10
VECTORS = ((1, 1), (1, -1))
TRACE = 2 * UNIT**2
ADDED = Promise(Fraction(1))
REPLACED = Promise(Fraction(1), relation=Relation.REPLACE)


def targets() -> tuple[Target, ...]:
    """The shipped mechanism, and its broken copies."""
    one, other = VECTORS
    added = (Pair((), (one,)), Pair((other,), (other, one)))
    swapped = (Pair((one,), (other,)),)
    return (
        _target("products", "a noisy matrix of products", added, Told(ADDED).run, told=Told(ADDED)),
        _target(
            "products-replace",
            "a noisy matrix of products when records are replaced",
            swapped,
            Told(REPLACED).run,
            told=Told(REPLACED),
        ),
        _target(
            "broken-products-largest-entry",
            "a matrix of products with noise for its largest entry, not for its trace",
            added,
            lambda records, randomness, n: _signs(_matrix(records) + _noise(n, 3, TRACE / 2, randomness)),
        ),
        _target(
            "broken-products-replace",
            "noise for a record that comes where one is replaced",
            swapped,
            lambda records, randomness, n: _along(_matrix(records) + _noise(n, 3, TRACE, randomness)),
            promise=REPLACED,
        ),
        _target(
            "broken-products-one-wishart",
            "one Wishart matrix for noise, which is never negative",
            added,
            lambda records, randomness, n: _signs(_matrix(records) + _wisharts(n, 3, TRACE, randomness)),
        ),
        _target(
            "broken-products-few-degrees",
            "matrices of one row with one degree of freedom, not two",
            (Pair((), (one,)),),
            lambda records, randomness, n: _near(
                len(records) * TRACE + _noise(n, 1, TRACE, randomness, rows=1)
            ),
        ),
    )


class Told:
    """The shipped mechanism on made-up vectors."""

    def __init__(self, promise: Promise) -> None:
        self.promise = promise

    def sealed(self, records: Records) -> Sealed[NDArray[np.int64]]:
        times = 1 if self.promise.relation is Relation.ADD_REMOVE else 2
        return Sealed(
            _matrix(records).astype(np.int64),
            Sensitivity.of(2 * TRACE * times, linf=TRACE * times, trace=TRACE * times),
            self.promise.relation,
            because="a record adds the square of a public vector of this length; one replaced does so twice",
        )

    def run(self, records: Records, randomness: Randomness, n: int) -> list[int]:
        found = [
            products.noisy(self.sealed(records), Budget(self.promise.epsilon, randomness=randomness))
            for _ in range(n)
        ]
        told = _signs if self.promise.relation is Relation.ADD_REMOVE else _along
        return told(np.array(found, dtype=np.float64))

    def loss(self, first: Records, second: Records) -> float:
        """The bound of the shipped law at the scales of the stated sensitivity."""
        trace = self.sealed(first).sensitivity.trace
        assert trace is not None
        scales = products.scales(2, trace, self.promise.epsilon)
        one, two = (MatrixAround(_matrix(each).astype(np.int64), *scales) for each in (first, second))
        return float(one.loss(one.values, two))


def _matrix(records: Records) -> Reals:
    found = np.zeros((2, 2))
    for record in records:
        found += np.multiply.outer(record, record) * float(UNIT**2)
    return found


def _wisharts(n: int, degrees: int, trace: float, randomness: Randomness, rows: int = 2) -> Reals:
    """Wishart matrices, for epsilon 1."""
    drawn = normals(n * rows * degrees, 40, randomness)
    known = (drawn.middles.astype(np.float64) / 2.0**41).reshape(n, rows, degrees)
    return np.asarray(known @ known.transpose(0, 2, 1) * (trace / 2))


def _noise(n: int, degrees: int, trace: float, randomness: Randomness, rows: int = 2) -> Reals:
    one, two = (_wisharts(n, degrees, trace, randomness, rows) for _ in range(2))
    return one - two


def _signs(found: Reals) -> list[int]:
    """For nobody and for the square of each public vector whether what is left has no eigenvalue below 0."""
    codes = np.zeros(len(found), dtype=np.int64)
    for one in (np.zeros((2, 2)), *(_matrix([vector]) for vector in VECTORS)):
        left = found - one
        positive = (np.trace(left, axis1=1, axis2=2) >= 0) & (np.linalg.det(left) >= 0)
        codes = 2 * codes + positive
    return [int(code) for code in codes]


def _along(found: Reals) -> list[int]:
    """How much more the matrix has along one public vector than along the other, in quarters of a record."""
    one, two = (np.einsum("i,kij,j->k", vector, found, vector) for vector in VECTORS)
    return [int(quarters) for quarters in np.floor((one - two) * 2 / TRACE)]


def _near(found: Reals) -> list[int]:
    """Whether the matrix is nearly that of nobody, where the density of too few degrees has no bound."""
    return [int(near) for near in np.abs(found[:, 0, 0]) < TRACE / 100]


def _target(
    name: str,
    summary: str,
    pairs: Sequence[Pair],
    run: Callable[..., Any],
    *,
    told: Told | None = None,
    promise: Promise = ADDED,
) -> Target:
    return Target(
        name,
        Kind.BROKEN if told is None else Kind.SHIPPED,
        promise if told is None else told.promise,
        summary,
        pairs,
        run=run,
        loss=None if told is None else told.loss,
        effort=1.0 if told is None else 0.05,
    )
