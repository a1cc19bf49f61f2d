"""What users of a table find first: slices that are worse off, broken rules, and spikes inside bins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from penstock.engine import MemoryEngine
from penstock.evaluation.matches import Matches, matched_section
from penstock.evaluation.metrics import Codes, cells
from penstock.evaluation.slices import enough, given
from penstock.report.numbers import percent
from penstock.report.page import Section, Table
from penstock.schema.reading import read
from penstock.schema.values import at, written

if TYPE_CHECKING:
    import polars as pl

    from penstock.schema import Schema

Reals = NDArray[np.float64]

MOST_PAIRS = 1000
MOST_CELLS = 1 << 20
WORST_SHOWN = 12
_SLICES = "Mean total variation distance of all other columns among the records of a slice"
STANDS_OUT = 0.3
"""Of the records of a bin: a single value with so many stands out, if it has a hundredth of all records."""


@dataclass(frozen=True)
class Slice:
    """The records with one value of one column: how far the other columns are off among them, on average."""

    column: str
    value: str
    records: int
    distance: Mapping[str, float]

    @property
    def name(self) -> str:
        return f"{self.column}: {self.value}"


def slices(schema: Schema, original: Codes, others: Mapping[str, Codes], seed: int = 0) -> list[Slice]:
    """All slices of enough records, the worst first; pairs of columns are sampled where there are too many.

    The distance is the mean total variation distance of the other columns among the records of the slice; 1
    where a table has no such records.
    """
    names, sizes = list(schema.names), schema.sizes
    pairs = [pair for pair in combinations(names, 2) if cells(pair, sizes) <= MOST_CELLS]
    if len(pairs) > MOST_PAIRS:
        chosen = np.random.default_rng(seed).choice(len(pairs), MOST_PAIRS, replace=False)
        pairs = [pairs[place] for place in sorted(chosen)]
    engines = {key: MemoryEngine(dict(codes), sizes) for key, codes in {"": original, **others}.items()}
    sums = {name: {key: np.zeros(sizes[name]) for key in others} for name in names}
    seen = dict.fromkeys(names, 0)
    for pair in pairs:
        shape = [sizes[name] for name in pair]
        tables = {
            key: np.asarray(engine.counts([pair])[0], dtype=np.float64).reshape(shape)
            for key, engine in engines.items()
        }
        for axis, name in enumerate(pair):
            seen[name] += 1
            truth = given(np.moveaxis(tables[""], axis, 0))
            for key in others:
                sums[name][key] += np.abs(truth - given(np.moveaxis(tables[key], axis, 0))).sum(axis=1) / 2
    rows = len(original[names[0]])
    least = enough(rows)
    found = []
    for name in names:
        counts = np.bincount(original[name], minlength=sizes[name])
        for code in np.flatnonzero(counts >= least).tolist() if seen[name] else []:
            distance = {key: min(1.0, float(each[code]) / seen[name]) for key, each in sums[name].items()}
            label = schema.attribute(name).labels[code]
            found.append(Slice(name, label, int(counts[code]), distance))
    return sorted(found, key=lambda one: one.distance["ceiling"] - one.distance["release"])


def violations(schema: Schema, frames: Mapping[str, pl.DataFrame]) -> list[tuple[str, dict[str, float]]]:
    """For each rule of the schema, in its own words, the share of the rows of each frame that break it."""
    stated = [*schema.impossible, *schema.always]
    return [
        (
            text,
            {key: float(rule.holds(frame).mean()) if frame.height else 0.0 for key, frame in frames.items()},
        )
        for text, rule in zip(stated, schema.rules, strict=True)
    ]


@dataclass(frozen=True)
class Spike:
    """A single value inside a wider bin that many records have: even values inside the bin lose it."""

    column: str
    value: str
    original: float
    synthetic: float
    of_bin: float


def spikes(schema: Schema, original: pl.DataFrame, synthetic: pl.DataFrame) -> list[Spike]:
    """The spikes of all ranges, the largest first, and how many synthetic records have the value."""
    found = []
    for field in schema.fields:
        if not field.ranged:
            continue
        columns = []
        for frame in (original, synthetic):
            reading = read(field, frame[field.name], schema.codec(field.name).markers)
            values = reading.values.to_numpy().astype(np.float64, copy=False)
            columns.append(np.where(reading.missing | reading.unreadable, np.nan, values))
        truth = columns[0][np.isfinite(columns[0])]
        truth = truth[(truth >= field.edges.low) & (truth <= field.edges.high)]
        if not truth.size:
            continue
        values, counts = np.unique(truth, return_counts=True)
        codes = np.minimum(field.edges.codes(values), field.edges.count - 1)
        bins = np.bincount(codes, weights=counts, minlength=field.edges.count)
        for place in np.flatnonzero(counts >= max(2, original.height / 100)).tolist():
            first, last = field.edges.span(int(codes[place]))
            share = counts[place] / bins[codes[place]]
            if first == last or share < STANDS_OUT:
                continue
            there = float(np.mean(columns[1] == values[place])) if synthetic.height else 0.0
            value = written(at(field.type, float(values[place])))
            found.append(Spike(field.name, value, counts[place] / original.height, there, float(share)))
    return sorted(found, key=lambda one: one.synthetic - one.original)


def advice(found: Sequence[Spike]) -> str | None:
    """What to do about spikes; None where there are none, or the release has them too."""
    lost = [one for one in found if one.synthetic < 0.5 * one.original]
    if not lost:
        return None
    first = lost[0]
    more = "" if len(lost) == 1 else f", and {len(lost) - 1} more"
    return (
        f"Inside a bin of {first.column}, {first.value} stands out and is lost{more}: where such a value is "
        "public knowledge, declare it under 'spikes' of the field."
    )


def remarks_of(broken: Sequence[tuple[str, dict[str, float]]], piled: Sequence[Spike]) -> list[str]:
    """What the custodian should read first about rules and spikes."""
    told = []
    for text, shares in broken:
        if shares["synthetic"] > 0 or shares["original"] > 0:
            told.append(
                f"The rule '{text}' is broken by {percent(shares['original'])} of the original and "
                f"{percent(shares['synthetic'])} of the synthetic records."
            )
    if broken and not told:
        told.append("No original and no synthetic record breaks a rule of the schema.")
    lost = advice(piled)
    return told if lost is None else [*told, lost]


def found_sections(
    cut: Sequence[Slice],
    broken: Sequence[tuple[str, dict[str, float]]],
    piled: Sequence[Spike],
    equal: Matches,
) -> list[Section]:
    """The part of the custodian's page that shows slices, spikes, rules and matches."""
    sections = []
    if cut:
        rows = [
            [one.name, one.records, *(round(one.distance[key], 4) for key in ("release", "floor", "ceiling"))]
            for one in cut[:WORST_SHOWN]
        ]
        sections.append(
            Section(
                "Who is worse off",
                [Table(["slice", "records", "release", "floor", "ceiling"], rows, caption=_SLICES)],
                short="Slices",
                lead="Groups of records whose other columns are furthest off, beyond what sampling explains.",
            )
        )
    if piled:
        rows = [
            [
                f"{one.column} = {one.value}",
                percent(one.original),
                percent(one.synthetic),
                percent(one.of_bin),
            ]
            for one in piled[:WORST_SHOWN]
        ]
        head = ["value", "of the original", "of the synthetic", "of its bin"]
        sections.append(
            Section(
                "Spikes inside bins",
                [
                    Table(
                        head, rows, caption="Single values that many records have, in bins of several values"
                    )
                ],
                short="Spikes",
                lead="Values are drawn evenly inside a bin: one on which many records agree is lost.",
            )
        )
    if broken:
        rows = [[text, percent(each["original"]), percent(each["synthetic"])] for text, each in broken]
        head = ["rule", "original records that break it", "synthetic ones"]
        sections.append(Section("Rules", [Table(head, rows, caption="Shares of records")], short="Rules"))
    sections.append(matched_section(equal, "In all columns, by the schema's codes"))
    return sections
