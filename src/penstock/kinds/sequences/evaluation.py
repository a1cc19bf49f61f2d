"""Evaluation of a release of sequences: frequent strings, what follows what, and lengths.

The most frequent strings and the distribution of lengths are the tasks of the literature. The truth is
computed on whole sequences, so that what cutting them costs is part of the error.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from penstock.engine import read
from penstock.engine.part import part_of
from penstock.errors import DataError
from penstock.evaluation.findings import Evaluator, Findings, Options, compared_with
from penstock.evaluation.matches import Matches, matched_section, matches
from penstock.evaluation.metrics import tvd
from penstock.evaluation.score import Score
from penstock.evaluation.slices import worst
from penstock.evaluation.telling_apart import apart_score, propensity
from penstock.kinds.sequences.layout import SequenceLayout
from penstock.kinds.sequences.markov import Markov, String
from penstock.kinds.sequences.occurrences import Grams, Text
from penstock.kinds.sequences.reading import read_sequences
from penstock.kinds.sequences.release import MarkovRelease, SequenceRelease
from penstock.kinds.sequences.symbols import Symbols
from penstock.progress import progress
from penstock.releases.release import Release
from penstock.report.page import Block, Gallery, Section
from penstock.report.picture import Picture
from penstock.report.pictures import bars, histogram
from penstock.schema import Schema

if TYPE_CHECKING:
    import polars as pl

Counts = NDArray[np.int64]
Strings = Sequence[String]

MANY = (50, 100, 200)
MOST_SYNTHETIC = 1_000_000
MOST_MATCHED = 200_000
MOST_SYMBOLS = 30
MOST_CATEGORIES = 254
MOST_BEGINNINGS = 1024
SHOWN = 20
SHOWN_LENGTHS = 60
_SEQUENCE = "sequence"


def frequent_strings(text: Text, many: int) -> list[tuple[String, int]]:
    """The most frequent strings of symbols and their exact counts, overlapping occurrences included.

    A string is never more frequent than its beginnings, so the best candidate so far cannot be beaten by
    one that has not been looked at. Ties go to the shorter, then to the smaller codes.

    >>> text = Text.of(Symbols(np.array([0, 0, 1, 0], dtype=np.uint8), np.array([3, 1])), alphabet=2)
    >>> frequent_strings(text, 3)
    [((0,), 3), ((1,), 1), ((0, 0), 1)]
    """
    found: list[tuple[String, int]] = []
    waiting: list[tuple[int, int, String]] = []
    after: dict[String, Grams] = {}

    def offer(string: String, grams: Grams) -> None:
        after[string] = grams
        counts = grams.histograms[0, : text.alphabet]
        for symbol in np.argsort(-counts, kind="stable")[: many - len(found)].tolist():
            if counts[symbol]:
                heapq.heappush(waiting, (-int(counts[symbol]), len(string) + 1, (*string, symbol)))

    offer((), Grams.root(text))
    while waiting and len(found) < many:
        count, _, string = heapq.heappop(waiting)
        found.append((string, -count))
        offer(string, after[string[:-1]].extended(np.array([string[-1]])))
    return found


def precision(found: Iterable[String], truth: Strings) -> float:
    """Which share of the truly most frequent strings was found among as many."""
    return len(set(list(found)[: len(truth)]) & set(truth)) / max(1, len(truth))


def length_distance(one: Counts, two: Counts) -> float:
    """Total variation distance of the lengths of two sets of sequences."""
    width = int(max(one.max(initial=0), two.max(initial=0))) + 1
    return tvd(np.bincount(one, minlength=width), np.bincount(two, minlength=width))


def transition_distance(truth: Counts, other: Counts) -> float:
    """The mean distance of what follows a symbol (or the beginning), weighted by how often it occurs."""
    weights = truth.sum(axis=1)
    distances = [tvd(row, guess) for row, guess in zip(truth, other, strict=True)]
    return float(np.average(distances, weights=weights)) if weights.sum() else 0.0


def transitions(text: Text) -> Counts:
    """How often each symbol, or the end, follows each symbol, or the beginning."""
    width = text.width
    pairs = text.codes[text.places - 1].astype(np.int64) * width + text.codes[text.places]
    return np.bincount(pairs, minlength=width * width).reshape(width, width)


class SequencesEvaluation(Evaluator):
    """How far frequent strings, what follows what, and lengths are from the original's."""

    def compare(self, release: Release, source: Any, schema: Schema, options: Options) -> Findings:
        seed = options.seed
        assert isinstance(release, SequenceRelease)
        if schema.unit.column is not None and schema.unit.column != SequenceLayout.of(schema).user:
            everything = schema.unit.model_copy(update={"at_most": 1 << 40})  # the truth leaves nobody out
            schema = schema.model_copy(update={"unit": everything})
        columns, records = SequenceLayout.of(schema), read(source, table=options.table)
        named = (columns.symbol, columns.user, columns.time, schema.unit.column)
        needed = [name for name in dict.fromkeys(named) if name in records.names]
        records, part = part_of(records, needed, [name for name in needed if name == columns.user], seed)
        original = read_sequences(records, schema)
        if not len(original.lengths):
            raise DataError("The data to compare with has no sequences.")
        alphabet = len(release.alphabet)
        rng = np.random.default_rng(seed)
        text = Text.of(original, alphabet)
        ceiling = _resampled(original, rng)
        with progress("comparing sequences", total=3) as step:
            truth = frequent_strings(text, max(MANY))
            step(1)
            resampled = frequent_strings(Text.of(ceiling, alphabet), max(MANY))
            step(1)
            found = release.frequent(max(MANY))
            single = transitions(text).sum(axis=0)
            blind = Markov(np.full((1, alphabet + 1), -1), single[None, :].astype(np.float64))
            floor = [string for string, _ in blind.top(max(MANY))]
            known = min(len(found), len(truth))
            sizes = [many for many in MANY if many <= known] or [max(1, known)]
            scores = [_top_score(many, found, truth, floor, resampled) for many in sizes]
            pictures = [_top_picture(release, truth)]
            equal: Matches | None = None
            if isinstance(release, MarkovRelease):
                drawn = min(max(1, len(original.lengths)), MOST_SYNTHETIC)
                synthetic = Symbols(*_drawn(release, drawn, seed))
                guessed = Symbols(*blind.draw(drawn, int(original.lengths.max()) + 1, rng))
                scores += _shape_scores(text, original, synthetic, ceiling, guessed)
                pictures.append(_length_picture(original.lengths, synthetic.lengths))
                tables = {"release": synthetic, "floor": guessed, "ceiling": ceiling}
                scores += _slice_score(original, tables, release)
                apart = told_apart(original, tables, alphabet, seed) if options.learning else None
                scores += [] if apart is None else [apart]
                equal = matches(_whole(original), _whole(synthetic), _whole(guessed), [_SEQUENCE])
            step(1)
        number = release.number.value if isinstance(release, MarkovRelease) else None
        details: dict[str, Any] = {
            "estimated_sequences": number,
            "kept_at_most": release.longest,
            "longer_than_kept": int((original.lengths >= release.longest).sum()),
        }
        blocks: list[Block] = [Gallery(pictures)]
        lead = "The original beside the release."
        sections = [Section("What the sequences are like", blocks, short="Sequences", lead=lead)]
        remarks: tuple[str, ...] = ()
        if equal is not None:
            details["matches"] = equal.to_dict()
            remarks = (equal.words,)
            sections.append(matched_section(equal, "Whole sequences, symbol by symbol"))
        remarks = (*(() if part is None else compared_with(*part)), *remarks)
        return Findings(tuple(scores), len(original.lengths), details, sections, remarks=remarks)


