"""Private drafts: sensitivities by brute force, the threshold by exact sums, and a draft end to end."""

from __future__ import annotations

import math
from datetime import date, datetime, timedelta
from fractions import Fraction
from itertools import pairwise, product
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.lookalikes import census, churn

from penstock.drafting.bounds import (
    Closer,
    Column,
    Occurring,
    closer,
    frequent,
    outlines,
    threshold,
)
from penstock.drafting.columns import SIGNS
from penstock.drafting.outline import CELLS, Outline, cells_of, least_filled
from penstock.drafting.private import Reach, draft_private, reach_of
from penstock.engine import read
from penstock.errors import DataError, UsageError
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.seals.sealed import Sealed, open_seal
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.privacy.unit import Relation, Unit

ADD_REMOVE = Relation.ADD_REMOVE


def named_with(count: int, least: int, rate: float) -> float:
    """P(count + Z >= least) for discrete Laplace noise with P(Z = z) proportional to e^{-rate |z|}."""
    a, t = math.exp(-rate), least - count
    return a**t / (1 + a) if t >= 0 else 1 - a ** (1 - t) / (1 + a)


def partitions(records: int, largest: int | None = None) -> list[tuple[int, ...]]:
    """All ways in which up to `records` records fall on different values."""
    top = records if largest is None else largest
    found: list[tuple[int, ...]] = [()]
    for first in range(1, min(records, top) + 1):
        found += [(first, *rest) for rest in partitions(records - first, first)]
    return found


@pytest.mark.parametrize("records", [1, 2, 3, 7])
@pytest.mark.parametrize("epsilon", [Fraction(1, 20), Fraction(1), Fraction(5)])
@pytest.mark.parametrize("delta", [Fraction(1, 10), Fraction(1, 10**6), Fraction(1, 10**12)])
def test_the_threshold_is_the_least_that_hides_whatever_one_unit_brings(
    records: int, epsilon: Fraction, delta: Fraction
) -> None:
    rate = float(epsilon) / records

    def seen(least: int) -> float:
        return max(sum(named_with(c, least, rate) for c in parts) for parts in partitions(records))

    least = threshold(epsilon, delta, records)
    assert seen(least) <= float(delta) * (1 + 1e-9)
    assert least == records or seen(least - 1) > float(delta) * (1 - 1e-9)


@pytest.mark.parametrize("records", [1, 2, 3])
def test_naming_frequent_values_is_epsilon_delta_private(records: int) -> None:
    """The exact hockey-stick divergence over all answers, both ways, for all small neighbours."""
    epsilon, delta = Fraction(1), Fraction(1, 20)
    least, rate = threshold(epsilon, delta, records), 1 / records
    for base in product(range(0, least + 2, 2), repeat=2):  # a third value occurs nowhere in the base
        for added in product(range(records + 1), repeat=3):
            if not 0 < sum(added) <= records:
                continue
            other = [count + more for count, more in zip((*base, 0), added, strict=True)]
            worlds = []
            for counts in ((*base, 0), other):
                chances = [named_with(c, least, rate) if c else 0.0 for c in counts]
                worlds.append(
                    [
                        math.prod(p if named else 1 - p for p, named in zip(chances, answer, strict=True))
                        for answer in product((False, True), repeat=3)
                    ]
                )
            for one, two in (worlds, worlds[::-1]):
                apart = sum(max(0.0, p - math.e * q) for p, q in zip(one, two, strict=True))
                assert apart <= float(delta) * (1 + 1e-9)


def occurring(counts: dict[str, int], records: int = 1) -> Sealed[Occurring]:
    found = Occurring(tuple(counts), np.array(list(counts.values()), dtype=np.int64))
    return Sealed(found, Sensitivity.of(records), ADD_REMOVE, because="a unit has so many records")


