"""Sealed values: what was computed from the records and may not be looked at.

A `Sealed[T]` carries its sensitivity and the relation it was derived under. It offers only
operations whose effect on the sensitivity is known. To turn it into something public there is one
door: a mechanism, which pays and then calls `open_seal`. Everything that needs a theorem of its
own goes through `Sealed.claim` or `open_seal`, so searching the source for those two names lists
every place where a privacy argument is made.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from penstock.errors import UsageError
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.privacy.unit import Relation

T = TypeVar("T", covariant=True)
U = TypeVar("U")


class Sealed(Generic[T]):
    """A value computed from the records, closed until a mechanism pays to open it.

    >>> sealed = Sealed(np.array([3, 4]), Sensitivity.of(1), Relation.ADD_REMOVE)
    >>> sealed
    Sealed(sensitivity 1, add-remove)
    """

    __slots__ = ("__relation", "__sensitivity", "__value")

    def __init__(self, value: T, sensitivity: Sensitivity, relation: Relation) -> None:
        self.__value = value
        self.__sensitivity = sensitivity
        self.__relation = relation

    @property
    def sensitivity(self) -> Sensitivity:
        return self.__sensitivity

    @property
    def relation(self) -> Relation:
        return self.__relation

    def __repr__(self) -> str:
        return f"Sealed(sensitivity {self.sensitivity.l1}, {self.relation.value})"

    def __bool__(self) -> bool:
        raise UsageError("A sealed value cannot decide a branch; open it with a mechanism first.")

    def __iter__(self) -> Any:
        raise UsageError("A sealed value cannot be read; open it with a mechanism first.")

    def __eq__(self, other: object) -> Any:
        raise UsageError("A sealed value cannot be compared; open it with a mechanism first.")

    __hash__ = object.__hash__

    def __reduce__(self) -> Any:
        raise UsageError("A sealed value cannot be copied or written; open it with a mechanism first.")

    def claim(self, function: Callable[[T], U], sensitivity: Sensitivity, *, because: str) -> Sealed[U]:
        """A value derived from this one, with a sensitivity that the caller vouches for.

        `because` names the theorem. The reviewer of a method reads these lines; nothing else in
        the method can weaken the guarantee.
        """
        if not because:
            raise UsageError("A claimed sensitivity needs the reason why it holds.")
        return Sealed(function(self.__value), sensitivity, self.relation)

    def scaled(self: Sealed[NDArray[Any]], factor: int) -> Sealed[NDArray[np.int64]]:
        """A public whole number of times the value."""
        product = _integers(self.__value).astype(object) * int(factor)
        return Sealed(_held(product), self.sensitivity.scaled(factor), self.relation)

    def under(self, relation: Relation) -> Sealed[T]:
        """The same value with its sensitivity under another relation; replace cannot be undone."""
        if relation is self.relation:
            return self
        if relation is Relation.ADD_REMOVE:
            raise UsageError(
                "A value sealed under 'replace' has no known sensitivity under 'add-remove', "
                "where the number of records is private; seal it under 'add-remove' instead."
            )
        return Sealed(self.__value, self.sensitivity.replaced(), relation)

    def total(self: Sealed[NDArray[Any]]) -> Sealed[int]:
        """The sum over all cells: it moves by no more than the cells together, also where 64 bits end."""
        values = _integers(self.__value)
        high, low = int(np.sum(values >> 32)), int(np.sum(values & 0xFFFFFFFF))  # neither sum can wrap
        bounds = np.iinfo(np.int64)
        held = min(max((high << 32) + low, int(bounds.min)), int(bounds.max))
        return Sealed(held, Sensitivity.of(self.sensitivity.l1), self.relation)

    def linear(self: Sealed[NDArray[Any]], matrix: NDArray[Any]) -> Sealed[NDArray[np.int64]]:
        """A public integer matrix applied to a vector: L1 grows by at most the largest column sum.

        Results beyond 64 bits are held at the ends of the range, which moves none of them further
        than the sensitivity says.
        """
        weights = _integers(matrix)
        values = _integers(self.__value)
        if weights.ndim != 2 or values.ndim != 1 or weights.shape[1] != values.size:
            raise UsageError(
                f"A matrix of shape {weights.shape} does not fit a sealed value of shape {values.shape}."
            )
        sizes = np.abs(weights.astype(object)) if _largest(weights) >= 2**31 else np.abs(weights)
        columns = Fraction(int(sizes.sum(axis=0).max(initial=0)))
        l1 = self.sensitivity.l1 * columns
        linf = min(l1, self.sensitivity.l1 * _largest(weights))
        fits = _largest(weights) * max(1, _largest(values)) * max(1, values.size) < 2**63
        product = weights @ values if fits else _held(weights.astype(object) @ values.astype(object))
        return Sealed(product, Sensitivity.of(l1, linf=linf), self.relation)


def join(parts: Sequence[Sealed[NDArray[Any]]]) -> Sealed[NDArray[np.int64]]:
    """Several sealed integer vectors over the same records, end to end: their L1 sensitivities add."""
    if not parts:
        raise UsageError("There is nothing to join.")
    relations = {part.relation for part in parts}
    if len(relations) != 1:
        raise UsageError("Sealed values of different relations cannot be joined; convert one first.")
    values = [_integers(open_seal(part)).ravel() for part in parts]
    sensitivity = Sensitivity(
        sum((part.sensitivity.l1 for part in parts), Fraction(0)),
        max(part.sensitivity.linf for part in parts),
        sum((part.sensitivity.l2_squared for part in parts), Fraction(0)),
    )
    return Sealed(np.concatenate(values), sensitivity, relations.pop())


def open_seal(sealed: Sealed[U]) -> U:
    """The value inside. Only mechanisms call this, after they have been paid.

    A method with a privacy proof of its own calls it in one small function whose docstring states
    the theorem, and an audit covers that function.
    """
    value: U = sealed._Sealed__value  # type: ignore[attr-defined]  # the one door, on purpose
    return value


def _integers(values: NDArray[Any]) -> NDArray[np.int64]:
    """Whole numbers as int64: other widths would wrap around or turn into floats in the arithmetic."""
    array = np.asarray(values)
    if array.dtype.kind not in "iu":
        raise UsageError(
            "This operation is exact and needs whole numbers, not values of type "
            f"{array.dtype}; put reals on a lattice first."
        )
    if array.dtype == np.uint64:
        array = np.minimum(array, np.uint64(np.iinfo(np.int64).max))
    return array.astype(np.int64)


def _largest(values: NDArray[np.int64]) -> int:
    """The largest absolute value, also where its negation would not fit."""
    return max(int(values.max(initial=0)), -int(values.min(initial=0)))


def _held(values: NDArray[Any]) -> NDArray[np.int64]:
    """Python integers, each held inside the range of int64."""
    bounds = np.iinfo(np.int64)
    held: NDArray[Any] = np.clip(values, int(bounds.min), int(bounds.max))
    return held.astype(np.int64)
