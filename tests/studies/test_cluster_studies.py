"""The studies of clusters: their data, the published values that need no noise, and what the page says."""

from __future__ import annotations

from statistics import fmean
from typing import Any

import numpy as np
import pytest

import kmeans_all
from frame import MissingDataError, Results
from frame.clusters import Parts, Synthetic, scaled
from frame.data import data_of
from kmeans_all import page
from kmeans_race import COLUMNS
from kmeans_validity import convergence, models
from penstock.learn.clusters.baselines.gupt import GuptKMeans
from penstock.learn.clusters.baselines.privgene import PrivGeneKMeans
from penstock.learn.clusters.evaluation import best_without_noise, nicv
from penstock.learn.clusters.lloyd import lloyd
from penstock.learn.clusters.method import KMeans
from penstock.learn.clusters.packing import packed_starts
from penstock.learn.clusters.synopsis import Cells, Signs, weighted
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.randomness.generator import Randomness


def loaded(name: str) -> Any:
    try:
        return data_of(name)
    except MissingDataError as missing:
        pytest.skip(str(missing))


def test_s1_has_its_published_error_and_index_without_noise() -> None:
    data = loaded("s1")
    assert data.points.shape == (5000, 2)
    found = lloyd(Cells.of(data.points, np.ones(5000)), packed_starts(15, 2, 30, 0))
    best = min(found, key=lambda each: each.error)
    assert best.nicv == pytest.approx(0.00822959, abs=1e-6)
    assert min(each.validity for each in found) == pytest.approx(0.061424, abs=1e-6)


@pytest.mark.parametrize(("k", "index"), [(14, 0.092348), (13, 0.116655)])
def test_s1_with_fewer_clusters_has_its_published_index(k: int, index: float) -> None:
    """The least over thirty starts, which is not that of the least error: with 14 clusters that is 0.0936."""
    data = loaded("s1")
    found = lloyd(Cells.of(data.points, np.ones(5000)), packed_starts(k, 2, 60, 0))
    assert min(each.validity for each in found) == pytest.approx(index, abs=2e-6)


def test_the_numeric_columns_of_adult_have_the_published_shape_and_error() -> None:
    """EUGkM with the grid of four cells an axis: between 0.33 and 0.41 at epsilon 0.05, in the mean."""
    data = loaded("adult-num")
    assert data.points.shape == (48_842, 6)
    assert data.k == 5
    assert np.abs(data.points).max() == 1
    errors = [
        nicv(data.points, KMeans(k=5, preset="eugkm", draw=seed).fit(data.sealed, paid("1/20", seed)).centres)
        for seed in range(3)
    ]
    assert 0.33 <= fmean(errors) <= 0.41


def paid(epsilon: str, seed: int) -> Budget:
    return Budget(epsilon, randomness=Randomness.seeded(seed))


@pytest.mark.parametrize("signs", ["signed", "non-negative"])
def test_lloyd_on_noisy_counts_of_s1_ends_from_every_start(signs: Signs) -> None:
    """Twenty of thirty starts would go on for ever at epsilon 0.05, if nothing stopped them."""
    data = loaded("s1")
    release = KMeans(k=15, preset="eugkm", signs=signs).fit(data.sealed, paid("1/20", 1))
    assert release.centres.shape == (15, 2)
    assert release.synopsis is not None
    cells = weighted(release.synopsis, signs)
    assert len(cells) == 25
    assert (np.asarray(cells.weights) < 0).any() == (signs == "signed")
    assert nicv(data.points, release.centres) < 0.06


def test_on_s1_gkm_is_far_worse_than_a_grid_and_pgkm_worse_than_improved_rounds() -> None:
    """At epsilon 1: 0.3 against 0.008, and 0.07 against 0.02; three runs, two of the slow one."""
    data = loaded("s1")

    def error(method: Any, runs: int = 3) -> float:
        return fmean(
            nicv(data.points, method.fit(data.sealed, paid("1", run)).centres) for run in range(runs)
        )

    grid = error(KMeans(k=15, preset="eugkm"))
    rounds = error(KMeans(k=15, preset="dplloyd-impr"))
    assert error(GuptKMeans(k=15)) > 5 * rounds > 5 * grid
    assert error(PrivGeneKMeans(k=15), runs=1) > 1.5 * rounds


