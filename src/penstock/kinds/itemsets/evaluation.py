"""Evaluation of a release of item sets: counts of sets of items, the most frequent ones, and sizes.

Both tasks are those of the literature. Random sets of items are counted, in five groups by their number of
items, and the error is relative to the truth, or to a thousandth of the records where that is more. The
most frequent sets of items are compared by their supports.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.errors import DataError, UsageError
from penstock.evaluation.findings import Evaluator, Findings, Options, compared_with
from penstock.evaluation.metrics import tvd
from penstock.evaluation.score import Score
from penstock.kinds.itemsets.layout import ItemSetLayout
from penstock.kinds.itemsets.mining import ItemSet, frequent, supports_of, utility
from penstock.kinds.itemsets.reading import read_itemsets, some_records
from penstock.kinds.itemsets.release import ItemSetsRelease
from penstock.kinds.itemsets.weighted import WeightedSets
from penstock.progress import progress
from penstock.releases.release import Release
from penstock.report.page import Gallery, Section
from penstock.report.picture import Picture
from penstock.report.pictures import bars, histogram
from penstock.schema import Schema

GROUPS = 5
SANITY = 0.001
"""The smallest truth that an error is relative to, as a share of the records."""
MANY = (10, 50, 100)
SHOWN = 20
SHOWN_SIZES = 40


def workload(universe: int, longest: int, many: int, rng: np.random.Generator) -> list[list[ItemSet]]:
    """Random sets of items in five groups; in the i-th, of 1 to i fifths of the longest record's items each.

    >>> [len(group) for group in workload(9, 5, 3, np.random.default_rng(1))]
    [3, 3, 3, 3, 3]
    """
    groups = []
    for group in range(1, GROUPS + 1):
        most = max(1, min(universe, group * longest // GROUPS))
        sizes = rng.integers(1, most + 1, size=many).tolist()
        groups.append([tuple(sorted(rng.choice(universe, size, replace=False).tolist())) for size in sizes])
    return groups


def relative_error(truth: NDArray[Any], found: NDArray[Any], records: int) -> float:
    """The mean error relative to the truth, or to a thousandth of the records where that is more.

    >>> relative_error(np.array([100, 0]), np.array([90, 1]), 1000)
    0.55
    """
    return float(np.mean(np.abs(found - truth) / np.maximum(truth, max(1.0, SANITY * records))))


class ItemSetsEvaluation(Evaluator):
    """How far counts, frequent sets of items and sizes are from the original's."""

    def compare(self, release: Release, source: Any, schema: Schema, options: Options) -> Findings:
        if not isinstance(release, ItemSetsRelease):
            raise UsageError("Only synthetic item sets can be compared with the original ones.")
        if schema.unit.column is not None:
            everything = schema.unit.model_copy(update={"at_most": 1 << 40})  # the truth leaves nobody out
            schema = schema.model_copy(update={"unit": everything})
        bounded = ItemSetLayout.of(schema)
        if bounded.largest is not None:  # nor any item: which ones are kept is chance, and no truth
            schema = schema.model_copy(update={"layout": bounded.model_copy(update={"largest": None})})
        records, part = some_records(source, schema, table=options.table, seed=options.seed)
        share = 1.0 if part is None else part[0] / max(1, part[1])
        found = read_itemsets(records, schema)
        truth = WeightedSets.counted(found.sizes, found.items)
        if not truth.total:
            raise DataError("The data to compare with has no items of the universe.")
        rng = np.random.default_rng(options.seed)
        again = _resampled(truth, rng)
        with progress("comparing", total=3) as step:
            scores = _counts(release, truth, again, found.size, options.queries, rng, share)
            step(1)
            scores += _tops(release, truth, again, share)
            step(1)
            sizes, released = truth.of_sizes(), release.sizes()["count"].to_numpy()
            sizes[0] = found.size - truth.total
            scores.append(_size_score(sizes, released, again.of_sizes()))
            step(1)
        details: dict[str, Any] = {
            "sets": found.size,
            "estimated_sets": release.number.value,
            "different_sets": len(truth),
            "different_released": len(release.synthetic),
        }
        if part is not None:
            details["records"] = {"compared": part[0], "of": part[1]}
        pictures = [_item_picture(release, truth, share), _size_picture(sizes, released)]
        lead = "The original beside the release."
        section = Section("What the sets are like", [Gallery(pictures)], short="Sets", lead=lead)
        remarks = () if part is None else tuple(compared_with(*part))
        return Findings(tuple(scores), found.size, details, [section], remarks=remarks)


