"""Releases of sequences: counts of strings, the most frequent ones, what comes next, synthetic sequences."""

from __future__ import annotations

import csv
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel
from pydantic import Field as Range

from penstock.engine.arrow_memory import owned
from penstock.errors import QueryError, ReleaseError, SchemaError, UsageError
from penstock.kinds.sequences.clock import Clock
from penstock.kinds.sequences.layout import SequenceLayout
from penstock.kinds.sequences.lengths import Lengths, length_bins
from penstock.kinds.sequences.markov import Markov
from penstock.kinds.sequences.rules import OrderRules
from penstock.kinds.sequences.times import Times
from penstock.kinds.sequences.writing import Writer
from penstock.releases import Answer, Manifest, Model, Question, Release
from penstock.releases.answer import contributions
from penstock.releases.batch import answered
from penstock.schema import Codec, Schema
from penstock.schema.fact import nearest

if TYPE_CHECKING:
    import polars as pl

BEGINNING, END = "$", "&"
END_LABEL = "(end)"
MOST_STRINGS = 100_000
MOST_SYMBOLS = 50_000_000
"""Where noise drowned the ends of sequences, synthetic ones are long; so many symbols are drawn unasked."""
LENGTHS_FROM = 100_000
"""How many synthetic sequences the length distribution is read off."""

CHAINED = (
    "It was not counted as a whole: the number is a chain of what follows what, and what the model forgets "
    "is not known."
)

Text = str | Sequence[str]


def parse(text: Text, alphabet: Sequence[str], *, ends: bool = True) -> tuple[int, ...]:
    """The codes of a string of symbols, written with commas between them.

    `$` at the front means the beginning of a sequence and `&` at the back its end, unless a symbol is
    called that; both have the number of symbols as code.

    >>> parse("A, B,&", ["A", "B"]), parse("$,'A,1'", ["A,1"])
    ((0, 1, 2), (1, 0))
    """
    words = _listed(text)
    known = {label: code for code, label in enumerate(alphabet)}
    codes = []
    for place, word in enumerate(words):
        if word in known:
            codes.append(known[word])
        elif (word == BEGINNING and place == 0) or (ends and word == END and place == len(words) - 1):
            codes.append(len(alphabet))
        else:
            hint = nearest(word, alphabet)
            raise QueryError(
                f"'{word}' is not a symbol of this release{hint}. Symbols are separated by commas; "
                f"'{BEGINNING}' may stand at the front for the beginning"
                + (f", '{END}' at the back for the end." if ends else ".")
            )
    return tuple(codes)


def only_beginning(text: Text, alphabet: Sequence[str]) -> bool:
    """Whether a string is the mark of the beginning and nothing else: a question for all sequences."""
    return _listed(text) == [BEGINNING] and BEGINNING not in alphabet


def _whole(text: str) -> int:
    """How many strings to list, as somebody wrote it."""
    try:
        return int(text)
    except ValueError:
        raise QueryError(f"'{text}' is not a whole number; write how many strings to list.") from None


def _listed(text: Text) -> list[str]:
    return _words(text) if isinstance(text, str) else [str(word) for word in text]


