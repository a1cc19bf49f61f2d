"""Do 95 % error bars cover what they promise? Every kind of error bar, over many releases of small tables.

    python studies/error_bars.py                      # 200 releases of each kind or more: some minutes
    python studies/error_bars.py --releases 1000 --only privtree
    python studies/error_bars.py --write              # and the pages of the documentation

Each kind is released again and again, with other noise, and asked the same questions. Counted is how often
the truth lies within the error bar, over all releases and questions that were answered with one. Every answer
declares what its bar covers: 95 %, or exactly how much more where noise takes few whole values, or at least
95 % where nothing more is known. From that and from cutting off at zero follows how often the truth should be
covered (`expected`). The exit code is 1 when a kind of bar covers 2 percentage points more or less than that;
only those that declare "at least" may cover more. Finished kinds are kept in `results/` and not run again.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from pathlib import Path
from time import process_time
from typing import NamedTuple

import numpy as np
import polars as pl

from frame.page import Page
from frame.store import RESULTS
from frame.table import markdown
from penstock import Schema, release, select
from penstock.releases import Answer, Release
from penstock.schema import parse

RELEASES = 200
BARS = 1600  # asked for at least, of kinds with few questions by more releases
SMALL, LARGE = "1/2", "4"
TOLERANCE = 0.02  # 95 % bars cover 93 to 97 %
PLACE = RESULTS / "coverage.jsonl"
NUMBERS = ("bars", "covered", "expectation", "at_least", "seconds")
HEAD = ("kind of data", "error bar", "releases", "answers with a bar", "expected", "covered", "as promised")
ROWS = 6000

TABLE = """
fields:
  - {name: region, constraints: {enum: [north, south, east, west]}}
  - {name: age, type: integer, constraints: {minimum: 0, maximum: 99}, bins: {width: 20}}
  - {name: job, constraints: {enum: [none, clerk, cook]}}
  - {name: smoker, type: boolean}
"""
RULES = 'impossible: ["age < 20 and job = clerk", "age < 20 and job = cook"]\n'
POINTS = """
kind: points
fields:
  - {name: x, type: number, constraints: {minimum: 0, maximum: 1}}
  - {name: y, type: number, constraints: {minimum: 0, maximum: 1}}
"""
VISITS = """
kind: sequences
sequence: {symbol: pages, longest: 6}
fields:
  - {name: pages, constraints: {enum: [home, news, sport]}}
"""
BASKETS = """
kind: itemsets
items: {item: basket, largest: 3}
fields:
  - {name: basket, constraints: {enum: [bread, butter, milk, tea, jam, eggs]}}
