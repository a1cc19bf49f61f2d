"""Does any input crash Penstock, hang it or get more than a sentence? A million broken ones.

    python studies/fuzz.py                                 # all loaders, 1,000,000 inputs in all
    python studies/fuzz.py --loader schema --inputs 5000   # one of them
    python studies/fuzz.py --loader csv --replay 1234      # print one input and what became of it

Good schemas, release folders, CSV files, questions, files of questions and URLs are changed by their grammar,
their structure and their bytes (`fuzzing/mutation.py`). An answer is right when the input is accepted, or
refused with one sentence of Penstock's own. The same seed makes the same inputs everywhere. Inputs are tried
in processes of their own, which are watched for crashes, hangs and memory. What is finished is kept in
`results/`, and a second run goes on from there: remove it after a change of the code. The exit code is 1 when
something was found.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from statistics import median

from frame.page import Page
from frame.table import markdown
from fuzzing.loaders import LOADERS
from fuzzing.trial import Tally, attempt, made, watched

INPUTS = 1_000_000
SEED = 1
RESULTS = Path(__file__).resolve().parent / "results"
HEADS = (
    *("loader", "inputs", "accepted", "refused", "crashes", "hangs"),
    *("median ms", "slowest ms", "slowest / median"),
)


def shares(names: Sequence[str], inputs: int) -> dict[str, int]:
    """How many inputs each loader gets: more where one costs less; together as many as asked for."""
    total = sum(LOADERS[name].share for name in names)
    parts = {name: int(inputs * LOADERS[name].share / total) for name in names}
    parts[names[-1]] += inputs - sum(parts.values())
    return parts


def row(name: str, tally: Tally) -> list[str]:
    usual = median(tally.medians) if tally.medians else 0.0
    ratio = f"{tally.slowest / usual:,.0f}" if usual else "–"
    counts = (tally.inputs, tally.accepted, tally.refused, tally.crashes, tally.hangs)
    times = (f"{usual * 1000:.2f}", f"{tally.slowest * 1000:.2f}", ratio)
    return [name, *(f"{count:,}" for count in counts), *times]


def run(names: Sequence[str], inputs: int, seed: int, workers: int, results: Path) -> dict[str, Tally]:
    """Try the inputs of these loaders, a few loaders at once; what an earlier run did is not done again."""

    def one(name: str) -> Tally:
        place = results / f"fuzz-{name.replace(' ', '-')}-{seed}-{parts[name]}.jsonl"
        begin, whole = kept(place)
        for end, part in watched(name, seed, range(begin, parts[name])):
            whole.add(part)
            with place.open("a", encoding="utf-8") as lines:
                lines.write(json.dumps({"end": end, **part.to_dict()}) + "\n")
            print(f"{name}: {whole.inputs:,} of {parts[name]:,}, {len(whole.finds)} finds", file=sys.stderr)
        return whole

    results.mkdir(parents=True, exist_ok=True)
    parts = shares(names, inputs)
    with ThreadPoolExecutor(workers) as pool:
        return dict(zip(names, pool.map(one, names), strict=True))


def kept(place: Path) -> tuple[int, Tally]:
    """How far an earlier run came, and what it found."""
    end, whole = 0, Tally()
    if place.is_file():
        for line in place.read_text(encoding="utf-8").splitlines():
            stored = json.loads(line)
            end = stored.pop("end")
            whole.add(Tally.from_dict(stored))
    return end, whole


def replay(name: str, seed: int, number: int) -> int:
    """Show one input, and what becomes of it."""
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        loader = LOADERS[name](Path(folder))
        data = made(loader, seed, number)
        print(data)
        accepted, wrong = attempt(loader, data)
    print(wrong or ("accepted" if accepted else "refused with a sentence"))
    return 0 if wrong is None else 1


def page(found: dict[str, Tally], seed: int) -> Page:
    """What was found, for the documentation."""
    rows = [row(name, tally) for name, tally in found.items()]
    inputs = sum(tally.inputs for tally in found.values())
    bad = sum(len(tally.finds) for tally in found.values())
    refused = sum(tally.refused for tally in found.values()) / max(1, inputs)
    peak = max(tally.peak for tally in found.values())
    verdict = "no crash, no hang" if not bad else f"{bad} that were not answered as they should be"
    return Page(
        name="fuzzing",
        title="A million broken inputs",
        asked="Can a schema, a release folder, a CSV file, a question or a URL that somebody broke, by "
        "accident or on purpose, crash Penstock, hang it, or be answered with more than one sentence?",
        found=[
            f"{inputs:,} inputs, {verdict}: {refused:.0%} were refused with one sentence, the others were "
            f"accepted. No process took more than {peak:,} MiB.",
            "\n".join(markdown(HEADS, rows)),
        ],
        again="`python studies/fuzz.py --write`; `--loader schema --inputs 5000` is quicker, and "
        "`--loader schema --replay 17` shows one input. A short run is part of the tests.",
        rests_on=f"Seed {seed}; every input is known by seed, loader and number. Good inputs are changed by "
        "their grammar (tokens moved, repeated, exchanged), by their structure (values of documents and "
        "tables) and by their bytes; folders are given fingerprints that fit, as a forger would. CPU time on "
        "a busy machine: the slowest input is often one that met another process's work.",
        details=[_details()],
        tables=["\n".join(["## Every loader", "", *markdown(HEADS, rows)])],
    )


def _details() -> str:
    lines = [
        f"- **{name}** ({loader.share:.0%} of the inputs): {loader.__doc__}"
        for name, loader in LOADERS.items()
    ]
    words = (
        "An answer is right when the input is accepted, or refused with one of Penstock's own errors: one "
        "line that ends like a sentence. A library's exception, a panic, a process that ends, ten CPU "
        "seconds for one input and two gibibytes of memory are finds. Each first find became a test "
        "(`tests/test_finds_of_the_fuzzer.py`)."
    )
    return "\n".join(["## What was tried", "", *lines, "", words])


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Broken inputs for everything that reads them.")
    parser.add_argument("--loader", choices=list(LOADERS), help="only this one")
    parser.add_argument("--inputs", type=int, default=INPUTS, help="how many in all")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--workers", type=int, default=2, help="how many loaders are tried at once")
    parser.add_argument("--replay", type=int, metavar="NUMBER", help="show one input of the loader")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where finished stretches are kept")
    parser.add_argument("--write", action="store_true", help="write the page of the documentation")
    asked = parser.parse_args(arguments)
    if asked.replay is not None:
        if asked.loader is None:
            parser.error("--replay needs --loader")
        return replay(asked.loader, asked.seed, asked.replay)
    names = [asked.loader] if asked.loader else list(LOADERS)
    found = run(names, asked.inputs, asked.seed, asked.workers, asked.results)
    print("\n".join(markdown(HEADS, [row(name, tally) for name, tally in found.items()])))
    finds = [find for tally in found.values() for find in tally.finds]
    for find in finds[:200]:
        print(f"\n{find.loader} {find.number}: {find.what}\n  {find.data[:300]!r}")
    if asked.write:
        page(found, asked.seed).write()
    return 1 if finds else 0


if __name__ == "__main__":
    sys.exit(main())
