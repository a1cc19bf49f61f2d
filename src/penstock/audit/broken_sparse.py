"""Published sparse vectors that are not private as claimed, and mistakes that are easy to make.

They exist to show that the audit notices. Nothing outside `penstock.audit` may import this module; none of
these algorithms takes a budget, so none can pass for a mechanism in a release.

The algorithms are numbered as in Su's dissertation (chapter 5), where 17 is right and 18 right but noisy;
those two are shipped (`standard` and `dwork-roth`) and audited in `penstock.audit.sparse`. All claims are
"epsilon 1", all queries have sensitivity 1 and threshold 0. An input is the list of the queries' values.
The `background` of a target says where the algorithm was published, what it really guarantees, why, and
which answers give it away.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.audit import integration
from penstock.audit.integration import Answer, Told, Variant
from penstock.audit.neighbours import Pair, neighbours
from penstock.audit.target import Kind, Promise, Target
from penstock.privacy.randomness import samplers
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.randomness.without_replacement import largest_noisy
from penstock.privacy.unit import Relation

ONE = Fraction(1)
FINE = 16
"""Runs use discrete noise on a lattice of this many steps, close to the continuous noise of the papers."""

ITEMS = 4
BASKETS = ((0,), (1,), (0, 1, 2), (3,))

Values = Sequence[float]

NOTES = Variant(threshold_scale=2, query_scale=2, most=1)
"""Algorithm 19 with c = 1: noise of scale 2 on threshold and queries, and the compared number is told."""

LATENT = Variant(threshold_scale=4, query_scale=4 / 3, most=2)
"""Algorithm 20 with c = 2: a quarter of epsilon for the threshold, query noise that forgets c."""

NOISELESS = Variant(threshold_scale=2, query_scale=0, most=None)
"""Algorithm 21: no noise on the queries at all."""

ENDLESS = Variant(threshold_scale=2, query_scale=2, most=None)
"""Algorithm 22 (and BinarySVT with lambda = 2/epsilon): it never stops saying yes."""

HALVED = Variant(threshold_scale=2, query_scale=2, most=1)
"""The corrected one, c = 1, on queries that it is not meant for: those that do not move together."""


def targets() -> tuple[Target, ...]:
    """Every broken one; each must be refuted."""
    return (*_published(), *_found_by_search())


def _published() -> tuple[Target, ...]:
    return (
        _broken(
            "alg19",
            NOTES,
            "tells the number that it compared",
            [noes_then(times, 0, answer=Told(0.0)) for times in (2, 5, 10)],
            published="Roth, lecture notes, 2011",
            truth="not private for any epsilon",
            why="the number told bounds the noise of the threshold, after which every no costs epsilon/2",
        ),
        _broken(
            "alg20",
            LATENT,
            "query noise without the factor 2c",
            [split(50, 2)],
            published="Lee and Clifton, 2014",
            truth="(1 + 6c)/4 times epsilon: 3.25 for c = 2",
            why="each of c yeses costs a shift of 2 against noise of scale 4/3",
        ),
        _broken(
            "alg21",
            NOISELESS,
            "no noise on the queries",
            [split(1, 1)],
            published="Stoddard, Chen and Machanavajjhala, 2014",
            truth="not private for any epsilon",
            why="whether the first of two queries is above the second one is told without noise",
        ),
        _broken(
            "alg22",
            ENDLESS,
            "never stops",
            [split(times, times) for times in (3, 5, 10)],
            published="Chen, Xiao, Zhang and Xu, 2015",
            truth="not private for any epsilon",
            why="given the threshold's noise, a rising no and a falling yes cost at least epsilon/2 together",
        ),
        _broken(
            "alg22-monotone",
            ENDLESS,
            "never stops, and counts that move together do not help",
            [noes_then(times, *(0,) * times) for times in (3, 5, 10)],
            published="Chen, Xiao, Zhang and Xu, 2015",
            truth="not private for any epsilon",
            why="fifty noes are free, but as many yeses are not",
        ),
        _broken(
            "binary",
            ENDLESS,
            "never stops: a bit for each query",
            [_bits(half) for half in (4, 10)],
            published="Lee and Clifton, 2014, as in Zhang's thesis (Algorithm 4.4)",
            truth="not private for any epsilon; k queries need noise of scale k/(4 epsilon) at least",
            why="one record moves half of the queries, another the other half, and nobody stops the yeses",
        ),
        _broken(
            "vanilla",
            NOTES,
            "tells the number that it compared",
            [_told_bits(queries) for queries in (2, 5, 10)],
            published="Hardt, 2011, as in Zhang's thesis (Algorithm A.1)",
            truth="not private for any epsilon",
            why="the number told bounds the noise of the threshold, after which every no costs epsilon/2",
        ),
        _broken(
            "monotone-misused",
            HALVED,
            "noise for counts that move together, on queries that do not",
            [split(50, 1)],
            published="Zhang's thesis (Algorithm 4.5), which does not state the restriction",
            truth="3/2 times epsilon",
            why="a yes sees its query fall and its threshold rise, but pays for one of the two",
        ),
    )


def _found_by_search() -> tuple[Target, ...]:
    """Mistakes without a known counterexample: pair and event are found by the audit itself."""
    baskets = tuple(neighbours(BASKETS, 3, Relation.ADD_REMOVE))
    return (
        Target(
            "broken-top-one-price",
            Kind.BROKEN,
            Promise(ONE),
            "three choices at once with the noise of one",
            baskets,
            run=three_for_one,
            effort=0.2,
            background={
                "truth": "3 times epsilon",
                "why": "a basket of three items shifts the noise of all three chosen ones",
            },
        ),
        Target(
            "broken-sparse-forgotten-counter",
            Kind.BROKEN,
            Promise(ONE),
            "right noise for one yes, and no end to them",
            tuple(_crossing(40)),
            run=partial(simulate, Variant(threshold_scale=2, query_scale=4, most=None)),
            background={
                "truth": "not private for any epsilon",
                "why": "every yes costs as much as the first",
            },
        ),
        Target(
            "broken-sparse-same-noise",
            Kind.BROKEN,
            Promise(ONE),
            "one draw of noise for all queries",
            tuple(_crossing(4)),
            run=same_noise,
            background={
                "truth": "not private for any epsilon",
                "why": "the order of the queries is told without noise",
            },
        ),
    )


def _broken(
    name: str,
    variant: Variant,
    summary: str,
    cases: Sequence[tuple[Pair, tuple[Answer, ...]]],
    **background: str,
) -> Target:
    answers = {repr(pair.first): event for pair, event in cases}

    def loss(first: Values, second: Values) -> float:
        return integration.loss(variant, first, second, answers[repr(first)])

    counterexample = f"{cases[-1][0].words}; answers {_words(cases[-1][1])}"
    return Target(
        f"broken-sparse-{name}",
        Kind.BROKEN,
        Promise(ONE),
        summary,
        [pair for pair, _ in cases],
        run=partial(simulate, variant, tells=any(isinstance(answer, Told) for answer in cases[0][1])),
        loss=loss,
        effort=0.5,
        background={**background, "counterexample": counterexample},
    )


def _words(answers: Sequence[Answer]) -> str:
    """Answers in short: 3 x no, 1 x yes."""
    words = [
        f"{answer.number:g}" if isinstance(answer, Told) else "yes" if answer else "no" for answer in answers
    ]
    runs: list[tuple[str, int]] = []
    for word in words:
        same = runs and runs[-1][0] == word
        runs = [*runs[:-1], (word, runs[-1][1] + 1)] if same else [*runs, (word, 1)]
    return ", ".join(word if times == 1 else f"{times} x {word}" for word, times in runs)


def split(noes: int, yeses: int) -> tuple[Pair, tuple[Answer, ...]]:
    """Some queries rise and are denied, others fall and are affirmed."""
    pair = Pair(
        (0,) * noes + (1,) * yeses,
        (1,) * noes + (0,) * yeses,
        f"{noes} rise from 0, {yeses} fall from 1",
    )
    return pair, (False,) * noes + (True,) * yeses


def noes_then(noes: int, *others: float, answer: Answer = True) -> tuple[Pair, tuple[Answer, ...]]:
    """Some queries rise and are denied, the others stay and are affirmed."""
    pair = Pair((0,) * noes + others, (1,) * noes + others, f"{noes} rise from 0, {len(others)} stay")
    return pair, (False,) * noes + (answer,) * len(others)


def _bits(half: int) -> tuple[Pair, tuple[Answer, ...]]:
    """The databases {a, b, b} and {b, b}, asked for a and for b, threshold 1."""
    pair = Pair(
        (0,) * half + (1,) * half, (-1,) * half + (1,) * half, f"{half} fall from 0, {half} stay at 1"
    )
    return pair, (True,) * half + (False,) * half


def _told_bits(queries: int) -> tuple[Pair, tuple[Answer, ...]]:
    """The databases {a, b} and {a, a, b}, asked for a again and again, then for b."""
    pair = Pair((1,) * queries, (2,) * (queries - 1) + (1,), f"{queries - 1} rise from 1, one stays")
    return pair, (False,) * (queries - 1) + (Told(1.0),)


def _crossing(size: int) -> list[Pair]:
    """Queries of which the first few rise and the others fall, for several numbers of the former."""
    return [
        Pair((0,) * rising + (1,) * (size - rising), (1,) * rising + (0,) * (size - rising))
        for rising in range(0, size + 1, max(1, size // 8))
    ]


def simulate(
    variant: Variant, values: Values, randomness: Randomness, n: int, *, tells: bool = False
) -> NDArray[np.float64]:
    """n runs: a row of yeses (1), noes (0) and what was not answered any more (absent).

    With `tells` a yes is the number that was compared, and a no is absent.
    """
    queries = np.round(np.asarray(values, dtype=np.float64) * FINE).astype(np.int64)
    limits = _laplace(variant.threshold_scale, n, randomness)[:, None]
    noisy = queries + _laplace(variant.query_scale, n * queries.size, randomness).reshape(n, -1)
    above = noisy >= limits
    rows = np.where(above, noisy / FINE, np.nan) if tells else above.astype(np.float64)
    if variant.most is not None:
        before = np.cumsum(above, axis=1) - above
        rows[before >= variant.most] = np.nan
    return rows


def same_noise(values: Values, randomness: Randomness, n: int) -> NDArray[np.float64]:
    shared = _laplace(2.0, n, randomness)[:, None] - _laplace(4.0, n, randomness)[:, None]
    above: NDArray[np.bool_] = np.asarray(values) * FINE >= shared
    return above.astype(np.float64)


def _laplace(scale: float, count: int, randomness: Randomness) -> NDArray[Any]:
    if scale == 0:
        return np.zeros(count, dtype=np.int64)
    return samplers.discrete_laplace(Fraction(scale).limit_denominator(1000) * FINE, count, randomness)


def three_for_one(baskets: Sequence[Sequence[int]], randomness: Randomness, n: int) -> list[list[int]]:
    """The three most frequent items, with exponential noise of rate 1 where three choices need rate 1/3."""
    counts = np.bincount(np.array([item for basket in baskets for item in basket], np.int64), minlength=ITEMS)
    gaps = (counts.max() - counts).astype(np.uint64)
    return [largest_noisy(gaps, ONE, 3, randomness) for _ in range(n)]
