"""Baselines: worked values, exact noise scales, receipts, and sensitivities refuted or not by brute force."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from fractions import Fraction
from functools import cache
from itertools import combinations
from math import comb, exp, prod
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import catalogue
from penstock.audit.neighbours import neighbours
from penstock.audit.sensitivity import moves
from penstock.contracts.plug import method_class
from penstock.errors import QueryError, UsageError
from penstock.evaluation.metrics import tvd
from penstock.kinds.table.baselines import MWEM, Contingency, FourierMarginals, LaplaceMarginals, Uniform
from penstock.kinds.table.baselines.fourier import (
    block,
    block_shape,
    coefficients,
    marginal_from,
    supports_of,
)
from penstock.kinds.table.baselines.full_table import FullTableRelease, all_sums, summed
from penstock.kinds.table.baselines.marginals import MarginalsRelease
from penstock.kinds.table.baselines.mwem import Query, Weights
from penstock.kinds.table.baselines.workload import workload
from penstock.kinds.table.data import Table
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.seals.sealed import Sealed, join
from penstock.releases import Manifest, load
from penstock.schema import Relation, Schema

FIELDS = """
fields:
  - {name: a, constraints: {enum: [u, v, w]}}
  - {name: b, constraints: {enum: [s, t]}}
  - {name: c, constraints: {enum: [x, y]}}
