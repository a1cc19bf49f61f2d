from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import polars as pl
import pytest
from pydantic import BaseModel
from tests.releases.tiny import tiny

from penstock import catalogue
from penstock.errors import QueryError, ReleaseError, UsageError
from penstock.releases import Answer, Model
from penstock.releases.loading import find
from penstock.releases.published import Published


def test_an_answer_reads_as_a_number_with_its_error() -> None:
    assert str(Answer(1873.2, 42.0, "records", "counted", covers=0.95)) == "1,873 ± 42 records (counted)"
    few = str(Answer(12, 1.0, "records", "counted", covers=0.982))
    assert few == "12 ± 1 records (counted: the bar covers 98\u00a0%)"
    widest = str(Answer(12, 40.0, "triangles", "counted"))
    assert widest == "12 ± 40 triangles (counted: the bar covers at least 95\u00a0%)"
    assert str(Answer(0.0, 0.0, "records", "declared")) == "0 ± 0 records (declared)"
    assert str(Answer(0.0123456)) == "0.0123 (model: no error bar)"
    assert float(Answer(3.5)) == 3.5
    assert Answer(1.0, None, "x", "model", ("Mind this.",)).to_dict() == {
        "value": 1.0,
        "error": None,
        "covers": None,
        "low": None,
        "high": None,
        "range": None,
        "text": "x",
        "rests_on": "model",
        "caveats": ["Mind this."],
    }
    assert "<b>" not in Answer(1, 2, "<b>", "counted", ("<b>",))._repr_html_()


@pytest.mark.parametrize("basis", ["spread evenly", "model"])
def test_what_rests_on_an_assumption_has_no_error_bar(basis: Any) -> None:
    with pytest.raises(ValueError, match="known error"):
        Answer(1.0, 2.0, "records", basis)
    with pytest.raises(ValueError, match="rests on one of"):
        Answer(1.0, None, "records", "guessed")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="no error bar"):
        Answer(1.0, None, "records", basis, covers=0.95)


@pytest.mark.parametrize("n", [-1, 1.5, "7", True, 10**12])
def test_the_number_of_rows_must_make_sense(n: object) -> None:
    with pytest.raises(UsageError, match="number of rows"):
        tiny().sample(n)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", [-1, 1.5, "7", False])
def test_the_seed_must_make_sense(seed: object) -> None:
    with pytest.raises(UsageError, match="seed"):
        tiny().sample(1, seed=seed)  # type: ignore[arg-type]


def test_a_sample_has_as_many_rows_as_asked_and_the_seed_repeats_it() -> None:
    release = tiny()
    assert release.sample(0).height == 0
    assert release.sample(np.int64(5)).height == 5  # type: ignore[arg-type]
    assert release.sample().height == release.size == 1000
    assert release.sample(20, seed=1).equals(release.sample(20, seed=1))
    assert not release.sample(200).equals(release.sample(200))  # equal with probability below 1e-100


def test_an_empty_query_is_refused() -> None:
    with pytest.raises(QueryError, match="empty"):
        tiny().query("  ")


def test_a_release_prints_as_one_line_and_shows_as_a_card() -> None:
    release = tiny(epsilon="1/3")
    assert repr(release) == (
        "Tiny(tiny, epsilon 1/3, age, sex, workclass, education, hours, interview, …, not publishable)"
    )
    card = tiny(schema="fields: [{name: '<b>x</b>', constraints: {enum: [a, b]}}]")._repr_html_()
    assert "&lt;b&gt;x" in card
    assert "<b>x" not in card
    assert "fixed seed" in card


def test_a_summary_is_plain_json() -> None:
    import json

    summary = tiny().summary()
    assert json.loads(json.dumps(summary)) == summary
    assert summary["epsilon"] == "1"
    assert summary["publishable"] is False
    assert (summary["kind"], summary["answer"]) == ("table", "synthetic data")


class Shape(BaseModel):
    total: int
    weights: list[float]


def test_a_model_is_read_strictly() -> None:
    assert Model({"total": 3, "weights": [1.0]}).read(Shape).total == 3
    for wrong in ({"total": "3", "weights": []}, {"total": 3.0, "weights": []}, {"weights": []}):
        with pytest.raises(ReleaseError, match=r"model\.json.*total"):
            Model(wrong).read(Shape)


def test_a_table_is_read_strictly() -> None:
    model = Model({}, {"t": pl.DataFrame({"a": [1, 2], "b": [0.5, 1.5]})})
    wanted = {"a": pl.Int64, "b": pl.Float64}
    assert model.table("t", wanted, rows=2).height == 2
    with pytest.raises(ReleaseError, match="no model table 'u'"):
        model.table("u", wanted)
    with pytest.raises(ReleaseError, match="where 3 were expected"):
        model.table("t", wanted, rows=3)
    with pytest.raises(ReleaseError, match="were expected"):
        model.table("t", {"a": pl.Int64})
    for bad, words in ((None, "missing values"), (float("inf"), "finite"), (float("nan"), "finite")):
        broken = Model({}, {"t": pl.DataFrame({"a": [1], "b": [bad]}, schema=wanted)})
        with pytest.raises(ReleaseError, match=words):
            broken.table("t", wanted)


def test_every_registered_form_is_a_class_that_knows_its_form() -> None:
    for form in catalogue.forms():
        found = find(form)
        assert found.form == form
        assert set(found.kinds) <= {info.name for info in catalogue.kinds()}
        assert found.kinds
        assert found.answer in catalogue.ANSWERS


def test_what_can_be_sampled_is_what_the_catalogue_says_and_nothing_else_is() -> None:
    for form in catalogue.forms():
        found = find(form)
        draws = found.draw is not Published.draw
        assert draws == catalogue.ANSWERS[found.answer].sampled, form


def test_importing_the_room_does_not_load_what_only_reports_need() -> None:
    heavy = "plotly", "pyarrow", "jinja2", "pandas"
    code = f"import sys, penstock.releases; print([m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
