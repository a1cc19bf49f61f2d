"""Streams: how far off pan-private counts are, how fast they are fed, and what they cost beside no privacy.

    python studies/streams.py --accept           S1 to S5 of the design, each with its figure
    python studies/streams.py --table            the table of PP-Bucket, over so many runs (--runs)
    python studies/streams.py --bars             how often bars cover the truth, for other streams (--runs)
    python studies/streams.py --moments          the same for the L2 sketch (--runs)
    python studies/streams.py --continual        running counts and second moments, step by step (--runs)
    python studies/streams.py --bounds           errors against the lower bound, as a picture in docs/assets
    python studies/streams.py --speed            updates a second, in Python
    python studies/streams.py --day              a day's log through the command line, in bounded memory
    python studies/streams.py --peer PYTHON      beside HyperLogLog, of datasketches, which that Python has

Every part prints its table and keeps it in studies/stream_results.json, from which --write fills the page.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.audit.harness import examine
from penstock.audit.pan_privacy import joint_loss
from penstock.audit.target import Kind
from penstock.kinds.stream.audits import AUDITS, machines
from penstock.kinds.stream.incidence import Decoding, prime_above, values_of
from penstock.privacy.laws.modular import contrast, signs
from penstock.privacy.unit import Relation
from penstock.stream import DistinctCounter, IncidenceCounter, SecondMoment, StableSketch
from stream_errors import STATED, WIDTHS, bars, bounds, bucket_table, continual, moments, schema
from stream_pages import keep, kept, write_page

# What the design demands ------------------------------------------------------------------------------


def accept() -> None:
    """S1 to S5, each from the shipped code, with the figure that decides; S3 from the table that is kept."""
    rows = []

    def verdict(name: str, asked: str, found: str, holds: bool) -> None:
        rows.append((name, asked, found, "holds" if holds else "does not hold"))

    for made, relation in product((machines.buckets, machines.incidence), Relation):
        small = made(relation)
        pairs = machines.STREAMS[relation]
        loss = max(joint_loss(small.machine(), one, other, answers=0) for one, other in pairs)
        name = f"{small.living.info().name}, q = 7, {relation.value}"
        verdict("S1", f"state of {name}: at most 1", f"{loss:.9f}", loss <= 1 + 1e-9)
    group = machines.group()
    loss = max(joint_loss(group.machine(), *pair, answers=0) for pair in machines.STREAMS[Relation.REPLACE])
    verdict("S1", "state of group-sketch, N = 7: at most 1", f"{loss:.9f}", loss <= 1 + 1e-9)
    worst = max(map(_bias, product(("distinct", "incidence", "cropped-mean", "heavy-hitters"), range(1, 26))))
    verdict("S2", "pp-incidence unbiased to 1e-9, every f and total", f"{worst:.1e}", worst <= 1e-9)
    table = kept()["table"]["figures"]
    ratios: dict[str, list[float]] = {"as printed": [], "all levels": []}
    for (width, size), stated in STATED.items():
        for reading, found in ratios.items():
            found.append(table["cells"][f"{width}/{size}"][reading]["sd"] / stated[1])
    of = f"of {len(STATED)}, {table['runs']} streams"
    printed = sum(0.75 <= each <= 1.25 for each in ratios["as printed"])
    verdict("S3", "sd of the printed reading within 25 %", f"{printed} {of}", printed == len(STATED))
    ours = sum(each <= 1.25 for each in ratios["all levels"])
    less = sum(each < 0.75 for each in ratios["all levels"])
    asked = "sd of the shipped reading at most 25 % above"
    verdict("S3", asked, f"{ours} {of}; {less} more than 25 % below", ours == len(STATED))
    covered = min(cell["all levels"]["covered"] for cell in table["cells"].values())
    verdict("S3", "its 95 % bars cover, in the worst cell", f"{100 * covered:.0f} %", covered >= 0.9)
    alike = sum(map(_traceless, (DistinctCounter, IncidenceCounter, SecondMoment)))
    verdict("S4", "state after insert and delete bitwise the empty one", f"{alike} of 3 sketches", alike == 3)
    for kind, word in ((Kind.SHIPPED, "holds"), (Kind.BROKEN, "refuted")):
        targets = [target for target in AUDITS.targets() if target.kind is kind]
        right = sum(examine(target, 100).status.value == word for target in targets)
        asked = f"state at t with answers at t', {kind.value} sketches: {word}"
        verdict("S5", asked, f"{right} of {len(targets)}", right == len(targets))
    keep("accept", ("", "asked", "found", "verdict"), rows, {})


def _bias(asked: tuple[str, int]) -> float:
    """How far the expectation of an answer about one id is from the truth, at most, over all totals."""
    question, at = asked
    most, half = 25, Fraction(1, 2)
    prime, kappa = prime_above(most), contrast(half)
    values = values_of(question, at, most)
    decoding = Decoding.of(values, prime, half)
    density = (1 + kappa * signs(prime)) / (prime + kappa)
    told = decoding.scale * decoding.steps + decoding.shift
    return max(abs(float(density @ np.roll(told, -total)) - int(values[total])) for total in range(most + 1))


def _traceless(make: Any) -> bool:
    fed, empty = (make(schema(1000), epsilon=2, seed=7) for _ in range(2))
    ids = np.arange(1000)
    fed.update(ids, 1 + ids % 49)
    fed.update(ids[::-1], -(1 + ids[::-1] % 49))
    return bool(np.array_equal(fed._seen(), empty._seen()))


# How fast ----------------------------------------------------------------------------------------------


def speed() -> None:
    """Updates a CPU second, for arrays of a million and of ten thousand."""
    rows, figures = [], {}
    ids = np.random.default_rng(1).integers(0, 10_000_000, 10_000_000).astype(np.uint64)
    makers: dict[str, Any] = {
        "pp-bucket, width 4,096": lambda: DistinctCounter(schema(10_000_000), epsilon=2),
        "pp-bucket, width 65,536": lambda: DistinctCounter(schema(10_000_000), epsilon=2, width=65536),
        "pp-incidence": lambda: IncidenceCounter(schema(10_000_000), epsilon=2),
    }
    for name, make in makers.items():
        for batch in (1_000_000, 10_000):
            living, number = make(), 5_000_000 if batch > 100_000 else 1_000_000
            began = time.process_time()
            for start in range(0, number, batch):
                living.update(ids[start : start + batch])
            rate = number / (time.process_time() - began)
            figures[f"{name}/{batch}"] = rate
            rows.append((name, f"{batch:,}", f"{rate / 1e6:.1f} million"))
    keep("speed", ("sketch", "updates in a call", "updates a CPU second"), rows, figures)


# A day's log -------------------------------------------------------------------------------------------


def log_of_a_day(updates: int, ids: int, seed: int) -> Iterator[bytes]:
    """Lines with an id each, a few ids very often: what a busy site writes in a day."""
    chance = np.random.default_rng(seed)
    powers = 10 ** np.arange(7, -1, -1)
    for start in range(0, updates, 1_000_000):
        number = min(1_000_000, updates - start)
        drawn = (ids * chance.random(number) ** 2).astype(np.int64) + 10_000_000
        letters = np.empty((number, 9), dtype=np.uint8)
        letters[:, :8] = drawn[:, None] // powers % 10 + 48
        letters[:, 8] = 10
        yield letters.tobytes()


def day(updates: int, ids: int) -> None:
    """The log through `penstock stream feed`: throughput, memory, and how far off the answer is."""
    seen = np.zeros(ids, dtype=np.bool_)
    for piece in log_of_a_day(updates, ids, 1):
        numbers = np.frombuffer(piece, dtype=np.uint8).reshape(-1, 9)[:, 1:8].astype(np.int64) - 48
        seen[numbers @ (10 ** np.arange(6, -1, -1))] = True
    truth = int(seen.sum())
    command = [sys.executable, "-m", "penstock", "stream"]
    with tempfile.TemporaryDirectory() as place:
        facts, state = f"{place}/day.schema.yaml", f"{place}/day.state"
        Path(facts).write_text(schema(20_000_000, 1000).to_yaml(), encoding="utf-8")
        opening = [*command, "open", state, "-s", facts, "-e", "2", "--param", "width=65536"]
        subprocess.run(opening, check=True, capture_output=True)
        began = time.monotonic()
        with subprocess.Popen([*command, "feed", state], stdin=subprocess.PIPE) as feeding:
            assert feeding.stdin is not None
            for piece in log_of_a_day(updates, ids, 1):
                feeding.stdin.write(piece)
            feeding.stdin.close()
            _, status, used = os.wait4(feeding.pid, 0)
            feeding.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.monotonic() - began
        assert feeding.returncode == 0
        asked = subprocess.run([*command, "ask", state, "--json"], check=True, capture_output=True, text=True)
        size = sum(file.stat().st_size for file in Path(state).glob("*.npy"))
    told = json.loads(asked.stdout)
    cpu = used.ru_utime + used.ru_stime
    figures = {
        "updates": updates,
        "distinct": truth,
        "seconds": seconds,
        "cpu": cpu,
        "per_cpu_second": updates / cpu,
        "peak_mib": used.ru_maxrss / 1024,
        "state_bytes": size,
        "answer": told["value"],
        "error": told["error"],
    }
    rows = [
        ("updates", f"{updates:,}"),
        ("distinct ids", f"{truth:,}"),
        ("answer", f"{told['value']:,.0f} ± {told['error']:,.0f}"),
        ("CPU seconds of the feeding process", f"{cpu:.0f}"),
        ("updates a CPU second, reading and starting included", f"{updates / cpu:,.0f}"),
        ("peak memory of the feeding process", f"{used.ru_maxrss / 1024:,.0f} MiB"),
        ("counters", f"{size:,} bytes"),
    ]
    keep("day", ("what", "figure"), rows, figures)


# Beside HyperLogLog ------------------------------------------------------------------------------------

PEER = """
import json, sys
import datasketches as ds
lg, size, runs = map(int, sys.argv[1:])
found = []
for run in range(runs):
    sketch = ds.hll_sketch(lg, ds.HLL_8)
    for number in range(size):
        sketch.update(run * 100000000 + number)
    found.append(sketch.get_estimate())
