"""Promises about numbers: a file of questions is answered like each of them, a sample is like the answers of
its release, and an error bar holds what it says.

None names a kind: questions come from the releases' own examples, and what is true of records is what a
release says that was *counted* on them with a source that adds no noise (`Quiet`).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import chdir, suppress
from dataclasses import replace
from fractions import Fraction
from functools import cache
from math import log, sqrt
from pathlib import Path
from typing import Any, TypeVar

import polars as pl
import pytest
from tests.conformance.answers import for_rows, records_in
from tests.conformance.bounds import refusal
from tests.conformance.examples import Example, examples, fitted

from penstock import catalogue
from penstock.catalogue import MethodInfo
from penstock.contracts.plug import data_class, method_class
from penstock.errors import PenstockError, PenstockWarning, QueryError
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.laws.additive import GaussianAround, LaplaceAround
from penstock.privacy.randomness.generator import Law, Randomness
from penstock.releases import Answer, Release
from penstock.schema import Schema

O = TypeVar("O")  # noqa: E741  # an output

PLENTY = 100
"""The largest epsilon there is: what is chosen is nearly always the best."""

A_DELTA = Fraction(1, 10**6)
"""What is given to methods that can do with one and without."""

SAMPLED = 4000
FEW = 3
TELLING = 40
RUNS = 200
MISSES = 32
"""More of `RUNS` bars than this miss the truth with a probability below 2e-9 where each does with 1/20."""

RARELY = 1e-8
"""How rarely one comparison fails by chance; there are a hundred or so over the catalogue."""


class Quiet(Randomness):
    """Draws choices and decisions from a seed, and adds no noise to counts."""

    __slots__ = ()

    def draw(self, law: Law[O]) -> O:
        if isinstance(law, LaplaceAround | GaussianAround):
            return law.values.copy()  # type: ignore[return-value]
        return law.draw(self)

    def spawn(self, label: str) -> Randomness:
        spawned = super().spawn(label)
        return type(self)(spawned._key)


@cache
def crowds(info: MethodInfo) -> list[Example]:
    """The first of what the method is tried on, and the most various, each many times over; and the first
    with a delta, if the method may do without."""
    first = examples(info)[-1]
    plain = [one for one in examples(info)[:-1] if one.schema.size is None and one.schema.unit.column is None]
    widest = max(plain, key=lambda one: one.frame.n_unique(), default=None)
    found = [_uncut(info, first)]
    if widest is not None and widest.schema != first.schema:
        found.append(_uncut(info, replace(widest, frame=pl.concat([widest.frame] * 40))))
    if info.approximate:
        found.append(replace(found[0], delta=A_DELTA))
    return found


def _uncut(info: MethodInfo, example: Example) -> Example:
    """The same with so much room in the kind's block of the schema that no record is cut off, if it may."""
    facts = example.schema.model_dump(by_alias=True, exclude_defaults=True)
    block = catalogue.kind(example.schema.kind).layout
    if block is not None:
        roomy = {key: 4 * value if type(value) is int else value for key, value in facts[block[0]].items()}
        facts[block[0]] = roomy
    roomier = replace(example, schema=Schema.model_validate(facts))
    return roomier if _can_be(info, roomier) else example


def _can_be(info: MethodInfo, example: Example) -> bool:
    """Whether there may be records of this schema for the method."""
    try:
        data_class(catalogue.kind(info.kind)).open(example.frame.clear(), example.schema)
    except PenstockError:
        return False
    return refusal(method_class(info), example.parameters, example.schema) is None


