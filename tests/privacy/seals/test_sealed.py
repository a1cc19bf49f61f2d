"""Sealed values cannot be looked at, and their sensitivities hold on every neighbour of small tables."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray

from penstock.errors import UsageError
from penstock.privacy.seals.sealed import FAILURE, Form, Sealed, form_of, join, open_seal
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.privacy.unit import Relation

ADD_REMOVE, REPLACE = Relation.ADD_REMOVE, Relation.REPLACE
CELLS = 3
SECRET = 987654321


def sealed(value: Any = SECRET) -> Sealed[Any]:
    return Sealed(value, Sensitivity.of(1), ADD_REMOVE, because="a record counts once")


@pytest.mark.parametrize(
    "look",
    [
        repr,
        str,
        lambda s: f"{s}",
        lambda s: f"{s!r:>50}",
        lambda s: str([s]),
        lambda s: str({"a": s}),
        lambda s: repr(np.asarray(s)),
        lambda s: str(dir(s)),
    ],
)
def test_printing_shows_nothing_of_the_value(look: Callable[[Any], str]) -> None:
    assert str(SECRET) not in look(sealed())


@pytest.mark.parametrize(
    "look",
    [
        bool,
        iter,
        list,
        bytes,
        lambda s: s == SECRET,
        lambda s: s != SECRET,
        lambda s: s == s,
        copy.copy,
        copy.deepcopy,
        pickle.dumps,
        lambda s: SECRET in s,
        lambda s: s in [SECRET],
    ],
)
def test_reading_is_refused_in_a_clear_sentence(look: Callable[[Any], Any]) -> None:
    with pytest.raises(UsageError, match="open it with a mechanism first"):
        look(sealed())


@pytest.mark.parametrize(
    "look",
    [
        json.dumps,
        int,
        float,
        len,
        lambda s: s[0],
        lambda s: s + 1,
        lambda s: s < 3,
        vars,
        complex,
        lambda s: np.sum(np.asarray(s, dtype=float)),
        lambda s: s.value,
        lambda s: s.__value,
        range,
    ],
)
def test_everything_else_python_could_do_with_a_value_fails_too(look: Callable[[Any], Any]) -> None:
    with pytest.raises((TypeError, AttributeError)) as caught:
        look(sealed())
    assert str(SECRET) not in str(caught.value)


def test_what_a_seal_promises_cannot_be_edited() -> None:
    value: Any = sealed()
    for name in ("sensitivity", "relation", "anything"):
        with pytest.raises(AttributeError):
            setattr(value, name, Sensitivity.of(0))


def test_the_seal_opens_only_by_name() -> None:
    assert open_seal(sealed()) == SECRET


@pytest.mark.parametrize(
    ("value", "form"),
    [
        (SECRET, Form("i", (), False)),
        (10**30, Form("i", (), False)),  # NumPy would tell that it needs more than 64 bits
        (0.5, Form("f", (), False)),
        (np.zeros((2, 3)), Form("f", (2, 3), True)),
        (np.zeros(4, dtype=np.uint8), Form("u", (4,), True)),
        ("text", Form("U", (), False)),
    ],
)
def test_type_and_shape_are_public_and_no_more(value: Any, form: Form) -> None:
    assert form_of(sealed(value)) == form
    assert form.size == np.size(value)


def tables(records: int) -> Iterator[tuple[int, ...]]:
    """All multisets of up to `records` records, each a cell number."""
    for size in range(records + 1):
        yield from combinations_with_replacement(range(CELLS), size)


def neighbours(table: tuple[int, ...], relation: Relation) -> Iterator[tuple[int, ...]]:
    if relation is ADD_REMOVE:
        yield from ((*table, cell) for cell in range(CELLS))
    else:
        yield from (
            (*table[:i], cell, *table[i + 1 :]) for i, cell in product(range(len(table)), range(CELLS))
        )


def histogram(table: tuple[int, ...], relation: Relation) -> Sealed[NDArray[np.int64]]:
    counts = np.bincount(np.array(table, dtype=np.int64), minlength=CELLS)
    exact = {ADD_REMOVE: Sensitivity.of(1, monotone=True), REPLACE: Sensitivity.of(2, linf=1, l2_squared=2)}
    return Sealed(counts, exact[relation], relation, because="a record falls into one cell")


DERIVED: dict[str, Callable[[Sealed[NDArray[np.int64]]], Sealed[Any]]] = {
    "itself": lambda s: s,
    "join": lambda s: join([s, s]),
    "join of joins": lambda s: join([s, join([s, s])]),
    "claim": lambda s: s.claim(lambda v: 2 * v, s.sensitivity.scaled(2), because="twice a count"),
}


@pytest.mark.parametrize("name", DERIVED)
@pytest.mark.parametrize("relation", list(Relation))
def test_sensitivities_hold_on_every_pair_of_small_neighbours(name: str, relation: Relation) -> None:
    for table in tables(3):
        for other in neighbours(table, relation):
            pair = [histogram(rows, relation) for rows in (table, other)]
            before, after = (DERIVED[name](value) for value in pair)
            change = np.atleast_1d(open_seal(after) - open_seal(before)).astype(object)
            claimed = before.sensitivity
            assert before.relation is relation
            assert sum(abs(change)) <= claimed.l1
            assert max(abs(change)) <= claimed.linf
            assert sum(change**2) <= claimed.l2_squared
            assert max(change) - min(change) <= claimed.spread
            if claimed.monotone:
                assert min(change) >= 0 or max(change) <= 0


def test_the_bounds_are_reached_where_they_should_be() -> None:
    joined = join([sealed_counts(), sealed_counts()]).sensitivity
    assert (joined.l1, joined.linf, joined.l2_squared) == (2, 1, 2)


def sealed_counts() -> Sealed[NDArray[np.int64]]:
    return histogram((0, 1), ADD_REMOVE)


def test_values_of_different_relations_are_not_joined() -> None:
    with pytest.raises(UsageError, match="different relations"):
        join([histogram((0,), ADD_REMOVE), histogram((0,), REPLACE)])
    with pytest.raises(UsageError, match="nothing to join"):
        join([])


def test_reals_are_refused_where_rounding_would_break_the_sensitivity() -> None:
    with pytest.raises(UsageError, match="lattice"):
        join([sealed(np.array([0.4, 0.3]))])


@given(
    arrays.arrays(
        dtype=st.sampled_from([np.uint8, np.int8, np.uint16, np.uint32, np.int32, np.uint64]),
        shape=st.integers(1, 6),
        elements=st.integers(0, 100),
    )
)
def test_small_and_unsigned_types_stay_exact(value: NDArray[Any]) -> None:
    joined = open_seal(join([sealed(value), sealed(np.array([-1]))]))
    assert joined.dtype == np.int64
    assert joined.tolist() == [*value.tolist(), -1]


def test_a_claim_needs_a_reason() -> None:
    with pytest.raises(UsageError, match="reason"):
        sealed_counts().claim(lambda v: v, Sensitivity.of(1), because="")
    top = sealed_counts().claim(
        lambda v: v.max(keepdims=True),
        Sensitivity.of(1),
        shape=(1,),
        because="a maximum moves with one cell",
    )
    assert open_seal(top).tolist() == [1]


@pytest.mark.parametrize(
    "make",
    [
        lambda: Sensitivity.of(-1),
        lambda: Sensitivity.of(1, linf=2),
        lambda: Sensitivity.of(1, l2_squared=-1),
        lambda: Sensitivity.of(1, spread=-1),
        lambda: Sensitivity(1.0, 1.0, 1.0),  # type: ignore[arg-type]
    ],
)
def test_impossible_sensitivities_are_refused(make: Callable[[], Sensitivity]) -> None:
    with pytest.raises(UsageError):
        make()


vectors = arrays.arrays(np.int64, 4, elements=st.integers(-9, 9))


@given(vectors, st.integers(-5, 5))
def test_the_algebra_of_sensitivities_bounds_every_change(first: NDArray[Any], k: int) -> None:
    def of(change: NDArray[Any]) -> Sensitivity:
        return Sensitivity(
            Fraction(int(abs(change).sum())),
            Fraction(int(abs(change).max())),
            Fraction(int((change**2).sum())),
            bool((change >= 0).all() or (change <= 0).all()),
        )

    def covers(bound: Sensitivity, change: NDArray[Any]) -> bool:
        one = of(change)
        return (
            one.l1 <= bound.l1
            and one.linf <= bound.linf
            and one.l2_squared <= bound.l2_squared
            and int(change.max() - change.min()) <= bound.spread
            and (one.monotone or not bound.monotone)
        )

    assert covers(of(first), first)
    assert covers(of(first).scaled(k), k * first)


def test_scores_of_many_candidates_move_together() -> None:
    scores = Sensitivity.scores(2, candidates=10)
    assert (scores.l1, scores.linf, scores.spread) == (20, 2, 4)
    assert Sensitivity.scores(2, candidates=10, monotone=True).spread == 2
    assert Sensitivity.scores(2, candidates=10, spread=3).spread == 3


@pytest.mark.parametrize(
    "make",
    [
        lambda n: Sensitivity.of(n),
        lambda n: Sensitivity.of(100, linf=n, l2_squared=n, spread=n),
        lambda n: Sensitivity.scores(n, n),
        lambda n: Sensitivity.of(1).scaled(n),
    ],
)
def test_numpy_integers_never_get_into_the_arithmetic(make: Callable[[Any], Sensitivity]) -> None:
    """As numerators they would wrap around: 100 over a part of 1/10^17 came out below zero."""
    moves = make(np.int64(100))
    for norm in (moves.l1, moves.linf, moves.l2_squared, moves.spread):
        assert type(norm.numerator) is int
        assert type(norm.denominator) is int
    assert moves.l1 / Fraction(1, 10**17) > 0


def test_a_fraction_of_numpy_integers_is_no_sensitivity() -> None:
    wrapping = Fraction(np.int64(1))
    with pytest.raises(UsageError, match="exact fractions"):
        Sensitivity(wrapping, wrapping, wrapping)


SECRET = 987654321


def failing(values: Any) -> Any:
    raise ValueError(f"the value is {values[0]}")


@pytest.mark.parametrize(
    "function",
    [
        failing,
        lambda values: values[values > 0][:1],  # a length that depends on the values
        lambda values: values.astype(np.float64) if values[0] > 5 else values,  # a type that does
        lambda values: values.tolist(),
        lambda values: int(values[0]),
        lambda values: None,
        lambda values: values[10**6],
    ],
)
def test_a_claim_that_fails_says_nothing_of_the_values(function: Any) -> None:
    value = Sealed(np.array([SECRET, 7, 0]), Sensitivity.of(1), ADD_REMOVE, because="a test")
    with pytest.raises(UsageError) as caught:
        value.claim(function, Sensitivity.of(1), because="a test")
    assert str(caught.value) == FAILURE
    assert caught.value.__context__ is caught.value.__cause__ is None
    assert all(str(SECRET) not in repr(entry.frame.f_locals) for entry in caught.traceback)


def test_a_claim_declares_another_shape_or_type() -> None:
    value = Sealed(np.array([1, 2, 3]), Sensitivity.of(1), ADD_REMOVE, because="a test")
    first = value.claim(lambda values: values[:1], Sensitivity.of(1), shape=(1,), because="a test")
    halves = value.claim(lambda values: values / 2, Sensitivity.of(1), dtype=np.float64, because="a test")
    assert open_seal(first).tolist() == [1]
    assert open_seal(halves).tolist() == [0.5, 1.0, 1.5]


def test_a_sealed_value_has_no_state_to_look_at() -> None:
    value = Sealed(np.array([SECRET]), Sensitivity.of(1), ADD_REMOVE, because="a test")
    with pytest.raises(UsageError, match="cannot be copied"):
        value.__getstate__()


def test_a_claim_without_a_reason_is_refused_before_a_raw_value_has_a_name() -> None:
    sealed = Sealed(np.array([31337]), Sensitivity.of(1), Relation.ADD_REMOVE, because="made up for a test")
    with pytest.raises(UsageError, match="the reason why it holds") as caught:
        sealed.claim(lambda whole: whole + 1, Sensitivity.of(1), because="")
    frame = caught.tb.tb_next  # the test itself may see what it made up
    while frame is not None:
        assert not any(isinstance(value, np.ndarray) for value in frame.tb_frame.f_locals.values())
        frame = frame.tb_next


def test_broken_numbers_are_not_joined_and_refused_before_a_raw_value_has_a_name() -> None:
    sealed = Sealed(
        np.array([0.5, 7.0]), Sensitivity.of(1), Relation.ADD_REMOVE, because="made up for a test"
    )
    with pytest.raises(UsageError, match="whole numbers") as caught:
        join([sealed, sealed])
    for entry in caught.traceback[1:]:  # below this test
        for value in entry.frame.f_locals.values():
            assert not (isinstance(value, np.ndarray) and value.tolist() == [0.5, 7.0])


def test_a_panic_in_a_claim_says_nothing_of_the_values() -> None:
    class Panic(BaseException):
        """What Rust raises in Python."""

    def panics(values: Any) -> Any:
        raise Panic(str(values))

    value = Sealed(np.array([SECRET, 7, 0]), Sensitivity.of(1), ADD_REMOVE, because="a test")
    with pytest.raises(UsageError) as caught:
        value.claim(panics, Sensitivity.of(1), because="a test")
    assert str(caught.value) == FAILURE
    assert caught.value.__context__ is caught.value.__cause__ is None
