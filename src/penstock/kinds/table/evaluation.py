"""Evaluation of a release of a table: marginals, columns, and what a classifier learns.

All comparisons are made on codes, as the release sees the data: what binning costs is the schema's
choice and not the method's. The synthetic sample has as many rows as the original, so that release,
floor and ceiling carry the same sampling error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from penstock.engine import MemoryEngine, read
from penstock.errors import DataError
from penstock.evaluation.findings import Evaluator, Findings, Options
from penstock.evaluation.metrics import (
    Codes,
    Subset,
    cells,
    distances,
    independent_columns,
    resampled,
    subsets,
    tvd,
)
from penstock.evaluation.score import Score
from penstock.kinds.table.accuracy import Accuracy, accuracies, choose_targets
from penstock.kinds.table.release import AnswersMarginals
from penstock.progress import progress
from penstock.releases.release import Release
from penstock.report.page import Block, Gallery, Section, Table, Text
from penstock.report.picture import Picture
from penstock.report.pictures import distribution
from penstock.schema import Schema

if TYPE_CHECKING:
    pass

WAYS = (1, 2, 3)
WORDS = {1: "single columns", 2: "pairs of columns", 3: "triples of columns"}
MOST_FROM_MODEL = 100
MOST_MODEL_CELLS = 1 << 20
WORST_SHOWN = 12
MOST_COMPARED = 1 << 18
"""Records of a database that a release is compared with: more tell no more, and would have to be fetched."""

_LEARNING = (
    "A gradient boosting classifier was trained on synthetic rows and asked about original rows that it had "
    "not seen. Beside it: always answering the most frequent class, and training on original rows."
)


class TableEvaluation(Evaluator):
    """How far marginals, columns and what a classifier learns are from the original's."""

    def compare(self, release: Release, source: Any, schema: Schema, options: Options) -> Findings:
        original, of = read(source, table=options.table).sampled(list(schema.names), MOST_COMPARED)
        seed = options.seed
        codes = schema.encode(original)
        rows = original.height
        if rows == 0:
            raise DataError("The data to compare with has no records.")
        targets: Sequence[str] = ()
        if options.learning:
            targets = choose_targets(schema.attributes, codes, options.target or schema.target)
        synthetic = schema.encode(release.sample(rows, seed=seed))
        rng = np.random.default_rng(seed)
        others: dict[str, Codes] = {
            "release": synthetic,
            "floor": independent_columns(codes, rows, rng),
            "ceiling": resampled(codes, rows, rng),
        }
        names, sizes = list(schema.names), schema.sizes
        ways = [way for way in WAYS if way <= len(names)]
        scores: list[Score] = []
        found: dict[int, tuple[list[Subset], dict[str, NDArray[np.float64]]]] = {}
        with progress("comparing marginals", total=len(ways) + len(targets)) as step:
            for way in ways:
                chosen = subsets(names, way, options.limit, seed)
                found[way] = chosen, distances(codes, others, sizes, chosen)
                scores.append(
                    _marginal_score(
                        way, len(names), chosen, found[way][1], _from_model(release, codes, sizes, chosen)
                    )
                )
                step(1)
            learned: list[Accuracy] = []
            for name in targets:
                learned += accuracies(schema.attributes, codes, synthetic, [name], seed)
                step(1)
        scores += [
            Score(
                f"predicting {one.target}",
                one.synthetic,
                floor=one.majority,
                ceiling=one.real,
                lower_is_better=False,
                note="accuracy on held-out original rows after training on synthetic "
                "ones; floor: the most frequent class, ceiling: training on original rows",
            )
            for one in learned
        ]
        details: dict[str, Any] = {
            "records": {"compared": rows, "of": of},
            "columns": _per_column(found[1]),
            "marginals": {
                str(way): {"compared": len(found[way][0]), "of": comb(len(names), way)} for way in ways
            },
        }
        sections = _sections(schema, codes, synthetic, found, learned)
        if rows < of:
            told = f"Compared with {rows:,} records that the database drew at random; it holds {of:,}."
            sections = [Section("A sample of the records", [Text([told])]), *sections]
        return Findings(tuple(scores), rows, details, sections)


