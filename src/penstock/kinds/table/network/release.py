"""The release of a Bayesian network: its noisy marginals, its conditional tables and what they answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from penstock.errors import ReleaseError
from penstock.kinds.table.connections import Connections, components, epsilon_to_connect, grouped
from penstock.kinds.table.counted import CountedTable
from penstock.kinds.table.network import inference
from penstock.kinds.table.network.aligning import aligned
from penstock.kinds.table.network.conditionals import Measured
from penstock.kinds.table.network.elimination import Factor, TooWideError
from penstock.kinds.table.network.encoding import Encoding
from penstock.kinds.table.network.network import Network
from penstock.kinds.table.network.ruled import ruled
from penstock.kinds.table.network.spectrum import told
from penstock.kinds.table.network.views import as_counted, cleared
from penstock.kinds.table.release import TableRelease
from penstock.releases import Manifest, Model
from penstock.releases.published import ROWS_AT_ONCE
from penstock.report.picture import Picture
from penstock.schema import Relation

if TYPE_CHECKING:
    import polars as pl

    from penstock.kinds.table.release import Codes
    from penstock.schema import Condition

Reals = NDArray[np.float64]

REDRAWN = 50  # times that rows with a bit pattern without meaning are drawn again, beyond exact inference
CHECKED = 1 << 14  # rows by which a network is seen to keep the rules
TOLERATED = 0.001  # share of rows that break a rule and are drawn again
SAMPLED = 1 << 18  # rows behind an answer that exact inference is too wide for
STUDIED = ("confluence",)
"""The methods whose models' errors were studied (docs/studies/suite-bars.md)."""
ALL_COLUMNS = "all columns"
"""What the parameter `views` of a release says whose columns were all counted in one table."""
PRODUCTS = "products of all pairs"
"""What it says of one whose pairs were told by one noisy matrix of products."""
DRAWN = "drawn"
BALANCED = "balanced"
ALIGNED = "aligned"
TOLD = "aligned to what pairs have in common"
"""What the parameter `rows` of a release says whose rows are balanced, or balanced and then brought nearer to
the counts, as they are or as `spectrum` tells them; others are drawn one by one, those of published methods,
of one table of all columns and of releases from before alike."""
MOST_ALIGNED = 1 << 20
"""More rows than this are drawn from the model as it is: that takes a tenth of the time or less."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class NetworkRelease(TableRelease):
    """A Bayesian network with noisy conditional tables.

    `measured` are the noisy counts that were paid for, `network` is what was made of them, and
    `encoding` says how its variables and the schema's codes translate.

    >>> from penstock import Schema, release
    >>> from penstock.demo import survey, survey_schema
    >>> made = release(survey(500), Schema.from_yaml(survey_schema()), epsilon=1, seed=1)
    >>> len(made.measured) > 0
    True
    >>> made.sample(3, seed=1).columns == list(made.schema.names)
    True
    """

    form: ClassVar[str] = "network"

    encoding: Encoding
    network: Network
    measured: tuple[Measured, ...]

    @property
    def as_a_whole(self) -> bool:
        """Whether all columns were counted in one table."""
        return self.parameters.get("views") == ALL_COLUMNS

    @property
    def by_products(self) -> bool:
        """Whether pairs were told by one noisy matrix."""
        return self.parameters.get("views") == PRODUCTS

    # The schema's rules -----------------------------------------------------------------------------

    @cached_property
    def _kept(self) -> Network:
        """The network that keeps the rules: the saved one, or what it becomes where it does not yet."""
        if self._broken(self.network) <= TOLERATED:
            return self.network
        return ruled(self.network, self.encoding, self.support)

    @cached_property
    def loose(self) -> Sequence[Condition]:
        """Rules that no table has room for, or all of them where the order of the network is in their way."""
        return self.support.loose if self._broken(self._kept) <= TOLERATED else self.schema.rules

    def _broken(self, network: Network) -> float:
        """The share of rows of a network that break a rule, whatever their values."""
        if not self.support.impossible:
            return 0.0
        codes, valid = self.encoding.codes(network.sample(CHECKED, np.random.default_rng(0)), CHECKED)
        return float((self.support.broken(codes) & valid).sum() / max(1, valid.sum()))

    # The distribution -------------------------------------------------------------------------------

    def weighted(self, names: Sequence[str], weights: Mapping[str, Reals]) -> Reals:
        """Exact by variable elimination, or from many sampled rows where that would be too wide."""
        try:
            if self._in_bits:
                return self._weighted_bits(names, weights)
            wanted = [self._number[name] for name in names if name in self._number]
            joint = inference.marginal(
                self._kept, wanted, {self._number[n]: w for n, w in weights.items() if n in self._number}
            )
        except TooWideError:
            return self._from_rows(names, weights)
        scale = prod(float(w[0]) for name, w in weights.items() if name not in self._number)
        return np.asarray(joint * scale).reshape([self.encoding.sizes[name] for name in names])

    def pieces(self, n: int, rng: np.random.Generator) -> Iterator[pl.DataFrame]:
        return super(NetworkRelease, self if n <= MOST_ALIGNED else self._as_drawn).pieces(n, rng)

    @cached_property
    def _as_drawn(self) -> Self:
        """The same model, whose rows are drawn from it one by one."""
        return replace(self, parameters={**self.parameters, "rows": DRAWN})

    @cached_property
    def _unaligned(self) -> Self:
        """The same model, whose rows are balanced at most: to align them takes most of the time."""
        if self.parameters.get("rows") not in (ALIGNED, TOLD):
            return self
        return replace(self, parameters={**self.parameters, "rows": BALANCED})

    def draw_again(self, n: int, rng: np.random.Generator) -> pl.DataFrame:
        return self._unaligned.draw(n, rng)

    def draw_where(self, where: str, n: int, rng: np.random.Generator) -> pl.DataFrame:
        return super(NetworkRelease, self._unaligned).draw_where(where, n, rng)

    def draw_codes(self, n: int, rng: np.random.Generator) -> Codes:
        rows = self.parameters.get("rows")
        # So many rows hardly differ from the model by chance, and the more there are, the dearer balance is.
        columns = self._kept.sample(n, rng, balance=rows in (BALANCED, ALIGNED, TOLD) and n < ROWS_AT_ONCE)
        if rows in (ALIGNED, TOLD) and n <= MOST_ALIGNED:
            views = self._told if rows == TOLD else self._cleared
            columns = aligned(columns, self._kept, views, self.total, rng)
        codes, valid = self.encoding.codes(columns, n)
        again = np.flatnonzero(~valid)
        if again.size:
            try:
                rows = inference.sample_given(self._kept, {}, again.size, rng, self._meaningful)
            except TooWideError:
                self._redraw(codes, valid, rng)
            else:
                if rows is not None:  # else no row has a meaning, and all are left at their nearest codes
                    fresh, _ = self.encoding.codes(rows, again.size)
                    for name, column in codes.items():
                        column[again] = fresh[name]
        return self._typed(codes)

    def _redraw(
        self, codes: dict[str, NDArray[np.int64]], valid: NDArray[np.bool_], rng: np.random.Generator
    ) -> None:
        """Rows with a bit pattern that stands for no code, drawn again in the hope for a better one."""
        for _ in range(REDRAWN):
            again = np.flatnonzero(~valid)
            if not again.size:
                return
            fresh, good = self.encoding.codes(self._kept.sample(again.size, rng), again.size)
            for name, column in codes.items():
                column[again] = fresh[name]
            valid[again] = good

    def draw_weighted(self, weights: Mapping[str, Reals], n: int, rng: np.random.Generator) -> Codes | None:
        known: dict[int, Reals] = {}
        extra: list[Factor] = []
        if self._in_bits:
            extra = [*self._meaningful, *self._factors(weights)]
        else:
            known = {self._number[name]: w for name, w in weights.items() if name in self._number}
        try:
            columns = inference.sample_given(self._kept, known, n, rng, extra)
        except TooWideError:
            return None
        return None if columns is None else self._typed(self.encoding.codes(columns, n)[0])

    def _typed(self, codes: Mapping[str, NDArray[np.int64]]) -> Codes:
        return {name: column.astype(self.schema.attribute(name).dtype) for name, column in codes.items()}

    @cached_property
    def _cleared(self) -> Sequence[Measured]:
        """What was counted, without noise where no record can be."""
        return self._clear(self.measured)

    def _clear(self, views: Sequence[Measured]) -> Sequence[Measured]:
        return cleared(views, self.network.variables, self.encoding.sizes, self.support)

    @cached_property
    def _told(self) -> Sequence[Measured]:
        """That, with what all pairs have in common instead of their noise, as the network was made of it."""
        return self._clear(told(self._cleared, self.network.variables, self.total))

    @cached_property
    def counted_tables(self) -> Sequence[CountedTable]:
        """The marginals that were counted, with one axis for each attribute that they see."""
        sizes, variables = self.encoding.sizes, self.network.variables
        tables = [as_counted(one, variables, sizes) for one in self.measured]
        return [table.without(self.support.impossible) for table in tables]

    @property
    def estimates_errors(self) -> bool:
        return self.method in STUDIED

    def in_groups(self, names: Sequence[str]) -> list[tuple[str, ...]]:
        groups: dict[int, list[str]] = {}
        for name in names:
            if self.encoding.sizes[name] > 1:  # of a column with one value everything is known
                groups.setdefault(self._component[name], []).append(name)
        return [tuple(group) for group in groups.values()]

    @cached_property
    def connections(self) -> Connections:
        known = [name for name in self.schema.names if self.encoding.sizes[name] > 1]
        groups = grouped(known, self._component)
        moves = self.schema.unit.records * (1 if self.schema.relation is Relation.ADD_REMOVE else 2)
        wide = [one for one in self.measured if len(one.parts) > 1]
        epsilon = epsilon_to_connect(
            float(self.receipt.epsilon),
            self.total,
            moves,
            [(one.counts.size, one.deviation) for one in wide],
            [self.encoding.sizes[group[0]] for group in groups if len(group) == 1],
            len(known),
        )
        unknown = len(groups) == 1 or any(one.gaussian for one in self.measured)  # the estimate is Laplace's
        return Connections(groups, None if unknown else epsilon, self.schema.target)

    @cached_property
    def _component(self) -> dict[str, int]:
        """The number of the part of the network, connected by edges, in which each attribute lies."""
        variables = self.network.variables
        edges = [(variables[one].attribute, variables[two].attribute) for one, two in self._kept.edges]
        return components(self.schema.names, edges)

    @cached_property
    def _number(self) -> dict[str, int]:
        return {variable.attribute: number for number, variable in enumerate(self.network.variables)}

    @property
    def _in_bits(self) -> bool:
        return self.encoding.name in ("binary", "gray")

    @cached_property
    def _bits(self) -> dict[str, tuple[int, ...]]:
        """For each attribute the numbers of the variables that are its bits."""
        found: dict[str, tuple[int, ...]] = {}
        for number, variable in enumerate(self.network.variables):
            found[variable.attribute] = (*found.get(variable.attribute, ()), number)
        return found

    @cached_property
    def _meaningful(self) -> list[Factor]:
        """1 for every bit pattern that stands for a code, 0 for the others."""
        return self._factors(
            {
                name: np.ones(size)
                for name, size in self.encoding.sizes.items()
                if name in self._bits and size < 1 << len(self._bits[name])
            }
        )

    def _factors(self, weights: Mapping[str, Reals]) -> list[Factor]:
        """Weights of codes as weights of bit patterns; patterns that stand for no code have none."""
        found = []
        for name, values in weights.items():
            if name in self._bits:
                width = len(self._bits[name])
                table = np.zeros(1 << width)
                table[self.encoding.patterns(name)] = values
                found.append(Factor(self._bits[name], table.reshape((2,) * width)))
        return found

    def _weighted_bits(self, names: Sequence[str], weights: Mapping[str, Reals]) -> Reals:
        """Bits are joined to codes; patterns that stand for no code are ruled out, as in sampling."""
        bits = self._bits
        wanted = [number for name in names for number in bits.get(name, ())]
        extra = [*self._meaningful, *self._factors(weights)]
        mass = float(inference.marginal(self._kept, [], extra=self._meaningful))
        if not mass > 0:
            return self._from_rows(names, weights)
        joint = inference.marginal(self._kept, wanted, extra=extra)
        joint = joint.reshape([1 << len(bits.get(name, ())) for name in names])
        for axis, name in enumerate(names):
            joint = np.take(joint, self.encoding.patterns(name), axis=axis)
        scale = prod(float(w[0]) for name, w in weights.items() if name not in bits)
        return np.asarray(joint * scale / mass)

    @cached_property
    def _rows(self) -> Codes:
        return self._as_drawn.draw_codes(SAMPLED, np.random.default_rng(0))

    def _from_rows(self, names: Sequence[str], weights: Mapping[str, Reals]) -> Reals:
        key = np.zeros(SAMPLED, dtype=np.int64)
        for name in names:
            key = key * self.encoding.sizes[name] + self._rows[name]
        worth = np.ones(SAMPLED)
        for name, values in weights.items():
            worth *= values[self._rows[name]]
        sizes = [self.encoding.sizes[name] for name in names]
        return np.asarray(np.bincount(key, worth, prod(sizes)).reshape(sizes) / SAMPLED)

    # Saving and loading -----------------------------------------------------------------------------

    def model(self) -> Model:
        from penstock.kinds.table.network.saved import write

        return write(self.total, self.encoding, self.network, self.measured)

    @classmethod
    def from_model(cls, manifest: Manifest, model: Model) -> Self:
        from penstock.kinds.table.network.saved import read

        try:
            total, encoding, network, measured = read(model, manifest.schema)
        except ValueError as problem:
            raise ReleaseError(f"The saved network is broken: {problem}. Get the release again.") from None
        return cls(**manifest.common, total=total, encoding=encoding, network=network, measured=measured)

    # The report -------------------------------------------------------------------------------------

    def strength(self, parent: str, child: str) -> float:
        """How far two attributes are from independent under the model, from 0 (independent) to 1."""
        joint = self.weighted([parent, child], {})
        alone = np.multiply.outer(joint.sum(axis=1), joint.sum(axis=0))
        return float(np.abs(joint - alone).sum() / 2)

    @cached_property
    def strengths(self) -> Mapping[tuple[str, str], float]:
        """The edges between attributes, from parent to child, strongest first."""
        from penstock.kinds.table.network.pictures import strengths

        return strengths(self)

    def telling(self) -> Sequence[str]:
        """The columns that depend most on one another."""
        return [name for edge in self.strengths for name in edge]

    def pictures(self) -> Sequence[Picture]:
        from penstock.kinds.table.network.pictures import pictures

        return [*pictures(self), *super().pictures()]

    def explain(self) -> Sequence[str]:
        from penstock.kinds.table.network.pictures import explained

        return explained(self)

    def limits(self) -> Sequence[str]:
        return [
            "Every table of some attributes is added up from one of all, with the noise of all its cells."
            if self.as_a_whole
            else "Attributes that the network does not connect are independent given those that it does, and "
            "what shows only in more attributes at once than a conditional table holds is lost.",
            "Only answers that rest on counts have an error bar. "
            + (
                "For what follows from the network an estimate of its error is told, which is likely and not "
                "guaranteed."
                if self.estimates_errors
                else "How wrong the network is where no count looks is not known, and no range is told."
            ),
        ]
