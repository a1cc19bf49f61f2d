"""How large families may be, and how far noisy counts are trusted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from penstock.kinds.table.confluence.entropy import RIDGE, STEPS
from penstock.kinds.table.network.conditionals import Repair


@dataclass(frozen=True)
class Limits:
    """Public numbers by which views are put together.

    A family has at most `cells` cells, or `clear` times the records over the noise of a count where that is
    more, up to `most`. A tie counts when it is `hint` standard deviations above what noise and chance alone
    would show; attributes that nothing else connects are connected only by ties that are `doubt` of them
    above. `ridge` and `steps` are those of `entropy.fitted`. The distribution of one attribute
    comes from all views that see it (`consistent`) or from its one-way counts alone, is made smooth where its
    codes have an order (`smooth`), and is then made plausible (`plausible`), projected onto the simplex or
    has its negatives cut off.
    """

    parents: int = 12
    cells: int = 4096
    clear: float = 0.3
    most: int = 1 << 16
    together: int = 1 << 20
    hint: float = 0.0
    doubt: float = 2.0
    ridge: float = RIDGE
    steps: int = STEPS
    smooth: bool = True
    consistent: bool = True
    repair: Repair | Literal["plausible"] = "plausible"


LIMITS = Limits()
