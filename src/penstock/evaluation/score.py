"""One measure of closeness, between a floor and a ceiling."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

NOTICE = "Not for publication: this compares the release with the original records and is itself not private."
RESAMPLED = "the original resampled"
"""The usual ceiling: how far one sample of the original is from another."""


@dataclass(frozen=True)
class Score:
    """One measure of closeness.

    `floor` is what a release that knows almost nothing would score, `ceiling` what the original itself,
    resampled, or its model without noise scores. `model` is the same measure taken from the release's model
    instead of from a sample of it, where the release can answer exactly. `lower_is_better` tells distances
    from accuracies.

    >>> Score("pairs of columns", 0.06, 0.10, 0.02).position
    0.5
    """

    name: str
    value: float
    floor: float
    ceiling: float
    model: float | None = None
    lower_is_better: bool = True
    note: str = ""

    @property
    def position(self) -> float | None:
        """Where the score stands: 0 at the floor, 1 at the ceiling.

        None where the two meet as far as chance can tell: a distance whose floor is not half as much
        again as its ceiling, an accuracy whose ceiling is not a hundredth above its floor.
        """
        gap = self.floor - self.ceiling
        meet = gap < max(1e-3, 0.5 * self.ceiling) if self.lower_is_better else -gap < 0.01
        return None if meet else round((self.floor - self.value) / gap, 6)

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "value": self.value,
            "model": self.model,
            "floor": self.floor,
            "ceiling": self.ceiling,
            "position": self.position,
            "lower_is_better": self.lower_is_better,
            "note": self.note,
        }
