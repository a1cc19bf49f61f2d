"""A small custodian's desk: data, a reviewed schema, a ledger, and the command line in process."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.cli.desk import ROWS, SCHEMA, Cli, Desk, Outcome

from penstock.cli import run


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Run a command line in this process."""
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.delenv("PENSTOCK_DEBUG", raising=False)

    def call(*arguments: object) -> Outcome:
        capsys.readouterr()
        code = run([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return call


@pytest.fixture
def desk(tmp_path: Path, empty_ledger: Path, monkeypatch: pytest.MonkeyPatch) -> Desk:
    """A desk with good data, a reviewed schema and a ledger whose account may spend 3."""
    monkeypatch.chdir(tmp_path)
    made = Desk(tmp_path)
    made.write(ROWS)
    made.schema.write_text(SCHEMA, encoding="utf-8")
    shutil.copy(empty_ledger, made.ledger)
    return made


@pytest.fixture(scope="session")
def empty_ledger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger with one account, 'people', that may spend epsilon 3."""
    book = tmp_path_factory.mktemp("ledger") / "ledger.db"
    assert run(["ledger", "init", str(book)]) == 0
    assert run(["ledger", "limit", str(book), "people", "--epsilon", "3"]) == 0
    return book


@pytest.fixture(scope="session")
def release_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished release of a table, made once."""
    place = tmp_path_factory.mktemp("made")
    desk = Desk(place)
    desk.write(ROWS)
    desk.schema.write_text(SCHEMA, encoding="utf-8")
    assert run(desk.release) == 0
    return desk.out
