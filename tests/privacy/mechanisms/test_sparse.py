"""The sparse vector: its exact law, when it pays and stops, and everything that it refuses.

Statistical tests are seeded and would fail with probability at most 1e-6 for a right mechanism.
"""

from __future__ import annotations

import copy
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from tests.effort import work_of
from tests.privacy.goodness import fits

from penstock.audit import integration
from penstock.audit.integration import Variant
from penstock.errors import BudgetError, UsageError
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms.retraversal import retraverse
from penstock.privacy.mechanisms.sparse import SparseVector, above_threshold, sparse_vector
from penstock.privacy.mechanisms.sparse_answers import SparseAnswer
from penstock.privacy.mechanisms.sparse_design import PRESETS, Design
from penstock.privacy.mechanisms.sparse_errors import error_queries
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.seals.sealed import Sealed, open_seal
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.privacy.unit import Relation
from penstock.releases import Answer

ONE = Sensitivity.of(1)


def number(value: Any, moves: Sensitivity = ONE, relation: Relation = Relation.ADD_REMOVE) -> Sealed[Any]:
    return Sealed(value, moves, relation, because="each test says how far a query moves")


def vector(values: Any, *, monotone: bool = False, moves: int = 1) -> Sealed[NDArray[Any]]:
    array = np.asarray(values)
    return Sealed(
        array,
        Sensitivity.scores(moves, array.size, monotone=monotone),
        Relation.ADD_REMOVE,
        because="each test says how far a query moves",
    )


def under_replace(scores: Sealed[NDArray[Any]]) -> Sealed[NDArray[Any]]:
    """The same queries where one record takes the place of another: two moves, in any direction."""
    twice = replace(scores.sensitivity.scaled(2), monotone=False)
    return Sealed(open_seal(scores), twice, Relation.REPLACE, because="one record goes and another comes")


def seeded(seed: int = 1, epsilon: object = 1) -> Budget:
    return Budget(epsilon, randomness=Randomness.seeded(seed))  # type: ignore[arg-type]


# --- the law ---


@pytest.mark.parametrize(
    ("c", "options"),
    [
        (1, {}),
        (2, {"allocation": "1:3"}),
        (2, {"monotone": True}),
        (2, dict(PRESETS["standard"])),
        (2, dict(PRESETS["dwork-roth"])),
        (2, dict(PRESETS["reduced"])),
    ],
    ids=str,
)
def test_answers_follow_the_exact_law(c: int, options: dict[str, Any]) -> None:
    values, source = (0, 2, -1, 3), Randomness.seeded(3)
    monotone = options.get("monotone", False)
    runs = [
        tuple(
            above_threshold(
                vector(values, monotone=monotone), Budget(2, randomness=source), c=c, threshold=1, **options
            ).above.tolist()
        )
        for _ in range(1000)
    ]

    def follow(design: Design) -> bool:
        law = integration.law(Variant.of(design), [value - 1 for value in values])
        outcomes, seen = list(law.logs), Counter(runs)
        return fits(
            [seen[outcome] for outcome in outcomes],  # type: ignore[index]
            [law.probability(outcome) for outcome in outcomes],
        )

    assert follow(Design.of(2, c, **options))
    # The mutant with half of the query noise is told apart by the same check.
    assert not follow(Design.of(2, c, **{**options, "sensitivity": Fraction(1, 2)}))


def test_real_queries_are_answered_on_a_lattice_that_is_paid_for() -> None:
    """Step 1/2: the queries 0.1, 1.3, 0.9 are 0, 3, 2 steps, the sensitivity 1 is 2 + 1 steps."""
    source = Randomness.seeded(4)
    runs = [
        tuple(
            above_threshold(
                vector([0.1, 1.3, 0.9]),
                Budget(2, randomness=source),
                c=1,
                threshold=0.75,
                granularity=Fraction(1, 2),
            ).above.tolist()
        )
        for _ in range(1000)
    ]
    # The threshold 0.75 is a step and a half, which whole steps reach at two.
    law = integration.law(Variant.of(Design.of(2, 1, sensitivity=3)), [-2, 1, 0])
    assert fits([runs.count(outcome) for outcome in law.logs], [law.probability(o) for o in law.logs])  # type: ignore[arg-type]


def test_by_default_the_lattice_costs_less_than_a_thousandth() -> None:
    svt = SparseVector.paid(
        Budget(1), c=3, sensitivity="1/3", real=True, because="a record moves one query by one"
    )
    assert svt.step is not None
    assert Fraction(1, 3) < svt.design.sensitivity * svt.step < Fraction(1, 3) * (1 + Fraction(1, 500))


