"""Budgets: whatever way they are divided, what was paid is what they were worth, and never more."""

from __future__ import annotations

import copy
import os
import pickle
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.errors import BudgetError, LedgerError, ReleaseError
from penstock.privacy.budgets.accounting import rho_of
from penstock.privacy.budgets.amounts import exact
from penstock.privacy.budgets.budget import LARGEST_DELTA, Budget, Rho
from penstock.privacy.budgets.charges import Apart, Concentrated
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.seals.sealed import Sealed
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.privacy.unit import Relation, Unit

ADD_REMOVE, REPLACE = Relation.ADD_REMOVE, Relation.REPLACE


def pay(budget: Budget | Rho, relation: Relation = ADD_REMOVE) -> None:
    budget.spend("test mechanism", relation=relation)


def pay_in_some_way(budget: Budget | Rho, data: st.DataObject, depth: int = 0) -> None:
    """Divide the budget at random, down to a few levels, and spend all of it."""
    ways = ["spend"] if depth >= 3 else ["spend", "split", "part and rest", "part and spend", "evenly"]
    if isinstance(budget, Budget) and depth < 3:
        ways += ["apart", "concentrated"] if budget.delta else ["apart"]
    way = data.draw(st.sampled_from(ways))
    share = data.draw(
        st.fractions(min_value=Fraction(1, 50), max_value=Fraction(49, 50), max_denominator=1000)
    )
    pieces: list[Any] = []
    if way == "spend":
        pay(budget)
    elif way == "split":
        pieces = list(budget.split(one=share, other_one=1 - share))
    elif way == "part and rest":
        pieces = [budget.part("first", share), budget.rest("rest")]
    elif way == "part and spend":
        pieces = [budget.part("first", share)]
        pay(budget)
    elif way == "evenly":
        pieces = list(budget.evenly(["a", "b", "c"]))
    elif way == "apart":
        assert isinstance(budget, Budget)
        pieces = list(
            budget.apart(["left", "middle", "right"], meets=data.draw(st.integers(1, 5)), because="made up")
        )
    else:
        assert isinstance(budget, Budget)
        pieces = [budget.concentrated("gaussian")]
    for piece in pieces:
        pay_in_some_way(piece, data, depth + 1)


amounts = st.fractions(min_value=Fraction(1, 10**6), max_value=100, max_denominator=10**6)
deltas = st.one_of(
    st.just(Fraction(0)), st.fractions(Fraction(1, 10**9), LARGEST_DELTA, max_denominator=10**9)
)


@settings(max_examples=150, deadline=None)
@given(epsilon=amounts, delta=deltas, data=st.data())
def test_every_way_of_paying_everything_costs_the_budget_exactly(
    epsilon: Fraction, delta: Fraction, data: st.DataObject
) -> None:
    budget = Budget(epsilon, delta)
    pay_in_some_way(budget, data)
    receipt = budget.receipt()
    assert (receipt.epsilon, receipt.delta) == (epsilon, delta)
    assert budget.left == (0, 0)


@given(shares=st.lists(st.fractions(0, 1, max_denominator=60), min_size=1, max_size=6))
def test_shares_above_the_whole_are_refused_and_leave_the_budget_untouched(shares: list[Fraction]) -> None:
    budget = Budget("1/3")
    named: dict[str, Any] = {f"part_{i}": share for i, share in enumerate(shares)}
    if sum(shares) > 1:
        with pytest.raises(BudgetError, match="All parts together"):
            budget.split(**named)
        assert budget.left == (Fraction(1, 3), 0)
    else:
        parts = budget.split(**named)
        assert sum(part.epsilon for part in parts) + budget.left[0] == Fraction(1, 3)


@pytest.mark.parametrize(
    "epsilon",
    [
        "nan",
        "inf",
        "-inf",
        float("nan"),
        float("inf"),
        Decimal("NaN"),
        Decimal("Infinity"),
        Decimal("sNaN"),
        "",
        "one",
        "1/0",
        "1//2",
        None,
        True,
        [1],
        "1e999999999",
        "1e-999999999",
        Decimal("1e999999"),
        "9" * 5000,
        1j,
        "0x1",
        "1_000",
    ],
)
def test_what_is_not_a_finite_number_is_refused(epsilon: Any) -> None:
    with pytest.raises(BudgetError, match=r"epsilon must be a finite number .* Nothing was spent\."):
        Budget(epsilon)


@pytest.mark.parametrize("epsilon", [0, "0", -1, -0.5, "-1/3", 0.0, -0.0])
def test_zero_and_negative_epsilon_is_refused(epsilon: Any) -> None:
    with pytest.raises(BudgetError, match="epsilon must be greater than 0"):
        Budget(epsilon)


