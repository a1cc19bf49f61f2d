"""What every method of the catalogue must keep: one function a promise, and none names a method.

Those about money stand in `spending`, those about what comes out in `answers`, those about its numbers in
`agreement`; all try a method on the tiny data of its audits (`examples`).
That each of them can fail is shown by `test_broken_methods`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args, get_origin

import pytest
from tests.conformance.agreement import (
    answers_files_as_one_by_one,
    covers_the_truth_as_often_as_it_says,
    samples_what_it_answers,
)
from tests.conformance.answers import (
    answers_the_same_once_loaded,
    declares_its_questions,
    draws_its_report,
    samples_as_many_as_asked,
    saves_and_loads,
)
from tests.conformance.examples import audits_of, examples, fitted, words_of
from tests.conformance.spending import (
    charges_nothing_for_mistakes,
    declares_its_parameters,
    pays_from_its_budget_alone,
    refuses_before_it_charges,
    refuses_other_relations,
    spends_its_budget_exactly,
    works_up_to_the_ends_of_its_ranges,
)

from penstock import catalogue
from penstock.audit.methods import Audits
from penstock.audit.target import Kind
from penstock.catalogue import MethodInfo, SketchInfo
from penstock.contracts.data import Data
from penstock.contracts.method import Method
from penstock.contracts.plug import data_class, method_class
from penstock.errors import PenstockError, PenstockWarning
from penstock.privacy.budgets.budget import Budget
from penstock.releases import Release, load

DOCS = Path(__file__).parents[2] / "docs"
RARELY_TELLING = "1/1000"
SECTIONS = ("When to use it", "The theorem", "What it costs", "How good", "Picture", "Limits", "Reference")


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


def here(kind: str) -> list[str]:
    """The engines of a kind that run in this process; the others have their own tests, on servers."""
    return [name for name in catalogue.kind(kind).engines if name in catalogue.HERE]


def releases_an_input_without_records(info: MethodInfo, place: Path) -> None:
    """No record is released like one record, or a release would prove that there was one."""
    for number, example in enumerate(examples(info)):
        if example.schema.size is not None:
            continue
        none = replace(example, frame=example.frame.clear())
        for engine in here(info.kind):
            with pytest.warns(PenstockWarning, match="there are no records"):
                release = fitted(info, none, engine=engine)
            assert release.receipt.epsilon == 1
            load(release.save(place / f"{number}-{engine}"))


def answers_alike_on_every_engine(info: MethodInfo, place: Path) -> None:
    """The same seed gives the same release, wherever the records are counted."""
    kind = catalogue.kind(info.kind)
    assert "memory" in kind.engines
    for example in examples(info):
        first, *others = [words_of(fitted(info, example, engine=engine)) for engine in here(info.kind)]
        assert all(other == first for other in others)
    for engine in {"memory", "duckdb"} - set(kind.engines):
        with pytest.raises(PenstockError, match="memory"):
            fitted(info, examples(info)[0], engine=engine)


def tells_seeded_from_publishable(info: MethodInfo, place: Path) -> None:
    """Noise from a seed can be taken off again, and the release says so; noise without one is publishable."""
    example = examples(info)[-1]
    seeded = fitted(info, example, seed=1)
    assert not seeded.publishable
    assert words_of(seeded) == words_of(fitted(info, example, seed=1))
    assert fitted(info, example, seed=None).publishable


def is_never_the_same_without_a_seed(info: MethodInfo, place: Path) -> None:
    """Releases without a seed differ somewhere, or there would be no noise in them.

    With so little budget what is chosen is next to a fair coin at least: a method that passes by chance only,
    or fails so, does it with a probability below 2**-40.
    """
    example = examples(info)[0]
    first = fitted(info, example, RARELY_TELLING, seed=None).model()
    for _ in range(60):
        other = fitted(info, example, RARELY_TELLING, seed=None).model()
        if other.json != first.json or any(
            not table.equals(first.tables[name]) for name, table in other.tables.items()
        ):
            return
    raise AssertionError(f"{info.name} releases the same again and again")


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


def has_its_page(info: MethodInfo | SketchInfo, place: Path) -> None:
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
    for title in SECTIONS:
        assert has_text(text, title), f"{info.name}: nothing is said under '{title}'"


def has_text(page: str, title: str) -> bool:
    """Whether a section of a page says something below its heading, besides further headings."""
    section = re.search(rf"^## {re.escape(title)}$(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    return section is not None and any(
        line.strip() and not line.startswith("#") for line in section[1].splitlines()
    )


def is_audited(info: MethodInfo, place: Path) -> None:
    """The audit has the method as it is shipped, and at least one broken copy of it.

    That the first stands and the others are refuted is the audit's own test, which runs all of them.
    """
    own = tuple(audits_of(info))
    found = Audits(methods=own).targets()
    names = {audit.name for audit in own}
    assert names <= {target.name for target in found if target.kind is Kind.SHIPPED}
    broken = [target for target in found if target.kind is Kind.BROKEN]
    assert any(target.summary.startswith(f"{info.name}: ") for target in broken)


Check = Callable[[MethodInfo, Path], None]

CHECKS: tuple[Check, ...] = (
    keeps_the_contract,
    spends_its_budget_exactly,
    refuses_other_relations,
    declares_its_parameters,
    works_up_to_the_ends_of_its_ranges,
    refuses_before_it_charges,
    charges_nothing_for_mistakes,
    pays_from_its_budget_alone,
    releases_an_input_without_records,
    saves_and_loads,
    answers_the_same_once_loaded,
    declares_its_questions,
    answers_files_as_one_by_one,
    samples_as_many_as_asked,
    samples_what_it_answers,
    covers_the_truth_as_often_as_it_says,
    draws_its_report,
    answers_alike_on_every_engine,
    tells_seeded_from_publishable,
    is_never_the_same_without_a_seed,
    tells_a_known_choice_of_records,
    has_its_page,
    is_audited,
)
