"""What a release tells about the error of its own model."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from penstock import Schema, load, release
from penstock.kinds.table.counted import CountedTable, identity
from penstock.kinds.table.model_error import FACTOR, MOST_COLUMNS, Strays, strays
from penstock.kinds.table.network.release import NetworkRelease
from penstock.schema import parse

SIZES = {"a": 2, "b": 3, "c": 2}
SCHEMA = """
fields:
  - {name: region, constraints: {enum: [north, south, east, west]}}
  - {name: age, type: integer, constraints: {minimum: 0, maximum: 99}, bins: {width: 20}}
  - {name: job, constraints: {enum: [none, clerk, cook]}}
  - {name: smoker, type: boolean}
"""


def people(rows: int = 4000) -> pl.DataFrame:
    rng = np.random.default_rng(3)
    age = rng.integers(0, 100, rows)
    job = np.where(age < 20, "none", rng.choice(["none", "clerk", "cook"], rows, p=[0.3, 0.5, 0.2]))
    region = rng.choice(["north", "south", "east", "west"], rows, p=[0.4, 0.3, 0.2, 0.1])
    smoker = rng.random(rows) < np.where(job == "cook", 0.6, 0.2)
    return pl.DataFrame({"region": region, "age": age, "job": job, "smoker": smoker})


@cache
def made(epsilon: str, method: str = "confluence", seed: int = 1) -> NetworkRelease:
    found = release(people(), Schema.from_yaml(SCHEMA), epsilon=epsilon, method=method, seed=seed)
    assert isinstance(found, NetworkRelease)
    return found


def test_what_columns_tell_alone_and_only_together_are_told_apart() -> None:
    """Of two fair coins, both heads: half of the variance 3/16 is what they tell alone, a third together."""
    joint = np.full((2, 2), 0.25)
    both = np.array([[1.0, 0.0], [0.0, 0.0]])
    sizes = identity({"a": 2, "c": 2}, "ac")
    alone = [CountedTable((name,), (sizes[0],), np.array([50.0, 50.0]), 4.0) for name in "ac"]
    found = strays(alone, ("a", "c"), joint, both, 100.0)
    assert found is not None
    assert found.unseen == pytest.approx(100 * np.sqrt(1 / 16))
    # each column's part is +-1/4 on its two codes, told by two counts with noise of deviation 4
    assert found.noise == pytest.approx(np.sqrt(2 * 4**2 * 2 / 16))
    assert found.apart == 0
    pair = CountedTable(("a", "c"), sizes, np.full((2, 2), 25.0), 4.0)
    together = strays([*alone, pair], ("a", "c"), joint, both, 100.0)
    assert together is not None
    assert together.unseen == pytest.approx(0.0, abs=1e-6)
    assert together.noise > 0


def test_a_model_that_disagrees_with_its_counts_is_told_by_how_much() -> None:
    joint = np.full((2, 2), 0.25)
    both = np.array([[1.0, 0.0], [0.0, 0.0]])
    counts = np.array([[50.0, 0.0], [0.0, 50.0]])
    pair = CountedTable(("a", "c"), identity({"a": 2, "c": 2}, "ac"), counts, 0.5)
    found = strays([pair], ("a", "c"), joint, both, 100.0)
    assert found is not None
    assert found.apart == pytest.approx(25.0, rel=0.01)
    assert found.half >= found.apart


def test_a_table_of_coarser_groups_sees_what_its_groups_tell() -> None:
    """Of four codes of which it sees two halves: a question about one code is seen in part."""
    joint = np.full((4, 2), 1 / 8)
    one = np.zeros((4, 2))
    one[0, 0] = 1.0
    fine = [
        CountedTable(("a",), (np.arange(4),), np.full(4, 25.0), 1.0),
        CountedTable(("c",), (np.arange(2),), np.full(2, 50.0), 1.0),
    ]
    coarse = CountedTable(("a", "c"), (np.array([0, 0, 1, 1]), np.arange(2)), np.full((2, 2), 25.0), 1.0)
    without, with_it = (strays(tables, ("a", "c"), joint, one, 100.0) for tables in (fine, [*fine, coarse]))
    assert without is not None
    assert with_it is not None
    assert 0 < with_it.unseen < without.unseen
    # the pair's own part has size 3/16 * 1/4; its means over halves of the codes keep a third of it
    assert (with_it.unseen / without.unseen) ** 2 == pytest.approx(2 / 3)


def test_nothing_is_estimated_of_very_many_columns_or_of_no_records() -> None:
    names = [f"c{number}" for number in range(MOST_COLUMNS + 1)]
    joint = np.full((1,) * len(names), 1.0)
    assert strays([], names, joint, joint, 10.0) is None
    assert strays([], ["a"], np.array([0.5, 0.5]), np.array([1.0, 0.0]), 0.0) is None


def test_an_estimate_is_never_narrower_than_a_record_or_than_its_noise() -> None:
    assert Strays(0.0, 0.0, 0.0).half == 1.0
    assert Strays(10.0, 0.0, 0.0).half == pytest.approx(FACTOR * 10.0)
    assert Strays(10.0, 500.0, 3.0).half < Strays(10.0, 1000.0, 3.0).half


@pytest.mark.usefixtures("in_views")
def test_what_rests_on_the_model_has_an_estimated_range_and_says_that_it_is_no_promise() -> None:
    answer = made("1/4").query("region = north and age < 40 and smoker = true")
    assert answer.rests_on == "model"
    assert answer.range is not None
    assert answer.range.known == "estimated"
    assert answer.range.low < answer.value < answer.range.high
    assert "not guaranteed" in str(answer)
    assert any("none of them is guaranteed" in caveat for caveat in answer.caveats)


@pytest.mark.usefixtures("in_views")
def test_estimated_ranges_hold_the_truth_about_as_often_as_the_study_says() -> None:
    """Of 40 independent ranges that cover 85 % each, fewer than 21 cover with probability 2e-7."""
    asked = parse("region in (north, east) and age < 60 and smoker = true", Schema.from_yaml(SCHEMA))
    truth = asked.holds(people()).sum()
    covered = 0
    for seed in range(40):
        answer = made("1/4", seed=seed).query(asked.text)
        assert answer.error is not None or answer.range is not None
        low, high = (
            (answer.value - answer.error, answer.value + answer.error)
            if answer.range is None and answer.error is not None
            else (answer.range or (0.0, 0.0, ""))[:2]
        )
        covered += bool(low <= truth <= high)
    assert covered >= 21


def test_a_question_that_cuts_through_a_bin_lies_between_two_counted_ones() -> None:
    found = made("1")
    answer = found.query("age < 33")
    inner, outer = found.query("age < 20"), found.query("age < 40")
    assert answer.rests_on == "spread evenly"
    assert answer.range is not None
    assert inner.error is not None
    assert outer.error is not None
    assert answer.range == (inner.value - inner.error, outer.value + outer.error, "counted")
    inside = found.query("age = 21..22").range
    assert inside is not None
    assert inside.low == 0
    assert float((people()["age"] < 33).sum()) == pytest.approx(
        answer.value, abs=answer.range.high - inner.value
    )


def test_a_method_whose_models_nobody_studied_says_that_none_is_known() -> None:
    answer = made("1/4", "privbayes").query("region = north and age < 40 and job = cook and smoker = true")
    assert (answer.rests_on, answer.range) == ("model", None)
    assert "error is not known" in answer.caveats[0]
    assert "no error bar" in str(answer)
    assert any("no range is told" in limit for limit in made("1/4", "privbayes").limits())
    assert any("not guaranteed" in limit for limit in made("1/4").limits())


def test_a_release_tells_the_same_range_once_it_is_loaded(tmp_path: Path) -> None:
    question = "region = north and age < 40 and smoker = true"
    made("1/4").save(tmp_path / "out")
    assert load(tmp_path / "out").query(question) == made("1/4").query(question)
