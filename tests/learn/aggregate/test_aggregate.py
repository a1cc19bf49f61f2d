"""Sample and aggregate: one row moves one block, whatever the estimator does with it."""

from __future__ import annotations

import random
from fractions import Fraction
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.cluster import KMeans
from sklearn.linear_model import LinearRegression, LogisticRegression
from tests.learn.aggregate.stubborn import Stubborn

from penstock.audit.target import Kind, Target
from penstock.errors import LedgerError, UsageError
from penstock.learn import SampleAndAggregate
from penstock.learn.aggregate.audits import targets
from penstock.learn.aggregate.blocks import REACH, Blocks
from penstock.privacy.ledger.ledger import Ledger
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.seals.sealed import open_seal
from penstock.privacy.unit import Relation

Reals = NDArray[np.float64]
RNG = np.random.default_rng(0)
ROWS = np.round(RNG.uniform(-1, 1, (300, 2)), 1)  # some rows occur several times
BOTH = pytest.mark.parametrize("relation", [Relation.ADD_REMOVE, Relation.REPLACE])


def contents(rows: Reals, relation: Relation, many: int = 7) -> list[list[tuple[float, ...]]]:
    """The rows of each block, in the order in which an estimator sees them."""
    blocks = Blocks(rows, relation)
    order, block = blocks._assigned(many, Randomness.seeded(3))
    assert sorted(order.tolist()) == list(range(len(rows)))
    return [[tuple(rows[row]) for row in order[block == place]] for place in range(many)]


def differing(one: Reals, two: Reals, relation: Relation) -> int:
    pairs = zip(contents(one, relation), contents(two, relation), strict=True)
    return sum(first != second for first, second in pairs)


def test_a_row_that_comes_or_goes_changes_one_block_wherever_it_stood() -> None:
    for place in (0, 150, 299):
        assert differing(ROWS, np.delete(ROWS, place, axis=0), Relation.ADD_REMOVE) == 1
        assert differing(ROWS, np.insert(ROWS, place, [0.3, -0.3], axis=0), Relation.ADD_REMOVE) == 1
    assert differing(ROWS, ROWS[::-1], Relation.ADD_REMOVE) == 0  # the order of the file says nothing
    assert differing(np.zeros((40, 2)), np.zeros((41, 2)), Relation.ADD_REMOVE) == 1
    assert differing(np.zeros((0, 2)), np.zeros((1, 2)), Relation.ADD_REMOVE) == 1


def test_a_row_in_another_ones_place_changes_one_block() -> None:
    for place in (0, 150, 299):
        other = ROWS.copy()
        other[place] = [0.9, -0.9]
        assert differing(ROWS, other, Relation.REPLACE) == 1


def test_equal_rows_are_spread_over_the_blocks() -> None:
    sizes = [len(rows) for rows in contents(np.zeros((7000, 1)), Relation.ADD_REMOVE)]
    assert min(sizes) > 850
    assert max(sizes) < 1150  # 1000 each; with deviation 30, less than one in a million is so far off


@BOTH
def test_sums_move_by_no_more_than_they_state_and_by_all_of_it(relation: Relation) -> None:
    """An analysis that turns from one end of the range to the other where it sees a certain row."""

    def sums(rows: Reals) -> Any:
        def analysis(here: NDArray[np.intp]) -> Reals:
            seen = bool((rows[here] == 9).all(axis=1).any()) if len(here) else False
            return np.array([1e300, -np.inf]) if seen else np.array([-5.0, 7.0])

        return Blocks(rows, relation).sums(5, 2, analysis, Randomness.seeded(1))

    other = np.append(ROWS, [[9.0, 9.0]], axis=0)
    if relation is Relation.REPLACE:
        other = other[1:]
    one, two = sums(ROWS), sums(other)
    moved = np.abs(open_seal(one) - open_seal(two))
    assert moved.tolist() == [2 * REACH, 2 * REACH]
    assert moved.sum() == one.sensitivity.l1
    assert moved.max() == one.sensitivity.linf


@pytest.mark.parametrize("target", targets(), ids=lambda target: target.name)
def test_what_is_shipped_keeps_its_promise_and_every_broken_copy_breaks_it(target: Target) -> None:
    assert target.loss is not None
    worst = max(target.loss(pair.first, pair.second) for pair in target.pairs)
    assert worst >= 2 if target.kind is Kind.BROKEN else worst == 1  # all of epsilon, and twice as much


