"""The table closest to a first guess that agrees with noisy marginals: regularised maximum entropy.

Among all joint tables P of total N over some cells, take the one that minimises

    N KL(P || base)  +  sum over marginals b of  ||M_b P - y_b||² / (2 rho_b),

where M_b adds the cells up to marginal b, y_b are its noisy counts and rho_b says how little they are
trusted. The solution is log-linear, P proportional to base * exp(sum of theta_b), and its dual is smooth
and convex in theta, so that a quasi-Newton method finds it in some dozens of steps. With rho_b = c times
the standard deviation of the noise, a parameter of size 1 is let off with c standard deviations: strong
dependencies follow the counts, weak ones are drawn back to the base. Everything here is public.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]

RIDGE = 0.3
"""c: the standard deviations of noise that a log-linear parameter of size 1 is let off with."""

STEPS = 100
"""Of the quasi-Newton method, at most."""

_SMALLEST = 1e-12


@dataclass(frozen=True, eq=False)
class Constraint:
    """Noisy counts of a marginal: for each cell of the table the cell of the marginal it adds up to."""

    cells: NDArray[np.int64]
    counts: Reals
    deviation: float


def fitted(
    base: Reals, constraints: Sequence[Constraint], total: float, *, ridge: float = RIDGE, steps: int = STEPS
) -> Reals:
    """The distribution over the cells of `base` (flat, any mass); zero cells of the base stay near zero."""
    from scipy.optimize import minimize

    prior = np.log(np.maximum(base / base.sum(), _SMALLEST / len(base)))
    if not constraints or total <= 0:
        return np.asarray(np.exp(prior) / np.exp(prior).sum())
    targets = np.concatenate([each.counts for each in constraints])
    slack = np.concatenate([np.full(len(each.counts), ridge * each.deviation) for each in constraints])
    starts = np.cumsum([0, *(len(each.counts) for each in constraints[:-1])])
    places = np.stack([each.cells + start for each, start in zip(constraints, starts, strict=True)])
    flat, rows = places.ravel(), len(constraints)

    def sums(table: Reals) -> Reals:
        spread = np.broadcast_to(table, (rows, len(table))).ravel()
        return np.asarray(np.bincount(flat, spread, len(targets)), dtype=np.float64)

    start = np.exp(prior - prior.max())
    # scaled so that the curvature is about the same in every direction
    masses = np.maximum(sums(start * (total / start.sum())), np.maximum(targets, 1.0))
    scale = np.sqrt(total / (masses + slack))

    def dual(point: Reals) -> tuple[float, Reals]:
        theta = point * scale
        logs = prior + theta[places].sum(axis=0)
        peak = logs.max()
        table = np.exp(logs - peak)
        mass = table.sum()
        table *= total / mass
        gradient = sums(table) - targets + slack * theta
        value = total * (np.log(mass) + peak) - theta @ targets + 0.5 * (slack * theta) @ theta
        return float(value / total), gradient * scale / total

    found = minimize(
        dual,
        np.zeros(len(targets)),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": steps, "maxcor": 10, "ftol": 1e-9, "gtol": 1e-6},
    )
    logs = prior + (found.x * scale)[places].sum(axis=0)
    table = np.exp(logs - logs.max())
    return np.asarray(table / table.sum(), dtype=np.float64)