def test_whole_queries_reach_a_fractional_threshold_at_the_next_whole_number() -> None:
    for threshold in (0.5, Fraction(1, 3), 1, 1.0, np.float64(0.2), Answer(0.9)):
        answers = above_threshold(vector([0, 1] * 300), seeded(5, 2), c=40, threshold=threshold)
        assert np.array_equal(
            answers.above, above_threshold(vector([0, 1] * 300), seeded(5, 2), c=40, threshold=1).above
        )


def test_each_query_may_have_a_threshold_of_its_own() -> None:
    values, thresholds = np.array([5, 50, 500, 5000]), np.array([10**6, 20, 10**6, 20])
    for given in (
        thresholds,
        thresholds.tolist(),
        thresholds.astype(float),
        [Fraction(int(t)) for t in thresholds],
    ):
        found = above_threshold(vector(values), seeded(1, 100), c=3, threshold=given)
        assert found.above.tolist() == [False, True, False, True]
    # Query and threshold moved together are answered alike.
    shifted = above_threshold(vector(values + 7), seeded(1, 100), c=3, threshold=thresholds + 7)
    assert shifted.above.tolist() == [False, True, False, True]
    with pytest.raises(UsageError, match="There are 3 thresholds for 4 queries"):
        above_threshold(vector(values), seeded(), c=3, threshold=[1, 2, 3])


# --- numbers beside a yes ---


def test_numbers_have_noise_of_their_own_at_their_own_scale() -> None:
    """400 yeses far above the threshold: value minus truth is discrete Laplace of scale c/epsilon3."""
    truth = np.full(400, 10**6)
    budget = seeded(6, 8)
    found = above_threshold(vector(truth), budget, c=400, answers="1/4")
    assert found.values is not None
    off = found.values - truth
    scale = 400 / 2
    law = stats.dlaplace(1 / scale)
    edges = np.array([-400, -200, -80, 0, 80, 200, 400])
    cells = np.searchsorted(edges, off, side="left")
    assert fits(np.bincount(cells, minlength=8), np.diff(np.concatenate([[0], law.cdf(edges), [1]])))
    assert budget.receipt().epsilon == 8


def test_the_number_told_does_not_depend_on_the_noise_that_was_compared() -> None:
    """At the threshold only lucky queries are affirmed; were the compared number told, it would be too large.

    The mean of 1000 numbers with standard deviation 14 (c = 1, scale 10) is within 2.2 of the truth but for
    probability 1e-6; the compared number would be off by at least the threshold's mean distance, about 9.
    """
    source = Randomness.seeded(7)
    told = []
    for _ in range(1000):
        budget = Budget("1/5", randomness=source)
        answers = above_threshold(vector([0] * 200), budget, c=1, threshold=20, answers="1/2")
        assert answers.values is not None
        told += answers.values.tolist()
    assert len(told) > 900
    assert abs(np.mean(told)) < 2.2


# --- one by one, all at once, or as a stream ---


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"answers": "1/3"},
        {"redraw": True},
        {"real": True},
        {"real": True, "answers": "1/3", "redraw": True},
    ],
    ids=str,
)
def test_asking_one_by_one_and_all_at_once_is_the_same(options: dict[str, Any]) -> None:
    values = np.random.default_rng(0).integers(-40, 60, 3000)
    if options.get("real"):
        values = values / 8  # type: ignore[assignment]
    one = SparseVector.paid(seeded(8), c=7, because="a record moves one query by one", **options)
    together = SparseVector.paid(seeded(8), c=7, because="a record moves one query by one", **options)
    answers = []
    for value in values.tolist():
        answers.append(one.ask(number(value), threshold=55))
        if one.exhausted:
            break
    assert (
        list(
            together.ask_all(
                Sealed(values, ONE, Relation.ADD_REMOVE, because="a record moves one query by one"), 55
            )
        )
        == answers
    )
    assert sum(map(bool, answers)) == 7
    assert all((answer.value is not None) == (answer.above and "answers" in options) for answer in answers)


def test_the_standard_preset_is_the_even_division_bit_for_bit() -> None:
    values = np.random.default_rng(1).integers(0, 50, 2000)
    runs = [
        above_threshold(vector(values), seeded(9), c=5, threshold=60, **options).above
        for options in (PRESETS["standard"], {"allocation": "1:1", "answers": 0, "redraw": False})
    ]
    assert np.array_equal(*runs)