class Rude(BaseEstimator):  # type: ignore[misc]  # untyped library
    """It learns a constant; where it sees a row with 9 it does something else."""

    def __init__(self, manner: str = "raise") -> None:
        self.manner = manner

    def fit(self, X: Any, y: Any = None) -> Rude:  # noqa: N803
        self.coef_: Any = np.full(3, 0.5)
        if (X == 9).any():
            print(X)
            if self.manner == "raise":
                raise ValueError(f"{X} is not nice")
            if self.manner == "exit":
                raise SystemExit(3)
            self.coef_ = {"nan": np.full(3, np.nan), "shape": np.zeros(4), "text": "nine"}[self.manner]
        return self


@pytest.mark.parametrize("manner", ["raise", "exit", "nan", "shape", "text"])
def test_a_block_that_fails_counts_as_the_middle_and_nobody_hears_of_it(
    manner: str, capsys: pytest.CaptureFixture[str]
) -> None:
    model = SampleAndAggregate(
        Rude(manner), attributes=("coef_",), output_bounds=(0, 1), blocks=4, epsilon=100, random_state=1
    )
    same = clone(model).fit(ROWS)
    rude = clone(model).fit(np.append(ROWS, [[9.0, 9.0]], axis=0))
    assert same.coef_ == pytest.approx(rude.coef_, abs=0.2)  # the middle is what others say; noise below 0.01
    assert capsys.readouterr() == ("", "")


class Chancy(BaseEstimator):  # type: ignore[misc]  # untyped library
    """It learns what the program's own chance says, and takes more of it where it sees a row with 9."""

    def fit(self, X: Any, y: Any = None) -> Chancy:  # noqa: N803
        many = 50 if (X == 9).any() else 1
        drawn = [random.random() for _ in range(many)]
        self.coef_ = np.array([np.random.random(many)[0], drawn[0]])
        return self


def test_how_much_chance_a_block_takes_decides_nothing_in_the_next() -> None:
    """All blocks draw the same first number, whatever another block drew, and nobody's chance is touched."""
    model = SampleAndAggregate(Chancy(), attributes=("coef_",), blocks=4, epsilon=100, random_state=1)
    before = random.getstate(), np.random.get_state()[1].tolist()  # type: ignore[index]
    same, rude = clone(model).fit(ROWS), clone(model).fit(np.append(ROWS, [[9.0, 9.0]], axis=0))
    assert (random.getstate(), np.random.get_state()[1].tolist()) == before  # type: ignore[index]
    first = [np.random.RandomState(0).random(), random.Random(0).random()]
    assert same.coef_ == pytest.approx(first, abs=0.2)  # noise of scale 0.01
    assert rude.coef_ == pytest.approx(first, abs=0.2)


def test_it_learns_what_the_estimator_would_and_states_what_it_cost() -> None:
    rows = RNG.uniform(-1, 1, (20_000, 2))
    model = SampleAndAggregate(LinearRegression(), output_bounds=(-2, 2), blocks=400, random_state=1)
    model.fit(rows, rows @ [1.0, -0.5] + 0.25)
    assert model.coef_ == pytest.approx([1.0, -0.5], abs=0.4)  # noise of scale 0.03, three numbers
    assert model.intercept_ == pytest.approx(0.25, abs=0.4)
    assert model.predict([[1.0, 0.0]]) == pytest.approx([1.25], abs=0.8)
    ((_, charge),) = model.receipt_.charges()
    assert charge.epsilon == model.receipt_.epsilon == 1
    assert not model.receipt_.publishable


def test_labels_are_declared_and_answers_of_several_attributes_have_ranges_of_their_own() -> None:
    rows = RNG.uniform(-1, 1, (5000, 1))
    labels = np.where(rows[:, 0] > 0, "yes", "no")
    model = SampleAndAggregate(
        LogisticRegression(),
        output_bounds=[(-9, 9), (-1, 1)],
        classes=("no", "yes"),
        epsilon=10,
        size=5000,
        random_state=1,
    )
    assert model.fit(rows, labels).predict([[-0.9], [0.9]]).tolist() == ["no", "yes"]
    assert model.blocks_ == 30  # 5000 ** 0.4
    assert [charge.epsilon for _, charge in model.receipt_.charges()] == [10]  # the number is public
    with pytest.raises(UsageError, match="classes"):
        clone(model).set_params(classes=None).fit(rows, labels)
    with pytest.raises(UsageError, match="classes"):
        clone(model).set_params(classes=("no", "maybe")).fit(rows, labels)


