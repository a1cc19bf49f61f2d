"""How far off pan-private counts are, and how often their bars cover the truth: parts of `streams`."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.contracts.sketch import NORMAL_95
from penstock.kinds.stream.occupancy import Levels
from penstock.privacy.laws.modular import contrast
from penstock.schema import Schema
from penstock.stream import (
    ContinualCounter,
    ContinualMoment,
    DensityInserts,
    DistinctCounter,
    IncidenceCounter,
    SecondMoment,
)
from stream_pages import ASSETS, keep, kept, picture

WIDTHS = (4096, 65536)
SIZES = (0, 1_000, 10_000, 100_000, 500_000)
STATED = {
    (4096, 0): (None, 547),
    (4096, 1_000): (937, 402),
    (4096, 10_000): (9_306, 1_179),
    (4096, 100_000): (94_619, 15_981),
    (4096, 500_000): (464_353, 76_127),
    (65536, 0): (None, 2_337),
    (65536, 1_000): (946, 2_301),
    (65536, 10_000): (10_115, 1_981),
    (65536, 100_000): (99_605, 4_906),
    (65536, 500_000): (494_279, 19_792),
}
"""The table of the specification, of 20 runs: mean and standard deviation."""


def schema(ids: int, most: int = 49, relation: str = "replace") -> Schema:
    return Schema.from_yaml(f"{{kind: stream, relation: {relation}, stream: {{ids: {ids}, most: {most}}}}}")


# The table of PP-Bucket -------------------------------------------------------------------------------


class ReadTwice(DistinctCounter):
    """The same noisy numbers read twice: over all levels, as shipped, and as the design prints it."""

    printed: tuple[float, float]

    def noisy(self, fed: Any, pay: Any) -> tuple[Levels, NDArray[np.float64]]:
        levels, counts = super().noisy(fed, pay)
        self.printed = as_printed(levels, counts)
        return levels, counts


def as_printed(levels: Levels, counts: NDArray[np.float64]) -> tuple[float, float]:
    """The first level of which a quarter seems empty, by itself, and the standard error of its reading."""
    contrast_, width = levels.stayed - levels.moved, levels.width
    empty = (counts / width - levels.moved) / contrast_
    (enough,) = np.nonzero(empty >= 0.25)
    at = int(enough[0]) if enough.size else counts.size - 1
    share = max(float(empty[at]), 1 / width)
    chance = width / 4 + contrast_**2 * width * max(share * (1 - share), 0.0) + 2 * levels.scale**2
    deviation = sqrt(chance) / (contrast_ * share * levels.chances[at])
    return float(-width * np.log(share) / levels.chances[at]), float(deviation)


def one_run(width: int, seed: int) -> list[tuple[float, float, float, float]]:
    """One stream that grows from empty to half a million ids, asked on the way; 20,000 others come and go."""
    counter = ReadTwice(
        schema(1_000_000),
        epsilon=1 + len(SIZES),
        answers=len(SIZES),
        state_share=Fraction(1, 1 + len(SIZES)),
        width=width,
        seed=seed,
    )
    ids = np.random.default_rng(seed).permutation(1_000_000)
    passing = ids[-20_000:]
    counter.update(passing, 1 + passing % 49)
    found, fed = [], 0
    for number, size in enumerate(SIZES):
        counter.update(ids[fed:size], 1 + ids[fed:size] % 49)
        if number == 0:
            counter.update(passing, -(1 + passing % 49))
        fed = size
        reading = counter.answer(seed=10_000_000 + 10 * seed + number)
        found.append((reading.value, reading.error / NORMAL_95, *counter.printed))
    return found


def bucket_table(runs: int, widths: Sequence[int] = WIDTHS) -> None:
    """All cells of these widths; those of the others stay as they are, if they have as many runs."""
    figures: dict[str, Any] = kept().get("table", {}).get("figures", {})
    if figures.get("runs") != runs:
        figures = {"runs": runs, "cells": {}}
    for width in widths:
        told = np.array([one_run(width, seed) for seed in range(runs)])
        for number, size in enumerate(SIZES):
            cell = {}
            for name, at in (("all levels", 0), ("as printed", 2)):
                values, errors = told[:, number, at], told[:, number, at + 1]
                cell[name] = {
                    "mean": float(values.mean()),
                    "sd": float(values.std(ddof=1)),
                    "bars": float(np.median(errors)),
                    "covered": float(np.mean(np.abs(values - size) <= NORMAL_95 * errors)),
                }
            figures["cells"][f"{width}/{size}"] = cell
    rows = []
    for (width, size), stated in STATED.items():
        if (cell := figures["cells"].get(f"{width}/{size}")) is None:
            continue
        ours, printed = cell["all levels"], cell["as printed"]
        rows.append(
            (
                f"{width:,}",
                f"{size:,}",
                f"{ours['mean']:,.0f} ± {ours['sd']:,.0f}",
                f"{ours['bars']:,.0f}",
                f"{100 * ours['covered']:.0f} %",
                f"{ours['sd'] / stated[1]:.2f}",
                f"{printed['mean']:,.0f} ± {printed['sd']:,.0f}",
                f"{100 * printed['covered']:.0f} %",
                f"{printed['sd'] / stated[1]:.2f}",
                f"{'' if stated[0] is None else f'{stated[0]:,} '}± {stated[1]:,}",
            )
        )
    titles = ("width", "ids", "all levels", "its own bars", "covered", "ratio")
    keep("table", (*titles, "as printed", "covered", "ratio", "stated, 20 streams"), rows, figures)


# How often bars cover the truth --------------------------------------------------------------------------

BARS = (
    # ids, width, relation, epsilon of the state, epsilon of the answer, ids that occur
    *((50_000, 512, "replace", "1", "1", present) for present in (0, 500, 5_000, 50_000)),
    *((200_000, 1024, "add-remove", "1/2", "1/8", present) for present in (0, 2_000, 40_000)),
    *((100_000, 4096, "add-remove", "3", "1", present) for present in (0, 3_000, 30_000)),
    *((2_000, 32, "replace", "2", "1", present) for present in (0, 200, 2_000)),
)


def summary(told: list[tuple[float, float]], truth: float) -> tuple[float, float, float, float]:
    """Of values and their bars: mean, standard deviation, median bar, and how often they cover the truth."""
    values, errors = np.array(told).T
    covered = float(np.mean(np.abs(values - truth) <= errors))
    return float(values.mean()), float(values.std(ddof=1)), float(np.median(errors)), covered


def bars(runs: int) -> None:
    """Streams that the length of the bars was not chosen on."""
    rows, figures = [], {}
    for ids, width, relation, state, answer, present in BARS:
        told = []
        for seed in range(runs):
            epsilon = Fraction(state) + Fraction(answer)
            share = Fraction(state) / epsilon
            made = schema(ids, 9, relation)
            living = DistinctCounter(made, epsilon=epsilon, state_share=share, width=width, seed=seed)
            living.update(np.random.default_rng(seed).permutation(ids)[:present])
            reading = living.answer(seed=50_000 + seed)
            told.append((reading.value, reading.error))
        mean, deviation, bar, covered = summary(told, present)
        figures[f"{ids}/{width}/{relation}/{state}/{answer}/{present}"] = [mean, deviation, bar, covered]
        facts = (f"{ids:,}", f"{width:,}", relation, state, answer, f"{present:,}")
        rows.append((*facts, f"{mean:,.0f} ± {deviation:,.0f}", f"{bar:,.0f}", f"{100 * covered:.1f} %"))
    titles = ("ids", "width", "relation", "ε state", "ε answer", "present", "told", "median bar", "covered")
    keep("bars", titles, rows, {"runs": runs, "cells": figures})


MOMENTS = (
    # rows, epsilon, ids that occur once each, relation
    (8, 4, 20_000, "add-remove"),
    (32, 4, 20_000, "add-remove"),
    (32, 1, 0, "replace"),
    (32, 8, 200_000, "add-remove"),
    (128, 2, 5_000, "replace"),
)


def moments(runs: int) -> None:
    rows, figures = [], {}
    for number, epsilon, present, relation in MOMENTS:
        told = []
        for seed in range(runs):
            made = schema(1_000_000, 1, relation)
            living = SecondMoment(made, epsilon=epsilon, rows=number, seed=seed)
            living.update(np.random.default_rng(seed).integers(0, 1 << 40, present))
            reading = living.answer(seed=60_000 + seed)
            told.append((reading.value, reading.error))
        mean, deviation, bar, covered = summary(told, present)
        figures[f"{number}/{epsilon}/{present}/{relation}"] = [mean, deviation, bar, covered]
        facts = (str(number), relation, str(epsilon), f"{present:,}", f"{mean:,.0f} ± {deviation:,.0f}")
        rows.append((*facts, f"{bar:,.0f}", f"{100 * covered:.1f} %"))
    titles = ("rows", "relation", "ε", "second moment", "told", "median bar", "covered")
    keep("moments", titles, rows, {"runs": runs, "cells": figures})


# Told step by step ------------------------------------------------------------------------------------

STEPWISE = (
    # possible steps, steps, rows (none: a plain count), epsilon, relation, ids, events of each in a step
    (1024, 100, None, 1, "add-remove", 100, 10),
    (1024, 1023, None, 1, "add-remove", 100, 1),
    (64, 63, 16, 2, "add-remove", 20, 200),
    (64, 63, 16, 2, "replace", 20, 200),
    (64, 32, 64, 2, "replace", 20, 200),
)


def continual(runs: int) -> None:
    """Running counts and running second moments after the last step, with their own bars."""
    rows, figures = [], []
    for possible, steps, across, epsilon, relation, ids, events in STEPWISE:
        facts = Schema.from_yaml(
            f"{{kind: stream, unit: {{protects: event}}, relation: {relation}, "
            "stream: {ids: 1000, most: 1}}"
        )
        truth = float(steps * ids * events if across is None else ids * (steps * events) ** 2)
        told = []
        for seed in range(runs):
            if across is None:
                living: Any = ContinualCounter(facts, epsilon=epsilon, steps=possible, seed=seed)
            else:
                living = ContinualMoment(facts, epsilon=epsilon, steps=possible, rows=across, seed=seed)
            for step in range(steps):
                living.update(np.arange(ids).repeat(events))
                reading = living.step(seed=2000 * seed + step)
            told.append((reading.value, reading.error))
        mean, deviation, bar, covered = summary(told, truth)
        figures.append([possible, steps, across, epsilon, relation, truth, mean, deviation, bar, covered])
        what = ("events", "") if across is None else ("second moment", f"{across} rows")
        rows.append(
            (
                f"{what[0]}, {relation}",
                f"{steps:,} of {possible:,}",
                what[1],
                str(epsilon),
                f"{truth:,.0f}",
                f"{mean:,.0f} ± {deviation:,.0f}",
                f"{bar:,.0f}",
                f"{100 * covered:.0f} %",
            )
        )
    titles = ("what", "step", "size", "ε", "truth", "told", "median bar", "covered")
    keep("continual", titles, rows, {"runs": runs, "cells": figures})


# Errors against the lower bound ----------------------------------------------------------------------


def root_mean_square(make: Any, ids: int, present: int, runs: int) -> float:
    errors = []
    for seed in range(runs):
        living = make(ids, seed)
        extra = {"seed": 77_000 + seed} if isinstance(living, DensityInserts) else {}
        living.update(np.arange(present), **extra)
        errors.append(living.answer("distinct", seed=90_000 + seed).value - present)
    return float(np.sqrt(np.mean(np.square(errors))))


def bounds(runs: int) -> None:
    """Root mean square error of a distinct count of half of all ids, for ever more ids; epsilon 1 and 1."""
    made = {
        "pp-incidence": lambda ids, seed: IncidenceCounter(
            schema(ids, 1, "add-remove"), epsilon=2, seed=seed
        ),
        "pp-bucket, width 4,096": lambda ids, seed: DistinctCounter(
            schema(ids, 1, "add-remove"), epsilon=2, seed=seed
        ),
        "density-inserts": lambda ids, seed: DensityInserts(
            schema(ids, 1, "add-remove"), epsilon=2, seed=seed
        ),
    }
    sizes = [1_000, 10_000, 100_000, 1_000_000]
    lines: dict[str, list[float]] = {
        name: [root_mean_square(make, size, size // 2, runs) for size in sizes] for name, make in made.items()
    }
    kappa = contrast(Fraction(1))
    lines["sqrt(m) / tanh(1/2), the theory of pp-incidence"] = [sqrt(size) / kappa for size in sizes]
    lines["sqrt(m), what no pan-private count goes below in order"] = [sqrt(size) for size in sizes]
    keep(
        "bounds",
        ("ids m", *made, "√m / tanh(1/2)", "√m"),
        [(f"{size:,}", *(f"{line[at]:,.0f}" for line in lines.values())) for at, size in enumerate(sizes)],
        {"sizes": sizes, "lines": lines, "runs": runs},
    )
    (ASSETS / "streams-bounds.svg").write_text(picture(sizes, lines), encoding="utf-8")
