"""The pages of the studies of graphs, from what was measured."""

from __future__ import annotations

from collections.abc import Iterator
from math import exp, log
from typing import Any

import graph_properties
from frame.page import Page, listed
from graph_data import (
    BANDS,
    BUDGETS,
    EXPECTED,
    FILES,
    FITTED,
    GRAPHS,
    KRONFIT,
    KRONMOM,
    NOISES,
    NOISY_RUNS,
    PATTERNS,
    PRIVATE,
    RUNS,
    SHAPED,
    SYNTHETIC,
    TEN_GRAPHS,
)
from penstock.kinds.graph.statistics import DISTANCES

STEPS = ("graph", "degrees", "ladder", "fit", "draw")
TOLERANCE = 0.10
CLOSE = 0.01
HALF_AS_MUCH = log(1.5)
DENSE = ("AstroPh", "HepPh")


def compared(measured: dict[str, float]) -> Iterator[tuple[str, str, str, str, float, float]]:
    """Method, pattern, graph and budget with our figure and the reference."""
    for (method, words, name), row in EXPECTED.items():
        for epsilon, value in zip(BUDGETS, row, strict=False):
            yield method, words, name, epsilon, measured[f"{method}|{words}|{name}|{epsilon}"], value


def statements(known: dict[str, Any]) -> list[tuple[str, bool, str]]:
    """Published sentences, whether they hold here, and our numbers."""
    got = known["counts"]

    def of(method: str, words: str, name: str, epsilon: str) -> float:
        return float(got[f"{method}|{words}|{name}|{epsilon}"])

    published = [name for name in FILES if name != "AS20"]

    def worst(method: str, words: str, epsilon: str) -> float:
        return max(of(method, words, name, epsilon) for name in published)

    def beats(words: str, other: str, budgets: tuple[str, ...] = BUDGETS) -> tuple[bool, str]:
        cases = [
            (of("ladder", words, name, epsilon), of(other, words, name, epsilon))
            for name in published
            for epsilon in budgets
        ]
        won = sum(one < two for one, two in cases)
        return won == len(cases), f"{won} of {len(cases)} cases"

    useless = [
        (name, epsilon)
        for name in published
        for epsilon in BUDGETS
        if of("ladder", "4-clique", name, epsilon) >= 1
    ]
    fitted = known["fits"]
    near = max(abs(fitted[f"moments|{name}"][1] - KRONMOM[name][1]) for name in ("GrQc", "HepTh"))
    seed = {name: fitted[f"published 0.2 0.01|{name}"] for name in ("GrQc", "HepTh")}
    shifts = [abs(one["mean"][1] - PRIVATE[name][1]) / one["sd"][1] for name, one in seed.items()]
    apart = [gap for *_, gap in bands(fitted)]
    close = [one["near"] / one["runs"] for one in seed.values()]
    recovered = max(
        abs(one - two)
        for name, entries in SYNTHETIC.items()
        for one, two in zip(known["synthetic"][f"moments|{name}"][0], entries, strict=True)
    )
    far = [known["shapes"][f"kronecker|{name}|none"][4] for name in FITTED]
    spread = max(
        one["sd"][place] / one["mean"][place] for one in known["drawn"].values() for place in (0, 1, 4)
    )
    recursive = {epsilon: one["recursive"] / one["ladder"] for epsilon, one in known["recursive"].items()}
    facts = graph_properties.compared(known["properties"])
    same = sum(theirs == ours for *_, theirs, ours in facts)
    shift = max(
        abs(fitted[f"published 0.2 0.01|{name}"]["mean"][1] - fitted[f"moments|{name}"][1]) for name in FITTED
    )
    degrees, *gaps = (
        max(known["shapes"][f"kronecker|{name}|none"][place] for name in FITTED) for place in range(4)
    )
    return [
        (
            "Counts, local sensitivities and statistics of the graphs are those computed independently.",
            same == len(facts),
            f"{same} of {len(facts)} numbers, to every digit given",
        ),
        (
            "Triangles: the ladder's error is near 0.1 % or below at ε = 1.6 on every graph.",
            worst("ladder", "triangle", "1.6") < 0.0013,
            f"at most {100 * worst('ladder', 'triangle', '1.6'):.3g} %",
        ),
        (
            "Triangles: below 10 % even at ε = 0.05.",
            worst("ladder", "triangle", "0.05") < 0.1,
            f"at most {100 * worst('ladder', 'triangle', '0.05'):.3g} %",
        ),
        ("Triangles: the ladder beats Laplace everywhere.", *beats("triangle", "laplace")),
        ("Triangles: the ladder beats smooth noise as published.", *beats("triangle", "smooth, published")),
        ("3-stars: the ladder beats Laplace everywhere.", *beats("3-star", "laplace")),
        ("3-stars: the ladder beats smooth noise as published.", *beats("3-star", "smooth, published")),
        (
            "Triangles: the ladder beats smooth noise in its tight calibration (not in the paper).",
            *beats("triangle", "smooth, tight"),
        ),
        ("4-cliques: the ladder beats Laplace everywhere.", *beats("4-clique", "laplace")),
        (
            "4-cliques: an error of 1 or more at two points only, HepTh and CondMat at ε = 0.05.",
            useless == [("HepTh", "0.05"), ("CondMat", "0.05")],
            ", ".join(f"{name} at {epsilon}" for name, epsilon in useless),
        ),
        (
            "2-triangles: the ladder beats noisy local sensitivity for ε up to 0.4.",
            *beats("2-triangle", "noisy local", BUDGETS[:4]),
        ),
        (
            "Moments fit CA-GrQc and CA-HepTh as published, to four decimals.",
            near < 5.1e-5,
            f"b differs by at most {near:.1g}",
        ),
        (
            "The published private estimates are within two standard deviations of ours.",
            max(shifts) < 2,
            f"at most {max(shifts):.2g}",
        ),
        (
            f"Means of {RUNS} private estimates of b and c are those computed independently, within three "
            "standard errors of the difference.",
            max(apart) <= 3,
            f"at most {max(apart):.2g}",
        ),
        (
            "Private estimates at ε = 0.2, δ = 0.01 are close to the moments on all three graphs.",
            shift <= CLOSE,
            f"means of b within {shift:.4f}",
        ),
        (
            "At ε = 0.2, δ = 0.01 b is within 0.03 of the moments in nine of ten releases.",
            min(close) >= 0.9,
            f"in at least {100 * min(close):.0f} %",
        ),
        (
            "Moments recover the initiator of a synthetic graph within 0.025, with b = 0.45 and b = 0.54.",
            recovered <= 0.025,
            f"means of ten graphs within {recovered:.3f}",
        ),
        (
            "The synthetic graph in print, b = 0.45, has the printed estimate of its moments, b = 0.5396.",
            abs(known["synthetic"]["moments|0.45"][0][1] - 0.5396) < 0.02,
            f"{known['synthetic']['moments|0.45'][0][1]:.3f}; with b = 0.54 it is "
            f"{known['synthetic']['moments|0.54'][0][1]:.3f}: two digits are exchanged",
        ),
        (
            "The recursive mechanism is competitive at ε = 0.1 and loses ground to the ladder as ε grows "
            "(karate club).",
            recursive["0.1"] <= 1.5 and recursive["1.6"] > 1.5 * recursive["0.1"],
            f"{recursive['0.1']:.1f} times its error at ε = 0.1, {recursive['1.6']:.1f} times at 1.6",
        ),
        (
            "Denser graphs (AstroPh, HepPh) have smaller relative errors, whatever the pattern and budget.",
            all(
                max(of("ladder", words, name, epsilon) for name in DENSE)
                < min(of("ladder", words, name, epsilon) for name in published if name not in DENSE)
                for words in PATTERNS
                for epsilon in BUDGETS
            ),
            f"{len(PATTERNS) * len(BUDGETS)} cases",
        ),
        (
            "Kronecker graphs have nearly the degrees, hops, eigenvalues and network values of all three.",
            degrees <= 0.1 and max(gaps) <= HALF_AS_MUCH,
            f"shares of nodes by degree differ by up to {degrees:.2f}, the others by factors of up to "
            + ", ".join(f"{exp(gap):.1f}" for gap in gaps),
        ),
        (
            "Kronecker graphs miss the clustering of GrQc and HepTh, and not that of AS20.",
            min(far[:2]) > 0.5 and far[2] < 0.5,
            "mean gaps " + ", ".join(f"{gap:.2f}" for gap in far),
        ),
        (
            "One graph from an initiator is representative of the mean of many.",
            spread < 0.05,
            f"edges, nodes with links and eigenvalue deviate by {100 * spread:.1f} % at most",
        ),
    ]