def variants(schema: Schema) -> Iterator[Schema]:
    """The schema, and others that speak of the same domain in another order, or of a part of it."""
    yield schema
    for order in (1, -1):
        for part in (False, True):
            facts = schema.model_dump(by_alias=True, exclude_defaults=True)
            facts["fields"] = facts["fields"][::order]
            for limits in (each.get("constraints", {}) for each in facts["fields"]):
                if "enum" in limits:
                    words = limits["enum"][::-1]
                    limits["enum"] = words[: (len(words) + 1) // 2] if part else words
                elif part and isinstance(limits.get("minimum"), int | float):
                    low, high = limits["minimum"], limits["maximum"]
                    limits["maximum"] = type(high)((low + high) / 2)
            with suppress(PenstockError):
                yield Schema.model_validate(facts)


_offered: dict[tuple[MethodInfo, int], tuple[Example, dict[str, list[str]]]] = {}


def questions(info: MethodInfo, example: Example) -> dict[str, list[str]]:
    """For every question that releases declare the texts that they offer themselves, each of them once; for
    the same example they are found once."""
    key = info, id(example)
    if key not in _offered:
        _offered[key] = example, _questions(info, example)  # the example, so that its number stays its own
    return _offered[key][1]


def _questions(info: MethodInfo, example: Example) -> dict[str, list[str]]:
    found: dict[str, dict[str, None]] = {}
    for schema in variants(example.schema):
        told = replace(example, schema=schema, frame=example.frame.clear())
        if schema.size is not None or not _can_be(info, told):
            told = example
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PenstockWarning)
            release = fitted(info, told)
        for name, question in release.questions().items():
            if question.example is not None:
                found.setdefault(name, {})[question.example] = None
    return {name: list(texts) for name, texts in found.items()}


def answers_files_as_one_by_one(info: MethodInfo, place: Path) -> None:
    """What stands in a file is answered as if it were asked alone: number, error bar, basis, caveats. A file
    is refused where one of its questions is."""
    tried: dict[str, int] = {}
    offered: dict[str, set[str]] = {}
    for number, example in enumerate(examples(info)):
        asked, release = questions(info, example), fitted(info, example)
        for name, question in release.questions().items():
            if question.many is None:
                continue
            path = place / f"{name} {number}.txt"
            offered.setdefault(name, set()).update(asked.get(name, ()))
            alone = {text: _asked(release, name, text, place) for text in asked.get(name, ())}
            texts = [text for text, answer in alone.items() if answer is not None]
            for odd in set(alone) - set(texts):
                path.write_text("\n".join([*texts, odd]) + "\n", encoding="utf-8")
                with pytest.raises(QueryError):
                    question.many(str(path))
            if texts:
                order = [*texts, *reversed(texts)]
                path.write_text("\n".join(order) + "\n", encoding="utf-8")
                rows = question.many(str(path)).select(ANSWERED).rows()
                assert rows == [_row(alone[text]) for text in order], f"{name}: {texts}"
            tried[name] = max(tried.get(name, 0), len(texts))
    for name, different in tried.items():
        assert different >= min(2, len(offered[name])), f"{name}: a file of one question shows little"


ANSWERED = ("count", "error", "covers", "low", "high", "range", "rests_on", "caveats")


def _row(answer: Answer | None) -> tuple[Any, ...]:
    assert answer is not None
    low, high, known = answer.range or (None, None, None)
    number = (float(answer.value), answer.error, answer.covers, low, high, known)
    return (*number, answer.rests_on, " ".join(answer.caveats))


def samples_what_it_answers(info: MethodInfo, place: Path) -> None:
    """Of a large sample so many records are in a question as the release says, within sampling error.

    By Hoeffding's inequality the number among n records, each of which counts for b at most, is off by more
    than b sqrt(n ln(2/p) / 2) with a probability below p, which is `RARELY`.
    """
    compared = False
    for example in crowds(info):
        release = _fit(info, example, PLENTY, Randomness.seeded(5))
        if not release.can_sample:
            return
        if release.size <= 0:
            continue  # counts that do not reach the end of a record cannot say how many there are
        rows = release.sample(SAMPLED, seed=7)
        if records_in(release, rows) != SAMPLED:
            return  # what is drawn is one thing, such as a graph, and no number of records
        drawn = replace(example, schema=for_rows(example.schema), frame=rows)
        share = SAMPLED / release.size
        chance = _most(example.schema) * sqrt(SAMPLED * log(2 / RARELY) / 2)
        found = counted(info, drawn, questions(info, example), place)
        compared |= bool(found)
        for (name, text), value in found.items():
            said = _asked(release, name, text, place)
            assert said is not None
            assert abs(value - said.value * share) <= chance + share * (said.error or 0), (
                f"{name} {text}: {value:.0f} of {SAMPLED}, where the release says {said} of {release.size}"
            )
    assert compared, f"nothing in a sample of {info.name} can be counted"


