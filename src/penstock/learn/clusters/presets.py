"""Presets of k-means: names for what methods of the literature and our own are made of. All public."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from penstock.learn.clusters.planning import Sizing
from penstock.learn.clusters.rounds import Sparse, Split

Preset = Literal["grown", "hybrid", "half", "eugkm", "ugkm", "mkm", "dplloyd", "dplloyd-impr"]
Cut = Literal["none", "grown"] | Sizing
Rule = Literal["fitted", "half", "never"]
Schedule = Literal["even", "geometric"]
Start = Literal["packed", "anywhere", "spread"]


@dataclass(frozen=True)
class Recipe:
    """Every parameter of a preset with its value."""

    synopsis: Cut = "eug"
    rule: Rule = "fitted"
    rounds: int | None = 1
    split: Split = "optimal"
    schedule: Schedule = "even"
    start: Start = "packed"
    starts: int = 30
    sparse: Sparse = "clip"


PRESETS: dict[Preset, Recipe] = {
    "grown": Recipe(synopsis="grown", rounds=None, sparse="keep", start="spread"),
    "hybrid": Recipe(),
    "half": Recipe(rule="half"),
    "eugkm": Recipe(rule="never"),
    "ugkm": Recipe(synopsis="ug", rule="never"),
    "mkm": Recipe(synopsis="mkm", rule="never"),
    "dplloyd": Recipe(synopsis="none", rounds=5, split="equal", start="anywhere", starts=1),
    "dplloyd-impr": Recipe(synopsis="none", rounds=None, starts=1),
}
