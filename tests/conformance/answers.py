"""Promises about what comes out: questions, synthetic data, pictures, and that what was saved is the same."""

from __future__ import annotations

from contextlib import chdir
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from tests.conformance.bounds import neighbours, refusal
from tests.conformance.examples import examples, fitted, words_of

import penstock
from penstock import catalogue
from penstock.catalogue import MethodInfo
from penstock.contracts.plug import data_class, method_class
from penstock.privacy.seals.sealed import open_seal
from penstock.releases import Answer, Question, Release, Written
from penstock.releases.sql import Selected
from penstock.schema import Schema

SAMPLES = (0, 1, 2, 20, 57)


def saves_and_loads(info: MethodInfo, place: Path) -> None:
    """What was saved is loaded: the same words, the same rows, the same page, every parameter as given."""
    for number, example in enumerate(examples(info)):
        release = fitted(info, example)
        again = penstock.load(release.save(place / f"release {number}"))
        assert type(again) is type(release)
        assert words_of(again) == words_of(release)
        assert again.report() == release.report()
        for name, value in example.parameters.items():
            said = again.parameters.get(name, "nothing")
            assert str(said) == str(value), f"{name} was {value}, and the release says {said}"
        if release.can_sample:
            assert again.size == release.size
            assert again.sample(20, seed=3).equals(release.sample(20, seed=3))


def answers_the_same_once_loaded(info: MethodInfo, place: Path) -> None:
    """Every question that a release declares is answered, and a loaded release answers it in the same way,
    with the same error bar; each of them has an example for one of the releases at least."""
    asked: dict[str, bool] = {}
    method = method_class(info)
    others = [one for one in neighbours(info) if refusal(method, one.parameters, one.schema) is None]
    for number, example in enumerate([*examples(info), *others]):
        release = fitted(info, example)
        again = penstock.load(release.save(place / f"release {number}"))
        before, after = release.questions(), again.questions()
        assert list(before) == list(after)
        for name, question in before.items():
            assert question.example == after[name].example
            asked[name] = asked.get(name, False) or question.example is not None
            if question.example is not None:
                assert _answers(question, place) == _answers(after[name], place), name
    assert all(asked.values()), f"no example for {[name for name, known in asked.items() if not known]}"


def _answers(question: Question, place: Path) -> tuple[Any, ...]:
    """What the question says to its example, alone and in a file."""
    assert question.example is not None
    with chdir(place):
        found = [_plain(question.ask(question.example))]
        if question.many is not None:
            path = place / "questions.txt"
            path.write_text(f"{question.example}\n{question.example}\n", encoding="utf-8")
            found.append(_plain(question.many(str(path))))
    return tuple(found)


def _plain(result: Answer | pl.DataFrame | Selected | Written) -> Any:
    if isinstance(result, Selected):
        assert result.caveats, "SQL says what it rests on"
        return result.to_dict()
    if isinstance(result, Written):
        text = result.path.read_text(encoding="utf-8")
        result.path.unlink()
        assert text
        return text
    if isinstance(result, Answer):
        assert np.isfinite(result.value)
        assert result.error is None or (np.isfinite(result.error) and result.error >= 0)
        return result.to_dict()
    return result.to_dict(as_series=False)


def declares_its_questions(info: MethodInfo, place: Path) -> None:
    """What a release can be asked is reached from the command line, and says what it does in a clause."""
    options = {option.question for option in catalogue.kind(info.kind).options}
    for name, question in fitted(info, examples(info)[-1]).questions().items():
        assert name in options | {"condition"}
        assert question.words[0].islower()
        assert not question.words.endswith(".")
        for option in catalogue.kind(info.kind).options:
            assert not (option.question == name and option.many) or question.many is not None


def samples_as_many_as_asked(info: MethodInfo, place: Path) -> None:
    """So many records as were asked for, and such as the schema declares: the kind's own handle codes them
    again and counts them."""
    for example in examples(info):
        release = fitted(info, example)
        if release.can_sample:
            for wanted in SAMPLES:
                found = records_in(release, release.sample(wanted, seed=wanted))
                assert found == wanted or release.sampled != "records"


def records_in(release: Release, rows: pl.DataFrame) -> int:
    """How many records synthetic rows are, coded again without a complaint."""
    opened = data_class(catalogue.kind(release.kind)).open(rows, for_rows(release.schema))
    (number,) = open_seal(opened.size())
    return int(number)


def for_rows(schema: Schema) -> Schema:
    """The schema as it describes synthetic rows: nobody in them is a user, and their number is free."""
    facts = schema.model_dump(by_alias=True, exclude_defaults=True)
    for word in ("unit", "relation", "size"):
        facts.pop(word, None)
    return Schema.model_validate(facts)


def draws_its_report(info: MethodInfo, place: Path) -> None:
    """The public page renders with its pictures, and says method and guarantee.

    Data and counts can be drawn, and so they are; a selection may be a list and nothing more.
    """
    for example in examples(info):
        release = fitted(info, example)
        page = release.report()
        assert page.lstrip().startswith("<!doctype html>")
        assert info.name in page
        assert "ε = 1" in page
        assert "<script src" not in page
        pictures = release.pictures()
        assert pictures or release.answer == "selection"
        assert all(picture.title and picture.caption for picture in pictures)
        assert all(picture.columns and picture.rows for picture in pictures), "a picture of nothing"
