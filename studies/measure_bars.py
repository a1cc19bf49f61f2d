"""Do bars and ranges of sums, means, quantiles and groups hold the truth? Tables of the suite, raw numbers.

    python studies/measure_bars.py                 # all cells: a few minutes of one processor
    python studies/measure_bars.py --show --write  # what is there, and the page in docs/studies

Every table with columns of numbers is released by the default method, several times, and asked for sums,
means and quantiles of such a column under no, one or two conditions, and for counts and means by the groups
of a column. The truth comes from the raw values, not from the bins; values beyond the declared bounds count
as these, as the answers say. Bars and counted ranges promise 95 %; ranges that rest on the model are
estimated as those of counts are (`kinds/table/model_error.py`). Finished cells are kept in `results/`.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from frame.data import Dataset, coded, flat, load
from frame.page import Page
from frame.store import RESULTS
from frame.study import Cell
from frame.table import markdown
from penstock.errors import QueryError
from penstock.kinds.table.answering import Asked, answer
from penstock.kinds.table.confluence.method import Confluence
from penstock.kinds.table.counted import MOST_CELLS
from penstock.kinds.table.groups import answers_by
from penstock.kinds.table.measures import mean_of
from penstock.kinds.table.network.release import NetworkRelease
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.randomness.generator import Randomness
from penstock.releases import Answer
from penstock.schema import Condition, Relation, everything, parse
from suite_bars import question

PLACE = RESULTS / "measure-bars.jsonl"
TABLES = (
    "survey",
    "bank",
    "taxi",
    "tracts",
    "adult-16",
    "adult-100",
    "wine",
    "diabetes",
    "breast_cancer",
    "counts",
)
BUDGETS = ("0.1", "1", "10")
ROWS = 2_000
RELEASES = 3
QUESTIONS = 24
SHARES = (0.1, 0.25, 0.5, 0.75, 0.9)
MEASURES = ("sum", "mean", "quantile", "count by group", "mean by group")
KNOWN = {"bar": "95 % bars", "counted": "counted ranges", "estimated": "estimated ranges"}


@dataclass(frozen=True)
class Told:
    """One answer: what it measures, how its error is known, the truth, the number, and both ends."""

    measure: str
    known: str
    truth: float
    value: float
    low: float
    high: float

    @property
    def covered(self) -> bool:
        near = 1e-6 * max(1.0, abs(self.truth), abs(self.high - self.low))
        return self.low - near <= self.truth <= self.high + near


def counts() -> Dataset:
    """Made up: small whole numbers, each with a code of its own, so that sums and means have bars."""
    rng = np.random.default_rng(12)
    rooms = rng.integers(1, 7, 4 * ROWS)
    frame = pl.DataFrame(
        {
            "kind": rng.choice(["flat", "house", "farm"], len(rooms), p=[0.6, 0.3, 0.1]),
            "rooms": rooms,
            "people": np.minimum(rng.poisson(rooms / 2) + 1, 9),
            "cars": np.minimum(rng.poisson(0.8, len(rooms)), 4),
        }
    )
    ends = {"rooms": (1, 6), "people": (1, 9), "cars": (0, 4)}
    whole = [
        {"name": name, "type": "integer", "constraints": {"minimum": low, "maximum": high}}
        for name, (low, high) in ends.items()
    ]
    return coded("counts", frame, [flat("kind", ("flat", "house", "farm")), *whole])


def table_of(name: str) -> Dataset:
    """A table of the suite, or the one that is made up here, with so many of its rows."""
    whole, _, rows = name.partition(" ")
    if whole != "counts":
        return load(name)
    return counts().cut(int(rows)) if rows else counts()


def told(measure: str, found: Answer, truth: float) -> Told | None:
    """What an answer claims; None where it claims nothing."""
    if found.error is not None:
        return Told(measure, "bar", truth, found.value, found.value - found.error, found.value + found.error)
    if found.range is None:
        return None
    return Told(measure, found.range.known, truth, found.value, found.range.low, found.range.high)


def values_of(data: Dataset, name: str) -> NDArray[np.float64]:
    """The raw numbers of a column, as the schema has them counted; nan where there is none."""
    field = data.schema.field(name)
    assert data.records is not None
    found = data.records[name].cast(pl.Float64, strict=False).to_numpy().astype(np.float64)
    low, high = (float(field.edges.values[end]) for end in (0, -1))
    return np.asarray(np.clip(found, low, high), dtype=np.float64)


def numeric(data: Dataset) -> list[str]:
    """Columns of numbers in bins: what can be summed up."""
    return [
        each.name
        for each in data.schema.fields
        if each.ranged and each.type in ("number", "integer") and data.sizes[each.name] > 1
    ]


def asked(data: Dataset, made: NetworkRelease, rng: np.random.Generator, measure: str) -> Iterator[Told]:
    """One question, and what its answers claim."""
    name = str(rng.choice(numeric(data)))
    where = question(data, rng, int(many)) if (many := rng.integers(3)) else None
    condition = None if where is None else parse(where, data.schema)
    rows = np.ones(data.rows, bool) if condition is None else condition.on_codes(data.codes).astype(bool)
    names = {name, *(() if condition is None else condition.names)}
    if np.prod([float(data.sizes[each]) for each in names]) > MOST_CELLS / 8:
        return
    values = values_of(data, name)
    there = rows & np.isfinite(values)
    if measure.endswith("by group"):
        yield from _by_group(data, made, rng, measure, name, values)
    elif measure == "sum":
        yield from _one(measure, made.sum(name, where), values[there].sum())
    elif not there.any():
        return
    elif measure == "mean":
        yield from _one(measure, made.mean(name, where), values[there].mean())
    else:
        share = float(rng.choice(SHARES))
        found = made.quantiles(name, [share], where).row(0, named=True)
        truth = float(np.quantile(values[there], share, method="inverted_cdf"))
        if found["low"] is not None:
            yield Told(measure, found["range"], truth, found["quantile"], found["low"], found["high"])


def _one(measure: str, found: Any, truth: float) -> Iterator[Told]:
    claim = told(measure, found, float(truth))
    if claim is not None:
        yield claim


def _by_group(
    data: Dataset,
    made: NetworkRelease,
    rng: np.random.Generator,
    measure: str,
    name: str,
    values: NDArray[np.float64],
) -> Iterator[Told]:
    by = str(rng.choice([each for each in data.names if each != name and 1 < data.sizes[each] <= 30]))
    counting = measure.startswith("count")

    def ask(release: Asked, condition: Condition) -> Answer:
        return mean_of(release, condition, name)

    found = answers_by(made, everything(data.schema.codecs), [by], answer if counting else ask)
    for (code,), each in found:
        here = data.codes[by] == code
        inside = here & np.isfinite(values)
        if counting or inside.any():
            yield from _one(measure, each, here.sum() if counting else values[inside].mean())


def measured(table: str, epsilon: str, release: int, questions: int = QUESTIONS) -> list[Told]:
    data = table_of(table)
    seed = Cell(table, "confluence", epsilon, release).seed("measure-bars")
    budget = Budget(epsilon, randomness=Randomness.seeded(seed))
    made = Confluence().fit(data.table(Relation.ADD_REMOVE), budget)
    rng = np.random.default_rng(seed)
    found = []
    for number in range(questions):
        try:
            found += list(asked(data, made, rng, MEASURES[number % len(MEASURES)]))
        except QueryError:  # a question that joins too many columns
            continue
    return found


def cells() -> Iterator[tuple[str, str, int]]:
    for release in range(RELEASES):
        for epsilon in BUDGETS:
            for name in TABLES:
                yield f"{name} {ROWS}" if table_of(name).rows > ROWS else name, epsilon, release


Line = dict[str, Any]


def stored() -> list[Line]:
    if not PLACE.exists():
        return []
    return [json.loads(line) for line in PLACE.read_text(encoding="utf-8").splitlines()]


def _short(facts: Line) -> Line:
    return {key: float(f"{each:.7g}") if isinstance(each, float) else each for key, each in facts.items()}


def run() -> None:
    finished = {(line["table"], line["epsilon"], line["release"]) for line in stored()}
    PLACE.parent.mkdir(parents=True, exist_ok=True)
    for table, epsilon, release in cells():
        if (table, epsilon, release) in finished:
            continue
        found = [_short(asdict(each)) for each in measured(table, epsilon, release)]
        with PLACE.open("a", encoding="utf-8") as file:
            line = {"table": table, "epsilon": epsilon, "release": release, "told": found}
            file.write(json.dumps(line) + "\n")
        print(f"{table} ε {epsilon} {release}: {len(found)} answers", file=sys.stderr, flush=True)


# What came out --------------------------------------------------------------------------------------------


def answers(lines: Sequence[Line], **wanted: str) -> list[Told]:
    """All answers whose line or claim says this; a table is meant with any number of its rows."""
    return [
        Told(**each)
        for line in lines
        for each in line["told"]
        if all({**line, **each, "table": named(line)}[key] == value for key, value in wanted.items())
    ]


def named(line: Line) -> str:
    return str(line["table"]).partition(" ")[0]


def _share(found: Sequence[Told]) -> str:
    return f"{np.mean([each.covered for each in found]):.3f} of {len(found):,}" if found else "-"


def by(lines: Sequence[Line], key: str, values: Sequence[str]) -> str:
    """How often each kind of claim covers the truth, for each of these values."""
    rows = [
        [each, *(_share(answers(lines, **{key: each, "known": known})) for known in KNOWN)] for each in values
    ]
    return "\n".join(markdown([key, *KNOWN.values()], rows))


def worst(lines: Sequence[Line], known: str) -> tuple[str, float]:
    """The table on which such claims hold least often."""
    shares = {
        name: float(np.mean([each.covered for each in found]))
        for name in TABLES
        if (found := answers(lines, table=name, known=known))
    }
    return min(shares.items(), key=lambda each: each[1])


ASKED = """Do the bars and ranges of sums, means, quantiles and groups hold the truth as often as those of
counts?"""

HOW = f"""## How it was done

