"""The shipped sparse vectors as audit targets: their laws summed exactly, their code run.

An input is the list of the queries' values, all with threshold 0; a pair of inputs differs by at most 1 in
every query, in any direction or, for the monotone ones, in one. Among the pairs is the one on which the
analysis is tight: fifty noes whose queries rise, and c yeses whose queries fall (monotone: stay). The claim
is epsilon 4, at which a few thousand runs show much of the loss.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import partial
from itertools import permutations
from math import exp, factorial, log
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.audit import exact, integration
from penstock.audit.exact import Distribution
from penstock.audit.integration import Variant
from penstock.audit.neighbours import Pair
from penstock.audit.target import Kind, Promise, Target
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms.retraversal import retraverse
from penstock.privacy.mechanisms.sparse import above_threshold
from penstock.privacy.mechanisms.sparse_design import PRESETS, Design
from penstock.privacy.mechanisms.sparse_errors import error_queries
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.seals.sealed import Sealed
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.privacy.unit import Relation

EPSILON = Fraction(4)
NOES = 50
FEW = 4
NUMBERS = Fraction(1, 4)
ESTIMATE = 2
PASSES = 2

Values = Sequence[int]


def targets() -> tuple[Target, ...]:
    """Every way to run a sparse vector, none of which may be refuted, and one that must be."""
    return (
        _indicators("sparse-vector", "the optimal division, queries that move both ways", c=2),
        _indicators(
            "sparse-vector-monotone", "the optimal division, counts that move together", c=2, monotone=True
        ),
        _indicators("sparse-vector-standard", "Lyu, Su and Li's Algorithm 1", c=1, **PRESETS["standard"]),
        _indicators(
            "sparse-vector-dwork-roth",
            "Dwork and Roth's, with a new threshold each time",
            c=2,
            **PRESETS["dwork-roth"],
        ),
        _indicators(
            "sparse-vector-corrected", "Zhang's, for counts that move together", c=2, **PRESETS["corrected"]
        ),
        _indicators(
            "sparse-vector-reduced", "the same with a new threshold each time", c=2, **PRESETS["reduced"]
        ),
        Target(
            "sparse-vector-numbers",
            Kind.SHIPPED,
            Promise(EPSILON),
            "a yes comes with a number that has noise of its own",
            _pairs(1, monotone=False, noes=3),
            run=run_numbers,
            distribution=numbers_law,
            effort=0.05,
        ),
        Target(
            "sparse-vector-errors",
            Kind.SHIPPED,
            Promise(EPSILON),
            "errors of public estimates of counts",
            _pairs(1, monotone=True, noes=10),
            run=run_errors,
            distribution=errors_law,
            effort=0.05,
        ),
        Target(
            "retraversal",
            Kind.SHIPPED,
            Promise(EPSILON),
            "candidates asked again until enough are found",
            tuple(_small(3, monotone=True)),
            run=run_retraversal,
            distribution=retraversal_law,
            effort=0.02,
        ),
        Target(
            "broken-sparse-vector-halved-sensitivity",
            Kind.BROKEN,
            Promise(EPSILON),
            "the shipped code, told half of the sensitivity",
            _pairs(1, monotone=True, noes=10)[:2],
            run=run_understated,
            effort=0.1,
            background={
                "truth": "2 times epsilon",
                "why": "noise of half the scale lets everybody see twice as far",
            },
        ),
    )


def _indicators(name: str, summary: str, *, c: int, **options: Any) -> Target:
    monotone = options.get("monotone", False)
    design = Design.of(EPSILON, c, **options)
    return Target(
        name,
        Kind.SHIPPED,
        Promise(EPSILON),
        summary,
        _pairs(c, monotone=monotone, noes=NOES if c == 1 or not design.redraw else 20),
        run=partial(run_indicators, c=c, options=options),
        distribution=partial(integration.law, Variant.of(design)),
        effort=0.05,
    )


def _pairs(c: int, *, monotone: bool, noes: int) -> tuple[Pair, ...]:
    """The tight one, one whose worst answers are not rare, and all small ones."""
    yeses = (0,) * c if monotone else (1,) * c
    seen = Pair((-1,) * FEW + yeses, (0,) * FEW + (0,) * c)
    tight = Pair(
        (0,) * noes + yeses,
        (1,) * noes + (0,) * c,
        f"{noes} queries rise, {c} {'stay' if monotone else 'fall'}",
    )
    return (tight, seen, *_small(3, monotone=monotone))


def _small(size: int, *, monotone: bool) -> Iterator[Pair]:
    """Three queries with every possible change of each, from one starting point."""
    start = (0, 1, -1)[:size]
    moves = (0, 1) if monotone else (-1, 0, 1)
    for number in range(1, len(moves) ** size):
        change = [moves[number // len(moves) ** place % len(moves)] for place in range(size)]
        yield Pair(start, tuple(value + step for value, step in zip(start, change, strict=True)))


def _sealed(values: Values, *, monotone: bool) -> Sealed[NDArray[np.int64]]:
    moves = Sensitivity.scores(1, len(values), monotone=monotone)
    return Sealed(
        np.array(values),
        moves,
        Relation.ADD_REMOVE,
        because="the pairs are made so: each query moves by at most one, and all upwards if monotone",
    )


def run_indicators(
    values: Values, randomness: Randomness, n: int, c: int, options: dict[str, Any]
) -> list[NDArray[Any]]:
    sealed = _sealed(values, monotone=options.get("monotone", False))
    return [
        padded(above_threshold(sealed, _budget(randomness), c=c, **options).above, len(values))
        for _ in range(n)
    ]


def run_understated(values: Values, randomness: Randomness, n: int) -> list[NDArray[Any]]:
    half = Sensitivity.scores(Fraction(1, 2), len(values), monotone=True)
    sealed = Sealed(
        np.array(values),
        half,
        Relation.ADD_REMOVE,
        because="it does not hold: queries that move by one, stated to move by half, for an audit to refute",
    )
    return [padded(above_threshold(sealed, _budget(randomness), c=1).above, len(values)) for _ in range(n)]


def _budget(randomness: Randomness) -> Budget:
    return Budget(EPSILON, randomness=randomness)


def padded(above: NDArray[np.bool_], size: int) -> NDArray[np.float64]:
    """Answers as numbers; what was not answered any more is absent."""
    row = np.full(size, np.nan)
    row[: above.size] = above
    return row


# Numbers beside a yes ---------------------------------------------------------------------------------


def _numbers_design() -> Design:
    return Design.of(EPSILON, 1, answers=NUMBERS)


def run_numbers(values: Values, randomness: Randomness, n: int) -> list[NDArray[Any]]:
    sealed = _sealed(values, monotone=False)
    rows = []
    for _ in range(n):
        found = above_threshold(sealed, _budget(randomness), c=1, answers=NUMBERS)
        assert found.values is not None
        number = np.clip(found.values, -30, 30) if found.values.size else np.array([np.nan])
        rows.append(np.append(padded(found.above, len(values)), number))
    return rows


def numbers_law(values: Values) -> Distribution:
    """Yes or no as without numbers, and the number's noise on its own."""
    design = _numbers_design()
    scale = design.answer_scale
    assert scale is not None
    logs: dict[Any, float] = {}
    for answers, value in integration.law(Variant.of(design), values).logs.items():
        assert isinstance(answers, tuple)
        if not answers[-1]:
            logs[answers, None] = value
            continue
        told = exact.discrete_laplace(values[len(answers) - 1], float(scale), (-30, 30))
        logs |= {(answers, number): value + chance for number, chance in told.logs.items()}
    return Distribution(logs)


