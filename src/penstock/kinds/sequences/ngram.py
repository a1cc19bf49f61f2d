"""N-gram: noisy counts of short strings, longer ones where the counts are large.

Guarantee: pure epsilon for one sequence added or removed (for one user: as many sequences as the schema
allows a user).
Why: see `penstock.kinds.sequences.exploration`. Which strings are looked at, thresholds and the
consistency step only use noisy histograms. The lengths of sequences, and the times of events where there are
any, are counted for parts of the budget of their own.

Reference: R. Chen, G. Acs and C. Castelluccia, "Differentially private sequential data publication via
variable-length n-grams" (CCS 2012), with the adaptive division of the budget and the consistency step that
its authors publish. The proof given there adds up budgets along the branches of the tree of strings, but a
place is counted in strings of different branches; sorting by starts closes the gap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from math import ceil, log
from typing import Annotated, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray

from penstock.contracts.method import Method
from penstock.contracts.parameters import Share, Whole
from penstock.errors import QueryError, ReleaseError
from penstock.kinds.sequences.asides import SHARES, paid_lengths, shares_beside
from penstock.kinds.sequences.clock import Clock
from penstock.kinds.sequences.data import Sequences
from penstock.kinds.sequences.exploration import Exploration
from penstock.kinds.sequences.markov import Markov, String
from penstock.kinds.sequences.release import MarkovRelease, SavedMarkov, Text, check_loaded, parse
from penstock.kinds.sequences.times import paid_times
from penstock.privacy.budgets.amounts import Amount
from penstock.privacy.budgets.budget import Budget
from penstock.releases import Answer, Manifest, Model
from penstock.report.picture import Picture
from penstock.schema import Schema

Reals = NDArray[np.float64]

LONGEST_GRAM = 50
MOST_CELLS = 1 << 24
"""Strings times what can follow them: beyond this public number no more strings of one length are tried."""


MADE = (
    "Counts of strings were cut off at thresholds and made consistent with one another, after which their "
    "error is not known."
)


@dataclass(frozen=True)
class NGram(Method[Sequences]):
    """Counts of strings of up to `longest_gram` symbols, of which frequent ones are lengthened.

    With `lengths` "counted", `length_share` of the budget pays for the lengths of sequences, so that
    synthetic ones have them; "published" leaves lengths to the strings. Where the schema declares the domain
    of the times of events, `times_share` of the budget pays for them.

    >>> NGram(longest_gram=3).longest_gram
    3

    >>> from penstock.demo import visits, visits_schema
    >>> from penstock.privacy.randomness.generator import Randomness
    >>> from penstock.schema import Schema
    >>> sequences = Sequences.open(visits(500), Schema.from_yaml(visits_schema()))
    >>> release = NGram(longest_gram=2).fit(sequences, Budget(2, randomness=Randomness.seeded(1)))
    >>> release.top(1)["string"].to_list()
    ['search']
    """

    name: ClassVar[str] = "n-gram"

    longest_gram: Annotated[int, Whole(1, LONGEST_GRAM)] = 5
    lengths: Literal["counted", "published"] = "counted"
    length_share: Annotated[Amount, Share()] = "1/10"
    times_share: Annotated[Amount, Share()] = "1/5"

    def check(self, schema: Schema) -> None:
        """Refuse shares that leave nothing for the strings."""
        self._shares(timed=Clock.of(schema) is not None)

    def fit(self, sequences: Sequences, budget: Budget) -> NGramRelease:
        """Count, lengthen what is frequent, and count again; spends the whole budget."""
        self.ready(sequences, budget)
        shares = self._shares(timed=sequences.clock is not None)
        parts = {label: budget.part(label, share) for label, share in shares.items()}
        exploration = Exploration.paid(sequences, budget.rest("strings"))
        tree, width = _Tree(len(sequences.alphabet), self.longest_gram), sequences.width
        strings: list[String] = [()]
        rounds = [self.longest_gram]
        while strings:
            amounts = [left / count for left, count in zip(exploration.left, rounds, strict=True)]
            exploration, noisy = exploration.look(amounts)
            found = [
                tree.settle(string, counts, float(exploration.places / amount), count)
                for string, counts, amount, count in zip(strings, noisy, amounts, rounds, strict=True)
            ]
            cells = [
                (row, symbol) for row, (longer, _) in enumerate(found) for symbol in np.flatnonzero(longer)
            ][: max(1, MOST_CELLS // width)]
            rounds = [int(found[row][1][symbol]) for row, symbol in cells]
            strings = [(*strings[row], int(symbol)) for row, symbol in cells]
            if cells:
                exploration = exploration.extended(np.array([row * width + symbol for row, symbol in cells]))
        return NGramRelease(
            method=self.name,
            schema=sequences.schema,
            parameters={
                "longest_gram": self.longest_gram,
                "lengths": self.lengths,
                **{SHARES[label]: str(share) for label, share in shares.items()},
            },
            counted=paid_lengths(sequences, parts["lengths"]) if "lengths" in parts else None,
            times=paid_times(sequences, parts["times"]) if "times" in parts else None,
            receipt=budget.receipt(sequences.schema.unit, sequences.relation),
            longest=sequences.longest,
            histograms=tree.histograms,
        )

    def _shares(self, *, timed: bool) -> dict[str, Fraction]:
        """What does not go to the strings."""
        return shares_beside(
            lengths=self.length_share if self.lengths == "counted" else None,
            times=self.times_share if timed else None,
        )


@dataclass(frozen=True)
class _Tree:
    """The strings looked at so far with consistent histograms of what follows them; all of it is public."""

    symbols: int
    longest_gram: int
    histograms: dict[String, Reals] = field(default_factory=dict)

    def settle(
        self, string: String, noisy: NDArray[np.int64], scale: float, rounds: int
    ) -> tuple[NDArray[np.bool_], NDArray[np.int64]]:
        """Take a noisy histogram in; which symbols to lengthen the string by, for how many rounds each."""
        threshold = max(0.0, scale * log(self.symbols / 2))
        released = np.ones(len(noisy), dtype=np.bool_) if rounds <= 1 else noisy > threshold
        longer = released.copy() if rounds > 1 else np.zeros(len(noisy), dtype=np.bool_)
        longer[-1] = False  # nothing comes after the end
        if not string:
            known = np.maximum(noisy, 0).astype(np.float64)
            known[-1] = 0.0  # as published: the empty string is followed by a symbol
            self.histograms[string] = known
        nearest = self._nearest(string)
        rest = self._rounds(string, noisy, threshold, nearest)
        if string and released.any():
            shared = self._consistent(string, noisy, released, nearest)
            if shared.any():
                self.histograms[string] = shared
            else:
                longer[:] = False
        return longer, rest

    def _nearest(self, string: String) -> Reals:
        """The histogram of the longest end of a string, shorter than it, that is known."""
        known = (string[begin:] for begin in range(1, len(string)) if string[begin:] in self.histograms)
        return self.histograms[next(known, ())]

    def _rounds(
        self, string: String, noisy: NDArray[np.int64], threshold: float, nearest: Reals
    ) -> NDArray[np.int64]:
        """After how many more looks the extensions of a string will have sunk below the threshold.

        At most the largest share of what follows the nearest known string is kept with each symbol.
        """
        most = self.longest_gram - len(string) - 1
        total = nearest.sum()
        largest = float(nearest.max() / total) if total > 0 else 1.0
        rounds = np.full(len(noisy), max(1, most))
        if threshold <= 0 or largest >= 1:
            return rounds
        high = noisy > threshold
        rounds[high] = [
            min(most, ceil(log(threshold / count) / log(largest))) for count in noisy[high].tolist()
        ]
        at_least_one: NDArray[np.int64] = np.maximum(rounds, 1)
        return at_least_one

    def _consistent(
        self, string: String, noisy: NDArray[np.int64], released: NDArray[np.bool_], nearest: Reals
    ) -> Reals:
        """The published consistency step: fill in what was not released, then share out the string's count.

        What is missing takes the proportions of the nearest known string or, where that is the empty one,
        which is a bad guide, an even share of what is left.
        """
        count = float(self.histograms[string[:-1]][string[-1]])
        filled = np.where(released, np.maximum(noisy, 0), 0.0)
        known = float(filled.sum())
        if nearest is not self.histograms[()]:
            guide = float(nearest[released].sum())
            filled[~released] = known * nearest[~released] / guide if guide > 0 else 0.0
        elif known <= count and not released.all():
            filled[~released] = (count - known) / float((~released).sum())
        total = filled.sum()
        return filled / total * count if total > 0 else np.zeros(len(noisy))


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class NGramRelease(MarkovRelease):
    """Strings of symbols, each with consistent counts of what follows it.

    >>> from penstock import Schema, release
    >>> from penstock.demo import visits, visits_schema
    >>> schema = Schema.from_yaml(visits_schema())
    >>> grams = release(visits(500), schema, epsilon=2, method="n-gram", seed=1)
    >>> grams.count("search").value > grams.count("contact").value
    True
    """

    form: ClassVar[str] = "n-gram"

    histograms: dict[String, Reals]

    @cached_property
    def markov(self) -> Markov:
        """The model whose contexts are the known strings, looked up from their ends."""
        width = len(self.alphabet) + 1
        numbers: dict[String, int] = {}
        for string in self.histograms:
            for begin in range(len(string), -1, -1):
                numbers.setdefault(string[begin:], len(numbers))
        children = np.full((len(numbers), width), -1, dtype=np.int32)
        weights = np.zeros((len(numbers), width))
        for string, number in numbers.items():
            if string:
                children[numbers[string[1:]], string[0]] = number
            if string in self.histograms:
                weights[number] = self.histograms[string]
        return Markov(children, weights)

    @property
    def number(self) -> Answer:
        """The estimated number of sequences: how often the end follows a symbol."""
        ends = [histogram[-1] for string, histogram in self.histograms.items() if len(string) == 1]
        return Answer(max(0.0, float(sum(ends))), None, "sequences", "model", (MADE, *self.kept))

    def estimate(self, codes: Sequence[int]) -> Answer:
        return replace(super().estimate(codes), caveats=(MADE, *self.kept))

    @property
    def cap(self) -> int:
        return self.longest

    def count(self, text: Text) -> Answer:
        codes = parse(text, self.alphabet)
        if len(codes) > 1 and codes[0] == len(self.alphabet):
            raise QueryError(
                "An n-gram release does not know how sequences begin; leave out the mark in front."
            )
        return super().count(text)

    def model(self) -> Model:
        import polars as pl

        order = {string: number for number, string in enumerate(self.histograms)}
        strings = [string for string in self.histograms if string]
        return Model(
            json={"longest": self.longest, **self._told_of_asides()},
            tables={
                "strings": pl.DataFrame(
                    {
                        "before": [order[string[:-1]] for string in strings],
                        "symbol": [string[-1] for string in strings],
                    },
                    schema={"before": pl.Int64, "symbol": pl.Int64},
                ),
                "counts": pl.DataFrame({"count": np.concatenate(list(self.histograms.values()))}),
                **self._saved_asides(),
            },
        )

    @classmethod
    def from_model(cls, manifest: Manifest, model: Model) -> Self:
        import polars as pl

        saved = model.read(SavedMarkov)
        symbols = check_loaded(manifest.schema, saved.longest)
        listed = model.table("strings", {"before": pl.Int64, "symbol": pl.Int64})
        strings: list[String] = [()]
        for before, symbol in listed.iter_rows():
            known = 0 <= before < len(strings) and 0 <= symbol < symbols
            if not known or len(strings[before]) >= LONGEST_GRAM:
                raise ReleaseError("model-strings.parquet does not describe strings; get the release again.")
            strings.append((*strings[before], symbol))
        if len(set(strings)) != len(strings):
            raise ReleaseError("model-strings.parquet lists a string twice; get the release again.")
        rows = len(strings) * (symbols + 1)
        counts = model.table("counts", {"count": pl.Float64}, rows=rows)["count"].to_numpy()
        if counts.min(initial=0) < 0:
            raise ReleaseError("model-counts.parquet has counts below zero; get the release again.")
        histograms = dict(zip(strings, counts.reshape(len(strings), -1), strict=True))
        return cls(
            **manifest.common,
            longest=saved.longest,
            histograms=histograms,
            counted=cls._loaded_lengths(model, saved),
            times=cls._loaded_times(manifest, model, saved),
        )

    def pictures(self) -> Sequence[Picture]:
        from penstock.kinds.sequences.pictures import lengths, strings, transitions

        return [picture for picture in (strings(self), lengths(self), transitions(self)) if picture.rows]

    def explain(self) -> Sequence[str]:
        longest = max(len(string) for string in self.histograms) + 1
        return [
            f"Noisy counts of strings of up to {longest} symbols: of what follows each of "
            f"{len(self.histograms):,} strings, made consistent with one another. Longer strings are "
            "counted, and synthetic sequences written, by chaining these.",
            *self._told_beside(),
        ]

    def limits(self) -> Sequence[str]:
        return [
            "How sequences begin is not in this release: synthetic ones begin with any frequent symbol.",
            "What depends on more of the past than a few symbols is not in this release.",
        ]
