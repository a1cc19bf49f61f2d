"""Sealed values: what was computed from the records and may not be looked at.

A `Sealed[T]` carries its sensitivity, the relation it was derived under, and the reason why that
sensitivity holds. There is one constructor, and it asks for the reason: searching the source for
`because=` lists the birth of every sealed value, each with its theorem in a few words. Values are derived
from others by `claim`, and put end to end by `join`. To turn it into something public there is one
door: a mechanism, which pays and then calls `open_seal`; `tests/privacy/test_privacy_arguments.py`
lists who does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from math import prod
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

from penstock.errors import UsageError
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.privacy.unit import Relation

T = TypeVar("T", covariant=True)
U = TypeVar("U")


class Sealed(Generic[T]):
    """A value computed from the records, closed until a mechanism pays to open it.

    `because` says why one unit moves the value by no more than the sensitivity: a theorem in a few words,
    written in the source and never made from the records. Reviewers read these lines; nothing else in a
    method can weaken the guarantee.

    >>> counts = np.array([3, 4])
    >>> Sealed(counts, Sensitivity.of(1), Relation.ADD_REMOVE, because="a record falls into one cell")
    Sealed(sensitivity 1, add-remove)
    """

    __slots__ = ("__because", "__relation", "__sensitivity", "__value")

    def __init__(self, value: T, sensitivity: Sensitivity, relation: Relation, *, because: str) -> None:
        _refuse_without_reason(because)
        self.__value = value
        self.__sensitivity = sensitivity
        self.__relation = relation
        self.__because = because

    @property
    def sensitivity(self) -> Sensitivity:
        return self.__sensitivity

    @property
    def relation(self) -> Relation:
        return self.__relation

    @property
    def because(self) -> str:
        """Why the sensitivity holds, in the words of whoever made the value: public."""
        return self.__because

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

    def __getstate__(self) -> Any:
        raise UsageError("A sealed value cannot be copied or written; open it with a mechanism first.")

    def claim(
        self,
        function: Callable[[T], U],
        sensitivity: Sensitivity,
        *,
        because: str,
        shape: tuple[int, ...] | None = None,
        dtype: DTypeLike | None = None,
    ) -> Sealed[U]:
        """A value derived from this one, with a sensitivity that the caller vouches for.

        Shape and type of the result are public: those declared, or else those of this value. See `derived`.
        """
        _refuse_without_reason(because)  # now, while no raw value has a name that a traceback could show
        found = derived(function, self.__value, shape=shape, dtype=dtype)
        if found is FAILED:
            raise UsageError(FAILURE)
        return Sealed(found, sensitivity, self.relation, because=because)


def _refuse_without_reason(because: str) -> None:
    if not isinstance(because, str) or not because.strip():
        raise UsageError("A sensitivity needs the reason why it holds: because='...'.")


FAILED: Any = object()
FAILURE = (
    "A function of a sealed value failed, or returned something else than an array of the declared shape and "
    "type. Try it on made-up values: nothing more can be said about these. Nothing was spent."
)


def derived(
    function: Callable[[Any], Any],
    value: Any,
    *,
    shape: tuple[int, ...] | None = None,
    dtype: DTypeLike | None = None,
) -> Any:
    """What a function makes of a raw value, or `FAILED`; whoever asked then raises `FAILURE`.

    An error message may quote the records, and a length or type that depends on them would tell about them
    for free. So a failure is one fixed sentence, whatever went wrong, and it is raised where no exception is
    being handled and no raw value has a name: neither its context nor its traceback shows any.
    """
    try:
        found = function(value)
        if isinstance(value, np.ndarray) or shape is not None:
            wanted = value.shape if shape is None else shape
            kind = value.dtype if dtype is None else np.dtype(dtype)
            fits = isinstance(found, np.ndarray) and found.shape == wanted and found.dtype == kind
        else:
            fits = type(found) is type(value)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # a panic of Rust is no Exception, and quotes values too
        return FAILED
    return found if fits else FAILED


def join(parts: Sequence[Sealed[NDArray[Any]]]) -> Sealed[NDArray[np.int64]]:
    """Several sealed integer vectors over the same records, end to end: their L1 sensitivities add."""
    if not parts:
        raise UsageError("There is nothing to join.")
    relations = {part.relation for part in parts}
    if len(relations) != 1:
        raise UsageError("Sealed values of different relations cannot be joined.")
    for part in parts:
        _refuse_broken_numbers(form_of(part).kind)
    values = [_integers(open_seal(part)).ravel() for part in parts]
    sensitivity = Sensitivity(
        sum((part.sensitivity.l1 for part in parts), Fraction(0)),
        max(part.sensitivity.linf for part in parts),
        sum((part.sensitivity.l2_squared for part in parts), Fraction(0)),
    )
    return Sealed(
        np.concatenate(values),
        sensitivity,
        relations.pop(),
        because="one unit moves all parts at once: L1 and squared L2 add up over the parts, and no "
        "coordinate moves further than it did in its part",
    )


class Form(NamedTuple):
    """Type and shape of a sealed value."""

    kind: str  # NumPy's letter for the type of number: i, u, f, ...; n for Python's integers, O for no number
    shape: tuple[int, ...]
    is_array: bool

    @property
    def size(self) -> int:
        return prod(self.shape)


_ONE_INTEGER = Form("i", (), False)


def form_of(sealed: Sealed[Any]) -> Form:
    """Type and shape of the value inside. Schema and method fix them, never the records: they are public.

    Mechanisms check them before they are paid.
    """
    value = open_seal(sealed)
    if type(value) is int:
        return _ONE_INTEGER  # of an int NumPy sees the size, which is private
    array = np.asarray(value)
    kind: str = array.dtype.kind
    if kind == "O" and isinstance(value, np.ndarray) and all(type(one) is int for one in value.ravel()):
        kind = "n"
    return Form(kind, array.shape, isinstance(value, np.ndarray))


def open_seal(sealed: Sealed[U]) -> U:
    """The value inside. Only mechanisms call this, after they have been paid.

    A method with a privacy proof of its own calls it in one small function whose docstring states
    the theorem, and an audit covers that function.
    """
    value: U = sealed._Sealed__value  # type: ignore[attr-defined]  # the one door, on purpose
    return value


def _refuse_broken_numbers(kind: str) -> None:
    """Asked before a raw value has a name that a traceback could show."""
    if kind not in "iu":
        raise UsageError("This operation is exact and needs whole numbers; put reals on a lattice first.")


def _integers(values: NDArray[Any]) -> NDArray[np.int64]:
    """Whole numbers as int64: other widths would wrap around or turn into floats in the arithmetic."""
    array = np.asarray(values)
    if array.dtype == np.uint64:
        array = np.minimum(array, np.uint64(np.iinfo(np.int64).max))
    return array.astype(np.int64)