def test_made_up_clusters_have_sizes_as_published_and_lie_apart() -> None:
    made = Synthetic(4, 3)()
    assert 10_000 <= len(made.points) <= 10_100
    assert np.abs(made.points).max() == 1
    best = best_without_noise(made.points, 4, starts=9)
    assert np.sort(best.weights / len(made.points)) == pytest.approx([0.1, 0.2, 0.3, 0.4], abs=0.03)
    even = Synthetic(3, 2, even=True, n=3000)()
    assert np.sort(best_without_noise(even.points, 3, starts=6).weights) == pytest.approx([1000] * 3, rel=0.1)


def test_columns_are_scaled_to_the_cube() -> None:
    assert scaled(np.array([[0.0, 5.0], [10.0, 6.0]])).tolist() == [[-1, -1], [1, 1]]


def test_a_round_after_a_grid_is_part_of_the_budget() -> None:
    data = Synthetic(3, 2, even=True, n=3000)()
    for method in (Parts(), Parts(theta=20), Parts(share="1/2")):
        found = method(data, "2", 1)
        assert nicv(data.points, found.centres) < 2 * nicv(data.points, data.best.centres)


def test_the_models_of_the_error_are_about_right() -> None:
    """Means of sixty runs, whose standard errors are below a tenth; the study asks for a fifth."""
    found = models()
    assert found["round, measured"] == pytest.approx(found["round, model"], rel=0.5)
    assert found["grid, measured"] == pytest.approx(found["grid, model"], rel=0.5)


def test_lloyd_converges_and_a_genetic_algorithm_more_slowly() -> None:
    curve = convergence("even-5-3", 4, 300)
    assert curve["Lloyd"] == sorted(curve["Lloyd"], reverse=True)
    assert curve["Lloyd"][3] < curve["genetic"][3]


def race(ours: float) -> dict[str, Any]:
    found: dict[str, Any] = {"without noise": 0.05, "runs": 2, "versions": {"diffprivlib": "0"}}
    for epsilon in ("0.1", "1"):
        found |= {f"Penstock|{epsilon}": [ours] * 2, f"diffprivlib|{epsilon}": [0.09] * 2}
        found |= {f"Penstock seconds|{epsilon}": 1.0, f"diffprivlib seconds|{epsilon}": 1.0}
    taken = {"opening": 1.0, "grown": 10 * ours, "hybrid": 1.0, "scikit-learn": 0.65}
    speed: dict[str, float] = {"points": 10, **taken}
    for columns in COLUMNS[1:]:
        speed |= {f"{name}|{columns}": seconds for name, seconds in taken.items()}
    scale = {"points": 10, "file MiB": 1.0}
    for preset in ("grown", "hybrid", "dplloyd"):
        facts = {"cpu": 1.0, "peak MiB": 40_000 * ours, "rows of an answer": 4, "NICV": 0.1}
        scale |= {f"{preset}|{name}": value for name, value in facts.items()}
    return {"race": found, "speed": speed, "scale": scale}


def test_statements_turn_with_the_numbers() -> None:
    good, bad = (
        {one.number: one.verdict.holds for one in kmeans_all._of_race(race(x))} for x in (0.06, 0.08)
    )
    assert good == {"A10": True, "A11": True, "A12": True}
    assert bad == {"A10": False, "A11": False, "A12": False}


def test_the_page_can_be_written_before_and_after_anything_is_measured() -> None:
    from importlib import import_module

    studies = [Results(import_module(name).study(), {}, {}) for name in kmeans_all.STUDIES]
    empty = page(studies, {}, {}).text()
    assert "could not be measured" in empty
    assert "Beside diffprivlib" not in empty
    known = {"clean|s1": {"15": 0.061424, "14": 0.0923, "13": 0.1167}}
    known |= {f"chosen|s1|{each}": {"picks": {"15": 5}, "index": {"15": 0.068}} for each in ("0.5", "1", "2")}
    full = page(studies, known, race(0.06))
    assert "15 (100%) 0.0680 [0.0661]" in full.text()
    assert "scikit-learn's `KMeans(n_init=1)`" in full.text()
    assert "0.061424" in full.appendix()
