"""Receipts add up exactly, survive JSON, and do not believe a forged file."""

from __future__ import annotations

import json
from copy import deepcopy
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import ReleaseError
from penstock.privacy.budgets.accounting import rho_of
from penstock.privacy.budgets.amounts import brief, plain
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.budgets.charges import Apart, Charge, Concentrated, Entry, Portion, Together
from penstock.privacy.budgets.receipt import Receipt
from penstock.privacy.unit import Relation, Unit

fractions = st.fractions(min_value=0, max_value=5, max_denominator=10**6)
texts = st.text(max_size=8)
charges = st.builds(
    Charge,
    label=texts,
    mechanism=texts,
    epsilon=fractions,
    delta=st.fractions(0, Fraction(1, 100)),
    sensitivity=texts,
    detail=texts,
)


@st.composite
def concentrated(draw: st.DrawFn) -> Concentrated:
    epsilon = draw(st.fractions(Fraction(1, 10), 5, max_denominator=100))
    delta = draw(st.fractions(Fraction(1, 10**9), Fraction(1, 100), max_denominator=10**9))
    rho = rho_of(epsilon, delta)
    count = draw(st.integers(1, 3))
    return Concentrated(
        draw(texts),
        epsilon,
        delta,
        rho,
        tuple(
            Portion(draw(texts), draw(texts), rho / (count + draw(st.integers(0, 2))), "1", "")
            for _ in range(count)
        ),
    )


entries: st.SearchStrategy[Entry] = st.recursive(
    st.one_of(charges, concentrated()),
    lambda parts: st.one_of(
        st.builds(Together, label=texts, parts=st.lists(parts, max_size=3).map(tuple)),
        st.builds(Apart, label=texts, parts=st.lists(parts, max_size=3).map(tuple), meets=st.integers(1, 3)),
    ),
    max_leaves=8,
)


@settings(deadline=None)
@given(
    parts=st.lists(entries, max_size=3),
    ledger=st.one_of(st.none(), st.just("none such/1"), texts.filter(bool)),
    publishable=st.booleans(),
)
def test_a_receipt_survives_json(parts: list[Entry], ledger: str | None, publishable: bool) -> None:
    paid = Together("release", tuple(parts))
    receipt = Receipt(*paid.cost, Relation.ADD_REMOVE, Unit(), paid, publishable, ledger)
    again = Receipt.from_dict(json.loads(json.dumps(receipt.to_dict())))
    assert again == receipt


@settings(deadline=None)
@given(entry=entries)
def test_costs_compose_as_their_definition_says(entry: Entry) -> None:
    def cost(node: Entry, which: int) -> Fraction:
        if isinstance(node, Charge | Concentrated):
            return (node.epsilon, node.delta)[which]
        costs = sorted((cost(part, which) for part in node.parts), reverse=True)
        return sum(costs if isinstance(node, Together) else costs[: node.meets], Fraction(0))

    assert entry.cost == (cost(entry, 0), cost(entry, 1))


def small_receipt() -> dict[str, Any]:
    budget = Budget("1", "1e-6")
    structure, counts = budget.split(structure="3/10", counts="7/10")
    structure.spend("permute and flip", relation=Relation.ADD_REMOVE, detail="d")
    for part in counts.part("parts", "1/2").apart(["left", "right"], because="made up"):
        part.spend("discrete laplace", relation=Relation.ADD_REMOVE, sensitivity="1")
    counts.rest("sums").concentrated("sums").spend("discrete gaussian", relation=Relation.ADD_REMOVE)
    data: dict[str, Any] = json.loads(json.dumps(budget.receipt().to_dict()))
    Receipt.from_dict(data)
    return data


HONEST = small_receipt()


def forged(*path: str | int, value: Any) -> dict[str, Any]:
    data = deepcopy(HONEST)
    inner: Any = data
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    return data


def missing(*path: str | int) -> dict[str, Any]:
    data = deepcopy(HONEST)
    inner: Any = data
    for step in path[:-1]:
        inner = inner[step]
    del inner[path[-1]]
    return data


