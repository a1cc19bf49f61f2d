"""All studies of k-means one after the other, and what they found as pages of the documentation.

    python studies/kmeans_all.py                   # about an hour on one core
    python studies/kmeans_all.py --seconds 300     # start no run of a study after five minutes of it
    python studies/kmeans_all.py --show --write    # run nothing, write the pages in docs/studies

The other arguments are those of each study. `kmeans_validity.py` and `kmeans_race.py` are run on their own;
the pages show what they found last. All results are kept in `studies/results`, beside the code, so that the
pages can be written anywhere.
"""

from __future__ import annotations

import json
import sys
from importlib import import_module
from math import exp, hypot, log
from pathlib import Path
from statistics import fmean
from typing import Any

import kmeans_rule
from frame import Results, all_of, run
from frame.page import Page, listed, wrapped
from frame.statements import Checked, Figure, Verdict, checked, count_of, refuted, statement_table, tally
from frame.table import account, agreement, every_table, excerpt, markdown, number, runs
from kmeans_race import BUDGETS as RACED
from kmeans_race import COLUMNS
from kmeans_race import FOUND as RACE
from kmeans_validity import BUDGETS, PRIVATE, PUBLISHED, RANGES, SYNOPSES
from kmeans_validity import FOUND as VALIDITY

STUDIES = ("kmeans", "kmeans_shapes", "kmeans_scaling", "kmeans_default", "kmeans_rule")
SHOWN_OF = ("s1", "adult-num", "gowalla-visits", "roads", "taxi", "bank-num")
SHOWN_BY = ("Grown", "Hybrid", "EUGkM", "DPLloyd-Impr", "DPLloyd", "without noise")
LIMIT_MIB = 3072

RULES = """`grown` and `hybrid`, means of {runs} runs with their standard errors, and public rules of when to
take a grid, as geometric means of the NICV over that of always taking a tree. Rules were looked for on the
first five sets of points, and the other five confirm."""

DEFAULT = """**The default is `grown`, a tree, not the published hybrid with a grid**: in {cases} cases
({runs} runs of each) its NICV is {mean} times the hybrid's in the mean, {least} to {most}, and worse by more
than two standard errors in {worse} ({where}); no public rule for taking a grid is better."""

ASKED = """Does what the literature says of private k-means hold: with a synopsis, with noisy rounds, with
both, and for the choice of k? Is our default better, also beside other software, and does it take ten
million points?"""

AGAIN = """`python studies/kmeans_all.py`, `python studies/kmeans_validity.py` and
`python studies/kmeans_race.py`, an hour and a half on one core in all, then
`python studies/kmeans_all.py --show --write` for these pages ([how](../studies.md))."""

READING = """## How to read the figures

NICV is the mean squared distance of a point to the nearest centre in the cube from −1 to 1, to which the
bounds of all columns are scaled; lower is better. The literature prints its curves as images and says in
words what they show: every such sentence ends here as *holds* or *does not hold*, with our numbers. Figures
in brackets are those of the project's specification, from an independent prototype. Statements whose number
begins with A are about our own figures. A case that goes against a statement by no more than two standard
errors counts as noise."""


