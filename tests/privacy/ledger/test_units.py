"""The ledger never adds amounts about different units: they are converted, explicitly, or refused unspent."""

from __future__ import annotations

import os
import sqlite3
import stat
import traceback
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import catalogue
from penstock.errors import BudgetError, LedgerError
from penstock.privacy.budgets.accounting import group
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.ledger.entries import cost
from penstock.privacy.ledger.ledger import Ledger
from penstock.privacy.unit import Entity, Relation, Unit
from penstock.schema import Schema

ADD_REMOVE, REPLACE = Relation.ADD_REMOVE, Relation.REPLACE
ZERO, ONE = Fraction(0), Fraction(1)
RECORD = Unit()
PATIENT = Unit(protects="user", column="patient", at_most=3)
DOCTOR = Unit(protects="user", column="doctor", at_most=3)
HOSPITAL = Unit(protects="user", column="hospital", at_most=2)

ELSEWHERE = (
    catalogue.UnitInfo("edge", "your edge"),
    catalogue.UnitInfo("call record", "your call", bounded=True),
)

VERSION_1 = Path(__file__).with_name("version-1.sql")
"""The dump of a ledger that the last version without units wrote."""


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger.create(tmp_path / "ledger.db")


def test_a_record_and_a_user_of_forty_records_cost_forty_one_and_not_two(ledger: Ledger) -> None:
    ledger.set_limit("people", 50, unit="user:patient")
    ledger.account("people").reserve(ONE, ZERO, ADD_REMOVE, PATIENT)
    with pytest.raises(LedgerError, match=r"kept for one user \(patient\).*--holds-at-most N") as caught:
        ledger.account("people").check(ONE, ZERO, ADD_REMOVE, RECORD)
    assert "Nothing was spent." in str(caught.value)
    account = ledger.account("people", holds_at_most=40)
    account.check(ONE, ZERO, ADD_REMOVE, RECORD)
    account.reserve(ONE, ZERO, ADD_REMOVE, RECORD)
    assert account.balance().spent == (41, 0)
    first, second = account.entries()
    assert (first.unit, first.holds_at_most) == (PATIENT, 1)
    assert (second.unit, second.holds_at_most, second.epsilon) == (RECORD, 40, 1)
    assert first.to_dict()["unit"] == {"protects": "user", "column": "patient", "at_most": 3}
    assert (second.to_dict()["unit"], second.to_dict()["holds_at_most"]) == ({"protects": "record"}, 40)
    assert account.balance().to_dict()["unit"] == "user:patient"


def test_a_refused_unit_enters_nothing(ledger: Ledger) -> None:
    ledger.set_limit("people", 50, unit="user:patient")
    budget = Budget(1, account=ledger.account("people"))
    with pytest.raises(LedgerError, match="cannot be added up"):
        budget.spend("discrete laplace", relation=ADD_REMOVE)
    assert budget.receipt().epsilon == 0
    assert ledger.account("people").entries() == []


@pytest.mark.parametrize("returned", [False, True])
def test_the_first_entry_says_what_an_account_is_about(ledger: Ledger, returned: bool) -> None:
    """Given back or not: what was booked after it may have been converted to its unit."""
    ledger.set_limit("people", 500)
    account = ledger.account("people")
    assert account.balance().unit is None
    entry = account.reserve(ONE, ZERO, ADD_REMOVE, PATIENT)
    converted = ledger.account("people", holds_at_most=40)
    converted.reserve(ONE, ZERO, ADD_REMOVE, RECORD)
    if returned:
        account.give_back(entry)
    assert account.balance().unit == Entity("user", "patient")
    assert account.balance().spent[0] == (40 if returned else 41)
    for unit in (RECORD, DOCTOR):
        with pytest.raises(LedgerError, match="cannot be added up"):
            account.reserve(ONE, ZERO, ADD_REMOVE, unit)


def test_the_bound_on_a_user_does_not_make_another_unit(ledger: Ledger) -> None:
    """Each release draws its own sample of a user's records, so each is about the user as a whole."""
    ledger.set_limit("people", 5)
    account = ledger.account("people")
    account.reserve(ONE, ZERO, ADD_REMOVE, PATIENT)
    account.reserve(ONE, ZERO, ADD_REMOVE, PATIENT.model_copy(update={"at_most": 40}))
    assert account.balance().spent[0] == 2
    assert [line.unit.at_most for line in account.entries() if line.unit is not None] == [3, 40]


