"""Every promise can be broken: a copy of the made-up method with one mistake each, and who must catch it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from tests.conformance import agreement, answers, checks, spending
from tests.conformance.ballots.entry import FORM, KIND, METHOD, ROOM
from tests.conformance.checks import Check

from penstock import catalogue
from penstock.audit import targets
from penstock.errors import UsageError


@contextmanager
def broken(name: str, form: str | None = None, answer: str = "counts") -> Iterator[catalogue.MethodInfo]:
    """The poll with the mistake of this name, in its place."""
    info = replace(METHOD, where=f"{ROOM}.broken:{name}", answer=answer)
    written = FORM if form is None else replace(FORM, where=f"{ROOM}.broken:{form}")
    with catalogue.extended(kinds=(KIND,), methods=(info,), forms=(written,)):
        targets.cache_clear()
        yield info
    targets.cache_clear()


@pytest.mark.parametrize(
    ("name", "caught_by", "failure", "words"),
    [
        ("Rounded", spending.spends_its_budget_exactly, AssertionError, "was spent of"),
        ("PaysFirst", spending.works_up_to_the_ends_of_its_ranges, UsageError, "larger than any count"),
        ("RefusesInFit", spending.refuses_before_it_charges, UsageError, "about two candidates"),
        ("TooWide", spending.works_up_to_the_ends_of_its_ranges, OverflowError, "too large"),
        ("Undeclared", spending.declares_its_parameters, AssertionError, "undeclared among"),
        ("Silent", answers.saves_and_loads, AssertionError, "the release says nothing"),
        ("Constant", checks.is_never_the_same_without_a_seed, AssertionError, "again and again"),
    ],
)
def test_a_broken_method_is_caught(
    name: str, caught_by: Check, failure: type[Exception], words: str, tmp_path: Path
) -> None:
    assert caught_by in checks.CHECKS
    with broken(name) as info, pytest.raises(failure, match=words):
        caught_by(info, tmp_path)


@pytest.mark.parametrize(
    ("name", "answer", "caught_by"),
    [
        ("Forgetful", "counts", answers.answers_the_same_once_loaded),
        ("Blank", "counts", answers.draws_its_report),
        ("Empty", "counts", answers.draws_its_report),
        ("Generous", "synthetic data", answers.samples_as_many_as_asked),
        ("Narrow", "synthetic data", agreement.samples_what_it_answers),
        ("Boastful", "counts", agreement.covers_the_truth_as_often_as_it_says),
        ("Hasty", "counts", agreement.answers_files_as_one_by_one),
    ],
)
def test_a_broken_release_is_caught(name: str, answer: str, caught_by: Check, tmp_path: Path) -> None:
    assert caught_by in checks.CHECKS
    with broken(name, f"{name}Release", answer) as info, pytest.raises(AssertionError):
        caught_by(info, tmp_path)


def test_a_page_of_headings_is_caught() -> None:
    page = "## Limits\n\n### Of it\n\n## Reference\n\nA paper.\n"
    assert not checks.has_text(page, "Limits")
    assert checks.has_text(page, "Reference")
