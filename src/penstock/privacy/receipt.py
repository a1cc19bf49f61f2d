"""What was paid: charges, and the receipt that adds them up.

A receipt is a small immutable tree. Leaves are charges. Inner nodes say how their parts compose:
`Together` adds (sequential composition), `Apart` takes the largest (parallel composition over
disjoint parts of the records, sound only when one unit is added or removed). All arithmetic is
exact, so "the total equals the budget" is an equality of fractions, not a tolerance.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from penstock.errors import ReleaseError
from penstock.schema.unit import Relation, Unit


@dataclass(frozen=True)
class Charge:
    """One payment: a mechanism ran once and cost (epsilon, delta)."""

    label: str
    mechanism: str
    epsilon: Fraction
    delta: Fraction = Fraction(0)
    sensitivity: str = ""
    detail: str = ""

    @property
    def cost(self) -> tuple[Fraction, Fraction]:
        return self.epsilon, self.delta


@dataclass(frozen=True)
class Together:
    """Parts that all looked at the same records: their costs add."""

    label: str
    parts: tuple[Entry, ...] = ()

    @property
    def cost(self) -> tuple[Fraction, Fraction]:
        costs = [part.cost for part in self.parts]
        return sum((e for e, _ in costs), Fraction(0)), sum((d for _, d in costs), Fraction(0))


@dataclass(frozen=True)
class Apart:
    """Parts that looked at disjoint records: a unit meets only one of them, the dearest counts."""

    label: str
    parts: tuple[Entry, ...] = ()

    @property
    def cost(self) -> tuple[Fraction, Fraction]:
        costs = [part.cost for part in self.parts]
        return max((e for e, _ in costs), default=Fraction(0)), max((d for _, d in costs), default=Fraction(0))


Entry = Charge | Together | Apart


@dataclass(frozen=True)
class Receipt:
    """The proof of payment that goes with a release.

    >>> paid = Together("release", (Charge("size", "discrete laplace", Fraction(1, 20)),))
    >>> Receipt(Fraction(1), Fraction(0), Relation.ADD_REMOVE, Unit(), paid).epsilon
    Fraction(1, 20)
    """

    budget_epsilon: Fraction
    budget_delta: Fraction
    relation: Relation
    unit: Unit
    paid: Together
    publishable: bool = True
    ledger: str | None = None

    def __post_init__(self) -> None:
        epsilon, delta = self.paid.cost
        if epsilon > self.budget_epsilon or delta > self.budget_delta:
            raise ReleaseError(
                f"The receipt lists charges of epsilon {epsilon} and delta {delta}, more than its budget of "
                f"{self.budget_epsilon} and {self.budget_delta}; do not trust it."
            )

    @property
    def epsilon(self) -> Fraction:
        return self.paid.cost[0]

    @property
    def delta(self) -> Fraction:
        return self.paid.cost[1]

    def charges(self) -> Iterator[tuple[tuple[str, ...], Charge]]:
        """Every charge with the labels of the groups around it."""

        def walk(entry: Entry, above: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Charge]]:
            if isinstance(entry, Charge):
                yield above, entry
            else:
                for part in entry.parts:
                    yield from walk(part, (*above, entry.label))

        yield from walk(self.paid, ())

    @property
    def guarantee(self) -> str:
        """The guarantee in words."""
        kind = "pure differential privacy" if self.delta == 0 else "approximate differential privacy"
        amount = f"epsilon = {plain(self.epsilon)}" + (f", delta = {plain(self.delta)}" if self.delta else "")
        return f"{kind}, {amount}, for {self.unit.words}; neighbouring datasets: {self.relation.words}"

    def with_ledger(self, entry: str) -> Receipt:
        return replace(self, ledger=entry)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON; every amount is an exact fraction in text."""
        return {
            "guarantee": self.guarantee,
            "epsilon": str(self.epsilon),
            "delta": str(self.delta),
            "budget": {"epsilon": str(self.budget_epsilon), "delta": str(self.budget_delta)},
            "relation": self.relation.value,
            "unit": self.unit.model_dump(exclude_none=True, exclude={"review"}),
            "publishable": self.publishable,
            "ledger": self.ledger if self.ledger is not None else "none: this release is in no ledger",
            "paid": _entry_to_dict(self.paid),
        }

    @classmethod
    def from_dict(cls, data: Any) -> Receipt:
        """The receipt behind `to_dict`; anything else is refused with a clear sentence."""
        try:
            paid = _entry_from_dict(data["paid"])
            if not isinstance(paid, Together):
                raise TypeError
            ledger = str(data["ledger"])
            receipt = cls(
                budget_epsilon=_amount(data["budget"]["epsilon"]),
                budget_delta=_amount(data["budget"]["delta"]),
                relation=Relation(data["relation"]),
                unit=Unit.model_validate(data["unit"]),
                paid=paid,
                publishable=_flag(data["publishable"]),
                ledger=None if ledger.startswith("none") else ledger,
            )
            stated = _amount(data["epsilon"]), _amount(data["delta"])
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError, ZeroDivisionError) as problem:
            raise ReleaseError("receipt.json is not a Penstock receipt; get the release again from its publisher."
                               ) from problem
        if stated != receipt.paid.cost:
            raise ReleaseError("receipt.json states a total that its charges do not add up to; do not trust it.")
        return receipt


def plain(amount: Fraction) -> str:
    """A fraction as people write it: a short decimal when that is exact, else the fraction.

    >>> plain(Fraction(3, 10)), plain(Fraction(1, 3)), plain(Fraction(1, 10**9))
    ('0.3', '1/3', '1e-09')
    """
    short = f"{float(amount):.6g}"
    return short if Fraction(short) == amount else f"{amount.numerator}/{amount.denominator}"


def _entry_to_dict(entry: Entry) -> dict[str, Any]:
    if isinstance(entry, Charge):
        return {
            "label": entry.label,
            "mechanism": entry.mechanism,
            "epsilon": str(entry.epsilon),
            "delta": str(entry.delta),
            "sensitivity": entry.sensitivity,
            "detail": entry.detail,
        }
    how = "together" if isinstance(entry, Together) else "apart"
    return {"label": entry.label, how: [_entry_to_dict(part) for part in entry.parts]}


def _entry_from_dict(data: Any) -> Entry:
    label = data["label"]
    if not isinstance(label, str):
        raise TypeError
    if "together" in data:
        return Together(label, tuple(_entry_from_dict(part) for part in data["together"]))
    if "apart" in data:
        return Apart(label, tuple(_entry_from_dict(part) for part in data["apart"]))
    return Charge(label, str(data["mechanism"]), _amount(data["epsilon"]), _amount(data["delta"]),
                  str(data["sensitivity"]), str(data["detail"]))


def _amount(text: Any) -> Fraction:
    if not isinstance(text, str) or len(text) > 10_000:
        raise TypeError
    value = Fraction(text)
    if value < 0:
        raise ValueError
    return value


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value
