"""The frame: resumable, repeatable, honest about agreement. No data files are needed."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from frame import Cell, MissingDataError, Reference, Results, Statement, Study, Summary, Verdict, load, run
from frame import data as datasets
from frame.command import narrowed
from frame.statements import count_of
from frame.store import Store
from frame.table import report
from frame.tabular import Fit, MeanDistance, Misclassified, Original, one_hot
from penstock.kinds.table.independent import Independent
from penstock.schema import Relation


@dataclass(frozen=True)
class Drawn:
    """A method whose outcome is a number that depends on the seed only."""

    factor: float = 1.0
    runs: list[tuple[str, str]] = field(default_factory=list, repr=False, compare=False)

    def __call__(self, dataset: Any, epsilon: str, seed: int) -> float:
        self.runs.append((dataset.name, epsilon))
        return self.factor * float(np.random.default_rng(seed).normal(float(epsilon), 0.1))


def itself(dataset: Any, outcome: float, seed: int) -> float:
    return outcome


def both(dataset: Any, outcome: float, seed: int) -> Mapping[str, float]:
    return {"twice": 2 * outcome, "half": outcome / 2}


def study(method: Drawn, **more: Any) -> Study:
    given: dict[str, Any] = {"metrics": {"value": itself, "also": both}, "repetitions": 4}
    return Study("probe", "A probe", ["made-up"], {"drawn": method}, ["1", "2"], **{**given, **more})


def test_finished_cells_are_not_run_again_and_more_repetitions_only_add(tmp_path: Path) -> None:
    method = Drawn()
    first = run(study(method), folder=tmp_path)
    assert len(method.runs) == 8
    again = run(study(method), folder=tmp_path)
    assert len(method.runs) == 8
    assert again.get("made-up", "drawn", "1", "value") == first.get("made-up", "drawn", "1", "value")
    run(study(method), folder=tmp_path, repetitions=6)
    assert len(method.runs) == 12


def test_results_do_not_depend_on_the_order_or_the_number_of_processes(tmp_path: Path) -> None:
    one = run(study(Drawn()), folder=tmp_path / "one")
    two = run(study(Drawn()), folder=tmp_path / "two", jobs=2)
    for epsilon in ("1", "2"):
        assert one.get("made-up", "drawn", epsilon, "also half") == two.get(
            "made-up", "drawn", epsilon, "also half"
        )


def test_a_mean_does_not_depend_on_the_order_of_its_runs() -> None:
    values = [0.1, 0.7, 1e-17, 0.3, 2.2]
    assert len({Summary.of(list(order)) for order in permutations(values)}) == 1


def test_a_line_cut_off_by_a_crash_is_computed_again(tmp_path: Path) -> None:
    method = Drawn()
    run(study(method), folder=tmp_path)
    path = Store(study(method), tmp_path).path
    path.write_bytes(path.read_bytes()[:-20])
    run(study(method), folder=tmp_path)
    assert len(method.runs) == 9
    lines = path.read_text().splitlines()
    assert sum(1 for line in lines if _whole(line)) == 8


def _whole(line: str) -> bool:
    try:
        return bool(json.loads(line))
    except ValueError:
        return False


def test_a_method_with_other_parameters_is_run_anew(tmp_path: Path) -> None:
    run(study(Drawn()), folder=tmp_path)
    other = Drawn(3.0)
    results = run(study(other), folder=tmp_path)
    assert len(other.runs) == 8
    assert results.mean("made-up", "drawn", "2", "value") == pytest.approx(6.0, abs=1.0)


def test_no_run_starts_after_the_time_is_over(tmp_path: Path) -> None:
    method = Drawn()
    results = run(study(method), folder=tmp_path, seconds=-1)
    assert method.runs == []
    assert results.runs() == (0, 0)
    assert math.isnan(results.mean("made-up", "drawn", "1", "value"))


def test_seeds_differ_between_all_cells_and_are_always_the_same() -> None:
    cells = list(study(Drawn()).cells(50))
    assert len({cell.seed("probe") for cell in cells}) == len(cells)
    assert Cell("nltcs", "F", "0.1", 0).seed("network") == 34209686273017


def test_methods_of_a_paired_study_get_the_same_seeds(tmp_path: Path) -> None:
    two: dict[str, Any] = {"methods": {"one": Drawn(1.0), "twice": Drawn(2.0)}, "paired": True}
    results = run(replace(study(Drawn()), **two), folder=tmp_path)
    assert results.mean("made-up", "twice", "1", "value") == 2 * results.mean("made-up", "one", "1", "value")
    assert len({replace(study(Drawn()), **two).seed(cell) for cell in study(Drawn()).cells()}) == 8


def test_a_method_with_a_new_name_keeps_its_figures(tmp_path: Path) -> None:
    named: dict[str, Any] = {"methods": {"river": Drawn()}, "formerly": {"river": "drawn"}}
    before = run(study(Drawn()), folder=tmp_path / "before")
    after = run(replace(study(Drawn()), **named), folder=tmp_path / "after")
    assert after.mean("made-up", "river", "1", "value") == before.mean("made-up", "drawn", "1", "value")


def test_cells_named_in_fewer_are_run_less_often() -> None:
    probe = study(Drawn(), repetitions=4, fewer={"made-up": 3, ("made-up", "2"): 1})
    often = [(cell.epsilon, cell.repetition) for cell in probe.cells()]
    assert often == [("1", 0), ("2", 0), ("1", 1), ("1", 2)]
    assert len(list(probe.cells(5))) == 10


def test_an_average_is_as_uncertain_as_if_figures_moved_together() -> None:
    found = {
        ("made-up", "drawn", "1", "a"): Summary(1.0, 0.2, 4),
        ("made-up", "drawn", "1", "b"): Summary(3.0, 0.4, 9),
    }
    results = Results(study(Drawn()), found, {})
    assert results.average(found) == Summary(2.0, pytest.approx(0.3), 4)
    assert results.average([*found, ("made-up", "drawn", "2", "a")]) is None


def test_agreement_counts_both_sides_errors_and_the_tolerance() -> None:
    probe = study(
        Drawn(),
        references=[
            Reference("made-up", "drawn", "1", "value", 1.2, 0.2, 20),
            Reference("made-up", "drawn", "2", "value", 1.2, 0.2, 20),
        ],
    )
    close = Summary(1.0, 0.2, 20)  # error .045 on both sides: room .19 + .06
    far = Summary(2.0, 0.2, 20)
    results = Results(
        probe, {("made-up", "drawn", "1", "value"): close, ("made-up", "drawn", "2", "value"): far}, {}
    )
    first, second = results.compared()
    assert first.agrees
    assert not second.agrees
    assert not second.better  # lower is better, and 2.0 is above 1.2


def test_report_says_what_holds_with_the_numbers(tmp_path: Path) -> None:
    def grows(results: Results) -> Verdict:
        low, high = (results.mean("made-up", "drawn", epsilon, "value") for epsilon in ("1", "2"))
        return Verdict(low < high, f"{low:.2f} < {high:.2f}")

    probe = study(
        Drawn(),
        statements=[
            Statement("1", "It grows.", grows),
            Statement("2", "It is unknown.", lambda _: Verdict(None, "")),
        ],
        references=[Reference("made-up", "drawn", "1", "value", 1.0)],
    )
    text = report(run(probe, folder=tmp_path))
    assert "Statement 1: It grows. **holds** (" in text
    assert "Statement 2: It is unknown. **not measured**." in text
    assert "1 of 1 figures agree" in text
    assert "| ε     |" in text


def test_counting_cases_leaves_out_what_was_not_measured() -> None:
    assert count_of([("a", 1.0, 2.0), ("b", math.nan, 1.0)]).holds
    assert not count_of([("a", 1.0, 2.0), ("b", 3.0, 1.0)]).holds
    assert count_of([("a", 1.0, 2.0), ("b", 3.0, 1.0)], needed=0.5).holds
    assert count_of([("a", math.nan, 2.0), ("b", None, 1.0)]).holds is None


def test_a_case_that_goes_the_other_way_within_noise_does_not_refute() -> None:
    below, above = Summary(1.0, 0.3, 9), Summary(0.9, 0.3, 9)  # two standard errors of the gap: .28
    verdict = count_of([("a", below, above)])
    assert verdict.holds
    assert "0 of 1 cases, 1 more within noise" in verdict.numbers
    assert not count_of([("a", Summary(1.0, 0.1, 9), Summary(0.9, 0.1, 9))]).holds


def test_a_missing_file_is_one_sentence_with_a_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENSTOCK_DATA", str(tmp_path))
    datasets.data_of.cache_clear()
    with pytest.raises(MissingDataError, match=r"nltcs/nltcs.csv.gz is not in .* Set PENSTOCK_DATA"):
        load("nltcs")


def test_other_data_are_not_taken_for_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(datasets.LOADERS, "points", lambda: np.zeros((3, 2)))
    assert datasets.data_of("points").shape == (3, 2)
    with pytest.raises(TypeError, match="'points' is no table"):
        load("points")
    datasets.data_of.cache_clear()


def test_a_dataset_that_the_study_does_not_have_is_refused() -> None:
    with pytest.raises(SystemExit, match="no dataset 'big'; it has made-up"):
        narrowed(study(Drawn()), ["big"], None)


def test_a_study_can_be_run_with_some_of_its_methods() -> None:
    whole = study(Drawn())
    (first, *_) = whole.methods
    assert list(narrowed(whole, None, None, [first]).methods) == [first]
    with pytest.raises(SystemExit, match="no method 'best'"):
        narrowed(whole, None, None, ["best"])


def test_splits_are_disjoint_and_the_same_every_time() -> None:
    whole, train, test = load("made-up"), load("made-up train"), load("made-up test")
    assert (train.rows, test.rows) == (1600, 400)
    one = np.bincount(train.codes["a"], minlength=4) + np.bincount(test.codes["a"], minlength=4)
    assert one.tolist() == np.bincount(whole.codes["a"]).tolist()


def test_the_original_is_at_distance_zero_and_predicts_its_copy() -> None:
    train = load("made-up train")
    outcome = Original()(train, "1", 0)
    assert MeanDistance(2)(train, outcome, 0) == 0.0
    errors = Misclassified()(train, outcome, 0)
    assert errors == {"copy": 0.0}
    assert Misclassified()(load("made-up"), Original()(load("made-up"), "1", 0), 0) is None


def test_independent_columns_lose_the_copy() -> None:
    train = load("made-up train")
    outcome = Fit(Independent())(train, "1", 3)
    distance = MeanDistance(2)(train, outcome, 0)
    assert distance is not None
    assert (
        0.1 < distance < 0.3
    )  # a,b are half apart: 1/2 for one of three pairs, sampling noise on the others
    errors = Misclassified()(train, outcome, 0)
    assert errors is not None
    assert errors["copy"] > 0.2
    assert train.table(Relation.ADD_REMOVE).public_size is None
    assert train.table().public_size == 1600


def test_one_hot_features_name_each_code_once() -> None:
    whole = load("made-up")
    features = one_hot(whole.codes, whole.sizes, ["a", "c"])
    assert features.shape == (2000, 6)
    assert (features.sum(axis=1) == 2).all()
    assert features.sum(axis=0).tolist() == [
        [
            float((whole.codes[name] == code).sum())
            for name, size in (("a", 4), ("c", 2))
            for code in range(size)
        ]
    ]