"""
FRIENDS = "{kind: graph, edges: {nodes: 60}}"
QUESTIONS = (
    "region = north",
    "age < 40",
    "smoker = true",
    "age < 20 and job = none",
    "region in (north, south) and smoker = true",
    "job = cook or smoker = true",
    "age >= 0",
)
BOXES = ("x < 0.5", "x >= 0.5 and y < 0.5", "x < 0.25 and y < 0.25", "x >= 0")
PATTERNS = ("triangle", "2-star")
STRINGS = ("home", "home,news", "news,home", "$,home", "sport,&", "home,news,sport")


def people(rows: int = ROWS) -> pl.DataFrame:
    """A small table in which under-twenties have no job."""
    rng = np.random.default_rng(7)
    age = rng.integers(0, 100, rows)
    job = np.where(age < 20, "none", rng.choice(["none", "clerk", "cook"], rows, p=[0.3, 0.5, 0.2]))
    region = rng.choice(["north", "south", "east", "west"], rows, p=[0.4, 0.3, 0.2, 0.1])
    smoker = rng.random(rows) < np.where(job == "cook", 0.6, 0.2)
    return pl.DataFrame({"region": region, "age": age, "job": job, "smoker": smoker})


def places(rows: int = 3000) -> pl.DataFrame:
    rng = np.random.default_rng(8)
    return pl.DataFrame({"x": rng.beta(1, 3, rows), "y": rng.beta(2, 2, rows)})


def visits(rows: int = 3000) -> pl.DataFrame:
    rng = np.random.default_rng(9)
    pages = np.array(["home", "news", "sport"])
    texts = [
        " ".join(["home", *pages[rng.choice(3, rng.integers(0, 4), p=[0.3, 0.5, 0.2])]]) for _ in range(rows)
    ]
    return pl.DataFrame({"pages": texts})


def baskets(rows: int = 1500) -> pl.DataFrame:
    rng = np.random.default_rng(10)
    goods = np.array(["bread", "butter", "milk", "tea", "jam", "eggs"])
    chosen = [rng.choice(6, 3, replace=False, p=[0.3, 0.25, 0.2, 0.1, 0.1, 0.05]) for _ in range(rows)]
    return pl.DataFrame({"basket": [" ".join(goods[each]) for each in chosen]})


def friends(nodes: int = 60) -> tuple[pl.DataFrame, dict[str, float]]:
    """Links among neighbours in a ring, and how many triangles and pairs of links at a node they make."""
    rng = np.random.default_rng(11)
    links = {(one, (one + step) % nodes) for one in range(nodes) for step in (1, 2, 3) if rng.random() < 0.8}
    near = np.zeros((nodes, nodes), dtype=np.int64)
    for one, two in links:
        near[one, two] = near[two, one] = 1
    degrees = near.sum(axis=1)
    truth = {
        "triangle": float(np.trace(near @ near @ near) // 6),
        "2-star": float((degrees * (degrees - 1) // 2).sum()),
        "edge": float(degrees.sum() // 2),
    }
    return pl.DataFrame(sorted(links), schema=["from", "to"], orient="row"), truth


def occurrences(texts: Sequence[str], string: str) -> int:
    """How often a string stands in sequences, their beginning and end marked."""
    wanted = string.split(",")
    found = 0
    for text in texts:
        marked = ["$", *text.split(), "&"]
        found += sum(
            marked[place : place + len(wanted)] == wanted for place in range(len(marked) - len(wanted) + 1)
        )
    return found


class Told(NamedTuple):
    """Whether a bar covers the truth, None where there is no bar; and how likely that was.

    `expected` is what the answer declares that its bar covers, and where it declares "at least 95 %", 95 %.
    Noise is as likely to lower a count as to raise it. A count that would have to be cut off at zero, or at
    a public number of records, before it is off by more than its bar cannot miss on that side.
    """

    covered: bool | None
    expected: float = 0.0
    at_least: bool = False

    @classmethod
    def of(cls, answer: Answer, truth: float, most: float = inf) -> Told:
        if answer.error is None:
            return cls(None)
        declared = 0.95 if answer.covers is None else answer.covers
        sides = (truth - answer.error > 0) + (truth + answer.error < most)
        expected = 1 - (1 - declared) * sides / 2
        return cls(abs(answer.value - truth) <= answer.error + 1e-9, expected, answer.covers is None)


@dataclass(frozen=True)
class Case:
    """One kind of error bar: how to make a release from an epsilon and a seed, and what to ask it.

    `question` is the name of what is asked where a release is not asked with an expression.
    """

    name: str
    kind: str
    make: Callable[[str, int], Release]
    truth: Mapping[str, float]
    question: str | None = None

    def bars(self, epsilon: str, seed: int) -> list[Told]:
        made = self.make(epsilon, seed)
        most = inf if made.schema.size is None else float(made.schema.size)
        ask = made.query if self.question is None else made.questions()[self.question].ask
        asked = [(ask(text), truth) for text, truth in self.truth.items()]
        return [Told.of(answer, truth, most) for answer, truth in asked if isinstance(answer, Answer)]


@dataclass(frozen=True)
class Coverage:
    """How often bars covered the truth."""

    case: Case
    epsilon: str
    releases: int
    bars: int
    covered: int
    expectation: float
    at_least: bool
    questions: int
    seconds: float = 0.0

    @property
    def share(self) -> float:
        return self.covered / self.bars if self.bars else float("nan")

    @property
    def expected(self) -> float:
        """The mean of what every single bar should cover."""
        return self.expectation / self.bars if self.bars else float("nan")

    @property
    def promise(self) -> str:
        return f"{'≥ ' if self.at_least else ''}{self.expected:.3f}"

    @property
    def good(self) -> bool:
        above = 1.0 if self.at_least else TOLERANCE
        return -TOLERANCE <= self.share - self.expected <= above

    def row(self) -> list[str]:
        told = f"{100 * self.bars / (self.releases * self.questions):.0f} %"
        return [
            self.case.kind,
            self.case.name,
            str(self.releases),
            told,
            self.promise,
            f"{self.share:.3f}",
            "yes" if self.good else "**no**",
        ]


def measured(case: Case, epsilon: str, releases: int, *, first: int = 0) -> Coverage:
    """The coverage of one kind of bar, over releases with these many seeds."""
    begin = process_time()
    told = [
        each
        for seed in range(first, first + releases)
        for each in case.bars(epsilon, seed)
        if each.covered is not None
    ]
    return Coverage(
        case,
        epsilon,
        releases,
        bars=len(told),
        covered=sum(bool(each.covered) for each in told),
        expectation=sum(each.expected for each in told),
        at_least=any(each.at_least for each in told),
        questions=len(case.truth),
        seconds=process_time() - begin,
    )


def kept(case: Case, epsilon: str, releases: int, place: Path = PLACE) -> Coverage:
    """What is known of a kind already, or measured now and written down."""
    wanted = {"name": case.name, "epsilon": epsilon, "releases": releases, "asked": list(case.truth)}
    for line in place.read_text(encoding="utf-8").splitlines() if place.exists() else ():
        known = json.loads(line)
        if all(known[key] == value for key, value in wanted.items()):
            numbers = {name: value for name, value in known.items() if name not in wanted}
            return Coverage(case, epsilon, releases, questions=len(case.truth), **numbers)
    found = measured(case, epsilon, releases)
    place.parent.mkdir(parents=True, exist_ok=True)
    with place.open("a", encoding="utf-8") as file:
        numbers = {name: getattr(found, name) for name in NUMBERS}
        file.write(json.dumps({**wanted, **numbers}) + "\n")
    return found


def cases() -> list[Case]:
    """Every kind of error bar that a release can give."""
    table, ruled = Schema.from_yaml(TABLE), Schema.from_yaml(RULES + TABLE)
    public = Schema.from_yaml(f"relation: replace\nsize: {ROWS}\n{TABLE}")
    rows, points, pages, goods = people(), places(), visits(), baskets()
    asked = {question: float(parse(question, table).holds(rows).sum()) for question in QUESTIONS}
    some = {question: asked[question] for question in QUESTIONS if question != "age >= 0"}
    labels = {question: asked[question] for question in ("smoker = true", "age >= 0", "age < 40")}
    boxes = {box: float(parse(box, Schema.from_yaml(POINTS)).holds(points).sum()) for box in BOXES}
    strings = {each: float(occurrences(pages["pages"].to_list(), each)) for each in STRINGS}
    graph, links = Schema.from_yaml(FRIENDS), friends()
    patterns = {name: links[1][name] for name in PATTERNS}
    having = {item: float(goods["basket"].str.contains(item).sum()) for item in ("bread", "butter", "milk")}

    def of(
        name: str,
        kind: str,
        records: pl.DataFrame,
        schema: Schema,
        truth: Mapping[str, float],
        method: str,
        delta: str = "0",
        **options: object,
    ) -> Case:
        def make(epsilon: str, seed: int) -> Release:
            return release(
                records, schema, epsilon=epsilon, delta=delta, method=method, seed=seed, parameters=options
            )

        return Case(name, kind, make, truth, "pattern" if kind == "graph" else None)

    def chosen(epsilon: str, seed: int) -> Release:
        return select(
            goods,
            Schema.from_yaml(BASKETS),
            epsilon=epsilon,
            c=3,
            counts="9/10",
            mechanism="one-shot",
            seed=seed,
        )

    return [
        of("confluence", "table", rows, table, asked, "confluence"),
        of("confluence, public number of records", "table", rows, public, some, "confluence"),
        of("confluence, with rules", "table", rows, ruled, asked, "confluence"),
        of("confluence, with a delta", "table", rows, table, asked, "confluence", delta="1e-6"),
        of("privbayes", "table", rows, table, asked, "privbayes"),
        of("privbayes in bits", "table", rows, table, asked, "privbayes", encoding="gray"),
        of("independent", "table", rows, table, asked, "independent"),
        of("contingency", "table", rows, table, asked, "contingency"),
        of("laplace-marginals", "table", rows, table, asked, "laplace-marginals"),
        of("fourier-marginals", "table", rows, table, asked, "fourier-marginals"),
        *(
            of(method, "table", rows, table, labels, method, target="smoker")
            for method in ("classifier", "privpfc", "diffgen", "pph", "majority-label")
        ),
        of("privtree", "points", points, Schema.from_yaml(POINTS), boxes, "privtree"),
        of("uniform-grid", "points", points, Schema.from_yaml(POINTS), boxes, "uniform-grid", side=8),
        of("simple-tree", "points", points, Schema.from_yaml(POINTS), boxes, "simple-tree", height=4),
        of("privtree-sequences", "sequences", pages, Schema.from_yaml(VISITS), strings, "privtree-sequences"),
        Case("select-items, counts paid for", "item sets", chosen, having),
        of("set-histogram", "item sets", goods, Schema.from_yaml(BASKETS), having, "set-histogram"),
        of("top-sets", "item sets", goods, Schema.from_yaml(BASKETS), having, "top-sets"),
        of("laplace-counts", "graph", links[0], graph, patterns, "laplace-counts", counts="triangle, 2-star"),
        of("degree-sequence", "graph", links[0], graph, {"edge": links[1]["edge"]}, "degree-sequence"),
        of("ladder", "graph", links[0], graph, patterns, "ladder", counts="triangle, 2-star"),
    ]


def lines(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table as text."""
    return "\n".join(markdown(head, rows))