def test_the_delta_of_a_group_is_more_than_its_share(ledger: Ledger) -> None:
    ledger.set_limit("people", 50, "1e-3", unit="user:patient")
    account = ledger.account("people", holds_at_most=4)
    account.reserve(ONE, Fraction(1, 10**6), ADD_REMOVE, RECORD)
    epsilon, delta = account.balance().spent
    e = 2.718281828459045
    assert epsilon == 4
    assert float(delta) == pytest.approx(1e-6 * (1 + e + e**2 + e**3))
    with pytest.raises(LedgerError, match=r"asks for 1 \(converted for a group of 40\)"):
        ledger.account("people", holds_at_most=40).check(ONE, Fraction(1, 10**6), ADD_REMOVE, RECORD)


@given(
    st.fractions(Fraction(1, 100), 3, max_denominator=100),
    st.fractions(0, Fraction(1, 1000), max_denominator=10**9),
    st.integers(1, 12),
)
def test_both_conversions_are_one_group(epsilon: Fraction, delta: Fraction, held: int) -> None:
    """Replacing what holds m units is 2m steps of add-remove, and no order of converting is cheaper."""
    both = cost(epsilon, delta, ADD_REMOVE, REPLACE, held)
    exact = group(epsilon, delta, 2 * held)
    assert both[0] == exact[0]
    assert exact[1] * (1 - Fraction(1, 10**9)) <= both[1] <= exact[1] * (1 + Fraction(1, 10**9))


def test_replace_says_nothing_about_groups(ledger: Ledger) -> None:
    """The number of records is public under replace: a user of 3 records and one of 5 are no neighbours."""
    ledger.set_limit("people", 50, relation="replace", unit="user:patient")
    with pytest.raises(LedgerError, match="says nothing about a group of 5") as caught:
        ledger.account("people", holds_at_most=5).reserve(ONE, ZERO, REPLACE, RECORD)
    assert "Nothing was spent." in str(caught.value)
    ledger.account("people", holds_at_most=1).reserve(ONE, ZERO, REPLACE, RECORD)
    ledger.account("people", holds_at_most=5).reserve(ONE, ZERO, ADD_REMOVE, RECORD)
    assert ledger.account("people").balance().spent[0] == 11


def test_a_part_is_no_group_of_what_it_belongs_to(ledger: Ledger) -> None:
    """One record less leaves its user there: a user removed and another added, which is no group of users."""
    ledger.set_limit("visits", 50, unit="record")
    for held in (None, 1, 2):
        with pytest.raises(LedgerError, match="only a part of what this release protects") as caught:
            ledger.account("visits", holds_at_most=held).check(ONE, ZERO, ADD_REMOVE, PATIENT)
        assert "Nothing was spent." in str(caught.value)


def test_a_hospital_that_loses_a_patient_is_one_removed_and_another_added(ledger: Ledger) -> None:
    """Epsilon for hospitals, booked for patients of one hospital each, costs twice, and never less."""
    ledger.set_limit("people", 50, "1e-3", unit="user:patient")
    account = ledger.account("people", holds_at_most=1)
    account.reserve(ONE, Fraction(1, 10**6), ADD_REMOVE, HOSPITAL)
    epsilon, delta = account.balance().spent
    assert epsilon == 2
    assert float(delta) == pytest.approx(1e-6 * (1 + 2.718281828459045))
    [entry] = account.entries()
    assert (entry.holds_at_most, entry.counted(PATIENT.entity)) == (1, 2)
    ledger.account("people", holds_at_most=3).reserve(ONE, ZERO, ADD_REMOVE, HOSPITAL)
    assert account.balance().spent[0] == 8
    with pytest.raises(LedgerError, match=r"asks for 50 \(converted for a group of 50\)"):
        ledger.account("people", holds_at_most=25).check(ONE, ZERO, ADD_REMOVE, HOSPITAL)
    with pytest.raises(LedgerError, match=r"with all their records or with some.*price of 2 times N"):
        ledger.account("people").check(ONE, ZERO, ADD_REMOVE, HOSPITAL)


VISITS = [
    ("ann", "north", 1), ("ann", "north", 2), ("ann", "south", 3), ("bob", "north", 4), ("bob", "north", 5),
    ("eve", "south", 6), ("eve", "east", 7),
]  # fmt: skip


