"""How many clusters: Ray and Turi's index on synopses, and how fast clustering converges without noise.

    python studies/kmeans_validity.py            # about ten minutes on one core
    python studies/kmeans_validity.py --show     # what is there already
    python studies/kmeans_validity.py --fresh    # all of it again

Without noise the index is the least over thirty packed starts on the points themselves; with noise it is that
of the number of clusters that a release of the preset eugkm chose.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frame.clusters import ClusterData
from frame.data import data_of
from frame.store import RESULTS
from penstock.learn.clusters.baselines.privgene import PrivGeneKMeans
from penstock.learn.clusters.evaluation import nicv
from penstock.learn.clusters.lloyd import cluster, lloyd, measured, moved
from penstock.learn.clusters.method import KMeans
from penstock.learn.clusters.packing import packed_starts, uniform_starts
from penstock.learn.clusters.planning import round_error, synopsis_variance
from penstock.learn.clusters.rounds import noisy_round
from penstock.learn.clusters.synopsis import Cells, GridSynopsis, weighted
from penstock.learn.clusters.unit_box import UnitBox
from penstock.learn.search.breeding import POPULATION
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms import noise
from penstock.privacy.randomness.generator import Randomness

Reals = NDArray[np.float64]
FOUND = RESULTS / "kmeans_validity.json"
RANGES = {"s1": range(2, 17), "gowalla-visits": range(2, 7), "adult-num": range(2, 7)}
PUBLISHED = {
    "s1": {"15": 0.061424, "14": 0.092348, "13": 0.116655, "10": 0.15266},
    "gowalla-visits": {"5": 0.044348, "4": 0.055141, "3": 0.077007},
    "adult-num": {"2": 0.090091, "3": 0.436318, "6": 0.464136, "5": 0.471094},
}
PRIVATE = {  # what was published for the number of clusters that ours chose: k and index
    "s1": {
        "0.05": {"16": 0.105676, "15": 0.103682, "14": 0.087395},
        "0.1": {"7": 0.163604, "15": 0.156305, "6": 0.162932, "4": 0.172983},
        "0.5": {"14": 0.112746, "15": 0.084299, "16": 0.084636, "13": 0.124349},
        "1": {"14": 0.098129, "15": 0.067993},
        "2": {"15": 0.066126, "14": 0.09665},
    },
    "adult-num": {
        "0.05": {"2": 0.061897},
        "0.1": {"2": 0.059629},
        "0.5": {"2": 0.071696},
        "1": {"2": 0.062337},
        "2": {"2": 0.072643},
    },
}
BUDGETS = ("0.05", "0.1", "0.5", "1", "2")
STARTS, SYNOPSES, ROUNDS = 30, 5, 20
GENE_POINTS = 5000


def without_noise(points: Reals, k: int) -> float:
    """The least index over thirty starts on the points themselves."""
    cells = Cells.of(points, np.ones(len(points)))
    return min(each.validity for each in lloyd(cells, packed_starts(k, points.shape[1], STARTS, 0)))


def chosen(name: str, candidates: Sequence[int], epsilon: str) -> dict[str, Any]:
    """How often each number of clusters is chosen on a synopsis, and the mean index of each that is."""
    data: ClusterData = data_of(name)
    picks: Counter[str] = Counter()
    values: dict[str, list[float]] = {}
    for seed in range(SYNOPSES):
        method = KMeans(preset="eugkm", least_k=min(candidates), most_k=max(candidates))
        release = method.fit(data.sealed, Budget(epsilon, randomness=Randomness.seeded(seed)))
        assert release.synopsis is not None
        k = len(release.centres)
        starts = packed_starts(k, data.points.shape[1], STARTS, 0)
        found = cluster(weighted(release.synopsis, "signed"), starts)
        picks[str(k)] += 1
        values.setdefault(str(k), []).append(min(each.validity for each in found))
    return {"picks": dict(picks), "index": {k: fmean(each) for k, each in values.items()}}


def convergence(name: str, rounds: int = ROUNDS, most: int = GENE_POINTS) -> dict[str, list[float]]:
    """The mean NICV after every round: of Lloyd's algorithm from thirty starts, and of the best of a genetic
    algorithm's sets, both without noise."""
    data: ClusterData = data_of(name)
    points = data.points
    if len(points) > most:
        points = points[np.random.default_rng(0).choice(len(points), most, replace=False)]
    cells, d = Cells.of(points, np.ones(len(points))), points.shape[1]
    centres = packed_starts(data.k, d, STARTS, 0)
    steps = []
    for _ in range(rounds + 1):
        around = measured(cells, centres)
        steps.append(float(around.errors.mean()) / len(points))
        centres = moved(around.weights, around.sums, centres)
    breeder, rng = PrivGeneKMeans(k=data.k), np.random.default_rng(0)
    sets, bred = uniform_starts(data.k, d, POPULATION, 0), []
    for _ in range(rounds + 1):
        errors = measured(cells, sets).errors
        bred.append(float(errors.min()) / len(points))
        sets = breeder._children(sets[np.argsort(errors)[:10]], rng)
    best = nicv(points, data.best.centres)
    return {"Lloyd": steps, "genetic": bred, "best": [best]}


