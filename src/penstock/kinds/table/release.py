"""What all releases of tables share: questions, synthetic rows, pictures.

A tabular release is a distribution over the codes of a public schema plus an estimate of how many
records there are. What the schema declares impossible has no probability: every answer and every row
is given that nothing impossible happened. Whatever is asked is arithmetic on that distribution:
post-processing.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from penstock.errors import QueryError, UsageError
from penstock.releases import Answer, Release
from penstock.releases.example import example_query
from penstock.report.picture import Picture
from penstock.report.pictures import distribution
from penstock.schema import parse

if TYPE_CHECKING:
    import polars as pl

    from penstock.schema import Condition

Reals = NDArray[np.float64]
Codes = dict[str, NDArray[Any]]

ROUNDS = 1000  # of rejection sampling before a condition counts as one that the model never meets
MOST_TERMS = 64  # alternatives of a condition that are drawn one by one


@runtime_checkable
class AnswersMarginals(Protocol):
    """A release that can say of any few columns how often each combination of their codes occurs."""

    def marginal(self, names: Sequence[str]) -> Reals:
        """The estimated counts, an axis for each column."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class TableRelease(Release):
    """A distribution over the schema's codes, and the estimated number of records."""

    kinds: ClassVar[tuple[str, ...]] = ("table",)
    answer: ClassVar[str] = "synthetic data"

    total: float

    # What a model provides -----------------------------------------------------------------------

    @abstractmethod
    def weighted(self, names: Sequence[str], weights: Mapping[str, Reals]) -> Reals:
        """The model's joint probabilities of these attributes' codes, one axis each, weighed.

        Every row counts with the product of the weights of its codes; the attributes that are not
        in `names` are summed over.
        """

    @abstractmethod
    def draw_codes(self, n: int, rng: np.random.Generator) -> Codes:
        """`n` rows of codes, by attribute."""

    def draw_weighted(self, weights: Mapping[str, Reals], n: int, rng: np.random.Generator) -> Codes | None:
        """`n` rows drawn with their probability times their weights, or None where the model cannot."""
        return None

    def deviation(self, names: Sequence[str]) -> float | None:
        """The standard deviation of the noise in one cell of this marginal's counts, where it is known."""
        return None

    # What follows from it ------------------------------------------------------------------------

    @property
    def size(self) -> int:
        return round(self.total)

    def marginal(self, names: Sequence[str]) -> Reals:
        """The joint probabilities of these attributes' codes, one axis each."""
        joint = self.weighted(names, {})
        for term in self._impossible:
            joint = joint - self.weighted(names, term)
        return np.maximum(joint, 0.0) / self._possible

    def probability(self, weights: Mapping[str, Reals]) -> float:
        """The expected product of the weights of each attribute's code, impossible rows included."""
        return float(self.weighted((), weights))

    def ask(self, expression: str) -> Answer:
        """The estimated number of records for which the expression holds."""
        terms = parse(expression, self.schema).disjoint_terms()
        counted = self._condition(expression).disjoint_terms() if self.schema.impossible else terms
        share = sum(self.probability(weights) for weights in counted) / self._possible
        names = list(terms[0]) if len(terms) == 1 else []
        deviation = self.deviation(names) if names else None
        error = None
        if deviation is not None:
            spread = np.prod([np.sum(terms[0][name] ** 2) for name in names])
            error = 1.96 * deviation * float(spread) ** 0.5
        return Answer(self.total * share, error, "records")

    def sample(
        self, n: int | None = None, *, seed: int | None = None, given: str | None = None
    ) -> pl.DataFrame:
        """Synthetic rows, any number of them, at no further privacy cost.

        `given` asks for rows for which an expression holds, such as ``given="age = 30..40"``. A seed
        makes the rows reproducible; it has no bearing on privacy, because the model is public already.
        """
        if given is None:
            return super().sample(n, seed=seed)
        condition = self._condition(given)
        wanted, rng = self.drawing(n, seed)
        return self._draw_where(condition, wanted, rng)

    def draw(self, n: int, rng: np.random.Generator) -> pl.DataFrame:
        """`n` synthetic rows, none of which is declared impossible by the schema."""
        if self.schema.impossible:
            return self._draw_where(self._condition(None), n, rng)
        return self.schema.decode(self.draw_codes(n, rng), rng)

    def _draw_where(self, condition: Condition, n: int, rng: np.random.Generator) -> pl.DataFrame:
        """`n` rows for which the condition holds: codes that can meet it, then values that do."""
        import polars as pl

        codes = self._codes_where(condition, n, rng)
        waiting = np.arange(n)
        kept: list[pl.DataFrame] = []
        for _ in range(ROUNDS):
            rows = self.schema.decode({name: column[waiting] for name, column in codes.items()}, rng)
            good = condition.holds(rows) if rows.height else np.zeros(0, dtype=np.bool_)
            place = pl.Series(_PLACE, waiting)
            kept.append(rows.with_columns(place).filter(pl.Series(good)))
            waiting = waiting[~good]
            if not waiting.size:
                return pl.concat(kept).sort(_PLACE).drop(_PLACE)
        raise UsageError(f'"{condition.text}" is narrower than the model can see; ask for a wider range.')

    def _codes_where(self, condition: Condition, n: int, rng: np.random.Generator) -> Codes:
        terms = condition.disjoint_terms()
        if len(terms) <= MOST_TERMS:
            drawn = self._by_terms(terms, n, rng)
            if drawn is not None:
                return drawn
        kept: list[Codes] = []
        found = 0
        for _ in range(ROUNDS):
            codes = self.draw_codes(max(n - found, 1) * 2 + 64, rng)
            chance = condition.on_codes(codes)
            chosen = np.flatnonzero(rng.random(len(chance)) < chance)[: n - found]
            kept.append({name: column[chosen] for name, column in codes.items()})
            found += len(chosen)
            if found >= n:
                return {name: np.concatenate([part[name] for part in kept]) for name in self.schema.names}
        raise UsageError(_NEVER.format(condition.text))

    def _by_terms(
        self, terms: Sequence[Mapping[str, Reals]], n: int, rng: np.random.Generator
    ) -> Codes | None:
        """Every alternative drawn on its own, as often as it is likely; None where the model cannot."""
        chances = np.array([self.probability(term) for term in terms])
        if not chances.sum() > 0:
            raise UsageError(
                _NEVER.format("What the schema declares possible" if not terms else "This condition")
            )
        parts = []
        for term, rows in zip(terms, rng.multinomial(n, chances / chances.sum()), strict=True):
            part = self.draw_weighted(term, int(rows), rng)
            if part is None:
                return None
            parts.append(part)
        order = rng.permutation(n)
        return {name: np.concatenate([part[name] for part in parts])[order] for name in self.schema.names}

    # What the schema rules out ----------------------------------------------------------------------

    def _condition(self, expression: str | None) -> Condition:
        """The expression and everything that the schema does not rule out."""
        if not self.schema.impossible:
            assert expression is not None
            return parse(expression, self.schema)
        possible = f"not ({self._rules})"
        if expression is None:
            return parse(possible, self.schema)
        parse(expression, self.schema)  # so that a mistake in it is reported by itself
        return parse(f"({expression}) and {possible}", self.schema)

    @property
    def _rules(self) -> str:
        return " or ".join(f"({rule})" for rule in self.schema.impossible)

    @cached_property
    def _impossible(self) -> list[dict[str, Reals]]:
        return parse(self._rules, self.schema).disjoint_terms() if self.schema.impossible else []

    @cached_property
    def _possible(self) -> float:
        """The probability that the model gives to what the schema does not rule out."""
        share = 1.0 - sum(self.probability(term) for term in self._impossible)
        if share <= 1e-9:
            raise QueryError(
                "Nearly every row that the model draws is declared impossible by the schema; "
                "loosen the 'impossible' rules."
            )
        return share

    def example(self) -> str | None:
        return example_query(self.schema)

    def pictures(self) -> Sequence[Picture]:
        return [
            distribution(self.schema, name, self.total * self.marginal([name])) for name in self.schema.names
        ]


_PLACE = "\x00place"
_NEVER = "{} holds for nearly no row that the model draws; ask for something more common."
