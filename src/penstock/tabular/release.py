"""What all releases of tables share: questions, synthetic rows, pictures.

A tabular release is a distribution over the codes of a public schema plus an estimate of how many
records there are. Whatever is asked of it is arithmetic on that distribution: post-processing.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from penstock.errors import UsageError
from penstock.release import Answer, Picture, Release
from penstock.schema import parse

if TYPE_CHECKING:
    import polars as pl

Reals = NDArray[np.float64]

ROUNDS = 1000  # of rejection sampling before the constraints are called contradictory


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class TableRelease(Release):
    """A distribution over the schema's codes, and the estimated number of records."""

    kind: ClassVar[str] = "table"

    total: float

    @abstractmethod
    def marginal(self, names: Sequence[str]) -> Reals:
        """The joint probabilities of these attributes' codes, one axis each."""

    @abstractmethod
    def draw_codes(self, n: int, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        """`n` rows of codes, by attribute."""

    def deviation(self, names: Sequence[str]) -> float | None:
        """The standard deviation of the noise in one cell of this marginal's counts, where it is known."""
        return None

    @property
    def size(self) -> int:
        return round(self.total)

    def draw(self, n: int, rng: np.random.Generator) -> pl.DataFrame:
        """`n` synthetic rows, none of which is declared impossible by the schema."""
        import polars as pl

        if not self.schema.impossible:
            return self.schema.decode(self.draw_codes(n, rng), rng)
        kept: list[pl.DataFrame] = []
        found = 0
        for _ in range(ROUNDS):
            wanted = max(n - found, 1)
            rows = self.schema.decode(self.draw_codes(wanted + wanted // 8 + 16, rng), rng)
            possible = rows.filter(~pl.Series(self.schema.rules_out(rows)))
            kept.append(possible)
            found += possible.height
            if found >= n:
                return pl.concat(kept).head(n)
        raise UsageError(
            "Nearly every row that the model draws is declared impossible by the schema; "
            "loosen the 'impossible' rules."
        )

    def probability(self, weights: Mapping[str, Reals]) -> float:
        """The expected product of the weights of each attribute's code."""
        names = list(weights)
        value = self.marginal(names)
        for name in reversed(names):
            value = value @ weights[name]
        return float(value)

    def ask(self, expression: str) -> Answer:
        """The estimated number of records for which the expression holds."""
        terms = parse(expression, self.schema).disjoint_terms()
        value = self.total * sum(self.probability(weights) for weights in terms)
        names = list(terms[0]) if len(terms) == 1 else []
        deviation = self.deviation(names) if names else None
        error = None
        if deviation is not None:
            spread = np.prod([np.sum(terms[0][name] ** 2) for name in names])
            error = 1.96 * deviation * float(spread) ** 0.5
        return Answer(value, error, "records")

    def pictures(self) -> Sequence[Picture]:
        from penstock.release import pictures

        return [
            pictures.distribution(self.schema, name, self.total * self.marginal([name]))
            for name in self.schema.names
        ]
