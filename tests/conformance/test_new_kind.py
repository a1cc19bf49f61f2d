"""A new kind of data is one package and one entry: the made-up ballots go through the whole house."""

from __future__ import annotations

import doctest
import inspect
import json
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import polars as pl
import pytest
from tests.conformance import checks, test_kinds
from tests.conformance.ballots import audits, data, draft, evaluation, layout, method, release
from tests.conformance.ballots.entry import FORM, KIND, METHOD

import penstock
from penstock import catalogue
from penstock.audit import run as audit
from penstock.audit import targets
from penstock.audit.harness import Status
from penstock.audit.replays import hostile, usable
from penstock.audit.tampering import TAMPERINGS, caught
from penstock.audit.targets import every_audit
from penstock.catalogue import OptionInfo
from penstock.cli import query
from penstock.cli import run as command
from penstock.cli.app import commands
from penstock.schema import Schema


@pytest.fixture
def ballots() -> Iterator[None]:
    """Ballots are in the catalogue, and what was read from it before is read again."""
    with catalogue.extended(kinds=(KIND,), methods=(METHOD,), forms=(FORM,)):
        _read_again()
        yield
    _read_again()


def _read_again() -> None:
    targets.cache_clear()
    query.with_options()
    commands.cache_clear()


@pytest.mark.usefixtures("ballots")
@pytest.mark.parametrize("check", checks.CHECKS, ids=lambda check: check.__name__)
def test_a_new_method_keeps_every_promise(
    check: checks.Check, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "docs" / "methods" / "poll.md"
    page.parent.mkdir(parents=True)
    page.write_text(
        "\n".join(f"## {title}\n\nVotes are counted.\n" for title in checks.SECTIONS), encoding="utf-8"
    )
    monkeypatch.setattr(checks, "DOCS", tmp_path / "docs")
    check(catalogue.method("poll"), tmp_path)


@pytest.mark.usefixtures("ballots")
@pytest.mark.parametrize("check", test_kinds.CHECKS, ids=lambda check: check.__name__)
def test_a_new_kind_keeps_every_promise(check: test_kinds.Check, tmp_path: Path) -> None:
    check(catalogue.kind("ballots"), tmp_path)


@pytest.mark.usefixtures("ballots")
def test_a_new_kind_goes_through_every_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("votes.csv").write_text("party\n" + "red\n" * 300 + "green\n" * 200, encoding="utf-8")
    assert command(["draft", "votes.csv", "--kind", "ballots"]) == 0
    draft = Path("votes.schema.yaml")
    text = draft.read_text(encoding="utf-8")
    assert "ballot: {vote: party}" in text
    draft.write_text(text.replace("review: true", "review: false"), encoding="utf-8")
    assert command(["release", "votes.csv", "-s", str(draft), "-e", "1", "-o", "poll"]) == 0
    assert command(["inspect", "poll"]) == 0
    assert "ballots released with poll" in capsys.readouterr().out
    assert command(["query", "poll", "--votes", "red", "--json"]) == 0
    assert 250 < json.loads(capsys.readouterr().out)["value"] < 350
    assert command(["query", "poll", "--top", "3"]) != 0
    assert "--top is for releases of sequences" in capsys.readouterr().err
    assert command(["evaluate", "poll", "votes.csv", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["kind"] == "ballots"
    assert command(["methods", "--json"]) == 0
    assert "poll" in [each["name"] for each in json.loads(capsys.readouterr().out)]


@pytest.mark.usefixtures("ballots")
def test_a_new_method_is_audited_and_its_broken_copies_are_refuted() -> None:
    names = ["poll", *(f"broken-poll-{mistake}" for mistake in ("forgotten-noise", "budget-used-twice"))]
    standing, *refuted = audit(names, trials=100_000)
    assert standing.status is Status.HOLDS
    assert all(verdict.status is Status.REFUTED for verdict in refuted)


@pytest.mark.usefixtures("ballots")
@pytest.mark.parametrize(
    "module", [data, draft, evaluation, layout, method, release], ids=lambda m: m.__name__
)
def test_every_class_of_a_new_kind_has_an_example_that_runs(module: ModuleType) -> None:
    for name, found in vars(module).items():
        if isinstance(found, type) and found.__module__ == module.__name__ and not name.startswith("_"):
            assert ">>> " in str(found.__doc__), name
    failed, tried = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert tried > 0
    assert failed == 0


def test_a_new_kind_may_ask_with_several_words() -> None:
    """An option with a dash reaches its question."""
    option = OptionInfo("votes", "votes-of", "NAME", "how many votes somebody has.")
    with catalogue.extended(kinds=(replace(KIND, options=(option,)),), methods=(METHOD,), forms=(FORM,)):
        query.with_options()
        assert "votes_of" in inspect.signature(query.query).parameters
        schema = Schema.from_yaml(audits.BALLOTS)
        votes = pl.DataFrame({"party": ["red"] * 300})
        with tempfile.TemporaryDirectory() as place:
            penstock.release(votes, schema, epsilon=1, out=f"{place}/poll")
            query.query(f"{place}/poll", votes_of="red")
    query.with_options()


@pytest.mark.usefixtures("ballots")
def test_a_new_method_is_replayed_and_its_sabotaged_copies_are_caught() -> None:
    info, every = catalogue.method("poll"), every_audit()
    settings = usable(info, every)
    assert settings
    for setting in settings:
        found = hostile(info, setting)
        assert not found.problems
        assert found.share == 1
    assert all(caught(info, every, wrong) for _, wrong in TAMPERINGS.values())


def test_nothing_of_it_stays_behind() -> None:
    assert "ballots" not in [kind.name for kind in catalogue.kinds()]
    assert "--votes" not in [f"--{name}" for name in query.options()]
