"""A short soak: the same harms as in the long one, on few releases."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SOAK = Path(__file__).resolve().parents[2] / "studies" / "soak.py"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="releases are forked, and get signals")
def test_whatever_happens_to_releases_nothing_is_overspent_lost_unseen_or_left_behind(tmp_path: Path) -> None:
    """What happens at which step follows from the seed, and no promise depends on how fast anything is."""
    figures = tmp_path / "soak.json"
    done = subprocess.run(
        [sys.executable, str(SOAK), "--releases", "24", "--workers", "2", "--json", str(figures)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(figures.read_text(encoding="utf-8"))
    assert found["figures"]["releases begun"] == 24
    assert found["figures"]["promises broken"] == 0
    harms = {harm: sum(n for which, _, n in found["ends"] if which == harm) for harm, *_ in found["ends"]}
    assert len(harms) >= 6
    assert harms["kill -9"] > 0


def test_a_promise_that_is_broken_is_named(tmp_path: Path) -> None:
    """A release whose charge disappears, and a file that others can read."""
    code = """
import os, sys
from fractions import Fraction
from pathlib import Path
sys.path.insert(0, sys.argv[1])
os.environ["PENSTOCK_STATE"] = sys.argv[2] + "/desk/state"
import soak
os.mkdir(sys.argv[2] + "/desk")
desk = soak.Desk(Path(sys.argv[2]) / "desk")
ledger = soak.Ledger.create(desk.ledger)
ledger.set_limit("people", 1, unit="record")
task = soak.Task(0, desk.home / "out" / "release-0", Fraction(1, 3), "none", 0, 0, True)
assert soak.run(desk.command(task)) == 0
import sqlite3
with sqlite3.connect(desk.ledger) as book:
    book.execute("DELETE FROM penstock_entries")
(desk.home / "out" / ".left").mkdir()
soak.check(desk)
print("|".join(desk.wrong))
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(SOAK.parent), str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
    )
    wrong = done.stdout.strip().splitlines()[-1].split("|")
    assert wrong == ["others can read .left", "a release is in no ledger", "hidden files are left: ['.left']"]
