"""Branches that tiny tables never reach, replayed on neighbours: target alone, fine groups, triples."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.kinds.table.tables import of_causes, schema_of

from penstock.audit.replay import Records, Trial, replay
from penstock.kinds.table.confluence import choosing, method
from penstock.kinds.table.confluence.arrangement import Arrangement
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.seals.sealed import open_seal

pytestmark = pytest.mark.usefixtures("by_columns")

SLACK = Fraction(1, 100)
Rows = NDArray[np.int64]


def apart() -> Rows:
    return np.random.default_rng(0).integers(0, [3, 2, 4], (300, 3))


def odd(columns: int, rows: int) -> Rows:
    """Yes/no columns like the first, but for the last, which is odd where the first two are."""
    rng = np.random.default_rng(1)
    found = rng.integers(0, 2, (rows, columns))
    found[:, 1:] = np.where(rng.random((rows, columns - 1)) < 0.4, found[:, :1], found[:, 1:])
    found[:, -1] = found[:, 0] ^ found[:, 1]
    return found


def summed(columns: int, rows: int) -> Rows:
    """The last column adds up the first two, and the others follow the first: pairs do not tell that."""
    rng = np.random.default_rng(4)
    found = rng.integers(0, 3, (rows, columns))
    found[:, 2:] = np.where(rng.random((rows, columns - 2)) < 0.4, found[:, :1], found[:, 2:])
    found[:, -1] = (found[:, 0] + found[:, 1]) % 3
    return found


def adding(columns: int, rows: int) -> Rows:
    """The second column follows the first, the last adds up the first and the third; others are free."""
    rng = np.random.default_rng(7)
    found = rng.integers(0, 4, (rows, columns))
    found[:, 1] = np.where(rng.random(rows) < 0.8, found[:, 0], found[:, 1])
    found[:, -1] = (found[:, 0] + found[:, 2]) % 4
    return found


def chained(columns: int, rows: int) -> Rows:
    """Every column follows the one before it, and some of them the first."""
    rng = np.random.default_rng(5)
    found = rng.integers(0, 9, (rows, columns))
    for column in range(1, columns):
        chance = rng.random(rows)
        first = np.where(chance < 0.6, found[:, 0], found[:, column])
        found[:, column] = np.where(chance < 0.5, found[:, column - 1], first)
    return found


def answering(columns: int, rows: int) -> Rows:
    """Yes/no columns that answer to one hidden cause."""
    rng = np.random.default_rng(6)
    hidden = rng.integers(0, 2, (rows, 1))
    return np.where(rng.random((rows, columns)) < 0.7, hidden, rng.integers(0, 2, (rows, columns)))


def alike() -> Rows:
    return np.repeat(np.random.default_rng(2).integers(0, 40, (1500, 1)), 2, axis=1)


def units(rows: Rows) -> Records:
    return tuple((tuple(int(code) for code in row),) for row in rows)


SWAPPED = {"relation": "replace", "size": 800}
CASES = {
    "target": ([3, 2, 4], apart(), 4, 0, {"target": "b"}),
    "target, replace": ([3, 2, 4], apart(), 4, 0, {"target": "b", "relation": "replace", "size": 300}),
    "fine groups": ([40, 40], alike(), 100, 0, {}),
    "triples": ([2] * 3, odd(3, 400), 40, 0, {}),
    "triples in rho": ([2] * 8, odd(8, 1200), 12, SLACK, {}),
    "some triples": ([3] * 10, summed(10, 1200), 100, 0, {}),
    "some triples, replace": ([3] * 10, summed(10, 2400), 100, 0, {"relation": "replace", "size": 2400}),
    "any pair": ([3] * 18, of_causes(4000, 18, 3, 3), 1, 0, {}),
    "second choices": ([9] * 8, chained(8, 3000), 3, 0, {}),
    "all pairs": ([2] * 9, answering(9, 500), 3, 0, {}),
    "all pairs, replace": ([2] * 9, answering(9, 500), 6, 0, {"relation": "replace", "size": 500}),
    "all pairs along a space": ([6] * 10, answering(10, 400), 60, 0, {}),
    "some triples in rho": ([3] * 10, summed(10, 1200), 30, SLACK, {}),
    "triples beside some pairs": ([4] * 9, adding(9, 800), 10, 0, {}),
    "triples beside some pairs, replace": ([4] * 9, adding(9, 800), 20, 0, SWAPPED),
    "triples beside some pairs in rho": ([4] * 9, adding(9, 800), 10, SLACK, {}),
}


def reached(name: str, made: Any) -> bool:
    """Whether a release went the way that it is meant to try."""
    triples = [one for one in made.measured if len(one.parts) == 3]
    some = made.parameters.get("triples", 0) > 0
    chosen_twice = any("second choice" in charge.label for _, charge in made.receipt.charges())
    return {
        "target": made.parameters["views"] == "pairs with the target",
        "fine groups": any(one.counts.shape == (40, 40) for one in made.measured),
        "triples": made.parameters["views"] == "all pairs" and len(triples) > 0,
        "some triples": some,
        "some triples in rho": some and triples[-1].gaussian,
        "triples beside some pairs": some and made.parameters["views"] == "chosen pairs",
        "triples beside some pairs in rho": some and "pairs" in made.parameters and triples[-1].gaussian,
        "any pair": made.parameters.get("pairs", 0) > 15,  # else there would be 11
        "second choices": chosen_twice,
        "all pairs": made.parameters["views"] == "all pairs",
        "all pairs along a space": sum(len(one.parts) == 3 for one in made.measured) > 10,
        "triples in rho": made.parameters["views"] == "all pairs" and sum(t.gaussian for t in triples) >= 56,
    }[name.split(",")[0]]


def trial(name: str) -> tuple[Trial, Records, list[Records]]:
    """A trial, its records, and neighbours of them."""
    sizes, rows, epsilon, delta, more = CASES[name]
    first = units(rows)
    other = ((tuple(size - 1 for size in sizes),),)
    near: list[Records] = [(*first[1:], *other)] if "size" in more else [first[1:], (*first, *other)]
    schema = schema_of(sizes, **more)
    return Trial("confluence", schema, epsilon=Fraction(epsilon), delta=Fraction(delta)), first, near


@pytest.mark.parametrize("name", CASES)
def test_no_neighbour_changes_more_than_was_paid_for(name: str) -> None:
    tried, first, near = trial(name)
    made = tried.release(first, Randomness.seeded(1))
    assert reached(name, made)
    assert (made.receipt.epsilon, made.receipt.delta) == (tried.epsilon, tried.delta)
    for second in near:
        found = replay(tried, first, second, seed=1)
        assert not found.problems
        assert found.share <= 1 + 1e-12


BRANCHES = {
    "target": (method._Fit, "_aiming"),
    "fine groups": (Arrangement, "_hidden"),
    "triples": (Arrangement, "triples"),
    "some triples": (Arrangement, "spared"),
    "triples beside some pairs": (Arrangement, "spared"),
    "any pair": (choosing.Choosing, "_wanted_choices"),
    "second choices": (choosing.Choosing, "_wanted"),
    "all pairs": (Arrangement, "patience"),
}


@pytest.mark.parametrize("name", BRANCHES)
def test_a_branch_that_follows_the_exact_number_of_records_is_found_out(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy that looks at the records without paying: an odd number of them goes another way."""
    (place, function), tables = BRANCHES[name], []
    shipped, started = getattr(place, function), method._Fit.release

    def starting(self: Any) -> Any:
        tables.append(self.table)
        return started(self)

    def peeking(self: Any, *given: Any, **named: Any) -> Any:
        if open_seal(tables[-1].size())[0] % 2 == 0:
            return shipped(self, *given, **named)
        elsewhere = {"target": False, "fine groups": 1.0, "triples": [], "all pairs": 1e9, "any pair": 1}
        return elsewhere.get(name, 0)

    monkeypatch.setattr(method._Fit, "release", starting)
    monkeypatch.setattr(place, function, peeking)
    tried, first, near = trial(name)
    assert all(replay(tried, first, second, seed=1).problems for second in near)
