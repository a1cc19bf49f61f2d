"""What every method of the catalogue must keep: one function a promise, and none names a method.

Tiny data comes from the audits of the method's room (`MethodAudit`): records that may occur, a schema, and
parameters that matter. A method without an audit has no example, and fails.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any, get_args, get_origin

import numpy as np
import polars as pl
import pytest

import penstock
from penstock import catalogue
from penstock.audit.methods import MethodAudit
from penstock.audit.target import Kind
from penstock.audit.targets import every_audit
from penstock.catalogue import MethodInfo
from penstock.contracts.data import Data
from penstock.contracts.method import Method
from penstock.contracts.parameters import Exact, FromPython, Number, OneOf, Parameter, Text, Whole, YesNo
from penstock.contracts.plug import data_class, method_class
from penstock.errors import PenstockError, PenstockWarning
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.ledger.ledger import Ledger
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.unit import Relation
from penstock.releases import Release, load
from penstock.schema import Schema

DOCS = Path(__file__).parents[2] / "docs"
BUDGETS = ("1", "1/3", "7/13", "0.05", "3.000000001", "12345/67890")
SECTIONS = ("When to use it", "The theorem", "What it costs", "How good", "Picture", "Limits", "Reference")


@dataclass(frozen=True)
class Example:
    """Data that a method can be tried on."""

    schema: Schema
    frame: pl.DataFrame
    parameters: dict[str, Any]
    delta: Fraction = Fraction(0)

    def under(self, relation: str) -> Example:
        """The same records under another relation; replace makes their number public."""
        facts = self.schema.model_dump(by_alias=True, exclude_defaults=True)
        facts["relation"] = relation
        facts.pop("size", None)
        if relation == Relation.REPLACE:
            facts["size"] = self.frame.height
        return replace(self, schema=Schema.model_validate(facts))


def audits_of(info: MethodInfo) -> list[MethodAudit]:
    """The audits of a method, wherever they are listed."""
    return [audit for audits in every_audit() for audit in audits.methods if audit.method == info.name]


def examples(info: MethodInfo) -> list[Example]:
    """Everything that the audits of a method try, and the first of it with a crowd of records."""
    found = []
    for audit in audits_of(info):
        schema = Schema.from_yaml(audit.schema)
        records = list(audit.universe) or list(audit.pairs[0].second)
        if schema.size is not None:
            records = (records * schema.size)[: schema.size]
        columns = list(audit.columns or schema.names)
        frame = pl.DataFrame(records, schema=columns, orient="row")
        found.append(Example(schema, frame, dict(audit.parameters), audit.delta))
    assert found, f"{info.name} has no audit, so there is nothing to try it on"
    crowd = next((one for one in found if one.schema.size is None), None)
    if crowd is not None:
        found.append(replace(crowd, frame=pl.concat([crowd.frame] * 40)))
    return found


def fitted(
    info: MethodInfo, example: Example, epsilon: str = "1", *, engine: str = "memory", seed: int | None = 5
) -> Release:
    """One release, the way a user makes it."""
    return penstock.release(
        example.frame,
        example.schema,
        epsilon=epsilon,
        delta=example.delta,
        method=info.name,
        parameters=example.parameters,
        engine=engine,
        seed=seed,
    )


def words_of(release: Release) -> tuple[Any, ...]:
    """Everything that a release publishes, to be compared."""
    model = release.model()
    tables = {name: table.to_dict(as_series=False) for name, table in model.tables.items()}
    return (
        release.method,
        release.form,
        release.kind,
        release.answer,
        release.schema,
        release.receipt.to_dict(),
        dict(release.parameters),
        dict(model.json),
        tables,
    )


# The promises ----------------------------------------------------------------------------------------


def keeps_the_contract(info: MethodInfo, place: Path) -> None:
    """The class is what the catalogue says: a method of that name for that kind's data, of that form."""
    method = method_class(info)
    assert method.name == info.name
    assert data_of(method) is data_class(catalogue.kind(info.kind))
    release = fitted(info, examples(info)[0])
    found = catalogue.load(catalogue.form(info.form).where)
    assert type(release) is found
    assert (release.form, release.answer, release.method) == (info.form, info.answer, info.name)
    assert release.kind == info.kind
    assert info.kind in release.kinds
    assert info.answer in catalogue.ANSWERS
    assert isinstance(found, type)
    assert issubclass(found, Release)


