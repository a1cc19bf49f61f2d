"""How far one unit can move a score: the published bounds and the tight ones, with their proofs.

The exponential mechanism and permute-and-flip need the largest change over *all* candidates of a
round. Whether a candidate has a binary side is public, so the bound is the tight binary one only when
every candidate has one.

**Replace** (n public; one record moves from one cell to another).

* F: the set of maximum joint distributions does not depend on the records, so by the triangle
  inequality n F moves by at most half of ‖change of the counts‖₁ = 2, that is by 1, and 2nF by 2.
* R: n R moves by at most 3 + 2/n (published), which cannot be improved in general. If X or the
  parents have two values, rows cancel and n R = sum over columns of |a_π - A m_π / n|. Moving a record
  from (x2, π2) to (x1, π1) changes the terms of other columns by m_π/n, that of π1 by at most
  1 - (A + m1 + 1)/n and that of π2 by (A + 1 - m2)/n in the worst sign case; the sum is at most
  2(n-1)/n, attained by n records at (1,1) of which one moves to (0,0).
* I: n I = sum of differences of t log t over three tables; pushing the counts to their extremes gives
  log n + (n-1) log(n/(n-1)) when one side is binary and
  2 log((n+1)/2) + (n-1) log((n+1)/(n-1)) otherwise (in bits).

**Add-remove** (n private; scores stay on the scale of counts).

* F: adding a record at a cell moves n Pr by a unit vector e and the target n P° by P°;
  half of ‖e - P°‖₁ is at most 1, so 2nF moves by at most 2.
* R: let A and B be the counts of the added record's row and column. The cell itself, its row, its
  column and the rest each change by (n-A)(n-B)/(n(n+1)) in L1; half of the four is
  2(n-A)(n-B)/(n(n+1)) < 2. A floor of 4nR then moves by at most 8: |⌊u⌋ - ⌊v⌋| ≤ m whenever |u - v| < m.
* I grows with log n and is not offered.

A unit of up to m records is m single changes, so every bound grows m-fold (add-remove only).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import floor, log2
from typing import Literal

from penstock.errors import UsageError
from penstock.kinds.table.privbayes.scores import INDEPENDENCE_STEPS, INFORMATION_STEPS, ScoreName
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.privacy.unit import Relation

Bound = Literal["tight", "published"]

MOST_RECORDS_OF_I = 10**10
"""Up to here the rounding errors of n I, some 2**-50 n log n, stay below half a step of its lattice."""

MOST_RECORDS_OF_R = 2 * 10**9
"""Up to here 2 n² R <= 2 n² fits into 64 bits."""


def of_scores(
    name: ScoreName,
    shapes: Sequence[tuple[int, int]],
    relation: Relation,
    *,
    n: int | None = None,
    records: int = 1,
    bound: Bound = "tight",
) -> Sensitivity:
    """The sensitivity of `scores(name, shapes, …)`: every score at most this much, all at once."""
    binary = all(min(shape) <= 2 for shape in shapes)
    return Sensitivity.scores(
        largest_change(name, relation, binary=binary, n=n, records=records, bound=bound),
        candidates=max(1, len(shapes)),
    )


def largest_change(
    name: ScoreName,
    relation: Relation,
    *,
    binary: bool,
    n: int | None = None,
    records: int = 1,
    bound: Bound = "tight",
) -> Fraction:
    """The largest change of one integer score; `binary` when X or the parents have two values."""
    if relation is Relation.ADD_REMOVE:
        if name == "F":
            return Fraction(2 * records)
        if name == "R":
            return Fraction(2 * INDEPENDENCE_STEPS * records)
        raise UsageError("Score I is not offered under 'add-remove'; choose score R or F.")
    if n is None:
        raise UsageError("Relation 'replace' needs a public number of records.")
    if name == "F":
        return Fraction(2)
    if name == "R":
        if n > MOST_RECORDS_OF_R:
            raise UsageError(
                f"Score R is kept in 64 bits, enough for {MOST_RECORDS_OF_R:,} records under 'replace'; "
                "choose score F, or relation 'add-remove'. Nothing was spent."
            )
        return Fraction(4 * max(n - 1, 0)) if binary and bound == "tight" else Fraction(6 * n + 4)
    if n > MOST_RECORDS_OF_I:
        raise UsageError(
            f"Score I is computed in floating point, exactly enough for {MOST_RECORDS_OF_I:,} records; "
            "choose score R. Nothing was spent."
        )
    # the lattice's floor and the floating-point error of I (below 1/2 step) cost two steps at most
    return Fraction(floor(INFORMATION_STEPS * n * information_change(n, binary=binary) * (1 + 1e-9)) + 2)


def information_change(n: int, *, binary: bool) -> float:
    """The largest change of I, in bits, when one of n records is replaced.

    >>> round(information_change(8, binary=True), 6)
    0.543564
    """
    if n <= 1:
        return 0.0
    if binary:
        return log2(n) / n + (n - 1) / n * log2(n / (n - 1))
    return 2 / n * log2((n + 1) / 2) + (n - 1) / n * log2((n + 1) / (n - 1))