def covers_the_truth_as_often_as_it_says(info: MethodInfo, place: Path) -> None:
    """The bars of counted answers hold the truth in 95 of 100 releases.

    Whoever rarely misses it in the first `TELLING` releases is believed. Others go on to `RUNS` of them, of
    which a bar that keeps its word misses more than `MISSES` with a probability below `RARELY`.
    """
    for example in crowds(info):
        truth = counted(info, example, questions(info, example), place)
        missed = _misses(info, example, truth, place)
        assert max(missed.values(), default=0) <= MISSES, f"of {RUNS} bars so many miss the truth: {missed}"


def _misses(
    info: MethodInfo, example: Example, truth: Mapping[tuple[str, str], float], place: Path
) -> dict[tuple[str, str], int]:
    """How many bars of so many seeded releases miss the truth, by question."""
    missed, barred = dict.fromkeys(truth, 0), False
    for run in range(RUNS if truth else 0):
        if run == TELLING and max(missed.values()) <= TELLING // 8:
            break
        if run == FEW and not barred:
            break  # no question has a bar
        release = _fit(info, example, 1, Randomness.seeded(run))
        for (name, text), value in truth.items():
            said = _asked(release, name, text, place)
            if said is not None and said.rests_on == "counted" and said.error is not None:
                barred = True
                missed[name, text] += abs(said.value - value) > said.error + 1e-9
    return missed


def counted(
    info: MethodInfo, example: Example, asked: Mapping[str, list[str]], place: Path
) -> dict[tuple[str, str], float]:
    """What is true of the records: what the method, or another for them, has counted without any noise.

    What one answers with a table or a file no other answers with a number, and is not asked again.
    """
    found: dict[tuple[str, str], float] = {}
    tables: set[tuple[str, str]] = set()
    left = [(name, text) for name, texts in asked.items() for text in texts]
    for each in (info, *(method for method in catalogue.methods(info.kind) if method != info)):
        left = [one for one in left if one not in found and one not in tables]
        if not left:
            break
        other = examples(each)[-1]
        trial = example if each == info else replace(example, parameters=other.parameters, delta=other.delta)
        if trial.schema.relation.value not in each.relations:
            continue
        if refusal(method_class(each), trial.parameters, trial.schema) is not None:
            continue
        release = _fit(each, trial, PLENTY, Quiet.seeded(1))
        for name, text in left:
            said = _told(release, name, text, place)
            if not isinstance(said, Answer | None):
                tables.add((name, text))
            elif said is not None and said.rests_on == "counted":
                found[name, text] = said.value
    return found


def _most(schema: Schema) -> int:
    """How much one record can count for: the largest number that the kind's block of the schema declares."""
    block = {} if schema.layout is None else schema.layout.model_dump()
    return max((each for each in block.values() if type(each) is int), default=1)


def _asked(release: Release, name: str, text: str, place: Path) -> Answer | None:
    """The number that a release answers with, if it does with one; some write a file instead."""
    said = _told(release, name, text, place)
    return said if isinstance(said, Answer) else None


def _told(release: Release, name: str, text: str, place: Path) -> object:
    """Whatever a release answers; None where it refuses."""
    question = release.questions().get(name)
    with chdir(place), suppress(QueryError):
        return None if question is None else question.ask(text)
    return None


def _fit(info: MethodInfo, example: Example, epsilon: int, source: Randomness) -> Release:
    opened = data_class(catalogue.kind(info.kind)).open(example.frame, example.schema, order_key=b"seeded")
    budget = Budget(epsilon, example.delta, randomness=source)
    return method_class(info)(**example.parameters).fit(*opened.prepared(budget))
