"""Which mechanism a selection runs, decided from public facts alone.

Three mechanisms can choose, and which of them has the least noise depends on how many are wanted and on how
many candidates one unit can touch, never on the scores:

* `histogram`: Laplace noise for everybody, then look. Its scale is l1/epsilon, l1 being how much one unit
  moves all scores together. It is best where a unit touches few candidates, and the counts come with it.
* `one-shot`: exponential noise once, the c largest (`choice.best_several`). Its scale is c R/epsilon,
  whatever a unit touches. (`exponential` is the classical mechanism run c times, kept for comparison.)
* `sparse-vector`: those above a threshold, c at most (`sparse.above_threshold`).

`auto` compares the standard deviations of what decides: the difference of two noisy scores for the c best, a
noisy score against its threshold otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

from penstock.errors import UsageError
from penstock.learn.selection.mechanism import Mechanism
from penstock.privacy.mechanisms.noise import standard_deviation
from penstock.privacy.mechanisms.sparse_design import Design
from penstock.privacy.seals.sensitivity import Sensitivity


@dataclass(frozen=True)
class Request:
    """What is asked for: at most `c` candidates, those above `threshold`, or both; a share for counts."""

    c: int | None = None
    threshold: Fraction | None = None
    counts: Fraction = Fraction(0)
    mechanism: Mechanism = "auto"

    def __post_init__(self) -> None:
        if self.c is None and self.threshold is None:
            raise UsageError("Say how many to select (c), above which threshold, or both. Nothing was spent.")
        if self.threshold is None and self.mechanism == "sparse-vector":
            raise UsageError("A sparse vector needs a threshold. Give one, or choose another mechanism.")
        if self.threshold is not None and self.mechanism in ("one-shot", "exponential"):
            raise UsageError(
                f"'{self.mechanism}' selects the c best, whatever they score; leave out the threshold, or "
                "choose 'sparse-vector' or 'histogram'."
            )
        if self.c is None and self.mechanism == "sparse-vector":
            raise UsageError("A sparse vector needs c, the most that it may select. Nothing was spent.")

    def refuse_above(self, candidates: int) -> None:
        """More than there are cannot be selected."""
        if self.c is not None and self.c > candidates:
            raise UsageError(
                f"Cannot select {self.c} different ones of {candidates} candidates; ask for fewer. "
                "Nothing was spent."
            )

    def choose(self, moves: Sensitivity, epsilon: Fraction) -> Mechanism:
        """The mechanism for scores that move like this: the one asked for, or that with least noise."""
        if self.mechanism != "auto":
            return self.mechanism
        if self.c is None:
            return "histogram"
        for_choice = epsilon * (1 - self.counts)
        everybody = standard_deviation(moves.l1, epsilon)
        if self.threshold is not None:
            design = Design.of(for_choice, self.c, sensitivity=moves.linf, monotone=moves.monotone)
            return "histogram" if everybody <= design.deviation else "sparse-vector"
        once = sqrt(2) * float(self.c * moves.spread / for_choice)
        return "histogram" if sqrt(2) * everybody <= once else "one-shot"
