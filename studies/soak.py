"""A soak: many releases against one ledger while everything goes wrong, and what is left of it.

    python studies/soak.py                     # 1,000 releases, some five minutes; --write makes the page
    python studies/soak.py --releases 20       # what the tests run

Every release is a process of its own that runs the command line. Most are forked from one that has loaded
everything, and write a short report, so that a thousand are affordable; a few are started as programs, and
their signals come at a random moment. For the others harm comes at a random step: the n-th time that the
process opens, makes, renames or removes a file of the soak, or asks its ledger.

    kill -9, kill, Ctrl-C    the process sends itself the signal at that step
    full disk, faked         from that step on whatever Python would write fails with ENOSPC
    full disk, real          RLIMIT_FSIZE: the kernel refuses every byte of a file beyond a random size,
                             in SQLite and Polars too
    lost lock                the lock on the destination vanishes, and the next release goes to the same place

Afterwards: no limit is passed, every folder is whole, every entry of the ledger is a release, a model that is
kept and can be finished, or reported as open; and nothing is left that others can read. The exit code is 1
otherwise.
"""

from __future__ import annotations

import argparse
import errno
import json
import os
import random
import resource
import signal
import stat
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

# Loaded before the forks, and not used before them: a process with threads is not safely forked.
import pyarrow.csv  # noqa: F401

from penstock.cli import run
from penstock.errors import ReleaseError
from penstock.privacy.ledger.ledger import Ledger
from penstock.releases import load, public_report
from penstock.releases.kept import find
from soak_page import HARMS, PLACE, ends_table, figures_table, page

CANARY = "Wilhelmina-Canary"
SCHEMA = """\
fields:
  - {name: name, type: string, constraints: {enum: [ada, bob]}, outside: other}
  - {name: age, type: integer, constraints: {minimum: 0, maximum: 99}, bins: {width: 10}}
"""
WEIGHTS = {"none": 4, "kill -9": 4, "kill": 3, "Ctrl-C": 3}  # 2 for the others
STEPS = 90
"""Steps of an undisturbed release, roughly: a harm at a later one never happens."""

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


@dataclass(frozen=True)
class Task:
    """One release, and what will happen to it."""

    number: int
    out: Path
    epsilon: Fraction
    harm: str
    step: int
    size: int
    forked: bool


@dataclass
class Desk:
    """The folders of one soak."""

    home: Path
    ends: Counter[tuple[str, str]] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        for name in ("out", "state", "spill", "said"):
            (self.home / name).mkdir()
        rows = "".join(f"{name},{age}\n" for age in range(20, 60) for name in ("ada", "bob", CANARY))
        (self.home / "people.csv").write_text(f"name,age\n{rows}", encoding="utf-8")
        (self.home / "people.yaml").write_text(SCHEMA, encoding="utf-8")

    @property
    def ledger(self) -> str:
        return str(self.home / "ledger.db")

    def command(self, task: Task) -> list[str]:
        data = ["release", str(self.home / "people.csv"), "-s", str(self.home / "people.yaml")]
        booked = ["--ledger", self.ledger, "--account", "people", "--method", "independent"]
        return [*data, "-e", str(task.epsilon), "-o", str(task.out), *booked]

    def require(self, holds: bool, what: str) -> None:
        if not holds:
            self.wrong.append(what)


def tasks(desk: Desk, count: int, chance: random.Random) -> list[Task]:
    made: list[Task] = []
    for number in range(count):
        lost = bool(made) and made[-1].harm == "lost lock"
        harm = chance.choices(list(HARMS), [WEIGHTS.get(harm, 2) for harm in HARMS])[0]
        made.append(
            Task(
                number,
                made[-1].out if lost else desk.home / "out" / f"release-{number}",
                chance.choice([Fraction(1, 7), Fraction(1, 3), Fraction(1, 2), Fraction(1)]),
                harm,
                chance.randrange(1, STEPS),
                int(2 ** chance.uniform(8, 17)),
                number % 40 != 7 or harm not in ("none", "kill -9", "kill", "Ctrl-C"),
            )
        )
    return made


