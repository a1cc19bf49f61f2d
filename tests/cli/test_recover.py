"""Paid and interrupted: the model is kept, named, finished or dropped, and never paid for twice."""

from __future__ import annotations

import errno
import json
import os
import signal
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.desk import Cli, Desk

from penstock.api import load
from penstock.errors import PenstockWarning
from penstock.privacy.ledger.ledger import Ledger
from penstock.releases import folder as folders

NEEDS_KILL = pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no such signals on this system")


def command(desk: Desk, *, out: Path | None = None) -> list[str]:
    booked = ["--ledger", str(desk.ledger), "--account", "people", "--method", "independent"]
    return ["release", str(desk.data), "-s", str(desk.schema), "-e", "1", "-o", str(out or desk.out), *booked]


def full(*_: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def interrupted(*_: object) -> None:
    raise KeyboardInterrupt


def hidden(desk: Desk) -> list[str]:
    return sorted(path.name for path in desk.folder.iterdir() if path.name.startswith("."))


@pytest.mark.parametrize(("what", "code"), [(full, 1), (interrupted, 130)])
def test_a_model_that_was_paid_for_is_kept_and_finished(
    cli: Cli, desk: Desk, monkeypatch: pytest.MonkeyPatch, what: Callable[..., None], code: int
) -> None:
    """The rows come after the model, and need it only: what is lost with them can be made again."""
    with monkeypatch.context() as patch:
        patch.setattr(folders, "_save_rows", what)
        done = cli(*command(desk))
    assert done.code == code
    assert "penstock recover" in done.err
    assert not desk.out.exists()
    (place,) = (path for path in desk.folder.iterdir() if path.name.startswith(".") and path.is_dir())
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    assert {path.name for path in place.iterdir()} == {
        "receipt.json", "schema.yaml", "model.json", "datapackage.json",
        *(path.name for path in place.glob("model-*.parquet")),
    }  # fmt: skip
    again = cli(*command(desk))
    assert again.code == 1
    assert "was paid for and interrupted" in again.err
    assert "Nothing was spent" in again.err
    listed = json.loads(cli("recover", "--json", "--ledger", desk.ledger).out)
    assert [each["destination"] for each in listed["kept"]] == [str(desk.out)]
    assert (listed["kept"][0]["busy"], listed["open"]) == (False, [])
    assert str(desk.out) in cli("recover").out
    finished = cli("recover", desk.out, "--ledger", desk.ledger)
    assert finished.code == 0, finished.err
    (entry,) = Ledger.open(str(desk.ledger)).account("people").entries()
    assert (entry.status, entry.release) == ("complete", desk.out.name)
    made = load(desk.out)
    assert (made.receipt.ledger, made.receipt.epsilon) == (entry.name, 1)
    assert {"synthetic.csv", "report.html"} <= set(os.listdir(desk.out))
    assert hidden(desk) == []
    assert "Nothing is kept here" in cli("recover").out


def test_a_disk_that_refuses_even_the_model_has_it_kept_elsewhere(
    cli: Cli, desk: Desk, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PENSTOCK_STATE", str(tmp_path / "state"))
    real = folders._write

    def write(path: Path, text: str) -> None:
        if tmp_path / "state" not in path.parents:
            full()
        real(path, text)

    with monkeypatch.context() as patch:
        patch.setattr(folders, "_write", write)
        done = cli(*command(desk))
    assert done.code == 1
    assert "No space left on device" in done.err
    assert "Its model is kept; finish it with 'penstock recover" in done.err
    assert "The budget is spent all the same" in done.err
    assert hidden(desk) == []
    assert stat.S_IMODE((tmp_path / "state").stat().st_mode) == 0o700
    other = desk.folder / "elsewhere"
    assert cli("recover", desk.out, "--to", other).code == 0
    assert load(other).receipt.epsilon == 1
    assert list((tmp_path / "state").iterdir()) == []


def test_what_is_kept_can_be_dropped_and_stays_spent(
    cli: Cli, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(folders, "_save_rows", full)
        cli(*command(desk))
    assert cli("recover", "--discard").code == 2
    assert cli("recover", desk.folder / "other", "--discard").code == 1
    done = cli("recover", desk.out, "--discard")
    assert (done.code, hidden(desk)) == (0, [])
    assert "stays spent" in done.err
    [account] = json.loads(cli("ledger", "show", desk.ledger, "--json").out)["accounts"]
    assert account["spent"]["epsilon"] == "1"
    open_ones = json.loads(cli("recover", "--ledger", desk.ledger, "--json").out)["open"]
    assert [entry["epsilon"] for entry in open_ones] == ["1"]
    assert "counts as spent" in cli("recover", "--ledger", desk.ledger).out


def test_another_release_beside_it_sweeps_nothing_that_was_paid_for(
    cli: Cli, desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(folders, "_save_rows", full)
        cli(*command(desk))
    before = hidden(desk)
    assert len(before) == 2
    assert cli(*command(desk, out=desk.folder / "second")).code == 0
    assert hidden(desk) == before
    assert cli("recover", desk.out).code == 0


def test_python_is_told_where_the_model_is(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    from penstock import recover, release

    with monkeypatch.context() as patch:
        patch.setattr(folders, "_save_rows", interrupted)
        with (
            pytest.warns(PenstockWarning, match="Its model is kept; finish it with"),
            pytest.raises(KeyboardInterrupt),
        ):
            release(str(desk.data), str(desk.schema), epsilon=1, method="independent", out=desk.out)
    assert recover(desk.out).sample(3, seed=1).height == 3


_ENDED = """
import os, signal, sys
from penstock.releases import folder, kept
from penstock.cli import run
for name in ("SIGTERM", "SIGHUP", "SIGINT"):  # whoever runs the tests may ignore them, as nohup does
    signal.signal(getattr(signal, name), signal.default_int_handler)
def end(*_):
    os.kill(os.getpid(), getattr(signal, sys.argv[1]))
    raise SystemExit("still alive")
if sys.argv[2] == "rows":
    folder._save_rows = end
else:  # right after the first file of the model
    real, folder._write = folder._write, None
    def write(path, text):
        real(path, text)
        if path.name == "receipt.json":
            os.kill(os.getpid(), getattr(signal, sys.argv[1]))
    folder._write = write
sys.exit(run(sys.argv[3:]))
"""


@NEEDS_KILL
@pytest.mark.parametrize(
    ("name", "when", "kept"),
    [
        ("SIGKILL", "rows", True), ("SIGKILL", "model", False),
        ("SIGTERM", "rows", True), ("SIGTERM", "model", True),
        ("SIGHUP", "model", True), ("SIGINT", "model", True),
    ],
)  # fmt: skip
def test_every_way_to_end_a_release_keeps_its_model_or_reports_it(
    cli: Cli, desk: Desk, name: str, when: str, kept: bool
) -> None:
    """Only kill -9 before the model is on disk loses it, and then the ledger tells."""
    done = subprocess.run(
        [sys.executable, "-c", _ENDED, name, when, *command(desk)],
        capture_output=True,
        text=True,
        timeout=300,
    )
    number = int(getattr(signal, name))
    assert done.returncode == (-number if name == "SIGKILL" else 128 + number), done.stderr
    if name != "SIGKILL":
        assert "Interrupted." in done.stderr
        assert "penstock recover" in done.stderr
    assert not desk.out.exists()
    listed: dict[str, Any] = json.loads(cli("recover", "--json", "--ledger", desk.ledger).out)
    assert (len(listed["kept"]), len(listed["open"])) == ((1, 0) if kept else (0, 1))
    if kept:
        assert cli("recover", desk.out, "--ledger", desk.ledger).code == 0
        assert load(desk.out).receipt.epsilon == 1
    else:
        assert cli(*command(desk)).code == 0  # and sweeps what the killed process left
    assert hidden(desk) == []
