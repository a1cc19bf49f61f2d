"""SQL on a release says what the query language says, and what a large sample says within its error."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import Schema, release
from penstock.demo import survey, survey_schema
from penstock.releases import Answer
from penstock.releases.sql import Statement
from penstock.schema import parse

ODD = """
fields:
  - {name: order, type: integer, constraints: {minimum: -20, maximum: 59}, bins: {width: 8}, missing: value}
  - {name: home town, constraints: {enum: [York, "O'Neill", 'say "hi"', select]}, missing: value}
  - {name: 'the "group"', type: boolean, missing: value}
  - {name: Größe, type: number, constraints: {minimum: 0, maximum: 2}, decimals: 2, bins: {count: 5}}
  - {name: level, type: integer, constraints: {enum: [1, 5, 9]}}
  - {name: at, type: datetime, bins: {edges: [2020-01-01, 2020-01-02, 2020-01-04T23:59:59]}}
"""


def odd_rows(rows: int = 3000) -> pl.DataFrame:
    """Columns with blanks, quotes, reserved words and capitals, and a missing value in ten."""
    rng = np.random.default_rng(3)
    order = rng.integers(-20, 60, rows)
    frame = pl.DataFrame(
        {
            "order": order,
            "home town": rng.choice(["York", "O'Neill", 'say "hi"', "select"], rows, p=[0.4, 0.3, 0.2, 0.1]),
            'the "group"': order + rng.normal(0, 20, rows) > 10,
            "Größe": rng.beta(2, 3, rows) * 2,
            "level": rng.choice([1, 5, 9], rows),
            "at": pl.Series(
                np.datetime64("2020-01-01T00:00:00", "ms") + 1000 * rng.integers(0, 4 * 86400, rows)
            ),
        }
    )
    gone = [pl.Series(rng.random(rows) < 0.1) for _ in range(3)]
    names = ("order", "home town", 'the "group"')
    return frame.with_columns(
        pl.when(~lost).then(pl.col(name)).alias(name) for name, lost in zip(names, gone, strict=True)
    )


@cache
def released(which: str) -> Any:
    if which == "odd":
        return release(odd_rows(), Schema.from_yaml(ODD), epsilon=2, seed=5)
    return release(survey(3000), Schema.from_yaml(survey_schema()), epsilon=1, seed=1)


@cache
def drawn(which: str) -> pl.DataFrame:
    return released(which).draw(30_000, np.random.default_rng(7))


COMPARED = {
    "survey": (
        "income",
        [
            ("age > 60", "age > 60"),
            ("not (age > 60)", "age <= 60"),
            ("age not between 31 and 47", "age not between 31 and 47"),
            ("smoker and district in ('Seaby')", "smoker = true and district in (Seaby)"),
            ("income is null", "income is missing"),
            ("not (income is null or sex = 'man')", "income is not missing and sex != man"),
            ("30 <= age and income < 1111.5", "age >= 30 and income < 1111.5"),
            ("interviewed >= date '2025-06-15'", "interviewed >= 2025-06-15"),
            ("not (smoker and age > 40)", "smoker = false or age <= 40"),
            ("education <> 'bachelor' or hours > 40", "education != 'bachelor' or hours > 40"),
        ],
    ),
    "odd": (
        "order",
        [
            ('"order" > 5', '"order" > 5'),
            ("\"home town\" = 'O''Neill'", "\"home town\" = 'O''Neill'"),
            ("\"home town\" not in ('York', 'say \"hi\"')", "\"home town\" not in ('York', 'say \"hi\"')"),
            ('"the ""group""" and größe between 0.5 and 1.2', '"the ""group""" = true and Größe = 0.5..1.2'),
            ('not "the ""group""" or level in (1, 9)', '"the ""group""" = false or level in (1, 9)'),
            ("level <> 5 and \"home town\" is not null", "level != 5 and \"home town\" is not missing"),
            ("\"at\" >= '2020-01-02'", "at >= 2020-01-02T00:00:00"),
            ("\"at\" < timestamp '2020-01-02 12:00:00'", "at < 2020-01-02T12:00:00"),
        ],
    ),
}  # fmt: skip
CASES = [(which, *pair) for which, (_, pairs) in COMPARED.items() for pair in pairs]


def same(one: Answer, other: Answer) -> None:
    """Equal but for rounding: number, bar, range, what it rests on, and every caveat."""
    told, expected = one.to_dict(), other.to_dict()
    for key, value in expected.items():
        assert told[key] == (pytest.approx(value) if isinstance(value, float) else value), key


def near(value: float, values: np.ndarray, scale: float) -> bool:
    """Whether an expected sum is within six standard errors of the sum over drawn rows.

    That fails with a probability below 1e-8 for each comparison, a few dozen in all.
    """
    error = 6 * float(np.std(values)) * np.sqrt(len(values)) + 1e-9
    return abs(value * scale - values.sum()) <= error


@pytest.mark.parametrize(("which", "sql", "expression"), CASES)
def test_sql_says_what_the_query_language_and_a_large_sample_say(
    which: str, sql: str, expression: str
) -> None:
    made, column = released(which), COMPARED[which][0]
    asked = f'select count(*) as n, sum("{column}") as s, avg("{column}") as m from release where {sql}'
    found = made.sql(asked)
    assert found.rests_on == "model"
    (answers,) = found.answers
    same(answers["n"], made.query(expression))
    if answers["s"].value:
        same(answers["s"], made.sum(column, expression))
        same(answers["m"], made.mean(column, expression))
    rows, scale = drawn(which), 30_000 / made.total
    held = Statement.read(f"select *, ({sql}) is true as held from release").run(rows)["held"].to_numpy()
    worth = np.where(held, rows[column].fill_null(0).to_numpy(), 0.0)
    assert near(made.total * share(made, expression), held * 1.0, scale)
    assert near(made.total * share(made, expression, column), worth, scale)