def models() -> dict[str, float]:
    """The error of a centre, as the models have it and as it is, on an even square of four clusters.

    The clusters are the quarters of the square, whose middles are known.
    """
    n, k, epsilon, times = 40_000, 4, "0.5", 60
    rng = np.random.default_rng(0)
    data = ClusterData("square", rng.uniform(-1, 1, (n, 2)), k)
    middles = np.array([(x, y) for x in (-0.5, 0.5) for y in (-0.5, 0.5)])
    cells = Cells.of(data.points, np.ones(n))
    around = measured(cells, middles[None])
    true = moved(around.weights, around.sums, middles[None])[0]
    box, grid, rounds = UnitBox.of(data.schema), [], []
    side = round((n * float(epsilon) / 10) ** 0.5)
    exact = data.sealed.histogram((side, side))
    for seed in range(times):
        one, two = (Budget(epsilon, randomness=Randomness.seeded(2 * seed + each)) for each in (0, 1))
        made = noisy_round(data.sealed, box, middles, one, split="equal", sparse="clip")
        rounds.append(float(((made.centres - true) ** 2).sum(axis=1).mean()))
        noisy = weighted(GridSynopsis((side, side), noise.counts(exact, pay=two), 0.0), "signed")
        found = measured(noisy, middles[None])
        grid.append(moved(found.weights, found.sums, middles[None])[0])
    spread = float(np.var(np.array(grid), axis=0, ddof=1).sum(axis=1).mean())
    return {
        "round, model": round_error(n, k, 2, float(epsilon)),
        "round, measured": fmean(rounds),
        "grid, model": synopsis_variance(n, k, 2, float(epsilon)),
        "grid, measured": spread,
    }


def main() -> int:
    known = (
        json.loads(FOUND.read_text(encoding="utf-8")) if FOUND.exists() and "--fresh" not in sys.argv else {}
    )

    def keep(key: str, work: Callable[[], Any]) -> None:
        """What is known already is not found out again."""
        if key in known or "--show" in sys.argv:
            return
        known[key] = work()
        FOUND.parent.mkdir(parents=True, exist_ok=True)
        FOUND.write_text(json.dumps(known, indent=1), encoding="utf-8")
        print(key, known[key], flush=True)

    keep("models", models)
    for name in ("s1", "even-5-3", "taxi"):
        keep(f"convergence|{name}", partial(convergence, name))
    for name, candidates in RANGES.items():
        keep(f"clean|{name}", partial(_clean, name, candidates))
        for epsilon in BUDGETS:
            keep(f"chosen|{name}|{epsilon}", partial(chosen, name, candidates, epsilon))
    print(json.dumps(known, indent=1))
    return 0


def _clean(name: str, candidates: Sequence[int]) -> dict[str, float]:
    data: ClusterData = data_of(name)
    return {str(k): without_noise(data.points, k) for k in candidates}


if __name__ == "__main__":
    sys.exit(main())