def data_of(method: type[Method[Any]]) -> type[Data]:
    """The handle that a method takes, from the argument of `Method[...]`."""
    for cls in method.__mro__:
        for base in getattr(cls, "__orig_bases__", ()):
            origin = get_origin(base)
            if isinstance(origin, type) and issubclass(origin, Method):
                (taken,) = get_args(base)
                if isinstance(taken, type) and issubclass(taken, Data):
                    return taken
    raise AssertionError(f"{method.__name__} does not say which data it takes")


def spends_its_budget_exactly(info: MethodInfo, place: Path) -> None:
    """The receipt adds up to the budget, to the last digit, for every example and relation."""
    for relation in info.relations:
        for number, example in enumerate(examples(info)):
            if example.schema.unit.records > 1 and relation == Relation.REPLACE:
                continue  # a user who is replaced may bring another number of records
            epsilon = BUDGETS[number % len(BUDGETS)]
            release = fitted(info, example.under(relation), epsilon)
            assert release.receipt.epsilon == Fraction(epsilon)
            assert sum((charge.epsilon for _, charge in release.receipt.charges()), Fraction(0)) >= Fraction(
                epsilon
            )
            assert release.receipt.delta == 0 or not info.pure
            assert release.receipt.relation.value == relation
            assert release.receipt.unit == example.schema.unit


def releases_an_input_without_records(info: MethodInfo, place: Path) -> None:
    """No record is released like one record, or a release would prove that there was one."""
    for number, example in enumerate(examples(info)):
        if example.schema.size is not None:
            continue
        none = replace(example, frame=example.frame.clear())
        for engine in ("memory", "duckdb") if info.kind == "table" else ("memory",):
            with pytest.warns(PenstockWarning, match="there are no records"):
                release = fitted(info, none, engine=engine)
            assert release.receipt.epsilon == 1
            load(release.save(place / f"{number}-{engine}"))


def refuses_other_relations(info: MethodInfo, place: Path) -> None:
    """A relation that the catalogue does not list is refused, in words."""
    for relation in set(Relation) - {Relation(each) for each in info.relations}:
        with pytest.raises(PenstockError, match="relation"):
            fitted(info, examples(info)[0].under(relation.value))


def saves_and_loads(info: MethodInfo, place: Path) -> None:
    """What was saved is loaded: the same words, the same rows, the same questions."""
    for number, example in enumerate(examples(info)):
        release = fitted(info, example)
        folder = release.save(place / f"release {number}")
        again = penstock.load(folder)
        assert type(again) is type(release)
        assert words_of(again) == words_of(release)
        assert list(again.questions()) == list(release.questions())
        if release.can_sample:
            assert again.sample(20, seed=3).equals(release.sample(20, seed=3))


def stays_within_the_schema(info: MethodInfo, place: Path) -> None:
    """Synthetic rows have the declared columns and can be coded again without a complaint."""
    for example in examples(info):
        release = fitted(info, example)
        if release.can_sample:
            rows = release.sample(50, seed=1)
            opened = data_class(catalogue.kind(info.kind)).open(rows, _for_rows(release.schema))
            assert opened.schema.kind == info.kind


def _for_rows(schema: Schema) -> Schema:
    """The schema as it describes synthetic rows: nobody in them is a user, and their number is free."""
    facts = schema.model_dump(by_alias=True, exclude_defaults=True)
    for word in ("unit", "relation", "size"):
        facts.pop(word, None)
    return Schema.model_validate(facts)


