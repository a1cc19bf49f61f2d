"""Parameters of methods: each declares its type and range once, and one checker words all complaints.

A parameter is a field of the method's dataclass. What it may be is part of its annotation:

    constant: Literal["tight", "published"] = "tight"          # one of these words
    theta: Annotated[int, Whole()] = 0                         # any whole number
    deepest: Annotated[int | None, Whole(least=0)] = None      # None where the type allows it
    tree_frac: Annotated[Amount, Exact(above=0, below=1)] = "1/2"

The same declarations read the command line's ``--param name=value``, fill ``penstock methods --json`` and the
tables of the docs.
"""

from __future__ import annotations

import types
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import MISSING, dataclass, fields
from decimal import Decimal
from fractions import Fraction
from functools import cache
from math import isfinite
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from penstock.errors import BudgetError, UsageError
from penstock.privacy.budgets.amounts import exact, is_long, shown

Bound = int | float | Fraction


class Domain(ABC):
    """What a parameter may be."""

    @property
    @abstractmethod
    def words(self) -> str:
        """What it may be, to follow "must be"."""

    @abstractmethod
    def accepts(self, value: object) -> bool:
        """Whether a value from Python is one of them."""

    @abstractmethod
    def read(self, text: str) -> object:
        """The value that a text on the command line stands for; ValueError where it stands for none."""


@dataclass(frozen=True)
class Whole(Domain):
    """A whole number, within bounds where there are any.

    >>> Whole(least=1).words
    'a whole number from 1 on'
    """

    least: int | None = None
    most: int | None = None

    @property
    def words(self) -> str:
        return f"a whole number{_range_words(least=self.least, most=self.most)}"

    def accepts(self, value: object) -> bool:
        # NumPy's own numbers are no plain JSON, and a release must be writable once it is paid for
        if not isinstance(value, int) or isinstance(value, bool):
            return False
        return not is_long(value) and _within(value, least=self.least, most=self.most)

    def read(self, text: str) -> object:
        return int(text)


@dataclass(frozen=True)
class _Bounded(Domain):
    """Numbers within bounds, each of which may be part of it or not."""

    least: Bound | None = None
    most: Bound | None = None
    above: Bound | None = None
    below: Bound | None = None

    def holds(self, value: Bound) -> bool:
        """Whether a number is within all bounds."""
        return _within(value, self.least, self.most, self.above, self.below)

    @property
    def range_words(self) -> str:
        return _range_words(self.least, self.most, self.above, self.below)


class Number(_Bounded):
    """A finite number of floating point, within bounds where there are any.

    >>> Number(above=0).words
    'a number above 0'
    """

    @property
    def words(self) -> str:
        return f"a number{self.range_words}"

    def accepts(self, value: object) -> bool:
        if not isinstance(value, int | float) or isinstance(value, bool):
            return False
        try:
            number = float(value)
        except OverflowError:  # a whole number that no double holds
            return False
        return isfinite(number) and self.holds(number)

    def read(self, text: str) -> object:
        value = float(text)
        if not isfinite(value):
            raise ValueError(text)
        return value


class Exact(_Bounded):
    """An amount that is kept exactly: a fraction, a whole number, or a decimal as text.

    >>> Exact(above=0, below=1).words
    'a number or a fraction such as 3/10, above 0 and below 1'
    """

    @property
    def words(self) -> str:
        return f"a number or a fraction such as 3/10{',' if self.range_words else ''}{self.range_words}"

    def accepts(self, value: object) -> bool:
        if not isinstance(value, int | float | str | Fraction | Decimal) or isinstance(value, bool):
            return False
        try:
            return self.holds(exact(value))
        except BudgetError:
            return False

    def read(self, text: str) -> object:
        try:
            return exact(text)
        except BudgetError:
            raise ValueError(text) from None


@dataclass(frozen=True)
class Share(Exact):
    """What one of two steps gets of a budget: a millionth at least for each, or its noise has no bounds.

    With `none` the step may also be left out.

    >>> Share(none=True).words
    'a number or a fraction such as 3/10, from 0.000001 to 0.999999, or 0'
    """

    least: Bound | None = Fraction(1, 10**6)
    most: Bound | None = 1 - Fraction(1, 10**6)
    none: bool = False

    @property
    def words(self) -> str:
        return f"{super().words}{', or 0' if self.none else ''}"

    def holds(self, value: Bound) -> bool:
        return (self.none and value == 0) or super().holds(value)


@dataclass(frozen=True)
class OneOf(Domain):
    """One of a few words."""

    choices: tuple[str, ...]

    @property
    def words(self) -> str:
        return f"one of {', '.join(self.choices)}"

    def accepts(self, value: object) -> bool:
        return isinstance(value, str) and value in self.choices

    def read(self, text: str) -> object:
        if text not in self.choices:
            raise ValueError(text)
        return text


