"""Studies of sequences: their datasets, the methods of the literature, and its two measures.

Importing this module makes the datasets known to `frame.data.load`.
"""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from frame.data import LOADERS, file
from penstock.kinds.sequences.data import Sequences
from penstock.kinds.sequences.evaluation import frequent_strings, length_distance, precision
from penstock.kinds.sequences.markov import String
from penstock.kinds.sequences.ngram import NGram
from penstock.kinds.sequences.occurrences import Text
from penstock.kinds.sequences.reading import read_sequences
from penstock.kinds.sequences.release import MarkovRelease, SequenceRelease
from penstock.kinds.sequences.suffix_tree import PrivTreeSequences
from penstock.kinds.sequences.symbols import Symbols
from penstock.kinds.sequences.top_strings import TopStrings
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms.splitting import Constant
from penstock.privacy.randomness.generator import Randomness
from penstock.schema import Schema

MANY = (50, 100, 200)
SYNTHETIC = 50_000


@dataclass(frozen=True, eq=False)
class SequenceData:
    """Coded sequences with their public schema."""

    name: str
    schema: Schema
    symbols: Symbols
    synthetic: int = SYNTHETIC

    @cached_property
    def sealed(self) -> Sequences:
        return Sequences(self.symbols, self.schema)

    @property
    def alphabet(self) -> int:
        return len(self.sealed.alphabet)

    @cached_property
    def frequent(self) -> list[String]:
        """The most frequent strings of the whole sequences."""
        return [string for string, _ in frequent_strings(Text.of(self.symbols, self.alphabet), max(MANY))]

    @cached_property
    def frequent_when_cut(self) -> list[String]:
        """The same for the sequences as they are cut."""
        text = Text.of(self.symbols, self.alphabet, self.sealed.longest)
        return [string for string, _ in frequent_strings(text, max(MANY))]


def described(symbols: int, longest: int) -> Schema:
    listed = ", ".join(str(number) for number in range(1, symbols + 1))
    return Schema.from_yaml(f"""
kind: sequences
sequence: {{symbol: symbols, longest: {longest}}}
fields:
  - {{name: symbols, constraints: {{enum: [{listed}]}}}}
""")


def _from_file(name: str, path: str, symbols: int, longest: int) -> SequenceData:
    with gzip.open(file(path), "rt") as lines:
        frame = pl.DataFrame({"symbols": lines.read().rstrip("\n").split("\n")})
    schema = described(symbols, longest)
    return SequenceData(name, schema, read_sequences(frame, schema))


def msnbc() -> SequenceData:
    """Pages that 989,818 visitors of a news site asked for on one day."""
    return _from_file("msnbc", "msnbc/msnbc.seq.gz", 17, 20)


def bpic() -> SequenceData:
    """What became of 42,995 loan offers; they have 5 events at most."""
    return _from_file("bpic", "bpic/bpic2017_offers.seq.gz", 8, 6)


def markov(symbols: int = 7, n: int = 40_000, longest: int = 28) -> SequenceData:
    """Sequences that depend on the last two symbols; they need no file."""
    rng = np.random.default_rng(5)
    first = rng.dirichlet(np.full(symbols, 0.5))
    steps = np.zeros((symbols + 1, symbols, symbols + 1))  # by the last symbol but one (or none) and the last
    for place in np.ndindex(symbols + 1, symbols):
        weights = np.append(0.9 * rng.dirichlet(np.full(symbols, 0.25)), 0.1 * rng.uniform(0.5, 1.5))
        steps[place] = weights / weights.sum()
    rng = np.random.default_rng(6)
    last, before = rng.choice(symbols, n, p=first), np.full(n, symbols)
    alive, owners, drawn = np.arange(n), [np.arange(n)], [last]
    while len(alive):
        rungs = np.cumsum(steps[before, last], axis=1)
        following = np.minimum((rungs < rng.random(len(alive))[:, None]).sum(axis=1), symbols)
        going = following < symbols
        alive, before, last = alive[going], last[going], following[going]
        owners.append(alive)
        drawn.append(last)
    owner = np.concatenate(owners)
    codes = np.concatenate(drawn)[np.argsort(owner, kind="stable")]
    lengths = np.bincount(owner, minlength=n)
    return SequenceData("markov", described(symbols, longest), Symbols(codes.astype(np.uint8), lengths), 5000)