Nine tables whose columns of numbers are at hand as they were published, and one that is made up of small
whole numbers (`counts`: every value has a code of its own), are cut to {ROWS:,} rows, released {RELEASES}
times by confluence at each ε and asked {QUESTIONS} questions each: the sum, the mean or one of the
quantiles {", ".join(map(str, SHARES))} of a column of numbers, under no condition or under those of
[the study of counts](suite-bars.md) on one or two columns; or the count of records or the mean of a column
for each group of another one. The truth is that of the values themselves, wherever in their bins they lie.
Answers that claim nothing (quantiles that no table of counts sees) are left out.

The noise of a release is in all of its answers, and groups of one question fail together: a share among so
many answers is less certain than their number says."""


def page(lines: Sequence[Line]) -> Page:
    """What the study has to say."""
    shares = {known: _share(answers(lines, known=known)) for known in KNOWN}
    name, least = worst(lines, "estimated")
    return Page(
        name="measure-bars",
        title="Study: bars and ranges of sums, means, quantiles and groups",
        asked=ASKED,
        found=[
            f"""**95 % bars cover {shares["bar"]}** truths, **counted ranges {shares["counted"]}**; these
            allow for every place of a value in its bin, so that they cover more. **Estimated ranges cover
            {shares["estimated"]}**; the least is {least:.2f}, on `{name}`, where columns that the release
            does not connect depend strongly on each other. The study found that the estimated range of a sum
            left out the noise in the number of records, which is most of its error where numbers lie far from
            zero; it is part of every estimated range now.""",
            by(lines, "measure", MEASURES),
            by(lines, "epsilon", BUDGETS),
        ],
        again="`python studies/measure_bars.py`, then `--show --write`: some minutes.",
        rests_on=f"{len(lines)} releases of {len(TABLES)} tables with numbers, {QUESTIONS} questions each.",
        details=[HOW],
        tables=[f"## By table\n\n{by(lines, 'table', TABLES)}"],
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--show", action="store_true", help="run nothing, only show what is there")
    parser.add_argument("--write", action="store_true", help="write the page of the documentation")
    given = parser.parse_args(arguments)
    if not given.show:
        run()
    lines = stored()
    parts = (("measure", MEASURES), ("epsilon", BUDGETS), ("table", TABLES))
    print("\n\n".join(by(lines, key, values) for key, values in parts))
    if given.write:
        page(lines).write()


if __name__ == "__main__":
    main()