def _read(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found


def pages() -> Page:
    """What all studies found, from what is on disk."""
    studies = [run(import_module(name).study(), seconds=-1) for name in STUDIES]
    return page(studies, _read(VALIDITY), _read(RACE))


def page(studies: list[Results], validity: dict[str, Any], raced: dict[str, Any]) -> Page:
    """The findings on one screen, statements and experiments below it, all figures in the appendix."""
    beside = [*_of_validity(validity), *_of_race(raced)]
    every = [*checked(*studies), *beside]
    theirs, ours = ([one for one in every if one.number.startswith("A") is own] for own in (False, True))
    lead = f"""{tally(theirs, "statements of the literature")}. {tally(ours, "about our own figures")}.
        {agreement(studies[0])} {_race_in_words(raced)} {_default_in_words(studies[-1])}"""
    return Page(
        name="kmeans",
        title="k-means: the published experiments, re-run, and the default",
        asked=ASKED,
        found=[
            lead,
            excerpt(studies[0], "NICV", SHOWN_OF, SHOWN_BY, "0.1", "NICV"),
            "What does not hold:",
            listed(refuted(every)),
        ],
        again=AGAIN,
        rests_on=f"""{", ".join(f"{runs(each)} ({each.study.name})" for each in studies)}, seeded; bounds are
            the smallest and largest values, as in the literature, the relation is add-remove, and the number
            of points is paid for.""",
        details=[
            READING,
            "## The statements",
            *(statement_table(checked(results)) for results in studies),
            *([statement_table(beside)] if beside else []),
            *_validity_section(validity),
            *_race_section(raced),
            *_rule_section(studies[-1]),
            "## The experiments",
            *(account(results, "kmeans") for results in studies[:-1]),
        ],
        tables=[*(every_table(results) for results in studies), *_validity_tables(validity)],
    )


def _default_in_words(results: Results) -> str:
    """The default beside the published hybrid: on average, and where it loses."""
    ratios: dict[str, float] = {}
    worse: list[str] = []
    for dataset in results.study.datasets:
        for epsilon in results.study.budgets:
            tree, grid = (
                results.get(dataset, each, epsilon, kmeans_rule.NICV) for each in kmeans_rule.METHODS
            )
            if tree is not None and grid is not None:
                where = f"{dataset} at ε {epsilon}"
                ratios[where] = tree.mean / grid.mean
                if tree.mean - grid.mean > 2 * hypot(tree.error, grid.error):
                    worse.append(where)
    if not ratios:
        return ""
    return DEFAULT.format(
        runs=_runs(results),
        mean=f"{exp(fmean(map(log, ratios.values()))):.2f}",
        least=f"{min(ratios.values()):.2f}",
        most=f"{max(ratios.values()):.2f}",
        worse=len(worse),
        cases=len(ratios),
        where=", ".join(f"{each} by {ratios[each] - 1:.1%}" for each in worse) or "none",
    )


def _runs(results: Results) -> str:
    fewest, most = results.runs()
    return str(most) if fewest == most else f"{fewest} to {most}"


def _rule_section(results: Results) -> list[str]:
    if not results.runs()[1]:
        return []
    return ["## A tree or a grid", wrapped(RULES.format(runs=_runs(results))), kmeans_rule.summary(results)]


# Choosing k, convergence and the error models --------------------------------------------------------


def _of_validity(found: dict[str, Any]) -> list[Checked]:
    """Statements about the index, the speed of convergence and the models of the error."""
    told: list[Checked] = []
    clean = {name: found[f"clean|{name}"] for name in RANGES if f"clean|{name}" in found}
    if "s1" in clean:
        exact = [(k, value) for k, value in PUBLISHED["s1"].items() if k != "10"]
        exact += [(k, value) for k, value in PUBLISHED["adult-num"].items() if k != "2"]
        of = [("s1", *each) for each in exact[:3]]
        if "adult-num" in clean:
            of += [("adult-num", *each) for each in exact[3:]]
        parts: list[tuple[str, Figure, Figure]] = [
            (
                f"{name}, k {k}: distance from the published {value}, and 0.01 % of it",
                abs(clean[name][k] - value),
                1e-4 * value,
            )
            for name, k, value in of
        ]
        told.append(Checked("V1", "Without noise the index has the published values.", count_of(parts)))
    if "chosen|s1|2" in found:
        true = {name: min(values, key=lambda k: values[k]) for name, values in clean.items()}
        hits: list[tuple[str, Figure, Figure]] = []
        for name in clean:
            for epsilon in BUDGETS:
                picks = found.get(f"chosen|{name}|{epsilon}", {}).get("picks")
                if picks:
                    most = max(picks, key=lambda k: picks[k])
                    where = f"{name}, ε {epsilon}: off by, and at most 1"
                    hits.append((where, float(abs(int(most) - int(true[name]))), 1.0))
        text = "The k chosen on a synopsis is very accurate: most often within 1 of that without noise."
        told.append(Checked("V2", text, count_of(hits)))
        near: list[tuple[str, Figure, Figure]] = []
        for epsilon in ("0.5", "1", "2"):
            ours = found[f"chosen|s1|{epsilon}"]["index"]
            for k, value in PRIVATE["s1"][epsilon].items():
                if k in ours:
                    where = f"s1, ε {epsilon}, k {k}: distance from {value}, and 3 % of it"
                    near.append((where, abs(ours[k] - value), 0.03 * value))
        text = "On S1 the index with noise is within 3 % of the published one for the same k, from ε 0.5 on."
        told.append(Checked("V3", text, count_of(near)))
    curves = {name.partition("|")[2]: each for name, each in found.items() if name.startswith("convergence")}
    if curves:
        early = [
            (f"{name} after three rounds, Lloyd and genetic", each["Lloyd"][3], each["genetic"][3])
            for name, each in curves.items()
        ]
        text = "Lloyd's algorithm improves much faster than a genetic one in the first rounds."
        told.append(Checked("V4", text, count_of(early)))
        late = [
            (f"{name} after ten rounds: the best, and genetic", 1.01 * each["best"][0], each["genetic"][10])
            for name, each in curves.items()
        ]
        text = "A genetic algorithm needs more than ten rounds to come within 1 % of the best."
        told.append(Checked("V5", text, count_of(late)))
    if "models" in found:
        gaps = [
            (
                f"{what}: distance of {found['models'][f'{what}, measured']:.3g} and "
                f"{found['models'][f'{what}, model']:.3g}, and a fifth",
                abs(found["models"][f"{what}, measured"] - found["models"][f"{what}, model"]),
                0.2 * found["models"][f"{what}, model"],
            )
            for what in ("round", "grid")
        ]
        text = "The models of the error of a round and of a grid are right, on an even square."
        told.append(Checked("V6", text, count_of(gaps)))
    return told


def _validity_section(found: dict[str, Any]) -> list[str]:
    rows = []
    for name in RANGES:
        for epsilon in BUDGETS:
            one = found.get(f"chosen|{name}|{epsilon}")
            if one is None:
                continue
            order = sorted(one["picks"], key=lambda k: -one["picks"][k])
            published = PRIVATE.get(name, {}).get(epsilon, {})
            shown = [
                f"{k} ({one['picks'][k] / SYNOPSES:.0%}) {one['index'][k]:.4f}"
                + (f" [{published[k]:.4f}]" if k in published else "")
                for k in order[:4]
            ]
            rows.append([name, epsilon, ", ".join(shown)])
    if not rows:
        return []
    lead = (
        "Chosen on a synopsis of the preset `eugkm`: every number of clusters with how often it was chosen, "
        f"and its index; the published index for the same number in brackets. {SYNOPSES} synopses each."
    )
    heads = ["points", "ε", "chosen k (how often) index"]
    return ["## How many clusters", lead, "\n".join(markdown(heads, rows))]


def _validity_tables(found: dict[str, Any]) -> list[str]:
    parts = []
    for name in RANGES:
        clean = found.get(f"clean|{name}")
        if clean:
            known = PUBLISHED.get(name, {})
            rows = [
                [k, f"{clean[k]:.6f}", f"{known[k]:.6f}" if k in known else ""]
                for k in sorted(clean, key=lambda k: float(clean[k]))
            ]
            parts += [f"### {name}, without noise", "\n".join(markdown(["k", "index", "published"], rows))]
    for name, each in found.items():
        if name.startswith("convergence"):
            heads = ["after rounds", "Lloyd, mean of 30 starts", "genetic, best of 200"]
            pairs = zip(each["Lloyd"], each["genetic"], strict=True)
            curve = [[str(step), number(one), number(two)] for step, (one, two) in enumerate(pairs)]
            lead = f"### {name}, NICV by rounds, without noise (best {number(each['best'][0])})"
            parts += [lead, "\n".join(markdown(heads, curve))]
    return ["## The index of Ray and Turi, and convergence { #validity }", *parts] if parts else []


# Beside other software, and at scale -----------------------------------------------------------------


def _of_race(found: dict[str, Any]) -> list[Checked]:
    told = []
    if "race" in found:
        race = found["race"]
        best = race["without noise"]
        halves = [
            (
                f"ε {epsilon}: above no noise, and half of diffprivlib's",
                fmean(race[f"Penstock|{epsilon}"]) - best,
                (fmean(race[f"diffprivlib|{epsilon}"]) - best) / 2,
            )
            for epsilon in RACED
        ]
        text = "On Adult the default has at most half of what diffprivlib has above clustering without noise."
        told.append(Checked("A10", text, count_of(halves)))
    if "speed" in found:
        speed = found["speed"]
        ratios = [speed[_column("grown", many)] / speed[_column("scikit-learn", many)] for many in COLUMNS]
        verdict = Verdict(max(ratios) <= 1, f"{', '.join(f'{one:.2f}' for one in ratios)} times")
        text = (
            f"A million points in {listed_columns()} columns take no longer than one fit of scikit-learn's "
            "`KMeans(n_init=1)`."
        )
        told.append(Checked("A11", text, verdict))
    if "scale" in found:
        peaks = [value for name, value in found["scale"].items() if name.endswith("peak MiB")]
        text = f"{found['scale']['points']:,} points go through DuckDB within 3 GiB."
        told.append(Checked("A12", text, Verdict(max(peaks) < LIMIT_MIB, f"at most {max(peaks):,.0f} MiB")))
    return told


def _column(what: str, columns: int) -> str:
    """Under which name the time of something is kept."""
    return what if columns == COLUMNS[0] else f"{what}|{columns}"


def _seconds(taken: float | None) -> str:
    return "" if taken is None else f"{taken:.2f}"


def listed_columns() -> str:
    *some, last = map(str, COLUMNS)
    return f"{', '.join(some)} and {last}"


def _race_in_words(found: dict[str, Any]) -> str:
    if "race" not in found:
        return ""
    race = found["race"]
    pairs = ", ".join(
        f"{number(fmean(race[f'Penstock|{epsilon}']))} against "
        f"{number(fmean(race[f'diffprivlib|{epsilon}']))} at ε {epsilon}"
        for epsilon in RACED
    )
    return (
        f"Beside diffprivlib on Adult, from 0 to 1: {pairs}; without noise {number(race['without noise'])}."
    )


def _race_section(found: dict[str, Any]) -> list[str]:
    parts: list[str] = []
    if "race" in found:
        race = found["race"]
        rows = [
            [
                name,
                *(number(fmean(race[f"{name}|{epsilon}"])) for epsilon in RACED),
                *(f"{race[f'{name} seconds|{epsilon}']:.2f}" for epsilon in RACED),
            ]
            for name in ("Penstock", "diffprivlib")
        ]
        heads = ["", *(f"NICV, ε {each}" for each in RACED), *(f"CPU s, ε {each}" for each in RACED)]
        versions = " with ".join(f"{name} {version}" for name, version in race["versions"].items())
        parts += [
            "## Beside diffprivlib",
            "Adult's six numeric columns (48,842 rows, k = 5), every column from 0 to 1, bounds 0 and 1 "
            f"declared to both; means of {race['runs']} runs in one sitting, {versions} in an environment of "
            f"its own. Without noise: {number(race['without noise'])}.",
            "\n".join(markdown(heads, rows)),
            "Penstock: pure ε, one row added or removed, the number of rows paid for, exact noise. "
            "diffprivlib claims pure ε for the same change; it takes the number of rows as public, draws "
            "noise in floating point, leaves out empty clusters without paying for it, and keeps exact "
            "labels and inertia.",
        ]
    if "speed" in found:
        speed = found["speed"]
        rows = [
            [
                name,
                *(f"{speed[key]:.2f}" if (key := _column(which, many)) in speed else "" for many in COLUMNS),
            ]
            for name, which in (
                ("opening and coding the points", "opening"),
                ("`grown`, the default", "grown"),
                ("`hybrid`", "hybrid"),
                ("scikit-learn's `KMeans(n_init=1)`", "scikit-learn"),
            )
        ]
        parts += [
            f"## {speed['points']:,} points",
            "CPU seconds of one core, the least of three runs that took turns; eight clusters, ε 1.",
            "\n".join(markdown(["CPU seconds", *(f"{many} columns" for many in COLUMNS)], rows)),
        ]
    if "scale" in found:
        scale = found["scale"]
        rows = [
            [
                f"`{preset}`",
                f"{scale[f'{preset}|cpu']:.0f}",
                f"{scale[f'{preset}|peak MiB']:,.0f}",
                f"{scale[f'{preset}|rows of an answer']:,}",
                number(scale[f"{preset}|NICV"]),
            ]
            for preset in ("grown", "hybrid", "dplloyd")
            if f"{preset}|cpu" in scale
        ]
        heads = ["preset", "CPU s", "peak MiB", "rows of the longest answer", "NICV"]
        parts += [
            f"## {scale['points']:,} points through DuckDB",
            f"A Parquet file of {scale['file MiB']:,.0f} MiB. The database codes the points and adds them "
            "up; what comes back are counts of cells, or numbers and sums around centres, never points. A "
            "tree asks for at most about a million cells at once. Each release in a new process, imports "
            "included.",
            "\n".join(markdown(heads, rows)),
        ]
    return parts


if __name__ == "__main__":
    all_of(STUDIES, pages, sys.argv[1:])
