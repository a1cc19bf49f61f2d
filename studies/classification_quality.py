"""How near the score of two labels is to that of all: correlation over random grids (section 3.2.3).

The exact score (equation 3.1) is integrated over the noise of every label. It moves by more than 1.1 when a
record is added, so that nothing is chosen by it; the score of the two most frequent labels stands for it.
The dissertation finds a correlation of 0.936 on average over four tables and five budgets.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from fractions import Fraction
from math import floor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frame.data import MissingDataError
from frame.folds import fold_of
from frame.statements import Checked, Verdict
from frame.store import RESULTS
from penstock.learn.classification.grids import grids, partition
from penstock.learn.classification.partition import hierarchies
from penstock.learn.classification.privpfc import each
from penstock.learn.classification.quality import STEPS, Quality

Reals = NDArray[np.float64]
KEPT = RESULTS / "classification-quality.json"
LEAST = 0.93
REACH = 40
"""So many scales around its count the noise of a label is looked at: exp(-40) of it lies beyond."""
PIECES = np.arange(-REACH, REACH + 1, 4)
NODES, WEIGHTS = np.polynomial.legendre.leggauss(16)


def exact_quality(counts: NDArray[np.int64], epsilon: float) -> float:
    """Equation 3.1 over all cells: each label's count times the chance that its noisy count is the largest.

    >>> round(exact_quality(np.array([[10, 7, 3]]), 0.6), 6)
    9.453136
    """
    total = 0.0
    for cell in np.unique(counts, axis=0, return_counts=True)[0] if len(counts) > 1 else counts:
        times = int((counts == cell).all(axis=1).sum())
        total += times * _cell(cell.astype(np.float64), epsilon)
    return total


def _cell(cell: Reals, epsilon: float) -> float:
    """Gauss and Legendre's rule between the kinks of the integrand, which are at the counts."""
    found = 0.0
    for label, count in enumerate(cell.tolist()):
        if not count:
            continue
        ends = np.concatenate([count + PIECES / epsilon, cell[np.abs(cell - count) < REACH / epsilon]])
        ends = np.unique(ends)
        middles, halves = (ends[1:] + ends[:-1]) / 2, (ends[1:] - ends[:-1]) / 2
        x = (middles[:, None] + halves[:, None] * NODES).ravel()
        away = epsilon * (x[None, :] - np.delete(cell, label)[:, None])
        below = np.where(away < 0, np.exp(np.minimum(away, 0)) / 2, 1 - np.exp(-np.maximum(away, 0)) / 2)
        density = epsilon / 2 * np.exp(-epsilon * np.abs(x - count))
        found += count * float((density * below.prod(axis=0)) @ (halves[:, None] * WEIGHTS).ravel())
    return found


def correlation(fold: Any, epsilon: Fraction, many: int, seed: int = 0) -> float:
    """Of both scores, over so many random grids of the pool at this budget."""
    for_counts = epsilon * Fraction(3, 5)
    columns = hierarchies(fold.train.schema.attributes, fold.target)
    pool = grids([column.sizes for column in columns], floor(fold.train.rows * for_counts / 5), 10_000)
    chosen = np.random.default_rng(seed).choice(len(pool), size=min(many, len(pool)), replace=False)
    labels = fold.train.sizes[fold.target]
    marginals = [partition(pool[place], columns).marginal(fold.target) for place in chosen.tolist()]
    tables = fold.train.engine.counts(marginals)
    two = each(tables, Quality(for_counts, "laplace"), labels) / STEPS
    every = [exact_quality(table.reshape(-1, labels), float(for_counts)) for table in tables]
    return float(np.corrcoef(two, every)[0, 1])


def sentences(known: Mapping[str, float]) -> list[Checked]:
    """What is said of the score of two labels, with whether it holds."""
    low = min(known, key=lambda where: known[where])
    told = f"{known[low]:.4f} at least ({low.replace('|', ' ε ')}), {len(known)} cases"
    return [
        Checked(
            "10",
            f"The score of two labels correlates with that of all ({LEAST}).",
            Verdict(min(known.values()) >= LEAST, told),
        )
    ]


def kept() -> dict[str, float] | None:
    """What was measured last, if anything."""
    if not KEPT.exists():
        return None
    found: dict[str, float] = json.loads(KEPT.read_text(encoding="utf-8"))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--grids", type=int, default=20, help="random grids at each budget")
    given = parser.parse_args()
    known: dict[str, float] = {}
    for table in ("adult-marital", "bank-outcome"):
        for epsilon in ("1/20", "1/10", "1/5", "1/2", "1"):
            try:
                found = correlation(fold_of(f"{table}-0"), Fraction(epsilon), given.grids)
            except MissingDataError as missing:
                raise SystemExit(str(missing)) from None
            print(f"{table}  epsilon {epsilon:>4}  correlation {found:.5f}", flush=True)
            known[f"{table}|{epsilon}"] = found
            KEPT.parent.mkdir(parents=True, exist_ok=True)
            KEPT.write_text(json.dumps(known), encoding="utf-8")


if __name__ == "__main__":
    main()