def harmful(desk: Desk, task: Task) -> Callable[[str, tuple[Any, ...]], None]:
    """What a forked release does at each of its steps."""
    seen = 0

    def step(event: str, arguments: tuple[Any, ...]) -> None:
        nonlocal seen
        ours = event in ("open", "os.mkdir", "os.rename", "os.remove", "os.rmdir")
        if event != "ledger" and not (ours and str(arguments[0]).startswith(str(desk.home))):
            return
        seen += 1
        if task.harm in ("kill -9", "kill", "Ctrl-C") and seen == task.step:
            os.kill(
                os.getpid(), {"kill -9": signal.SIGKILL, "kill": signal.SIGTERM}.get(task.harm, signal.SIGINT)
            )
        elif task.harm == "lost lock" and seen == task.step:
            (task.out.parent / f".{task.out.name}.reserved").unlink(missing_ok=True)
        elif task.harm == "full disk, faked" and seen >= task.step:
            writes = event in ("os.mkdir", "os.rename") or (event == "open" and bool(arguments[2] & _WRITING))
            if writes:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    return step


def forked(desk: Desk, task: Task) -> int:
    """Run a release in a copy of this process; its number."""
    child = os.fork()
    if child:
        return child
    code = 99
    try:
        said = os.open(desk.home / "said" / f"{task.number}.txt", os.O_WRONLY | os.O_CREAT, 0o600)
        os.dup2(said, 1)
        os.dup2(said, 2)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.default_int_handler)
        setattr(public_report, "report", lambda release, title=None: "<p>A short report.</p>\n")  # noqa: B010
        act = harmful(desk, task)
        if task.harm == "full disk, real":
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (task.size, task.size))
        elif task.harm != "none":
            _watch_the_ledger(act)
            sys.addaudithook(act)
        code = run(desk.command(task))
        sys.stdout.flush()
    finally:
        os._exit(code)


def _watch_the_ledger(act: Callable[[str, tuple[Any, ...]], None]) -> None:
    from sqlalchemy import Engine, event

    @event.listens_for(Engine, "before_cursor_execute")
    def before(*_: Any) -> None:
        act("ledger", ())

    @event.listens_for(Engine, "commit")
    def commit(*_: Any) -> None:
        act("ledger", ())


def started(desk: Desk, task: Task, chance: random.Random) -> int:
    """The same as a program of its own; its signal comes at a random moment of its first seconds."""
    code = (
        "import os, random, signal, sys, threading\n"
        "number, moment = int(sys.argv[1]), float(sys.argv[2])\n"
        "if number:\n"
        "    timer = threading.Timer(moment, os.kill, (os.getpid(), number))\n"
        "    timer.daemon = True\n"
        "    timer.start()\n"
        "from penstock.cli import run\n"
        "sys.exit(run(sys.argv[3:]))\n"
    )
    number = {"kill -9": signal.SIGKILL, "kill": signal.SIGTERM, "Ctrl-C": signal.SIGINT}.get(task.harm, 0)
    with (desk.home / "said" / f"{task.number}.txt").open("wb") as said:
        process = subprocess.Popen(
            [sys.executable, "-c", code, str(int(number)), str(chance.uniform(0, 6)), *desk.command(task)],
            stdout=said,
            stderr=said,
        )
    process.returncode = 0  # `soak` waits for it
    return process.pid


def ending(status: int) -> str:
    code = os.waitstatus_to_exitcode(status)
    if code in (-signal.SIGKILL,):
        return "killed"
    if code in (128 + signal.SIGINT, 128 + signal.SIGTERM, -signal.SIGINT, -signal.SIGTERM):
        return "interrupted"
    return {0: "finished", 1: "refused or failed"}.get(code, f"exit code {code}")


def soak(desk: Desk, count: int, seed: int, workers: int) -> None:
    """All releases, so many at a time; what each came to is noted."""
    chance = random.Random(seed)
    Ledger.create(desk.ledger).set_limit("people", Fraction(count, 5), unit="record")
    waiting, running = tasks(desk, count, chance), dict[int, Task]()
    while waiting or running:
        while waiting and len(running) < workers:
            task = waiting.pop(0)
            running[forked(desk, task) if task.forked else started(desk, task, chance)] = task
        pid, status = os.wait()
        task = running.pop(pid)
        ended = ending(status)
        desk.ends[task.harm, ended] += 1
        said = (desk.home / "said" / f"{task.number}.txt").read_text(encoding="utf-8", errors="replace")
        words = f"{task.number} ({task.harm} at {task.step}) said: {said[-600:]}"
        desk.require(not ended.startswith("exit code"), f"{ended}: {words}")
        # A program that is interrupted while Python itself still starts shows where; it has read nothing yet.
        told = CANARY in said or (task.forked and "Traceback" in said)
        desk.require(not told, f"it said too much: {words}")


