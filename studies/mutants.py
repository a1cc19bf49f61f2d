"""Would anybody notice? Wrong lines, one at a time, in a copy of the source, and who caught each.

    python studies/mutants.py                    # all of them, for the page docs/privacy/mutants.md
    python studies/mutants.py "gaps"             # those whose description holds a word; the others keep
                                                 # their lines on the page

Every mutant is one replaced text of one file (`mutations.py`). It is applied to a copy, the responsible check
is run there, and the check must fail: a replay of the named methods on hostile neighbours
(`penstock.audit.replays`), or tests, among which the enumerations of the laws. A mutant that survives is a
hole in the checks, and the script says so and fails.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from mutations import MUTANTS, Mutant

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "privacy" / "mutants.md"
LIMIT = 600

REPLAY = """
import sys
from penstock import catalogue
from penstock.audit.replays import hostile, usable
from penstock.audit.targets import every_audit

for name in sys.argv[1:]:
    info = catalogue.method(name)
    for setting in usable(info, every_audit()):
        if setting.engine == "memory":
            found = hostile(info, setting, seed=1)
            if found.problems:
                print(found.problems[0])
                sys.exit(1)
"""


@dataclass(frozen=True)
class Fate:
    """What became of a mutant."""

    mutant: Mutant
    caught: bool
    said: str
    seconds: float

    @property
    def by(self) -> str:
        if self.mutant.check == "replay":
            return "replay"
        return "enumeration" if any("/laws/" in node for node in self.mutant.of) else "tests"


def try_out(mutant: Mutant, copy: Path) -> Fate:
    """Apply a mutant to the copy, run its check, and put the copy back."""
    path = copy / "src" / "penstock" / mutant.file
    text = path.read_text(encoding="utf-8")
    if text.count(mutant.old) != 1:
        raise SystemExit(f"{mutant.file} does not hold once: {mutant.old!r}")
    started = time.perf_counter()
    path.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
    try:
        failed, said = _check(mutant, copy)
    finally:
        path.write_text(text, encoding="utf-8")
    return Fate(mutant, failed, said, time.perf_counter() - started)


def _check(mutant: Mutant, copy: Path) -> tuple[bool, str]:
    if mutant.check == "replay":
        command = [sys.executable, "-c", REPLAY, *mutant.of]
    else:
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *mutant.of]
    environment = {**os.environ, "PYTHONPATH": str(copy / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    ran = subprocess.run(
        command, cwd=copy, env=environment, capture_output=True, text=True, timeout=LIMIT, check=False
    )
    lines = [line for line in (ran.stdout + ran.stderr).splitlines() if line.strip()]
    if mutant.check == "tests":
        lines = [line for line in lines if line.startswith("FAILED")] or lines
    elif ran.returncode and not ran.stdout.strip():  # a mutant that cannot run shows nothing
        raise SystemExit(f"'{mutant.what}' does not run: {lines[-1] if lines else ran.returncode}")
    return ran.returncode != 0, lines[-1 if mutant.check == "replay" else 0] if lines else ""


INTRODUCTION = """# Mutants

<!-- made by studies/mutants.py -->

A guarantee is only as good as the checks that would notice its loss. So lines of the source are made wrong,
one at a time, in a copy: noise too small, a sensitivity forgotten, a raw size that decides, a draw past the
seam. Each mutant must be caught: by a [transcript replay](../audit.md#transcript-replay) of a method, by the
enumeration of a law's probabilities, or by a test.
"""


def row(fate: Fate) -> str:
    """The line of a mutant on the page."""
    who = f"{fate.by}: {', '.join(fate.mutant.of)}" if fate.caught else "**nobody**"
    said = fate.said.replace("|", "¦").replace("FAILED ", "").replace("`", "'")[:150]
    return f"| {fate.mutant.what} | `{fate.mutant.file}` | {who} | {said} |"


def rows(text: str) -> dict[str, str]:
    """The lines of a page, by mutant; of those that there are."""
    found = {line.split(" | ")[0].removeprefix("| "): line for line in text.splitlines() if line[:2] == "| "}
    return {mutant.what: found[mutant.what] for mutant in MUTANTS if mutant.what in found}


def page(lines: Mapping[str, str]) -> str:
    """The page of the docs: every mutant and who caught it."""
    tried = [mutant for mutant in MUTANTS if mutant.what in lines]
    rooms = len({mutant.room for mutant in tried})
    who = [lines[mutant.what].split(" | ")[2].partition(":")[0] for mutant in tried]
    listed = ", ".join(f"{who.count(one)} by {one}" for one in ("replay", "enumeration", "tests"))
    caught = len(who) - who.count("**nobody**")
    head = [
        INTRODUCTION,
        f"**{caught} of {len(tried)} mutants in {rooms} rooms are caught: {listed}.**",
        "`python studies/mutants.py` repeats it; the wrong lines stand in `studies/mutations.py`.",
        "",
        "| mutant | where | caught by | what it said |",
        "|---|---|---|---|",
    ]
    return "\n".join([*head, *(lines[mutant.what] for mutant in tried)]) + "\n"


def main(words: list[str]) -> int:
    chosen = [mutant for mutant in MUTANTS if all(word in mutant.what for word in words)]
    fates = []
    lines = rows(PAGE.read_text(encoding="utf-8")) if words else {}
    with tempfile.TemporaryDirectory() as place:
        copy = Path(place) / "copy"
        kept = shutil.ignore_patterns(".git", ".venv", "__pycache__", "site", ".*cache")
        shutil.copytree(ROOT, copy, ignore=kept)
        for mutant in chosen:
            fate = try_out(mutant, copy)
            word = "caught" if fate.caught else "SURVIVES"
            print(f"{word} in {fate.seconds:.0f} s: {mutant.what}: {fate.said}", flush=True)
            fates.append(fate)
            lines[mutant.what] = row(fate)
    PAGE.write_text(page(lines), encoding="utf-8")
    return 0 if all(fate.caught for fate in fates) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
