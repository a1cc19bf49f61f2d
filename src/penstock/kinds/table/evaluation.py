"""Evaluation of a release of a table: marginals, columns, and what a classifier learns.

All comparisons are made on codes, as the release sees the data: what binning costs is the schema's
choice and not the method's. The synthetic sample has as many rows as the original, so that release,
floor and ceiling carry the same sampling error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from math import comb
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from penstock.engine import MemoryEngine, read
from penstock.errors import DataError
from penstock.evaluation.findings import MOST_COMPARED, Evaluator, Findings, Options, compared_with
from penstock.evaluation.matches import matches
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
from penstock.evaluation.telling_apart import Propensity, apart_score, propensity
from penstock.kinds.table.accuracy import Accuracy, accuracies, choose_targets
from penstock.kinds.table.findings import Slice, found_sections, remarks_of, slices, spikes, violations
from penstock.kinds.table.release import AnswersMarginals, drawn_columns
from penstock.progress import progress
from penstock.releases.release import Release
from penstock.report.page import Block, Gallery, Section, Table, Text
from penstock.report.picture import Picture
from penstock.report.pictures import distribution
from penstock.schema import Schema

WAYS = (1, 2, 3)
WORDS = {1: "single columns", 2: "pairs of columns", 3: "triples of columns"}
MOST_FROM_MODEL = 100
MOST_MODEL_CELLS = 1 << 20
WORST_SHOWN = 12
K = 2
"""As SDNist 2.4 has it: pairs of columns, all of them."""

_LEARNING = (
    "A gradient boosting classifier was trained on synthetic rows and asked about original rows that it had "
    "not seen. Beside it: always answering the most frequent class, and training on original rows."
)

_BOUNDED = (
    "Of {1:,} other columns it learned from {0}: those that say most of the predicted one in the original, "
    "and so did the classifier that was trained on original rows."
)


class TableEvaluation(Evaluator):
    """How far marginals, columns and what a classifier learns are from the original's."""

    k_marginals = True

    def compare(self, release: Release, source: Any, schema: Schema, options: Options) -> Findings:
        seed = options.seed
        records = read(source, table=options.table)
        original, of = records.sampled(list(schema.names), MOST_COMPARED, seed)
        if original.height == 0:
            raise DataError("The data to compare with has no records.")
        codes = schema.encode(original)
        rows = original.height
        targets: Sequence[str] = ()
        if options.learning:
            targets = choose_targets(schema.attributes, codes, options.target or schema.target)
        drawn = release.draw(*release.drawing(rows, seed))
        synthetic = schema.encode(drawn)
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
        scores += [score for one in learned for score in _learned_scores(one)]
        cut = slices(schema, codes, others, seed)
        scores += _slice_score(cut)
        apart = _told_apart(schema, codes, others, seed) if options.learning else None
        told = None if apart is None else apart_score(apart)
        scores += [] if told is None else [told]
        frames = {"original": original, "synthetic": drawn}
        broken = violations(schema, frames) if schema.rules else []
        piled = spikes(schema, original, drawn)
        coded = {key: pl.DataFrame(dict(each)) for key, each in {"original": codes, **others}.items()}
        equal = matches(coded["original"], coded["release"], coded["floor"], names)
        if options.k_marginal and len(names) >= K:
            scores.append(_k_marginal(found[K][1], len(names)))
        details = {
            "columns": _per_column(found[1]),
            "marginals": {
                str(way): {"compared": len(found[way][0]), "of": comb(len(names), way)} for way in ways
            },
            "records": {"compared": rows, "of": of},
            "slices": [
                {"column": one.column, "value": one.value, "records": one.records, **one.distance}
                for one in cut[:WORST_SHOWN]
            ],
            "learned": {
                one.target: {"columns": one.features, "of": one.others, "classes": one.classes}
                for one in learned
            },
            "told_apart": {key: asdict(each) for key, each in (apart or {}).items() if each is not None},
            "broken_rules": [{"rule": text, **shares} for text, shares in broken],
            "spikes": [asdict(one) for one in piled],
            "matches": equal.to_dict(),
        }
        sections = [
            *_sections(schema, codes, synthetic, found, learned),
            *found_sections(cut, broken, piled, equal),
        ]
        remarks = [*compared_with(rows, of), equal.words, *remarks_of(broken, piled)]
        return Findings(tuple(scores), rows, details, sections, remarks=tuple(remarks))


