"""Audits of a stated sensitivity: all small neighbouring inputs, no noise, the largest move.

Most broken methods add the right noise for the wrong sensitivity. A stated sensitivity can be refuted
without any randomness: compute the sealed value on every pair of small neighbouring inputs and compare
how far it moves with what it says. Like every audit this proves nothing beyond the inputs tried.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from penstock.audit.neighbours import Pair
from penstock.errors import UsageError
from penstock.privacy.seals.sealed import Sealed, open_seal
from penstock.privacy.seals.sensitivity import Sensitivity

TOLERANCE = 1e-9


@dataclass(frozen=True)
class Moves:
    """The largest moves seen, each with the pair that showed it, beside what was stated."""

    stated: Sensitivity
    l1: float
    linf: float
    l2_squared: float
    spread: float
    opposite: bool
    pairs: dict[str, Pair]

    @property
    def contradictions(self) -> list[str]:
        """What is refuted, in words; empty when the statement stands."""
        found = []
        for name in ("l1", "linf", "l2_squared", "spread"):
            seen, stated = getattr(self, name), getattr(self.stated, name)
            if seen > float(stated) * (1 + TOLERANCE) + TOLERANCE:
                found.append(f"{name} is at least {seen:g}, not {stated}, on {self.pairs[name].words}")
        if self.opposite and self.stated.monotone:
            found.append(f"coordinates move in opposite directions on {self.pairs['opposite'].words}")
        return found


def moves(measure: Callable[[Any], Sealed[Any]], pairs: Iterable[Pair]) -> Moves:
    """How far a sealed value moves between neighbours; `measure` computes it from a raw input.

    >>> from penstock.privacy.unit import Relation
    >>> def size(records: str) -> Sealed[Any]:
    ...     count = np.array([len(records)])
    ...     return Sealed(count, Sensitivity.of(1), Relation.ADD_REMOVE, because="a record counts once")
    >>> moves(size, [Pair("ab", "abc")]).contradictions
    []
    """
    stated: Sensitivity | None = None
    largest = dict.fromkeys(("l1", "linf", "l2_squared", "spread"), 0.0)
    witness: dict[str, Pair] = {}
    opposite = False
    for pair in pairs:
        one, two = measure(pair.first), measure(pair.second)
        if stated is not None and not stated == one.sensitivity == two.sensitivity:
            raise UsageError(f"The stated sensitivity depends on the records ({pair.words}): that is a leak.")
        stated = one.sensitivity
        gap = _exact(open_seal(two)) - _exact(open_seal(one))
        size = np.abs(gap)
        seen = {
            "l1": float(size.sum()),
            "linf": float(size.max(initial=0)),
            "l2_squared": float((gap * gap).sum()),
            "spread": float(gap.max() - gap.min()) if gap.size else 0.0,
        }
        for name, value in seen.items():
            if name not in witness or value > largest[name]:
                largest[name], witness[name] = value, pair
        if not opposite and (gap > 0).any() and (gap < 0).any():
            opposite, witness["opposite"] = True, pair
    if stated is None:
        raise UsageError("An audit of a sensitivity needs at least one pair of neighbouring inputs.")
    return Moves(stated, opposite=opposite, pairs=witness, **largest)


def _exact(value: Any) -> Any:
    """Numbers that subtract without overflow or rounding."""
    array = np.asarray(value)
    if array.dtype.kind in "iu":
        return array.astype(object).ravel()
    return np.array([Fraction(float(number)) for number in array.ravel()], dtype=object)
