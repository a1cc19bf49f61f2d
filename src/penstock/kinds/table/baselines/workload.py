"""Which marginals a baseline holds, and whether they, or the whole domain, fit into memory.

Everything here follows from the schema alone, so what does not fit is refused before anything is spent.
"""

from __future__ import annotations

from itertools import combinations
from math import comb, prod

from penstock.errors import UsageError
from penstock.kinds.table.adaptive_bins import at_most
from penstock.schema import Schema

Subset = tuple[str, ...]

MOST_CELLS = 1 << 26
"""The largest number of cells in all marginals together: half a gibibyte."""

LARGEST_DOMAIN = 1 << 24
"""The largest domain that is held as a whole: 128 MiB."""


def workload(schema: Schema, way: int) -> list[Subset]:
    """All sets of `way` attributes, in the order of the schema; UsageError where that cannot be."""
    names = schema.names
    if not 1 <= way <= len(names):
        raise UsageError(f"way must lie between 1 and {len(names)}, not at {way!r}. Nothing was spent.")
    # the cells of all sets together, without listing the sets: a symmetric polynomial of the sizes
    sums = [1] + [0] * way
    for size in at_most(schema).sizes.values():
        for degree in range(way, 0, -1):
            sums[degree] += sums[degree - 1] * size
    if sums[way] > MOST_CELLS:
        raise UsageError(
            f"The {comb(len(names), way)} marginals of {way} attributes have {sums[way]} cells, more than "
            f"{MOST_CELLS}; choose a smaller way. Nothing was spent."
        )
    return list(combinations(names, way))


def domain_shape(schema: Schema) -> tuple[int, ...]:
    """One axis for each attribute; UsageError where the whole does not fit."""
    shape = tuple(at_most(schema).sizes.values())
    if prod(shape) > LARGEST_DOMAIN:
        raise UsageError(
            f"The domain has {prod(shape):.3g} cells, more than {LARGEST_DOMAIN}; use a method that does not "
            "hold all of it. Nothing was spent."
        )
    return shape