@pytest.mark.parametrize("epsilon", [101, 1e308, "1e300", 10**399, "100.0000001"])
def test_an_epsilon_that_protects_nobody_is_refused(epsilon: Any) -> None:
    with pytest.raises(BudgetError, match="protect nobody") as caught:
        Budget(epsilon)
    assert len(str(caught.value)) < 250


@pytest.mark.parametrize(
    ("delta", "why"),
    [
        (1, "below 1"),
        (2, "below 1"),
        (-1e-9, "at least 0"),
        ("nan", "finite"),
        (float("inf"), "finite"),
        (True, "finite"),
    ],
)
def test_odd_deltas_are_refused(delta: Any, why: str) -> None:
    with pytest.raises(BudgetError, match=f"delta must be .*{why}"):
        Budget(1, delta)


@pytest.mark.parametrize("delta", ["0.5", "0.010001", Fraction(999, 1000)])
def test_a_delta_that_protects_nobody_is_refused(delta: Any) -> None:
    """Publishing every hundredth record as it is is (0, 1/100)-DP: what is above has nothing to promise."""
    with pytest.raises(BudgetError, match=r"would protect nobody.*accepts is 0.01;.*Nothing was spent"):
        Budget(1, delta)
    assert Budget(1, "0.01").delta == LARGEST_DELTA


def test_floats_mean_the_decimal_they_print_as() -> None:
    assert Budget(0.1).epsilon == Fraction(1, 10)
    assert exact(np.float64(0.3)) == Fraction(3, 10)
    assert exact(Decimal("0.05")) == Fraction(1, 20)
    assert exact(" 1e-3 ") == Fraction(1, 1000)
    assert sum((exact(0.1) for _ in range(10)), Fraction(0)) == 1


def test_numpy_integers_do_not_stay_inside_the_fraction() -> None:
    value = exact(np.int64(3))  # type: ignore[arg-type]
    assert type(value.numerator) is int
    assert value**50 == 3**50


def test_nothing_can_be_spent_twice() -> None:
    budget = Budget(1)
    pay(budget)
    with pytest.raises(BudgetError, match="Nothing is left of 'release'"):
        pay(budget)
    with pytest.raises(BudgetError, match="where 0 is left"):
        budget.part("more", "1/10")
    assert budget.receipt().epsilon == 1


def test_a_part_pays_for_one_mechanism_only() -> None:
    budget = Budget(1)
    half = budget.part("half", "1/2")
    pay(half)
    with pytest.raises(BudgetError):
        pay(half)
    with pytest.raises(BudgetError):
        half.rest("again").spend("test mechanism", relation=ADD_REMOVE)
    pay(budget)
    assert budget.receipt().epsilon == 1


def test_overspending_is_refused_before_the_seal_is_opened() -> None:
    opened = []

    class Tattling(Sealed[Any]):
        def __getattribute__(self, name: str) -> Any:
            if name == "_Sealed__value":
                opened.append(name)
            return super().__getattribute__(name)

    budget = Budget(1)
    with pytest.raises(BudgetError, match=r"would take epsilon 1\.5 of 'release', where 1 is left"):
        budget.part("greedy", "3/2")
    pay(budget)
    sealed = Tattling(5, Sensitivity.of(1), ADD_REMOVE, because="a record counts once")
    with pytest.raises(BudgetError):
        budget.spend("test mechanism", sealed)
    assert not opened


def test_negative_and_huge_shares_are_refused() -> None:
    with pytest.raises(BudgetError, match="cannot be negative"):
        Budget(1).part("thief", "-1/2")
    with pytest.raises(BudgetError, match="cannot be negative"):
        Budget(1, "1e-6").part("thief", "1/2", delta_share=-1)
    with pytest.raises(BudgetError, match="more than 1e308"):
        Budget(1).part("giant", 10**400)


def test_delta_has_shares_of_its_own() -> None:
    budget = Budget(1, "1e-6")
    pure = budget.part("pure", "1/2", delta_share=0)
    rest = budget.rest("rest")
    assert (pure.delta, rest.delta) == (0, Fraction(1, 10**6))
    with pytest.raises(BudgetError, match="would take delta"):
        Budget(1, "1e-6").part("both", "1/2", delta_share="3/2")


def test_one_budget_pays_under_one_relation() -> None:
    first, second, third = Budget(1).split(a="1/4", b="1/4", c="1/4")
    pay(first)
    with pytest.raises(BudgetError, match="has paid under 'add-remove' and cannot also pay under 'replace'"):
        pay(second, REPLACE)
    pay(second)  # the refused payment was not charged
    pay(third)
    assert third.receipt().epsilon == Fraction(3, 4)