def bands(fitted: dict[str, Any]) -> Iterator[tuple[str, str, str, float, float, float, float, float]]:
    """Setting, graph, entry, our mean and deviation, the reference's, and the gap in standard errors."""
    for (setting, name), reference in BANDS.items():
        one = fitted[f"{setting}|{name}"]
        for place, (mean, sd) in zip((1, 2), reference, strict=True):
            ours, spread = one["mean"][place], one["sd"][place]
            error = ((spread**2 + sd**2) / RUNS) ** 0.5
            yield setting, name, " bc"[place], ours, spread, mean, sd, abs(ours - mean) / max(error, 1e-4)


def page(known: dict[str, Any]) -> Page:
    """What was found."""
    rows = list(compared(known["counts"]))
    off = [abs(ours / theirs - 1) for *_, ours, theirs in rows]
    close = sum(gap <= TOLERANCE for gap in off)
    told = statements(known)
    holding = sum(holds for _, holds, _ in told)
    wins = "; ".join(_wins(known["shapes"], epsilon) for epsilon in NOISES)
    return Page(
        "graphs",
        "Study: private counts and synthetic graphs",
        "How large are the errors of ladder counts on public networks, do the published sentences hold, "
        "and which "
        "synthetic graphs are nearer to the original?",
        [
            f"{close} of {len(rows)} median errors lie within 10 % of figures computed independently "
            f"(largest gap {100 * max(off):.0f} %). {holding} of {len(told)} sentences hold. Of the five "
            f"statistics, degree-triangle is nearer than kronecker in {wins}; so that it is the default. "
            + _fast(known["speed"])
            + _large(known["scaling"]),
            _error_table(known["counts"], ("GrQc", "HepPh"), ("0.1", "0.8")),
            "What does not hold:\n\n"
            + (listed(f"{text} ({numbers})" for text, holds, numbers in told if not holds) or "- nothing"),
        ],
        "`python studies/graphs.py --all`, about an hour on one core, "
        "`python studies/graph_speed.py --keep` (also with `--edges 10000000`), then `python "
        "studies/graphs.py --write`.",
        "Five of the six collaboration and mail graphs of the paper (Enron is not in the data folder) and "
        "AS20, from "
        "SNAP, made simple. Medians of ladder, Laplace and smooth noise are exact; noisy local sensitivity "
        "is the "
        f"median of {NOISY_RUNS} runs with δ = 0.01. The recursive mechanism was run on the karate club.",
        [
            "## Sentences",
            _statement_table(told),
            "## Nearer graphs",
            _shape_text(),
            _shape_table(known["shapes"]),
        ],
        [
            "## The graphs, beside figures computed independently",
            _table(
                ["graph", "what", "reference", "ours"],
                [list(row) for row in graph_properties.compared(known["properties"])],
            ),
            "## Median relative errors",
            _all_errors(known["counts"]),
            "## Beside figures computed independently",
            _compared_table(rows),
            f"## Noisy degrees at ε = 0.1, ratio to the truth, {RUNS} releases",
            _degree_table(known["degrees"]),
            "## Initiators",
            _fit_table(known["fits"], known["synthetic"]),
            f"## Private estimates beside figures computed independently, {RUNS} releases each",
            _band_table(known["fits"]),
            f"## Means of {GRAPHS} graphs from published parameters",
            _graphs_table(known["drawn"]),
            "## Recursive mechanism, median error of the number of triangles of the karate club (45)",
            _recursive_table(known["recursive"]),
            "## Time and memory",
            _speed_table(known["speed"]),
            _scaling_table(known["scaling"]),
        ],
    )