# Errors of estimates ----------------------------------------------------------------------------------


def run_errors(values: Values, randomness: Randomness, n: int) -> list[NDArray[Any]]:
    """The values are counts; the queries are how far the public estimate 2 is from them, less 1."""
    sealed = error_queries(_sealed(values, monotone=True), ESTIMATE)
    return [
        padded(above_threshold(sealed, _budget(randomness), c=1, threshold=1).above, len(values))
        for _ in range(n)
    ]


def errors_law(values: Values) -> Distribution:
    return integration.law(Variant.of(Design.of(EPSILON, 1)), [abs(ESTIMATE - value) - 1 for value in values])


# Retraversal ------------------------------------------------------------------------------------------


def run_retraversal(values: Values, randomness: Randomness, n: int) -> list[list[int]]:
    sealed = _sealed(values, monotone=True)
    return [
        retraverse(sealed, _budget(randomness), c=2, threshold=0, raised=0, passes=PASSES) for _ in range(n)
    ]


def retraversal_law(values: Values) -> Distribution:
    """Every order, and in each every list of answers; only who was chosen, in which order, comes out."""
    variant = Variant.of(Design.of(EPSILON, 2, monotone=True))
    shares: dict[tuple[int, ...], float] = {}
    for order in permutations(range(len(values))):
        for asked, answers in _walks(order, 2, PASSES):
            chance = exp(integration.log_probability(variant, [values[i] for i in asked], answers))
            chosen = tuple(i for i, answer in zip(asked, answers, strict=True) if answer)
            shares[chosen] = shares.get(chosen, 0.0) + chance / factorial(len(values))
    return Distribution({chosen: log(share) for chosen, share in shares.items()})


def _walks(
    order: tuple[int, ...], most: int, passes: int
) -> Iterator[tuple[tuple[int, ...], tuple[bool, ...]]]:
    """Whom a walk over the candidates asks, and what it hears, in every possible way."""

    def go(
        left: tuple[int, ...], to_come: tuple[int, ...], yeses: int, turns: int
    ) -> Iterator[tuple[tuple[int, ...], tuple[bool, ...]]]:
        if yeses == most or (not to_come and (turns == 1 or not left)):
            yield (), ()
        elif not to_come:
            yield from go(left, left, yeses, turns - 1)
        else:
            first, rest = to_come[0], to_come[1:]
            without = tuple(i for i in left if i != first)
            for answer, kept in ((True, without), (False, left)):
                for asked, answers in go(kept, rest, yeses + answer, turns):
                    yield (first, *asked), (answer, *answers)

    yield from go(order, order, 0, passes)
