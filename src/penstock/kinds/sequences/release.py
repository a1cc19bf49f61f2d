"""Releases of sequences: counts of strings, the most frequent ones, what comes next, synthetic sequences."""

from __future__ import annotations

import csv
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from penstock.errors import QueryError, ReleaseError, SchemaError, UsageError
from penstock.kinds.sequences.layout import SequenceLayout
from penstock.kinds.sequences.markov import Markov
from penstock.releases import Answer, Question, Release
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
        return {"top": Question(words, lambda text: self.top(_whole(text)), example="3")}

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
    """A release that is a Markov model of the sequences."""

    answer: ClassVar[str] = "synthetic data"

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
        _, lengths = self.markov.draw(1000, self.cap, np.random.default_rng(0))
        most = MOST_SYMBOLS / max(1.0, float(lengths.mean()))
        return max(0, round(min(self.number.value, most)))

    @property
    def cap(self) -> int:
        """No synthetic sequence becomes longer than this: the model alone may never come to an end."""
        return 10 * self.longest

    def count(self, text: Text) -> Answer:
        """How often a string of symbols occurs in all sequences, overlapping occurrences included.

        Strings are written with commas; `$` in front asks for sequences that begin so, `&` behind for
        those that end so. The error bar is that of the noise, to first order: it does not cover what
        the model forgets about longer strings.
        """
        codes = parse(text, self.alphabet)
        if not codes:
            raise QueryError("The string is empty; write symbols with commas between them.")
        if only_beginning(text, self.alphabet):
            return self.number
        return Answer(self.markov.count(codes), self.error(codes), "occurrences")

    def error(self, codes: Sequence[int]) -> float | None:
        """The half-width of a 95 % interval for the noise in a string's count, where it is known."""
        return None

    def ask(self, expression: str) -> Answer:
        """The number of occurrences of a string of symbols such as ``home,news``."""
        return self.count(expression)

    def questions(self) -> Mapping[str, Question]:
        return {
            "string": Question("strings of symbols are counted", self.count, self._count_all, self.example()),
            **super().questions(),
            "next": Question("what comes after a string is listed", self.next, example=self.example()),
        }

    def _count_all(self, path: str) -> pl.DataFrame:
        """The strings of a file with their counts; a first line that names the column may be a symbol."""
        return answered(path, "string", self.count, named="string" not in self.alphabet)

    def top(self, many: int = 20) -> pl.DataFrame:
        """The most frequent strings under the model, exactly: columns string, count, error."""
        import polars as pl

        found = self.markov.top(self._many(many))
        return pl.DataFrame(
            {
                "string": [self.written(codes) for codes, _ in found],
                "count": [count for _, count in found],
                "error": [self.error(codes) for codes, _ in found],
            },
            schema={"string": pl.String, "count": pl.Float64, "error": pl.Float64},
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
        _, lengths = self.markov.draw(of, self.cap, np.random.default_rng(seed))
        counts = np.bincount(lengths)
        return pl.DataFrame({"length": np.arange(len(counts)), "share": counts / of})

    def draw(self, n: int, rng: np.random.Generator) -> pl.DataFrame:
        """`n` synthetic sequences, laid out in rows like the original.

        Where the original has a row for each event, so has this: the columns are a made-up user, the
        position in the sequence and the symbol (a sequence without symbols has no row). Else a row is a
        sequence, written as text.
        """
        codes, lengths = self.markov.draw(n, self.cap, rng)
        return laid_out(self.schema, codes, lengths, rng)


def laid_out(
    schema: Schema, codes: NDArray[np.integer], lengths: NDArray[np.int64], rng: np.random.Generator
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
        return pl.DataFrame(
            {
                columns.user: np.repeat(np.arange(1, len(lengths) + 1), lengths),
                place: np.arange(len(codes)) - np.repeat(begins, lengths) + 1,
                columns.symbol: symbols,
            }
        )
    marker = next((text for text in codec.markers if text.strip()), "NA")
    texts = symbols.cast(pl.String).fill_null(marker)
    offsets = pa.array(np.r_[0, np.cumsum(lengths)], type=pa.int64())
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
