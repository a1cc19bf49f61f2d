"""Run the race: each peer in its own environment and process, on the same table and budget.

    python studies/race/run.py                              # both tables, epsilon 1, the light peers
    python studies/race/run.py --table nltcs --epsilon 0.1
    python studies/race/run.py --all --limit 1800           # also those that take long, after the others
    python studies/race/run.py --peer "OpenDP AIM"          # this one anew; the others stay as they were
    python studies/race/run.py --show                       # the table: of everybody the last runs
    python studies/race/run.py --show --write               # all tables, as pages in docs/studies

Peers see the training part (80 %) as integer codes with the number of codes of each column. Wall and CPU time
are those of the whole process, imports, reading and writing included; each draws 45,222 synthetic rows.
Approximate peers get a delta of 1e-5.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import polars as pl

from frame.data import Dataset, MissingDataError, load
from frame.page import Page
from race.environments import python_of
from race.peers import PEERS, Peer
from race.scores import bounds, scored
from race.table import page, table

DRIVERS = Path(__file__).resolve().parent / "drivers"
TABLES = ("nltcs", "adult-race")
DELTA = 1e-5
LIMIT = 900.0
ROWS = 45_222  # of synthetic data; the complete records of Adult
STORE = Path(__file__).resolve().with_name("race.jsonl")
"""Kept with the project, so that one entry can be run anew beside the figures of all others."""


@dataclass(frozen=True)
class Run:
    """What one process did."""

    table: str
    epsilon: str
    peer: str
    race: str  # when the run began that this belongs to
    wall: float
    cpu: float
    memory: float  # the largest resident size of any of its processes, in MiB
    failure: str = ""
    scores: dict[str, float] = field(default_factory=dict)
    runs: int = 1  # that these figures are the means of, where only means were kept


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--table", action="append", choices=TABLES)
    parser.add_argument("--epsilon", action="append", help="1 by default")
    parser.add_argument("--all", action="store_true", help="also the peers that are run on request only")
    parser.add_argument("--peer", action="append", help="this one only")
    parser.add_argument("--repetitions", type=int, default=1)
    parser.add_argument("--limit", type=float, default=LIMIT, help="seconds for each process")
    parser.add_argument("--show", action="store_true", help="run nothing")
    parser.add_argument("--write", action="store_true", help="write the pages of the documentation")
    given = parser.parse_args()
    if given.peer:
        peers = [peer for peer in PEERS if peer.name in given.peer]
    else:
        peers = [peer for peer in PEERS if given.all or not peer.on_request]
        peers.sort(key=lambda peer: peer.on_request)
    if given.peer and len(peers) < len(set(given.peer)):
        raise SystemExit(f"Unknown peer; there are {', '.join(peer.name for peer in PEERS)}.")
    try:
        for name in given.table or TABLES:
            for epsilon in given.epsilon or ["1"]:
                if not given.show:
                    begun = datetime.now(UTC).isoformat(timespec="seconds")
                    race(name, epsilon, begun, peers, given.repetitions, given.limit)
                print(table(name, epsilon, runs(name, epsilon), bounds(name, ROWS)))
        if given.write:
            written().write()
    except MissingDataError as missing:
        raise SystemExit(str(missing)) from None


def written() -> Page:
    """The pages, from the last runs of everybody."""
    races = {(name, epsilon): runs(name, epsilon) for name in TABLES for epsilon in ("1", "0.1")}
    return page(
        {place: found for place, found in races.items() if found},
        {name: bounds(name, ROWS) for name in TABLES},
    )


def race(name: str, epsilon: str, begun: str, peers: list[Peer], repetitions: int, limit: float) -> None:
    train = load(f"{name} train")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        write_inputs(train, place)
        for peer in peers:
            python = python_of(peer.environment)
            for _ in range(repetitions):
                keep(one(peer, python, name, epsilon, begun, train, place, limit))


def write_inputs(train: Dataset, place: Path) -> None:
    pl.DataFrame({name: codes.astype("int64") for name, codes in train.codes.items()}).write_csv(
        place / "train.csv"
    )
    (place / "domain.json").write_text(json.dumps(train.sizes))
    train.schema.save(place / "schema.yaml", overwrite=True)


def one(
    peer: Peer,
    python: Path,
    name: str,
    epsilon: str,
    begun: str,
    train: Dataset,
    place: Path,
    limit: float,
) -> Run:
    """Run a peer once; what goes wrong is part of the result."""
    out = place / "synthetic.csv"
    out.unlink(missing_ok=True)
    command = [
        str(python), str(DRIVERS / peer.driver),
        str(place / "train.csv"), str(place / "domain.json"), str(out),
        "--schema", str(place / "schema.yaml"), "--method", peer.method, "--epsilon", epsilon,
        "--delta", str(DELTA), "--rho", str(_rho(epsilon)), "--rows", str(ROWS),
        "--records", str(train.rows), *peer.options,
    ]  # fmt: skip
    print(f"{name} ε {epsilon}: {peer.name}", file=sys.stderr, flush=True)
    log = place / "log.txt"
    wall, cpu, memory, failure = watched(command, log, limit, place)
    scores: dict[str, float] = {}
    if not failure:
        if out.exists():
            scores = scored(out, name)
        else:
            failure = "wrote no rows"
    return Run(name, epsilon, peer.name, begun, round(wall, 2), round(cpu, 2), round(memory), failure, scores)


# A process starts with the peak memory of the one that started it, so a small one stands between.
SMALL_PARENT = """
import resource, subprocess, sys
code = subprocess.call(sys.argv[2:])
with open(sys.argv[1], "w") as file:
    file.write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))
