"""What every kind of data must keep: each place of its entry holds a thing of its contract, in its own room.

Strings in the catalogue are what the type checker cannot follow, so they are followed here. One function a
promise, run for every kind without naming any.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path

import polars as pl
import pytest
from tests.conformance.examples import Example, examples, fitted

import penstock
from penstock import catalogue
from penstock.audit.methods import Audits
from penstock.catalogue import FormInfo, KindInfo, MethodInfo, OptionInfo, UnitInfo
from penstock.contracts.data import Data
from penstock.contracts.method import Method
from penstock.contracts.plug import data_class, method_class
from penstock.drafting.proposal import KindDraft, kind_draft
from penstock.errors import PenstockError
from penstock.evaluation import Evaluator
from penstock.releases import Release
from penstock.releases.loading import find
from penstock.schema import Layout, Schema
from penstock.schema.layout import layout_class


def room_of(kind: KindInfo) -> str:
    """The package in which the kind keeps its data handle."""
    return kind.data.partition(":")[0].rpartition(".")[0]


def home_of(info: MethodInfo) -> str:
    """The package in which a method is at home: that of its kind, or that of an analysis."""
    room = room_of(catalogue.kind(info.kind))
    place = info.where.partition(":")[0]
    return room if place.startswith(f"{room}.") else ".".join(place.split(".")[:3])


def lies_in(place: str, room: str) -> bool:
    """Whether a place is in a room, and what stands there is at home there."""
    found = catalogue.load(place)
    module = place.partition(":")[0]
    at_home = not isinstance(found, type) or found.__module__ == module
    return at_home and module.startswith(f"{room}.")


# The promises ----------------------------------------------------------------------------------------


def stands_in_its_own_room(kind: KindInfo, place: Path) -> None:
    """Everything that an entry names is in one package, which is called after the kind."""
    room = room_of(kind)
    assert room.rpartition(".")[2] == kind.name
    assert all(lies_in(each, room) for each in kind.places)


def keeps_its_contracts(kind: KindInfo, place: Path) -> None:
    """Each place holds a class (or a list of audits) of the contract that the house relies on."""
    contracts = [(kind.data, Data), (kind.draft, KindDraft)]
    contracts += [(kind.evaluation, Evaluator)] if kind.evaluation is not None else []
    contracts += [(kind.layout[1], Layout)] if kind.layout is not None else []
    for where, contract in contracts:
        found = catalogue.load(where)
        assert isinstance(found, type)
        assert issubclass(found, contract)
        assert not inspect.isabstract(found), f"{where} leaves something out"
    assert data_class(kind) is catalogue.load(kind.data)
    assert isinstance(kind_draft(kind.name), KindDraft)
    assert kind.audits is None or isinstance(catalogue.load(kind.audits), Audits)
    at_home = [info for info in catalogue.methods(kind.name) if home_of(info) == room_of(kind)]
    assert not at_home or (kind.evaluation is not None and kind.audits is not None)


def describes_its_block(kind: KindInfo, place: Path) -> None:
    """Every key of the kind's block of the schema has a description, for the page about the format."""
    block = layout_class(kind.name)
    for name, field in block[1].model_fields.items() if block is not None else ():
        assert field.description, f"{kind.name}: {name}"
        assert field.description[0].islower()
        assert not field.description.endswith(".")


def goes_the_whole_way(kind: KindInfo, place: Path) -> None:
    """Drafted, reviewed, released, saved, loaded and evaluated, with nothing but what the draft proposed."""
    info = next((info for info in catalogue.methods(kind.name) if info.default), None)
    info = info or catalogue.methods(kind.name)[0]
    example = crowd(info)
    proposal = penstock.draft(example.frame, kind=kind.name)
    assert proposal.unit.protects == kind.units[0].name
    with pytest.raises(PenstockError, match="review"):
        penstock.release(example.frame, proposal, epsilon=1, method=info.name, parameters=example.parameters)
    made = penstock.release(
        example.frame,
        reviewed(proposal),
        epsilon=1,
        method=info.name,
        parameters=example.parameters,
        out=place / "release",
    )
    assert made.publishable
    compared = penstock.evaluate(penstock.load(place / "release"), example.frame)
    assert compared.scores
    assert compared.kind == kind.name
    assert compared.rows > 0


def crowd(info: MethodInfo) -> Example:
    """The most various of what the method's audits try, many times over."""
    plain = [one for one in examples(info) if one.schema.unit.column is None and one.schema.size is None]
    example = max(plain, key=lambda one: one.frame.n_unique())
    return replace(example, frame=pl.concat([example.frame] * 40))


def reviewed(proposal: Schema) -> Schema:
    """The proposal with every mark confirmed."""
    facts = proposal.model_dump(by_alias=True, exclude_defaults=True)
    for marked in (facts.get("unit", {}), *facts["fields"]):
        marked.pop("review", None)
    return Schema.model_validate(facts)


Check = Callable[[KindInfo, Path], None]

CHECKS: tuple[Check, ...] = (
    stands_in_its_own_room,
    keeps_its_contracts,
    describes_its_block,
    goes_the_whole_way,
)


@pytest.mark.parametrize("kind", catalogue.kinds(), ids=lambda kind: kind.name)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_conformance_of_kinds(check: Check, kind: KindInfo, tmp_path: Path) -> None:
    check(kind, tmp_path)


# Methods and forms -----------------------------------------------------------------------------------