@pytest.mark.parametrize("records", [1, 10])
def test_values_are_named_with_the_chance_the_proof_assumes(records: int) -> None:
    # 4,000 values exactly at the threshold are each named with probability 1 / (1 + a), a = e^(-1/records):
    # 0.731 for one record, 0.525 for ten. Six standard deviations of the binomial are at most 190: failure
    # probability below 1e-8.
    least = threshold(Fraction(1), Fraction(1, 1000), records)
    counts = {str(i): least for i in range(4000)}
    budget = Budget(1, "1/1000", randomness=Randomness.seeded(11))
    named = frequent(occurring(counts, records), budget, most=4000)
    assert abs(len(named) - 4000 / (1 + math.exp(-1 / records))) < 190
    receipt = budget.receipt()
    assert (receipt.epsilon, receipt.delta) == (1, Fraction(1, 1000))
    assert f"threshold {least}" in next(charge.detail for _, charge in receipt.charges())


def test_frequent_values_are_sorted_and_limited() -> None:
    budget = Budget(10, "1e-6", randomness=Randomness.seeded(1))
    counts = {"c": 1000, "a": 3000, "b": 2000, "once": 1}
    assert frequent(occurring(counts), budget.part("a", "1/2"), most=2) == ["a", "b"]
    assert frequent(occurring(counts), budget.rest("b")) == ["a", "b", "c"]
    assert frequent(occurring({}), Budget(1, "1e-6")) == []


def test_naming_values_needs_a_delta_and_spends_nothing_without() -> None:
    budget = Budget(1)
    with pytest.raises(UsageError, match=r"delta above 0.*Nothing was spent"):
        frequent(occurring({"a": 100}), budget)
    with pytest.raises(UsageError, match="At least one"):
        frequent(occurring({"a": 100}), Budget(1, "1e-6"), most=0)
    assert budget.left == (1, 0)


numbers = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(numbers, min_size=1, max_size=30), st.sampled_from(["integer", "number"]))
def test_every_number_lies_in_one_cell_that_spans_it(values: list[float], kind: Any) -> None:
    drawn = [float(int(value)) if kind == "integer" else value for value in values]
    for value, place in zip(drawn, cells_of(pl.Series("c", drawn)), strict=True):
        cell, largest = CELLS[place], 1e16 if value == int(value) else 1e12
        assert cell.type == ("integer" if value == int(value) else "number")
        if cell.sign is not None:
            assert float(cell.sign) == value
        elif abs(value) >= largest:
            assert cell.high >= largest / 10 * 0.99 or cell.low <= -largest / 10 * 0.99
        elif abs(value) >= 1e-6:
            assert cell.low <= value <= cell.high
        else:
            assert (cell.low, cell.high) == (0, 0)


@pytest.mark.parametrize("kind", ["integer", "number", "date", "datetime"])
def test_cells_of_a_type_follow_one_another_without_gaps(kind: str) -> None:
    mine = [cell for cell in CELLS if cell.type == kind and cell.sign is None]
    assert all(one.high < two.low for one, two in pairwise(mine))
    assert [cell.low <= cell.high for cell in mine] == [True] * len(mine)
    if kind in ("date", "datetime"):
        assert all(one.high + 1 == two.low for one, two in pairwise(mine))


VALUES = ["", "12", "-3.5", "true", "2020-01-02", "2020-01-02T03:04:05", "word", "N", "-9"]


@pytest.mark.parametrize("records", [1, 2])
def test_a_unit_moves_every_histogram_by_its_records_at_most(records: int) -> None:
    edges = np.array([-4.0, 0.0, 10.0, 20.0])

    def histograms(of: Column) -> list[Sealed[Any]]:
        signed = of.bins("number", edges, ("12",))
        return [of.outline(), of.size(), of.bins("number", edges), signed, of.bins("date", edges)]

    for base in (("", "12"), ("x", "true"), ("-3.5", "-3.5")):
        here = Column(pl.Series("c", [*base], dtype=pl.String), records)
        without, occurring = histograms(here), open_seal(here.occurring())
        for added in product(VALUES, repeat=records):
            there = Column(pl.Series("c", [*base, *added], dtype=pl.String), records)
            for one, two in zip(without, histograms(there), strict=True):
                change = open_seal(two) - open_seal(one)
                assert np.abs(change).sum() <= one.sensitivity.l1 == records
                assert (change >= 0).all()  # monotone, as the seal says
            before, after = (
                dict(zip(o.values, o.counts.tolist(), strict=True))
                for o in (occurring, open_seal(there.occurring()))
            )
            assert sum(abs(after.get(v, 0) - before.get(v, 0)) for v in after | before) <= records


