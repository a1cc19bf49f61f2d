"""What all releases of tables share: questions, synthetic rows, pictures.

A tabular release is a distribution over the codes of a public schema plus an estimate of how many
records there are. What the schema declares impossible has no probability: every answer and every row
is given that nothing impossible happened. Whatever is asked is arithmetic on that distribution:
post-processing.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from penstock.errors import QueryError, UsageError
from penstock.kinds.table.asking import AskedTable
from penstock.kinds.table.connections import Connections
from penstock.kinds.table.counted import CountedTable
from penstock.kinds.table.support import Support, ruled_out_share
from penstock.releases.example import example_query
from penstock.releases.predicting import Predicting
from penstock.report.numbers import percent
from penstock.report.picture import Picture
from penstock.report.pictures import distribution
from penstock.schema import any_of, parse

if TYPE_CHECKING:
    import polars as pl

    from penstock.schema import Condition, Schema

Reals = NDArray[np.float64]
Codes = dict[str, NDArray[Any]]

ROUNDS = 1000  # of rejection sampling before a condition counts as one that the model never meets
PATIENCE = 200  # rounds in which values are drawn for the same codes
CHECKED = 1 << 14  # rows by which it is estimated how many would break a rule
MOST_TERMS = 64  # alternatives of a condition that are drawn one by one


MOST_DRAWN = 60
"""Columns with a picture of their own: a page of hundreds is read by nobody, and is a megabyte."""


def drawn_columns(schema: Schema, first: Iterable[str] = ()) -> list[str]:
    """The columns that a page draws, in the order of the schema: all, or so many that it can be read.

    The one that others will be asked to predict is among them, then those that are named first.
    """
    target = () if schema.target is None else (schema.target,)
    chosen = list(dict.fromkeys([*target, *first, *schema.names]))[:MOST_DRAWN]
    return [name for name in schema.names if name in set(chosen)]


@runtime_checkable
class AnswersMarginals(Protocol):
    """A release that can say of any few columns how often each combination of their codes occurs."""

    def marginal(self, names: Sequence[str]) -> Reals:
        """The estimated counts, an axis for each column."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class TableRelease(AskedTable):
    """A distribution over the schema's codes, and the estimated number of records."""

    kinds: ClassVar[tuple[str, ...]] = ("table",)
    answer: ClassVar[str] = "synthetic data"

    def predicting(self, target: str | None = None) -> Predicting:
        """What predicts a column: the release itself where it does, else a learner on its synthetic rows."""
        if isinstance(self, Predicting) or (target or self.schema.target) is None:
            return super().predicting(target)
        from penstock.kinds.table.synthetic import trained_on

        return trained_on(self, target=target)

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

    @property
    def counted_tables(self) -> Sequence[CountedTable]:
        """The noisy counts that the release holds as they came out of the noise, where there are any."""
        return ()

    @property
    def estimates_errors(self) -> bool:
        """Whether a study has found how far the truth strays from models that were made like this one."""
        return False

    def in_groups(self, names: Sequence[str]) -> list[tuple[str, ...]]:
        """These columns in groups between which the model knows of no connection; one group where it may."""
        return [tuple(names)]

    def drawn_apart(self, n: int, rng: np.random.Generator) -> Codes | None:
        """`n` rows of codes as they would be without the schema's rules; None where nobody knows."""
        return None

    @property
    def connections(self) -> Connections:
        """Which columns the release knows together."""
        return Connections((self.schema.names,))

    # What follows from it ------------------------------------------------------------------------

    @property
    def size(self) -> int:
        return round(self.total)

    @cached_property
    def support(self) -> Support:
        """What the schema's rules leave possible."""
        return Support.of(self.schema)

    @property
    def loose(self) -> Sequence[Condition]:
        """The rules that the model does not keep by itself: all else is given that none of them is broken."""
        return self.schema.rules

    def marginal(self, names: Sequence[str]) -> Reals:
        """The joint probabilities of these attributes' codes, one axis each."""
        joint = self.weighted(names, {})
        for term in self._ruled_out:
            joint = joint - self.weighted(names, term)
        return np.maximum(joint, 0.0) / self._possible

    def probability(self, weights: Mapping[str, Reals]) -> float:
        """The expected product of the weights of each attribute's code, rows that break a rule included."""
        return float(self.weighted((), weights))

    def share(self, condition: Condition, worth: str | None = None) -> float:
        """The share of all rows for which a question holds; with `worth`, what these are worth of all."""
        asked = condition.and_not(self.loose) if self.loose else condition
        return sum(self.probability(weights) for weights in asked.disjoint_terms(worth)) / self._possible

    def draw_where(self, where: str, n: int, rng: np.random.Generator) -> pl.DataFrame:
        """`n` synthetic rows for which an expression holds, drawn from the model given that it does."""
        condition = parse(where, self.schema)
        asked = condition.and_not(self.schema.rules) if self.schema.rules else condition
        if not asked.can_hold():
            raise UsageError(f'"{where}" holds for no row that the schema allows; ask for something else.')
        return self._draw_where(condition, n, rng)

    def draw(self, n: int, rng: np.random.Generator) -> pl.DataFrame:
        """`n` synthetic rows, none of which breaks a rule of the schema."""
        if self.schema.rules:
            return self._draw_where(None, n, rng)
        return self.schema.decode(self.draw_codes(n, rng), rng)

    def _draw_where(self, given: Condition | None, n: int, rng: np.random.Generator) -> pl.DataFrame:
        """`n` rows that meet the condition and break no rule: codes that can, then values that do."""
        import polars as pl

        codes = self._codes_where(given, n, rng)
        waiting = np.arange(n)
        kept: list[pl.DataFrame] = []
        for attempt in range(1, ROUNDS + 1):
            rows = self.schema.decode({name: column[waiting] for name, column in codes.items()}, rng)
            good = ~self.schema.rules_out(rows)
            if given is not None and rows.height:
                good &= given.holds(rows)
            place = pl.Series(_PLACE, waiting)
            kept.append(rows.with_columns(place).filter(pl.Series(good, dtype=pl.Boolean)))
            waiting = waiting[~good]
            if not waiting.size:
                return pl.concat(kept).sort(_PLACE).drop(_PLACE)
            if attempt % PATIENCE == 0:  # rules can together forbid what each of them allows
                for name, column in self._codes_where(given, waiting.size, rng).items():
                    codes[name][waiting] = column
        asked = "What the schema declares possible" if given is None else f'"{given.text}"'
        raise UsageError(f"{asked} is narrower than the model can see; ask for a wider range.")

    def _codes_where(self, given: Condition | None, n: int, rng: np.random.Generator) -> Codes:
        """Codes that can meet the condition and break no rule wholly, as often as they are likely."""
        if given is None:
            condition = any_of(self.loose).negated if self.loose else None
        else:
            condition = given.and_not(self.loose) if self.loose else given
        terms = [] if condition is None else condition.disjoint_terms()
        if condition is not None and len(terms) <= MOST_TERMS:
            drawn = self._by_terms(terms, n, rng)
            if drawn is not None:
                return drawn
        kept: list[Codes] = []
        found = 0
        for _ in range(ROUNDS):
            many = n - found if condition is None else max(n - found, 1) * 2 + 64
            codes = self.draw_codes(many, rng)
            chance = np.ones(many) if condition is None else condition.on_codes(codes)
            good = (rng.random(many) < chance) & ~self.support.broken(codes)
            chosen = np.flatnonzero(good)[: n - found]
            kept.append({name: column[chosen] for name, column in codes.items()})
            found += len(chosen)
            if found >= n:
                return {name: np.concatenate([part[name] for part in kept]) for name in self.schema.names}
        raise UsageError(_NEVER.format("What the schema declares possible" if given is None else given.text))

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

    @cached_property
    def _ruled_out(self) -> list[dict[str, Reals]]:
        return any_of(self.loose).disjoint_terms() if self.loose else []

    @cached_property
    def _possible(self) -> float:
        """The probability that the model gives to what no loose rule forbids."""
        share = 1.0 - sum(self.probability(term) for term in self._ruled_out)
        if share <= 1e-9:
            raise QueryError(
                "Nearly every row that the model draws is declared impossible by the schema; "
                "loosen the 'impossible' rules."
            )
        return share

    def broken_without_rules(self) -> float | None:
        """The share of rows that would have broken a rule if the rules were not kept; None without rules."""
        if not self.schema.rules:
            return None
        known = self.parameters.get("broken_without_rules")
        if isinstance(known, float):
            return known
        rng = np.random.default_rng(0)
        codes = self.drawn_apart(CHECKED, rng)
        return None if codes is None else ruled_out_share(self.schema, codes, rng)

    def remarks(self) -> Sequence[str]:
        broken = self.broken_without_rules()
        told = []
        if self.schema.rules:
            many = len(self.schema.rules)
            rules = "The rule of the schema is" if many == 1 else f"The {many} rules of the schema are"
            them = "it" if many == 1 else "them"
            without = f" Without {them}, {percent(broken or 0.0)} of the rows would have broken one."
            known = "" if broken is None else without
            told = [f"{rules} kept: no synthetic row breaks one.{known}"]
        return [*self.connections.remarks(), *told]

    def details(self) -> Mapping[str, Any]:
        found: dict[str, Any] = {"connections": self.connections.to_dict()}
        if self.schema.rules:
            found["rules"] = {
                "kept": len(self.schema.rules),
                "broken_without": self.broken_without_rules(),
            }
        return found

    def example(self) -> str | None:
        return example_query(self.schema)

    def pictures(self) -> Sequence[Picture]:
        shown = drawn_columns(self.schema, self.telling() if self.not_drawn else ())
        return [distribution(self.schema, name, self.total * self.marginal([name])) for name in shown]

    def telling(self) -> Sequence[str]:
        """The columns to be drawn first where there are too many for a page."""
        return ()

    @property
    def not_drawn(self) -> int:
        return max(0, len(self.schema.names) - MOST_DRAWN)


_PLACE = "\x00place"
_NEVER = "{} holds for nearly no row that the model draws; ask for something more common."