def _fast(found: dict[str, dict[str, float]]) -> str:
    """What a reader should know about times."""
    gain = min(one["NetworkX"] / one["triangles"] for one in found.values())
    slow = max(one["triangle ladder"] / one["SciPy"] for one in found.values())
    return (
        f"Triangles are counted at least {gain:.0f} times faster than by NetworkX (by a compiled loop, the "
        f"extra `fast`); with their ladder it takes at most {slow:.1f} times as long as the product "
        "`A.multiply(A @ A)` of SciPy."
    )


def _large(found: dict[str, dict[str, float]]) -> str:
    """What the largest graph took."""
    one = max(found.values(), key=lambda one: one["edges"])
    took = sum(one[part] for part in STEPS)
    return (
        f" A made-up graph of {one['nodes']:,.0f} nodes and {one['edges']:,.0f} edges took "
        f"{took / 60:.0f} CPU minutes and {one['MiB']:,.0f} MiB for degrees, triangle ladder, fit and one "
        "synthetic graph."
    )


def _shaped(found: dict[str, list[float]], epsilon: str = NOISES[0]) -> list[str]:
    """The graphs on which both models were compared."""
    return [name for name in SHAPED if f"kronecker|{name}|{epsilon}" in found]


def _wins(found: dict[str, list[float]], epsilon: str) -> str:
    """On how many of the five statistics degree-triangle is nearer, graph by graph."""
    each = []
    for name in _shaped(found, epsilon):
        ours, theirs = (found[f"{model}|{name}|{epsilon}"][:5] for model in ("degree-triangle", "kronecker"))
        each.append(f"{sum(one < two for one, two in zip(ours, theirs, strict=True))} on {name}")
    return f"{', '.join(each)} {'without noise' if epsilon == 'none' else f'at ε = {epsilon}'}"


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _error_table(got: dict[str, float], names: tuple[str, ...], budgets: tuple[str, ...]) -> str:
    rows = [
        [name, epsilon, *(f"{got[f'ladder|{words}|{name}|{epsilon}']:.3g}" for words in PATTERNS)]
        for name in names
        for epsilon in budgets
    ]
    return _table(["graph", "ε", *PATTERNS], rows)