sys.exit(code if code >= 0 else 128 - code)
"""


def watched(
    command: list[str], log: Path, limit: float, folder: Path, of_cpu: bool = False
) -> tuple[float, float, float, str]:
    """Wall seconds, CPU seconds, peak memory, and why it failed ('' if it did not); the limit is of wall
    seconds, or of CPU seconds, which count on a machine that is busy otherwise."""
    started = time.perf_counter()
    peak = log.with_suffix(".peak")
    with log.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", SMALL_PARENT, str(peak), *command],
            stdout=file,
            stderr=subprocess.STDOUT,
            cwd=folder,
            start_new_session=True,
        )
        late: list[tuple[float, float]] = []
        timers: list[threading.Timer] = []
        ended = threading.Event()

        def wait(seconds: float) -> None:
            timers.append(threading.Timer(seconds, look))
            timers[-1].start()

        def look() -> None:
            so_far = used(process.pid)
            if of_cpu and so_far[0] < limit:
                if not ended.is_set():
                    wait(max(1.0, (limit - so_far[0]) / (os.cpu_count() or 1)))
                return
            late.append(so_far)
            os.killpg(process.pid, signal.SIGKILL)  # the session that was started for this process alone

        wait(limit / (os.cpu_count() or 1) if of_cpu else limit)
        try:
            _, status, usage = os.wait4(process.pid, 0)
        finally:
            ended.set()
            for timer in timers:
                timer.cancel()
        process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - started
    failure = ""
    if late:
        cpu, memory = late[0]
        return wall, cpu, memory, f"not finished after {limit:.0f} {'CPU ' if of_cpu else ''}s"
    if process.returncode:
        last = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
        failure = (last[-1] if last else f"exit code {process.returncode}")[:200]
    memory = int(peak.read_text()) if peak.exists() else usage.ru_maxrss
    return wall, usage.ru_utime + usage.ru_stime, memory / 1024, failure


def used(session: int) -> tuple[float, float]:
    """CPU seconds and peak MiB so far of the processes of a session (Linux)."""
    cpu, peak = 0.0, 0.0
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state = (folder / "stat").read_text().rpartition(")")[2].split()
            status = (folder / "status").read_text()
        except OSError:
            continue  # it ended meanwhile
        if int(state[3]) != session:
            continue
        cpu += sum(int(ticks) for ticks in state[11:15]) / os.sysconf("SC_CLK_TCK")
        high = next((line.split()[1] for line in status.splitlines() if line.startswith("VmHWM:")), "0")
        peak = max(peak, int(high) / 1024)
    return cpu, peak


def _rho(epsilon: str) -> float:
    from fractions import Fraction

    from penstock.privacy.budgets.accounting import rho_of

    return float(rho_of(Fraction(epsilon), Fraction(str(DELTA))))


def keep(run: Run) -> None:
    with STORE.open("a", encoding="utf-8") as file:
        file.write(json.dumps(asdict(run)) + "\n")
    outcome = run.failure or ", ".join(f"{key} {value:.4f}" for key, value in run.scores.items())
    print(
        f"  wall {run.wall:.1f} s, CPU {run.cpu:.1f} s, {run.memory:.0f} MiB; {outcome}",
        file=sys.stderr,
        flush=True,
    )


def runs(name: str, epsilon: str) -> list[Run]:
    """Of everybody those of the race that they ran in last."""
    lines = STORE.read_text(encoding="utf-8").splitlines() if STORE.exists() else []
    every = [Run(**json.loads(line)) for line in lines]
    every = [run for run in every if (run.table, run.epsilon) == (name, epsilon)]
    last = {peer: max(run.race for run in every if run.peer == peer) for peer in {run.peer for run in every}}
    return [run for run in every if run.race == last[run.peer]]


if __name__ == "__main__":
    main()