def _slice_score(original: Symbols, tables: Mapping[str, Symbols], release: MarkovRelease) -> list[Score]:
    """Among the sequences that begin alike: how far their symbols are off, where that is worst."""
    alphabet = len(release.alphabet)
    if alphabet > MOST_BEGINNINGS:
        return []
    first = beginnings(original)
    sequences = np.bincount(first[first >= 0], minlength=alphabet).astype(np.float64)
    symbols = {key: _by_beginning(table, alphabet) for key, table in {"": original, **tables}.items()}
    found = worst(symbols.pop(""), symbols, sequences)
    if found is None:
        return []
    what = (
        f"total variation distance of the symbols of the {found.records:,} sequences that begin with "
        f"{release.written((found.place,))}"
    )
    return [found.score("worst slice", what)]


def _by_beginning(symbols: Symbols, alphabet: int) -> NDArray[np.float64]:
    """For each first symbol how often each symbol occurs in the sequences that begin with it."""
    begin = np.repeat(beginnings(symbols), symbols.lengths)
    cells = begin * alphabet + symbols.codes.astype(np.int64)
    return np.bincount(cells, minlength=alphabet**2).astype(np.float64).reshape(alphabet, alphabet)


def beginnings(symbols: Symbols) -> Counts:
    """The first symbol of each sequence; -1 for one without any.

    >>> beginnings(Symbols(np.array([2, 0, 1], dtype=np.uint8), np.array([2, 0, 1]))).tolist()
    [2, -1, 1]
    """
    codes = np.append(symbols.codes.astype(np.int64), -1)
    starts = np.cumsum(symbols.lengths) - symbols.lengths
    return np.where(symbols.lengths > 0, codes[np.minimum(starts, len(codes) - 1)], -1)


def _whole(symbols: Symbols) -> pl.DataFrame:
    """Each sequence as one value; at most so many of them as are compared."""
    import polars as pl

    lengths = symbols.lengths[:MOST_MATCHED]
    ends = np.cumsum(lengths)
    codes = symbols.codes.astype(np.uint32)
    whole = [codes[end - length : end].tobytes() for end, length in zip(ends, lengths, strict=True)]
    return pl.DataFrame({_SEQUENCE: pl.Series(whole, dtype=pl.Binary)})