print(json.dumps({"values": found, "bytes": len(sketch.serialize_compact())}))
"""


def beside(python: str, runs: int) -> None:
    """Relative error and size of the state, side by side; a stable sketch without privacy as well."""
    rows: list[tuple[str, ...]] = []
    figures: list[Any] = []
    for size in (1_000, 10_000, 100_000):
        for name, width in (("pp-bucket", 4096), ("pp-bucket", 65536)):
            values, kept = [], 0
            for seed in range(runs):
                counter = DistinctCounter(schema(1_000_000), epsilon=2, width=width, seed=seed)
                counter.update(np.arange(size))
                values.append(counter.answer(seed=5_000_000 + seed).value)
                kept = counter.sketch.blank(counter.setting).nbytes
            rows.append(_line(name, f"width {width:,}", size, np.array(values), kept, figures))
        for lg in (11, 14):
            done = subprocess.run(
                [python, "-c", PEER, str(lg), str(size), str(runs)],
                check=True,
                capture_output=True,
                text=True,
            )
            told = json.loads(done.stdout)
            rows.append(
                _line(
                    "HyperLogLog", f"2^{lg} registers", size, np.array(told["values"]), told["bytes"], figures
                )
            )
    stable = []
    for seed in range(5):
        sketch = StableSketch(p=0.05, rows=400, key=seed)
        sketch.feed((number, 1) for number in range(1000))
        sketch.feed((number, -1) for number in range(900))
        stable.append(sketch.estimate())
    kept = sum((each.bit_length() + 7) // 8 for each in sketch.sums)
    rows.append(
        _line("stable sketch", "400 rows, 900 of 1,000 deleted", 100, np.array(stable), kept, figures)
    )
    keep("peer", ("sketch", "size", "ids", "relative error", "state"), rows, {"runs": runs, "lines": figures})


def _line(
    name: str, size: str, ids: int, values: NDArray[np.float64], kept: int, figures: list[Any]
) -> tuple[str, ...]:
    error = float(np.sqrt(np.mean((values / ids - 1) ** 2)))
    figures.append({"sketch": name, "size": size, "ids": ids, "error": error, "bytes": kept})
    return name, size, f"{ids:,}", f"{100 * error:.1f} %", f"{kept:,} bytes"


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for part in ("table", "bars", "moments", "continual", "bounds", "speed", "day", "accept"):
        asked.add_argument(f"--{part}", action="store_true")
    asked.add_argument("--peer", metavar="PYTHON")
    asked.add_argument("--write", action="store_true", help="write the tables that are kept into the page")
    asked.add_argument("--widths", type=int, nargs="+", choices=WIDTHS, default=WIDTHS)
    asked.add_argument("--runs", type=int, default=100)
    asked.add_argument("--updates", type=int, default=100_000_000)
    asked.add_argument("--ids", type=int, default=10_000_000)
    said = asked.parse_args()
    if said.table:
        bucket_table(said.runs, said.widths)
    if said.bars:
        bars(said.runs)
    if said.moments:
        moments(said.runs)
    if said.continual:
        continual(said.runs)
    if said.bounds:
        bounds(said.runs)
    if said.speed:
        speed()
    if said.day:
        day(said.updates, said.ids)
    if said.peer:
        beside(said.peer, said.runs)
    if said.accept:
        accept()
    if said.write:
        write_page()
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10} MiB", file=sys.stderr)


if __name__ == "__main__":
    main()