@pytest.mark.parametrize("info", catalogue.methods(), ids=lambda info: info.name)
def test_a_method_is_at_home_in_one_room(info: MethodInfo) -> None:
    """Its own, and its audits and evaluation with it where that is not the room of its kind."""
    home = home_of(info)
    assert all(lies_in(place, home) for place in info.places)
    if home != room_of(catalogue.kind(info.kind)):
        assert home.startswith("penstock.learn.")
        assert info.evaluation is not None
        assert info.audits is not None
        evaluation = catalogue.load(info.evaluation)
        assert isinstance(evaluation, type)
        assert issubclass(evaluation, Evaluator)
        assert isinstance(catalogue.load(info.audits), Audits)


@pytest.mark.parametrize("info", catalogue.methods(), ids=lambda info: info.name)
def test_the_first_step_of_every_fit_is_to_ask_whether_it_may(info: MethodInfo) -> None:
    """`Method.ready` refuses an empty budget and tells it what it pays for, before anything else is done."""
    fit = next(cls.__dict__["fit"] for cls in method_class(info).__mro__ if "fit" in cls.__dict__)
    (written,) = ast.parse(textwrap.dedent(inspect.getsource(fit))).body
    assert isinstance(written, ast.FunctionDef)
    _, data, budget = (argument.arg for argument in written.args.args)
    first = next(each for each in written.body if not isinstance(getattr(each, "value", None), ast.Constant))
    assert ast.unparse(first) == f"self.ready({data}, {budget})"


@pytest.mark.parametrize("name", catalogue.forms())
def test_a_form_is_at_home_where_a_method_makes_it(name: str) -> None:
    form = catalogue.form(name)
    found = find(name)
    makers = [info for info in catalogue.methods() if info.form == name]
    assert found.form == name
    assert not inspect.isabstract(found)
    assert any(lies_in(form.where, home_of(info)) for info in makers)
    assert {info.kind for info in makers} == set(found.kinds)
    assert {info.answer for info in makers} == {found.answer}


@pytest.mark.parametrize("info", catalogue.methods(), ids=lambda info: info.name)
def test_a_model_is_written_in_the_words_that_its_form_declares(info: MethodInfo) -> None:
    """These words are read for ever: a release that needs others is of another form."""
    form = catalogue.form(info.form)
    for example in examples(info):
        refuse_other_words(fitted(info, example), form)


@pytest.mark.parametrize("info", catalogue.methods(), ids=lambda info: info.name)
def test_a_table_that_is_not_always_there_is_there_for_some_data(info: MethodInfo) -> None:
    """And is declared: data that only another method of the kind is audited with may call for it."""
    form = catalogue.form(info.form)
    missed = set(form.optional_tables)
    others = [one for other in catalogue.methods(info.kind) for one in examples(other)] if missed else []
    makers = [info, *(maker for maker in catalogue.methods() if maker.form == info.form and maker != info)]
    for maker, example in product(makers, others):
        if not missed:
            break
        release = fitted(maker, replace(example, parameters={}))
        refuse_other_words(release, form)
        missed -= set(release.model().tables)
    assert not missed


def refuse_other_words(release: Release, form: FormInfo) -> None:
    model = release.model()
    assert tuple(model.json) == form.keys
    declared = {**form.tables, **form.optional_tables}
    assert set(form.tables) <= set(model.tables) <= set(declared)
    assert list(model.tables) == [name for name in declared if name in model.tables]
    for name, frame in model.tables.items():
        assert set(frame.columns) <= set(declared[name])
        assert set(declared[name]) - set(frame.columns) <= set(form.optional_columns)


# The plug refuses what does not fit -------------------------------------------------------------------


def entry(**changed: object) -> KindInfo:
    """A kind that is put together from wrong parts."""
    facts: dict[str, object] = {
        "name": "odd",
        "words": "odd things",
        "units": (UnitInfo("record", yours="your record", several=True),),
        "data": "penstock.kinds.table.data:Table",
        "draft": "penstock.kinds.table.draft:TableDraft",
    }
    return KindInfo(**{**facts, **changed})  # type: ignore[arg-type]


def test_a_place_that_holds_something_else_is_refused_when_it_is_loaded() -> None:
    wrong = "penstock.kinds.table.release:TableRelease"
    with catalogue.extended(kinds=(entry(data=wrong, draft=wrong, layout=("odd", wrong)),)):
        odd = catalogue.kind("odd")
        for load in (data_class, lambda info: kind_draft(info.name), lambda info: layout_class(info.name)):
            with pytest.raises(TypeError, match="is no "):
                load(odd)


def test_a_method_for_other_data_than_its_kind_s_is_refused_when_it_is_loaded() -> None:
    odd = MethodInfo("odd-grid", "table", "penstock.kinds.points.grid:UniformGrid", "grid", "odd")
    with (
        catalogue.extended(methods=(odd,)),
        pytest.raises(TypeError, match="takes Points, which is no handle on table"),
    ):
        method_class(odd)


def test_a_method_says_which_data_it_takes() -> None:
    class Silent(Method):  # type: ignore[type-arg]
        def fit(self, data: Data, budget: object) -> Release:
            raise NotImplementedError

    with pytest.raises(TypeError, match="does not say which data"):
        Silent.takes()


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"options": (OptionInfo("top", "top", "K", "other help."),)}, "option 'top' means something else"),
        ({"options": (OptionInfo("x", "as_json", "K", "help."),)}, "cannot be an option"),
        ({"options": (OptionInfo("x", "json", "K", "help."),)}, "cannot be an option"),
        ({"units": (UnitInfo("record", yours="your thing"),)}, "unit 'record' means something else"),
    ],
)
def test_one_word_means_one_thing_in_the_whole_catalogue(changed: dict[str, object], why: str) -> None:
    with pytest.raises(ValueError, match=why), catalogue.extended(kinds=(entry(**changed),)):
        pass  # pragma: no cover
    assert "odd" not in [kind.name for kind in catalogue.kinds()]
