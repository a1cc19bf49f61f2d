"""Selecting the c best: the score error and false negatives of Su's dissertation (chapter 5), run again.

    python studies/svt_selection.py                    # 100 repetitions; about five minutes
    python studies/svt_selection.py --repetitions 10
    python studies/svt_selection.py --fast             # the eight cells that the tests check, 100 repetitions
    python studies/svt_selection.py --write            # also writes the pages in docs/studies

Every figure comes from Penstock's own mechanisms with exact noise (a lattice of 1/1024 for the real-valued
Zipf scores, paid for); they are fast enough that no shortcut is needed. The protocol is the dissertation's:
scores are item supports, sensitivity 1, monotone; T is the mean of the true c-th and (c+1)-th score, which no
release could use; candidates come in a fresh random order each time; an empty place scores nothing. DPBook is
the book's algorithm as printed, with noise for queries that move both ways. ReTr raises T by 1, 2, 3 or 5
scales of the query noise and stops after 10 passes. `one-shot` is Penstock's default and was not part of it.

A published cell counts as reproduced when the means differ by at most 3.5 standard errors plus 0.001, the
rounding of the tables. Zipf is generated; the published figures for AOL and Kosarak need the tails of these
data, which are not available, so that ours for their heads stand alone.
"""

from __future__ import annotations

import argparse
import gzip
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from math import sqrt
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frame.data import MissingDataError, file
from frame.page import Page, listed
from frame.table import markdown
from penstock.learn.selection.evaluation import false_negative_rate, score_error_rate
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms.choice import best_several
from penstock.privacy.mechanisms.retraversal import retraverse
from penstock.privacy.mechanisms.sparse import above_threshold
from penstock.privacy.mechanisms.sparse_design import PRESETS
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.randomness.samplers import permutation
from penstock.privacy.seals.sealed import Sealed
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.schema import Relation

Scores = NDArray[Any]
Chosen = Sequence[int]

EPSILONS = ("0.1", "0.5")
COUNTS = (25, 50, 100, 150, 200, 300)
HARMONIC = 9.787606036044382  # of 10,000


# --- the scores ---


def zipf() -> Scores:
    """Item i of 10,000 is in 10**6 / (i H) of a million records; not rounded."""
    return 10**6 / (np.arange(1, 10_001) * HARMONIC)


def aol() -> Scores:
    """The 2,637 keywords in at least 1,295 of 647,377 query logs; the other 2.3 million are not available."""
    with gzip.open(file("aol/aol_item_counts_minsup0.2pct.csv.gz"), "rt") as stream:
        lines = stream.read().split()
    return np.array([int(line.rsplit(",", 1)[1]) for line in lines[1:]])


def kosarak() -> Scores:
    """The 116 pages that at least 0.6 % of 990,002 visitors saw."""
    lines = file("kosarak/kosarak_frequent_itemsets_minsup0.6pct.txt").read_text().splitlines()
    singles = [line for line in lines if " " not in line.partition("]")[0]]
    return np.array([int(line.split(",")[1]) for line in singles])


def retail() -> Scores:
    """Supports of the 16,470 articles in 88,162 Belgian baskets."""
    return _supports("retail/retail.txt.gz")


def groceries() -> Scores:
    """Supports of the 169 groups of goods in 9,835 baskets."""
    return _supports("groceries/groceries.txt.gz")


def _supports(name: str) -> Scores:
    """How many baskets hold each item, however often; every item of these data is in one at least."""
    with gzip.open(file(name), "rt") as stream:
        held = [int(item) for line in stream for item in set(line.split())]
    counts = np.bincount(held)
    return counts[counts > 0]


DATASETS: dict[str, Callable[[], Scores]] = {
    "zipf": zipf,
    "aol": aol,
    "kosarak": kosarak,
    "retail": retail,
    "groceries": groceries,
}


# --- the algorithms ---

Algorithm = Callable[[Sealed[Scores], int, float, Budget], Chosen]


def _svt(**options: object) -> Algorithm:
    def run(scores: Sealed[Scores], c: int, threshold: float, budget: Budget) -> Chosen:
        order = permutation(int(scores.sensitivity.l1), budget.randomness.spawn("order"))  # 1 per candidate
        shuffled = scores.claim(lambda whole: whole[order], scores.sensitivity, because="a public order")
        found = above_threshold(shuffled, budget, c=c, threshold=threshold, **options)  # type: ignore[arg-type]
        return [int(candidate) for candidate in order[found.positions]]

    return run


