"""Promises about money: a release costs its budget exactly, and whatever is refused costs nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from inspect import signature
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.conformance.bounds import HUGE, driven, largest, neighbours, refusal, too_long, with_many_fields
from tests.conformance.examples import Example, examples, fitted

import penstock
from penstock import catalogue
from penstock.catalogue import MethodInfo
from penstock.contracts.parameters import Exact, FromPython, Number, OneOf, Parameter, Text, Whole, YesNo
from penstock.contracts.plug import data_class, method_class
from penstock.errors import PenstockError
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.ledger.ledger import Ledger
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.unit import Relation
from penstock.releases import Model, Release
from penstock.schema import Schema

FEW = (Fraction(1, 997), Fraction(1, 10**6), Fraction("3.000000001"))
RANDOM_BUDGETS = 3
LARGE = 20_000
"""Letters and rows of a model whose report and synthetic data would take long to write."""


def spends_its_budget_exactly(info: MethodInfo, place: Path) -> None:
    """The receipt is the budget, to the last digit: for every example and relation, however odd the budget
    and however little it is, and whether the number of records is public or not."""
    chance = Random(info.name)
    for example in examples(info):
        for relation in info.relations:
            for public in (False, True):
                if example.schema.unit.records > 1 and (public or relation == Relation.REPLACE):
                    continue  # a user who is replaced may bring another number of records
                described = example.under(relation, public=public)
                for epsilon in (*FEW, *(_any_budget(chance) for _ in range(RANDOM_BUDGETS))):
                    _paid_in_full(info, described, epsilon)


def _any_budget(chance: Random) -> Fraction:
    return Fraction(chance.randrange(1, 10**6), chance.randrange(10**5, 10**7))


def _paid_in_full(info: MethodInfo, example: Example, epsilon: Fraction) -> None:
    receipt = fitted(info, example, epsilon).receipt
    assert receipt.epsilon == epsilon, f"{receipt.epsilon} was spent of {epsilon}"
    assert sum((charge.epsilon for _, charge in receipt.charges()), Fraction(0)) >= epsilon
    assert receipt.delta == example.delta, f"a delta of {receipt.delta} was spent of {example.delta}"
    assert receipt.delta == 0 or info.takes_delta
    assert receipt.relation is example.schema.relation
    assert receipt.unit == example.schema.unit


def refuses_other_relations(info: MethodInfo, place: Path) -> None:
    """A relation that the catalogue does not list is refused, in words."""
    for relation in set(Relation) - {Relation(each) for each in info.relations}:
        with pytest.raises(PenstockError, match="relation"):
            fitted(info, examples(info)[0].under(relation.value))


def declares_its_parameters(info: MethodInfo, place: Path) -> None:
    """Every argument is a declared parameter that says what it may be, its default is one of these, and wrong
    values cost nothing."""
    method = method_class(info)
    example = examples(info)[0]
    taken = list(signature(method).parameters)
    assert [parameter.name for parameter in method.parameters()] == taken, f"undeclared among {taken}"
    with account(place) as (ledger, left):
        for parameter in method.parameters():
            assert parameter.domain.words
            assert (parameter.default is None) == parameter.optional or parameter.domain.accepts(
                parameter.default
            )
            for wrong in wrong_values(parameter):
                with pytest.raises(PenstockError) as caught:
                    penstock.release(
                        example.frame,
                        example.schema,
                        epsilon=1,
                        method=info.name,
                        parameters={**example.parameters, parameter.name: wrong},
                        ledger=ledger,
                        account="data",
                    )
                said = str(caught.value)
                assert parameter.name in said
                assert said.endswith("Nothing was spent.")
                assert "\n" not in said
                assert "Fraction(" not in said
                assert left() == 10
        with pytest.raises(PenstockError, match="no parameter 'nonsense'"):
            penstock.release(
                example.frame, example.schema, epsilon=1, method=info.name, parameters={"nonsense": 1}
            )
        assert left() == 10


def wrong_values(parameter: Parameter) -> list[Any]:
    """Values that a parameter cannot have: of another type, and beyond each bound."""
    domain = parameter.domain
    wrong: list[Any] = []
    if not isinstance(domain, FromPython):
        wrong.append(["a list"])
    else:
        wrong += [17, "many words", object(), ([[0.0]], [["one"]]), ([[float("nan")]], [[1.0]])]
    if isinstance(domain, OneOf | YesNo):
        wrong += ["none of them", 17]
    if isinstance(domain, Whole | Number | Exact | YesNo):
        wrong += [float("nan"), "many words", *too_long()]
    if isinstance(domain, Whole):
        wrong += [True, 1.5, np.int64(1)]
        wrong += [] if domain.least is None else [domain.least - 1, -(10**30)]
        wrong += [] if domain.most is None else [domain.most + 1, 10**30]
    if isinstance(domain, Number | Exact):
        wrong += [bound for bound in (domain.above, domain.below) if bound is not None]
        wrong += [] if domain.least is None else [domain.least - 1]
        wrong += [] if domain.most is None else [domain.most + 1, Fraction(domain.most) + 1]
    if isinstance(domain, Text):
        wrong.append(17)
    return wrong


def works_up_to_the_ends_of_its_ranges(info: MethodInfo, place: Path) -> None:
    """What a range declares is taken: with any parameter at any end, and with whole numbers as large as
    `check` allows, a release is made and can be saved, or `check` refuses it in a sentence."""
    method, example = method_class(info), examples(info)[0]
    base = example.parameters
    tried = [*driven(method, base), *largest(method, base, example.schema)]
    for number, parameters in enumerate(tried):
        release = _made_or_refused(info, replace(example, parameters=parameters))
        if release is not None and _size(release.model()) < LARGE:
            penstock.load(release.save(place / f"{number}"))


def _size(model: Model) -> int:
    return len(str(model.json)) + sum(table.height for table in model.tables.values())


def refuses_before_it_charges(info: MethodInfo, place: Path) -> None:
    """On every schema for its kind of data, either a release is made or `check` refuses, and nothing of the
    budget is spent: nobody pays for an answer that was clear from schema and parameters."""
    method = method_class(info)
    for example in neighbours(info):
        for parameters in (example.parameters, *largest(method, example.parameters, example.schema)):
            _made_or_refused(info, replace(example, parameters=parameters))
    wide = with_many_fields(info)
    if wide is not None:
        _made_or_refused(info, wide)


def _made_or_refused(info: MethodInfo, example: Example) -> Release | None:
    """The release, or None where `check` refused it; whatever `fit` refuses by itself is a failure."""
    method = method_class(info)
    said = refusal(method, example.parameters, example.schema)
    opened = data_class(catalogue.kind(info.kind)).open(example.frame, example.schema)
    budget = Budget(1, 0 if info.pure else "1/1000", randomness=Randomness.seeded(3))
    if said is None:
        release = method(**example.parameters).fit(*opened.prepared(budget))
        assert release.receipt.epsilon == 1, example.parameters
        return release
    assert said.strip() == said
    assert said.endswith(".")
    assert "\n" not in said
    try:
        chosen = method(**example.parameters)
    except PenstockError:
        return None  # words that do not go together are refused when they are said
    with pytest.raises(PenstockError):
        chosen.fit(opened, budget)
    assert not list(budget.receipt().charges()), f"{said} ({example.parameters})"
    return None


class account:  # noqa: N801  # reads as a word in a with statement
    """A ledger with one account, and how much epsilon is left on it."""

    def __init__(self, place: Path) -> None:
        self.path = place / "ledger.db"

    def __enter__(self) -> tuple[str, Callable[[], Fraction]]:
        Ledger.create(self.path)
        ledger = Ledger.open(self.path)
        ledger.set_limit("data", 10, "1/10")
        return str(self.path), lambda: ledger.account("data").balance().left[0]

    def __exit__(self, *_: object) -> None:
        self.path.unlink()


def charges_nothing_for_mistakes(info: MethodInfo, place: Path) -> None:
    """An unreviewed schema, an occupied folder, a bad budget, unreadable records: free, and said in words."""
    example = examples(info)[0]
    facts = example.schema.model_dump(by_alias=True, exclude_defaults=True)
    facts["fields"][0]["review"] = True
    (place / "taken").mkdir()
    (place / "taken" / "something.txt").write_text("mine", encoding="utf-8")
    lacking = example.frame.select(pl.lit("?").alias("nothing the schema knows"))
    mistakes: list[Mapping[str, Any]] = [
        {"schema": Schema.model_validate(facts)},
        {"out": place / "taken"},
        {"epsilon": 0},
        {"epsilon": "a lot"},
        {"epsilon": 11},
        {"epsilon": HUGE},
        {"epsilon": Fraction(1, 2) + Fraction(1, HUGE)},
        {"delta": Fraction(1, HUGE)},
        {"delta": 2},
        {"engine": "abacus"},
        {"parameters": {1: 2}},
        {"parameters": {1: HUGE}},
        {"parameters": ["least"]},
        {"method": 5},
        {"schema": None},
        {"schema": facts},
        {"out": 5},
        *({"seed": seed} for seed in ("x", 1.5, -1, True, HUGE, -HUGE)),
        {"data": lacking},
        {"data": place / "no such file.csv"},
    ]
    with account(place) as (ledger, left):
        for mistake in mistakes:
            request: dict[str, Any] = {
                "data": example.frame,
                "schema": example.schema,
                "epsilon": 1,
                "delta": example.delta,
                "method": info.name,
                "parameters": example.parameters,
                "ledger": ledger,
                "account": "data",
                **mistake,
            }
            with pytest.raises(PenstockError) as caught:
                penstock.release(request.pop("data"), request.pop("schema"), **request)
            said = str(caught.value)
            assert said.endswith((".", "?"))
            assert "\n" not in said
            assert left() == 10, mistake
        paid = penstock.release(
            example.frame,
            example.schema,
            epsilon="1/3",
            delta=example.delta,
            method=info.name,
            parameters=example.parameters,
            ledger=ledger,
            account="data",
        )
        assert left() == 10 - Fraction(1, 3)
        assert paid.receipt.ledger is not None


def pays_from_its_budget_alone(info: MethodInfo, place: Path) -> None:
    """`fit` pays from the budget it is given and from nothing else; an empty part of it is refused."""
    example = examples(info)[0]
    opened = data_class(catalogue.kind(info.kind)).open(example.frame, example.schema)
    budget = Budget(1, example.delta, randomness=Randomness.seeded(1))
    data, rest = opened.prepared(budget)
    method = method_class(info)(**example.parameters)
    method.check(data.schema)
    method.fit(data, rest)
    assert budget.left == (0, 0)
    with pytest.raises(PenstockError):
        method.fit(data, rest)