FIRST = ("paid", "together", 0)
GROUP = ("paid", "together", 1, "together")


def test_the_paths_used_for_forging_are_the_right_ones() -> None:
    assert HONEST["paid"]["together"][0]["mechanism"] == "permute and flip"
    assert "apart" in HONEST["paid"]["together"][1]["together"][0]
    assert "concentrated" in HONEST["paid"]["together"][1]["together"][1]


@pytest.mark.parametrize(
    "data",
    [
        forged("epsilon", value="1/2"),
        forged("delta", value="0"),
        forged("epsilon", value="2"),
        forged(*FIRST, "epsilon", value="1/10"),
        forged("guarantee", value="pure differential privacy, epsilon = 0.01, for one record"),
        forged("unit", value={"protects": "nobody"}),
    ],
)
def test_a_total_that_does_not_add_up_is_refused(data: Any) -> None:
    with pytest.raises(ReleaseError, match="do not add up"):
        Receipt.from_dict(data)


@pytest.mark.parametrize(
    "data",
    [
        forged("budget", "epsilon", value="1/2"),
        forged("budget", "delta", value="0"),
        forged(*FIRST, "epsilon", value="5"),
        forged(*FIRST, "delta", value="1/10"),
    ],
)
def test_charges_above_the_budget_are_refused(data: Any) -> None:
    with pytest.raises(ReleaseError, match="more than its budget"):
        Receipt.from_dict(data)


@pytest.mark.parametrize(
    "data",
    [
        forged("relation", value="replace"),
        forged("unit", value={"protects": "user", "column": "id", "at_most": 2}),
        forged(*GROUP, 0, "meets", value=0),
    ],
)
def test_disjoint_parts_are_refused_where_they_are_not_disjoint_for_the_unit(data: Any) -> None:
    with pytest.raises(ReleaseError, match="disjoint parts"):
        Receipt.from_dict(data)


@pytest.mark.parametrize(
    "data",
    [
        forged(*GROUP, 1, "rho", value="1"),
        forged(*GROUP, 1, "concentrated", 0, "rho", value="1"),
        forged(*GROUP, 1, "concentrated", 0, "rho", value="0"),
        forged(*GROUP, 1, "delta", value="0"),
    ],
)
def test_more_rho_than_was_bought_is_refused(data: Any) -> None:
    with pytest.raises(ReleaseError, match="do not trust it"):
        Receipt.from_dict(data)


@pytest.mark.parametrize(
    "data",
    [
        None,
        3,
        "receipt",
        [],
        {},
        [HONEST],
        missing("paid"),
        missing("budget"),
        missing("guarantee"),
        missing("epsilon"),
        missing("unit"),
        missing("ledger"),
        missing("publishable"),
        missing(*FIRST, "mechanism"),
        missing(*FIRST, "label"),
        missing(*GROUP, 0, "meets"),
        forged("paid", value=[]),
        forged("paid", value={"label": "x", "apart": [], "meets": 1}),
        forged("paid", "together", value={}),
        forged("paid", "together", value="abc"),
        forged("paid", "label", value=7),
        forged("relation", value="both"),
        forged("relation", value=None),
        forged("publishable", value="yes"),
        forged("publishable", value=1),
        forged("ledger", value=None),
        forged("ledger", value={"x": 1}),
        forged("unit", value={"protects": "Nobody"}),
        forged("unit", value={"protects": "record", "extra": 1}),
        forged("epsilon", value=1),
        forged("epsilon", value=1.0),
        forged("epsilon", value=None),
        forged("epsilon", value="-1"),
        forged("epsilon", value="nan"),
        forged("epsilon", value="1/0"),
        forged("epsilon", value="1e999999999"),
        forged("epsilon", value="9" * 5000),
        forged("epsilon", value="1.0"),
        forged("epsilon", value="١"),
        forged("budget", value="1"),
        forged("budget", "delta", value="-1/2"),
        forged(*FIRST, "epsilon", value="-3/10"),
        forged(*FIRST, "epsilon", value=0.3),
        forged(*FIRST, "delta", value="1e-400000000"),
        forged(*FIRST, "mechanism", value=None),
        forged(*FIRST, "sensitivity", value=1),
        forged(*FIRST, "detail", value=["x"]),
        forged(*FIRST, "label", value=None),
        forged(*GROUP, 0, "meets", value="1"),
        forged(*GROUP, 0, "meets", value=True),
        forged(*GROUP, 1, "epsilon", value="0"),
    ],
)
def test_what_is_not_a_receipt_is_refused(data: Any) -> None:
    with pytest.raises(ReleaseError, match="not a Penstock receipt"):
        Receipt.from_dict(data)


