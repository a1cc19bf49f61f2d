"""The receipt: the proof of payment that goes with a release, in memory and as JSON.

It holds the tree of everything that was paid (`penstock.privacy.budgets.charges`) beside the budget, the unit
and the relation, and refuses to exist when they contradict each other. All arithmetic is exact, so "the
total equals the budget" is an equality of fractions, not a tolerance.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from html import escape
from math import lcm
from typing import Any, TypeVar

from penstock.errors import BudgetError, ReleaseError
from penstock.privacy.budgets.amounts import Amount, plain
from penstock.privacy.budgets.charges import Apart, Charge, Concentrated, Entry, Portion, Together
from penstock.privacy.budgets.tight_total import epsilon_at
from penstock.privacy.unit import Relation, Unit

T = TypeVar("T")


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
        for group in _groups_apart(self.paid):
            met = min(self.unit.records, len(group.parts))
            if self.relation is not Relation.ADD_REMOVE or group.meets < met:
                raise ReleaseError(
                    f"The receipt counts '{group.label}' as disjoint parts, which does not hold for "
                    f"{self.unit.words} under '{self.relation.value}'; do not trust it."
                )
        epsilon, delta = self.paid.cost
        if epsilon > self.budget_epsilon or delta > self.budget_delta:
            raise ReleaseError(
                f"The receipt lists charges of epsilon {plain(epsilon)} and delta {plain(delta)}, more than "
                f"its budget of {plain(self.budget_epsilon)} and {plain(self.budget_delta)}; do not trust it."
            )

    @property
    def epsilon(self) -> Fraction:
        return self.paid.cost[0]

    @property
    def delta(self) -> Fraction:
        return self.paid.cost[1]

    def _repr_html_(self) -> str:
        head = "".join(f"<th style='text-align:left'>{each}</th>" for each in ("for", "mechanism", "epsilon"))
        rows = "".join(
            f"<tr><td style='text-align:left'>{escape(' / '.join((*above[1:], charge.label)))}</td>"
            f"<td style='text-align:left'>{escape(charge.mechanism)}</td>"
            f"<td>{plain(charge.epsilon)}</td></tr>"
            for above, charge in self.charges()
        )
        return f"<p><strong>{escape(self.guarantee)}</strong></p><table><tr>{head}</tr>{rows}</table>"

    def charges(self) -> Iterator[tuple[tuple[str, ...], Charge]]:
        """Every payment with the labels of the groups around it; a concentrated one is one line."""

        def walk(entry: Entry, above: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Charge]]:
            if isinstance(entry, Charge):
                yield above, entry
            elif isinstance(entry, Concentrated):
                yield above, entry.charge
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

    def epsilon_at(self, delta: Amount, units: int = 1) -> float:
        """A tighter epsilon for the whole receipt at this delta, by Google's `dp_accounting`.

        With `units`, for so many of the protected units together: a household, a user of several records.

        Computed in floating point with pessimistic rounding: it informs; the exact total decides.
        """
        return epsilon_at(self.paid, delta, units)

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
            "ledger": _NO_LEDGER if self.ledger is None else self.ledger,
            "paid": _entry_to_dict(self.paid),
        }

    @classmethod
    def from_dict(cls, data: Any) -> Receipt:
        """The receipt behind `to_dict`; anything else is refused with a clear sentence."""
        try:
            read = _Reader()
            paid = read.entry(data["paid"])
            if not isinstance(paid, Together):
                raise TypeError
            ledger = _is(str, data["ledger"])
            receipt = cls(
                budget_epsilon=read.amount(data["budget"]["epsilon"]),
                budget_delta=read.amount(data["budget"]["delta"]),
                relation=Relation(data["relation"]),
                unit=Unit.model_validate(data["unit"], strict=True),
                paid=paid,
                publishable=_is(bool, data["publishable"]),
                ledger=None if ledger == _NO_LEDGER else ledger,
            )
            stated = read.amount(data["epsilon"]), read.amount(data["delta"])
            words = _is(str, data["guarantee"])
        except (
            KeyError,
            TypeError,
            ValueError,
            AttributeError,
            RecursionError,
            ZeroDivisionError,
            BudgetError,
        ) as problem:
            raise ReleaseError(
                "receipt.json is not a Penstock receipt; get the release again from its publisher."
            ) from problem
        if stated != receipt.paid.cost or words != receipt.guarantee:
            raise ReleaseError(
                "receipt.json states a total that its charges do not add up to; do not trust it."
            )
        return receipt


_NO_LEDGER = "none: this release is in no ledger"


def _groups_apart(entry: Entry) -> Iterator[Apart]:
    if isinstance(entry, Apart):
        yield entry
    if isinstance(entry, Apart | Together):
        for part in entry.parts:
            yield from _groups_apart(part)


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
    if isinstance(entry, Concentrated):
        return {
            "label": entry.label,
            "epsilon": str(entry.epsilon),
            "delta": str(entry.delta),
            "rho": str(entry.rho),
            "concentrated": [
                {
                    "label": portion.label,
                    "mechanism": portion.mechanism,
                    "rho": str(portion.rho),
                    "sensitivity": portion.sensitivity,
                    "detail": portion.detail,
                }
                for portion in entry.parts
            ],
        }
    parts = [_entry_to_dict(part) for part in entry.parts]
    if isinstance(entry, Together):
        return {"label": entry.label, "together": parts}
    return {"label": entry.label, "meets": entry.meets, "apart": parts}


_LONGEST_DENOMINATOR = 100_000  # bits
# Nothing but digits: "1e999999999" is a valid fraction too, and reading it would never end.
_FRACTION = re.compile(r"[0-9]{1,2000}(/[0-9]{1,2000})?", re.ASCII)


class _Reader:
    """Reads amounts and entries from JSON that nobody vouches for.

    Amounts crafted to have no common denominator of sensible size would take forever to add up, so
    the reader keeps the common denominator of all it has read and stops when that gets too long.
    """

    def __init__(self) -> None:
        self._common = 1

    def amount(self, text: Any) -> Fraction:
        if not isinstance(text, str) or not _FRACTION.fullmatch(text):
            raise TypeError
        value = Fraction(text)
        self._common = lcm(self._common, value.denominator)
        if self._common.bit_length() > _LONGEST_DENOMINATOR:
            raise ValueError
        return value

    def entry(self, data: Any) -> Entry:
        label = _is(str, data["label"])
        if "together" in data:
            return Together(label, tuple(self.entry(part) for part in _is(list, data["together"])))
        if "apart" in data:
            parts = tuple(self.entry(part) for part in _is(list, data["apart"]))
            return Apart(label, parts, _is(int, data["meets"]))
        epsilon, delta = self.amount(data["epsilon"]), self.amount(data["delta"])
        if "concentrated" in data:
            portions = tuple(
                Portion(
                    _is(str, part["label"]),
                    _is(str, part["mechanism"]),
                    self.amount(part["rho"]),
                    _is(str, part["sensitivity"]),
                    _is(str, part["detail"]),
                )
                for part in _is(list, data["concentrated"])
            )
            return Concentrated(label, epsilon, delta, self.amount(data["rho"]), portions)
        return Charge(
            label,
            _is(str, data["mechanism"]),
            epsilon,
            delta,
            _is(str, data["sensitivity"]),
            _is(str, data["detail"]),
        )


def _is(kind: type[T], value: Any) -> T:
    if type(value) is not kind:
        raise TypeError
    return value