def _all_errors(got: dict[str, float]) -> str:
    methods = ("ladder", "laplace", "smooth, published", "smooth, tight", "noisy local")
    rows = []
    for words in PATTERNS:
        for name in FILES:
            for method in methods:
                cells = [got.get(f"{method}|{words}|{name}|{epsilon}") for epsilon in BUDGETS]
                if any(cell is not None for cell in cells):
                    rows.append([words, name, method, *("-" if c is None else f"{c:.3g}" for c in cells)])
    return _table(["pattern", "graph", "noise", *(f"ε = {epsilon}" for epsilon in BUDGETS)], rows)


def _compared_table(rows: list[tuple[str, str, str, str, float, float]]) -> str:
    cells = [
        [method, words, name, epsilon, f"{theirs:.3g}", f"{ours:.3g}", f"{ours / theirs:.3f}"]
        for method, words, name, epsilon, ours, theirs in rows
    ]
    return _table(["noise", "pattern", "graph", "ε", "reference", "ours", "ratio"], cells)


def _statement_table(told: list[tuple[str, bool, str]]) -> str:
    rows = [
        [str(number), text, f"**{'holds' if holds else 'does not hold'}**", numbers]
        for number, (text, holds, numbers) in enumerate(told, start=1)
    ]
    return _table(["", "statement", "in our runs", "our numbers"], rows)


def _shape_text() -> str:
    return (
        "Distance to the original, 0 is best: the largest gap of the degree distributions; the mean gap of "
        "the "
        "logarithms of\nhop plot, eigenvalues and network values; the mean gap of the clustering by "
        "degree. Nodes "
        "without links are left out.\nOne graph without noise, the mean of three releases with it."
    )


def _shape_table(found: dict[str, list[float]]) -> str:
    rows = []
    for name in _shaped(found):
        for epsilon in [each for each in NOISES if name in _shaped(found, each)]:
            for model in ("degree-triangle", "kronecker"):
                values = found[f"{model}|{name}|{epsilon}"]
                shown = [f"{value:.3f}" for value in values[:5]]
                rows.append([name, epsilon, model, *shown, f"{values[5]:,.0f}"])
    return _table(["graph", "ε", "model", *DISTANCES, "triangles"], rows)


def _degree_table(found: dict[str, Any]) -> str:
    rows = [
        [name, *(f"{m:.2f} ({s:.2f})" for m, s in zip(means, sds, strict=True)), f"{unordered:.1f}"]
        for name, (means, sds, unordered) in found.items()
    ]
    return _table(["graph", "edges", "2-stars", "3-stars", "2-stars, order not restored"], rows)