def test_a_receipt_nested_too_deeply_is_refused() -> None:
    paid: Any = {"label": "x", "together": []}
    for _ in range(100_000):
        paid = {"label": "x", "together": [paid]}
    with pytest.raises(ReleaseError, match="not a Penstock receipt"):
        Receipt.from_dict({**HONEST, "paid": paid})


def test_a_sum_crafted_to_take_forever_is_refused() -> None:
    crafted = [
        {
            "label": "x",
            "mechanism": "m",
            "epsilon": f"1/{10**1500 + i}",
            "delta": "0",
            "sensitivity": "",
            "detail": "",
        }
        for i in range(2000)
    ]
    with pytest.raises(ReleaseError, match="not a Penstock receipt"):
        Receipt.from_dict({**HONEST, "paid": {"label": "release", "together": crafted}})


def test_negative_charges_cannot_even_be_made() -> None:
    with pytest.raises(ReleaseError, match="negative"):
        Charge("x", "m", Fraction(-1))
    with pytest.raises(ReleaseError, match="negative"):
        Charge("x", "m", Fraction(1), Fraction(-1, 10))


def test_the_guarantee_in_words_names_amount_unit_and_relation() -> None:
    # Receipts of earlier releases are checked against this very sentence: changing it makes them unreadable.
    paid = Together("release", (Charge("size", "discrete laplace", Fraction(1, 20)),))
    receipt = Receipt(Fraction(1), Fraction(0), Relation.ADD_REMOVE, Unit(), paid)
    assert receipt.guarantee == (
        "pure differential privacy, epsilon = 0.05, for one record; "
        "neighbouring datasets: one unit added or removed"
    )
    assert HONEST["guarantee"].startswith("approximate differential privacy, epsilon = 1, delta = 1e-06, for")
    assert HONEST["ledger"] == "none: this release is in no ledger"


def test_a_receipt_can_be_entered_in_a_ledger() -> None:
    receipt = Receipt.from_dict(HONEST)
    assert receipt.ledger is None
    assert Receipt.from_dict(replace(receipt, ledger="people/1").to_dict()).ledger == "people/1"


def test_charges_come_with_the_groups_around_them() -> None:
    paths = [path for path, _ in Receipt.from_dict(HONEST).charges()]
    assert paths == [
        ("release",),
        ("release", "counts", "parts"),
        ("release", "counts", "parts"),
        ("release", "counts"),
    ]


@given(st.fractions())
def test_plain_text_is_exact(amount: Fraction) -> None:
    assert Fraction(plain(amount)) == amount


def test_a_tighter_total_can_be_asked_of_the_receipt_itself() -> None:
    """A hundred payments of 1/10: 10 by addition, below 5 at a delta of 1e-6."""
    paid = Together(
        "release", tuple(Charge(f"part {i}", "discrete Laplace", Fraction(1, 10)) for i in range(100))
    )
    receipt = Receipt(Fraction(10), Fraction(0), Relation.ADD_REMOVE, Unit(), paid)
    assert receipt.epsilon == 10
    assert 4 < receipt.epsilon_at("1e-6") < 5


def test_long_fractions_are_shown_rounded_whatever_a_file_says() -> None:
    assert brief("discrete Laplace: scale 52096031/892000") == "discrete Laplace: scale ≈ 58.4"
    assert brief("3/10 of 1/600") == "3/10 of 1/600"
    for hostile in ("12/000", "7" * 5000 + "/" + "1" * 4000, "12/" + "1" * 5000):
        assert brief(hostile) == hostile