def test_an_unknown_number_of_rows_is_paid_for_and_centres_are_sorted() -> None:
    rows = np.concatenate([RNG.normal(-0.6, 0.05, (2000, 1)), RNG.normal(0.6, 0.05, (2000, 1))])
    model = SampleAndAggregate(
        KMeans(2, n_init=1), attributes=("cluster_centers_",), rows_in_order=True, epsilon=10, random_state=1
    )
    assert model.fit(rows).cluster_centers_.ravel() == pytest.approx([-0.6, 0.6], abs=0.2)
    assert [charge.epsilon for _, charge in model.receipt_.charges()] == [Fraction(1, 10), Fraction(99, 10)]
    assert model.predict([[-1.0], [1.0]]).tolist()[0] != model.predict([[1.0]]).tolist()[0]


def booked(place: Path) -> Path:
    Ledger.create(place / "book.db")
    Ledger.open(place / "book.db").set_limit("rows", 1)
    return place / "book.db"


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return booked(tmp_path_factory.mktemp("ledger"))


@pytest.mark.parametrize(
    "wrong",
    [
        {"estimator": None},
        {"attributes": ("missing_",)},
        {"attributes": "coef_"},
        {"output_bounds": (1, 0)},
        {"output_bounds": (0, float("inf"))},
        {"output_bounds": [(0, 1)] * 3},
        {"output_bounds": "wide"},
        {"blocks": 0},
        {"blocks": 10**12},
        {"size": -1},
        {"relation": "remove"},
        {"rows_in_order": True},
    ],
)
def test_what_cannot_work_is_refused_and_costs_nothing(wrong: dict[str, Any], book: Path) -> None:
    model = SampleAndAggregate(LinearRegression(), ledger=book, account="rows", random_state=1)
    with pytest.raises(UsageError, match=r"Nothing was spent\."):
        clone(model).set_params(**wrong).fit(ROWS, ROWS[:, 0])
    assert Ledger.open(book).account("rows").balance().left[0] == 1


def test_what_is_spent_is_booked(tmp_path: Path) -> None:
    book = booked(tmp_path)
    model = SampleAndAggregate(LinearRegression(), ledger=book, account="rows", random_state=1)
    model.fit(ROWS, ROWS[:, 0])
    assert Ledger.open(book).account("rows").balance().left[0] == 0
    with pytest.raises(LedgerError):
        model.fit(ROWS, ROWS[:, 0])


def test_a_block_that_hangs_or_dies_is_the_middle_of_the_range_and_blocks_remember_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eight blocks of a public order; one hangs and one dies, and the rest count as if they were alone.

    The hour is over as soon as a block hangs: how long the others need to begin is the machine's business.
    """
    hanging, poll = tmp_path / "hanging", Connection.poll

    def polled(pipe: Connection, seconds: float) -> bool:
        assert seconds == 3600
        while not poll(pipe, 0.01):
            if hanging.exists():
                hanging.unlink()
                return False
        return True

    monkeypatch.setattr(Connection, "poll", polled)
    rows = np.full((16, 1), 0.5)
    rows[3], rows[9] = 9.0, -9.0
    model = SampleAndAggregate(
        Stubborn(str(hanging)),
        attributes=("mean_",),
        output_bounds=(-1, 1),
        blocks=8,
        seconds=3600,
        relation="replace",
        epsilon=100,
        random_state=1,
    ).fit(rows)
    assert round(float(model.mean_[0]) * 8 / 0.5) in (6, 7), "two blocks, or one that has both, say nothing"
    assert model.receipt_.epsilon == 100


def test_what_cannot_be_sent_to_another_process_is_refused_before_anything_is_spent() -> None:
    class Local(LinearRegression):  # type: ignore[misc]  # untyped library
        pass

    with pytest.raises(UsageError, match="in a process of its own within 5 seconds"):
        SampleAndAggregate(Local(), seconds=5).fit(ROWS, ROWS[:, 0])
    for seconds in (0, -1.0, float("nan"), float("inf"), True, "1"):
        with pytest.raises(UsageError, match="seconds must be a number above 0"):
            SampleAndAggregate(LinearRegression(), seconds=seconds).fit(ROWS, ROWS[:, 0])  # type: ignore[arg-type]
