"""The studies of bins and of ranges over the suite, in small."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import polars as pl
import pytest

import bins
import measure_bars
import suite_bars
from frame import families
from frame.data import coded, flat
from frame.numeric import Cut, Measures, Numeric, gauges, pairs, quantiles, ranges, sales
from frame.run import Results
from frame.suite import numbers
from penstock.kinds.table.confluence.method import Confluence
from penstock.kinds.table.independent import Independent
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.randomness.generator import Randomness
from penstock.schema import Relation


@pytest.fixture(scope="module")
def readings() -> Numeric:
    return gauges("readings", 1500, 1)


def test_the_records_themselves_have_no_error(readings: Numeric) -> None:
    same = Measures(readings.frame, readings)
    assert ranges(readings, same, 0) == 0
    assert pairs(readings, same, 0) == 0
    assert quantiles(readings, same, 0) < 1 / 1500


@pytest.mark.parametrize(("way", "most"), bins.CUTS)
def test_every_cut_keeps_to_its_number_of_bins(way: str, most: int) -> None:
    data = sales("some", 60, 1.0, 1)
    schema = Cut(Independent(), way, most).schema(data)
    for name in data.ranged:
        field = schema.field(name)
        assert field.bins is not None
        if way == "adaptive":
            assert (field.bins.adaptive, field.bins.most) == (True, most)
        else:
            assert 1 <= field.edges.count <= max(most, 64)


def test_finer_bins_tell_more_where_there_is_no_noise(readings: Numeric) -> None:
    coarse, fine = (Cut(Independent(), "round", most)(readings, "100", 1) for most in (4, 100))
    assert ranges(readings, fine, 0) < ranges(readings, coarse, 0)
    assert quantiles(readings, fine, 0) < quantiles(readings, coarse, 0)


def test_the_page_of_bins_says_what_came_out() -> None:
    study = bins.study()
    shown = bins.page(Results(study, {}, {}))
    assert "sixteen even bins" in shown.text()


def test_sums_means_quantiles_and_groups_are_told_with_the_truth_of_raw_values(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng = np.random.default_rng(4)
    place = rng.choice(["a", "b", "c"], 700)
    frame = pl.DataFrame({"place": place, "far": np.where(place == "a", 3.0, 40.0) + rng.random(700) * 70})
    data = coded("made", frame, [flat("place", ("a", "b", "c")), numbers("far", 0, 100, 10)])
    assert measure_bars.numeric(data) == ["far"]
    assert measure_bars.values_of(data, "far").max() == 100  # clamped, as the answers say
    monkeypatch.setattr(measure_bars, "table_of", lambda _: data)
    found = measure_bars.measured("made", "2", 0, questions=30)
    assert {each.measure for each in found} == set(measure_bars.MEASURES)
    assert {each.known for each in found} >= {"bar", "counted"}
    assert np.mean([each.covered for each in found]) > 0.8
    line = {"table": "survey 700", "epsilon": "1", "release": 0, "told": [asdict(each) for each in found]}
    estimated = {**line, "told": [{**line["told"][0], "known": "estimated"}]}  # type: ignore[index]
    page = measure_bars.page([line, estimated])
    assert "the noise in the number of records" in " ".join(page.text().split())
    assert "survey" in page.appendix()


def test_answers_to_the_suite_are_told_with_the_truth(monkeypatch: pytest.MonkeyPatch) -> None:
    data = families.tree("chain", 800, (5, 8, 4, 6), 0.5, 1, 3)
    made = Confluence().fit(data.table(Relation.ADD_REMOVE), Budget("1/2", randomness=Randomness.seeded(1)))
    rng = np.random.default_rng(2)
    found = [suite_bars.told(data, made, suite_bars.question(data, rng, 1 + n % 3)) for n in range(24)]
    known = [each for each in found if each is not None]
    assert len(known) == 24
    assert any(each.error is not None for each in known)
    assert any(each.low is not None and each.noise > 0 for each in known)
    assert sum(bool(each.covered) for each in known) > 12
    line = {
        "half": "choosing",
        "table": "chain 800",
        "epsilon": "1",
        "told": [asdict(each) for each in known],
    }
    lines = [line, {**line, "half": "confirming", "table": "tree"}]
    page = suite_bars.page(lines)
    assert "factor for 95 %" in page.text()
    assert "choosing, chain" in page.appendix()
    monkeypatch.setattr(suite_bars, "stored", lambda: lines)
    suite_bars.main(["--show", "--chosen"])
