"""What was paid: charges, and the receipt that adds them up.

A receipt is a small immutable tree. Leaves are charges. Inner nodes say how their parts compose:
`Together` adds (sequential composition), `Apart` takes the largest (parallel composition over
disjoint parts of the records, sound only when one unit is added or removed), `Concentrated` is one
payment of (epsilon, delta) whose portions of rho add up under zCDP. All arithmetic is exact, so
"the total equals the budget" is an equality of fractions, not a tolerance.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import Any, TypeVar

from penstock.errors import BudgetError, ReleaseError
from penstock.privacy.budgets.accounting import Cost, parallel, rho_of, sequential
from penstock.privacy.unit import Relation, Unit

T = TypeVar("T")

# A receipt may come from anybody's file: neither a zero below the line nor a number without end.
_LONG_FRACTION = re.compile(r"(?<!\d)(\d{2,300})/([1-9]\d{2,299})(?!\d)")


@dataclass(frozen=True)
class Charge:
    """One payment: a mechanism ran once and cost (epsilon, delta)."""

    label: str
    mechanism: str
    epsilon: Fraction
    delta: Fraction = Fraction(0)
    sensitivity: str = ""
    detail: str = ""

    def __post_init__(self) -> None:
        _refuse_negative(self.label, self.epsilon, self.delta)

    @property
    def cost(self) -> Cost:
        return self.epsilon, self.delta


@dataclass(frozen=True)
class Portion:
    """One mechanism inside a `Concentrated` payment: it used up `rho` of it."""

    label: str
    mechanism: str
    rho: Fraction
    sensitivity: str = ""
    detail: str = ""


@dataclass(frozen=True)
class Concentrated:
    """One payment of (epsilon, delta) for `rho` of zero-concentrated DP, shared by its portions.

    The whole price is due however little of rho was used: that keeps the total exact, and no
    portion has a price of its own in (epsilon, delta).
    """

    label: str
    epsilon: Fraction
    delta: Fraction
    rho: Fraction
    parts: tuple[Portion, ...] = ()

    def __post_init__(self) -> None:
        _refuse_negative(self.label, self.epsilon, self.delta)
        used = [portion.rho for portion in self.parts]
        if any(rho <= 0 for rho in used) or sum(used, Fraction(0)) > self.rho:
            raise ReleaseError(
                f"The receipt lists portions under '{self.label}' that do not fit into its "
                f"rho of {plain(self.rho)}; do not trust it."
            )
        if not 0 < self.delta < 1 or self.rho > rho_of(self.epsilon, self.delta):
            raise ReleaseError(
                f"The receipt claims rho {plain(self.rho)} for '{self.label}', more than "
                f"epsilon {plain(self.epsilon)} and delta {plain(self.delta)} can buy; "
                "do not trust it."
            )

    @property
    def cost(self) -> Cost:
        return self.epsilon, self.delta

    @property
    def charge(self) -> Charge:
        """The payment as one line, for lists and charts."""
        names = sorted({portion.mechanism for portion in self.parts})
        listed = "; ".join(f"{portion.label} {plain(portion.rho)}" for portion in self.parts)
        return Charge(
            self.label,
            ", ".join(names),
            self.epsilon,
            self.delta,
            detail=f"zero-concentrated DP, rho = {plain(self.rho)}: {listed}",
        )


@dataclass(frozen=True)
class Together:
    """Parts that all looked at the same records: their costs add."""

    label: str
    parts: tuple[Entry, ...] = ()

    @property
    def cost(self) -> Cost:
        return sequential(part.cost for part in self.parts)


@dataclass(frozen=True)
class Apart:
    """Parts that looked at disjoint records: a unit meets at most `meets` of them, the dearest count."""

    label: str
    parts: tuple[Entry, ...] = ()
    meets: int = 1

    @property
    def cost(self) -> Cost:
        return parallel((part.cost for part in self.parts), self.meets)


Entry = Charge | Concentrated | Together | Apart


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

    def epsilon_at(self, delta: Fraction | float | str) -> float:
        """A tighter epsilon for the whole receipt at this delta, by Google's `dp_accounting`.

        Computed in floating point with pessimistic rounding: it informs; the exact total decides.
        """
        from penstock.privacy.budgets.tight_total import epsilon_at

        return epsilon_at(self, delta)

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


def brief(text: str) -> str:
    """Words with their long fractions as rounded decimals, for eyes; receipt.json has them exactly.

    >>> brief("scale 52096031/892000"), brief("scale 1/3, 40 candidates")
    ('scale ≈ 58.4', 'scale 1/3, 40 candidates')
    """
    return _LONG_FRACTION.sub(lambda found: f"≈ {int(found[1]) / int(found[2]):.4g}", text)


def plain(amount: Fraction) -> str:
    """A fraction as people write it: a decimal when a short one is exact, else the fraction.

    >>> plain(Fraction(3, 10)), plain(Fraction(1, 3)), plain(Fraction(1, 10**9))
    ('0.3', '1/3', '1e-09')
    """
    try:
        nearest = float(amount)
    except OverflowError:
        return "more than 1e308"
    for short in (f"{nearest:.6g}", f"{nearest:.15g}"):
        if Fraction(short) == amount:
            return short
    return f"{amount.numerator}/{amount.denominator}"


def _refuse_negative(label: str, epsilon: Fraction, delta: Fraction) -> None:
    if epsilon < 0 or delta < 0:
        raise ReleaseError(f"The charge '{label}' is negative; a receipt can only add up what was paid.")


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
