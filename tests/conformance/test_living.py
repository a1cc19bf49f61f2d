"""Every promise for every living release of the catalogue, and every living kind; none is named.

A stream is fed, not opened, so that the checks of methods have nothing to open here. These are their
siblings: money, files, memory, deletes, questions, pages and audits.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.conformance.checks import has_its_page
from tests.conformance.test_kinds import describes_its_block
from tests.kinds.stream.streams import dump, held_by

from penstock import catalogue
from penstock.audit.methods import Audits
from penstock.audit.target import Kind
from penstock.catalogue import SketchInfo
from penstock.contracts.parameters import Whole
from penstock.contracts.sketch import Sketch
from penstock.errors import DataError, PenstockError, UsageError
from penstock.kinds.stream.audits import looks
from penstock.kinds.stream.living import Living, living_class, load
from penstock.kinds.stream.page import page
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.unit import Relation
from penstock.schema import Schema

IDS, MOST = 40, 3


def schemas(info: SketchInfo) -> Iterator[Schema]:
    """A small stream under every relation that the sketch works under."""
    for relation in info.relations:
        yield Schema.from_yaml(
            f"{{kind: {info.kind}, unit: {{protects: {info.unit}}}, relation: {relation}, "
            f"stream: {{ids: {IDS}, most: {MOST}}}}}"
        )


def opened(info: SketchInfo, schema: Schema | None = None, **options: Any) -> Living[Any]:
    return living_class(info.name)(schema or next(schemas(info)), **{"epsilon": 2, **options})


def ask(living: Living[Any], seed: int | None = None) -> None:
    """Every question that the sketch says it answers."""
    for question, needs in living.info().questions.items():
        if living.sketch.ahead:
            living.step(seed=seed)
        living.answer(question, None if needs is None else 2, seed=seed)


def state_of(living: Living[Any]) -> list[Any]:
    return np.asarray(living._counters).ravel().tolist()


# The promises ----------------------------------------------------------------------------------------


def keeps_the_contract(info: SketchInfo, place: Path) -> None:
    """The class is what the catalogue says, at home in the room of its kind."""
    found = living_class(info.name)
    assert issubclass(found.sketch_class, Sketch)
    assert found.sketch_class.name == info.name
    assert found.info() is info
    assert not inspect.isabstract(found)
    room = f"penstock.kinds.{info.kind}."
    assert found.__module__.startswith(room)
    assert found.sketch_class.__module__.startswith(room)
    assert info.kind in [kind.name for kind in catalogue.every_kind() if kind.living]
    assert info.unit in [unit.name for unit in catalogue.kind(info.kind).units]


def pays_for_the_state_and_for_every_answer(info: SketchInfo, place: Path) -> None:
    """What stands on the receipt is what was asked for, exactly, and never more than epsilon."""
    for schema in schemas(info):
        number = len(info.questions)
        ahead = living_class(info.name).sketch_class.ahead
        living = opened(info, schema, answers=1 if ahead else number)
        assert living.receipt.epsilon == (2 if ahead else 1)
        assert living.receipt.relation is schema.relation
        assert living.receipt.unit.protects == info.unit
        ask(living)
        assert living.receipt.epsilon == 2
        assert living.receipt.publishable
        if not ahead:
            with pytest.raises(UsageError, match="answers of this stream are given"):
                ask(living)
            assert living.receipt.epsilon == 2
        assert f"for one {info.unit}" in living.guarantee
        assert "pan-private" in living.guarantee


def refuses_other_relations_and_units_unpaid(info: SketchInfo, place: Path) -> None:
    schema = next(schemas(info))
    for relation in {"add-remove", "replace"} - set(info.relations):
        wrong = schema.model_copy(update={"relation": type(schema.relation)(relation)})
        with pytest.raises(PenstockError, match=r"Nothing was\s+spent"):
            opened(info, wrong, folder=place / "s")
    for unit in (unit.name for unit in catalogue.kind(info.kind).units if unit.name != info.unit):
        wrong = schema.model_copy(update={"unit": schema.unit.model_copy(update={"protects": unit})})
        with pytest.raises(PenstockError, match="protects one"):
            opened(info, wrong, folder=place / "s")
    assert list(place.iterdir()) == []


def declares_its_parameters(info: SketchInfo, place: Path) -> None:
    """Each with a range, of which what lies outside is refused before anything is paid."""
    for parameter in living_class(info.name).sketch_class.parameters():
        if isinstance(parameter.domain, Whole):
            for bound in (parameter.domain.least, parameter.domain.most):
                assert bound is not None
            for wrong in (parameter.domain.least - 1, parameter.domain.most + 1, 1.5, "x"):  # type: ignore[operator]
                with pytest.raises(UsageError, match=parameter.name):
                    opened(info, folder=place / "s", **{parameter.name: wrong})
    with pytest.raises(UsageError, match="no parameter"):
        opened(info, folder=place / "s", nonsense=1)
    assert list(place.iterdir()) == []


def takes_back_without_a_trace_or_not_at_all(info: SketchInfo, place: Path) -> None:
    """S4: after deletes the state is bitwise that of the empty stream, or deletes are refused."""
    for schema in schemas(info):
        living, empty = (opened(info, schema, seed=3) for _ in range(2))
        living.update([1, 2, 7], [1, 3, 2], seed=1)
        if info.deletes:
            living.update([7, 1, 2], [-2, -1, -3])
            assert state_of(living) == state_of(empty)
        else:
            with pytest.raises(DataError, match="Nothing of this"):
                living.update([1], -1)


def remembers_nothing_but_counters(info: SketchInfo, place: Path) -> None:
    """No generator in memory; on the disk the book and the counters, of a size that is public."""
    sizes = set()
    for number, fed in enumerate(([], [1], list(range(IDS)))):
        living = opened(info, folder=place / str(number), seed=number)
        living.update(fed, seed=9)
        living.flush()
        assert not any(isinstance(each, Randomness) for each in held_by(living))
        key = Randomness.seeded(number)._key
        assert key is not None
        assert key not in dump(living)
        files = sorted((place / str(number)).iterdir())
        assert [file.name for file in files] == ["counters.npy", "stream.json"]
        sizes.add((place / str(number) / "counters.npy").stat().st_size)
        book = (place / str(number) / "stream.json").read_bytes()
        assert book == living.book.model_dump_json(indent=1).encode() + b"\n"
    assert len(sizes) == 1


def has_noise_from_the_first_moment(info: SketchInfo, place: Path) -> None:
    """Two empty streams differ, or there would be no noise in them: alike by chance below 2^-40."""
    states = {tuple(state_of(opened(info))) for _ in range(40)}
    assert len(states) > 1


def goes_on_where_it_was_left(info: SketchInfo, place: Path) -> None:
    living = opened(info, answers=1, folder=place / "s", seed=1)
    living.update([1, 2], seed=1)
    if living.sketch.ahead:
        living.step(seed=2)
    else:
        living.answer(*_first(info), seed=2)
    living.release()
    again = load(place / "s")
    assert again.history == living.history
    assert again.receipt.to_dict() == living.receipt.to_dict()
    assert state_of(again) == state_of(living)
    assert not again.receipt.publishable
    again.close()
    assert load(place / "s").history == living.history


def _first(info: SketchInfo) -> tuple[str, int | None]:
    question, needs = next(iter(info.questions.items()))
    return question, None if needs is None else 2


def answers_what_it_says_and_nothing_else(info: SketchInfo, place: Path) -> None:
    living = opened(info, answers=1 if living_class(info.name).sketch_class.ahead else 9)
    for question, needs in info.questions.items():
        with pytest.raises(UsageError, match="Nothing was"):
            living.answer(question, 1 if needs is None else None)
    with pytest.raises(UsageError, match="does not answer"):
        living.answer("anything")
    spent = living.receipt.epsilon
    ask(living)
    assert all(np.isfinite([each.value, each.error]).all() and each.error >= 0 for each in living.history)
    assert living.sketch.ahead or living.receipt.epsilon > spent


def is_never_merged_and_drawn_anew_only_for_its_price(info: SketchInfo, place: Path) -> None:
    living = opened(info)
    with pytest.raises(UsageError, match="cannot be merged"):
        living.merge(opened(info))
    before, state = living.receipt.epsilon, state_of(living)
    if not living.sketch.redrawable:
        with pytest.raises(UsageError, match="cannot be drawn anew"):
            living.rerandomise()
        assert state_of(living) == state
        return
    living.rerandomise()
    assert living.receipt.epsilon == before + Fraction(1)
    assert living.answers_left == 1
    ask_one = _first(info)
    living.answer(*ask_one)


def draws_its_page(info: SketchInfo, place: Path) -> None:
    living = opened(info, answers=1 if living_class(info.name).sketch_class.ahead else 9)
    assert "Nothing was asked yet" in page(living, "a <title>")
    ask(living)
    text = page(living, "a <title>")
    assert "a &lt;title&gt;" in text
    assert all(name in text for name in info.questions)
    assert "error_y" in text


def loses_no_more_than_is_paid(info: SketchInfo, place: Path) -> None:
    """Looked into at any moment and told all it answers, under every relation: at most what was charged.

    A sketch whose updates draw noise of their own has too many ways to go from the look to an answer; it is
    enumerated, state by state, in tests/audit/test_pan_privacy.py.
    """
    if living_class(info.name).sketch_class.draws:
        is_audited(info, place)
        return
    for name in info.relations:
        audited = looks.target("one", Kind.SHIPPED, "as it is", info, Relation(name))
        losses = [audited.loss(pair.first, pair.second) for pair in audited.pairs]  # type: ignore[misc]
        assert 0 < max(losses) <= audited.promise.epsilon
        # and no less: an update that is seen costs as much as its noise says
        assert max(losses) >= Fraction(1, 2)


def is_audited(info: SketchInfo, place: Path) -> None:
    """The audit has the sketch as it is shipped, and at least one broken copy of it."""
    audits = catalogue.load(str(catalogue.kind(info.kind).audits))
    assert isinstance(audits, Audits)
    found = audits.targets()
    assert any(target.name.startswith(info.name) and target.kind is Kind.SHIPPED for target in found)
    assert any(target.summary.startswith(f"{info.name}: ") and target.kind is Kind.BROKEN for target in found)


Check = Callable[[SketchInfo, Path], None]

CHECKS: tuple[Check, ...] = (
    keeps_the_contract,
    pays_for_the_state_and_for_every_answer,
    refuses_other_relations_and_units_unpaid,
    declares_its_parameters,
    takes_back_without_a_trace_or_not_at_all,
    remembers_nothing_but_counters,
    has_noise_from_the_first_moment,
    goes_on_where_it_was_left,
    answers_what_it_says_and_nothing_else,
    is_never_merged_and_drawn_anew_only_for_its_price,
    draws_its_page,
    has_its_page,
    is_audited,
    loses_no_more_than_is_paid,
)


@pytest.mark.parametrize("info", catalogue.sketches(), ids=lambda info: info.name)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_conformance(check: Check, info: SketchInfo, tmp_path: Path) -> None:
    check(info, tmp_path)


@pytest.mark.parametrize(
    "kind", [kind for kind in catalogue.every_kind() if kind.living], ids=lambda kind: kind.name
)
def test_a_living_kind_stands_in_its_own_room_with_sketches_and_no_methods(kind: Any, tmp_path: Path) -> None:
    assert all(place.startswith(f"penstock.kinds.{kind.name}.") for place in kind.places)
    describes_its_block(kind, tmp_path)
    assert not catalogue.methods(kind.name)
    assert catalogue.default_sketch(kind.name) in catalogue.sketches(kind.name, role="method")
    assert sum(info.default for info in catalogue.sketches(kind.name)) == 1
    with pytest.raises(UsageError, match="fed, not opened"):
        catalogue.default_method(kind.name)
