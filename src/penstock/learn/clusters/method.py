"""k-means: a synopsis of noisy counts that is clustered for free, and rounds of Lloyd's algorithm with noise.

Guarantee: pure epsilon for one point added or removed (for one user: as many points as the schema allows a
user).
Why: every look at the records is one of these, and their parts of the budget add up to the whole.

1. *Number of points*, where it is neither public nor without use: one noisy count. Grids, shares and rounds
   follow from it and from public numbers (`planning`).
2. *Directions*, with many fields and points enough: noisy sums and sums of products (`projection`).
3. *Synopsis*: noisy counts of all cells of a grid, L1 sensitivity 1; or a tree that PrivTree grows, over the
   fields or along these directions. The clustering of its cells, from many public starts, and the choice of
   k are post-processing.
4. *Rounds*: noisy numbers and sums around public centres (`rounds`), one charge each.

References: D. Su, J. Cao, N. Li, E. Bertino and H. Jin, "Differentially private k-means clustering" (CODASPY
2016) and "Differentially private k-means clustering and a hybrid approach to private optimization" (TOPS
2017) for EUGkM, DPLloyd-Impr and the hybrid; A. Blum, C. Dwork, F. McSherry and K. Nissim, "Practical
privacy: the SuLQ framework" (PODS 2005) for DPLloyd; J. Lei, "Differentially private M-estimators" (NIPS
2011) for the grid of MkM; S. Ray and R. Turi (1999) for the index that chooses k.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from math import sqrt
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from penstock.contracts.method import Method
from penstock.contracts.parameters import Whole
from penstock.engine.directions import Directions
from penstock.errors import UsageError
from penstock.kinds.points.data import Points
from penstock.kinds.points.privtree import PrivTree
from penstock.kinds.points.space import Space
from penstock.learn.clusters.lloyd import CAP, Found, cluster, measured, most_valid
from penstock.learn.clusters.packing import Boundary, packed_starts, spread_starts, uniform_starts
from penstock.learn.clusters.planning import (
    AFTER_DIRECTIONS,
    FOR_DIRECTIONS,
    PAID_DIRECTIONS,
    RANDOM_DIRECTIONS,
    ROUNDS_AFTER,
    affordable_rounds,
    cells_wanted,
    hybrid_share,
    projection_pays,
    side,
)
from penstock.learn.clusters.presets import PRESETS, Cut, Preset, Recipe, Rule, Schedule
from penstock.learn.clusters.projection import Projection, drawn, lifted, spreading
from penstock.learn.clusters.release import MOST_CELLS, ClustersRelease, Counted
from penstock.learn.clusters.rounds import Sparse, noisy_round
from penstock.learn.clusters.synopsis import (
    Cells,
    GridSynopsis,
    GrownSynopsis,
    Signs,
    Synopsis,
    weighted,
)
from penstock.learn.clusters.unit_box import UnitBox
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms import noise
from penstock.privacy.mechanisms.splitting import Splitter
from penstock.releases.error_bars import Noises, bar
from penstock.schema import Schema

Reals = NDArray[np.float64]

SIZE_SHARE = Fraction(1, 100)
"""Of the budget, for the number of points where the schema does not declare it."""
FOR_SHAPE = Fraction(1, 2)
LEAST_FOR_A_TREE = (1 - SIZE_SHARE) * (1 - FOR_DIRECTIONS) * AFTER_DIRECTIONS * FOR_SHAPE
"""Of the budget, what the decisions about a tree get at least, where no round takes from the synopsis."""
TOGETHER = 2
"""So many fields are cut at a time by a tree over them: fewer and larger leaves than of all at once."""
MOST_K = 200
MOST_HALVINGS = 20
MANY_CELLS = 64


@dataclass(frozen=True)
class KMeans(Method[Points]):
    """Centres of k clusters, and how many points each has.

    `k` is the number of clusters; without one, that between `least_k` and `most_k` whose clusters on the
    synopsis are the most compact and the furthest apart is taken, at no further cost. `preset` names the
    other parameters together:

    * ``grown``, our own: a tree of PrivTree, fine where points are many, is counted and clustered, and one
      round of Lloyd's algorithm follows with the rest of the budget, where that pays. With ten
      fields and more, at most six clusters, and points enough for the budget, the tree grows along the three
      directions in which points spread most, which are paid for, and two rounds follow.
    * ``hybrid``, as published: the same on a grid of about (n epsilon/10)^(2d/(2+d)) cells; ``half``: with
      half of the budget for each.
    * ``eugkm``, ``ugkm``, ``mkm``: the grid alone, in three published sizes.
    * ``dplloyd``: five rounds from a random start, and ``dplloyd-impr``: as many as the budget allows, from
      centres that lie apart.

    What is given beside it changes the preset: `synopsis` how cells are cut, `rule` whether a round follows
    them, `rounds` how many (None: by the preset), `schedule` what each of them gets of the budget. A tree
    grows along the fields, or by `projection` along four random or three paid directions (None: as above).
    `starts` is how many starts are tried on the synopsis, `draw` which of all they are, and `boundary`
    what they keep away from. `signs` says whether counts below zero count, `sparse` what becomes of centres
    with hardly any points; `cap` is the most rounds on the synopsis and `most_cells` its largest size.

    >>> import polars as pl
    >>> from penstock.privacy.randomness.generator import Randomness
    >>> from penstock.schema import Schema
    >>> schema = Schema.from_yaml('''
    ... kind: points
    ... fields:
    ...   - {name: x, type: number, constraints: {minimum: 0, maximum: 1}}
    ...   - {name: y, type: number, constraints: {minimum: 0, maximum: 1}}
    ... ''')
    >>> frame = pl.DataFrame({"x": [0.1] * 500 + [0.9] * 500, "y": [0.2] * 500 + [0.7] * 500})
    >>> points = Points.open(frame, schema)
    >>> release = KMeans(k=2).fit(points, Budget(1, randomness=Randomness.seeded(1)))
    >>> release.predict(frame)["cluster"].n_unique()
    2
    >>> release.receipt.epsilon
    Fraction(1, 1)
    """

    name: ClassVar[str] = "kmeans"

    k: Annotated[int | None, Whole(1, MOST_K)] = None
    preset: Preset = "grown"
    least_k: Annotated[int, Whole(2, MOST_K)] = 2
    most_k: Annotated[int, Whole(2, MOST_K)] = 8
    synopsis: Cut | None = None
    rule: Rule | None = None
    projection: Projection | None = None
    rounds: Annotated[int | None, Whole(1, 200)] = None
    schedule: Schedule | None = None
    starts: Annotated[int | None, Whole(1, 200)] = None
    draw: Annotated[int, Whole(0, 1 << 31)] = 0
    boundary: Boundary = "corner"
    signs: Signs = "signed"
    sparse: Sparse | None = None
    cap: Annotated[int, Whole(1, 1000)] = CAP
    most_cells: Annotated[int, Whole(1, MOST_CELLS)] = MOST_CELLS

    @property
    def recipe(self) -> Recipe:
        """The preset with what was given beside it."""
        names = ("synopsis", "rule", "rounds", "schedule", "starts", "sparse")
        named = {name: getattr(self, name) for name in names}
        given = {name: value for name, value in named.items() if value is not None}
        return replace(PRESETS[self.preset], **given)

    @property
    def candidates(self) -> Sequence[int]:
        """The numbers of clusters that may come out."""
        return range(self.least_k, self.most_k + 1) if self.k is None else (self.k,)

    def check(self, schema: Schema) -> None:
        """Refuse fields without bounds, and what contradicts itself."""
        UnitBox.of(schema)
        recipe = self.recipe
        if self.k is None and self.least_k > self.most_k:
            raise UsageError(
                f"least_k is {self.least_k} and most_k {self.most_k}; exchange them. Nothing was spent."
            )
        if recipe.synopsis == "none" and self.k is None:
            raise UsageError(
                "Without a synopsis there is nothing to choose the number of clusters on; give k. "
                "Nothing was spent."
            )
        if recipe.schedule == "geometric" and (recipe.rounds or 0) > MOST_HALVINGS:
            raise UsageError(
                f"A budget that is halved {recipe.rounds} times leaves nothing; ask for {MOST_HALVINGS} "
                "rounds at most. Nothing was spent."
            )
        if recipe.synopsis == "grown":
            PrivTree(together=min(TOGETHER, len(schema.names))).check(schema)
        if self.projection not in (None, "none"):
            self._refuse_projection(schema)

    def _refuse_projection(self, schema: Schema) -> None:
        """Refuse directions without a tree, without a round to come back by, with too few fields, or paid
        ones where points may lack values: the number of points is then not that of the sums."""
        fields = len(schema.names)
        if self.recipe.synopsis != "grown" or self.recipe.rule == "never":
            raise UsageError(
                "Only a tree that a round follows grows along directions; take the preset 'grown', or leave "
                "projection away. Nothing was spent."
            )
        if fields <= RANDOM_DIRECTIONS:
            raise UsageError(
                f"There are {fields} fields, and a projection to fewer needs more than {RANDOM_DIRECTIONS}; "
                "leave projection away. Nothing was spent."
            )
        if self.projection == "paid" and may_lack_values(schema):
            raise UsageError(
                "Directions are paid for only where every point has all its values; take projection=random, "
                "or refuse missing values in the schema. Nothing was spent."
            )

    def cells(self, schema: Schema) -> int:
        """Those of the largest grid there may be."""
        return min(self.most_cells, super().cells(schema))

    def fit(self, points: Points, budget: Budget) -> ClustersRelease:
        """Make a synopsis and cluster it, then the rounds that pay; spends the whole budget."""
        self.ready(points, budget)
        return _Fit(self, self.recipe, points, budget).release()


@dataclass(frozen=True, eq=False)
class _Fit:
    """One run of the method."""

    method: KMeans
    recipe: Recipe
    points: Points
    budget: Budget

    @property
    def box(self) -> UnitBox:
        return UnitBox.of(self.points.schema)

    def release(self) -> ClustersRelease:
        if self.recipe.synopsis == "grown":  # before the number of points is paid for
            self._refuse_too_little(self.budget.left[0] * LEAST_FOR_A_TREE)
        n, rest = self._number()
        projection = self._projection(n, rest)
        across, rest = self._directions(projection, n, rest)
        share = self._share(n, rest, across)
        synopsis, sizes, errors, counted = None, None, None, None
        if share > 0:
            for_cells = rest.rest("synopsis") if share == 1 else rest.part("synopsis", share)
            synopsis = self._synopsis(n, for_cells, across)
            centres = self._clustered(synopsis).centres
            if across is None:
                (sizes, errors), counted = self._sizes(synopsis, centres), _CELLS
            else:
                centres = np.clip(lifted(across, centres) + self.box.offset, -1.0, 1.0)
        else:
            centres = self._starts(self.method.candidates[0])[0]
        if share < 1:
            epsilon = float(rest.left[0]) / self.points.schema.unit.records
            rounds = self._rounds(n, len(centres), epsilon, across)
            for pay in self._shares_of_rounds(rounds, rest.rest("rounds")):
                made = noisy_round(
                    self.points, self.box, centres, pay, split=self.recipe.split, sparse=self.recipe.sparse
                )
                centres, sizes = made.centres, made.sizes
                errors, counted = np.full(len(sizes), made.error), _LAST
        assert sizes is not None
        assert errors is not None
        order = np.argsort(-sizes, kind="stable")
        return ClustersRelease(
            method=self.method.name,
            schema=self.points.schema,
            parameters=self._parameters(share, len(centres), projection),
            receipt=self.budget.receipt(self.points.schema.unit, self.points.relation),
            centres=self.box.values(centres)[order],
            sizes=sizes[order],
            errors=errors[order],
            counted=counted,
            synopsis=synopsis,
        )

    def _number(self) -> tuple[float, Budget]:
        """About how many points there are, public or paid for (1 if unneeded), and what is left to spend."""
        recipe, declared = self.recipe, self.points.schema.size
        needed = recipe.synopsis not in ("none", "grown") or (
            recipe.rounds is None if recipe.synopsis == "none" else recipe.rule != "never"
        )
        if declared is not None or not needed:
            return float(declared or 1), self.budget
        for_number, rest = self.budget.split(number_of_points=SIZE_SHARE, clusters=1 - SIZE_SHARE)
        return max(1.0, float(noise.counts(self.points.size(), pay=for_number)[0])), rest

    def _projection(self, n: float, rest: Budget) -> Projection:
        """Along which directions a tree grows, by what was asked for or by public and paid-for numbers."""
        if self.method.projection is not None:
            return self.method.projection
        if self.recipe.synopsis != "grown" or self.recipe.rule == "never":
            return "none"
        if may_lack_values(self.points.schema):
            return "none"
        epsilon = float(rest.left[0]) / self.points.schema.unit.records
        pays = projection_pays(n, max(self.method.candidates), self.box.dimensions, epsilon)
        return "paid" if pays else "none"

    def _directions(self, projection: Projection, n: float, rest: Budget) -> tuple[Directions | None, Budget]:
        """The directions, and what is left of the budget after them."""
        if projection == "none":
            return None, rest
        if projection == "random":
            return drawn(RANDOM_DIRECTIONS, self.box.dimensions, self.method.draw), rest
        pay, left = rest.split(directions=FOR_DIRECTIONS, clusters=1 - FOR_DIRECTIONS)
        return spreading(self.points, n, PAID_DIRECTIONS, pay), left

    def _share(self, n: float, rest: Budget, across: Directions | None) -> Fraction:
        """What the synopsis gets of the budget."""
        if self.recipe.synopsis == "none":
            return Fraction(0)
        if across is not None:
            return AFTER_DIRECTIONS
        if self.recipe.rule == "never":
            return Fraction(1)
        epsilon = float(rest.left[0]) / self.points.schema.unit.records
        share = hybrid_share(self.recipe.rule, n, max(self.method.candidates), self.box.dimensions, epsilon)
        if self.recipe.synopsis == "grown":
            try:
                self._refuse_too_little(rest.left[0] * share * FOR_SHAPE)
            except UsageError:  # a round would leave too little to decide about a tree with
                return Fraction(1)
        return share

    def _refuse_too_little(self, epsilon: Fraction) -> None:
        """Refuse what is too little to decide about any tree of these points, whichever way it is cut."""
        Splitter.refuse_too_little(epsilon, fan_out=2, paths=self.points.schema.unit.records)

    def _synopsis(self, n: float, pay: Budget, across: Directions | None) -> Synopsis:
        cut = self.recipe.synopsis
        if cut == "grown":
            seen = self.points if across is None else self.points.projected(across)
            together = min(TOGETHER, self.box.dimensions) if across is None else len(across.weights)
            deepest = Space.of(seen.schema, together=together).in_one_word
            tree = PrivTree(FOR_SHAPE, together=together, deepest=deepest, most_nodes=self.method.most_cells)
            grown = tree.fit(seen, pay)
            assert grown.deviation is not None
            counts = np.asarray(grown.counts, dtype=np.int64)
            return GrownSynopsis(grown.partition, counts, grown.deviation, across)
        assert cut != "none"
        dimensions = self.box.dimensions
        epsilon = float(pay.epsilon) / self.points.schema.unit.records
        wanted = cells_wanted(cut, n, dimensions, epsilon)
        sides = (side(wanted, dimensions, self.method.most_cells),) * dimensions
        sealed = self.points.histogram(sides)
        deviation = noise.standard_deviation(sealed.sensitivity.l1, pay.epsilon)
        return GridSynopsis(sides, noise.counts(sealed, pay=pay), deviation)

    def _clustered(self, synopsis: Synopsis) -> Found:
        """The clusters of the cells with the least error, or the most valid where their number is open."""
        cells = weighted(synopsis, self.method.signs)
        results = [cluster(cells, self._starts(k, cells), self.method.cap) for k in self.method.candidates]
        place = most_valid(results) if len(results) > 1 else 0
        return results[place or 0][0]

    def _starts(self, k: int, cells: Cells | None = None) -> Reals:
        """Sets of k centres to begin with; where they are spread, half of them follow the cells' counts."""
        many, draw = self.recipe.starts, self.method.draw
        dimensions = self.box.dimensions if cells is None else cells.places.shape[1]
        if self.recipe.start == "anywhere":
            return uniform_starts(k, dimensions, many, draw)
        if self.recipe.start == "packed" or cells is None:
            return packed_starts(k, dimensions, many, draw, self.method.boundary)
        blocks, half = cells.blocks(), many // 2
        spread = spread_starts(blocks.places, blocks.weights, k, many - half, draw)
        if not half:
            return spread
        return np.concatenate([packed_starts(k, dimensions, half, draw, self.method.boundary), spread])

    def _sizes(self, synopsis: Synopsis, centres: Reals) -> tuple[Reals, Reals]:
        """The noisy counts of every cluster's cells, added up, and how wide the noise of so many is."""
        found = measured(weighted(synopsis, "signed"), centres[None])
        many = np.bincount(found.assigned[0], minlength=len(centres)).tolist()
        return found.weights[0], np.array([_width(synopsis.deviation, cells) for cells in many])

    def _rounds(self, n: float, k: int, epsilon: float, across: Directions | None) -> int:
        """How many rounds there are: as many as were asked for, or as the preset's rule says."""
        if self.recipe.rounds is not None:
            return self.recipe.rounds
        if self.recipe.synopsis == "none":
            return affordable_rounds(n, k, self.box.dimensions, epsilon)
        return 1 if across is None else ROUNDS_AFTER

    def _shares_of_rounds(self, many: int, pay: Budget) -> list[Budget]:
        labels = [f"round {number}" for number in range(1, many + 1)]
        if self.recipe.schedule == "even":
            return pay.evenly(labels)
        halved = [pay.part(label, Fraction(1, 1 << number)) for number, label in enumerate(labels[:-1], 1)]
        return [*halved, pay.rest(labels[-1])]

    def _parameters(self, share: Fraction, k: int, projection: Projection) -> dict[str, Any]:
        """What was chosen, and what followed from it and the budget."""
        followed = {"k": k, "share": str(share), "projection": projection}
        return {**asdict(self.method), **asdict(self.recipe), **followed}


def _width(deviation: float, cells: int) -> float:
    """How wide the noise of so many cells is, added up: that of many is next to normal."""
    if cells < MANY_CELLS:
        return bar([Noises(1.0, deviation, cells)]).half
    return bar([Noises(1.01, deviation * sqrt(cells), 1, gaussian=True)]).half


_CELLS: Counted = "cells"
_LAST: Counted = "last round"


def may_lack_values(schema: Schema) -> bool:
    """Whether the schema lets a point be without a coordinate; public."""
    return any(field.missing == "value" for field in schema.fields)
