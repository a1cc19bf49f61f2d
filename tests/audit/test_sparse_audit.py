"""Sparse vectors by exact integration: published figures, each variant's fate, and no way to release one.

The figures belong to Su's dissertation (Algorithms 17-23) and Zhang's thesis (section 4.4, appendix A), most
of them recomputed by numerical integration. All at epsilon 1, sensitivity 1, threshold 0.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from math import e, exp, inf
from pathlib import Path

import numpy as np
import pytest

import penstock
from penstock.audit import broken_sparse, sparse, targets, top
from penstock.audit.broken_sparse import ENDLESS, HALVED, LATENT, NOISELESS, NOTES, noes_then, split
from penstock.audit.harness import Status, exact_bound, examine
from penstock.audit.integration import Told, Variant, law, log_probability, loss
from penstock.audit.target import Kind, Target
from penstock.errors import UsageError
from penstock.privacy.mechanisms.sparse_design import PRESETS, Design

ALL = (*sparse.targets(), *top.targets(), *broken_sparse.targets())
SHIPPED = [target for target in ALL if target.kind is Kind.SHIPPED]
BROKEN = [target for target in ALL if target.kind is Kind.BROKEN]


def standard(c: int) -> Variant:
    return Variant(threshold_scale=2, query_scale=4 * c, most=c)


def on(variant: Variant, case: tuple[object, tuple[object, ...]]) -> float:
    pair, answers = case
    return loss(variant, pair.first, pair.second, answers)  # type: ignore[attr-defined,arg-type]


def by_name(target: Target) -> str:
    return target.name


# --- the published figures ---


def test_without_query_noise_an_outcome_becomes_impossible() -> None:
    assert exp(log_probability(NOISELESS, (0, 1), (False, True))) == pytest.approx(0.19673, abs=5e-6)
    assert exp(log_probability(NOISELESS, (0, 1), (False, True))) == pytest.approx(
        (1 - e**-0.5) / 2, abs=1e-14
    )
    assert on(NOISELESS, split(1, 1)) == inf


@pytest.mark.parametrize(
    ("times", "both", "monotone"),
    [
        (1, 0.737, 0.406),
        (2, 1.530, None),
        (3, 2.349, None),
        (5, 4.031, 2.210),
        (10, 8.347, 4.574),
        (20, 17.144, 9.404),
    ],
)
def test_without_an_end_the_loss_grows_with_every_pair_of_answers(
    times: int, both: float, monotone: float | None
) -> None:
    assert on(ENDLESS, split(times, times)) == pytest.approx(both, abs=6e-4)
    assert on(ENDLESS, split(times, times)) >= times / 2  # at least epsilon2 for each pair, at every z
    if monotone is not None:
        assert on(ENDLESS, noes_then(times, *(0,) * times)) == pytest.approx(monotone, abs=6e-4)


def test_the_ratio_of_integrands_never_falls_below_the_price_of_one_pair() -> None:
    """kappa(z) = F(z) S(z-1) / (F(z-1) S(z)) at scale 2: at least e^(1/2), which is its limit."""

    def survival(x: float) -> float:
        return exp(-x / 2) / 2 if x >= 0 else 1 - exp(x / 2) / 2

    def kappa(z: float) -> float:
        return survival(-z) * survival(z - 1) / (survival(1 - z) * survival(z))

    grid = [kappa(z) for z in np.linspace(-40, 40, 8001)]
    assert min(grid) == pytest.approx(1.64872, abs=1e-5)
    assert kappa(0) == pytest.approx(2.29744, abs=1e-5)


@pytest.mark.parametrize("times", [1, 2, 5, 10, 40])
def test_telling_the_compared_number_costs_half_an_epsilon_for_every_no(times: int) -> None:
    case = noes_then(times, 0, answer=Told(0.0))
    assert on(NOTES, case) == pytest.approx(times / 2, abs=1e-9)


@pytest.mark.parametrize("c", [1, 2, 3])
def test_without_telling_it_the_same_noise_costs_three_halves(c: int) -> None:
    only_yes = Variant(threshold_scale=2, query_scale=2 * c, most=c)
    assert on(only_yes, split(200, c)) == pytest.approx(1.5, abs=1e-3)


@pytest.mark.parametrize(("c", "found"), [(1, 1.7500), (2, 3.2500), (5, 7.7499), (10, 15.239)])
def test_query_noise_without_its_factor_costs_as_much_as_was_said(c: int, found: float) -> None:
    variant = replace(LATENT, most=c)
    assert on(variant, split(50, c)) == pytest.approx(found, abs=6e-5 if c < 10 else 6e-4)
    assert on(variant, split(50, c)) <= (1 + 6 * c) / 4
    assert on(variant, noes_then(50, *(0,) * c)) <= (1 + 3 * c) / 4


@pytest.mark.parametrize(
    ("c", "losses"),
    [(1, (0.3958, 0.9940, 1.0000)), (2, (0.3089, 0.9459, 1.0000)), (5, (0.2599, 0.6818, 1.0000))],
)
def test_the_standard_one_attains_its_epsilon(c: int, losses: tuple[float, ...]) -> None:
    found = tuple(on(standard(c), split(noes, c)) for noes in (1, 10, 50))
    assert found == pytest.approx(losses, abs=6e-5)
    assert max(found) <= 1


@pytest.mark.parametrize(("noes", "found"), [(20, 1.4999), (50, 1.5000)])
def test_half_of_the_query_noise_is_too_little_for_queries_that_move_both_ways(
    noes: int, found: float
) -> None:
    assert on(HALVED, split(noes, 1)) == pytest.approx(found, abs=6e-5)


@pytest.mark.parametrize("c", [1, 2, 5])
def test_half_of_the_query_noise_is_just_enough_for_monotone_queries(c: int) -> None:
    variant = Variant(threshold_scale=2, query_scale=2 * c, most=c)
    found = on(variant, noes_then(50, *(0,) * c))
    assert found == pytest.approx(1.0000, abs=6e-5)
    assert found <= 1


@pytest.mark.parametrize(("times", "found"), [(1, 0.179), (5, 0.467), (50, 0.500)])
def test_answers_that_are_all_no_cost_the_threshold_only(times: int, found: float) -> None:
    assert on(standard(1), noes_then(times)) == pytest.approx(found, abs=6e-4)
    assert on(NOISELESS, noes_then(times)) <= 0.5 + 1e-12  # even without query noise


@pytest.mark.parametrize(
    ("queries", "first", "second"),
    [(2, 0.406, 0.414), (4, 0.841, 0.863), (8, 1.747, 1.7985), (10, 2.210, 2.276), (20, 4.574, 4.702)],
)
def test_a_bit_for_each_query(queries: int, first: float, second: float) -> None:
    """{a,b}, {a,b,b}, {b,b}, threshold 1. For 8 queries 1.799 is printed; 30 digits say 1.798488."""
    half = queries // 2
    one, two, three = (0,) * queries, (0,) * half + (1,) * half, (-1,) * half + (1,) * half
    answers = (True,) * half + (False,) * half
    assert loss(ENDLESS, one, two, answers) == pytest.approx(first, abs=6e-4)
    assert loss(ENDLESS, two, three, answers) == pytest.approx(second, abs=6e-4)


@pytest.mark.parametrize("queries", [2, 5, 10])
def test_a_number_beside_the_bits(queries: int) -> None:
    """{a,b}, {a,a,b}, {a,a}, threshold 0, lambda 2: (k-1)/2 and k/2, exactly."""
    answers = (False,) * (queries - 1) + (Told(1.0),)
    one, two, three = (1,) * queries, (2,) * (queries - 1) + (1,), (2,) * (queries - 1) + (0,)
    assert loss(NOTES, one, two, answers) == pytest.approx((queries - 1) / 2, abs=1e-9)
    assert loss(NOTES, one, three, answers) == pytest.approx(queries / 2, abs=1e-9)


# --- the integration itself ---


def test_probabilities_of_all_answers_add_up_for_every_kind_of_variant() -> None:
    """`law` refuses to be made otherwise; here with kinks off the whole numbers, too."""
    values = (0.25, 1.0, -2.5, 0.25)
    for variant in (standard(2), NOISELESS, ENDLESS, LATENT, replace(standard(2), redraw=True)):
        found = law(variant, values)
        assert sum(found.probability(outcome) for outcome in found.logs) == pytest.approx(1, abs=1e-12)
    assert len(law(replace(standard(2), most=None), values).logs) == 16


def test_discrete_noise_on_a_fine_lattice_comes_close_to_continuous_noise() -> None:
    fine = 64
    answers = (False, True, False, True)
    continuous = log_probability(standard(2), (0, 1, -1, 2), answers)
    discrete = log_probability(
        Variant(2 * fine, 8 * fine, 2, discrete=True), tuple(fine * value for value in (0, 1, -1, 2)), answers
    )
    assert discrete == pytest.approx(continuous, abs=1e-2)


def test_one_query_by_hand() -> None:
    """P(yes) for a query at its threshold: rho <= nu for independent discrete noise; ties count as yes."""
    a, b = exp(-1 / 2), exp(-1 / 4)
    equal = sum((1 - a) / (1 + a) * a ** abs(k) * (1 - b) / (1 + b) * b ** abs(k) for k in range(-400, 401))
    found = exp(log_probability(Variant(2, 4, 1, discrete=True), (0,), (True,)))
    assert found == pytest.approx(0.5 + equal / 2, abs=1e-12)


# --- every target's fate ---


@pytest.mark.parametrize("target", SHIPPED, ids=by_name)
def test_exact_loss_of_every_shipped_selection_is_at_most_epsilon(target: Target) -> None:
    found = exact_bound(target)
    claimed = float(target.promise.epsilon)
    assert found.epsilon <= claimed * (1 + 1e-9)
    tight = {
        "sparse-vector",
        "sparse-vector-monotone",
        "sparse-vector-standard",
        "sparse-vector-corrected",
        "top-one-shot",
    }
    if target.name in tight:
        assert found.epsilon == pytest.approx(claimed, abs=2e-4)


@pytest.mark.parametrize("target", SHIPPED, ids=by_name)
def test_running_shipped_selections_does_not_refute_them(target: Target) -> None:
    few = replace(target, pairs=target.pairs[:2], effort=1)
    assert examine(few, 240, verdict_only=True).status is Status.HOLDS


@pytest.mark.parametrize("target", [each for each in BROKEN if each.loss], ids=by_name)
def test_integration_refutes_every_published_mistake(target: Target) -> None:
    verdict = examine(replace(target, run=None), 0)
    assert verdict.status is Status.REFUTED
    assert verdict.failure == 0
    assert {"published", "truth", "why", "counterexample"} <= set(target.background)


@pytest.mark.parametrize("target", [each for each in BROKEN if not each.loss], ids=by_name)
def test_the_audit_finds_pair_and_event_by_itself(target: Target) -> None:
    """No event is given, and the pair is one of many; wrong with probability at most 1e-6 each."""
    assert not target.events
    assert len(target.pairs) > 1
    runs = 8_000 if "forgotten" in target.name else 4_000
    assert examine(replace(target, effort=1), runs).status is Status.REFUTED


def test_running_the_variants_without_an_end_refutes_them_too() -> None:
    chosen = [each for each in BROKEN if each.name in ("broken-sparse-alg21", "broken-sparse-alg22")]
    for target in chosen:
        verdict = examine(replace(target, loss=None, pairs=target.pairs[-1:], effort=1), 20_000)
        assert verdict.status is Status.REFUTED


def test_runs_of_a_variant_agree_with_its_integral() -> None:
    """12,000 runs of Algorithm 20; each of three frequencies within 5 standard deviations (1e-6)."""
    from penstock.privacy.randomness.generator import Randomness

    rows = broken_sparse.simulate(LATENT, (0, 1, 0), Randomness.seeded(1), 12_000)
    for answers in ((False, False, False), (False, True, False), (True, True)):
        hits = np.all(rows[:, : len(answers)] == answers, axis=1).mean()
        chance = exp(log_probability(LATENT, (0, 1, 0), answers))
        # A lattice of sixteenths is off by less than 2 % of the probability.
        assert abs(hits - chance) < 5 * (chance * (1 - chance) / 12_000) ** 0.5 + 0.02 * chance


def test_designs_audited_are_those_that_are_shipped() -> None:
    assert Variant.of(Design.of(1, 1, **PRESETS["standard"])) == replace(standard(1), discrete=True)
    assert Variant.of(Design.of(1, 2, redraw=True, allocation="1:1")) == Variant(4, 8, 2, True, True)


# --- quarantine ---


def test_no_broken_variant_can_be_reached_from_outside_the_audit() -> None:
    """No module outside `penstock/audit` imports the broken ones, and no method or verb knows their names."""
    root = Path(penstock.__file__).parent
    for file in root.rglob("*.py"):
        if (root / "audit") in file.parents:
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = (
                [alias.name for alias in node.names] if isinstance(node, ast.Import | ast.ImportFrom) else []
            )
            module = node.module or "" if isinstance(node, ast.ImportFrom) else ""
            assert not any("broken" in name for name in (*names, module)), file
    from penstock import catalogue

    assert not any("broken" in info.name or "broken" in info.where for info in catalogue.methods())
    with pytest.raises(UsageError, match="no method 'broken-sparse-alg19'"):
        catalogue.method("broken-sparse-alg19")


def test_broken_variants_take_no_budget() -> None:
    source = Path(broken_sparse.__file__).read_text(encoding="utf-8")
    assert "Budget" not in source
    assert "spend" not in source


def test_the_audit_lists_all_of_them() -> None:
    listed = {target.name: target.kind for target in targets()}
    assert all(listed[target.name] is Kind.SHIPPED for target in SHIPPED)
    assert all(listed[target.name] is Kind.BROKEN for target in BROKEN)
