"""Processes that use one ledger at the same time; run as a program by test_ledger.py.

It loads the libraries once and forks its workers, which is quick and, unlike a fork of the test
process, safe: there are no threads here.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import select
import sys
from fractions import Fraction
from typing import Any

import penstock.privacy.ledger.database  # noqa: F401  loaded once, before the forks
from penstock.errors import LedgerError
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.ledger.ledger import Ledger
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.unit import Relation

processes = multiprocessing.get_context("fork")


def release_once(url: str, start: Any, results: Any) -> None:
    """What a releasing process does: check, wait for the others, pay."""
    account = Ledger.open(url).account("people")
    budget = Budget("1/7", account=account, randomness=Randomness.system())
    budget.check(Relation.ADD_REMOVE)
    start.wait(600)
    try:
        budget.spend("discrete laplace", relation=Relation.ADD_REMOVE)
    except LedgerError as problem:
        results.put(("refused", str(problem)))
    else:
        results.put(("paid", budget.receipt().ledger))


def together(url: str, count: int) -> None:
    """So many releases at once; prints how each of them ended."""
    start, results = processes.Barrier(count), processes.Queue()
    workers = [processes.Process(target=release_once, args=(url, start, results)) for _ in range(count)]
    for worker in workers:
        worker.start()
    print(json.dumps([results.get(timeout=600) for _ in workers]))
    for worker in workers:
        worker.join(600)
        assert worker.exitcode == 0


def reserve_for_ever(url: str, said: int) -> None:
    """Reserve in a tight loop and say each entry as soon as it is promised; ends by being killed."""
    account = Ledger.open(url).account("people")
    while True:
        try:
            entry = account.reserve(Fraction(1, 1000), Fraction(0), Relation.ADD_REMOVE)
        except LedgerError:
            entry = "full"
        os.write(said, f"{entry}\n".encode())


def killing(url: str, rounds: int) -> None:
    """Kill two busy workers in every round; prints what they had promised, then waits to be told to go on."""
    chance = random.Random(5)
    for _ in range(rounds):
        pipes = [os.pipe() for _ in range(2)]
        workers = [processes.Process(target=reserve_for_ever, args=(url, writer)) for _, writer in pipes]
        for worker, (_, writer) in zip(workers, pipes, strict=True):
            worker.start()
            os.close(writer)
        select.select([reader for reader, _ in pipes], [], [])  # one is at work, the other at least waiting
        for worker in workers:
            worker.join(chance.uniform(0, 0.06))
            worker.kill()
            worker.join()
            assert worker.exitcode == -9
        print(json.dumps([everything(reader) for reader, _ in pipes]))
        sys.stdout.flush()
        sys.stdin.readline()


def everything(reader: int) -> str:
    """All that a dead process has said."""
    said = b""
    while chunk := os.read(reader, 1 << 16):
        said += chunk
    os.close(reader)
    return said.decode()


if __name__ == "__main__":
    {"together": together, "killing": killing}[sys.argv[1]](sys.argv[2], int(sys.argv[3]))
