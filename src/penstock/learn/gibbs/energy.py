"""Catoni's bound on the risk of a Gibbs learner, bought with a part of the budget."""

from __future__ import annotations

from fractions import Fraction
from math import log

import numpy as np
from numpy.typing import NDArray

from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms import noise
from penstock.privacy.seals.sealed import Sealed
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.theory.learning import catoni_from_energy, free_energy

Counts = NDArray[np.int64]

FAILING = 0.05
"""How likely the bound fails for the records, and again for the noise on it."""
_ROUNDING = Fraction(1, 10**9)


def paid_bound(
    scores: Sealed[Counts], base: Counts, n: int, one: int, epsilon: Fraction, pay: Budget
) -> float:
    """Catoni's bound from a noisy free energy; it fails with a probability of 0.1 at most.

    `scores` are what is chosen by, of n records of which one adds at most `one`: so much of one that it gets
    right. `base` is the prior, and `epsilon` what the choice costs. Pays all of `pay`.
    """
    lam = n * one * float(epsilon / scores.sensitivity.spread)
    whole = base.astype(np.float64)
    prior, moves = whole / whole.sum(), Fraction(1, n) + _ROUNDING
    energy = scores.claim(
        lambda right: np.array([free_energy(1.0 - right / (n * one), lam, prior)]),
        Sensitivity.of(moves),
        shape=(1,),
        dtype=np.float64,
        because="the free energy is a weighted mean of the risks in a scale that keeps order, so that it "
        "moves by no more than the risk that moves most: 1/n where one of n records is replaced; a "
        "thousand millionth is for the rounding of doubles",
    )
    margin = float(moves / pay.left[0]) * log(1 / FAILING)
    noisy = float(noise.laplace_real(energy, pay=pay)[0])
    return catoni_from_energy(noisy + margin, n, lam, FAILING)
