"""PrivTree for sequences: a private prediction suffix tree.

A tree of contexts says what comes next after each of them. PrivTree decides which contexts are
lengthened to the left; then every leaf gets a noisy histogram of what follows it.

Guarantee: pure epsilon for one sequence added or removed (for one user: as many sequences as the schema
allows a user).
Why: a sequence owns at most `longest` places at which something is predicted, and each place lies on one path
of the tree. So the decisions cost what PrivTree costs for that many paths
(`penstock.privacy.mechanisms.splitting`; the score of a context is in `penstock.kinds.sequences.data`), and
the leaves' histograms, which share no place, have together an L1 sensitivity of `longest`. Inner histograms
are sums over leaves, and setting negative entries to zero comes after that: both are post-processing.
The lengths of sequences, and the times of events where there are any, are counted for parts of the budget of
their own.

Reference: J. Zhang, "Algorithms for synthetic data release under differential privacy" (2016), chapter 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from penstock.contracts.method import Method
from penstock.contracts.parameters import Exact, Share, Whole
from penstock.errors import ReleaseError, UsageError
from penstock.kinds.sequences.asides import paid_lengths, shares_beside
from penstock.kinds.sequences.clock import Clock
from penstock.kinds.sequences.data import Sequences, refuse_lengths
from penstock.kinds.sequences.layout import SequenceLayout
from penstock.kinds.sequences.markov import Markov
from penstock.kinds.sequences.release import MarkovRelease, SavedMarkov, check_loaded
from penstock.kinds.sequences.times import paid_times
from penstock.privacy.budgets.amounts import Amount, exact
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms import choice, noise
from penstock.privacy.mechanisms.growth import Shape, grow
from penstock.privacy.mechanisms.splitting import Constant, Splitter
from penstock.releases import Answer, Manifest, Model
from penstock.releases.error_bars import Noises, bar
from penstock.report.picture import Picture
from penstock.schema import Schema

if TYPE_CHECKING:
    from typing import Any

MOST_CELLS = 1 << 24
"""Contexts times what can follow them: beyond this public number the tree stops growing."""


@dataclass(frozen=True)
class PrivTreeSequences(Method[Sequences]):
    """A tree of contexts that is deep where sequences are many and hard to predict.

    `tree_share` of what is left for the model decides about the tree and the rest pays for its histograms; by
    default the tree gets 1/(symbols + 1) of the budget, because a score adds up that many counts. With
    `choose_longest` the length that is kept is chosen privately, up to the schema's `longest`: near the one
    that a share `quantile` of the sequences does not exceed, for `longest_share` of the budget. `constant` is
    PrivTree's noise: "tight" or, as in the literature, "published". `deepest` limits the length of contexts.

    With `lengths` "counted", `length_share` of the budget pays for the lengths of sequences, so that
    synthetic ones have them and none is longer than the longest that was kept. "published" leaves both to the
    model, whose sequences may then become ten times as long. Where the schema declares the domain of the
    times of events, `times_share` of the budget pays for them.

    >>> import polars as pl
    >>> from penstock.privacy.randomness.generator import Randomness
    >>> from penstock.schema import Schema
    >>> schema = Schema.from_yaml('''
    ... kind: sequences
    ... sequence: {symbol: pages, longest: 4}
    ... fields:
    ...   - {name: pages, constraints: {enum: [home, news]}}
    ... ''')
    >>> visits = pl.DataFrame({"pages": ["home news home"] * 600 + ["news"] * 400})
    >>> budget = Budget(1, randomness=Randomness.seeded(1))
    >>> release = PrivTreeSequences().fit(Sequences.open(visits, schema), budget)
    >>> 550 < release.count("home,news").value < 650
    True
    """

    name: ClassVar[str] = "privtree-sequences"

    tree_share: Annotated[Amount | None, Share()] = None
    choose_longest: bool = False
    quantile: Annotated[Amount, Exact(above=0, below=1)] = "19/20"
    longest_share: Annotated[Amount, Share()] = "1/20"
    constant: Constant = "tight"
    deepest: Annotated[int | None, Whole(least=0)] = None
    lengths: Literal["counted", "published"] = "counted"
    length_share: Annotated[Amount, Share()] = "1/10"
    times_share: Annotated[Amount, Share()] = "1/5"

    def check(self, schema: Schema) -> None:
        """Refuse a quantile, or a longest length, that no choice of a length can be made with."""
        longest = SequenceLayout.of(schema).longest
        if self.choose_longest and longest is not None:
            refuse_lengths(exact(self.quantile, "quantile"), longest)
        self._asides(timed=Clock.of(schema) is not None)

    def fit(self, sequences: Sequences, budget: Budget) -> SuffixTreeRelease:
        """Choose the length if asked to, grow the tree, count what follows; spends the whole budget."""
        self.ready(sequences, budget)
        width = sequences.width
        asides = self._asides(timed=sequences.clock is not None)
        share = self._of_what_is_left(width, 1 - sum(asides.values(), Fraction(0)))
        parts = {label: budget.part(label, part) for label, part in asides.items()}
        rest = budget.rest("model") if parts else budget
        if self.choose_longest:
            Splitter.refuse_too_little(
                share * rest.epsilon, fan_out=width, paths=sequences.places, constant=self.constant
            )
            sequences = self._shortened(sequences, parts["longest"])
        for_shape, for_counts = rest.split(shape=share, histograms=1 - share)
        splitter = Splitter.paid(
            for_shape,
            fan_out=width,
            paths=sequences.places,
            constant=self.constant,
            relation=sequences.relation,
        )
        deepest = sequences.longest if self.deepest is None else min(self.deepest, sequences.longest)
        growth = grow(sequences.contexts(), splitter, deepest=deepest, most_nodes=max(1, MOST_CELLS // width))
        leaves = sequences.leaves(growth)
        deviation = noise.standard_deviation(leaves.sensitivity.l1, for_counts.epsilon)
        counts = noise.counts(leaves, pay=for_counts)
        counted = times = None
        if "lengths" in parts:
            counted = paid_lengths(sequences, parts["lengths"])
        if "times" in parts:
            times = paid_times(sequences, parts["times"])
        return SuffixTreeRelease(
            method=self.name,
            schema=sequences.schema,
            parameters=self._parameters(share, splitter, deepest, timed="times" in parts),
            receipt=budget.receipt(sequences.schema.unit, sequences.relation),
            longest=sequences.longest,
            shape=growth.shape,
            counts=counts,
            deviation=deviation,
            counted=counted,
            times=times,
        )

    def _asides(self, *, timed: bool) -> dict[str, Fraction]:
        """The shares of the budget that do not go to the tree."""
        return shares_beside(
            longest=self.longest_share if self.choose_longest else None,
            lengths=self.length_share if self.lengths == "counted" else None,
            times=self.times_share if timed else None,
        )

    def _of_what_is_left(self, width: int, left: Fraction) -> Fraction:
        """The share for the tree: of the whole budget 1/(symbols + 1), where nothing else is asked for."""
        if self.tree_share is not None:
            return exact(self.tree_share, "tree_share")
        whole = Fraction(1, width)
        return whole / left if whole < left else whole

    def _shortened(self, sequences: Sequences, pay: Budget) -> Sequences:
        """What is kept, chosen privately: the exponential mechanism's family over all lengths."""
        scores = sequences.lengths(exact(self.quantile, "quantile"))
        return sequences.truncated(1 + choice.best(scores, pay=pay))

    def _parameters(
        self, tree_share: Fraction, splitter: Splitter, deepest: int, *, timed: bool
    ) -> dict[str, Any]:
        """What was chosen, and what follows from it and the budget."""
        chosen: dict[str, Any] = {"tree_share": str(tree_share), "constant": self.constant}
        if self.choose_longest:
            chosen |= {
                "choose_longest": True,
                "quantile": str(exact(self.quantile)),
                "longest_share": str(exact(self.longest_share)),
            }
        chosen["lengths"] = self.lengths
        if self.lengths == "counted":
            chosen["length_share"] = str(exact(self.length_share))
        if timed:
            chosen["times_share"] = str(exact(self.times_share))
        return chosen | {
            "deepest": deepest,
            "noise_scale": float(splitter.lam),
            "decay": float(splitter.delta),
        }