@pytest.mark.parametrize("patient", ["ann", "bob", "eve"])
def test_the_group_is_large_enough_for_every_sample_of_records(patient: str) -> None:
    """By hand: the records that hospitals of at most 2 bring, with and without a patient, whatever is drawn.

    One step of a hospital pays for the 2 records that it brings. The worst sample moves more records than
    one step for each hospital pays for, and never more than two steps do.
    """

    def brought(visits: list[tuple[str, str, int]]) -> dict[str, list[set[int]]]:
        places = ("north", "south", "east")
        rows = {name: [visit for _, at, visit in visits if at == name] for name in places}
        return {name: [set(kept) for kept in combinations(of, min(2, len(of)))] for name, of in rows.items()}

    before = brought(VISITS)
    after = brought([visit for visit in VISITS if visit[0] != patient])
    touched = {at for who, at, _ in VISITS if who == patient}
    moved = {at: max(len(a ^ b) for a in before[at] for b in after[at]) for at in before}
    records = sum(moved[at] for at in touched)
    assert records <= 2 * PATIENT.entity.group(HOSPITAL.entity, len(touched))
    if patient == "bob":
        assert records > 2 * len(touched)


def test_two_words_for_what_one_column_tells_apart_are_one_group(ledger: Ledger) -> None:
    """The events of a case are its sequence: without the case it is gone, and nothing else is changed."""
    case = Unit(protects="sequence", column="patient", at_most=1)
    ledger.set_limit("people", 50, unit="user:patient")
    account = ledger.account("people", holds_at_most=1)
    account.reserve(ONE, ZERO, ADD_REMOVE, case)
    assert account.balance().spent[0] == 1


def test_replace_says_nothing_about_units_that_overlap(ledger: Ledger) -> None:
    """A patient for another may be a hospital less and one more: their number is public under replace."""
    ledger.set_limit("people", 50, relation="replace", unit="user:patient")
    with pytest.raises(LedgerError, match="nothing about a group of 2"):
        ledger.account("people", holds_at_most=1).reserve(ONE, ZERO, REPLACE, HOSPITAL)
    ledger.account("people", holds_at_most=1).reserve(ONE, ZERO, ADD_REMOVE, HOSPITAL)
    assert ledger.account("people").balance().spent[0] == 4


def test_a_row_and_a_basket_of_rows_are_no_records_of_one_account(ledger: Ledger) -> None:
    """Without one row its basket is still there, and another: epsilon for baskets is 2 epsilon for rows."""
    field = "fields: [{name: product, constraints: {enum: [tea, milk]}}]"
    rows, items = Schema.from_yaml(field), "kind: itemsets\nitems: {item: product%s}\n" + field
    baskets, lines = Schema.from_yaml(items % ", transaction: basket"), Schema.from_yaml(items % "")
    events = Schema.from_yaml(
        "kind: sequences\nsequence: {symbol: page, user: visitor}\n"
        "fields: [{name: page, constraints: {enum: [home, away]}}]"
    )
    assert rows.booked == lines.booked == RECORD
    assert (baskets.booked.entity.name, events.booked.entity.name) == ("record:basket", "sequence:visitor")
    ledger.set_limit("shop", 50)
    ledger.account("shop").reserve(ONE, ZERO, ADD_REMOVE, rows.booked)
    with pytest.raises(
        LedgerError, match=r"only a part of what this release protects, one record \(basket\)"
    ):
        ledger.account("shop").check(ONE, ZERO, ADD_REMOVE, baskets.booked)
    ledger.set_limit("shop", 50, unit="record:basket", holds_at_most=9)
    ledger.account("shop").reserve(ONE, ZERO, ADD_REMOVE, baskets.booked)
    assert ledger.account("shop").balance().spent[0] == 10


def test_what_needs_no_conversion_is_not_converted(ledger: Ledger) -> None:
    ledger.set_limit("people", 50)
    with pytest.raises(LedgerError, match="nothing to convert"):
        ledger.account("people", holds_at_most=40).check(ONE, ZERO, ADD_REMOVE, RECORD)
    ledger.account("people").reserve(ONE, ZERO, ADD_REMOVE, RECORD)
    with pytest.raises(LedgerError, match="nothing to convert"):
        ledger.account("people", holds_at_most=40).reserve(ONE, ZERO, ADD_REMOVE, RECORD)


