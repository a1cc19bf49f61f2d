"""Streams: how far off pan-private counts are, how fast they are fed, and what they cost beside no privacy.

    python studies/streams.py --table            the table of PP-Bucket, over so many runs (--runs)
    python studies/streams.py --bars             how often bars cover the truth, for other streams (--runs)
    python studies/streams.py --moments          the same for the L2 sketch (--runs)
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
from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import log10, sqrt
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.contracts.sketch import NORMAL_95
from penstock.kinds.stream.occupancy import Levels
from penstock.privacy.laws.modular import contrast
from penstock.schema import Schema
from penstock.stream import DensityInserts, DistinctCounter, IncidenceCounter, SecondMoment, StableSketch

HERE = Path(__file__).parent
RESULTS = HERE / "stream_results.json"
ASSETS = HERE.parent / "docs" / "assets"
PAGE = HERE.parent / "docs" / "studies" / "streams.md"

WIDTHS = (4096, 65536)
SIZES = (0, 1_000, 10_000, 100_000, 500_000)
STATED = {
    (4096, 0): (None, 547),
    (4096, 1_000): (937, 402),
    (4096, 10_000): (9_306, 1_179),
    (4096, 100_000): (94_619, 15_981),
    (4096, 500_000): (464_353, 76_127),
    (65536, 0): (None, 2_337),
    (65536, 1_000): (946, 2_301),
    (65536, 10_000): (10_115, 1_981),
    (65536, 100_000): (99_605, 4_906),
    (65536, 500_000): (494_279, 19_792),
}
"""The table of the specification, of 20 runs: mean and standard deviation."""


def schema(ids: int, most: int = 49, relation: str = "replace") -> Schema:
    return Schema.from_yaml(f"{{kind: stream, relation: {relation}, stream: {{ids: {ids}, most: {most}}}}}")


def keep(part: str, titles: Sequence[str], rows: Sequence[Sequence[str]], figures: Any) -> None:
    """Print the table of one part, and write it and its figures beside those of the others."""
    known = kept()
    known[part] = {"table": [list(titles), *map(list, rows)], "figures": figures}
    RESULTS.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    print(drawn(known[part]["table"]))


def kept() -> dict[str, Any]:
    """What is known of all parts."""
    found: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    return found


def drawn(lines: Sequence[Sequence[str]]) -> str:
    titles, *rows = lines
    ruled = [titles, ["---" if number == 0 else "--:" for number in range(len(titles))], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in ruled)


def write_page() -> None:
    """Put every table that is kept between its marks on the page."""
    text = PAGE.read_text(encoding="utf-8")
    for part, known in kept().items():
        begin, end = f"<!-- studies/streams.py --{part} -->\n", f"<!-- end of --{part} -->"
        before, mark, rest = text.partition(begin)
        if not mark:
            raise SystemExit(f"{PAGE.name} has no place for --{part}")
        text = f"{before}{begin}\n{drawn(known['table'])}\n\n{end}{rest.partition(end)[2]}"
    PAGE.write_text(text, encoding="utf-8")


# The table of PP-Bucket -------------------------------------------------------------------------------


class ReadTwice(DistinctCounter):
    """The same noisy numbers read twice: over all levels, as shipped, and as the design prints it."""

    printed: tuple[float, float]

    def noisy(self, fed: Any, pay: Any) -> tuple[Levels, NDArray[np.float64]]:
        levels, counts = super().noisy(fed, pay)
        self.printed = as_printed(levels, counts)
        return levels, counts


def as_printed(levels: Levels, counts: NDArray[np.float64]) -> tuple[float, float]:
    """The first level of which a quarter seems empty, by itself, and the standard error of its reading."""
    contrast_, width = levels.stayed - levels.moved, levels.width
    empty = (counts / width - levels.moved) / contrast_
    (enough,) = np.nonzero(empty >= 0.25)
    at = int(enough[0]) if enough.size else counts.size - 1
    share = max(float(empty[at]), 1 / width)
    chance = width / 4 + contrast_**2 * width * max(share * (1 - share), 0.0) + 2 * levels.scale**2
    deviation = sqrt(chance) / (contrast_ * share * levels.chances[at])
    return float(-width * np.log(share) / levels.chances[at]), float(deviation)


def one_run(width: int, seed: int) -> list[tuple[float, float, float, float]]:
    """One stream that grows from empty to half a million ids, asked on the way; 20,000 others come and go."""
    counter = ReadTwice(
        schema(1_000_000),
        epsilon=1 + len(SIZES),
        answers=len(SIZES),
        state_share=Fraction(1, 1 + len(SIZES)),
        width=width,
        seed=seed,
    )
    ids = np.random.default_rng(seed).permutation(1_000_000)
    passing = ids[-20_000:]
    counter.update(passing, 1 + passing % 49)
    found, fed = [], 0
    for number, size in enumerate(SIZES):
        counter.update(ids[fed:size], 1 + ids[fed:size] % 49)
        if number == 0:
            counter.update(passing, -(1 + passing % 49))
        fed = size
        reading = counter.answer(seed=10_000_000 + 10 * seed + number)
        found.append((reading.value, reading.error / NORMAL_95, *counter.printed))
    return found


def bucket_table(runs: int, widths: Sequence[int] = WIDTHS) -> None:
    """All cells of these widths; those of the others stay as they are, if they have as many runs."""
    figures: dict[str, Any] = kept().get("table", {}).get("figures", {})
    if figures.get("runs") != runs:
        figures = {"runs": runs, "cells": {}}
    for width in widths:
        told = np.array([one_run(width, seed) for seed in range(runs)])
        for number, size in enumerate(SIZES):
            cell = {}
            for name, at in (("all levels", 0), ("as printed", 2)):
                values, errors = told[:, number, at], told[:, number, at + 1]
                cell[name] = {
                    "mean": float(values.mean()),
                    "sd": float(values.std(ddof=1)),
                    "bars": float(np.median(errors)),
                    "covered": float(np.mean(np.abs(values - size) <= NORMAL_95 * errors)),
                }
            figures["cells"][f"{width}/{size}"] = cell
    rows = []
    for (width, size), stated in STATED.items():
        if (cell := figures["cells"].get(f"{width}/{size}")) is None:
            continue
        ours, printed = cell["all levels"], cell["as printed"]
        rows.append(
            (
                f"{width:,}",
                f"{size:,}",
                f"{ours['mean']:,.0f} ± {ours['sd']:,.0f}",
                f"{ours['bars']:,.0f}",
                f"{100 * ours['covered']:.0f} %",
                f"{ours['sd'] / stated[1]:.2f}",
                f"{printed['mean']:,.0f} ± {printed['sd']:,.0f}",
                f"{100 * printed['covered']:.0f} %",
                f"{printed['sd'] / stated[1]:.2f}",
                f"{'' if stated[0] is None else f'{stated[0]:,} '}± {stated[1]:,}",
            )
        )
    titles = ("width", "ids", "all levels", "its own bars", "covered", "ratio")
    keep("table", (*titles, "as printed", "covered", "ratio", "stated, 20 streams"), rows, figures)


# How often bars cover the truth --------------------------------------------------------------------------

BARS = (
    # ids, width, relation, epsilon of the state, epsilon of the answer, ids that occur
    *((50_000, 512, "replace", "1", "1", present) for present in (0, 500, 5_000, 50_000)),
    *((200_000, 1024, "add-remove", "1/2", "1/8", present) for present in (0, 2_000, 40_000)),
    *((100_000, 4096, "add-remove", "3", "1", present) for present in (0, 3_000, 30_000)),
    *((2_000, 32, "replace", "2", "1", present) for present in (0, 200, 2_000)),
)


def summary(told: list[tuple[float, float]], truth: float) -> tuple[float, float, float, float]:
    """Of values and their bars: mean, standard deviation, median bar, and how often they cover the truth."""
    values, errors = np.array(told).T
    covered = float(np.mean(np.abs(values - truth) <= errors))
    return float(values.mean()), float(values.std(ddof=1)), float(np.median(errors)), covered


def bars(runs: int) -> None:
    """Streams that the length of the bars was not chosen on."""
    rows, figures = [], {}
    for ids, width, relation, state, answer, present in BARS:
        told = []
        for seed in range(runs):
            epsilon = Fraction(state) + Fraction(answer)
            share = Fraction(state) / epsilon
            made = schema(ids, 9, relation)
            living = DistinctCounter(made, epsilon=epsilon, state_share=share, width=width, seed=seed)
            living.update(np.random.default_rng(seed).permutation(ids)[:present])
            reading = living.answer(seed=50_000 + seed)
            told.append((reading.value, reading.error))
        mean, deviation, bar, covered = summary(told, present)
        figures[f"{ids}/{width}/{relation}/{state}/{answer}/{present}"] = [mean, deviation, bar, covered]
        facts = (f"{ids:,}", f"{width:,}", relation, state, answer, f"{present:,}")
        rows.append((*facts, f"{mean:,.0f} ± {deviation:,.0f}", f"{bar:,.0f}", f"{100 * covered:.1f} %"))
    titles = ("ids", "width", "relation", "ε state", "ε answer", "present", "told", "median bar", "covered")
    keep("bars", titles, rows, {"runs": runs, "cells": figures})


MOMENTS = (
    # rows, epsilon, ids that occur once each, relation
    (8, 4, 20_000, "add-remove"),
    (32, 4, 20_000, "add-remove"),
    (32, 1, 0, "replace"),
    (32, 8, 200_000, "add-remove"),
    (128, 2, 5_000, "replace"),
)


def moments(runs: int) -> None:
    rows, figures = [], {}
    for number, epsilon, present, relation in MOMENTS:
        told = []
        for seed in range(runs):
            made = schema(1_000_000, 1, relation)
            living = SecondMoment(made, epsilon=epsilon, rows=number, seed=seed)
            living.update(np.random.default_rng(seed).integers(0, 1 << 40, present))
            reading = living.answer(seed=60_000 + seed)
            told.append((reading.value, reading.error))
        mean, deviation, bar, covered = summary(told, present)
        figures[f"{number}/{epsilon}/{present}/{relation}"] = [mean, deviation, bar, covered]
        facts = (str(number), relation, str(epsilon), f"{present:,}", f"{mean:,.0f} ± {deviation:,.0f}")
        rows.append((*facts, f"{bar:,.0f}", f"{100 * covered:.1f} %"))
    titles = ("rows", "relation", "ε", "second moment", "told", "median bar", "covered")
    keep("moments", titles, rows, {"runs": runs, "cells": figures})


# Errors against the lower bound ----------------------------------------------------------------------


def root_mean_square(make: Any, ids: int, present: int, runs: int) -> float:
    errors = []
    for seed in range(runs):
        living = make(ids, seed)
        extra = {"seed": 77_000 + seed} if isinstance(living, DensityInserts) else {}
        living.update(np.arange(present), **extra)
        errors.append(living.answer("distinct", seed=90_000 + seed).value - present)
    return float(np.sqrt(np.mean(np.square(errors))))


def bounds(runs: int) -> None:
    """Root mean square error of a distinct count of half of all ids, for ever more ids; epsilon 1 and 1."""
    made = {
        "pp-incidence": lambda ids, seed: IncidenceCounter(
            schema(ids, 1, "add-remove"), epsilon=2, seed=seed
        ),
        "pp-bucket, width 4,096": lambda ids, seed: DistinctCounter(
            schema(ids, 1, "add-remove"), epsilon=2, seed=seed
        ),
        "density-inserts": lambda ids, seed: DensityInserts(
            schema(ids, 1, "add-remove"), epsilon=2, seed=seed
        ),
    }
    sizes = [1_000, 10_000, 100_000, 1_000_000]
    lines: dict[str, list[float]] = {
        name: [root_mean_square(make, size, size // 2, runs) for size in sizes] for name, make in made.items()
    }
    kappa = contrast(Fraction(1))
    lines["sqrt(m) / tanh(1/2), the theory of pp-incidence"] = [sqrt(size) / kappa for size in sizes]
    lines["sqrt(m), what no pan-private count goes below in order"] = [sqrt(size) for size in sizes]
    keep(
        "bounds",
        ("ids m", *made, "√m / tanh(1/2)", "√m"),
        [(f"{size:,}", *(f"{line[at]:,.0f}" for line in lines.values())) for at, size in enumerate(sizes)],
        {"sizes": sizes, "lines": lines, "runs": runs},
    )
    (ASSETS / "streams-bounds.svg").write_text(picture(sizes, lines), encoding="utf-8")


def picture(sizes: list[int], lines: dict[str, list[float]]) -> str:
    """The lines on logarithmic axes."""
    colours = ("#0072B2", "#D55E00", "#009E73", "#56B4E9", "#506070")
    left, top, wide, high = 70, 20, 420, 260
    low, most = 1.0, max(max(line) for line in lines.values()) * 1.5

    def x(size: float) -> float:
        return left + wide * (log10(size) - log10(sizes[0])) / (log10(sizes[-1]) - log10(sizes[0]))

    def y(value: float) -> float:
        return top + high * (1 - (log10(max(value, low)) - log10(low)) / (log10(most) - log10(low)))

    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 520 440" '
        'font-family="sans-serif" font-size="12">',
        "<title>Error of a pan-private distinct count against the number of ids</title>",
        '<rect width="520" height="440" fill="#ffffff"/>',
    ]
    power = 0
    while 10**power <= most:
        parts.append(
            f'<line x1="{left}" x2="{left + wide}" y1="{y(10**power):.1f}" y2="{y(10**power):.1f}" '
            f'stroke="#E3E9EE"/><text x="{left - 8}" y="{y(10**power) + 4:.1f}" text-anchor="end">'
            f"{10**power:,}</text>"
        )
        power += 1
    parts += [
        f'<text x="{x(size):.1f}" y="{top + high + 18}" text-anchor="middle">{size:,}</text>'
        for size in sizes
    ]
    parts.append(f'<text x="{left + wide / 2}" y="{top + high + 36}" text-anchor="middle">ids m</text>')
    for number, (name, line) in enumerate(lines.items()):
        dash = ' stroke-dasharray="5 4"' if name.startswith("sqrt") else ""
        path = " ".join(f"{x(size):.1f},{y(value):.1f}" for size, value in zip(sizes, line, strict=True))
        parts.append(
            f'<polyline points="{path}" fill="none" stroke="{colours[number]}" stroke-width="2"{dash}/>'
        )
        at = top + high + 56 + 18 * number
        parts.append(
            f'<line x1="{left}" x2="{left + 24}" y1="{at - 4}" y2="{at - 4}" stroke="{colours[number]}" '
            f'stroke-width="2"{dash}/><text x="{left + 32}" y="{at}">{name}</text>'
        )
    return "\n".join([*parts, "</svg>", ""])


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
    for part in ("table", "bars", "moments", "bounds", "speed", "day"):
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
    if said.bounds:
        bounds(said.runs)
    if said.speed:
        speed()
    if said.day:
        day(said.updates, said.ids)
    if said.peer:
        beside(said.peer, said.runs)
    if said.write:
        write_page()
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10} MiB", file=sys.stderr)


if __name__ == "__main__":
    main()