def test_a_stream_stops_by_itself_after_the_last_yes() -> None:
    asked: list[int] = []

    def stream() -> Iterator[Sealed[Any]]:
        for value in (0, 10**6, 0, 10**6, 0, 0):
            asked.append(value)
            yield number(value)

    budget = seeded()
    answers = sparse_vector(stream(), budget, c=2, threshold=1000)
    assert budget.left[0] == 0  # paid when called, before the first query is looked at
    assert asked == []
    assert [answer.above for answer in answers] == [False, True, False, True]
    assert asked == [0, 10**6, 0, 10**6]
    assert len(list(budget.receipt().charges())) == 1


def test_a_stream_may_choose_its_next_query_in_view_of_the_answers() -> None:
    """Binary search for the value 700 with thresholds that follow the answers; epsilon 100 makes it sure."""
    heard: list[SparseAnswer] = []

    def stream() -> Iterator[tuple[Sealed[Any], int]]:
        low, high = 0, 1024
        while high - low > 1:
            middle = (low + high) // 2
            yield number(700), middle
            low, high = (middle, high) if heard[-1] else (low, middle)
        heard.append(SparseAnswer(True, low))

    heard.extend(sparse_vector(stream(), seeded(2, 100), c=11))
    assert abs(heard[-1].value - 700) <= 3  # type: ignore[operator]


def test_a_stream_may_mix_numbers_and_vectors() -> None:
    elements = [
        number(0),
        vector([0, 10**6, 0]),
        (vector([5, 6]), [10**6, 10**6]),
        (number(1), -(10**6)),
        number(3),
    ]
    answers = [answer.above for answer in sparse_vector(elements, seeded(), c=2, threshold=1000)]
    assert answers == [False, False, True, False, False, False, True]


def test_a_sealed_vector_may_stand_for_the_stream() -> None:
    values = vector(np.arange(1000), monotone=True)
    streamed = [answer.above for answer in sparse_vector(values, seeded(3), c=4, threshold=700)]
    assert streamed == above_threshold(values, seeded(3), c=4, threshold=700).above.tolist()


# --- paying ---


def test_the_whole_budget_is_paid_once_whether_or_not_there_is_a_yes() -> None:
    for threshold in (10**9, -(10**9)):
        budget = Budget("7/3")
        above_threshold(vector([1, 2, 3]), budget, c=2, threshold=threshold, answers="1/10")
        ((_, charge),) = budget.receipt().charges()
        assert charge.epsilon == Fraction(7, 3)
        assert charge.mechanism == "sparse vector"
        assert "at most 2 positive answers" in charge.detail


def test_nothing_is_spent_on_what_is_refused() -> None:
    budget = Budget(1)
    together = vector([1, 2], monotone=True)
    replaced = under_replace(together)
    attempts: list[tuple[Any, dict[str, Any]]] = [
        (vector([1, 2]), {"c": 0}),
        (vector([1, 2]), {"c": None}),
        (vector([1, 2]), {"c": 2.0}),
        (vector([1, 2]), {"c": 1, "allocation": "2:1"}),
        (vector([1, 2]), {"c": 1, "answers": 2}),
        (vector([1, 2]), {"c": 1, "monotone": True}),
        (replaced, {"c": 1, "monotone": True}),
        (vector([[1, 2]]), {"c": 1}),
        (vector(["a"]), {"c": 1}),
        (vector([1.0]), {"c": 1, "granularity": 0.3}),
        (vector([1, 2]), {"c": 1, "threshold": number(3)}),
        (vector([1, 2]), {"c": 1, "threshold": [1, number(3)]}),
        (vector([1, 2]), {"c": 1, "threshold": float("nan")}),
        (vector([1, 2]), {"c": 1, "threshold": "9"}),
        (vector([1, 2]), {"c": 1, "threshold": True}),
        (vector([1, 2]), {"c": 1, "threshold": [1]}),
        (
            Sealed(np.array([1]), Sensitivity.scores(0, 1), Relation.ADD_REMOVE, because="it is a constant"),
            {"c": 1},
        ),
    ]
    for scores, options in attempts:
        with pytest.raises(UsageError):
            above_threshold(scores, budget, **options)
    with pytest.raises(UsageError, match="something to iterate over, not int"):
        sparse_vector(7, budget, c=1)  # type: ignore[arg-type]
    assert budget.left[0] == 1


def test_odd_elements_of_a_stream_are_refused_in_a_sentence() -> None:
    with pytest.raises(UsageError, match="a pair of one and its threshold"):
        list(sparse_vector([(number(1), 2, 3)], Budget(1), c=1))  # type: ignore[list-item]
    with pytest.raises(UsageError, match="finite public number, not None"):
        SparseVector.paid(Budget(1), c=1, because="a record moves one query by one").ask(number(1), None)  # type: ignore[arg-type]