@pytest.mark.parametrize("held", [0, -1, 1.5, True, "3", 10**10])
def test_odd_groups_are_refused(ledger: Ledger, held: Any) -> None:
    ledger.set_limit("people", 50)
    with pytest.raises(LedgerError, match="must be a whole number from 1"):
        ledger.account("people", holds_at_most=held)


# Accounts that move.


def test_an_account_moves_to_the_larger_unit_at_the_higher_price(ledger: Ledger) -> None:
    ledger.set_limit("people", 50)
    account = ledger.account("people")
    account.reserve(Fraction(1, 2), ZERO, ADD_REMOVE, RECORD)
    with pytest.raises(LedgerError, match="say --unit and --holds-at-most N together"):
        ledger.set_limit("people", 50, unit="user:patient")
    ledger.set_limit("people", 50, unit="user:patient", holds_at_most=40)
    assert account.balance().spent[0] == 20
    account.reserve(ONE, ZERO, ADD_REMOVE, PATIENT)
    assert account.balance().spent[0] == 21
    ledger.set_limit("people", 300, unit="user:doctor", holds_at_most=5)  # a doctor has at most 5 patients
    assert account.balance().spent[0] == 110  # 5 times 40 records at 1/2, and 5 patients twice
    ledger.set_limit("people", 300)  # a limit that names no unit keeps it
    assert account.balance().unit == Entity("user", "doctor")
    with pytest.raises(LedgerError, match="a part of it"):
        ledger.set_limit("people", 300, unit="record", holds_at_most=1)


def test_an_account_under_replace_does_not_move_to_groups(ledger: Ledger) -> None:
    ledger.set_limit("people", 50, relation="replace")
    ledger.account("people").reserve(ONE, ZERO, REPLACE, RECORD)
    with pytest.raises(LedgerError, match="nothing about a group of 40"):
        ledger.set_limit("people", 50, relation="replace", unit="user:patient", holds_at_most=40)
    assert ledger.account("people").balance().spent[0] == 1


def test_an_account_without_entries_is_about_what_its_limit_says(ledger: Ledger) -> None:
    ledger.set_limit("people", 50, unit="record")
    ledger.set_limit("people", 50, unit=PATIENT)
    assert ledger.account("people").balance().unit == PATIENT.entity
    with pytest.raises(LedgerError, match="no entries that would have to be converted"):
        ledger.set_limit("people", 50, unit="record", holds_at_most=2)


@pytest.mark.parametrize("name", ["", "user:", "user: ", "User:patient", "\x1b[31m", "r" * 41])
def test_odd_units_are_refused(ledger: Ledger, name: str) -> None:
    with pytest.raises(LedgerError, match="one unit, and a unit is a word such as record, or user:COLUMN"):
        ledger.set_limit("people", 50, unit=name)
    assert ledger.balances() == []


@pytest.mark.parametrize("info", [*catalogue.units(), *ELSEWHERE], ids=lambda info: info.name)
def test_every_unit_that_a_schema_can_name_has_its_place_in_a_ledger(
    ledger: Ledger, info: catalogue.UnitInfo
) -> None:
    """Those of the catalogue, and those that nobody has thought of yet."""
    column = {"column": "the: id", "at_most": 7} if info.bounded else {}
    unit = Unit.model_validate({"protects": info.name, **column})
    assert Entity.named(unit.entity.name) == unit.entity
    assert unit.entity.can_hold(unit.entity)
    ledger.set_limit("people", 1)
    account = ledger.account("people")
    account.reserve(ONE, ZERO, ADD_REMOVE, unit)
    assert account.entries()[0].unit == unit
    assert account.balance().unit == unit.entity


# Ledgers from before.


@pytest.fixture
def old(tmp_path: Path) -> Path:
    place = tmp_path / "old.db"
    connection = sqlite3.connect(place)
    connection.executescript(VERSION_1.read_text(encoding="utf-8"))
    connection.close()
    return place


def version(place: Path) -> int:
    connection = sqlite3.connect(place)
    try:
        return int(connection.execute("SELECT version FROM penstock_book").fetchone()[0])
    finally:
        connection.close()