def answers_alike_on_every_engine(info: MethodInfo, place: Path) -> None:
    """The same seed gives the same release, wherever the records are counted."""
    kind = catalogue.kind(info.kind)
    assert "memory" in kind.engines
    for example in examples(info):
        first, *others = [words_of(fitted(info, example, engine=engine)) for engine in kind.engines]
        assert all(other == first for other in others)
    for engine in {"memory", "duckdb"} - set(kind.engines):
        with pytest.raises(PenstockError, match="memory"):
            fitted(info, examples(info)[0], engine=engine)


def declares_its_parameters(info: MethodInfo, place: Path) -> None:
    """Every parameter says what it may be, its default is one of these, and wrong values cost nothing."""
    method = method_class(info)
    example = examples(info)[0]
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
                assert parameter.name in str(caught.value)
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
    if isinstance(domain, OneOf | YesNo):
        wrong += ["none of them", 17]
    if isinstance(domain, Whole | Number | Exact | YesNo):
        wrong += [float("nan"), "many words"]
    if isinstance(domain, Whole):
        wrong += [True, 1.5, np.int64(1)]
        wrong += [] if domain.least is None else [domain.least - 1, -(10**30)]
        wrong += [] if domain.most is None else [domain.most + 1, 10**30]
    if isinstance(domain, Number | Exact):
        wrong += [bound for bound in (domain.above, domain.below) if bound is not None]
        wrong += [] if domain.least is None else [domain.least - 1]
        wrong += [] if domain.most is None else [domain.most + 1]
    if isinstance(domain, Text):
        wrong.append(17)
    return wrong


class account:  # noqa: N801  # reads as a word in a with statement
    """A ledger with one account, and how much epsilon is left on it."""

    def __init__(self, place: Path) -> None:
        self.path = place / "ledger.db"

    def __enter__(self) -> tuple[str, Callable[[], Fraction]]:
        Ledger.create(self.path)
        ledger = Ledger.open(self.path)
        ledger.set_limit("data", 10)
        return str(self.path), lambda: Ledger.open(self.path).account("data").balance().left[0]

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
    mistakes: list[dict[str, Any]] = [
        {"schema": Schema.model_validate(facts)},
        {"out": place / "taken"},
        {"epsilon": 0},
        {"epsilon": "a lot"},
        {"epsilon": 11},
        {"delta": 2},
        {"engine": "abacus"},
        {"data": lacking},
        {"data": place / "no such file.csv"},
    ]
    with account(place) as (ledger, left):
        for mistake in mistakes:
            request: dict[str, Any] = {
                "data": example.frame,
                "schema": example.schema,
                "epsilon": 1,
                "method": info.name,
                "parameters": example.parameters,
                "ledger": ledger,
                "account": "data",
                **mistake,
            }
            with pytest.raises(PenstockError) as caught:
                penstock.release(request.pop("data"), request.pop("schema"), **request)
            assert "\n" not in str(caught.value)
            assert left() == 10, mistake
        paid = penstock.release(
            example.frame,
            example.schema,
            epsilon="1/3",
            method=info.name,
            parameters=example.parameters,
            ledger=ledger,
            account="data",
        )
        assert left() == 10 - Fraction(1, 3)
        assert paid.receipt.ledger is not None


def tells_seeded_from_publishable(info: MethodInfo, place: Path) -> None:
    """Noise from a seed can be taken off again, and the release says so; without a seed no two are alike."""
    example = examples(info)[-1]
    seeded = fitted(info, example, seed=1)
    assert not seeded.publishable
    assert words_of(seeded) == words_of(fitted(info, example, seed=1))
    assert fitted(info, example, seed=None).publishable