def _words(text: str) -> list[str]:
    quote = "'" if text.lstrip().startswith("'") or ",'" in text.replace(" ", "") else '"'
    try:
        rows = list(csv.reader([text], skipinitialspace=True, quotechar=quote, strict=True))
    except csv.Error:
        raise QueryError("A quote is not closed in this string of symbols.") from None
    return [word.strip() for word in rows[0]] if rows and any(word.strip() for word in rows[0]) else []


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SequenceRelease(Release):
    """What every release of sequences has: the alphabet and the longest sequence that was kept."""

    kinds: ClassVar[tuple[str, ...]] = ("sequences",)

    longest: int

    @cached_property
    def codec(self) -> Codec:
        """The public domain of the symbols."""
        return self.schema.codec(SequenceLayout.of(self.schema).symbol)

    @property
    def alphabet(self) -> tuple[str, ...]:
        return self.codec.attribute.labels

    @abstractmethod
    def top(self, many: int = 20) -> pl.DataFrame:
        """The most frequent strings of symbols, with their counts: columns string, count, error."""

    @abstractmethod
    def frequent(self, many: int) -> list[tuple[int, ...]]:
        """The same strings as codes."""

    def questions(self) -> Mapping[str, Question]:
        words = "the most frequent strings are listed"
        top = Question(words, lambda text: self.top(_whole(text)), example="3")
        return {"top": top, **self.in_sql()}

    def _many(self, many: int) -> int:
        if not 1 <= many <= MOST_STRINGS:
            raise QueryError(f"Between 1 and {MOST_STRINGS:,} strings can be listed, not {many}.")
        return many

    def written(self, codes: Sequence[int]) -> str:
        """A string of symbols as queries write it."""
        words = [self.alphabet[code] for code in codes]
        return ",".join(f"'{word}'" if "," in word or word != word.strip() else word for word in words)

    def example(self) -> str | None:
        return self.written(range(min(2, len(self.alphabet))))


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class MarkovRelease(SequenceRelease):
    """A release that is a Markov model of the sequences.

    `counted` are noisy counts of their lengths, which synthetic sequences then have, and `times` those of
    when events were, where the release knows them.
    """

    answer: ClassVar[str] = "synthetic data"

    counted: Lengths | None = None
    times: Times | None = None

    @property
    @abstractmethod
    def markov(self) -> Markov:
        """The model, made from the released counts."""

    @property
    @abstractmethod
    def number(self) -> Answer:
        """The estimated number of sequences."""

    @cached_property
    def size(self) -> int:
        """The estimated number of sequences; fewer where they would have more than `MOST_SYMBOLS` symbols."""
        _, lengths = self.writer.draw(1000, np.random.default_rng(0))
        most = MOST_SYMBOLS / max(1.0, float(lengths.mean()))
        return max(0, round(min(self.number.value, most)))

    @property
    def cap(self) -> int:
        """No synthetic sequence becomes longer than this: the model alone may never come to an end.

        The longest that was kept or, as published, ten times as much where lengths were not counted.
        """
        return 10 * self.longest if self.counted is None else self.longest

    @cached_property
    def rules(self) -> OrderRules | None:
        """What the schema says about the order of symbols."""
        return OrderRules.of(SequenceLayout.of(self.schema), self.alphabet, self.cap)

    @cached_property
    def writer(self) -> Writer:
        """What writes synthetic sequences from the model."""
        return Writer.of(self.markov, self.cap, self.rules, self.counted)

    def count(self, text: Text) -> Answer:
        """How often a string of symbols occurs in all sequences, overlapping occurrences included.

        Strings are written with commas; `$` in front asks for sequences that begin so, `&` behind for
        those that end so. A string that was counted as a whole has the error bar of its noise; a longer one
        rests on the model, which forgets what came long before, and has none. A string that the rules of the
        schema exclude occurs never.
        """
        codes = parse(text, self.alphabet)
        if not codes:
            raise QueryError("The string is empty; write symbols with commas between them.")
        if only_beginning(text, self.alphabet):
            return self.number
        if self.rules is not None and self.rules.broken_by(codes):
            return Answer(0.0, 0.0, "occurrences", "declared")
        return self.estimate(codes)

    def estimate(self, codes: Sequence[int]) -> Answer:
        """The number of occurrences of a coded string under the model, and what it rests on."""
        return Answer(self.markov.count(codes), None, "occurrences", "model", (CHAINED, *self.kept))

    @property
    def kept(self) -> tuple[str, ...]:
        """What of the sequences was counted: a caveat of every answer."""
        symbols = "symbol" if self.longest == 1 else "symbols"
        return (
            f"Of every sequence the first {self.longest} {symbols} were counted, the end being one.",
            *contributions(self.schema),
        )

    def ask(self, expression: str) -> Answer:
        """The number of occurrences of a string of symbols such as ``home,news``."""
        return self.count(expression)

    def questions(self) -> Mapping[str, Question]:
        return {
            "count": Question("strings of symbols are counted", self.count, self._count_all, self.example()),
            **super().questions(),
            "next": Question("what comes after a string is listed", self.next, example=self.example()),
        }

    def _count_all(self, path: str) -> pl.DataFrame:
        """The strings of a file with their counts; a first line that names the column may be a symbol."""
        return answered(path, "string", self.count, named="string" not in self.alphabet)

    def top(self, many: int = 20) -> pl.DataFrame:
        """The most frequent strings under the model, exactly: columns string, count, error, rests_on.

        Their counts are those by which the model ranks them. Picking the largest of many noisy counts
        prefers those that the noise has raised, so here none of them has an error bar.
        """
        import polars as pl

        found = self.markov.top(self._many(many))
        return pl.DataFrame(
            {
                "string": [self.written(codes) for codes, _ in found],
                "count": [count for _, count in found],
                "error": [None] * len(found),
                "rests_on": ["model"] * len(found),
            },
            schema={"string": pl.String, "count": pl.Float64, "error": pl.Float64, "rests_on": pl.String},
        )

    def frequent(self, many: int) -> list[tuple[int, ...]]:
        return [codes for codes, _ in self.markov.top(self._many(many))]

    def next(self, text: Text = "") -> pl.DataFrame:
        """What comes after a string of symbols, most likely first: columns symbol, share.

        With `$` in front the string is all there is of the sequence so far.
        """
        import polars as pl

        codes = parse(text, self.alphabet, ends=False)
        shares = self.markov.shares[self.markov.node(codes)]
        order = np.argsort(-shares, kind="stable")
        labels = (*self.alphabet, END_LABEL)
        return pl.DataFrame({"symbol": [labels[code] for code in order], "share": shares[order]})

    def lengths(self, *, seed: int = 0, of: int = LENGTHS_FROM) -> pl.DataFrame:
        """The distribution of the number of symbols of a sequence: columns length, share.

        Read off `of` synthetic sequences, so that it costs nothing and is as exact as their number allows.
        """
        import polars as pl

        if of < 1:
            raise UsageError(f"Lengths are read off at least 1 sequence, not {of}.")
        _, lengths = self.writer.draw(of, np.random.default_rng(seed))
        counts = np.bincount(lengths)
        return pl.DataFrame({"length": np.arange(len(counts)), "share": counts / of})

    def draw(self, n: int, rng: np.random.Generator) -> pl.DataFrame:
        """`n` synthetic sequences, laid out in rows like the original.

        Where the original has a row for each event, so has this: the columns are a made-up user, the time of
        the event or, where the release knows no times, its position in the sequence, and the symbol (a
        sequence without symbols has no row). Else a row is a sequence, written as text.
        """
        codes, lengths = self.writer.draw(n, rng)
        return laid_out(self.schema, codes, lengths, rng, self.times)

    def _told_of_asides(self) -> dict[str, float]:
        """How much noise lengths and times have; none where they were not counted."""
        return {
            "length_deviation": 0.0 if self.counted is None else self.counted.deviation,
            "gap_scale": 0.0 if self.times is None else self.times.scale,
        }

    def _saved_asides(self) -> dict[str, pl.DataFrame]:
        """The tables of lengths and times, as far as they were counted."""
        import polars as pl

        counts = {} if self.counted is None else {"lengths": self.counted.counts}
        if self.times is not None:
            counts |= {"starts": self.times.starts, "gaps": self.times.gaps.ravel()}
        return {name: pl.DataFrame({"count": numbers}) for name, numbers in counts.items()}

    @staticmethod
    def _loaded_lengths(model: Model, saved: SavedMarkov) -> Lengths | None:
        """The noisy counts of lengths, checked: as many as there are public bins."""
        if "lengths" not in model.tables:
            return None
        counts = loaded_counts(model, "lengths", len(length_bins(saved.longest)))
        return Lengths(counts, saved.length_deviation)

    @staticmethod
    def _loaded_times(manifest: Manifest, model: Model, saved: SavedMarkov) -> Times | None:
        """The times of events, checked: as many counts as the public bins ask for."""
        clock = Clock.of(manifest.schema)
        if clock is None or "gaps" not in model.tables:
            return None
        symbols = check_loaded(manifest.schema, saved.longest)
        gaps = loaded_counts(model, "gaps", symbols * clock.gaps.count).reshape(symbols, -1)
        return Times(clock, loaded_counts(model, "starts", clock.starts.count), gaps, saved.gap_scale)

    def _told_beside(self) -> list[str]:
        """What the report says of lengths, rules and times."""
        said = []
        if self.counted is not None:
            said.append(
                "The lengths of sequences were counted too, with exact noise of a standard deviation of "
                f"{self.counted.deviation:.3g} in each of {len(self.counted.counts)} bins, and synthetic "
                "sequences have these lengths."
            )
        if self.rules is not None:
            said.append(
                "Rules about the order of symbols, which the schema declares as public, hold in every "
                "synthetic sequence."
            )
        return said if self.times is None else [*said, self.times.words()]


