"""docs/studies/calls-tables.md, from what the studies of calls have found.

    python studies/calls_page.py

The figures are in `studies/calls_results.json`; each study says in its first lines how to measure its own
again.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

import calls_curves
import calls_peer
import calls_points
import calls_real
from calls import EPSILONS, METHODS, RUNS
from calls_data import RESULTS, Book
from penstock.privacy.budgets.accounting import amplified

PAGE = Path(__file__).parents[1] / "docs/studies/calls-tables.md"
ALLOWED = {"M1": 2.2, "M3": 1.3, "M4": 1.5}


def rows(book: Book) -> Iterator[str]:
    """The page: one table of distances, one of homes, and what was promised."""
    found = book.found

    mean = book.mean

    def cell(value: float | None) -> str:
        return "" if value is None else f"{value:.2f}"

    known = [name for name in METHODS if any(key.startswith(f"{name}|") for key in found)]
    yield "# Tables of the study of calls\n"
    yield "Made by `python studies/calls_page.py`; see [the study](calls.md).\n"
    yield "## Distance of the maps of calls\n"
    yield "Mean earth mover's distance in miles over 24 hours.\n"
    yield f"| | no privacy | {' | '.join(f'ε = {e}' for e in EPSILONS)} |"
    yield "|---|--:|" + "--:|" * len(EPSILONS)
    for name in ("WHERE, 40 x 40", "WHERE, 128 x 128", "even homes and work"):
        yield f"| {name} | {cell(mean(name, '-', 'emd'))} |" + " |" * len(EPSILONS)
    for name in known:
        yield f"| {name} | | " + " | ".join(cell(mean(name, e, "emd")) for e in EPSILONS) + " |"
    for what, title in (("home", "homes"), ("work", "places of work")):
        yield f"\n## Distance of the maps of {title}\n"
        yield f"| | no privacy | {' | '.join(f'ε = {e}' for e in EPSILONS)} |"
        yield "|---|--:|" + "--:|" * len(EPSILONS)
        yield f"| WHERE, 40 x 40 | {cell(mean('WHERE, 40 x 40', '-', what))} |" + " |" * len(EPSILONS)
        for name in known:
            yield f"| {name} | | " + " | ".join(cell(mean(name, e, what)) for e in EPSILONS) + " |"
    yield "\n## Daily range\n"
    yield "Percentiles in miles, of 10,000 synthetic callers.\n"
    yield "| | ε | 2 % | 25 % | 50 % | 75 % | 98 % |"
    yield "|---|--:|--:|--:|--:|--:|--:|"
    for name, epsilon in [
        ("WHERE, 40 x 40", "-"),
        *((n, e) for n in ("dp-where", "published, 40 x 40") for e in EPSILONS),
    ]:
        cuts = [entry["quartiles"] for key, entry in found.items() if key.startswith(f"{name}|{epsilon}|")]
        if cuts:
            yield (
                f"| {name} | {epsilon} | "
                + " | ".join(f"{each:.2f}" for each in np.mean(cuts, axis=0))
                + " |"
            )
    yield "\n## What was promised\n"
    yield f"The mean of {RUNS} runs (five for M4), and the worst of them.\n"
    yield "| | promised | mean | worst |"
    yield "|---|---|--:|--:|"
    reference = mean("WHERE, 40 x 40", "-", "emd")
    even = mean("even homes and work", "-", "emd")
    if reference is not None and even is not None:
        for epsilon in EPSILONS:
            for name in ("dp-where", "dp-where, grid"):
                runs = [entry for key, entry in found.items() if key.startswith(f"{name}|{epsilon}|")]
                if not runs:
                    continue
                far = [abs(run["emd"] - reference) for run in runs]
                yield _promise("M1", name, epsilon, f"within {ALLOWED['M1']} miles of WHERE", far)
                better = f"better than even homes and work ({even:.2f})"
                yield _promise("M2", name, epsilon, better, [run["emd"] for run in runs])
                base = np.mean(
                    [e["quartiles"][1:4] for k, e in found.items() if k.startswith("WHERE, 40 x 40|")], axis=0
                )
                apart = [float(np.abs(np.array(run["quartiles"][1:4]) - base).max()) for run in runs]
                words = f"quartiles of daily ranges within {ALLOWED['M3']} miles of WHERE"
                yield _promise("M3", name, epsilon, words, apart)
    for name in ("tree", "grid"):
        runs = [entry for key, entry in found.items() if key.startswith(f"home at 0.05, {name}|")]
        if runs:
            words = f"homes within {ALLOWED['M4']} miles"
            yield _promise("M4", f"dp-where, {name}", "0.05", words, [run["emd"] for run in runs])
    yield from calls_curves.rows(book)
    yield from calls_points.rows(book)
    yield from calls_peer.rows(book)
    yield from calls_real.rows(book)
    half = amplified("0.23", "0.05")
    yield "\n## Sampling\n"
    yield (
        "A release of a secret sample of one caller in twenty at ε = 0.23 costs "
        f"{float(half):.5f}: ln(1 + p(e^ε − 1)). The published bound 2pε says {2 * 0.05 * 0.23:.4f}."
    )


def _promise(name: str, method: str, epsilon: str, words: str, found: list[float]) -> str:
    return f"| {name}, {method}, ε = {epsilon} | {words} | {np.mean(found):.2f} | {max(found):.2f} |"


def main() -> None:
    PAGE.write_text("\n".join(rows(Book(RESULTS))) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