def test_an_old_ledger_is_read_as_it_is_and_not_touched(old: Path) -> None:
    before = old.read_bytes()
    empty, people, visits = Ledger.open(old).balances()
    assert (people.spent, people.left) == (
        (Fraction(3, 2), Fraction(1, 10**6)),
        (Fraction(5, 2), Fraction(9, 10**6)),
    )
    assert (visits.relation, visits.spent[0], visits.entries) == (REPLACE, Fraction(3, 2), 2)
    assert (empty.unit, people.unit, visits.unit) == (None, None, None)
    lines = Ledger.open(old).account("people").entries()
    assert [(line.unit, line.holds_at_most, line.status) for line in lines] == [
        (None, 1, "complete"), (None, 1, "reserved"), (None, 1, "returned"),
    ]  # fmt: skip
    assert lines[0].to_dict()["unit"] is None
    assert old.read_bytes() == before
    assert version(old) == 1


def test_an_old_account_is_used_once_its_unit_is_said(old: Path) -> None:
    ledger = Ledger.open(old)
    with pytest.raises(LedgerError, match=r"from before ledgers kept units.*--unit record") as caught:
        ledger.account("people").reserve(ONE, ZERO, ADD_REMOVE, RECORD)
    assert "Nothing was spent." in str(caught.value)
    ledger.set_limit("people", 4, "1e-5", unit="record")
    assert version(old) == 2
    ledger.account("people").reserve(ONE, ZERO, ADD_REMOVE, RECORD)
    assert ledger.account("people").balance().spent[0] == Fraction(5, 2)
    ledger.account("empty").reserve(
        ONE, ZERO, ADD_REMOVE, PATIENT
    )  # an account without entries needs no word
    visits = ledger.account("visits").balance()
    assert (visits.unit, visits.spent[0]) == (None, Fraction(3, 2))


def test_an_old_account_of_records_becomes_one_of_users(old: Path) -> None:
    ledger = Ledger.open(old)
    ledger.set_limit("people", 100, "1e-2", unit="record")
    ledger.set_limit("people", 100, "1e-2", unit="user:patient", holds_at_most=2)
    epsilon, delta = ledger.account("people").balance().spent
    assert epsilon == 3
    assert float(delta) == pytest.approx(1e-6 * (1 + 2.718281828459045))


@pytest.mark.parametrize("said", [None, "user:hospital"])
def test_an_old_account_whose_unit_may_overlap_counts_twice_when_it_moves(
    old: Path, said: str | None
) -> None:
    ledger = Ledger.open(old)
    if said is not None:
        ledger.set_limit("people", 100, "1e-2", unit=said)
    ledger.set_limit("people", 100, "1e-2", unit="user:patient", holds_at_most=2)
    assert ledger.account("people").balance().spent[0] == 6
    ledger.set_limit("people", 100, "1e-2", unit="user:doctor", holds_at_most=3)
    assert ledger.account("people").balance().spent[0] == 18


def test_two_processes_that_open_an_old_ledger_upgrade_it_once(old: Path) -> None:
    first, second = Ledger.open(old), Ledger.open(old)
    first.set_limit("empty", 2)
    second.set_limit("empty", 3)
    assert first.account("empty").balance().limit[0] == 3


# What a ledger shows of itself.


@pytest.mark.skipif(os.name == "nt", reason="permissions are another matter on Windows")
def test_a_ledger_made_from_python_is_for_its_owner_alone(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        (tmp_path / "begun.db").touch()
        for name in ("new.db", "begun.db"):
            Ledger.create(tmp_path / name).set_limit("people", 1)
            assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600
    finally:
        os.umask(before)


@pytest.mark.parametrize(
    "url",
    [
        "sqlite+pysqlcipher://:hunter2@/ledger.db",
        "mysql+nodriver://ann:hunter2@host/base",
        "postgresql+psycopg://ann:hunter2@/base?host=/nonexistent",
        "postgresql+psycopg://ann@/base?host=/nonexistent&password=hunter2",
        "nonsense://ann:hun/ter2@host/hunter2@base?password=hunter2",
    ],
)
def test_no_password_is_in_what_python_shows(url: str) -> None:
    with pytest.raises((LedgerError, BudgetError)) as caught:
        Ledger.open(url)
    shown = "".join(traceback.format_exception(caught.value))
    assert "hunter2" not in str(caught.value) + repr(caught.value)
    assert "hunter2" not in shown.replace(url, "")