def told_apart(original: Symbols, tables: Mapping[str, Symbols], alphabet: int, seed: int) -> Score | None:
    """How well sequences are told from original ones by their length, their ends and their symbols."""
    common = np.argsort(-np.bincount(original.codes, minlength=alphabet), kind="stable")[:MOST_SYMBOLS]
    kinds = [False, True, True, *([False] * len(common))]
    if alphabet >= MOST_CATEGORIES:
        kinds = [False] * len(kinds)
    features = {key: _features(table, common) for key, table in {"": original, **tables}.items()}
    return apart_score({key: propensity(features[""], features[key], kinds, seed) for key in tables})


def _features(symbols: Symbols, common: Counts) -> NDArray[np.float32]:
    """Length, first and last symbol, and how often each of the common symbols occurs; -1 for no symbol."""
    lengths = symbols.lengths
    ends = np.cumsum(lengths)
    owner = np.repeat(np.arange(len(lengths)), lengths)
    codes = np.append(symbols.codes.astype(np.int64), -1)
    first = beginnings(symbols)
    last = np.where(lengths > 0, codes[ends - 1], -1)
    counts = [np.bincount(owner[codes[:-1] == each], minlength=len(lengths)) for each in common.tolist()]
    return np.column_stack([lengths, first + 1, last + 1, *counts]).astype(np.float32)


def _drawn(release: MarkovRelease, many: int, seed: int) -> tuple[NDArray[np.unsignedinteger], Counts]:
    return release.writer.draw(many, np.random.default_rng(seed))


def _resampled(symbols: Symbols, rng: np.random.Generator) -> Symbols:
    """Whole sequences drawn with replacement: no release can be much closer than this."""
    chosen = np.sort(rng.integers(len(symbols.lengths), size=len(symbols.lengths)))
    lengths = symbols.lengths[chosen]
    begins = (np.cumsum(symbols.lengths) - symbols.lengths)[chosen]
    places = np.arange(int(lengths.sum())) + np.repeat(begins - (np.cumsum(lengths) - lengths), lengths)
    return Symbols(symbols.codes[places], lengths)


def _top_score(
    many: int,
    found: Strings,
    truth: Sequence[tuple[String, int]],
    floor: Strings,
    ceiling: Sequence[tuple[String, int]],
) -> Score:
    right = [string for string, _ in truth[:many]]
    return Score(
        f"top {many} strings",
        precision(found[:many], right),
        floor=precision(floor[:many], right),
        ceiling=precision([string for string, _ in ceiling[:many]], right),
        lower_is_better=False,
        note=f"share of the {many} most frequent strings that the release names; floor: symbols that are "
        "independent of one another",
    )


def _shape_scores(
    text: Text,
    original: Symbols,
    synthetic: Symbols,
    ceiling: Symbols,
    guessed: Symbols,
) -> list[Score]:
    truth = transitions(text)
    shares = np.tile(truth.sum(axis=0), (text.width, 1))
    return [
        Score(
            "what follows what",
            transition_distance(truth, transitions(Text.of(synthetic, text.alphabet))),
            floor=transition_distance(truth, shares),
            ceiling=transition_distance(truth, transitions(Text.of(ceiling, text.alphabet))),
            note="mean total variation distance of what comes after a symbol; floor: always the same",
        ),
        Score(
            "lengths",
            length_distance(original.lengths, synthetic.lengths),
            floor=length_distance(original.lengths, guessed.lengths),
            ceiling=length_distance(original.lengths, ceiling.lengths),
            note="total variation distance of the number of symbols; floor: sequences that end by chance",
        ),
    ]


def _top_picture(release: SequenceRelease, truth: Sequence[tuple[String, int]]) -> Picture:
    shown = truth[:SHOWN]
    series: dict[str, list[float]] = {"original": [float(count) for _, count in shown]}
    if isinstance(release, MarkovRelease):
        series["release"] = [release.markov.count(string) for string, _ in shown]
    labels = [release.written(string).replace(",", " → ") for string, _ in shown]
    return bars("The most frequent strings", labels, series, amount="occurrences", most=SHOWN, disjoint=False)


def _length_picture(original: Counts, synthetic: Counts) -> Picture:
    width = min(SHOWN_LENGTHS, int(max(original.max(initial=0), synthetic.max(initial=0)))) + 1
    shares: Mapping[str, NDArray[np.float64]] = {
        name: 100 * np.bincount(np.minimum(lengths, width), minlength=width + 1)[:width] / len(lengths)
        for name, lengths in (("original", original), ("synthetic", synthetic))
    }
    return histogram(
        "Lengths of sequences",
        (np.arange(width + 1) - 0.5).tolist(),
        shares,
        amount="percent of sequences",
        axis="number of symbols",
        labels=[str(length) for length in range(width)],
    )
