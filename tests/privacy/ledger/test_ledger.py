"""The ledger under concurrent processes, kill -9, odd files and mixed relations."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from penstock.errors import BudgetError, LedgerError
from penstock.privacy.budgets.accounting import converted
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.ledger.ledger import Ledger, LedgerAccount
from penstock.privacy.unit import Relation

ADD_REMOVE, REPLACE = Relation.ADD_REMOVE, Relation.REPLACE
ZERO = Fraction(0)

PROCESSES = [sys.executable, str(Path(__file__).with_name("ledger_processes.py"))]


@pytest.fixture
def url(tmp_path: Path) -> str:
    return str(tmp_path / "ledger.db")


@pytest.fixture
def account(url: str) -> LedgerAccount:
    ledger = Ledger.create(url)
    ledger.set_limit("people", "1", "1e-6")
    return ledger.account("people", label="a test")


def test_a_reservation_is_in_the_ledger_and_the_rest_is_left(account: LedgerAccount, url: str) -> None:
    entry = account.reserve(Fraction(1, 3), Fraction(1, 10**7), ADD_REMOVE)
    assert entry.startswith("people/")
    (line,) = Ledger.open(url).account("people").entries()
    assert (line.name, line.label, line.status, line.relation) == (entry, "a test", "reserved", ADD_REMOVE)
    assert (line.epsilon, line.delta) == (Fraction(1, 3), Fraction(1, 10**7))
    assert line.time.endswith("+00:00")
    balance = account.balance()
    assert balance.left == (Fraction(2, 3), Fraction(9, 10**7))
    assert balance.to_dict()["left"] == {"epsilon": "2/3", "delta": "9/10000000"}
    assert line.to_dict()["epsilon"] == "1/3"


def test_thirds_add_up_to_the_limit_exactly(account: LedgerAccount) -> None:
    for _ in range(3):
        account.reserve(Fraction(1, 3), ZERO, ADD_REMOVE)
    assert account.balance().left[0] == 0
    with pytest.raises(LedgerError, match="has epsilon 0 left of its limit 1"):
        account.reserve(Fraction(1, 10**30), ZERO, ADD_REMOVE)


def test_many_long_amounts_add_up_to_one_that_can_be_written(account: LedgerAccount) -> None:
    """Denominators without a common factor: their exact sum has more digits than Python writes."""
    odd = [10**397 + 2 * number + 1 for number in range(14)]
    exactly = sum((Fraction(1, one) for one in odd), Fraction(0))
    with pytest.raises(ValueError, match="limit"):
        str(exactly)
    for one in odd:
        account.reserve(Fraction(1, one), ZERO, ADD_REMOVE)
    balance = account.balance()
    assert exactly <= balance.spent[0] < exactly + Fraction(1, 10**1999)
    assert balance.left[0] <= 1 - exactly
    assert Fraction(balance.to_dict()["spent"]["epsilon"]) == balance.spent[0]
    with pytest.raises(LedgerError, match="left of its limit 1"):
        account.reserve(Fraction(1), ZERO, ADD_REMOVE)


def test_the_limit_is_refused_with_what_is_left_and_nothing_is_entered(account: LedgerAccount) -> None:
    account.reserve(Fraction(7, 10), ZERO, ADD_REMOVE)
    for act in (account.check, account.reserve):
        with pytest.raises(
            LedgerError, match=r"epsilon 0\.3 left of its limit 1, and this release asks for 0\.5"
        ) as caught:
            act(Fraction(1, 2), ZERO, ADD_REMOVE)
        assert "Nothing was spent." in str(caught.value)
    with pytest.raises(LedgerError, match="delta 1e-06 left"):
        account.reserve(Fraction(1, 10), Fraction(1, 10**5), ADD_REMOVE)
    assert len(account.entries()) == 1
    account.check(Fraction(3, 10), Fraction(1, 10**6), ADD_REMOVE)


def test_a_budget_draws_its_whole_amount_once_before_the_first_draw(account: LedgerAccount) -> None:
    budget = Budget("1/2", account=account)
    budget.check(ADD_REMOVE)
    assert account.entries() == []
    a, b = budget.split(a="1/2", b="1/2")
    a.spend("discrete laplace", relation=ADD_REMOVE)
    b.spend("discrete laplace", relation=ADD_REMOVE)
    (line,) = account.entries()
    assert (line.epsilon, line.status) == (Fraction(1, 2), "reserved")
    assert budget.receipt().ledger == line.name
    budget.complete("people-release")
    (line,) = account.entries()
    assert (line.status, line.release) == ("complete", "people-release")
    assert account.balance().spent[0] == Fraction(1, 2)


def test_a_budget_above_the_limit_draws_nothing(account: LedgerAccount) -> None:
    budget = Budget(2, account=account)
    with pytest.raises(LedgerError, match="asks for 2"):
        budget.spend("discrete laplace", relation=ADD_REMOVE)
    assert budget.receipt().epsilon == 0
    assert account.entries() == []


def test_a_reservation_is_given_back_only_while_nothing_was_paid(account: LedgerAccount) -> None:
    budget = Budget(1, account=account)
    budget.reserve(ADD_REMOVE)
    assert account.balance().left[0] == 0
    budget.give_back()
    assert account.balance().left[0] == 1
    assert [line.status for line in account.entries()] == ["returned"]
    budget.spend("discrete laplace", relation=ADD_REMOVE)
    with pytest.raises(BudgetError, match="cannot be given back"):
        budget.give_back()
    assert account.balance().left[0] == 0


def test_what_was_drawn_on_is_never_given_back_by_any_path(account: LedgerAccount, url: str) -> None:
    budget = Budget(1, account=account)
    budget.part("noise", "1/2").spend("discrete laplace", relation=ADD_REMOVE)
    entry = budget.receipt().ledger
    assert entry is not None
    for give_back in (
        lambda: account.give_back(entry),
        lambda: Ledger.open(url).account("people").give_back(entry),
        budget.give_back,
        lambda: budget.rest("rest").give_back(),
    ):
        with pytest.raises((LedgerError, BudgetError), match=r"stays spent|cannot be given back"):
            give_back()
    assert account.balance().left[0] == 0


def test_nothing_is_drawn_on_what_was_given_back(account: LedgerAccount) -> None:
    """Reserved by the budget, given back behind its back: the budget has no debit to draw on."""
    budget = Budget(1, account=account)
    budget.reserve(ADD_REMOVE)
    entry = budget.receipt().ledger
    assert entry is not None
    account.give_back(entry)
    with pytest.raises(LedgerError, match="was given back"):
        budget.spend("discrete laplace", relation=ADD_REMOVE)
    assert budget.receipt().epsilon == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a process is copied by fork only")
def test_a_copied_process_gives_nothing_back(account: LedgerAccount) -> None:
    entry = account.reserve(Fraction(1), ZERO, ADD_REMOVE)
    child = os.fork()
    if child == 0:
        try:
            account.give_back(entry)
        except LedgerError:
            os._exit(7)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert account.balance().left[0] == 0


def test_nobody_gives_back_what_another_run_reserved(account: LedgerAccount, url: str) -> None:
    entry = account.reserve(Fraction(1), ZERO, ADD_REMOVE)
    other = Ledger.open(url).account("people")
    with pytest.raises(LedgerError, match="stays spent"):
        other.give_back(entry)
    account.complete(entry, "out")
    for act in (lambda: account.give_back(entry), lambda: account.complete(entry, "again")):
        with pytest.raises(LedgerError):
            act()
    with pytest.raises(LedgerError, match="no open reservation"):
        other.complete("people/none", "out")
    assert account.balance().spent[0] == 1


def test_add_remove_entries_are_converted_for_a_replace_account(url: str) -> None:
    ledger = Ledger.create(url)
    ledger.set_limit("people", 2, "1e-5", REPLACE)
    account = ledger.account("people")
    account.reserve(Fraction(1, 2), Fraction(1, 10**6), ADD_REMOVE)
    epsilon, delta = account.balance().spent
    assert epsilon == 1
    assert float(delta) == pytest.approx(1e-6 * (1 + 2.718281828**0.5))
    with pytest.raises(LedgerError, match=r"asks for 1\.2 \(converted to 'replace'\)"):
        account.reserve(Fraction(6, 10), ZERO, ADD_REMOVE)
    account.reserve(Fraction(1), ZERO, REPLACE)
    assert account.balance().left[0] == 0


def test_replace_entries_never_enter_an_add_remove_account(account: LedgerAccount) -> None:
    for act in (account.check, account.reserve):
        with pytest.raises(LedgerError, match="'relation: add-remove' in the schema") as caught:
            act(Fraction(1, 100), ZERO, REPLACE)
        assert "Nothing was spent." in str(caught.value)
    assert account.entries() == []


def test_an_account_can_move_to_replace_but_not_back(url: str) -> None:
    ledger = Ledger.create(url)
    ledger.set_limit("people", 1)
    account = ledger.account("people")
    account.reserve(Fraction(1, 4), ZERO, ADD_REMOVE)
    ledger.set_limit("people", 3, relation="replace")
    assert account.balance().spent[0] == Fraction(1, 2)
    ledger.set_limit("people", 1)  # nothing was paid under replace yet
    assert account.balance().spent[0] == Fraction(1, 4)
    ledger.set_limit("people", 3, relation="replace")
    account.reserve(Fraction(1), ZERO, REPLACE)
    with pytest.raises(LedgerError, match="keep its limit under 'replace'"):
        ledger.set_limit("people", 3)
    assert account.balance().relation is REPLACE


def test_a_limit_can_be_lowered_below_what_is_spent(account: LedgerAccount, url: str) -> None:
    account.reserve(Fraction(1, 2), ZERO, ADD_REMOVE)
    Ledger.open(url).set_limit("people", "1/10")
    assert account.balance().left == (0, 0)
    with pytest.raises(LedgerError, match="epsilon 0 left"):
        account.check(Fraction(1, 10), ZERO, ADD_REMOVE)


def test_accounts_are_kept_apart(url: str) -> None:
    ledger = Ledger.create(url)
    ledger.set_limit("people", 1)
    ledger.set_limit("Menschen 2024", 1)
    ledger.account("people").reserve(Fraction(1), ZERO, ADD_REMOVE)
    assert {b.account: b.left[0] for b in ledger.balances()} == {"people": 0, "Menschen 2024": 1}


@pytest.mark.parametrize("name", ["", " people", "a/b", "x" * 101, "a\nb", "-x", "_"])
def test_odd_account_names_are_refused(url: str, name: str) -> None:
    with pytest.raises(LedgerError, match="cannot be the name of an account"):
        Ledger.create(url).set_limit(name, 1)


@pytest.mark.parametrize(("epsilon", "delta", "relation"), [
    (-1, 0, "add-remove"), (1, 1, "add-remove"), (1, -1, "add-remove"), (1, 0, "both"), ("nan", 0, "replace"),
])  # fmt: skip
def test_odd_limits_are_refused(url: str, epsilon: Any, delta: Any, relation: str) -> None:
    ledger = Ledger.create(url)
    with pytest.raises((LedgerError, BudgetError)):
        ledger.set_limit("people", epsilon, delta, relation)
    assert ledger.balances() == []


def test_negative_amounts_cannot_be_entered(account: LedgerAccount) -> None:
    with pytest.raises(LedgerError, match="cannot be negative"):
        account.reserve(Fraction(-1), ZERO, ADD_REMOVE)


# Files that are not what they should be.


def test_a_missing_ledger_names_the_remedy(url: str) -> None:
    with pytest.raises(LedgerError, match="penstock ledger init"):
        Ledger.open(url)
    assert not Path(url).exists()


def test_an_unknown_account_names_the_known_ones(account: LedgerAccount, url: str) -> None:
    with pytest.raises(LedgerError, match="did you mean 'people'"):
        Ledger.open(url).account("peopel")
    with pytest.raises(LedgerError, match="there is people"):
        Ledger.open(url).account("zebra")
    other = Path(url).with_name("empty.db")
    with pytest.raises(LedgerError, match="penstock ledger limit"):
        Ledger.create(other).account("people")


@pytest.mark.parametrize(
    "content", [b"name,age\nx,1\n" * 100, b"SQLite format 3\0" + b"\xff" * 4096, b"x", b""]
)
def test_a_file_that_is_no_ledger_is_refused_and_not_touched(url: str, content: bytes) -> None:
    Path(url).write_bytes(content)
    with pytest.raises(LedgerError, match=r"not a Penstock ledger|damaged"):
        Ledger.open(url)
    if content:
        with pytest.raises(LedgerError, match="choose another name"):
            Ledger.create(url)
    assert Path(url).read_bytes() == content
    assert os.listdir(Path(url).parent) == ["ledger.db"]


def test_another_sqlite_database_is_no_ledger(url: str) -> None:
    with sqlite3.connect(url) as other:
        other.execute("CREATE TABLE people (name TEXT)")
    other.close()
    with pytest.raises(LedgerError, match="not a Penstock ledger"):
        Ledger.open(url)
    with pytest.raises(LedgerError, match="choose another name"):
        Ledger.create(url)


def change(url: str, statement: str) -> None:
    connection = sqlite3.connect(url)
    with connection:
        connection.execute(statement)
    connection.close()


def test_a_newer_ledger_asks_for_an_update(account: LedgerAccount, url: str) -> None:
    change(url, "UPDATE penstock_book SET version = 99")
    with pytest.raises(LedgerError, match=r"newer Penstock .*update Penstock"):
        Ledger.open(url)


def test_a_ledger_of_no_known_version_is_none(account: LedgerAccount, url: str) -> None:
    change(url, "UPDATE penstock_book SET version = 'first'")
    with pytest.raises(LedgerError, match="not a Penstock ledger"):
        Ledger.open(url)


@pytest.mark.parametrize("statement", [
    "UPDATE penstock_entries SET epsilon = '-1'", "UPDATE penstock_entries SET epsilon = 'much'",
    "UPDATE penstock_entries SET epsilon = '1/0'", "UPDATE penstock_entries SET epsilon = '1e999999999'",
    "UPDATE penstock_entries SET relation = 'both'", "UPDATE penstock_entries SET status = 'forgotten'",
    "UPDATE penstock_limits SET epsilon = 'unlimited'",
])  # fmt: skip
def test_a_ledger_with_impossible_entries_admits_nothing(
    account: LedgerAccount, url: str, statement: str
) -> None:
    account.reserve(Fraction(1, 10), ZERO, ADD_REMOVE)
    change(url, statement)
    with pytest.raises(LedgerError, match="damaged"):
        account.reserve(Fraction(1, 10), ZERO, ADD_REMOVE)


def test_a_damaged_file_admits_nothing(account: LedgerAccount, url: str) -> None:
    for _ in range(9):
        account.reserve(Fraction(1, 10), ZERO, ADD_REMOVE)
    content = bytearray(Path(url).read_bytes())
    content[4096:] = os.urandom(len(content) - 4096)
    Path(url).write_bytes(content)
    with pytest.raises(LedgerError, match=r"damaged|not a Penstock ledger|cannot be used"):
        account.reserve(Fraction(1, 10), ZERO, ADD_REMOVE)


def test_creating_twice_is_refused_and_keeps_the_ledger(account: LedgerAccount, url: str) -> None:
    account.reserve(Fraction(1), ZERO, ADD_REMOVE)
    with pytest.raises(LedgerError, match="already"):
        Ledger.create(url)
    assert account.balance().left[0] == 0


def test_places_where_no_ledger_can_be(tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="No ledger can be made"):
        Ledger.create(tmp_path / "missing" / "ledger.db")
    with pytest.raises(LedgerError, match="choose another name"):
        Ledger.create(tmp_path)
    with pytest.raises(LedgerError, match="must outlive the program"):
        Ledger.open("sqlite://")
    with pytest.raises(LedgerError, match="must outlive the program"):
        Ledger.create("sqlite:///:memory:")
    with pytest.raises(LedgerError, match="driver that is not installed"):
        Ledger.open("nosuchdatabase://host/x")
    with pytest.raises(LedgerError, match="neither a file name nor"):
        Ledger.open("http//://")


def test_a_password_is_never_shown() -> None:
    with pytest.raises(LedgerError) as caught:
        Ledger.open("postgresql+nosuchdriver://me:hunter2@localhost:1/db")
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "name", ["with space.db", "percent%20.db", "hash#.db", "question?.db", "umlaut-ä.db", "a'b.db"]
)
def test_odd_file_names_work(tmp_path: Path, name: str) -> None:
    Ledger.create(tmp_path / name).set_limit("people", 1)
    assert Ledger.open(str(tmp_path / name)).balances()[0].left[0] == 1
    assert name in os.listdir(tmp_path)


def test_file_names_and_urls_name_the_same_ledger(account: LedgerAccount, url: str, monkeypatch: Any) -> None:
    monkeypatch.chdir(Path(url).parent)
    for name in ("ledger.db", "sqlite:///ledger.db", f"sqlite:///{url}", Path(url)):
        assert Ledger.open(name).account("people").balance().left[0] == 1


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="permissions do not bind this user")
def test_a_read_only_file_can_be_read_and_not_written_by_its_permissions(
    account: LedgerAccount, url: str
) -> None:
    Path(url).chmod(0o444)
    assert account.balance().left[0] == 1
    with pytest.raises(LedgerError, match="read-only"):
        account.reserve(Fraction(1), ZERO, ADD_REMOVE)


def test_a_read_only_ledger_can_be_read_and_not_written(account: LedgerAccount, monkeypatch: Any) -> None:
    real = sqlite3.connect
    monkeypatch.setattr(
        sqlite3, "connect", lambda name, **how: real(name.replace("mode=rw", "mode=ro"), **how)
    )
    assert account.balance().left[0] == 1
    account.check(Fraction(1), ZERO, ADD_REMOVE)
    with pytest.raises(LedgerError, match=r"read-only; make the file .* Nothing was spent"):
        account.reserve(Fraction(1), ZERO, ADD_REMOVE)


def test_a_ledger_in_use_is_waited_for_and_then_named(
    account: LedgerAccount, url: str, monkeypatch: Any
) -> None:
    monkeypatch.setattr("penstock.privacy.ledger.database.PATIENCE", 0.05)
    holder = sqlite3.connect(url, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    try:
        with pytest.raises(LedgerError, match="in use by another process"):
            account.reserve(Fraction(1), ZERO, ADD_REMOVE)
        assert account.balance().left[0] == 1
    finally:
        holder.close()
    account.reserve(Fraction(1), ZERO, ADD_REMOVE)


def test_writes_are_synced_and_the_journal_is_a_file_that_goes_away(account: LedgerAccount, url: str) -> None:
    with account._ledger._database._transaction(write=True) as connection:
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 3  # EXTRA
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "delete"
    account.reserve(Fraction(1), ZERO, ADD_REMOVE)
    assert os.listdir(Path(url).parent) == ["ledger.db"]


def test_the_heavy_library_is_loaded_only_when_a_ledger_is_opened() -> None:
    code = "import sys, penstock.privacy.ledger.ledger; sys.exit('sqlalchemy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# Many processes.


def run_together(url: str, count: int) -> list[tuple[str, str]]:
    done = subprocess.run(
        [*PROCESSES, "together", url, str(count)], capture_output=True, text=True, timeout=900
    )
    assert done.returncode == 0, done.stderr
    return [(outcome, text) for outcome, text in json.loads(done.stdout)]


def test_fifty_processes_cannot_pass_the_limit_together(url: str) -> None:
    ledger = Ledger.create(url)
    ledger.set_limit("people", 3)  # admits 21 releases of 1/7, exactly
    outcomes = run_together(url, 50)
    paid = {entry for outcome, entry in outcomes if outcome == "paid"}
    assert len(paid) == 21
    assert {line.name for line in ledger.account("people").entries()} == paid
    assert ledger.account("people").balance().left[0] == 0
    refusals = [text for outcome, text in outcomes if outcome == "refused"]
    assert len(refusals) == 29
    assert all("epsilon 0 left of its limit 3" in text for text in refusals)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no kill -9 on this system")
def test_every_acknowledged_entry_survives_kill_9(url: str) -> None:
    Ledger.create(url).set_limit("people", Fraction(1, 40))  # admits 25 entries: later rounds meet it
    rounds = 15
    promised: set[str] = set()
    with subprocess.Popen(
        [*PROCESSES, "killing", url, str(rounds)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as program:
        assert program.stdin
        assert program.stdout
        for turn in range(rounds):
            for said in json.loads(program.stdout.readline()):
                promised |= set(said.split("\n")[:-1]) - {"full"}
            account = Ledger.open(url).account("people")
            kept = {line.name for line in account.entries()}
            assert promised <= kept
            # Beside the promised ones at most the entry that each killed worker was just writing.
            assert len(kept - promised) <= 2 * (turn + 1)
            assert account.balance().spent[0] == Fraction(len(kept), 1000) <= Fraction(1, 40)
            program.stdin.write("\n")
            program.stdin.flush()
    assert program.returncode == 0
    assert len(promised) >= 10


# PostgreSQL, where it is installed.


def program(name: str) -> str:
    places = [os.environ.get("PATH", ""), *sorted(str(p) for p in Path("/usr/lib/postgresql").glob("*/bin"))]
    found = shutil.which(name, path=os.pathsep.join(places))
    if found is None:
        pytest.skip(f"PostgreSQL is not installed ({name} is missing)")
    return found


@pytest.fixture
def postgres() -> Iterator[str]:
    """A server of our own, reached through a socket in its folder; it refuses to run as root."""
    pytest.importorskip("psycopg")
    pwd = pytest.importorskip("pwd")
    who: dict[str, Any] = {}
    if os.geteuid() == 0:
        try:
            who = {"user": pwd.getpwnam("postgres").pw_uid}
        except KeyError:
            pytest.skip("PostgreSQL does not run as root, and there is no user 'postgres'")
    with tempfile.TemporaryDirectory() as folder:
        if who:
            os.chown(folder, who["user"], -1)
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder, **who}
        data = f"{folder}/data"
        subprocess.run([program("initdb"), "-D", data, "-A", "trust", "-U", "me", "-N"], check=True, **quiet)
        settings = ["-c", "listen_addresses=", "-c", f"unix_socket_directories={folder}"]
        server = subprocess.Popen([program("postgres"), "-D", data, *settings], **quiet)
        try:
            yield _when_ready(f"postgresql+psycopg://me@/postgres?host={folder}")
        finally:
            server.send_signal(signal.SIGQUIT)
            server.wait(300)


def _when_ready(url: str) -> str:
    for _ in range(6000):
        try:
            Ledger.create(url)
        except LedgerError:
            time.sleep(0.05)
        else:
            return url
    raise AssertionError("PostgreSQL did not start")


def test_a_team_keeps_its_ledger_in_postgresql(postgres: str) -> None:
    with pytest.raises(LedgerError, match="already"):
        Ledger.create(postgres)
    ledger = Ledger.open(postgres)
    ledger.set_limit("people", 1)
    outcomes = run_together(postgres, 12)
    assert sum(outcome == "paid" for outcome, _ in outcomes) == 7
    account = ledger.account("people")
    assert account.balance().left[0] == 0
    with pytest.raises(LedgerError, match="epsilon 0 left"):
        account.reserve(Fraction(1), ZERO, ADD_REMOVE)
    account.complete(account.entries()[0].name, "out")
    assert [line.status for line in account.entries()].count("complete") == 1
    with pytest.raises(LedgerError, match="no account"):
        ledger.account("nobody")


def test_a_server_that_does_not_answer_is_named_without_its_password() -> None:
    pytest.importorskip("psycopg")
    with pytest.raises(LedgerError, match="cannot be used") as caught:
        Ledger.open("postgresql+psycopg://me:hunter2@/db?host=/nonexistent")
    assert "hunter2" not in str(caught.value)


class LedgerMachine(RuleBasedStateMachine):
    """Any order of operations keeps the ledger equal to a list, and the total below every limit it met."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[tuple[str, Fraction, Relation]] = []
        self.limit = Fraction(1)
        self.relation = ADD_REMOVE

    @initialize()
    def create(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.ledger = Ledger.create(f"{self.folder.name}/ledger.db")
        self.ledger.set_limit("people", 1)
        self.account = self.ledger.account("people")

    def cost(self, epsilon: Fraction, relation: Relation) -> Fraction:
        return converted(epsilon, ZERO, relation, self.relation)[0]

    def spent(self) -> Fraction:
        return sum((self.cost(epsilon, relation) for _, epsilon, relation in self.lines), ZERO)

    @rule(epsilon=st.fractions(Fraction(1, 50), 1, max_denominator=60), relation=st.sampled_from(Relation))
    def reserve(self, epsilon: Fraction, relation: Relation) -> None:
        possible = relation is self.relation or relation is ADD_REMOVE
        if possible and self.spent() + self.cost(epsilon, relation) <= self.limit:
            self.lines.append((self.account.reserve(epsilon, ZERO, relation), epsilon, relation))
        else:
            with pytest.raises(LedgerError):
                self.account.reserve(epsilon, ZERO, relation)

    @rule(limit=st.fractions(0, 3, max_denominator=20), relation=st.sampled_from(Relation))
    def set_limit(self, limit: Fraction, relation: Relation) -> None:
        if relation is ADD_REMOVE and any(paid is REPLACE for *_, paid in self.lines):
            with pytest.raises(LedgerError):
                self.ledger.set_limit("people", limit, relation=relation)
        else:
            self.ledger.set_limit("people", limit, relation=relation)
            self.limit, self.relation = limit, relation

    @precondition(lambda self: self.lines)
    @rule(which=st.integers(0, 100))
    def give_back(self, which: int) -> None:
        entry = self.lines.pop(which % len(self.lines))[0]
        self.account.give_back(entry)

    @invariant()
    def agrees(self) -> None:
        if hasattr(self, "account"):
            balance = self.account.balance()
            assert balance.spent[0] == self.spent()
            assert balance.left[0] == max(ZERO, self.limit - self.spent())

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            self.folder.cleanup()


TestLedgerMachine = LedgerMachine.TestCase
TestLedgerMachine.settings = settings(max_examples=10, stateful_step_count=12, deadline=None)
