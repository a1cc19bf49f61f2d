"""Every kind of error bar covers the truth about as often as it promises: the study of coverage, in small."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import chdir, suppress
from dataclasses import replace
from pathlib import Path

import pytest
from tests.conformance.examples import examples, fitted

from error_bars import SMALL, Coverage, Told, cases, measured
from penstock import catalogue
from penstock.errors import PenstockError
from penstock.releases import Answer, Release
from penstock.releases.answer import Bar
from penstock.schema import Schema

RELEASES = 40
ENOUGH = 28
"""Of 40 bars that cover 95 % each, fewer than 28 cover with probability 4e-8; of all kinds together 8e-7."""

CASES = {case.name: case for case in cases()}


@pytest.mark.parametrize("name", CASES)
def test_error_bars_cover_the_truth(name: str) -> None:
    """One question a release, so that the answers are independent."""
    case = CASES[name]
    question = next(iter(case.truth))
    found = measured(replace(case, truth={question: case.truth[question]}), SMALL, RELEASES)
    assert found.bars == RELEASES
    assert found.covered >= ENOUGH


def test_a_kind_of_bar_is_good_where_it_covers_what_its_answers_declare() -> None:
    case = next(iter(CASES.values()))

    def covering(share: float, expected: float, *, at_least: bool = False) -> Coverage:
        return Coverage(case, SMALL, 1000, 1000, round(1000 * share), 1000 * expected, at_least, 1)

    assert covering(0.95, 0.95).good
    assert not covering(0.92, 0.95).good
    assert not covering(0.98, 0.95).good
    assert covering(0.98, 0.975).good
    assert not covering(0.95, 0.975).good
    assert covering(1.0, 0.95, at_least=True).good
    assert not covering(0.92, 0.95, at_least=True).good


def test_what_a_bar_should_cover_follows_from_its_answer() -> None:
    answer = Answer.counted(100.0, Bar(30.0, 0.96), "records")
    assert Told.of(answer, 90.0) == (True, pytest.approx(0.96), False)
    assert Told.of(answer, 140.0) == (False, pytest.approx(0.96), False)
    assert Told.of(answer, 90.0, most=110.0) == (True, pytest.approx(0.98), False)
    assert Told.of(Answer.counted(-7.0, Bar(30.0, 0.96), "records"), 20.0) == (
        True,
        pytest.approx(0.98),
        False,
    )
    assert Told.of(Answer.counted(9.0, Bar(3.0, None), "records"), 10.0) == (True, pytest.approx(0.95), True)
    assert Told.of(Answer(9.0), 10.0).covered is None


def conditions(schema: Schema) -> list[str]:
    """Questions about single columns that cut through no bin, and the values by their names."""
    bounds = [f"{field.name} >= {field.constraints.minimum}" for field in schema.fields]
    values = [(field.name, value) for field in schema.fields for value in field.constraints.enum or ()]
    return [*bounds, *(f"{name} = {value}" for name, value in values), *(str(value) for _, value in values)]


def gives_a_bar(release: Release, offered: Mapping[str, set[str]]) -> bool:
    """Whether any of these questions is answered by counts with an error bar."""
    for name, question in release.questions().items():
        more = conditions(release.schema) if name == "condition" else []
        for text in [*sorted(offered.get(name, ())), *more]:
            with suppress(PenstockError):
                answer = question.ask(text)
                if isinstance(answer, Answer) and answer.error and answer.rests_on == "counted":
                    return True
    return False


def test_every_method_of_the_catalogue_that_gives_a_bar_is_in_the_study(tmp_path: Path) -> None:
    """Each is tried on what its audits try, and asked what any method of its kind offers to be asked.

    Bars that count by noise of another kind are cases of their own.
    """
    made = [case.make(SMALL, 0) for case in CASES.values()]
    barred = set()
    for kind in catalogue.kinds():
        releases = [fitted(info, one) for info in catalogue.methods(kind.name) for one in examples(info)]
        offered: dict[str, set[str]] = {}
        for release in releases:
            for name, question in release.questions().items():
                if question.example is not None:
                    offered.setdefault(name, set()).add(question.example)
        with chdir(tmp_path):
            barred |= {release.method for release in releases if gives_a_bar(release, offered)}
    assert barred == {release.method for release in made}
    assert any(release.receipt.delta > 0 for release in made)