def tells_a_known_choice_of_records(info: MethodInfo, place: Path) -> None:
    """Data opened with a key that somebody knows make no publishable release, by whichever way."""
    example = examples(info)[0]
    method = method_class(info)(**example.parameters)
    handle = data_class(catalogue.kind(info.kind))
    for key, publishable in ((None, True), (b"known", False)):
        opened = handle.open(example.frame, example.schema, order_key=key)
        for prepared in (False, True):
            budget = Budget(1, 0 if info.pure else "1e-6")
            data, rest = opened.prepared(budget) if prepared else (opened, budget)
            assert method.fit(data, rest).receipt.publishable is publishable


def draws_its_report(info: MethodInfo, place: Path) -> None:
    """The public page renders, and says method and guarantee."""
    for example in examples(info):
        page = fitted(info, example).report()
        assert page.lstrip().startswith("<!doctype html>")
        assert info.name in page
        assert "ε = 1" in page
        assert "<script src" not in page


def has_its_page(info: MethodInfo, place: Path) -> None:
    """A method has a page with the theorem, its cost and its limits; baselines share one, a section each."""
    if info.role == "baseline":
        text = (DOCS / "methods" / "baselines.md").read_text(encoding="utf-8")
        section = re.search(rf"^## {re.escape(info.name)}$(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
        assert section is not None, f"docs/methods/baselines.md has no section {info.name}"
        for word in ("**Theorem.**", "**Cost.**", "**Limits.**", "**Reference.**"):
            assert word in section[1], f"{info.name}: {word}"
        return
    text = (DOCS / "methods" / f"{info.name}.md").read_text(encoding="utf-8")
    titles = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert [title for title in titles if title in SECTIONS] == list(SECTIONS)


def declares_its_questions(info: MethodInfo, place: Path) -> None:
    """What a release can be asked is reached from the command line, and says what it does in a clause."""
    options = {option.question for option in catalogue.kind(info.kind).options}
    for name, question in fitted(info, examples(info)[-1]).questions().items():
        assert name in options | {"condition"}
        assert question.words[0].islower()
        assert not question.words.endswith(".")
        for option in catalogue.kind(info.kind).options:
            assert not (option.question == name and option.many) or question.many is not None


def is_audited(info: MethodInfo, place: Path) -> None:
    """The audit has the method as it is shipped, and at least one broken copy of it.

    That the first stands and the others are refuted is the audit's own test, which runs all of them.
    """
    found = [
        target
        for audits in every_audit()
        for target in replace(audits, proofs=tuple).targets()
        if target.name.removeprefix("broken-").startswith(info.name)
    ]
    names = {audit.name for audit in audits_of(info)}
    assert names <= {target.name for target in found if target.kind is Kind.SHIPPED}
    broken = [target for target in found if target.kind is Kind.BROKEN]
    assert any(target.summary.startswith(f"{info.name}: ") for target in broken)


def asks_only_sealed_data(info: MethodInfo, place: Path) -> None:
    """`fit` pays from the budget it is given and from nothing else; an empty part of it is refused."""
    example = examples(info)[0]
    opened = data_class(catalogue.kind(info.kind)).open(example.frame, example.schema)
    budget = Budget(1, randomness=Randomness.seeded(1))
    data, rest = opened.prepared(budget)
    method = method_class(info)(**example.parameters)
    method.check(data.schema)
    method.fit(data, rest)
    assert budget.left == (0, 0)
    with pytest.raises(PenstockError):
        method.fit(data, rest)


Check = Callable[[MethodInfo, Path], None]

CHECKS: tuple[Check, ...] = (
    keeps_the_contract,
    spends_its_budget_exactly,
    releases_an_input_without_records,
    refuses_other_relations,
    saves_and_loads,
    stays_within_the_schema,
    answers_alike_on_every_engine,
    declares_its_parameters,
    charges_nothing_for_mistakes,
    tells_seeded_from_publishable,
    tells_a_known_choice_of_records,
    draws_its_report,
    has_its_page,
    declares_its_questions,
    is_audited,
    asks_only_sealed_data,
)
