"""The manners of a notebook: the tutorial runs, objects show themselves, schemas are edited, pandas fits."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import penstock
from penstock import Schema
from penstock.demo import survey, survey_schema
from penstock.errors import DataError, SchemaError, UsageError

TUTORIAL = Path(__file__).parents[1] / "docs" / "guide" / "tutorial.ipynb"


def test_the_tutorial_runs_from_its_first_cell_to_its_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Cell after cell in one namespace; what a cell ends with is shown as a notebook shows it."""
    monkeypatch.chdir(tmp_path)
    cells = json.loads(TUTORIAL.read_text(encoding="utf-8"))["cells"]
    names: dict[str, Any] = {}
    shown = 0
    for cell in cells:
        if cell["cell_type"] != "code":
            continue
        assert cell["outputs"] == []
        *before, last = "".join(cell["source"]).strip().split("\n")
        try:
            value = compile(last, "cell", "eval")
        except SyntaxError:
            exec("\n".join([*before, last]), names)
            continue
        exec("\n".join(before), names)
        assert "<" in eval(value, names)._repr_html_()
        shown += 1
    assert shown >= 8
    assert (tmp_path / "people.schema.yaml").exists()


@pytest.mark.parametrize("name", ["draft", "release", "select", "evaluate", "load", "explain"])
def test_help_shows_every_argument(name: str) -> None:
    parameters = inspect.signature(getattr(penstock, name)).parameters.values()
    kinds = {each.kind for each in parameters}
    assert not kinds & {inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL}
    assert inspect.getdoc(getattr(penstock, name))


def test_releases_answers_receipts_schemas_and_evaluations_show_themselves() -> None:
    made = penstock.release(
        survey(200), Schema.from_yaml(survey_schema()), epsilon=1, method="independent", seed=1
    )
    shown = [
        made,
        made.receipt,
        made.schema,
        made.query("age < 40"),
        made.mean("age"),
        made.sql("select 1 from release"),
    ]
    assert all("<" in each._repr_html_() for each in shown)
    assert "epsilon" in made.receipt._repr_html_()
    odd = made.schema.with_field("<b>", type="boolean")
    assert "<b>" not in odd._repr_html_()


def test_a_draft_of_users_names_their_column() -> None:
    frame = pd.DataFrame({"who": [1, 1, 2], "age": [30, 31, 50]})
    drafted = penstock.draft(frame, user="who", at_most=2)
    assert (drafted.unit.protects, drafted.unit.column, drafted.unit.at_most) == ("user", "who", 2)
    assert drafted.names == ("age",)
    assert "Left out: 'who' identifies people." in drafted.to_yaml()
    assert penstock.draft(frame, user="who").unit.at_most == 1
    with pytest.raises(DataError, match="no such column"):
        penstock.draft(frame, user="whom")
    with pytest.raises(UsageError, match="leave none"):
        penstock.draft(frame, user="who", at_most=0)
    for wrong in ({"at_most": 2}, {"user": "who", "unit": drafted.unit}):
        with pytest.raises(UsageError, match="column of users"):
            penstock.draft(frame, **wrong)


def test_a_field_is_changed_added_and_removed_and_checked_anew() -> None:
    schema = Schema.from_yaml(survey_schema())
    wider = schema.with_field("age", maximum=120)
    assert (wider.field("age").domain, wider.field("age").outside) == ("16..120", "clamp")
    assert wider.with_field("age", maximum=95) == schema
    more = schema.with_field("pets", type="integer", enum=[0, 1, 2], categories_ordered=True)
    assert more.names[-1] == "pets"
    assert more.field("pets").categories_ordered
    assert more.without_field("pets") == schema
    aimed = schema.with_facts(target="smoker", unit={"protects": "record", "review": True})
    assert (aimed.target, aimed.to_review()) == ("smoker", ["unit"])
    assert aimed.with_facts(target=None, unit={"protects": "record"}) == schema
    with pytest.raises(SchemaError, match="age"):
        schema.with_field("age", minimum=200)
    with pytest.raises(SchemaError, match="binz"):
        schema.with_field("age", binz=3)
    with pytest.raises(SchemaError, match="did you mean 'age'"):
        schema.without_field("agee")


def test_a_schema_that_is_there_is_not_overwritten_unless_told(tmp_path: Path) -> None:
    schema, place = Schema.from_yaml(survey_schema()), tmp_path / "s.yaml"
    schema.save(place)
    before = place.read_text()
    with pytest.raises(SchemaError, match="exists already"):
        schema.without_field("age").save(place)
    assert place.read_text() == before
    schema.without_field("age").save(place, overwrite=True)
    assert "age" not in Schema.load(place).names


def test_pandas_goes_in_and_comes_out() -> None:
    frame = survey(300).to_pandas()
    made = penstock.release(frame, Schema.from_yaml(survey_schema()), epsilon=1, method="independent", seed=1)
    out = made.sample(50, seed=1).to_pandas()
    assert isinstance(out, pd.DataFrame)
    assert list(out.columns) == list(frame.columns)
    assert out["age"].dtype.kind == "i"
    again = penstock.release(out, made.schema, epsilon=1, method="independent", seed=1)
    assert again.size > 0
    assert isinstance(made.count(by="sex").to_pandas(), pd.DataFrame)
