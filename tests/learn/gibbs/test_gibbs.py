"""The Gibbs learner: rules of a schema, exact posteriors of neighbours, and a bound that is paid for."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import product

import numpy as np
import polars as pl
import pytest

import penstock
from penstock import Budget, Schema
from penstock.errors import UsageError
from penstock.kinds.table.data import Table
from penstock.learn.gibbs.method import GibbsRule, Rules, sealed_scores
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.seals.sealed import open_seal
from penstock.theory.learning import catoni_from_energy, free_energy, gibbs_posterior, gibbs_rate

TEXT = """
target: large
fields:
  - {name: colour, constraints: {enum: [red, green, blue]}}
  - {name: age, type: integer, constraints: {minimum: 0, maximum: 9}, bins: {count: 4}, missing: value}
  - {name: large, constraints: {enum: ['yes', 'no', 'maybe']}}
"""
EVERY = [
    (colour, age, large)
    for colour, age, large in product(("red", "green", "blue"), (0, 9, None), ("yes", "no", "maybe"))
]


def table(records: Sequence[tuple[object, ...]], text: str = TEXT) -> Table:
    return Table.open(
        pl.DataFrame(list(records), schema=["colour", "age", "large"], orient="row"), Schema.from_yaml(text)
    )


def test_rules_are_cuts_of_ordered_columns_values_of_others_and_constants() -> None:
    rules = Rules.of(Schema.from_yaml(TEXT), "large")
    assert rules.columns == ("colour", "age")
    assert [len(held) for held in rules.conditions] == [3, 4], "three colours; three cuts, and missing or not"
    assert rules.number == 7 * 6 + 3
    column, _, one, two = rules.drawn(rules.number - 1)
    assert (column, one, two) == (None, 2, 2)
    columns = rules.prior("columns")
    assert columns[:18].sum() == pytest.approx(columns[18:42].sum(), rel=1e-9)
    assert columns[42:].sum() == pytest.approx(columns[18:42].sum(), rel=1e-9)


def test_every_rule_gets_right_what_its_predictions_get_right() -> None:
    """Counts from tables of two columns, against the answers of each rule on each record."""
    rng = np.random.default_rng(1)
    records = [EVERY[place] for place in rng.integers(len(EVERY), size=60)]
    schema = Schema.from_yaml(TEXT)
    rules = Rules.of(schema, "large")
    right = open_seal(sealed_scores(table(records), rules, "large"))
    codes = schema.encode(pl.DataFrame(records, schema=["colour", "age", "large"], orient="row"))
    for rule in range(rules.number):
        column, held, one, two = rules.drawn(rule)
        inside = np.ones(60, dtype=bool) if column is None else held[codes[column]]
        assert right[rule] == (np.where(inside, one, two) == codes["large"]).sum()


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
def test_no_neighbour_is_further_than_epsilon(relation: str) -> None:
    """Exact posteriors over all rules; replace has the rate of the theorem, n epsilon / 2."""
    rest = [EVERY[0], EVERY[0], EVERY[13]]
    rules = Rules.of(Schema.from_yaml(TEXT), "large")
    worst = 0.0
    some = EVERY[::4]
    for one, two in product(some, some if relation == "replace" else [None]):
        first, second = [*rest, one], [*rest, two] if two is not None else rest
        laws = []
        for records in (first, second):
            head = f"relation: replace\nsize: {len(records)}\n" if relation == "replace" else ""
            sealed = sealed_scores(table(list(records), head + TEXT), rules, "large")
            rate = 1.0 / float(sealed.sensitivity.spread)
            if relation == "replace":
                assert rate * len(records) == gibbs_rate(len(records), 1.0)
            laws.append(
                gibbs_posterior(-open_seal(sealed).astype(float), rate, rules.prior("rules") / rules.number)
            )
        worst = max(worst, float(np.abs(np.log(laws[0] / laws[1])).max()))
    assert 0.6 < worst <= 1.0


def test_the_bound_is_paid_for_and_close_to_the_one_without_noise() -> None:
    records = [("red", 0, "yes"), ("blue", 9, "no")] * 500
    text = f"relation: replace\nsize: 1000\n{TEXT}"
    made = penstock.release(
        pl.DataFrame(records, schema=["colour", "age", "large"], orient="row"),
        Schema.from_yaml(text),
        epsilon=2,
        method="gibbs-rule",
        parameters={"bound": "1/2"},
        seed=1,
    )
    assert [charge.epsilon for _, charge in made.receipt.charges()] == [1, 1]
    rules = Rules.of(Schema.from_yaml(text), "large")
    right = open_seal(sealed_scores(table(records, text), rules, "large"))
    base = rules.prior("columns") / rules.prior("columns").sum()
    energy = free_energy(1 - right / 1000, 500.0, base)
    exact = catoni_from_energy(energy, 1000, 500.0, 0.05)
    told = made.parameters["risk_at_most"]
    assert exact < told < exact + 0.02, (
        "a margin of three hundredths of a hundredth, and noise of a third of it"
    )


def test_the_free_energy_moves_by_no_more_than_stated() -> None:
    rules = Rules.of(Schema.from_yaml(TEXT), "large")
    base = rules.prior("columns") / rules.prior("columns").sum()
    rest = [EVERY[0]] * 5
    found = []
    for record in EVERY:
        sealed = sealed_scores(table([*rest, record], f"relation: replace\nsize: 6\n{TEXT}"), rules, "large")
        found.append(free_energy(1 - open_seal(sealed) / 6, 12.0, base))
    assert max(found) - min(found) <= 1 / 6


def test_a_good_rule_is_found() -> None:
    """A thousand records whose colour says their label: the best rule leads by hundreds."""
    records = [("red", 0, "yes"), ("blue", 0, "no")] * 500
    made = GibbsRule().fit(table(records), Budget(1, randomness=Randomness.seeded(3)))
    told = made.predict(pl.DataFrame({"colour": ["red", "blue"], "age": [9, 9]}))
    assert told["large"].to_list() == ["yes", "no"]
    assert next(iter(made.strength())) == "colour"


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"bound": "1/2"}, "public number of records"),
        ({"target": "age"}, "range"),
        ({"target": "nobody"}, "column of the table"),
        ({"prior": "people"}, "one of"),
        ({"bound": 1}, "bound must be"),
    ],
)
def test_what_cannot_work_is_refused_unspent(parameters: dict[str, object], words: str) -> None:
    budget = Budget(1, randomness=Randomness.seeded(1))
    with pytest.raises(UsageError, match=words):
        GibbsRule(**parameters).fit(table(EVERY), budget)  # type: ignore[arg-type]
    assert budget.left == (Fraction(1), Fraction(0))


def test_a_rule_says_which_single_column_it_is_about() -> None:
    records = [("red", 0, "yes"), ("green", 9, "no"), ("blue", 9, "no")] * 200
    budget = Budget(50, randomness=Randomness.seeded(1))
    release = GibbsRule(target="large").fit(table(records), budget)
    (remark,) = release.remarks()
    assert remark in ("It predicts large from colour alone.", "It predicts large from age alone.")