class SavedMarkov(BaseModel):
    """What the JSON of every Markov model says."""

    longest: int
    length_deviation: Annotated[float, Range(ge=0)]
    gap_scale: Annotated[float, Range(ge=0)]


def loaded_counts(model: Model, table: str, rows: int) -> NDArray[np.int64]:
    """The noisy counts of a saved table, as many as there are public bins."""
    import polars as pl

    return model.table(table, {"count": pl.Int64}, rows=rows)["count"].to_numpy()


def laid_out(
    schema: Schema,
    codes: NDArray[np.integer],
    lengths: NDArray[np.int64],
    rng: np.random.Generator,
    times: Times | None = None,
) -> pl.DataFrame:
    """Coded sequences as rows, in the layout that the schema describes."""
    import polars as pl
    import pyarrow as pa

    columns = SequenceLayout.of(schema)
    codec = schema.codec(columns.symbol)
    symbols = codec.decode(codes, rng)
    if columns.user is not None:
        place = "position" if "position" not in (columns.user, columns.symbol) else "place in the sequence"
        begins = np.cumsum(lengths) - lengths
        order = (
            pl.Series(place, np.arange(len(codes)) - np.repeat(begins, lengths) + 1)
            if times is None
            else times.draw(codes, lengths, rng)
        )
        user = pl.Series(columns.user, np.repeat(np.arange(1, len(lengths) + 1), lengths))
        return pl.DataFrame([user, order, symbols])
    marker = next((text for text in codec.markers if text.strip()), "NA")
    texts = symbols.cast(pl.String).fill_null(marker)
    offsets = owned(np.r_[0, np.cumsum(lengths)].astype(np.int64))
    lists = pl.Series(columns.symbol, pa.LargeListArray.from_arrays(offsets, texts.to_arrow()))
    return pl.DataFrame([lists.list.join(" " if columns.separator is None else columns.separator)])


def check_loaded(schema: Schema, longest: int) -> int:
    """The number of symbols of a saved release, whose schema must be one of sequences."""
    try:
        symbol = SequenceLayout.of(schema).symbol
    except SchemaError as problem:
        raise ReleaseError(f"schema.yaml does not describe sequences: {problem}") from None
    if not 1 <= longest <= 10**9:
        raise ReleaseError("model.json keeps an impossible number of symbols; get the release again.")
    return schema.attribute(symbol).size