LOADERS.update({"msnbc": msnbc, "bpic": bpic, "markov": markov})


@dataclass(frozen=True)
class Outcome:
    """What a method found: strings for each number asked for, and lengths, where it has them."""

    strings: Mapping[int, list[String]]
    lengths: NDArray[np.int64] | None


def _outcome(release: SequenceRelease, seed: int, synthetic: int) -> Outcome:
    found = release.frequent(max(MANY))
    lengths = None
    if isinstance(release, MarkovRelease):
        _, lengths = release.markov.draw(synthetic, release.cap, np.random.default_rng(seed))
    return Outcome({many: found[:many] for many in MANY}, lengths)


@dataclass(frozen=True)
class PrivTree:
    """The suffix tree; by default as published."""

    constant: Constant = "published"
    tree_share: str | None = None

    def __call__(self, dataset: Any, epsilon: str, seed: int) -> Outcome:
        method = PrivTreeSequences(constant=self.constant, tree_share=self.tree_share, lengths="published")
        return _outcome(method.fit(dataset.sealed, _budget(epsilon, seed)), seed, dataset.synthetic)


@dataclass(frozen=True)
class NGrams:
    longest_gram: int = 5

    def __call__(self, dataset: Any, epsilon: str, seed: int) -> Outcome:
        method = NGram(self.longest_gram, lengths="published")
        return _outcome(method.fit(dataset.sealed, _budget(epsilon, seed)), seed, dataset.synthetic)


@dataclass(frozen=True)
class Exponential:
    """The exponential mechanism, which has to know beforehand how many strings are wanted."""

    constant: Constant = "published"

    def __call__(self, dataset: Any, epsilon: str, seed: int) -> Outcome:
        found = {}
        for many in MANY:
            method = TopStrings(many, self.constant)
            found[many] = method.fit(dataset.sealed, _budget(epsilon, seed + many)).frequent(many)
        return Outcome(found, None)


@dataclass(frozen=True)
class Truncate:
    """Not private: exact answers from the sequences as they are cut."""

    def __call__(self, dataset: Any, epsilon: str, seed: int) -> Outcome:
        found = dataset.frequent_when_cut
        lengths = np.minimum(dataset.symbols.lengths, dataset.sealed.longest)
        return Outcome({many: found[:many] for many in MANY}, lengths)


def _budget(epsilon: str, seed: int) -> Budget:
    return Budget(epsilon, randomness=Randomness.seeded(seed))


@dataclass(frozen=True)
class Precision:
    """The share of the most frequent strings that was found, for several numbers of them."""

    def __call__(self, dataset: Any, outcome: Outcome, seed: int) -> dict[str, float]:
        return {str(many): precision(outcome.strings[many], dataset.frequent[:many]) for many in MANY}


@dataclass(frozen=True)
class LengthDistance:
    """Total variation distance of the lengths of synthetic and original sequences."""

    def __call__(self, dataset: Any, outcome: Outcome, seed: int) -> float | None:
        return None if outcome.lengths is None else length_distance(dataset.symbols.lengths, outcome.lengths)


@cache
def speed() -> dict[str, float]:
    """Seconds of the processor that msnbc takes: reading and coding it, and releasing it."""
    import tempfile
    from pathlib import Path
    from time import process_time

    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "msnbc.csv"
        with gzip.open(file("msnbc/msnbc.seq.gz"), "rt") as lines:
            path.write_text("symbols\n" + lines.read())
        schema = described(17, 20)
        times: dict[str, list[float]] = {"reading": [], "fitting": []}
        for seed in range(3):
            start = process_time()
            sequences = Sequences.open(path, schema)
            read = process_time()
            PrivTreeSequences().fit(sequences, _budget("1", seed))
            times["reading"].append(read - start)
            times["fitting"].append(process_time() - read)
    return {name: min(found) for name, found in times.items()}
