"""The shipped mechanisms as audit targets: their mathematics enumerated, their code run.

Each target's databases are all multisets of up to three records over a small public universe, so "for
all neighbouring pairs" is literal. The exact side takes the noise scale and the price of a score from
the shipped code (its stated sensitivity, its receipt) and computes the output probabilities with the
independent formulas of `audit.exact`; the sampled side calls the mechanism itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.audit import exact
from penstock.audit.exact import Distribution, independent
from penstock.audit.neighbours import Pair, neighbours
from penstock.audit.target import Kind, Promise, Target
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms import choice, noise, response
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.seals.sealed import Sealed
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.privacy.unit import Relation

ONE = Fraction(1)
SLACK = Fraction(1, 10**6)
CATEGORIES = (0, 1, 2)
BASKETS = ((0,), (1,), (0, 1), (0, 1, 2))
REALS = (0.0, 0.3, 1.0)
POINTS = (1, 4, 7)
END = 9

Records = Sequence[Any]
Law = Callable[[Sequence[float], float], Distribution]


def targets() -> tuple[Target, ...]:
    """Every mechanism of `penstock.privacy`; none may be refuted."""
    return (*_noise(), *_choices())


def _noise() -> tuple[Target, ...]:
    added = Promise(ONE)
    replaced = Promise(ONE, relation=Relation.REPLACE)
    return (
        _target(
            "discrete-laplace",
            "noisy counts of a histogram",
            added,
            CATEGORIES,
            3,
            run=partial(run_histogram, promise=added),
            distribution=partial(histogram_law, promise=added),
        ),
        _target(
            "discrete-laplace-replace",
            "noisy counts of a histogram when records are replaced",
            replaced,
            CATEGORIES,
            3,
            run=partial(run_histogram, promise=replaced),
            distribution=partial(histogram_law, promise=replaced),
        ),
        _target(
            "lattice-laplace",
            "a noisy sum of reals in 0..1",
            added,
            REALS,
            3,
            effort=0.1,
            run=run_sum,
            loss=sum_loss,
        ),
        _target(
            "randomised-response",
            "one person's own answer among three",
            replaced,
            CATEGORIES,
            1,
            run=run_response,
            distribution=response_law,
        ),
        _target(
            "discrete-gaussian",
            "noisy counts of a histogram, Gaussian",
            Promise(ONE, SLACK),
            (0, 1),
            2,
            run=run_gaussian,
            distribution=gaussian_law,
        ),
    )


def _choices() -> tuple[Target, ...]:
    promise = Promise(ONE)
    replaced = Promise(ONE, relation=Relation.REPLACE)
    both: list[Target] = []
    laws: dict[choice.Method, Law] = {
        "exponential": exact.exponential,
        "permute-and-flip": exact.permute_and_flip,
    }
    for method, law in laws.items():
        both += [
            _target(
                method,
                "a choice among counts that move both ways",
                replaced,
                BASKETS,
                3,
                effort=0.1,
                run=partial(run_choice, method=method, promise=replaced),
                distribution=partial(choice_law, law=law, promise=replaced),
            ),
            _target(
                f"{method}-monotone",
                "a choice among counts that all move the same way",
                promise,
                BASKETS,
                3,
                effort=0.1,
                run=partial(run_choice, method=method, promise=promise),
                distribution=partial(choice_law, law=law, promise=promise),
            ),
        ]
    return (
        *both,
        _target(
            "point",
            "a whole number by the exponential mechanism: a median",
            promise,
            POINTS,
            3,
            effort=0.1,
            run=run_median,
            distribution=median_law,
        ),
    )


def _target(
    name: str,
    summary: str,
    promise: Promise,
    universe: Sequence[Any],
    largest: int,
    *,
    run: Callable[..., Any],
    distribution: Callable[[Any], Distribution] | None = None,
    loss: Callable[[Any, Any], float] | None = None,
    effort: float = 1.0,
) -> Target:
    pairs: tuple[Pair, ...] = tuple(neighbours(universe, largest, promise.relation))
    return Target(
        name,
        Kind.SHIPPED,
        promise,
        summary,
        pairs,
        run=run,
        distribution=distribution,
        loss=loss,
        effort=effort,
    )


# Noisy numbers ----------------------------------------------------------------------------------------


def _histogram(records: Records, cells: int = len(CATEGORIES)) -> NDArray[np.int64]:
    return np.bincount(np.asarray(records, dtype=np.int64), minlength=cells).astype(np.int64)


def _histogram_moves(promise: Promise) -> Sensitivity:
    """One record is in one cell: one cell moves when it is added, two when it is replaced."""
    return Sensitivity.of(1) if promise.relation is Relation.ADD_REMOVE else Sensitivity.of(2, linf=1)


def run_histogram(records: Records, randomness: Randomness, n: int, promise: Promise) -> NDArray[np.int64]:
    """n releases at once: the noise of every cell is drawn on its own, so n copies are n runs."""
    copies = np.tile(_histogram(records), (n, 1))
    sealed = Sealed(
        copies,
        _histogram_moves(promise),
        promise.relation,
        because="a record falls into one cell; the n rows are n separate releases, each audited by itself",
    )
    return noise.counts(sealed, pay=Budget(promise.epsilon, randomness=randomness))


def histogram_law(records: Records, promise: Promise) -> Distribution:
    counts = _histogram(records)
    sealed = Sealed(
        counts,
        _histogram_moves(promise),
        promise.relation,
        because="a record falls into one cell of a histogram",
    )
    scale = float(noise.noise_scale(sealed, promise.epsilon))
    return independent([exact.discrete_laplace(int(count), scale, (-1, 4)) for count in counts])


def _sealed_sum(records: Records) -> Sealed[float]:
    return Sealed(
        float(sum(records)),
        Sensitivity.of(1),
        Relation.ADD_REMOVE,
        because="a record adds a number from 0 to 1; what doubles round off is far below a lattice step",
    )


def run_sum(records: Records, randomness: Randomness, n: int) -> list[float]:
    return [noise.laplace_real(_sealed_sum(records), Budget(1, randomness=randomness)) for _ in range(n)]


def sum_loss(first: Records, second: Records) -> float:
    """Both sums on the lattice, apart by some steps, at the noise scale that the receipt states."""
    budget = Budget(1, randomness=Randomness.seeded(0))
    noise.laplace_real(_sealed_sum(first), budget)
    ((_, charge),) = budget.receipt().charges()
    stated = dict(part.rsplit(" ", 1) for part in charge.detail.split(", "))
    scale, step = float(Fraction(stated["scale"])), float(Fraction(stated["lattice step"]))
    return abs(round(sum(first) / step) - round(sum(second) / step)) * step / scale


def run_gaussian(records: Records, randomness: Randomness, n: int) -> NDArray[np.int64]:
    copies = np.tile(_histogram(records, 2), (n, 1))
    sealed = Sealed(
        copies,
        Sensitivity.of(1),
        Relation.ADD_REMOVE,
        because="a record falls into one cell; the n rows are n separate releases, each audited by itself",
    )
    return noise.gaussian(sealed, pay=Budget(1, SLACK, randomness=randomness))


def gaussian_law(records: Records) -> Distribution:
    """Both cells, clamped far outside the bulk so that all pairs of values can be enumerated."""
    variance = float(noise.gaussian_variance(ONE, ONE, SLACK))
    cells = [exact.discrete_gaussian(int(count), variance) for count in _histogram(records, 2)]
    return independent([cell.through(_window) for cell in cells])


def _window(value: int) -> int:
    return int(np.clip(value, -40, 42))


def run_response(records: Records, randomness: Randomness, n: int) -> NDArray[np.int64]:
    """n people with the same answer, one changed answer each: n runs at once."""
    answers = Sealed(
        np.repeat(np.asarray(records), n),
        Sensitivity.of(1),
        Relation.REPLACE,
        because="a person gives one answer; the n people are n separate runs, each audited by itself",
    )
    return response.randomise(answers, len(CATEGORIES), Budget(1, randomness=randomness))


def response_law(records: Records) -> Distribution:
    return exact.randomised_response(int(records[0]), len(CATEGORIES), 1.0)


# Noisy choices ----------------------------------------------------------------------------------------


def _scores(records: Records) -> NDArray[np.int64]:
    """How many baskets hold each item; an item that nobody has is a candidate too."""
    return _histogram([item for basket in records for item in basket], 4)


def _score_moves(promise: Promise) -> Sensitivity:
    return Sensitivity.scores(1, monotone=promise.relation is Relation.ADD_REMOVE, candidates=4)


def run_choice(
    records: Records, randomness: Randomness, n: int, method: choice.Method, promise: Promise
) -> list[int]:
    sealed = Sealed(
        _scores(records),
        _score_moves(promise),
        promise.relation,
        because="a basket has an item or not: it moves each support by at most one, and added all upwards",
    )
    return [choice.best(sealed, Budget(1, randomness=randomness), method=method) for _ in range(n)]


def choice_law(records: Records, law: Law, promise: Promise) -> Distribution:
    rate = float(promise.epsilon / _score_moves(promise).spread)
    return law(_scores(records).tolist(), rate)


def _median_score(records: Records, point: int) -> int:
    """Minus the imbalance of the records on either side; one record moves it by at most one."""
    below = sum(1 for value in records if value < point)
    return -abs(2 * below - len(records))


def run_median(records: Records, randomness: Randomness, n: int) -> list[int]:
    edges = np.array(sorted({0, END, *(value + 1 for value in records)}))
    scores = np.array([_median_score(records, edge) for edge in edges[:-1]])
    steps = choice.Steps(edges, scores)
    sealed = Sealed(
        steps,
        Sensitivity.scores(1, candidates=END),
        Relation.ADD_REMOVE,
        because="a record more moves the difference of the numbers on either side of a point by one",
    )
    return [choice.point(sealed, 0, END, Budget(1, randomness=randomness)) for _ in range(n)]


def median_law(records: Records) -> Distribution:
    rate = float(1 / Sensitivity.scores(1, candidates=END).spread)
    return exact.exponential([_median_score(records, point) for point in range(END)], rate)
