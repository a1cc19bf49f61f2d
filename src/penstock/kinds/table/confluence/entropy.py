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

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]

RIDGE = 0.2
"""c: the standard deviations of noise that a log-linear parameter of size 1 is let off with."""

STEPS = 100
"""Of the quasi-Newton method, at most."""

_SMALLEST = 1e-12
_MEMORY = 10
_FLAT = 1e-6
_ENOUGH = 1e-9


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
    from scipy.sparse import csr_matrix

    prior = np.log(np.maximum(base / base.sum(), _SMALLEST / len(base)))
    if not constraints or total <= 0:
        return np.asarray(np.exp(prior) / np.exp(prior).sum())
    targets = np.concatenate([each.counts for each in constraints])
    slack = np.concatenate([np.full(len(each.counts), ridge * each.deviation) for each in constraints])
    starts = np.cumsum([0, *(len(each.counts) for each in constraints[:-1])])
    places = np.stack([each.cells + start for each, start in zip(constraints, starts, strict=True)])
    rows, cells = places.shape
    # which parameters each cell of the table has, and the other way round: products with these take a
    # fraction of the time of sums over lists of places, and add up in the same order
    by_cell = csr_matrix(
        (np.ones(places.size), places.T.ravel(), np.arange(0, places.size + 1, rows)),
        shape=(cells, len(targets)),
    )
    by_parameter = by_cell.T.tocsr()

    def sums(table: Reals) -> Reals:
        return np.asarray(by_parameter @ table, dtype=np.float64)

    start = np.exp(prior - prior.max())
    # scaled so that the curvature is about the same in every direction
    masses = np.maximum(sums(start * (total / start.sum())), np.maximum(targets, 1.0))
    scale = np.sqrt(total / (masses + slack))

    def dual(point: Reals) -> tuple[float, Reals]:
        theta = point * scale
        logs = prior + by_cell @ theta
        peak = logs.max()
        table = np.exp(logs - peak)
        mass = table.sum()
        table *= total / mass
        gradient = sums(table) - targets + slack * theta
        value = total * (np.log(mass) + peak) - theta @ targets + 0.5 * (slack * theta) @ theta
        return float(value / total), gradient * scale / total

    point = minimised(dual, np.zeros(len(targets)), steps)
    logs = prior + by_cell @ (point * scale)
    table = np.exp(logs - logs.max())
    return np.asarray(table / table.sum(), dtype=np.float64)


def minimised(function: Callable[[Reals], tuple[float, Reals]], start: Reals, steps: int) -> Reals:
    """Where a smooth, strictly convex function is smallest, by limited-memory BFGS.

    A few lines of our own, because the library's routine wakes up all processors for vectors of a few
    hundred numbers and spends more time on that than on the problem.
    """
    point = start
    value, gradient = function(point)
    moves: list[tuple[Reals, Reals, float]] = []
    for _ in range(steps):
        if np.abs(gradient).max(initial=0.0) < _FLAT:
            break
        direction = _direction(gradient, moves)
        slope = float(direction @ gradient)
        length = 1.0 if moves else min(1.0, 1.0 / float(np.abs(gradient).sum()))
        while True:
            there = point + length * direction
            new_value, new_gradient = function(there)
            if new_value <= value + 1e-4 * length * slope or length < 1e-10:
                break
            # the minimum of the parabola through both values and the slope, within bounds
            curve = new_value - value - length * slope
            length *= min(0.5, max(0.1, -slope * length / (2 * curve))) if np.isfinite(curve) else 0.1
        gain = value - new_value
        step, change = there - point, new_gradient - gradient
        bend = float(step @ change)
        if bend > 0:
            moves = [*moves[1 - _MEMORY :], (step, change, 1 / bend)]
        point, value, gradient = there, new_value, new_gradient
        if gain <= _ENOUGH * max(1.0, abs(value)):
            break
    return point


def _direction(gradient: Reals, moves: Sequence[tuple[Reals, Reals, float]]) -> Reals:
    """Downhill, bent by what the last moves told about the curvature."""
    direction = -gradient
    parts = []
    for step, change, weight in reversed(moves):
        part = weight * float(step @ direction)
        direction = direction - part * change
        parts.append(part)
    if moves:
        step, change, weight = moves[-1]
        direction = direction / (weight * float(change @ change))
    for (step, change, weight), part in zip(moves, reversed(parts), strict=True):
        direction = direction + (part - weight * float(change @ direction)) * step
    return direction