def _fit_table(found: dict[str, Any], made: dict[str, Any]) -> str:
    rows = []
    for name in FITTED:
        for label, entries in (("published", KRONMOM[name]), ("ours", found[f"moments|{name}"])):
            rows.append([name, f"moments, {label}", *(f"{entry:.4f}" for entry in entries), ""])
        rows.append([name, "likelihood, published", *(f"{entry:.4f}" for entry in KRONFIT[name]), ""])
        rows.append([name, "private, published", *(f"{entry:.4f}" for entry in PRIVATE[name]), ""])
        for label in ("published 0.2 0.01", "published 0.2 0.1", "pure 0.2", "pure 1"):
            one = found[f"{label}|{name}"]
            cells = [f"{mean:.4f} ({sd:.4f})" for mean, sd in zip(one["mean"], one["sd"], strict=True)]
            rows.append([name, f"private, ours, {label}", *cells, f"{one['dropped']} of {one['runs']}"])
    for name, entries in SYNTHETIC.items():
        rows.append([f"drawn, b = {name}", "drawn from", *(f"{entry:.4f}" for entry in entries), ""])
        for label in ("moments", "private"):
            means, sds = made[f"{label}|{name}"]
            cells = [f"{mean:.4f} ({sd:.4f})" for mean, sd in zip(means, sds, strict=True)]
            rows.append([f"drawn, b = {name}", f"{label}, ours", *cells, ""])
    return _table(["graph", "estimate", "a", "b", "c", "triangles left out"], rows)


def _band_table(found: dict[str, Any]) -> str:
    rows = [
        [name, setting, entry, f"{ours:.4f} ({spread:.4f})", f"{mean:.4f} ({sd:.4f})", f"{gap:.1f}"]
        for setting, name, entry, ours, spread, mean, sd, gap in bands(found)
    ]
    return _table(["graph", "setting", "entry", "ours", "reference", "gap in standard errors"], rows)


def _graphs_table(found: dict[str, Any]) -> str:
    rows = []
    for name in FITTED:
        for source in ("KronMom", "Private", "KronFit"):
            values = found[f"{source}|{name}"]["mean"]
            pairs = zip(values, TEN_GRAPHS[name, source], strict=True)
            rows.append([name, source, *(f"{_short(ours)} / {_short(theirs)}" for ours, theirs in pairs)])
    head = ["edges", "nodes with links", "largest degree", "triangles", "leading eigenvalue"]
    return _table(["graph", "parameters", *(f"{word}, ours / reference of ten" for word in head)], rows)


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def _recursive_table(found: dict[str, Any]) -> str:
    rows = [[epsilon, f"{one['recursive']:.1f}", f"{one['ladder']:.0f}"] for epsilon, one in found.items()]
    return _table(["ε", "recursive", "ladder"], rows)


def _speed_table(found: dict[str, Any]) -> str:
    rows = []
    for name, one in found.items():
        ladders = [one[f"{words} ladder"] for words in PATTERNS]
        gains = [f"{one['triangles'] / one['SciPy']:.2f}", f"{one['NetworkX'] / one['triangles']:.0f}"]
        rows.append(
            [name, f"{one['SciPy']:.3f}", f"{one['NetworkX']:.2f}", f"{one['triangles']:.4f}", *gains]
            + [f"{took:.2f} ({took / one['SciPy']:.1f})" for took in ladders]
        )
    head = ["graph", "SciPy s", "NetworkX s", "triangles s", "of SciPy", "faster than NetworkX"]
    return _table([*head, *(f"{words} ladder s (of SciPy)" for words in PATTERNS)], rows)


def _scaling_table(found: dict[str, Any]) -> str:
    rows = []
    for one in sorted(found.values(), key=lambda one: one["edges"]):
        times = [f"{one[part]:.1f}" for part in STEPS]
        rows.append([f"{one['nodes']:,}", f"{one['edges']:,}", *times, f"{one['MiB']:,.0f}"])
    head = [
        "nodes",
        "edges",
        "reading s",
        "degrees s",
        "triangle ladder s",
        "fit s",
        "one graph s",
        "MiB at most",
    ]
    return _table(head, rows)