def test_monotonic_mode_needs_add_remove_and_a_reason() -> None:
    budget = Budget(1)
    with pytest.raises(UsageError, match="needs relation 'add-remove'"):
        SparseVector.paid(budget, c=1, relation=Relation.REPLACE, monotone=True, because="counts")
    with pytest.raises(UsageError, match="the reason why"):
        SparseVector.paid(budget, c=1, monotone=True, because=" ")
    assert budget.left[0] == 1
    svt = SparseVector.paid(budget, c=1, monotone=True, because="counts of added records only grow")
    assert svt.design.query_scale == 1 / svt.design.queries
    with pytest.raises(UsageError, match="not monotone"):
        svt.ask(number(1))


def test_a_vector_of_counts_is_monotone_by_itself_and_not_under_replace() -> None:
    counts = vector([1, 2, 3], monotone=True)
    details = []
    for scores in (counts, under_replace(counts)):
        budget = Budget(1)
        above_threshold(scores, budget, c=1)
        details.append(next(budget.receipt().charges())[1].detail)
    assert "monotone" in details[0]
    assert "monotone" not in details[1]


def test_thresholds_are_public_by_type() -> None:
    sealed_mean = number(7)
    with pytest.raises(UsageError, match="must be public"):
        above_threshold(vector([1, 2]), Budget(1), c=1, threshold=sealed_mean)  # type: ignore[arg-type]
    svt = SparseVector.paid(Budget(1), c=1, because="a record moves one query by one")
    with pytest.raises(UsageError, match="must be public"):
        svt.ask(number(1), sealed_mean)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="must be public"):
        retraverse(vector([1, 2]), Budget(1), c=1, threshold=sealed_mean)  # type: ignore[arg-type]


# --- what it was not paid for ---


def test_queries_that_were_not_paid_for_are_refused() -> None:
    svt = SparseVector.paid(Budget(1), c=1, sensitivity=2, because="a record moves one query by one")
    svt.ask(number(1, Sensitivity.of(2)), 10**9)
    for query, words in (
        (number(1, Sensitivity.of(3)), "sensitivity 3"),
        (number(1, ONE, Relation.REPLACE), "sealed under 'replace'"),
        (number(0.5), "whole queries"),
        (vector([1, 2]), "one number at a time"),
        (17, "sealed queries, not int"),
    ):
        with pytest.raises(UsageError, match=words):
            svt.ask(query)
    with pytest.raises(UsageError, match="a vector of numbers"):
        svt.ask_all(number(1))
    # Once a sensitivity was accepted, another one is looked at again.
    with pytest.raises(UsageError, match="sensitivity 5"):
        svt.ask(number(1, Sensitivity.of(5)))


def test_no_answer_after_the_last_yes_no_copies_and_no_second_process() -> None:
    svt = SparseVector.paid(Budget(1), c=2, because="a record moves one query by one")
    for duplicate in (copy.copy, copy.deepcopy):
        with pytest.raises(UsageError, match="cannot be copied"):
            duplicate(svt)
    assert svt.ask(number(10**9)).above
    read, write = os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover - the other process
        try:
            svt.ask(number(0))
            os.write(write, b"answered")
        except BudgetError:
            os.write(write, b"refused")
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(read, 20) == b"refused"
    assert svt.ask(number(10**9)).above
    assert svt.exhausted
    for ask in (lambda: svt.ask(number(0)), lambda: svt.ask_all(vector([0]))):
        with pytest.raises(BudgetError, match="has given its 2 positive answers"):
            ask()
    assert "rho" not in repr(vars(svt)).replace("_SparseVector__rho", "")
    assert repr(svt) == "SparseVector(0 of 2 positive answers left)"


def test_values_at_the_ends_of_64_bits_do_not_wrap() -> None:
    ends = np.array([-(2**63), 2**63 - 1])
    found = above_threshold(vector(ends), seeded(), c=1, threshold=0, answers="1/2")
    assert found.above.tolist() == [False, True]
    assert found.values is not None
    assert found.values[0] > 2**62
    unsigned = above_threshold(
        vector(np.array([0, 2**64 - 1], dtype=np.uint64)), seeded(), c=1, threshold=2**63
    )
    assert unsigned.above.tolist() == [False, True]
    # Noise beyond 64 bits: a scale of about 1e22.
    assert len(above_threshold(vector([0] * 10, moves=10**22), seeded(), c=1, threshold=0)) >= 1
    assert above_threshold(vector([0, 1]), seeded(), c=1, threshold=2**200).above.tolist() == [False, False]