def _retr(multiple: int) -> Algorithm:
    return lambda scores, c, threshold, budget: retraverse(
        scores, budget, c=c, threshold=threshold, raised=multiple, passes=10
    )


ALGORITHMS: dict[str, Algorithm] = {
    "DPBook": _svt(**PRESETS["dwork-roth"], monotone=False),
    "1:1": _svt(allocation="1:1"),
    "1:3": _svt(allocation="1:3"),
    "1:c": _svt(allocation="1:c"),
    "1:c^2/3": _svt(allocation="optimal"),
    "ReTr 1D": _retr(1),
    "ReTr 2D": _retr(2),
    "ReTr 3D": _retr(3),
    "ReTr 5D": _retr(5),
    "EM": lambda scores, c, threshold, budget: best_several(scores, c, budget, method="exponential"),
    "one-shot": lambda scores, c, threshold, budget: best_several(scores, c, budget),
}

# --- one cell ---


@dataclass(frozen=True)
class Cell:
    """One algorithm on one dataset: means and standard deviations over the repetitions."""

    dataset: str
    epsilon: str
    c: int
    algorithm: str
    error: float
    spread: float
    missed: float
    repetitions: int

    @property
    def published(self) -> tuple[float, float] | None:
        return PUBLISHED.get((self.epsilon, self.c, self.algorithm)) if self.dataset == "zipf" else None

    @property
    def distance(self) -> float | None:
        """How far the published mean is away, in units of what is allowed."""
        if self.published is None:
            return None
        mean, spread = self.published
        allowed = 3.5 * sqrt(spread**2 / 100 + self.spread**2 / self.repetitions) + 0.001
        return abs(self.error - mean) / allowed


@cache
def _data(name: str) -> tuple[Sealed[Scores], Scores]:
    scores = DATASETS[name]()
    sealed = Sealed(
        scores,
        Sensitivity.scores(1, scores.size, monotone=True),
        Relation.ADD_REMOVE,
        because="a record has an item or not, and added it lowers no support",
    )
    return sealed, scores


def run(dataset: str, epsilon: str, c: int, algorithm: str, repetitions: int, seed: int = 0) -> Cell:
    """Repeat one algorithm; the same cell gives the same figures on every machine."""
    sealed, scores = _data(dataset)
    ranked = np.sort(scores)[::-1]
    threshold = float((ranked[c - 1] + ranked[c]) / 2)
    errors, missed = [], []
    for repetition in range(repetitions):
        source = Randomness.seeded(seed).spawn(f"{dataset} {epsilon} {c} {algorithm} {repetition}")
        chosen = ALGORITHMS[algorithm](sealed, c, threshold, Budget(Fraction(epsilon), randomness=source))
        errors.append(score_error_rate(scores, chosen, c))
        missed.append(false_negative_rate(scores, chosen, c))
    return Cell(
        dataset,
        epsilon,
        c,
        algorithm,
        float(np.mean(errors)),
        float(np.std(errors)),
        float(np.mean(missed)),
        repetitions,
    )


# --- what was published: Zipf, mean and standard deviation of the score error over 100 runs ---

_COLUMNS = ("DPBook", "1:1", "1:3", "1:c", "1:c^2/3", "ReTr 1D", "ReTr 2D", "ReTr 3D", "EM")
_TABLES = {
    "0.1": """
 50 .957±.054 .917±.076 .832±.103 .665±.269 .711±.151 .423±.171 .164±.118 .090±.016 .082±.011
100 .969±.029 .960±.053 .955±.041 .924±.116 .944±.057 .876±.083 .750±.123 .404±.118 .262±.015
150 .952±.053 .952±.050 .958±.035 .922±.094 .936±.067 .896±.072 .765±.108 .468±.112 .355±.017
200 .947±.049 .946±.052 .948±.038 .898±.128 .940±.047 .887±.077 .769±.105 .468±.087 .412±.016
300 .937±.048 .939±.038 .933±.050 .874±.113 .928±.045 .867±.077 .719±.108 .485±.040 .481±.020
""",
    "0.5": """
 50 .426±.142 .034±.059 .011±.019 .022±.042 ?         .004±.032 .002±.003 .009±.007 .000±.000
100 .919±.061 .808±.093 .571±.111 .353±.260 ?         .090±.068 .035±.006 .036±.006 .033±.005
150 .935±.053 .916±.052 .864±.072 .745±.224 .784±.108 .570±.143 .232±.126 .114±.007 .111±.007
200 .932±.054 .919±.050 .896±.065 .848±.156 ?         .734±.111 .435±.134 .173±.024 .170±.009
300 .903±.067 .912±.052 .899±.059 .832±.178 .907±.058 .767±.098 .484±.127 .247±.018 .247±.011
""",
}