def word(place: int) -> str:
    cell = CELLS[place]
    return "missing" if cell.sign == "" else f"sign {cell.sign}" if cell.sign else str(cell.type)


@pytest.mark.parametrize(("text", "expected"), [
    ("12", "integer"), (" -7 ", "sign -7"), ("007", "string"), ("1.0", "number"), ("1e3", "number"),
    (".5", "number"), ("1e999", "string"), ("true", "boolean"), ("FALSE", "boolean"), ("2020-02-29", "date"),
    ("nan", "missing"), ("N", "sign n"), ("Unknown", "sign unknown"), (".", "sign ."), ("-12", "integer"),
    ("2020-02-29T10:00", "datetime"), ("2020-02-29T10:00+02:00", "datetime"), ("", "missing"),
    ("?", "missing"), (None, "missing"), ("word", "string"), ("Infinity", "string"), ("1,5", "string"),
])  # fmt: skip
def test_texts_are_told_apart(text: str | None, expected: str) -> None:
    counts = open_seal(Column(pl.Series("c", [text], dtype=pl.String)).outline())
    assert word(int(counts.argmax())) == expected
    assert counts.sum() == 1


@pytest.mark.parametrize(("values", "expected"), [
    (pl.Series([1, 2], dtype=pl.UInt8), "integer"), (pl.Series([1.0, 2.0]), "integer"),
    (pl.Series([1.5, 2.5]), "number"), (pl.Series([True, False]), "boolean"),
    (pl.Series([date(2020, 1, 1)]), "date"),
    (pl.Series([datetime(2020, 1, 1)]), "datetime"), (pl.Series(["a"], dtype=pl.Categorical), "string"),
    (pl.Series([float("nan"), None]), "missing"), (pl.Series([None, None]), "missing"),
    (pl.Series([math.inf]), "string"), (pl.Series([-9, -9]), "sign -9"),
])  # fmt: skip
def test_typed_columns_are_told_apart(values: pl.Series, expected: str) -> None:
    counts = open_seal(Column(values).outline())
    assert word(int(counts.argmax())) == expected
    assert counts.sum() == len(values)


def test_a_column_shows_nothing() -> None:
    column = Column(pl.Series("age", [987654321]))
    assert "987654321" not in repr(column)
    assert "987654321" not in repr(column.outline())


def look(values: Any, kind: Any, epsilon: Any = "1/4", seed: int = 5) -> Closer:
    """A closer look at a column whose outline is exact."""
    column = Column(pl.Series("c", values))
    outline = Outline(tuple(open_seal(column.outline()).tolist()), 1)
    return closer(column, kind, outline, Budget(epsilon, randomness=Randomness.seeded(seed)))


@pytest.mark.parametrize(("values", "kind", "low", "high"), [
    (np.arange(17, 91).repeat(200), "integer", (10, 17), (88, 96)),
    (np.arange(1998, 2022).repeat(500), "integer", (1910, 1998), (2020, 2080)),
    (-np.arange(1, 100).repeat(200), "integer", (-110, -97), (-4, 0)),
    (np.linspace(-0.005, 0.005, 20_001), "number", (-0.0056, -0.0048), (0.0048, 0.0056)),
])  # fmt: skip
def test_bounds_hold_nearly_all_values_and_little_more(values: Any, kind: Any, low: Any, high: Any) -> None:
    # Noise of scale 4 against a notice of at least 100 records (1 in 100 of all): mistaking noise for
    # records needs a sum of 25 scales, which has a probability below 1e-8 over all bins.
    found = look(values, kind)
    assert low[0] <= found.low <= low[1]
    assert high[0] <= found.high <= high[1]
    assert not found.codes