def share(made: Any, expression: str, worth: str | None = None) -> float:
    """What the model says, also where counts have the better answer."""
    condition = parse(expression, made.schema)
    return made.share(condition if worth is None else condition.present(worth), worth)


@settings(max_examples=4, deadline=None)
@given(st.data())
def test_groups_in_sql_are_those_of_the_query_language(data: st.DataObject) -> None:
    made = released("survey")
    by = data.draw(
        st.lists(st.sampled_from(["sex", "health", "commute", "smoker"]), min_size=1, max_size=2, unique=True)
    )
    low = data.draw(st.integers(16, 90))
    sign = data.draw(st.sampled_from(["<", ">=", "="]))
    names = ", ".join(by)
    found = made.sql(
        f"select {names}, count(*) n, avg(age) a from release where age {sign} {low} group by {names}"
    )
    assert found.rests_on == "model"
    counts = made.count(f"age {sign} {low}", by=by)
    assert found.rows["n"].to_list() == pytest.approx(counts["count"].to_list())
    assert found.rows.select(by).rows() == counts.select(by).rows()
    means = made.mean("age", f"age {sign} {low}", by=by)
    assert [each for each in found.rows["a"] if each is not None] == pytest.approx(means["mean"].to_list())


def test_groups_of_whole_numbers_are_single_values_in_sql() -> None:
    found = released("survey").sql(
        "select age, count(*) as n from release where age < 21 group by age order by age"
    )
    assert found.rows["age"].to_list() == [16, 17, 18, 19, 20]
    assert len(set(found.rows["n"].round(6).to_list())) == 1
    assert {row["n"].rests_on for row in found.answers} == {"spread evenly"}


def test_an_order_and_a_limit_are_kept() -> None:
    made = released("survey")
    every = made.sql("select district, count(*) from release group by district").rows
    top = made.sql(
        "select district d, count(*) from release group by 1 order by count(*) desc, d limit 3 offset 1"
    )
    assert top.rests_on == "model"
    assert top.rows["count_star()"].to_list() == every["count_star()"].sort(descending=True).to_list()[1:4]
    assert [row["count_star()"].value for row in top.answers] == top.rows["count_star()"].to_list()


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("select median(age) from release", "has no 'median'"),
        ("select count(*) from release where age % 2 = 0", "WHERE computes"),
        ("select count(*) from release where district < 'M'", "compared by their letters"),
        ("select count(*) from release where district = 'Coast'", "no such category"),
        ("select count(distinct sex) from release", "narrowed by itself"),
        ("select sex, count(*) from release group by sex having count(*) > 5", "has a having"),
        ("select income, count(*) from release group by income", "groups of their own"),
        ("select count(*) from release where income = 1000.5", "no such question"),
        ("select count(*) from release a join release b using (age)", "joins"),
        ("select age, sex from release limit 3", "lists rows"),
        ("with t as (select * from release) select count(*) from t", "has a WITH"),
        ("select count(*) from release limit 50%", "limit is a share"),
        ("select count(*) from release where age > (select avg(age) from release)", "computed"),
        ("select count(*) from release where sex = null", "computed"),
    ],
)
def test_other_statements_are_run_on_a_sample_and_the_answer_says_why(sql: str, why: str) -> None:
    found = small().sql(sql)
    assert (found.rests_on, found.drawn) == ("sample", small().size)
    assert why in found.caveats[0]
    assert found.to_dict()["sample"] == small().size


@cache
def small() -> Any:
    return release(survey(300), Schema.from_yaml(survey_schema()), epsilon=1, method="independent", seed=1)


def test_a_sample_agrees_with_the_model_within_the_errors_that_both_state() -> None:
    """Counts with a bar may differ from the model by as much; what drawing adds has 95 %, twice is enough."""
    made = small()
    by_sex = "select sex, count(*) n, avg(age) a from release group by sex order by sex"
    for text in ("select count(*) n from release where age > 60", by_sex):
        model, sample = made.sql(text), made.sql(text, rows=made.size)
        assert (model.rests_on, sample.rests_on) == ("model", "sample")
        for row, other, answers, errors in zip(
            sample.rows.to_dicts(), model.rows.to_dicts(), model.answers, sample.errors, strict=True
        ):
            for name, error in errors.items():
                answer = answers[name]
                spread = 0.0 if answer.range is None else answer.range.high - answer.range.low
                assert abs(row[name] - other[name]) <= 2 * error + (answer.error or spread) + 1


def test_missing_values_are_null_and_odd_columns_can_be_named() -> None:
    made = released("odd")
    found = made.sql('select "home town", count("home town") a, count(*) b from release group by 1')
    assert found.rests_on == "model"
    last = found.rows.filter(pl.col("home town").is_null())
    assert (last["a"].item(), last["b"].item() > 100) == (0, True)
    listed = made.sql('select "the ""group""", "order" from release where "order" is null limit 4')
    assert listed.rows["order"].to_list() == [None] * 4