HOW = """## How it was done

Every kind is released again and again with other noise and asked the same few questions: of one column and
of several, alternatives, all records; boxes along the edges of cells; strings of one to three symbols; sets
that hold an item; triangles, pairs of links and links of a graph. An
answer that rests on the model or is spread evenly inside a bin has no bar and is not counted; *answers with
a bar* says how many had one. The truth is the count of the records themselves, not that of a model. Tables
of many kinds, and answers that rest on the model, are [another study](suite-bars.md)."""

ACCOUNTED = """## What a bar accounts for

- *Adding up and averaging.* A counted answer is a weighted sum of noisy counts with known weights, from
  every table that sees the question and from what the others say about the number of records. Its noise is
  the same sum, so its quantiles are known.
- *Heavy tails.* Laplace noise is no normal distribution: the quantile is corrected by the kurtosis of the
  sum, or read off draws of the sum where noise has few steps.
- *Few whole values.* Then no interval has exactly 95 %: the smallest with at least as much is taken, and the
  answer declares what it covers.
- *Cutting off at zero*, and at a public number of records, brings an answer nearer to the truth. Where the
  truth is smaller than the bar is wide, a count cannot be too low by more than the bar, so that the bar
  misses only half as often: *expected* accounts for it. The numbers of patterns of the graph with noise for
  the worst graph (`laplace-counts`) are such.
- *Noise whose size depends on the records* (`ladder`) is not told. The bar is made for the widest noise that
  is possible after what was paid to know, and declares "at least 95 %": how much more it covers, only
  the graph itself tells.
- *Projection, agreement and shrinkage*, which make the model of the rows consistent, are not applied to
  counted answers. What went through them rests on the model and has no bar.
- *Selection.* Where the same noisy counts decided what is listed (the histogram mechanism, the most
  frequent strings), there is no bar."""

