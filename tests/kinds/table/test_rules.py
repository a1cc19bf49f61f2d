"""Rules of the schema enter the model: none is broken, and nobody is lost for them."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.lookalikes import Lookalike, census, hospital

from penstock import Schema, load, release
from penstock.errors import QueryError, SchemaError
from penstock.kinds.table.confluence.coarsening import levels_by_mass
from penstock.kinds.table.network.release import NetworkRelease
from penstock.kinds.table.support import Support
from penstock.report.numbers import percent
from penstock.schema import parse

SMALL = """
fields:
  - {name: age, type: integer, constraints: {minimum: 0, maximum: 79}, bins: {width: 10}}
  - {name: job, constraints: {enum: [none, clerk, cook, smith]}}
  - {name: pay, type: integer, constraints: {minimum: 0, maximum: 9}, bins: {width: 1}, missing: value}
  - {name: sex, constraints: {enum: [f, m]}}
"""
RULES = """
impossible:
  - "age < 15 and job != none"
  - "age < 20 and pay is not missing"
  - "job = none and pay is not missing"
"""


def town(rows: int = 3000) -> pl.DataFrame:
    """Everybody under 20 is without pay, everybody under 15 without a job; 30 % are under 20."""
    rng = np.random.default_rng(3)
    age = np.where(rng.random(rows) < 0.3, rng.integers(0, 20, rows), rng.integers(20, 80, rows))
    works = (age >= 15) & (rng.random(rows) < 0.7)
    job = np.where(works, rng.choice(["clerk", "cook", "smith"], rows, p=[0.6, 0.3, 0.1]), "none")
    pay = [
        int(amount) if at_work and years >= 20 else None
        for amount, at_work, years in zip(rng.integers(0, 10, rows), works, age, strict=True)
    ]
    return pl.DataFrame({"age": age, "job": job, "pay": pay, "sex": rng.choice(["f", "m"], rows)})


def made(method: str, schema: str, frame: pl.DataFrame, epsilon: str = "2", **options: Any) -> Any:
    return release(
        frame, Schema.from_yaml(schema), epsilon=epsilon, method=method, seed=1, parameters=options
    )


METHODS: Mapping[str, tuple[str, dict[str, Any]]] = {
    "confluence": ("confluence", {}),
    "privbayes": ("privbayes", {}),
    "privbayes, vanilla": ("privbayes", {"encoding": "vanilla"}),
    "privbayes, gray": ("privbayes", {"encoding": "gray"}),
    "privbayes, as published": ("privbayes", {"preset": "journal"}),
    "independent": ("independent", {}),
    "contingency": ("contingency", {}),
    "mwem": ("mwem", {"way": 2, "rounds": 10}),
    "uniform": ("uniform", {}),
}
LEARNED = [name for name in METHODS if name not in ("mwem", "uniform")]


@pytest.mark.parametrize("name", METHODS)
def test_no_row_breaks_a_rule_and_all_are_drawn(name: str) -> None:
    method, options = METHODS[name]
    ruled = made(method, RULES + SMALL, town(), **options)
    rows = ruled.sample(2000, seed=1)
    assert rows.height == 2000
    assert not ruled.schema.rules_out(rows).any()
    young = ruled.sample(200, seed=2, where="age < 18")
    assert not ruled.schema.rules_out(young).any()
    assert young["age"].max() < 18
    impossible = ruled.query("age < 10 and job = cook")
    assert (impossible.value, impossible.error, impossible.rests_on) == (0, 0, "declared")
    assert ruled.marginal(["age", "job"])[0, 1:].max() < 1e-9


@pytest.mark.parametrize("name", LEARNED)
def test_margins_are_preserved(name: str) -> None:
    """Nearly everything but one value is ruled out for the young, and still they are all there."""
    method, options = METHODS[name]
    frame, rows = town(), made(method, RULES + SMALL, town(), **options).sample(3000, seed=1)
    for column, value in (("age", None), ("job", "none"), ("job", "clerk"), ("sex", "f")):
        if value is None:
            truth, found = (frame["age"] < 20).sum(), (rows["age"] < 20).sum()
        else:
            truth, found = (frame[column] == value).sum(), (rows[column] == value).sum()
        assert found == pytest.approx(truth, rel=0.15), (column, value)
    assert rows["pay"].null_count() == pytest.approx(frame["pay"].null_count(), rel=0.15)


def pair_error(schema: Schema, frame: pl.DataFrame, rows: pl.DataFrame) -> float:
    """The mean total variation distance of all pairs of columns."""
    truth, found = schema.encode(frame), schema.encode(rows)
    distances = []
    for one, two in combinations(schema.names, 2):
        width = schema.sizes[two]
        shares = [
            np.bincount(codes[one].astype(np.int64) * width + codes[two], minlength=schema.sizes[one] * width)
            / len(codes[one])
            for codes in (truth, found)
        ]
        distances.append(np.abs(shares[0] - shares[1]).sum() / 2)
    return float(np.mean(distances))


def groups(
    look: Lookalike, schema: Schema, rows: pl.DataFrame, *, single: bool
) -> dict[str, tuple[int, int]]:
    """How many records and how many rows are in each group: the planted ones, and with `single` those of one
    value or bin that are at least 3 % of the records."""
    found = {group: parse(group, schema) for group in look.groups}
    sizes = {
        group: (int(test.holds(look.frame).sum()), int(test.holds(rows).sum()))
        for group, test in found.items()
    }
    truth, drawn = schema.encode(look.frame), schema.encode(rows)
    for name in schema.names if single else ():
        counts = [np.bincount(codes[name], minlength=schema.sizes[name]) for codes in (truth, drawn)]
        for code in np.flatnonzero(counts[0] >= 0.03 * look.frame.height).tolist():
            sizes[f"{name}, value {code}"] = int(counts[0][code]), int(counts[1][code])
    return sizes


@pytest.mark.parametrize(("method", "single", "epsilon"), [("confluence", True, 6), ("privbayes", False, 4)])
def test_twenty_rules_of_a_census_lose_no_group_and_lower_the_error_of_pairs(
    method: str, single: bool, epsilon: int
) -> None:
    """The table that lost its under-fives: 24 columns and 20 true rules.

    A quarter of 3 % of 8,000 records are 60, and with all of an epsilon of 1 for the counts of 24 single
    columns their noise alone would exceed that in one of twelve such groups: hence an epsilon of 4, and of 6
    where single columns, whose every value of at least 3 % is a group, are counted before pairs for a part of
    it, as only the default method does.
    """
    look = census(8000)
    plain, ruled = Schema.from_yaml(look.schema), Schema.from_yaml(look.ruled())
    assert len(ruled.rules) == 20
    errors: dict[bool, list[float]] = {False: [], True: []}
    for seed in (1, 2):
        for schema in (plain, ruled):
            one = release(look.frame, schema, epsilon=epsilon, method=method, seed=seed)
            rows = one.sample(look.frame.height, seed=0)
            errors[schema is ruled].append(pair_error(plain, look.frame, rows))
            if schema is ruled:
                assert not ruled.rules_out(rows).any()
                assert one.details()["rules"]["broken_without"] > 0.05
                for group, (truth, found) in groups(look, plain, rows, single=single).items():
                    assert found == pytest.approx(truth, rel=0.25), group
    assert np.mean(errors[True]) <= np.mean(errors[False])


def test_rules_between_columns_are_kept() -> None:
    look = hospital(2000)
    rules = (
        'always: ["discharged >= admitted", "if age < 16 then ward = 11", "if age >= 16 then ward != 11"]\n'
    )
    for method in ("confluence", "independent"):
        ruled = made(method, rules + look.schema, look.frame, epsilon="1")
        rows = ruled.sample(1000, seed=0)
        assert (rows["discharged"] >= rows["admitted"]).all()
        assert ((rows["age"] < 16) == (rows["ward"] == 11)).all()
        assert ruled.query("discharged < admitted").rests_on == "declared"


def test_a_release_says_how_many_rows_would_have_broken_its_rules() -> None:
    ruled = made("independent", RULES + SMALL, town())
    share = ruled.details()["rules"]["broken_without"]
    assert 0.2 < share < 0.8
    assert percent(share) in " ".join(ruled.remarks())
    assert "3 rules of the schema are kept" in " ".join(ruled.remarks())
    assert "rules" not in made("independent", SMALL, town()).details()


def test_a_network_saved_without_its_rules_keeps_them_when_it_is_loaded(tmp_path: Path) -> None:
    """As releases of earlier versions are: the network on disk knows nothing of the rules."""
    plain = made("confluence", SMALL, town())
    old = NetworkRelease(
        method="confluence",
        schema=Schema.from_yaml(RULES + SMALL),
        receipt=plain.receipt,
        total=plain.total,
        encoding=plain.encoding,
        network=plain.network,
        measured=plain.measured,
    )
    loaded = load(old.save(tmp_path / "old"))
    rows = loaded.sample(2000, seed=1)
    assert not loaded.schema.rules_out(rows).any()
    young = (rows["age"] < 20).sum()
    assert young == pytest.approx(2000 * 0.3, rel=0.25)


def test_a_record_that_breaks_a_rule_changes_no_public_decision() -> None:
    """It is neither refused nor counted where nothing can be: the same steps, with the same charges."""
    broken = pl.concat([town(), pl.DataFrame({"age": [3], "job": ["smith"], "pay": [9], "sex": ["f"]})])
    for method in ("confluence", "privbayes", "independent"):
        paid = [
            [charge for _, charge in made(method, RULES + SMALL, frame).receipt.charges()]
            for frame in (town(), broken)
        ]
        assert [each.label for each in paid[0][:2]] == [each.label for each in paid[1][:2]]
    kept = made("contingency", RULES + SMALL, broken)
    assert kept.query("age < 10 and job = smith").value == 0


def test_a_record_cannot_steer_what_is_counted_by_breaking_a_rule() -> None:
    """The order of the columns and their classes follow from the schema alone."""
    support = Support.of(Schema.from_yaml(RULES + SMALL))
    assert support.before["job"] == {"age"}
    assert support.before["pay"] == {"age", "job"}
    assert support.before["sex"] == frozenset()
    assert (
        support.classes["age"].tolist() == [1, 1, 0, 0, 0, 0, 0, 0] or len(set(support.classes["age"])) == 3
    )


def test_impossible_combinations_are_structural_zeros() -> None:
    """Only rules about the columns asked for count, and only combinations that they cover wholly."""
    support = Support.of(Schema.from_yaml(RULES + SMALL))
    assert np.argwhere(~support.allowed(("job", "age"))).tolist() == [[1, 0], [2, 0], [3, 0]]
    assert (~support.allowed(("sex", "age", "job"))).sum() == 6
    assert support.allowed(("age", "sex")).all()
    assert [rule.text for rule in support.cut] == ["age < 15 and job != none"]
    assert not Support.of(Schema.from_yaml(SMALL))


def test_where_rules_cut_a_bin_values_follow_the_rules() -> None:
    """Ages 10 to 19 are one bin: in it only those of 15 and more may have a job."""
    ruled = made("contingency", RULES + SMALL, town(), epsilon="20")
    rows = ruled.sample(3000, seed=1)
    assert rows.filter(pl.col("job") != "none")["age"].min() >= 15
    assert ruled.query("age < 15 and job = clerk").value == 0
    with_job = ruled.query("age >= 15 and age < 20 and job != none")
    assert with_job.value == pytest.approx(ruled.query("age < 20 and job != none").value, rel=0.01)


def test_codes_of_one_class_are_merged_before_others() -> None:
    schema = Schema.from_yaml(RULES + SMALL)
    attribute = schema.attribute("age")
    classes = np.array([0, 0, 1, 1, 1, 1, 1, 1])
    levels = levels_by_mass(attribute, np.full(8, 1 / 8), (4, 3, 2), classes)
    assert [level.size for level in levels] == [8, 4, 3, 2]
    for level in levels:
        assert len(set(zip(level.groups, classes.tolist(), strict=True))) == level.size
    alternating = np.array([0, 1, 0, 1, 0, 1, 0, 1])
    assert [level.size for level in levels_by_mass(attribute, np.full(8, 1 / 8), (4, 2), alternating)] == [
        8,
        4,
        2,
    ]


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ("always: [age > job]", "age holds integers and job strings"),
        ("always: [agee > pay]", "always: At position 1: 'agee' is not a field"),
        ("always: [if age < 3]", "'then' is expected"),
        ("impossible: [pay >= 0, pay is missing]", "leave no row possible"),
    ],
)
def test_rules_that_make_no_sense_are_refused_before_anything_is_spent(rules: str, words: str) -> None:
    with pytest.raises((SchemaError, QueryError), match=words):
        Schema.from_yaml(f"{rules}\n{SMALL}").refuse_if_nothing_is_possible()