def test_a_few_whole_numbers_are_codes() -> None:
    # Noise of scale 4 reaches the threshold of 4 ln(99/0.02) = 35 in an empty bin with probability 1e-4, and
    # the seed is fixed; each code has 400 records, 90 scales above it.
    assert look(np.array([1, 2, 10, 11]).repeat(400), "integer").codes == (1, 2, 10, 11)
    assert look(np.zeros(10_000), "integer").codes == (0,)
    assert look(np.arange(0, 21).repeat(400), "integer").codes == ()
    assert look(np.array([1.5, 2.5]).repeat(400), "number").codes == ()


@settings(deadline=None, max_examples=30)
@given(epsilon=st.fractions(Fraction(1, 100), 10, max_denominator=100), seed=st.integers(0, 10**6))
def test_a_closer_look_pays_what_it_was_given(epsilon: Fraction, seed: int) -> None:
    budget = Budget(epsilon, randomness=Randomness.seeded(seed))
    column = Column(pl.Series("c", np.arange(500.0) + 0.5))
    closer(column, "number", Outline(tuple(open_seal(column.outline()).tolist()), 1), budget)
    assert budget.receipt().epsilon == epsilon


def test_types_are_found_for_all_columns_with_one_charge() -> None:
    n = 4000
    frame = pl.DataFrame(
        {
            "whole": [str(1000 + i) for i in range(n)],
            "real": [f"{1000 + i}.5" for i in range(n)],
            "mixed": [f"{1000 + i}" if i % 2 else f"{1000 + i}.5" for i in range(n)],
            "flag": ["true", "false"] * (n // 2),
            "day": ["2020-01-01"] * n,
            "moment": ["2020-01-01T01:01:01"] * n,
            "text": ["a", "b"] * (n // 2),
            "gaps": ["", "1"] * (n // 2),
            "signs": ["N", "12"] * (n // 2),
            "minus": ["-9", "3"] * (n // 2),
            "below": ["-9", "-30"] * (n // 2),
            "letters": ["N", "Y"] * (n // 2),
            "empty": [""] * n,
            "capitals": ["NIU", "12"] * (n // 2),
        }
    )
    budget = Budget(2, randomness=Randomness.seeded(2))
    seen = outlines([Column(frame[name]) for name in frame.columns], budget)
    found = {
        name: (each.type, each.missing, each.signs) for name, each in zip(frame.columns, seen, strict=True)
    }
    assert found == {
        "whole": ("integer", False, ()), "real": ("number", False, ()), "mixed": ("number", False, ()),
        "flag": ("boolean", False, ()), "day": ("date", False, ()), "moment": ("datetime", False, ()),
        "text": ("string", False, ()), "gaps": ("integer", True, ()), "signs": ("integer", True, ("N", "n")),
        "minus": ("integer", True, ("-9",)), "below": ("integer", False, ()),
        "letters": ("string", False, ()), "empty": (None, True, ()),
        "capitals": ("integer", True, ("NIU", "niu")),
    }  # fmt: skip
    (charge,) = [charge for _, charge in budget.receipt().charges()]
    assert (charge.epsilon, charge.sensitivity) == (2, "14")


def test_empty_cells_are_hardly_ever_taken_for_filled_ones() -> None:
    """An outline of nothing: at most 2 in 100 have a filled cell, so of 400 fewer than 40 (below 1e-12)."""
    nothing = [Column(pl.Series("c", [], dtype=pl.String)) for _ in range(400)]
    seen = outlines(nothing, Budget(1, randomness=Randomness.seeded(3)))
    assert sum(each.type is not None or each.missing for each in seen) < 40
    assert least_filled(1.0) < least_filled(2.0)
    assert len(SIGNS) < 40  # every sign is a cell, and every cell costs


def people(n: int = 20_000) -> pl.DataFrame:
    rng = np.random.default_rng(1)
    return pl.DataFrame(
        {
            "patient_id": [f"p{i % 5000}" for i in range(n)],
            "age": rng.integers(17, 91, n).astype(str),
            "income": rng.lognormal(10, 1, n),
            "sex": rng.choice(["F", "M", ""], n, p=[0.5, 0.4, 0.1]),
            "born": [f"{year}-05-17" for year in rng.integers(1930, 2005, n)],
            "smoker": rng.choice(["true", "false"], n),
            "note": ["canary-7f3a" if i == 77 else f"note {i}" for i in range(n)],
        }
    )


def test_a_private_draft_end_to_end() -> None:
    data = people()
    budget = Budget(1, "1e-6", randomness=Randomness.seeded(9))
    schema = draft_private(data, budget)
    assert schema.names == ("age", "income", "sex", "born", "smoker", "note")
    assert schema.field("age").domain == "0..100"
    assert schema.field("sex").labels == ("F", "M")
    assert (schema.field("sex").missing, schema.field("age").missing) == ("value", "refuse")
    assert schema.field("born").domain == "1930-01-01..2004-12-31"
    assert schema.field("smoker").type == "boolean"
    assert 100_000 <= schema.field("income").constraints.maximum <= 300_000
    assert schema.to_review() == ["note", "unit"]
    text = schema.to_yaml()
    assert "canary" not in text
    assert "Drafted privately: epsilon 1 and delta 1e-06 for one record." in text
    assert "'patient_id' identifies people" in text
    receipt = budget.receipt()
    assert Fraction(9, 10) < receipt.epsilon <= 1
    assert receipt.delta == Fraction(1, 10**6)
    assert not receipt.publishable
    kept = type(schema).from_yaml(text)
    assert kept == schema
    ready = type(schema)(
        fields=tuple(f for f in schema.fields if not f.review), missing_values=schema.missing_values
    )
    assert len(ready.encode(data)["age"]) == data.height


def test_the_same_seed_gives_the_same_draft() -> None:
    data = people(5000)
    drafts = [
        draft_private(data, Budget(1, "1e-6", randomness=Randomness.seeded(3))).to_yaml() for _ in range(2)
    ]
    assert drafts[0] == drafts[1]


def test_without_delta_text_is_left_to_the_custodian() -> None:
    budget = Budget(1, randomness=Randomness.seeded(9))
    schema = draft_private(people(), budget)
    assert schema.to_review() == ["sex", "note", "unit"]
    assert "finding categories needs a delta" in schema.to_yaml()
    assert budget.receipt().delta == 0


def test_little_epsilon_leaves_everything_to_the_custodian() -> None:
    budget = Budget("1/1000", "1e-9", randomness=Randomness.seeded(9))
    schema = draft_private(people(2000), budget)
    assert schema.to_review() == ["age", "income", "sex", "born", "smoker", "note", "unit"]
    assert "0 of 6 columns were looked at" in schema.to_yaml()
    assert "not looked at, because there is too little epsilon" in schema.to_yaml()
    assert budget.receipt().epsilon == Fraction(1, 20_000)  # no more than finding out cost
    assert schema.drafted is not None
    assert schema.drafted.epsilon == "5e-05"


def test_too_few_records_are_charged_for_being_counted_alone() -> None:
    counting = Budget("1/200", randomness=Randomness.seeded(4))
    budget = Budget("19/200", "1e-6", randomness=Randomness.seeded(4))
    schema = draft_private(people(60), budget, counting=counting)
    assert (counting.receipt().epsilon, budget.receipt().epsilon) == (Fraction(1, 200), 0)
    assert schema.drafted is not None
    assert schema.drafted.epsilon == "0.005"
    rich = Budget("19/20", "1e-6", randomness=Randomness.seeded(4))
    schema = draft_private(people(), rich, counting=Budget("1/20", randomness=Randomness.seeded(4)))
    assert schema.drafted is not None
    assert schema.drafted.epsilon == "1"
    assert rich.receipt().epsilon == Fraction(19, 20)


@pytest.mark.parametrize(("records", "epsilon", "least"), [
    (1000, "0.1", 2), (4000, "0.1", 6), (16_000, "0.1", 10), (1000, "1", 10),
])  # fmt: skip
def test_what_an_amount_can_resolve_it_resolves(records: int, epsilon: str, least: int) -> None:
    """At the documented amount none of ten columns of 4,000 records could be told before."""
    made = churn(records)
    budget = Budget(epsilon, "1e-6", randomness=Randomness.seeded(1))
    schema = draft_private(made.frame, budget)
    assert len(schema.fields) - len(schema.to_review()) + 1 >= least
    assert budget.receipt().epsilon <= budget.epsilon


def test_codes_and_signs_are_found_privately_too() -> None:
    made = census(6000)
    schema = draft_private(made.frame, Budget(2, "1e-6", randomness=Randomness.seeded(1)))
    for name, codes in made.codes.items():
        assert set(schema.field(name).values) <= set(codes), name
        assert schema.field(name).outside == "other"
    often = [name for name, marker in made.markers.items() if (made.frame[name] == marker).mean() > 0.1]
    assert len(often) > 5
    for name in often:
        assert made.markers[name] in (schema.field(name).missing_values or ()), name
        assert schema.field(name).missing == "value"
    assert schema.field("SEX").values == (1, 2)
    assert schema.encode(made.frame).keys() == set(made.frame.columns)
    assert type(schema).from_yaml(schema.to_yaml()) == schema


def test_what_to_expect_is_said_from_names_alone() -> None:
    few = Reach(2, Fraction(1, 10))
    many = Reach(20, Fraction(1, 10))
    assert few.least(2) < many.least(20)
    assert many.columns_from(10**6) == 20
    assert 0 < many.columns_from(2000) < 20
    assert many.columns_from(10) == 0
    reach = reach_of(people(0), "0.1", "1e-6")
    assert reach == reach_of(people(500), "0.1", "1e-6") == Reach(6, Fraction(1, 10), Fraction(1, 10**6))
    assert "names categories that" in reach.words
    user = Unit(protects="user", column="patient_id", at_most=3)
    assert reach_of(people(0), "0.1", unit=user).least(6) == Reach(18, Fraction(1, 10)).least(18)
    with pytest.raises(UsageError, match="--headers-only"):
        reach_of(people(0), 1, kind="sequences")


def test_a_user_pays_for_all_of_their_records() -> None:
    unit = Unit(protects="user", column="patient_id", at_most=3)
    budget = Budget(3, "1e-6", randomness=Randomness.seeded(9))
    schema = draft_private(people(), budget, unit=unit, order_key=b"key")
    assert schema.unit == unit
    assert schema.field("age").domain == "0..100"
    assert "unit" not in schema.to_review()
    sensitivities = {charge.label: charge.sensitivity for _, charge in budget.receipt(unit).charges()}
    assert sensitivities["records"] == "3"
    assert sensitivities["outlines"] == "18"  # six columns, three records each
    assert sensitivities["sex"] == "3"
    assert budget.receipt(unit).guarantee.endswith(
        "for one user (patient_id), who contributes at most 3 records; "
        "neighbouring datasets: one unit added or removed"
    )


def test_points_keep_their_coordinates_alone() -> None:
    rng = np.random.default_rng(2)
    data = pl.DataFrame({"x": rng.random(5000) * 10, "y": rng.random(5000) * 20, "shop": ["a"] * 5000})
    schema = draft_private(data, Budget(2, "1e-6", randomness=Randomness.seeded(1)), kind="points")
    assert (schema.kind, schema.names) == ("points", ("x", "y"))
    assert (schema.field("x").outside, schema.field("x").missing) == ("clamp", "refuse")
    assert "'shop' is not a coordinate" in schema.to_yaml()


@pytest.mark.parametrize(("data", "how", "why"), [
    ({"patient_id": [1]}, {}, "identify people"),
    ({"age": [1]}, {"kind": "sequences"}, "--headers-only"),
    ({"age": [1]}, {"unit": Unit(protects="node")}, "a record or a user"),
    ({"age": [1]}, {"unit": Unit(protects="user", column="id", at_most=1)}, "id: the data has no such"),
    ({"odd": [[1, 2]]}, {}, "No column holds plain values"),
])  # fmt: skip
def test_mistakes_cost_nothing(data: Any, how: Any, why: str) -> None:
    budget = Budget(1)
    with pytest.raises((DataError, UsageError), match=why):
        draft_private(pl.DataFrame(data), budget, **how)
    assert budget.receipt().epsilon == 0


def test_odd_columns_are_left_out_by_their_type() -> None:
    data = people(3000).with_columns(pl.Series("list", [[1]] * 3000))
    assert "list" not in draft_private(data, Budget(1, randomness=Randomness.seeded(1))).names


def test_a_known_choice_of_records_is_on_the_receipt() -> None:
    unit = Unit(protects="user", column="patient_id", at_most=3)
    fresh, known = Budget(3, "1e-6"), Budget(3, "1e-6")
    draft_private(people(), fresh, unit=unit)
    draft_private(people(), known, unit=unit, order_key=b"key")
    assert fresh.receipt(unit).publishable
    assert not known.receipt(unit).publishable


_PLAIN = ["b", "c"] * 200
_ODD_ONES: list[tuple[list[Any], object]] = [
    ([None] * 400, {"hiv-positive": 1}),
    ([None] * 400, [7, 8]),
    ([None] * 400, b"secret"),
    (_PLAIN, {"hiv-positive": 1}),
    (_PLAIN, ["nested"]),
    (_PLAIN, "x" * 100_000),
    (_PLAIN, 7),
    (list(range(400)), None),
    (list(range(400)), 2.5),
    (list(range(400)), 10**30),
    (list(range(400)), "text"),
    (list(range(400)), {"hiv-positive": 1}),
    ([True, False] * 200, None),
    ([date(2020, 1, 2)] * 400, "never"),
    ([datetime(2020, 1, 2, 3)] * 400, "never"),
    ([timedelta(1)] * 400, "never"),
]


@pytest.mark.parametrize(("values", "one_more"), _ODD_ONES)
def test_no_single_value_decides_how_a_pandas_column_is_read(values: list[Any], one_more: object) -> None:
    """The private draft of two neighbouring frames differs in what is counted under noise alone.

    At this epsilon the noise hides everything: whatever differs was read off the dtype. The same seed gives
    the same noise, and one record moves no count across a threshold that is this large.
    """

    def drafted(column: list[Any]) -> str:
        frame = pd.DataFrame({"age": range(len(column)), "x": column})
        budget = Budget("1e-6", "1e-12", randomness=Randomness.seeded(1))
        return draft_private(frame, budget).to_yaml()

    text = drafted([*values, one_more])
    assert text == drafted(values)
    assert "hiv" not in text


@pytest.mark.parametrize(("values", "one_more"), _ODD_ONES)
def test_one_more_record_moves_one_class_of_a_pandas_column(values: list[Any], one_more: object) -> None:
    """Sensitivity one also where pandas gives the two columns different types."""

    def classes(column: list[Any]) -> Any:
        source = read(pd.DataFrame({"x": column}))
        return open_seal(Column(source.plain(["x"])["x"]).outline())

    assert np.abs(classes([*values, one_more]) - classes(values)).sum() == 1


def test_the_keys_of_a_struct_are_not_named() -> None:
    data = people(3000).with_columns(pl.Series("odd", [{"hiv-positive": 1}] * 3000))
    text = draft_private(data, Budget(1, randomness=Randomness.seeded(1))).to_yaml()
    assert "Left out: 'odd'" in text
    assert "hiv" not in text