@dataclass(frozen=True)
class YesNo(Domain):
    """True or false."""

    @property
    def words(self) -> str:
        return "true or false"

    def accepts(self, value: object) -> bool:
        return isinstance(value, bool)

    def read(self, text: str) -> object:
        known = {"true": True, "yes": True, "false": False, "no": False}
        if text.lower() not in known:
            raise ValueError(text)
        return known[text.lower()]


@dataclass(frozen=True)
class Text(Domain):
    """Any text: a name that the schema decides about."""

    @property
    def words(self) -> str:
        return "text"

    def accepts(self, value: object) -> bool:
        return isinstance(value, str)

    def read(self, text: str) -> object:
        return text


@dataclass(frozen=True)
class FromPython(Domain):
    """Something that cannot be written on a command line; the method itself checks it."""

    what: str

    @property
    def words(self) -> str:
        return self.what

    def accepts(self, value: object) -> bool:
        return True

    def read(self, text: str) -> object:
        raise ValueError(text)


@dataclass(frozen=True)
class Parameter:
    """One parameter of a method."""

    name: str
    domain: Domain
    optional: bool
    default: Any

    def refuse(self, method: object) -> None:
        """Raise one sentence when the method holds a value that the parameter cannot have."""
        value = getattr(method, self.name)
        if value is None and self.optional:
            return
        if not self.domain.accepts(value):
            raise self._complaint(value)

    def read(self, text: str) -> Any:
        """The value of a text on the command line."""
        if self.optional and text.lower() in ("none", ""):
            return None
        try:
            return self.domain.read(text)
        except ValueError:
            raise self._complaint(text) from None

    def _complaint(self, value: object) -> UsageError:
        return UsageError(f"{self.name} must be {self.domain.words}, not {shown(value)}. Nothing was spent.")


@dataclass(frozen=True)
class Declared(ABC):  # noqa: B024  # what is abstract about it is in those that declare something
    """A frozen dataclass whose fields are parameters, each checked against what it declares when it is
    made."""

    def __post_init__(self) -> None:
        for parameter in self.parameters():
            parameter.refuse(self)

    @classmethod
    def parameters(cls) -> tuple[Parameter, ...]:
        """What can be set, with its range and its default."""
        return parameters_of(cls)


@cache
def parameters_of(method: type[Any]) -> tuple[Parameter, ...]:
    """The declared parameters of a method's class, in their order."""
    hints = get_type_hints(method, include_extras=True)
    return tuple(
        Parameter(
            field.name,
            *_declared(hints[field.name], f"{method.__name__}.{field.name}"),
            None if field.default is MISSING else field.default,
        )
        for field in fields(method)
    )


def _declared(hint: Any, where: str) -> tuple[Domain, bool]:
    """The domain of an annotation, and whether it may be None."""
    domain: Domain | None = None
    if get_origin(hint) is Annotated:
        hint, *marks = get_args(hint)
        domain = next((mark for mark in marks if isinstance(mark, Domain)), None)
    options: Sequence[Any] = (hint,)
    if get_origin(hint) in (Union, types.UnionType):
        options = get_args(hint)
    optional = types.NoneType in options
    if domain is None:
        named = [option for option in options if option is not types.NoneType]
        words = [word for option in named if get_origin(option) is Literal for word in get_args(option)]
        if named == [bool]:
            domain = YesNo()
        elif words and all(get_origin(option) is Literal for option in named):
            domain = OneOf(tuple(words))
        else:
            raise TypeError(f"{where} declares no range; annotate it with one")
    return domain, optional


def _within(
    value: Bound,
    least: Bound | None = None,
    most: Bound | None = None,
    above: Bound | None = None,
    below: Bound | None = None,
) -> bool:
    return (
        (least is None or value >= least)
        and (most is None or value <= most)
        and (above is None or value > above)
        and (below is None or value < below)
    )


def _range_words(
    least: Bound | None = None,
    most: Bound | None = None,
    above: Bound | None = None,
    below: Bound | None = None,
) -> str:
    """The bounds in words, with a blank before them.

    >>> _range_words(least=1, most=10_000), _range_words(least=1), _range_words(above=0, below=1)
    (' from 1 to 10,000', ' from 1 on', ' above 0 and below 1')
    """
    if least is not None:
        if most is not None:
            return f" from {_number(least)} to {_number(most)}"
        return f" from {_number(least)} " + ("on" if below is None else f"to below {_number(below)}")
    parts = [
        f"{words} {_number(bound)}"
        for words, bound in (("above", above), ("of at most", most), ("below", below))
        if bound is not None
    ]
    return f" {' and '.join(parts)}" if parts else ""


def _number(bound: Bound) -> str:
    return f"{float(bound):f}".rstrip("0").rstrip(".") if isinstance(bound, Fraction) else f"{bound:,}"