def test_a_mechanism_must_name_one_relation() -> None:
    with pytest.raises(BudgetError, match="under which relation"):
        Budget(1).spend("test mechanism")
    sealed = Sealed(1, Sensitivity.of(1), ADD_REMOVE, because="a record counts once")
    with pytest.raises(BudgetError, match="under which relation"):
        Budget(1).spend("test mechanism", sealed, relation=REPLACE)


@pytest.mark.parametrize("path", ["branch", "part", "deep", "rho"])
def test_disjoint_parts_never_pay_under_replace(path: str) -> None:
    branch = Budget(1, "1e-6").apart(["a", "b"], because="made up")[0]
    payer: Budget | Rho = branch
    if path == "part":
        payer = branch.part("inside", "1/2")
    elif path == "deep":
        payer = branch.part("inside", "1/2").evenly(["x", "y"])[0].rest("z")
    elif path == "rho":
        payer = branch.concentrated("gauss").part("x", "1/2")
    with pytest.raises(BudgetError, match="only private together under 'add-remove'"):
        pay(payer, REPLACE)


def test_a_unit_of_several_records_pays_for_as_many_disjoint_parts() -> None:
    budget = Budget(1)
    branches = budget.apart(["a", "b", "c"], meets=2, because="made up")
    assert [branch.epsilon for branch in branches] == [Fraction(1, 2)] * 3
    for branch in branches:
        pay(branch)
    user = Unit(protects="user", column="id", at_most=2)
    assert budget.receipt(user).epsilon == 1
    with pytest.raises(ReleaseError, match="disjoint parts, which does not hold"):
        budget.receipt(Unit(protects="user", column="id", at_most=3))


def test_one_disjoint_part_costs_what_it_costs_whoever_meets_it() -> None:
    budget = Budget(1)
    (only,) = budget.apart(["all"], meets=7, because="made up")
    pay(only)
    assert budget.receipt(Unit(protects="user", column="id", at_most=7)).epsilon == 1


def test_apart_needs_parts_and_someone_to_meet_them() -> None:
    with pytest.raises(BudgetError, match="at least one disjoint part"):
        Budget(1).apart([], because="made up")
    with pytest.raises(BudgetError, match="meets at least one"):
        Budget(1).apart(["a"], meets=0, because="made up")


@pytest.mark.parametrize("meets", [1.9, 1.0, Fraction(3, 2), "2", True, None, float("nan")])
def test_a_unit_meets_a_whole_number_of_parts(meets: Any) -> None:
    """1.9 was once cut to 1, and a unit in two parts paid for one."""
    budget = Budget(1)
    with pytest.raises(BudgetError, match="whole number"):
        budget.apart(["a", "b"], meets=meets, because="made up")
    assert budget.left == (1, 0)
    assert len(budget.apart(["a", "b"], meets=np.int64(2), because="made up")) == 2


@pytest.mark.parametrize("because", ["", "  ", None, 3])
def test_parts_are_disjoint_for_a_reason(because: Any) -> None:
    budget = Budget(1)
    with pytest.raises(BudgetError, match="share no record"):
        budget.apart(["a", "b"], because=because)
    with pytest.raises(TypeError, match="because"):
        budget.apart(["a", "b"])  # type: ignore[call-arg]
    assert budget.left == (1, 0)


def test_the_dearest_disjoint_part_is_the_price() -> None:
    budget = Budget(1)
    a, b = budget.apart(["a", "b"], because="made up")
    pay(a.part("half", "1/2"))
    pay(b.part("third", "1/3"))
    receipt = budget.receipt()
    assert receipt.epsilon == Fraction(1, 2)
    assert isinstance(receipt.paid.parts[0], Apart)


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, pickle.dumps])
def test_budgets_cannot_be_duplicated(duplicate: Any) -> None:
    budget = Budget(1, "1e-6")
    with pytest.raises(BudgetError, match="spent twice"):
        duplicate(budget)
    with pytest.raises(BudgetError, match="spent twice"):
        duplicate(budget.concentrated("rho"))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_process_cannot_spend_the_budget_again() -> None:
    budget = Budget(1)
    child = os.fork()
    if child == 0:
        try:
            pay(budget)
        except BudgetError:
            os._exit(17)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 17
    pay(budget)


def test_a_concentrated_part_is_one_exact_charge_with_its_rho_inside() -> None:
    budget = Budget(2, "1e-6")
    pure, approximate = budget.split(pure="1/2", approximate="1/2")
    pay(pure)
    rho = approximate.concentrated("sums")
    assert rho.rho == rho_of(Fraction(1), Fraction(1, 2 * 10**6))
    a, b = rho.split(a="1/3", b="2/3")
    pay(a)
    pay(b)
    receipt = budget.receipt()
    assert (receipt.epsilon, receipt.delta) == (2, Fraction(1, 10**6))
    group = receipt.paid.parts[1]
    while not isinstance(group, Concentrated):
        group = group.parts[0]  # type: ignore[union-attr]
    assert sum(portion.rho for portion in group.parts) == rho.rho
    lines = [charge for _, charge in receipt.charges()]
    assert sum(charge.epsilon for charge in lines) == 2
    assert f"rho = {float(rho.rho)}" in lines[1].detail