"""
METHODS: dict[str, Any] = {
    "laplace": LaplaceMarginals(2),
    "fourier": FourierMarginals(2),
    "contingency, clamp first": Contingency("clamp-first"),
    "contingency, project first": Contingency("project-first"),
    "mwem": MWEM(2, rounds=3),
    "mwem, last": MWEM(2, per_round=Fraction(1, 4), output="last"),
    "uniform": Uniform(),
}
every_method = pytest.mark.parametrize("method", METHODS.values(), ids=METHODS.keys())
either_relation = pytest.mark.parametrize("relation", list(Relation))


@cache
def people(n: int = 600, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    b = rng.integers(0, 2, n)
    return pl.DataFrame(
        {
            "a": rng.choice(["u", "v", "w"], n, p=[0.6, 0.3, 0.1]),
            "b": np.array(["s", "t"])[b],
            "c": np.array(["x", "y"])[np.where(rng.random(n) < 0.9, b, 1 - b)],
        }
    )


@cache
def schema(relation: Relation, n: int) -> Schema:
    size = f"size: {n}\n" if relation is Relation.REPLACE else ""
    return Schema.from_yaml(f"relation: {relation.value}\n{size}{FIELDS}")


@cache
def table(relation: Relation = Relation.REPLACE, n: int = 600) -> Table:
    return Table.open(people(n), schema(relation, n))


def fit(method: Any, relation: Relation = Relation.REPLACE, epsilon: object = 1, seed: int = 1) -> Any:
    return method.fit(table(relation), Budget(epsilon, randomness=Randomness.seeded(seed)))  # type: ignore[arg-type]


@cache
def truth(names: tuple[str, ...], n: int = 600) -> np.ndarray[Any, Any]:
    coded = schema(Relation.REPLACE, n).encode(people(n))
    sizes = {"a": 3, "b": 2, "c": 2}
    found = np.zeros([sizes[name] for name in names])
    np.add.at(found, tuple(coded[name] for name in names), 1)
    return found


# What all of them promise -------------------------------------------------------------------------


@either_relation
@every_method
def test_the_receipt_adds_up_to_the_budget_and_the_relation_is_stated(
    method: Any, relation: Relation
) -> None:
    receipt = fit(method, relation, "7/10").receipt
    assert receipt.epsilon == Fraction(7, 10)
    assert receipt.delta == 0
    assert receipt.relation is relation


@either_relation
@every_method
def test_every_marginal_is_a_distribution(method: Any, relation: Relation) -> None:
    release = fit(method, relation, "1/10")
    for names in (("a",), ("b", "a"), ("c", "b")):
        found = release.marginal(names)
        assert found.shape == truth(names).shape
        assert found.min() >= 0
        assert found.sum() == pytest.approx(1.0)
    assert release.marginal(("a", "b")) == pytest.approx(release.marginal(("b", "a")).T)


@pytest.mark.parametrize(
    "name", ["laplace", "fourier", "contingency, clamp first", "contingency, project first"]
)
def test_with_much_budget_the_truth_comes_out(name: str) -> None:
    """Noise of scale at most 24/90 on counts: P(|noise| > 12) < exp(-40) for each of 16 cells."""
    release = fit(METHODS[name], epsilon=90)
    for names in (("a", "b"), ("c", "b")):
        assert np.abs(release.marginal(names) * 600 - truth(names)).max() < 20
    answer = release.query("a = 'u' and b = 's'")
    assert answer.value == pytest.approx(truth(("a", "b"))[0, 0], abs=20)


@every_method
def test_saved_and_loaded_it_answers_the_same(method: Any, tmp_path: Path) -> None:
    release = fit(method)
    release.save(tmp_path / "out")
    again = load(tmp_path / "out")
    assert type(again) is type(release)
    assert again.receipt == release.receipt
    assert again.marginal(("a", "c")) == pytest.approx(release.marginal(("a", "c")))  # type: ignore[attr-defined]
    assert again.query("b = 's'").value == pytest.approx(release.query("b = 's'").value)


@every_method
def test_impossible_rows_have_no_probability(method: Any) -> None:
    ruled = Schema.from_yaml(FIELDS + "impossible: [\"a = 'w' and c = 'x'\"]\nsize: 600\nrelation: replace\n")
    allowed = people().filter(~((pl.col("a") == "w") & (pl.col("c") == "x")))
    rules = ruled.model_copy(update={"size": allowed.height})
    release = method.fit(Table.open(allowed, rules), Budget(1, randomness=Randomness.seeded(2)))
    assert release.marginal(("a", "c"))[2, 0] == pytest.approx(0.0, abs=1e-12)
    assert release.query("a = 'w' and c = 'x'").value == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize(
    "name", ["contingency, clamp first", "contingency, project first", "mwem", "uniform"]
)
def test_rows_can_be_drawn_and_follow_the_model(name: str) -> None:
    """20,000 rows: a share is off by .03 with probability below 2 exp(-2 * 20000 * .03^2) < 1e-15."""
    release = fit(METHODS[name])
    rows = release.sample(20_000, seed=3)
    assert abs(float((rows["b"] == "s").mean()) - _share(release)) < 0.03  # type: ignore[arg-type]


def _share(release: Any) -> float:
    """Of b = s in the distribution that rows are drawn from."""
    if isinstance(release, FullTableRelease):
        return float(summed(release._shares, [1])[0])
    return 0.5


def test_a_budget_pays_once_and_mistakes_cost_nothing() -> None:
    budget = Budget(1, randomness=Randomness.seeded(1))
    wrong: tuple[tuple[Any, dict[str, Any]], ...] = (
        (LaplaceMarginals, {"way": 0}),
        (FourierMarginals, {"way": 4}),
        (MWEM, {"way": 9}),
        (MWEM, {"way": 2, "rounds": 0}),
        (MWEM, {"way": 2, "per_round": Fraction(0)}),
        (MWEM, {"way": 2, "output": "first"}),
        (Contingency, {"order": "sideways"}),
    )
    for method, parameters in wrong:
        with pytest.raises(UsageError, match="Nothing was spent"):
            method(**parameters).fit(table(), budget)
    assert budget.left == (1, 0)


def test_domains_that_do_not_fit_are_refused_before_anything_is_spent() -> None:
    wide = Schema.from_yaml(
        "relation: replace\nsize: 1\nfields:\n"
        + "\n".join(f"  - {{name: v{i}, constraints: {{enum: [p, q]}}}}" for i in range(40))
    )
    one = Table.open(pl.DataFrame({f"v{i}": ["p"] for i in range(40)}), wide)
    for method in (Contingency(), MWEM()):
        with pytest.raises(UsageError, match=r"1.1e\+12 cells"):
            method.fit(one, Budget(1, randomness=Randomness.seeded(1)))
    with pytest.raises(UsageError, match="choose a smaller way"):
        LaplaceMarginals(20).fit(one, Budget(1, randomness=Randomness.seeded(1)))
    assert Uniform().fit(one, Budget(1, randomness=Randomness.seeded(1))).marginal(("v0",)).tolist() == [
        0.5,
        0.5,
    ]


def test_more_attributes_than_measured_are_refused_in_words() -> None:
    with pytest.raises(QueryError, match="marginals of 2 different attributes"):
        fit(LaplaceMarginals(2)).query("a = 'u' and b = 's' and c = 'x'")


def test_a_hostile_model_is_refused() -> None:
    release = fit(LaplaceMarginals(2))
    other = Schema.from_yaml("fields: [{name: a, constraints: {enum: [u, v]}}]")
    from penstock.errors import ReleaseError

    with pytest.raises(ReleaseError, match="does not fit"):
        MarginalsRelease.from_model(Manifest("laplace", other, release.receipt, {}), release.model())
    full = fit(Contingency())
    with pytest.raises(ReleaseError, match="where 2 were expected"):
        FullTableRelease.from_model(Manifest("contingency", other, full.receipt, {}), full.model())


# Noise scales -------------------------------------------------------------------------------------


def test_noise_has_the_published_scales() -> None:
    """Sizes 3, 2, 2: three pairs for Laplace; for Fourier 1 + (3 + 1 + 1) + (3 + 3 + 1) = 13 coefficients."""

    def scale(method: Any, relation: Relation) -> str:
        ((_, charge),) = fit(method, relation, "1/2").receipt.charges()
        assert charge.epsilon == Fraction(1, 2)
        return str(charge.detail)

    assert scale(LaplaceMarginals(2), Relation.REPLACE) == "scale 12"  # 2 * 3 / .5
    assert scale(LaplaceMarginals(2), Relation.ADD_REMOVE) == "scale 6"
    assert scale(FourierMarginals(2), Relation.REPLACE) == "scale 52"  # 2 * 13 / .5
    assert scale(FourierMarginals(2), Relation.ADD_REMOVE) == "scale 26"
    assert scale(Contingency(), Relation.REPLACE) == "scale 4"  # 2 / .5
    charges = [charge for _, charge in fit(MWEM(2, rounds=4), epsilon="1/2").receipt.charges()]
    assert [(c.epsilon, c.sensitivity) for c in charges] == [
        (Fraction(1, 16), "range 512"),
        (Fraction(1, 16), "1"),
    ] * 4
    assert charges[1].detail == "scale 16"  # 2 T / epsilon


def test_deviations_are_those_of_the_noise() -> None:
    """The mean of squares of N = 16 * 100 Laplace draws has a relative spread of sqrt(5 / N) = .056, and

    the Fourier sums of such draws less. Off by .5 is nine spreads: for these tails (a square of Laplace
    noise beyond t has probability exp(-sqrt t)) that has probability below 1e-6.
    """
    for method in (LaplaceMarginals(2), FourierMarginals(2)):
        squares = []
        for seed in range(100):
            release = fit(method, epsilon=1, seed=seed)
            for number, names in enumerate(combinations("abc", 2)):
                gap = release.estimates[number] - truth(names)
                squares.append(float((gap**2).mean()) / release.deviations[number] ** 2)
        assert np.mean(squares) == pytest.approx(1.0, abs=0.5)


def test_nltcs_needs_the_published_number_of_coefficients() -> None:
    sizes = {f"v{i}": 2 for i in range(16)}
    for way, expected in ((3, 697), (4, 2517)):
        count = sum(prod(block_shape(support, sizes)) for support in supports_of(list(sizes), way))
        assert count == expected == sum(comb(16, j) for j in range(way + 1))


# Sensitivities ------------------------------------------------------------------------------------

RECORDS = [("u", "s", "x"), ("v", "t", "y"), ("w", "s", "y"), ("w", "t", "x")]


def measured(relation: Relation, ask: Callable[[Table], Sealed[Any]]) -> Callable[[Any], Sealed[Any]]:
    def measure(records: tuple[tuple[str, str, str], ...]) -> Sealed[Any]:
        frame = pl.DataFrame(list(records), schema=["a", "b", "c"], orient="row")
        return ask(Table.open(frame, schema(relation, len(records))))

    return measure


@either_relation
def test_coefficients_move_no_more_than_stated(relation: Relation) -> None:
    supports = supports_of(["a", "b", "c"], 2)
    pairs = list(neighbours(RECORDS, 2, relation, smallest=1))
    seen = moves(measured(relation, lambda t: coefficients(t, supports)), pairs)
    assert seen.contradictions == []
    assert seen.linf == (1 if relation is Relation.ADD_REMOVE else 2)
    if relation is Relation.ADD_REMOVE:
        assert seen.l1 == 13  # tight: every coefficient moves by one


@either_relation
def test_all_tables_together_move_as_stated(relation: Relation) -> None:
    pairs = list(neighbours(RECORDS, 2, relation, smallest=1))
    sets = list(combinations("abc", 2))
    seen = moves(measured(relation, lambda t: join(t.counts(sets))), pairs)
    assert seen.contradictions == []
    assert seen.l1 == float(seen.stated.l1)


@either_relation
def test_scores_and_counts_of_mwem_move_no_more_than_stated(relation: Relation) -> None:
    pairs = list(neighbours(RECORDS, 2, relation, smallest=1))
    weights = Weights((3, 2, 2), 2.0)
    weights.towards(Query((0,), (1,)), 1.5)
    sets = list(combinations("abc", 2))
    method = MWEM(2)

    def errors(t: Table) -> Sealed[Any]:
        return method._errors(join(t.counts(sets)), weights, len(sets[0]))

    scores = moves(measured(relation, errors), pairs)
    assert scores.contradictions == []
    assert scores.linf == 256
    cell = moves(measured(relation, lambda t: method._one(join(t.counts(sets)), 0)), pairs)
    assert cell.contradictions == []
    assert cell.l1 == 1


# Worked values ------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 50), min_size=30, max_size=30))
def test_fourier_and_back_is_the_identity(cells: list[int]) -> None:
    """Sizes 5, 3, 2: codes that do not fill their bits included."""
    sizes = {"p": 5, "q": 3, "r": 2}
    joint = np.array(cells).reshape(5, 3, 2)
    names = tuple(sizes)
    known = {
        support: block(
            joint.sum(axis=tuple(i for i, n in enumerate(names) if n not in support)),
            [sizes[n] for n in support],
        ).astype(float)
        for support in supports_of(names, 3)
        if support
    }
    known[()] = np.array(float(joint.sum()))
    assert marginal_from(names, known, sizes) == pytest.approx(joint, abs=1e-9)
    assert marginal_from(("p", "r"), known, sizes) == pytest.approx(joint.sum(axis=1), abs=1e-9)


def test_a_coefficient_by_hand() -> None:
    """Bits x1 x2 of the records 00, 01, 11, 11: c_{1} = +1+1-1-1 = 0, c_{1,2} = +1-1+1+1 = 2."""
    counts = np.array([1, 1, 0, 2])
    assert block(counts.reshape(2, 2), [2, 2]).tolist() == [[2]]
    assert block(counts.reshape(2, 2).sum(axis=1), [2]).tolist() == [0]
    # the same bits as one attribute of four values: masks 01, 10, 11
    assert block(counts, [4]).tolist() == [-2, 0, 2]


@given(st.data())
@settings(max_examples=30)
def test_sums_over_axes_are_numpys(data: st.DataObject) -> None:
    shape = tuple(data.draw(st.lists(st.integers(1, 3), min_size=1, max_size=5)))
    values = np.random.default_rng(len(shape)).random(shape)
    way = data.draw(st.integers(1, len(shape)))
    found = list(all_sums(values, way))
    assert [kept for kept, _ in found] == list(combinations(range(len(shape)), way))
    for kept, table_ in found:
        drop = tuple(axis for axis in range(len(shape)) if axis not in kept)
        assert table_ == pytest.approx(values.sum(axis=drop))
        order = kept[::-1]
        assert summed(values, order) == pytest.approx(values.sum(axis=drop).transpose())


def test_both_orders_of_contingency_by_hand() -> None:
    """Noisy cells 6, -2 / -2, 4: cut off first gives row shares .6, .4; summed first 4, 2 gives 2/3, 1/3."""
    square = Schema.from_yaml("fields: [{name: p, type: boolean}, {name: q, type: boolean}]")
    values = np.array([[6.0, -2.0], [-2.0, 4.0]])
    receipt = fit(Uniform()).receipt
    first, second = (
        FullTableRelease(
            method="contingency", schema=square, receipt=receipt, total=6.0, values=values, order=order
        )
        for order in ("clamp-first", "project-first")
    )
    assert first.marginal(("p",)).tolist() == pytest.approx([0.6, 0.4])
    assert second.marginal(("p",)).tolist() == pytest.approx([2 / 3, 1 / 3])
    assert first.all_marginals(1)[("q",)].tolist() == pytest.approx([0.6, 0.4])
    assert second.all_marginals(1)[("q",)].tolist() == pytest.approx([2 / 3, 1 / 3])
    assert second.query("p = false and q = true").value == 0.0


def test_one_step_of_multiplicative_weights_by_hand() -> None:
    """Uniform over 2 x 2, n = 10: the cell p = 0 holds 5; a count of 8 multiplies it by exp(3/20)."""
    weights = Weights((2, 2), 10.0)
    weights.towards(Query((0,), (0,)), 8.0)
    up = exp(0.15)
    assert weights.shares()[0, 0] == pytest.approx(0.25 * up / (0.5 * up + 0.5))
    assert weights.shares().sum() == pytest.approx(1.0)
    assert 10 * weights.shares()[0].sum() == pytest.approx(10 * up / (up + 1))


def test_mwem_gets_closer_with_more_rounds_of_ample_budget() -> None:
    """At epsilon 100 the counts are nearly exact (scale 2 T / epsilon below 1), so the steps converge."""
    far = fit(MWEM(2, rounds=1), epsilon=100)
    near = fit(MWEM(2, rounds=40, output="last"), epsilon=100)
    for names in combinations("abc", 2):
        assert tvd(near.marginal(names), truth(names)) < 0.6 * tvd(far.marginal(names), truth(names)) + 0.02


def test_rounds_follow_the_budget() -> None:
    """The published rule: epsilon / .05 rounds, at least one."""
    for epsilon, rounds in (("0.05", 1), ("0.1", 2), ("1.6", 32), ("0.01", 1)):
        assert MWEM()._rounds(Budget(epsilon)) == rounds


def test_workloads_are_all_sets_in_the_order_of_the_schema() -> None:
    assert workload(schema(Relation.REPLACE, 1), 2) == [("a", "b"), ("a", "c"), ("b", "c")]


# By name ------------------------------------------------------------------------------------------

BY_NAME = {
    info.name: info
    for info in catalogue.methods("table", role="baseline")
    if info.where.startswith("penstock.kinds.table.")  # those of analyses are tested in their own rooms
}
EVERY: dict[str, Any] = {
    "laplace-marginals": LaplaceMarginals(),
    "fourier-marginals": FourierMarginals(way=1),
    "contingency": Contingency(order="clamp-first"),
    "mwem": MWEM(way=2, per_round=Fraction(1, 3)),
    "uniform": Uniform(),
}
named = pytest.mark.parametrize("name", EVERY)


def test_every_baseline_has_a_name_and_no_other_method_has_it() -> None:
    assert set(BY_NAME) == set(EVERY)
    for name, method in EVERY.items():
        assert method_class(BY_NAME[name]) is type(method)
        assert fit(method).method == name


@named
@settings(max_examples=15, deadline=None)
@given(
    epsilon=st.fractions(min_value=Fraction(1, 1000), max_value=20, max_denominator=10**6),
    seed=st.integers(0, 99),
)
def test_under_every_relation_that_is_stated_the_whole_budget_is_spent_exactly(
    name: str, epsilon: Fraction, seed: int
) -> None:
    for stated in BY_NAME[name].relations:
        budget = Budget(epsilon, randomness=Randomness.seeded(seed))
        release = EVERY[name].fit(table(Relation(stated)), budget)
        assert release.receipt.epsilon == epsilon
        assert release.receipt.relation is Relation(stated)
        assert budget.left == (0, 0)


@named
def test_what_was_set_is_on_the_release_and_survives_saving(name: str, tmp_path: Path) -> None:
    method = EVERY[name]
    release = fit(method, Relation.ADD_REMOVE, epsilon=2)
    release.save(tmp_path / "out")
    again = load(tmp_path / "out")
    for each in fields(method):
        value = getattr(method, each.name)
        if value is not None:
            shown = str(value) if isinstance(value, Fraction) else value
            assert again.parameters[each.name] == shown
    assert again.parameters == release.parameters


@named
def test_drawn_rows_are_rows_of_the_schema(name: str) -> None:
    release = fit(EVERY[name], Relation.ADD_REMOVE, epsilon="1/20")
    if isinstance(release, MarginalsRelease):
        with pytest.raises(UsageError, match="cannot be sampled"):
            release.sample(5)
        return
    rows = release.sample(500, seed=4)
    assert rows.columns == ["a", "b", "c"]
    for column in rows.columns:
        assert set(rows[column]) <= set(release.schema.attribute(column).labels)


@pytest.mark.parametrize(
    ("method", "parameters"),
    [
        (LaplaceMarginals, {"way": "2"}),
        (FourierMarginals, {"way": 1.0}),
        (MWEM, {"way": True}),
        (MWEM, {"way": 2, "rounds": 2.5}),
        (MWEM, {"way": 2, "per_round": Fraction(-1)}),
        (Contingency, {"order": ["clamp-first"]}),
    ],
)
def test_values_of_the_wrong_type_are_refused_in_words_before_anything_is_read(
    method: Any, parameters: dict[str, Any]
) -> None:
    with pytest.raises(UsageError, match="Nothing was spent"):
        method(**parameters)


def test_adaptive_bins_are_judged_by_what_they_can_become() -> None:
    """Four columns of a thousand narrow bins each do not fit, and at most four merged ones of each do."""
    field = "{{name: {}, type: integer, constraints: {{minimum: 0, maximum: 999}}, bins: {}}}"
    bins = {True: "{adaptive: true, count: 1000, most: 4}", False: "{count: 1000}"}
    later, now = (
        Schema.from_yaml("fields:\n" + "\n".join(f"  - {field.format(n, bins[kind])}" for n in "pqrs"))
        for kind in (True, False)
    )
    for method in (Contingency(), MWEM(3), LaplaceMarginals(3), FourierMarginals(3)):
        method.check(later)
        with pytest.raises(UsageError, match="Nothing was spent"):
            method.check(now)
        unmerged = Table.open(pl.DataFrame({name: [1, 2] for name in "pqrs"}), later)
        with pytest.raises(UsageError, match="still to be found"):
            method.fit(unmerged, Budget(1))


def test_a_baseline_is_reached_from_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from penstock.cli import run

    people().write_csv(tmp_path / "people.csv")
    schema(Relation.ADD_REMOVE, 600).save(tmp_path / "people.yaml")
    words = ["--schema", str(tmp_path / "people.yaml"), "--epsilon", "1", "--method", "mwem"]
    words += ["--param", "way=2", "--param", "per-round=1/4", "--seed", "1"]
    assert run(["release", str(tmp_path / "people.csv"), *words, "--out", str(tmp_path / "release")]) == 0
    assert load(tmp_path / "release").parameters == {
        "way": 2,
        "rounds": 4,
        "output": "average",
        "per_round": "1/4",
    }
    capsys.readouterr()
    assert run(["methods", "--baselines"]) == 0
    shown = capsys.readouterr().out
    assert all(name in shown for name in EVERY)
    assert run(["methods"]) == 0
    assert "contingency" not in capsys.readouterr().out