def _learned_scores(one: Accuracy) -> list[Score]:
    trained = "on held-out original rows after training on synthetic ones"
    if one.features < one.others:
        trained += f" with the {one.features} of {one.others:,} columns that say most of it"
    scores = [
        Score(
            f"predicting {one.target}",
            one.synthetic,
            floor=one.majority,
            ceiling=one.real,
            lower_is_better=False,
            note=f"accuracy {trained}; floor: the most frequent class, ceiling: training on original rows",
        )
    ]
    if one.auc_synthetic is not None and one.auc_real is not None:
        scores.append(
            Score(
                f"ranking {one.target} (AUC)",
                one.auc_synthetic,
                floor=0.5,
                ceiling=one.auc_real,
                lower_is_better=False,
                note=f"area under the ROC curve, mean of all classes, {trained}; floor: by chance",
            )
        )
    return scores


def _slice_score(cut: Sequence[Slice]) -> list[Score]:
    if not cut:
        return []
    worst = cut[0]
    return [
        Score(
            "worst slice",
            worst.distance["release"],
            floor=worst.distance["floor"],
            ceiling=worst.distance["ceiling"],
            note=f"mean total variation distance of all other columns among the {worst.records:,} records "
            f"with {worst.name}, the worst of {len(cut)} such groups",
        )
    ]


def _told_apart(
    schema: Schema, codes: Codes, others: Mapping[str, Codes], seed: int
) -> dict[str, Propensity | None]:
    """How well rows of the release, the floor and the ceiling are told from original ones."""
    attributes = schema.attributes
    categorical = [not each.ordered and each.size <= 255 for each in attributes]

    def matrix(table: Codes) -> NDArray[np.float32]:
        return np.column_stack([table[each.name] for each in attributes]).astype(np.float32)

    original = matrix(codes)
    return {key: propensity(original, matrix(table), categorical, seed) for key, table in others.items()}


def k_marginal(distance: NDArray[np.float64]) -> float:
    """The score of SDNist from the total variation distances of all pairs of columns.

    Its own code (2.4) gives the same number for the same two tables, as a test holds with its figures. There
    a record with a missing value is left out of the pairs that have it, where here missing is a category.

    >>> k_marginal(np.array([0.0, 0.1]))
    950.0
    """
    return float(1000 * (1 - distance.mean()))


def _k_marginal(distance: Mapping[str, NDArray[np.float64]], columns: int) -> Score:
    many, count = len(distance["release"]), comb(columns, K)
    every = f"all {count}" if many == count else f"{many} of {count}"
    return Score(
        "k-marginal (SDNist)",
        k_marginal(distance["release"]),
        floor=k_marginal(distance["floor"]),
        ceiling=k_marginal(distance["ceiling"]),
        lower_is_better=False,
        note=f"1000 - 500 mean sum of absolute differences in density, over {every} pairs of columns "
        "in the schema's categories and bins",
    )


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
    off = _per_column(found[1])
    shown = drawn_columns(schema, sorted(off, key=lambda name: -off[name]))
    every = len(shown) == len(schema.names)
    which = "" if every else f" These are the {len(shown)} of {len(schema.names):,} that are furthest off."
    sections = [
        Section(
            "Column by column",
            [Gallery([_column(schema, name, original, synthetic) for name in shown])],
            lead=f"Each column of the original beside a synthetic sample of the same size.{which}",
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
        [
            one.target,
            one.classes,
            *(round(each, 4) for each in (one.synthetic, one.majority, one.real)),
            *("–" if each is None else round(each, 4) for each in (one.auc_synthetic, one.auc_real)),
        ]
        for one in learned
    ]
    some = [one for one in learned if one.features < one.others]
    bounded = [_BOUNDED.format(one.features, one.others) for one in some[:1]]
    return [
        Text([_LEARNING, *bounded]),
        Table(
            [
                "predicted",
                "classes",
                "synthetic",
                "most frequent",
                "original",
                "AUC, synthetic",
                "AUC, original",
            ],
            rows,
            caption="Share of correct answers on held-out original rows, and area under the ROC curve",
        ),
    ]
