"""What adding a kind of data touches: a made-up one is added to a copy of the project, tried and removed.

    python studies/house/new_kind.py            # prints the diff-stat, and what pytest says
    python studies/house/new_kind.py before     # what the youngest kind touched before kinds had rooms

The kind is the ballots of the conformance suite, with their method `poll`. Their package becomes
`kinds/ballots/`, their entries go into the catalogue, their page into `docs/methods/`. In the copy the suite
finds them through the catalogue, like every kind. The *before* is what sequences, added as one kind with
three methods, touched up to commit 41dc141: files outside their own folder that name them.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
BEFORE = "41dc141"
PACKAGE = ("__init__", "audits", "data", "draft", "evaluation", "layout", "method", "release")
TRIED = ("-k", "poll or ballots", "tests/conformance/test_catalogue.py", "tests/conformance/test_kinds.py")
PLAN = ("tests/test_house.py", "tests/test_names.py")
SEQUENCES = re.compile(
    r"[\"']sequences[\"']|penstock\.sequence\b|(privacy|evaluate)\.sequences\b|engine\.(symbols|occurrences)\b"
    r"|\bSequences\b|SequenceLayout|\.sequence\b"
)
PAGE = """# poll

Noisy votes for every candidate.

## When to use it

For votes, which are counted.

## The theorem

A ballot moves one count by one, so that noise of scale 1/epsilon makes the votes epsilon-private.

## What it costs

The whole budget, once.

## How good

Within three votes in 95 of 100 releases at epsilon 1.

## Picture

Bars.

## Limits

No turnout.

## Reference

Made up.
"""


def git(*words: str, at: Path = ROOT) -> str:
    name = ("-c", "user.name=nobody", "-c", "user.email=nobody@example.org")
    return subprocess.run(["git", *name, *words], cwd=at, check=True, capture_output=True, text=True).stdout


def before() -> list[str]:
    """The files outside their folder that named sequences, and those that were theirs alone."""
    found = []
    for file in git("ls-tree", "-r", "--name-only", BEFORE, "--", "src").split():
        if file.endswith(".py") and not file.startswith("src/penstock/sequence/"):
            theirs = Path(file).stem in ("sequences", "symbols", "occurrences")
            if theirs or SEQUENCES.search(git("show", f"{BEFORE}:{file}")):
                found.append(file)
    return found


def added(copy: Path) -> None:
    """Ballots as a kind of this house: one package, their entries, one page."""
    made_up, room = copy / "tests/conformance/ballots", copy / "src/penstock/kinds/ballots"
    room.mkdir()
    for name in PACKAGE:
        text = (made_up / f"{name}.py").read_text(encoding="utf-8")
        (room / f"{name}.py").write_text(_at_home(text), encoding="utf-8")
    entry = _at_home((made_up / "entry.py").read_text(encoding="utf-8"))
    parts = dict(re.findall(r"^(KIND|METHOD|FORM) = (.*?)(?=^[A-Z]+ = |\Z)", entry, re.MULTILINE | re.DOTALL))
    room_named = {
        name: text.replace("{ROOM}", "penstock.kinds.ballots").replace('f"', '"')
        for name, text in parts.items()
    }
    _put(copy, "kind_entries.py", "KINDS", room_named["KIND"])
    _put(copy, "method_entries.py", "METHODS", room_named["METHOD"])
    _put(copy, "method_entries.py", "FORMS", room_named["FORM"])
    (copy / "docs/methods/poll.md").write_text(PAGE, encoding="utf-8")


def _at_home(text: str) -> str:
    return text.replace("tests.conformance.ballots", "penstock.kinds.ballots")


def _put(copy: Path, name: str, into: str, entry: str) -> None:
    """An entry at the end of a tuple of the catalogue."""
    path = copy / "src/penstock/catalogue" / name
    text = path.read_text(encoding="utf-8")
    end = text.index("\n)\n", text.index(f"{into} = (\n"))
    indented = "".join(f"    {line}\n" for line in entry.strip().splitlines())
    path.write_text(f"{text[:end]}\n{indented.rstrip()},{text[end:]}", encoding="utf-8")


def main() -> None:
    if sys.argv[1:] == ["before"]:
        files = before()
        rooms = {Path(file).parent for file in files}
        print(f"{len(files)} files in {len(rooms)} rooms, besides its own folder")
        print("\n".join(files))
        return
    with tempfile.TemporaryDirectory() as place:
        copy = Path(place)
        archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, check=True, capture_output=True).stdout
        subprocess.run(["tar", "-x", "-C", place], input=archive, check=True)
        git("init", "-q", at=copy)
        git("add", "-A", at=copy)
        git("commit", "-qm", "without ballots", at=copy)
        added(copy)
        git("add", "-A", at=copy)
        print(git("diff", "--cached", "--stat", at=copy))
        for chosen in (TRIED, PLAN):
            command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *chosen]
            environment = {"PYTHONPATH": str(copy / "src"), "PATH": "/usr/bin:/bin", "HOME": place}
            done = subprocess.run(
                command, cwd=copy, env=environment, capture_output=True, text=True, check=False
            )
            print(done.stdout.strip().splitlines()[-1])
        git("reset", "-q", "--hard", at=copy)
        print(f"removed again: {git('status', '--short', at=copy) or 'nothing is left of it'}")


if __name__ == "__main__":
    main()