def test_a_concentrated_amount_is_all_due_with_its_first_portion_and_free_before() -> None:
    budget = Budget(1, "1e-6")
    first, second = budget.concentrated().evenly(["first", "second"])
    assert budget.receipt().epsilon == 0
    pay(first)
    assert budget.receipt().epsilon == 1
    pay(second)
    assert (budget.receipt().epsilon, budget.receipt().delta) == (1, Fraction(1, 10**6))
    with pytest.raises(BudgetError, match="Nothing is left of 'second'"):
        pay(second)
    with pytest.raises(BudgetError, match="Nothing is left"):
        budget.concentrated()


def test_rho_cannot_be_overdrawn() -> None:
    rho = Budget(1, "1e-6").concentrated()
    rho.part("most", "3/4")
    with pytest.raises(BudgetError, match="would take rho"):
        rho.part("more", "1/2")
    with pytest.raises(BudgetError, match="All parts together"):
        Budget(1, "1e-6").concentrated().split(a="2/3", b="2/3")
    assert rho.rest("rest").rho == rho.rho / 4


def test_a_concentrated_amount_needs_delta() -> None:
    budget = Budget(1)
    with pytest.raises(BudgetError, match="has no delta"):
        budget.concentrated()
    assert budget.left == (1, 0)


class NotingAccount:
    """An account that records what it is asked, and can be full."""

    def __init__(self, *, full: bool = False) -> None:
        self.full = full
        self.asked: list[tuple[str, Fraction, Fraction, Relation, Unit]] = []
        self.drawn_on: list[str] = []

    def check(self, epsilon: Fraction, delta: Fraction, relation: Relation, unit: Unit) -> None:
        self.asked.append(("check", epsilon, delta, relation, unit))
        if self.full:
            raise LedgerError("The account is full.")

    def drawn(self, entry: str) -> None:
        self.drawn_on.append(entry)

    def reserve(self, epsilon: Fraction, delta: Fraction, relation: Relation, unit: Unit) -> str:
        self.asked.append(("reserve", epsilon, delta, relation, unit))
        if self.full:
            raise LedgerError("The account is full.")
        return "entry 1"


def test_the_whole_budget_is_debited_once_with_the_first_charge() -> None:
    account = NotingAccount()
    budget = Budget(1, "1e-6", account=account)
    user = Unit(protects="user", column="patient", at_most=3)
    budget.protect(user)
    budget.check(ADD_REMOVE)
    a, b = budget.split(a="1/2", b="1/2")
    pay(a)
    pay(b)
    budget.check(ADD_REMOVE)  # already paid: not asked again
    assert account.asked == [(act, 1, Fraction(1, 10**6), ADD_REMOVE, user) for act in ("check", "reserve")]
    assert budget.receipt().unit == user
    with pytest.raises(BudgetError, match=r"has paid for one user .* cannot also pay for one record"):
        budget.protect(Unit())
    assert budget.receipt().ledger == "entry 1"
    assert account.drawn_on == ["entry 1", "entry 1"]  # told before every draw


def test_a_full_account_stops_the_charge_and_nothing_is_on_the_receipt() -> None:
    budget = Budget(1, account=NotingAccount(full=True))
    with pytest.raises(LedgerError):
        budget.check(ADD_REMOVE)
    for _ in range(2):
        with pytest.raises(LedgerError):
            pay(budget)
    assert budget.receipt().epsilon == 0
    assert budget.left[0] == 1


def test_a_seeded_budget_is_not_publishable() -> None:
    assert Budget(1).receipt().publishable
    assert not Budget(1, randomness=Randomness.seeded(1)).receipt().publishable


def test_reprs_say_what_is_left() -> None:
    budget = Budget("1", "1e-6")
    budget.part("a", "1/4")
    assert repr(budget) == "Budget(release: epsilon 1, delta 1e-06; left 0.75)"
    assert "left" in repr(Budget(1, "1e-6").concentrated("sums"))


def test_a_part_divided_under_a_mechanism_is_not_spent() -> None:
    """Another thread takes from a part between calibration and payment: the noise would be too small."""
    budget = Budget(1, randomness=Randomness.seeded(1))
    calibrated_to = budget.left[0]
    budget.part("taken meanwhile", "1/2")
    with pytest.raises(BudgetError, match="divided"):
        budget.spend("discrete Laplace", amount=calibrated_to, relation=Relation.ADD_REMOVE)
    assert budget.left[0] == Fraction(1, 2)
    assert budget.receipt().epsilon == 0