def _published() -> Iterator[tuple[tuple[str, int, str], tuple[float, float]]]:
    for epsilon, table in _TABLES.items():
        for line in table.split("\n"):
            c, *cells = line.split() or [""]
            for algorithm, cell in zip(_COLUMNS, cells, strict=bool(cells)) if cells else ():
                if cell != "?":
                    mean, _, spread = cell.partition("±")
                    yield (epsilon, int(c), algorithm), (float(mean), float(spread))


PUBLISHED = dict(_published())
ALLOWED_MISSES = 2

FAST = (
    ("0.1", 50, "EM"),
    ("0.1", 100, "EM"),
    ("0.5", 150, "EM"),
    ("0.5", 100, "1:1"),
    ("0.5", 100, "1:3"),
    ("0.1", 50, "1:c^2/3"),
    ("0.5", 150, "ReTr 2D"),
    ("0.5", 50, "DPBook"),
)


# --- tables ---


def mark(cell: Cell) -> str:
    """ok, or how many times the allowed distance a published cell is away."""
    if cell.distance is None:
        return ""
    return "ok" if cell.distance <= 1 else f"MISS {cell.distance:.2f}"


def comparison(cells: Sequence[Cell]) -> str:
    """Every published cell beside ours."""
    lines = [
        "| epsilon | c | algorithm | published | ours | difference | ours/published | |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for cell in cells:
        if cell.published is not None:
            mean, spread = cell.published
            ratio = f"{cell.error / mean:.2f}" if mean else "–"
            lines.append(
                f"| {cell.epsilon} | {cell.c} | {cell.algorithm} | {mean:.3f} ± {spread:.3f} | "
                f"{cell.error:.3f} ± {cell.spread:.3f} | {cell.error - mean:+.3f} | {ratio} | {mark(cell)} |"
            )
    return "\n".join(lines)


def overview(cells: Sequence[Cell], dataset: str) -> str:
    """One line for each epsilon and c: score error, and false negatives in brackets."""
    names = list(ALGORITHMS)
    lines = [f"| epsilon | c | {' | '.join(names)} |", "|---|---|" + "---|" * len(names)]
    found = {(cell.epsilon, cell.c, cell.algorithm): cell for cell in cells if cell.dataset == dataset}
    for epsilon, c in dict.fromkeys((epsilon, c) for epsilon, c, _ in found):
        row = [found[epsilon, c, name] for name in names]
        lines.append(
            f"| {epsilon} | {c} | "
            + " | ".join(f"{cell.error:.3f} ({cell.missed:.3f})" for cell in row)
            + " |"
        )
    return "\n".join(lines)


def verdict(cells: Sequence[Cell]) -> tuple[bool, str]:
    compared = [cell for cell in cells if cell.distance is not None]
    misses = [cell for cell in compared if (cell.distance or 0) > 1]
    named = "; ".join(f"epsilon {cell.epsilon}, c {cell.c}, {cell.algorithm}" for cell in misses)
    text = f"{len(compared) - len(misses)} of {len(compared)} published cells reproduced"
    return (
        len(misses) <= ALLOWED_MISSES,
        f"{text} ({ALLOWED_MISSES} misses are allowed){': missed ' + named if named else ''}.",
    )


def standing(cells: Sequence[Cell], one: str, other: str) -> tuple[int, int, int]:
    """In how many cells an algorithm's error is below, equal to and above another's, as they are printed."""
    found: dict[tuple[str, str, int], dict[str, float]] = {}
    for cell in cells:
        found.setdefault((cell.dataset, cell.epsilon, cell.c), {})[cell.algorithm] = round(cell.error, 3)
    pairs = [(both[one], both[other]) for both in found.values() if one in both and other in both]
    return (
        sum(a < b for a, b in pairs),
        sum(a == b for a, b in pairs),
        sum(a > b for a, b in pairs),
    )


def in_short(cells: Sequence[Cell], epsilon: str = "0.1", c: int = 100) -> str:
    """One budget and one c: the best of every family of algorithms, on each dataset."""
    families = {
        "DPBook": ("DPBook",),
        "best SVT": ("1:1", "1:3", "1:c", "1:c^2/3"),
        "best ReTr": tuple(name for name in ALGORITHMS if name.startswith("ReTr")),
        "EM": ("EM",),
        "one-shot": ("one-shot",),
    }
    rows = []
    for name in dict.fromkeys(cell.dataset for cell in cells):
        here = {
            cell.algorithm: cell.error
            for cell in cells
            if (cell.dataset, cell.epsilon, cell.c) == (name, epsilon, c)
        }
        if here:
            rows.append([name, *(f"{min(here[one] for one in many):.3f}" for many in families.values())])
    return "\n".join(markdown([f"score error, ε {epsilon}, c {c}", *families], rows))


def page(cells: Sequence[Cell], repetitions: int, seconds: float) -> Page:
    """The verdict on one screen, how it was reached below it, every cell in the appendix."""
    told = [paragraph.strip() for paragraph in (__doc__ or "").split("\n\n")[2:]]
    datasets = list(dict.fromkeys(cell.dataset for cell in cells))
    lead = f"""**{verdict(cells)[1]}** Choosing directly is better than the sparse vector technique:
        Penstock's `one-shot` has a smaller error than the exponential mechanism (EM) in
        {_counted(cells, "one-shot", "EM")}, and EM than SVT with its optimal allocation, 1:c^2/3, in
        {_counted(cells, "EM", "1:c^2/3")}."""
    ahead = [
        f"{name} has a smaller error than {best} in {_counted(cells, name, best)}."
        for best in ("one-shot", "EM")
        for name in ALGORITHMS
        if name != best and name != "one-shot" and standing(cells, name, best)[0]
    ]
    parts = []
    for name in datasets:
        doc = (DATASETS[name].__doc__ or "").strip()
        parts += [f"### {name}", doc, overview(cells, name)]
    return Page(
        name="selection",
        title="Study: selecting the c best",
        asked="""Which algorithm finds the c highest scores with the least error at the same ε: the sparse
            vector technique (SVT) and its retraversal (ReTr), the exponential mechanism, or Penstock's
            default? And do the figures of Su's dissertation (chapter 5) come out again?""",
        found=[
            lead,
            in_short(cells),
            *(["Where it is the other way round:", listed(ahead)] if ahead else []),
        ],
        again=f"""`python studies/svt_selection.py --repetitions {repetitions} --write`, {seconds:.0f} seconds
            on one core; `--fast` makes the eight cells that the tests check.""",
        rests_on=f"""{repetitions} seeded runs a figure, the same on every machine; {len(datasets)} sets of
            scores: {", ".join(datasets)}. Published figures exist for Zipf only; of AOL and Kosarak only the
            heads can be had.""",
        details=["## How it was done", *told],
        tables=[
            "## Zipf beside the published figures",
            comparison(cells),
            "## All datasets: score error (false negative rate)",
            *parts,
        ],
    )


def _counted(cells: Sequence[Cell], one: str, other: str) -> str:
    below, equal, above = standing(cells, one, other)
    return f"{below} of {below + equal + above} cells ({equal} equal, {above} larger)"


def main() -> int:
    parser = argparse.ArgumentParser(description="Score error and false negatives of top-c selections.")
    parser.add_argument("--repetitions", type=int, default=100)
    parser.add_argument("--datasets", nargs="+", choices=list(DATASETS), default=list(DATASETS))
    parser.add_argument("--fast", action="store_true", help="the eight cells that the tests check")
    parser.add_argument("--write", action="store_true", help="write the pages in docs/studies")
    options = parser.parse_args()
    started = perf_counter()
    if options.fast:
        cells = [run("zipf", *cell, options.repetitions) for cell in FAST]
        print(comparison(cells))
    else:
        cells = []
        for name in options.datasets:
            try:
                size = _data(name)[1].size
            except MissingDataError as problem:
                print(f"{name} is left out. {problem}", file=sys.stderr)
                continue
            for epsilon in EPSILONS:
                for c in (c for c in COUNTS if c < size):
                    cells += [
                        run(name, epsilon, c, algorithm, options.repetitions) for algorithm in ALGORITHMS
                    ]
                    print(
                        f"{name}, epsilon {epsilon}, c {c}: {perf_counter() - started:.0f} s", file=sys.stderr
                    )
        made = page(cells, options.repetitions, perf_counter() - started)
        print(made.text(), made.appendix(), sep="\n")
        if options.write:
            made.write()
    good, words = verdict(cells)
    print(words)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