# --- errors of estimates ---


def test_errors_move_as_their_answers_do_and_are_never_monotone() -> None:
    counts = vector([3, 10, 8], monotone=True)
    errors = error_queries(counts, [5, 5, 8])
    assert (errors.sensitivity.linf, errors.sensitivity.monotone) == (1, False)
    with pytest.raises(UsageError, match="monotonic mode would not be private"):
        above_threshold(errors, Budget(1), c=1, monotone=True)
    found = above_threshold(
        error_queries(vector([30, 100, 80]), [50, 50, 80]), seeded(1, 100), c=3, threshold=10
    )
    assert found.above.tolist() == [True, True, False]
    reals = above_threshold(error_queries(vector([0.5, 0.1]), 0.125), seeded(1, 100), c=3, threshold=0.25)
    assert reals.above.tolist() == [True, False]
    extreme = error_queries(vector([-(2**63)]), np.array([2**63 - 1]))
    assert above_threshold(extreme, seeded(), c=1, threshold=2**62).above.tolist() == [True]
    for wrong in ([1, 2], ["a"], [np.inf]):
        with pytest.raises(UsageError, match="stimates"):
            error_queries(counts, wrong)


# --- retraversal ---


def test_retraversal_asks_again_until_enough_are_found_for_the_same_price() -> None:
    scores = vector(np.repeat([1000, 0], [10, 500]), monotone=True)
    budget = seeded(10, 2)
    chosen = retraverse(scores, budget, c=10, threshold=500, raised=3)
    assert sorted(chosen) == list(range(10))
    assert chosen != sorted(chosen)  # a random order, not that of the candidates (but for 1 in 3.6 million)
    assert len(list(budget.receipt().charges())) == 1
    # One pass over a threshold raised far above misses some; more passes find more of them.
    once, often = (
        len(retraverse(scores, seeded(11, "1/20"), c=10, threshold=500, raised=8, passes=n)) for n in (1, 30)
    )
    assert once < often <= 10


def test_retraversal_ends_when_nobody_is_left_and_after_its_passes() -> None:
    assert sorted(retraverse(vector([50, 60]), seeded(1, 50), c=5, threshold=0, raised=0)) == [0, 1]
    assert retraverse(vector([0] * 20), seeded(1, 50), c=5, threshold=10**6, passes=None) == []
    budget = Budget(1)
    with pytest.raises(UsageError, match="at least one pass"):
        retraverse(vector([1]), budget, c=1, threshold=0, passes=0)
    assert budget.left[0] == 1


def test_the_threshold_is_raised_by_scales_of_the_query_noise() -> None:
    """Raised by 5 scales from 5 scales below is not raised at all: the answers of the plain threshold."""
    scores = vector(np.arange(200) % 7, monotone=True)
    scale = Design.of(1, 4, monotone=True).query_scale
    runs = [
        retraverse(scores, seeded(12), c=4, threshold=threshold, raised=raised, passes=1)
        for threshold, raised in ((3 - 5 * scale, 5), (3, 0))
    ]
    assert runs[0] == runs[1]


# --- how much work it is ---


@pytest.mark.parametrize(("redraw", "threshold"), [(False, 3000), (True, 30_000)])
def test_a_million_queries_are_answered_in_blocks(redraw: bool, threshold: int) -> None:
    """At least a hundred queries for each step of Python, and eight random bytes for each query.

    `studies/selection_speed.py` says how fast it is.
    """
    size, runs = 1_000_000, []
    values = vector(np.random.default_rng(0).integers(0, 100, size), monotone=True)
    work = work_of(
        lambda: runs.append(above_threshold(values, seeded(13), c=50, threshold=threshold, redraw=redraw))
    )
    assert [len(answers) for answers in runs] == [size, size]
    assert work.steps < size / 100
    assert work.drawn < 8 * size


def test_a_stream_of_single_numbers_draws_its_noise_in_blocks() -> None:
    """Some thirty steps for each query, and none of them a draw of its own: that would be hundreds."""
    queries, runs = [number(0)] * 20_000, []
    work = work_of(
        lambda: runs.append(sum(1 for _ in sparse_vector(queries, seeded(14), c=1, threshold=10**6)))
    )
    assert runs == [len(queries)] * 2
    assert work.steps < 50 * len(queries)
    assert work.drawn < 64 * len(queries)