LEFT_OUT = """## What it does not

Records beyond the bound for one user, symbols beyond the longest sequence, and values that the schema
clamps are not counted as they are; the caveats of an answer say so. Records that break a rule are left out,
too: a rule is a fact that the custodian declares."""


def page(found: Sequence[Coverage], seconds: float) -> Page:
    """What the study has to say."""
    smooth = [each for each in found if each.epsilon == SMALL]
    coarse = [each for each in found if each.epsilon == LARGE]
    exact = [each.share for each in smooth if not each.at_least and each.expected < 0.97]
    off = max(abs(each.share - each.expected) for each in found if not each.at_least)
    bounds = ", ".join(f"`{each.case.name}`" for each in smooth if each.at_least)
    beyond = f" Those of {bounds} declare that they cover at least 95 %, and do."
    good = sum(each.good for each in found)
    short = [
        [each.case.name, each.promise, f"{each.share:.3f}", other.promise, f"{other.share:.3f}"]
        for each, other in zip(smooth, coarse, strict=True)
    ]
    ranked = sorted(short, key=lambda row: row[2])
    screen = (
        [ranked[round(place * (len(ranked) - 1) / 8)] for place in range(9)] if len(ranked) > 9 else ranked
    )
    runs = min(each.releases for each in found)
    columns = [f"{what}, ε {epsilon}" for epsilon in (SMALL, LARGE) for what in ("expected", "covered")]
    return Page(
        name="coverage",
        title="Study: do error bars cover the truth?",
        asked="An answer with an error bar promises that in 95 of 100 releases the bar covers what would "
        "have been counted without noise. Does it, for every kind of error bar that Penstock gives?",
        found=[
            f"**{good} of {len(found)} figures are what bars promise** ({len(smooth)} kinds of bar at two "
            f"budgets). What was covered differs from what the answers declare by at most {100 * off:.1f} "
            f"percentage points; {100 * TOLERANCE:.0f} are allowed. Where noise is a smooth curve "
            f"(ε {SMALL}), bars cover "
            f"between {min(exact):.3f} and {max(exact):.3f} of the truths.{beyond if bounds else ''} At ε "
            f"{LARGE} noise takes few whole values: no interval has exactly 95 %, and the smallest with at "
            "least as much covers more. In the order of what was covered:",
            lines(["error bar", *columns], screen),
        ],
        again=f"`python studies/error_bars.py --write`, {seconds:.0f} seconds on one core; the tests run a "
        "small version of it.",
        rests_on=f"{runs} seeded releases or more of each kind at each of two budgets, of made-up records: "
        "no data is needed.",
        details=[HOW, ACCOUNTED, LEFT_OUT],
        tables=[
            f"## Smooth noise, ε {SMALL}\n\n" + lines(HEAD, [each.row() for each in smooth]),
            f"## Noise of few steps, ε {LARGE}\n\n" + lines(HEAD, [each.row() for each in coarse]),
        ],
    )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--releases", type=int, default=RELEASES, help="of each kind at each budget")
    parser.add_argument("--only", default="", help="those whose name contains a word")
    parser.add_argument("--write", action="store_true", help="write the pages of the documentation")
    given = parser.parse_args(arguments)
    found = []
    for case in cases():
        if given.only in case.name:
            for epsilon in (SMALL, LARGE):
                releases = max(given.releases, -(-given.releases * BARS // (RELEASES * len(case.truth))))
                found.append(kept(case, epsilon, releases))
                print(" | ".join([*found[-1].row(), f"ε {epsilon}"]), file=sys.stderr, flush=True)
    print(lines(HEAD, [each.row() for each in found]))
    if given.write:
        page(found, sum(each.seconds for each in found)).write()
    return 0 if all(each.good for each in found) else 1


if __name__ == "__main__":
    raise SystemExit(main())