def _resampled(truth: WeightedSets, rng: np.random.Generator) -> WeightedSets:
    """The same number of sets, drawn with replacement: no release can be much closer than this."""
    drawn = rng.multinomial(truth.total, truth.weights / truth.total)
    kept = np.flatnonzero(drawn)
    sizes, items = truth.picked(kept)
    return WeightedSets(sizes, items, drawn[kept].astype(np.int64))


def _counts(
    release: ItemSetsRelease,
    truth: WeightedSets,
    again: WeightedSets,
    records: int,
    queries: int,
    rng: np.random.Generator,
    share: float,
) -> list[Score]:
    """`share` is the part of the records that the truth is of: so much of what was released is right."""
    universe, longest = len(release.universe), int(truth.sizes.max())
    scores = []
    for number, asked in enumerate(workload(universe, longest, queries, rng), 1):
        right = supports_of(truth, universe, asked)
        scores.append(
            Score(
                f"sets up to {number * 100 // GROUPS} %",
                relative_error(right, share * release.estimates(asked), records),
                floor=relative_error(right, np.zeros(len(asked)), records),
                ceiling=relative_error(right, supports_of(again, universe, asked), records),
                note=f"mean relative error of the counts of {len(asked)} random sets of items, each of up to "
                f"{number * 100 // GROUPS} % as many as the longest record has; floor: nothing released",
            )
        )
    return scores


def _tops(release: ItemSetsRelease, truth: WeightedSets, again: WeightedSets, share: float) -> list[Score]:
    universe = len(release.universe)
    found = frequent(truth, universe, max(MANY))
    scores = []
    for many in MANY:
        right = found[:many]
        scores.append(
            Score(
                f"top {many} sets of items",
                utility(right, {items: share * count for items, count in release.frequent(many)}),
                floor=0.0,
                ceiling=utility(right, dict(frequent(again, universe, many))),
                lower_is_better=False,
                note="1 minus the mean relative error of their supports, 0 for each that is not among as "
                "many of the release; floor: nothing released",
            )
        )
    return scores


def _size_score(truth: NDArray[Any], released: NDArray[Any], again: NDArray[Any]) -> Score:
    width = max(len(truth), len(released), len(again))
    right, found, best = (np.pad(each, (0, width - len(each))) for each in (truth, released, again))
    blind = np.zeros(width)
    blind[min(1, width - 1)] = 1.0
    return Score(
        "sizes",
        tvd(right, found if found.sum() else blind),
        floor=tvd(right, blind),
        ceiling=tvd(right, best),
        note="total variation distance of the number of items; floor: every set has one item",
    )


def _item_picture(release: ItemSetsRelease, truth: WeightedSets, share: float) -> Picture:
    universe = len(release.universe)
    shown = [items[0] for items, _ in frequent(truth, universe, SHOWN, largest=1)]
    series = {
        "original": truth.supports(universe)[shown] / share,
        "release": release.estimates([(item,) for item in shown]),
    }
    labels = [release.universe[item] for item in shown]
    return bars("The most frequent items", labels, series, amount="sets", most=SHOWN, disjoint=False)


def _size_picture(truth: NDArray[Any], released: NDArray[Any]) -> Picture:
    width = min(SHOWN_SIZES, max(len(truth), len(released)))
    series = {
        name: 100 * np.pad(sizes, (0, max(0, width - len(sizes))))[:width] / max(1, sizes.sum())
        for name, sizes in (("original", truth), ("synthetic", released))
    }
    return histogram(
        "Sizes of sets",
        (np.arange(width + 1) - 0.5).tolist(),
        series,
        amount="percent of sets",
        axis="number of items",
        labels=[str(size) for size in range(width)],
    )