def check(desk: Desk) -> dict[str, int]:
    """Whether everything that was promised holds of what is left; the numbers for the page."""
    out, account = desk.home / "out", Ledger.open(desk.ledger).account("people")
    for place in (desk.home / "state", out):
        for path in place.iterdir():
            if path.name.startswith("."):
                private = not stat.S_IMODE(path.lstat().st_mode) & 0o077
                desk.require(private, f"others can read {path.name}")
    kept = find(out)
    entries = {each.entry for each in kept}
    for each in kept:
        target = each.destination
        if target.exists():  # a lost lock: another release has its name
            target = target.with_name(
                f"{target.name}-recovered-{len(each.folder.name)}-{each.folder.name[-6:]}"
            )
        words = ["recover", str(each.destination), "--ledger", desk.ledger, "--to", str(target)]
        desk.require(run(words) == 0, f"the model kept for {each.destination.name} cannot be finished")
    last = Task(-1, out / "last", Fraction(1, 1000), "none", 0, 0, forked=True)
    Ledger.open(desk.ledger).set_limit("people", account.balance().limit[0] + 1)
    desk.require(run(desk.command(last)) == 0, "a release after all of it fails")
    made = {}
    for path in sorted(path for path in out.iterdir() if not path.name.startswith(".")):
        try:
            made[path.name] = load(path)
        except ReleaseError as problem:
            desk.require(False, f"half-written: {problem}")
    lines = account.entries()
    counted = [line for line in lines if line.counts]
    released = [each.receipt.ledger for each in made.values()]
    desk.require(len(set(released)) == len(released), "two releases claim one entry")
    desk.require(set(released) <= {line.name for line in counted}, "a release is in no ledger")
    listed = {line.name for line in counted if line.status == "reserved"}
    lost = {line.name for line in counted} - set(released)
    desk.require(lost <= listed, "an entry is complete, and its release is nowhere")
    spent = sum((line.epsilon for line in counted), Fraction(0))
    desk.require(spent == account.balance().spent[0], "the ledger adds up to something else")
    desk.require(spent <= account.balance().limit[0], "the limit was passed")
    desk.require(not list((desk.home / "state").iterdir()), "something is left in the state folder")
    left = sorted(path.name for path in out.iterdir() if path.name.startswith("."))
    desk.require(not left, f"hidden files are left: {left[:5]}")
    for path in (path for path in desk.home.rglob("*") if path.is_file() and path.name != "people.csv"):
        desk.require(CANARY.encode() not in path.read_bytes(), f"{path.name} holds a record")
    return {
        "releases begun": sum(desk.ends.values()),
        "entries of the ledger that count": len(counted),
        "of these: releases, finished at once": len(set(released) - entries),
        "of these: models kept, all finished by `penstock recover`": len(set(released) & entries),
        "of these: stopped before there was a model, reported as open": len(lost),
        "entries given back": len(lines) - len(counted),
        "promises broken": len(desk.wrong),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description="Many releases against one ledger while everything goes wrong."
    )
    parser.add_argument("--releases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--write", action="store_true", help="write the page of the documentation")
    parser.add_argument("--json", type=Path, help="also write the figures here")
    chosen = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        os.environ["PENSTOCK_STATE"], os.environ["PENSTOCK_SPILL"] = f"{folder}/state", f"{folder}/spill"
        desk = Desk(Path(folder))
        soak(desk, chosen.releases, chosen.seed, chosen.workers)
        found = check(desk)
    print("\n".join([*ends_table(desk.ends), "", *figures_table(found)]))
    for each in desk.wrong:
        print(f"BROKEN: {each}", file=sys.stderr)
    if chosen.write:
        PLACE.write_text(page(found, desk.ends, desk.wrong), encoding="utf-8")
    if chosen.json is not None:
        ends = [[*key, count] for key, count in sorted(desk.ends.items())]
        chosen.json.write_text(
            json.dumps({"figures": found, "ends": ends}, indent=1) + "\n", encoding="utf-8"
        )
    return 1 if desk.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
