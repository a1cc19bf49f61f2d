"""How strongly a child depends on its parents: the scores I, F and R on tables of integer counts.

A table has one row for each value of the child X and one column for each configuration of the
parents. All scores are exact integers (I on a lattice), so that choosing between candidates needs no
floating-point arithmetic on anything private. They are computed for whole stacks of tables at once.

========  =====================================  ===========================================
score     integer that stands for it             what it is
========  =====================================  ===========================================
``F``     2 n F                                  minus the distance to the nearest "maximum"
                                                 joint distribution; binary X only
``R``     2 n² R (replace), ⌊4 n R⌋ (add-remove)  distance from independence
``I``     ⌊1024 n I⌋ (replace only)               mutual information in bits
========  =====================================  ===========================================

How far one unit can move each of them is proven in `penstock.kinds.table.privbayes.sensitivity`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from penstock.errors import UsageError
from penstock.kinds.table.privbayes.assignment import best_assignments
from penstock.privacy.unit import Relation

Counts = NDArray[np.int64]
Reals = NDArray[np.float64]
ScoreName = Literal["I", "F", "R"]

INFORMATION_STEPS = 1024  # lattice steps of I for each record and bit
INDEPENDENCE_STEPS = 4  # lattice steps of R for each record, under add-remove

_EXACT_SQUARES = 1_500_000_000  # up to this many records 4 n² fits into 64 bits


def score(name: ScoreName, tables: Counts, relation: Relation) -> Counts:
    """The integer scores of a stack of tables, shape (tables, child values, parent configurations)."""
    if tables.ndim != 3:
        raise ValueError("scores take a stack of tables: (tables, child values, parent configurations)")
    if name == "F":
        return twice_n_f(tables)
    if name == "R":
        doubled = twice_n2_r(tables)
        return doubled if relation is Relation.REPLACE else _scaled_down(doubled, tables)
    if relation is not Relation.REPLACE:
        raise UsageError(
            "Score I has no useful sensitivity when records are added or removed; choose score R "
            "or F, or declare relation 'replace' and a public size in the schema."
        )
    steps = np.floor(INFORMATION_STEPS * records(tables) * information(tables))
    return np.asarray(steps, dtype=np.int64)


def scores(
    name: ScoreName, shapes: Sequence[tuple[int, int]], counts: Sequence[Counts], relation: Relation
) -> Counts:
    """One score for each flat table of counts; tables of equal shape are worked off together."""
    found = np.zeros(len(shapes), dtype=np.int64)
    groups: dict[tuple[int, int], list[int]] = {}
    for position, shape in enumerate(shapes):
        groups.setdefault(shape, []).append(position)
    for shape, positions in groups.items():
        stack = np.stack([counts[position] for position in positions]).reshape(len(positions), *shape)
        found[positions] = score(name, stack, relation)
    return found


def records(tables: Counts) -> Counts:
    """The number of records in each table."""
    return np.asarray(tables.sum(axis=(1, 2)), dtype=np.int64)


# I ------------------------------------------------------------------------------------------------


def information(tables: Counts) -> Reals:
    """Mutual information in bits between child and parents; 0 for an empty table.

    >>> information(np.array([[[5, 0], [0, 5]]])).round(9).tolist()
    [1.0]
    """
    n = records(tables).astype(np.float64)
    bits = (
        _entropy_sum(tables.sum(axis=2))
        + _entropy_sum(tables.sum(axis=1))
        - _entropy_sum(tables.reshape(len(tables), -1))
    )
    # with f(t) = t log t: n I = sum f(joint) - sum f(rows) - sum f(columns) + f(n)
    total = _entropy_sum(n[:, None])
    return np.asarray(np.maximum(np.divide(total - bits, n, out=np.zeros_like(n), where=n > 0), 0.0))


def _entropy_sum(counts: NDArray[np.number]) -> Reals:
    values = counts.astype(np.float64)
    logs = np.log2(values, out=np.zeros_like(values), where=values > 0)
    return np.asarray((values * logs).sum(axis=1))


# R ------------------------------------------------------------------------------------------------


def twice_n2_r(tables: Counts) -> Counts:
    """2 n² R = sum over cells of |n t - row sum * column sum|, exactly.

    >>> twice_n2_r(np.array([[[5, 0], [0, 5]]])).tolist()  # R = 1/2 at n = 10
    [100]
    """
    exact = tables if records(tables).max(initial=0) <= _EXACT_SQUARES else tables.astype(object)
    rows, columns = exact.sum(axis=2), exact.sum(axis=1)
    n = rows.sum(axis=1)
    gaps = np.abs(n[:, None, None] * exact - rows[:, :, None] * columns[:, None, :])
    return np.asarray(gaps.sum(axis=(1, 2)))


def _scaled_down(doubled: Counts, tables: Counts) -> Counts:
    """⌊4 n R⌋ from 2 n² R; an empty table has score 0."""
    n = np.maximum(records(tables), 1)
    return np.asarray(INDEPENDENCE_STEPS // 2 * doubled // n).astype(np.int64)


# F ------------------------------------------------------------------------------------------------


def twice_n_f(tables: Counts) -> Counts:
    """2 n F for a binary child and at least two parent configurations, exactly.

    A maximum joint distribution is uniform on X and gives every column to one value of X. With K_x
    the records of value x in its own columns,

        2 n F = -min over assignments of (n - 2 K_0)+ + (n - 2 K_1)+.

    >>> twice_n_f(np.array([[[6, 0, 0, 0], [1, 1, 1, 1]]])).tolist()
    [-4]
    """
    _, values, columns = tables.shape
    if values != 2:
        raise UsageError("Score F needs a binary child: for larger domains it is NP-hard. Choose score R.")
    if columns < 2:
        raise ValueError("F is undefined without parents")
    return best_assignments(tables[:, 0], tables[:, 1], records(tables))
