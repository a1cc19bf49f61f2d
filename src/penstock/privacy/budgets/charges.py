"""What was paid: charges, and how they compose.

A small immutable tree. Leaves are charges. Inner nodes say how their parts compose: `Together` adds
(sequential composition), `Apart` takes the largest (parallel composition over disjoint parts of the
records, sound only when one unit is added or removed), `Concentrated` is one payment of
(epsilon, delta) whose portions of rho add up under zCDP. All arithmetic is exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from penstock.errors import ReleaseError
from penstock.privacy.budgets.accounting import Cost, parallel, rho_of, sequential
from penstock.privacy.budgets.amounts import plain


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
        return sequential([part.cost for part in self.parts])


@dataclass(frozen=True)
class Apart:
    """Parts that looked at disjoint records: a unit meets at most `meets` of them, the dearest count."""

    label: str
    parts: tuple[Entry, ...] = ()
    meets: int = 1

    @property
    def cost(self) -> Cost:
        return parallel([part.cost for part in self.parts], self.meets)


Entry = Charge | Concentrated | Together | Apart


def _refuse_negative(label: str, epsilon: Fraction, delta: Fraction) -> None:
    if epsilon < 0 or delta < 0:
        raise ReleaseError(f"The charge '{label}' is negative; a receipt can only add up what was paid.")