def _marginal_score(
    way: int,
    columns: int,
    chosen: Sequence[Subset],
    distance: dict[str, NDArray[np.float64]],
    model: float | None,
) -> Score:
    count = comb(columns, way)
    every = f"all {count}" if len(chosen) == count else f"{len(chosen)} of {count}, sampled with a fixed seed"
    return Score(
        WORDS[way],
        float(distance["release"].mean()),
        floor=float(distance["floor"].mean()),
        ceiling=float(distance["ceiling"].mean()),
        model=model,
        note=f"mean total variation distance of {every} {way}-way marginals",
    )


def _from_model(
    release: Release, codes: Codes, sizes: dict[str, int], chosen: Sequence[Subset]
) -> float | None:
    """The mean distance when the release answers marginals from its model, where it can."""
    small = [marginal for marginal in chosen if cells(marginal, sizes) <= MOST_MODEL_CELLS][:MOST_FROM_MODEL]
    if not isinstance(release, AnswersMarginals) or not small:
        return None
    counts = MemoryEngine(codes, sizes).counts(small)
    pairs = zip(counts, small, strict=True)
    return float(np.mean([tvd(count, release.marginal(marginal)) for count, marginal in pairs]))


def _per_column(ones: tuple[list[Subset], dict[str, NDArray[np.float64]]]) -> dict[str, float]:
    chosen, distance = ones
    return {name: float(value) for (name,), value in zip(chosen, distance["release"], strict=True)}


def _sections(
    schema: Schema,
    original: Codes,
    synthetic: Codes,
    found: dict[int, tuple[list[Subset], dict[str, NDArray[np.float64]]]],
    learned: Sequence[Accuracy],
) -> list[Section]:
    sections = [
        Section(
            "Column by column",
            [Gallery([_column(schema, name, original, synthetic) for name in schema.names])],
            lead="Each column of the original beside a synthetic sample of the same size.",
            short="Columns",
        ),
    ]
    if 2 in found:
        sections.append(
            Section(
                "Where it is furthest off",
                _worst(found),
                short="Worst",
                lead="The pairs and triples of columns whose joint distribution differs most.",
            )
        )
    if learned:
        sections.append(Section("What a classifier learns", _learned(learned), short="Prediction"))
    return sections


def _column(schema: Schema, name: str, original: Codes, synthetic: Codes) -> Picture:
    size = schema.sizes[name]
    counts = {
        "original": np.bincount(original[name], minlength=size),
        "synthetic": np.bincount(synthetic[name], minlength=size),
    }
    distance = tvd(counts["original"], counts["synthetic"])
    drawn = distribution(schema, name, counts)
    return replace(drawn, caption=f"{drawn.caption} Total variation distance: {distance:.4f}.")


def _worst(found: dict[int, tuple[list[Subset], dict[str, NDArray[np.float64]]]]) -> list[Block]:
    blocks: list[Block] = []
    for way in (2, 3):
        if way not in found:
            continue
        chosen, distance = found[way]
        order = np.argsort(-distance["release"], kind="stable")[:WORST_SHOWN]
        rows = [
            [" × ".join(chosen[place]), *(round(float(distance[key][place]), 4) for key in distance)]
            for place in order
        ]
        blocks.append(
            Table(
                [WORDS[way], "release", "floor", "ceiling"],
                rows,
                caption=f"Total variation distance, the {len(rows)} largest",
            )
        )
    return blocks


def _learned(learned: Sequence[Accuracy]) -> list[Block]:
    rows = [
        [one.target, one.classes, round(one.synthetic, 4), round(one.majority, 4), round(one.real, 4)]
        for one in learned
    ]
    return [
        Text([_LEARNING]),
        Table(
            [
                "predicted column",
                "classes",
                "trained on synthetic",
                "most frequent class",
                "trained on original",
            ],
            rows,
            caption="Share of correct answers on held-out original rows",
        ),
    ]