class _Saved(SavedMarkov):
    deviation: float


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SuffixTreeRelease(MarkovRelease):
    """A tree of contexts with noisy histograms of what follows its leaves.

    `counts` has a row for every leaf and a column for every symbol and, last, the end; entries may be
    negative. `deviation` is the standard deviation of the noise of each.

    >>> from penstock import Schema, release
    >>> from penstock.demo import visits, visits_schema
    >>> schema = Schema.from_yaml(visits_schema())
    >>> tree = release(visits(500), schema, epsilon=2, method="privtree-sequences", seed=1)
    >>> tree.top(1)["string"].to_list()
    ['search']
    >>> tree.sample(3, seed=1)["visitor"].n_unique()
    3
    """

    form: ClassVar[str] = "suffix-tree"

    shape: Shape
    counts: NDArray[np.int64]
    deviation: float

    @cached_property
    def raw(self) -> NDArray[np.int64]:
        """The histograms of all contexts: those of inner ones add up their leaves'."""
        raw: NDArray[np.int64] = self.shape.sums(self.counts)
        return raw

    @cached_property
    def markov(self) -> Markov:
        """The model: entries below zero are taken for zero, after the sums have been formed."""
        width = self.counts.shape[1]
        inner = self.shape.fans > 0
        children = np.where(inner[:, None], self.shape.first[:, None] + np.arange(width), -1)
        return Markov(children.astype(np.int32), np.maximum(self.raw, 0).astype(np.float64))

    @property
    def number(self) -> Answer:
        """The estimated number of sequences: as many as begin or, in a tree without contexts, end."""
        width = self.counts.shape[1]
        if len(self.shape) > 1:  # the last child of the root is the beginning, which is a leaf
            return self._counted(float(self.raw[width].sum()), width, "sequences")
        return self._counted(float(self.raw[0, -1]), 1, "sequences")

    def estimate(self, codes: Sequence[int]) -> Answer:
        """A string counts as a whole when all of it but the last symbol is a context of the tree.

        Then the sum of the noisy counts of that symbol, over the leaves below the context, is its count.
        """
        *before, last = codes
        node, known = 0, 0
        for symbol in reversed(before):
            child = int(self.markov.children[node, symbol])
            if child < 0:
                break
            node, known = child, known + 1
        if known < len(before):
            return super().estimate(codes)
        return self._counted(float(self.raw[node, last]), int(self._leaves_below[node]), "occurrences")

    def _counted(self, value: float, entries: int, text: str) -> Answer:
        """A sum of so many independent noisy entries, cut off at zero."""
        return Answer.counted(value, bar([Noises(1.0, self.deviation, entries)]), text, self.kept)

    @cached_property
    def _leaves_below(self) -> NDArray[np.int64]:
        below: NDArray[np.int64] = self.shape.sums(np.ones(len(self.shape.leaves), dtype=np.int64))
        return below

    def context(self, node: int) -> tuple[int, ...]:
        """What a node knows, the last symbol last; the number of symbols stands for the beginning."""
        known = []
        while node > 0:
            parent = int(self.shape.parents[node])
            known.append(node - int(self.shape.first[parent]))
            node = parent
        return tuple(known)

    def model(self) -> Model:
        import polars as pl

        return Model(
            json={"longest": self.longest, "deviation": self.deviation, **self._told_of_asides()},
            tables={
                "contexts": pl.DataFrame({"split": self.shape.fans > 0}),
                "counts": pl.DataFrame({"count": self.counts.ravel()}),
                **self._saved_asides(),
            },
        )

    @classmethod
    def from_model(cls, manifest: Manifest, model: Model) -> Self:
        import polars as pl

        saved = model.read(_Saved)
        width = check_loaded(manifest.schema, saved.longest) + 1
        split = model.table("contexts", {"split": pl.Boolean})["split"].to_numpy()
        if len(split) * width > max(MOST_CELLS, width):
            raise ReleaseError("model-contexts.parquet describes a tree of an impossible size.")
        try:
            shape = Shape(split.astype(np.int64) * width)
        except UsageError:
            raise ReleaseError(
                "model-contexts.parquet does not describe a tree of contexts; get the release again."
            ) from None
        if shape.fans[width::width].any():
            raise ReleaseError("model-contexts.parquet splits a context that begins with the beginning.")
        rows = len(shape.leaves) * width
        counts = model.table("counts", {"count": pl.Int64}, rows=rows)["count"].to_numpy()
        return cls(
            **manifest.common,
            longest=saved.longest,
            shape=shape,
            counts=counts.reshape(-1, width),
            deviation=saved.deviation,
            counted=cls._loaded_lengths(model, saved),
            times=cls._loaded_times(manifest, model, saved),
        )

    def pictures(self) -> Sequence[Picture]:
        from penstock.kinds.sequences.pictures import context_tree, lengths, strings, transitions

        drawn = (strings(self), lengths(self), transitions(self), context_tree(self))
        return [picture for picture in drawn if picture.rows]

    def explain(self) -> Sequence[str]:
        contexts, deepest = len(self.shape.leaves), self.shape.depth
        return [
            f"A tree of {contexts:,} contexts of up to {deepest} symbols. For each of them the release says "
            "how often every symbol, or the end of the sequence, came next; exact noise with a standard "
            f"deviation of {self.deviation:.3g} was added to each of these counts. Longer strings are "
            "counted, and synthetic sequences written, by looking up what follows the longest context that "
            "the tree knows.",
            f"Of every sequence the first {self.longest} symbols were used, its end counting as one.",
            *self._told_beside(),
        ]

    def limits(self) -> Sequence[str]:
        said = [
            "What depends on more of the past than the tree knows is not in this release.",
            "Counts of rare strings are mostly noise; where they were counted, their error bars say so.",
        ]
        if len(self.alphabet) > 1000:
            said.append("With more than 1,000 symbols most counts are small beside the noise.")
        return said
