"""The sealed handle on sequences: what is read, what is kept, and how far it can move."""

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from itertools import pairwise

import numpy as np
import polars as pl
import pytest

from penstock.errors import DataError, PenstockError, SchemaError, UsageError
from penstock.kinds.sequences.data import ContextLevel, Sequences
from penstock.kinds.sequences.symbols import Symbols
from penstock.privacy.mechanisms.growth import Growth
from penstock.privacy.seals.sealed import open_seal
from penstock.schema import Schema


def schema(
    symbols: str = "A, B", columns: str = "symbol: s, longest: 9", unit: str = "", extra: str = ""
) -> Schema:
    return Schema.from_yaml(f"""
kind: sequences
{unit}
sequence: {{{columns}}}
fields:
  - {{name: s, constraints: {{enum: [{symbols}]}}{extra}}}
""")


def rows(texts: Iterable[str | None]) -> pl.DataFrame:
    """One sequence a row, one letter a symbol."""
    return pl.DataFrame(
        {"s": [None if text is None else " ".join(text) for text in texts]}, schema={"s": pl.String}
    )


def opened(texts: Iterable[str | None], longest: int = 9, symbols: str = "A, B") -> Sequences:
    return Sequences.open(rows(texts), schema(symbols, f"symbol: s, longest: {longest}"))


def contents(sequences: Sequences) -> tuple[list[int], list[int]]:
    symbols = sequences._recorded
    assert isinstance(symbols, Symbols)
    return symbols.codes.tolist(), symbols.lengths.tolist()


def levels(sequences: Sequences, deepest: int) -> list[ContextLevel]:
    """The complete tree of contexts."""
    found = [sequences.contexts()]
    for _ in range(deepest):
        found.append(found[-1].children(np.flatnonzero(found[-1].fans)))
    return found


def histograms(level: ContextLevel) -> np.ndarray:
    return level._raw.histograms


def named(deepest: int, symbols: str) -> list[list[str]]:
    """The contexts of the complete tree in its order."""
    found = [[""]]
    for _ in range(deepest):
        found.append(
            [first + context for context in found[-1] if context[:1] != "$" for first in f"{symbols}$"]
        )
    return found


def counted(texts: Iterable[str], longest: int, deepest: int) -> Counter[tuple[str, str]]:
    """What follows each context, by a plain loop."""
    found: Counter[tuple[str, str]] = Counter()
    for text in texts:
        marked = "$" + (text + "&")[:longest]
        for place in range(1, len(marked)):
            for length in range(min(place, deepest) + 1):
                found[marked[place - length : place], marked[place]] += 1
    return found


EXAMPLE = ["B", "AB", "AAB", "AAAB"]


def test_histograms_and_scores_of_the_published_example() -> None:
    found = levels(opened(EXAMPLE), 2)
    assert histograms(found[0]).tolist() == [[6, 4, 4]]
    assert histograms(found[1]).tolist() == [[3, 3, 0], [0, 0, 4], [3, 1, 0]]  # A, B, $
    assert histograms(found[2])[:3].tolist() == [[1, 2, 0], [0, 0, 0], [2, 1, 0]]  # AA, BA, $A
    assert open_seal(found[0].scores(np.array([0]))).tolist() == [8]
    assert open_seal(found[1].scores(np.arange(3))).tolist() == [3, 0, 1]
    assert open_seal(found[2].scores(np.arange(3))).tolist() == [1, 0, 1]


def test_truncation_counts_the_end_as_a_symbol() -> None:
    # at most 3: AAAB becomes AAA and AAB stays AAB, both without an end; AB keeps its end
    for text, following in (("AAAB", [3, 0, 0]), ("AB", [1, 1, 1]), ("AAB", [2, 1, 0])):
        assert histograms(opened([text], 3).contexts()).tolist() == [following]


def test_an_empty_sequence_is_its_end() -> None:
    assert histograms(levels(opened(["", None, "A"]), 1)[1]).tolist() == [[0, 0, 1], [0, 0, 0], [1, 0, 2]]


@pytest.mark.parametrize(("symbols", "longest"), [("A", 3), ("AB", 4), ("ABC", 7)])
def test_contexts_are_counted_like_by_a_plain_loop(symbols: str, longest: int) -> None:
    rng = np.random.default_rng(len(symbols))
    texts = ["".join(rng.choice(list(symbols), rng.integers(0, 9))) for _ in range(40)]
    found = levels(opened(texts, longest, ", ".join(symbols)), 3)
    expected = counted(texts, longest, 3)
    for level, contexts in zip(found, named(3, symbols), strict=True):
        plain = [[expected[context, after] for after in f"{symbols}&"] for context in contexts]
        assert histograms(level).tolist() == plain


def test_scores_never_grow_from_a_context_to_a_longer_one() -> None:
    rng = np.random.default_rng(0)
    for _ in range(30):
        texts = ["".join(rng.choice(list("ABC"), rng.integers(0, 6))) for _ in range(rng.integers(0, 12))]
        found = levels(opened(texts, 5, "A, B, C"), 3)
        for above, below in pairwise(found):
            parents = np.repeat(np.flatnonzero(above.fans), 4)
            above_scores = open_seal(above.scores(np.arange(len(above.fans))))
            assert (open_seal(below.scores(np.arange(len(below.fans)))) <= above_scores[parents]).all()


def random_growth(sequences: Sequences, splits: list[np.ndarray]) -> Growth[ContextLevel]:
    """The tree with given decisions, which do not depend on the data."""
    found, fans = [sequences.contexts()], []
    for split in splits:
        chosen = np.zeros_like(found[-1].fans)
        able = np.flatnonzero(found[-1].fans)
        chosen[able[split[: len(able)]]] = sequences.width
        fans.append(chosen)
        if not chosen.any():
            break
        found.append(found[-1].children(np.flatnonzero(chosen)))
    else:
        fans.append(np.zeros_like(found[-1].fans))
    return Growth.of(found, fans)


def test_leaves_move_by_at_most_the_longest_and_some_do() -> None:
    rng, largest = np.random.default_rng(1), 0
    for _ in range(100):
        texts = ["".join(rng.choice(list("AB"), rng.integers(0, 6))) for _ in range(rng.integers(0, 5))]
        more = "".join(rng.choice(list("AB"), rng.integers(0, 8)))
        splits = [rng.random(40) < 0.6 for _ in range(3)]
        before, after = (opened(each, 3) for each in (texts, [*texts, more]))
        sealed = [each.leaves(random_growth(each, splits)) for each in (before, after)]
        moved = int(np.abs(open_seal(sealed[1]) - open_seal(sealed[0])).sum())
        assert moved <= sealed[0].sensitivity.l1 == 3
        largest = max(largest, moved)
    assert largest == 3


def test_a_user_with_several_sequences_owns_the_places_of_all() -> None:
    who = schema("A, B", "symbol: s, longest: 3", "unit: {protects: user, column: u, at_most: 4}")
    sequences = Sequences.open(rows(["AB"] * 3).with_columns(u=pl.Series([1, 1, 2])), who)
    assert sequences.places == 12
    assert sequences.sensitivity.l1 == 12
    assert sequences.lengths(Fraction(19, 20)).sensitivity.linf == 4 * 19


def test_no_user_keeps_more_sequences_than_allowed() -> None:
    who = schema("A, B", "symbol: s, longest: 9", "unit: {protects: user, column: u, at_most: 2}")
    frame = rows(["A", "AB", "ABB", "ABBB", "B"]).with_columns(u=pl.Series(["x"] * 4 + ["y"]))
    sequences = Sequences.open(frame, who, order_key=b"seed")
    lengths = contents(sequences)[1]
    assert len(lengths) == 3
    assert set(lengths) <= {1, 2, 3, 4}
    assert lengths == contents(Sequences.open(frame, who, order_key=b"seed"))[1]
    kept = {tuple(contents(Sequences.open(frame, who))[1]) for _ in range(60)}
    assert len(kept) > 1  # one of six choices each time: all alike with probability below 1e-45


def test_length_scores_move_by_the_stated_step() -> None:
    # share 19/20: a score moves by 1 or by 19, in twentieths of a sequence 0.95
    rng, largest = np.random.default_rng(2), 0
    for _ in range(60):
        texts = ["A" * int(length) for length in rng.integers(0, 8, rng.integers(0, 30))]
        before, after = (opened(each, 6).lengths(Fraction(19, 20)) for each in (texts, [*texts, "A" * 3]))
        moved = int(np.abs(open_seal(after) - open_seal(before)).max())
        assert moved <= before.sensitivity.linf == 19
        largest = max(largest, moved)
    assert largest == 19


def test_the_best_length_is_the_quantile() -> None:
    texts = ["A" * length for length in range(100)]
    scores = open_seal(opened(texts, 120).lengths(Fraction(19, 20)))
    assert int(np.argmax(scores)) + 1 == 95  # 95 of 100 sequences have at most 94 symbols and an end


def test_lengths_that_do_not_occur_are_no_better_than_the_one_that_does() -> None:
    scores = open_seal(opened(["AB"] * 40, 9).lengths(Fraction(19, 20)))
    # two symbols and an end: of the longer lengths, which divide the sequences alike, none is as good
    assert scores.tolist() == [-760, -760, 0, -40, -40, -40, -40, -40, -40]


def test_strings_to_the_right_are_counted_like_by_a_plain_loop() -> None:
    rng = np.random.default_rng(3)
    texts = ["".join(rng.choice(list("AB"), rng.integers(0, 9))) for _ in range(30)]
    sequences = opened(texts, 6)
    grams = sequences.grams()
    assert open_seal(grams.histograms()).tolist() == histograms(sequences.contexts()).tolist()
    two = grams.extended(np.array([0, 1])).extended(np.array([1, 3]))  # AB and BA
    kept = [text[:6] for text in texts]
    marked = [(text + "&")[:6] for text in texts]
    for row, string in zip(open_seal(two.histograms()), ("AB", "BA"), strict=True):
        for count, after in zip(row, "AB&", strict=True):
            assert count == sum(occurrences(each, string + after) for each in marked)
    assert two.histograms().sensitivity.l1 == 6
    candidates = sequences.candidates()
    assert open_seal(candidates.scores()).tolist() == [sum(occurrences(t, s) for t in kept) for s in "AB"]
    assert candidates.take(1) == (1,)
    assert candidates.take(1) == (1, 0)
    expected = [sum(occurrences(text, string) for text in kept) for string in ("A", "BB", "BAA", "BAB")]
    assert open_seal(candidates.scores()).tolist() == expected
    assert candidates.scores().sensitivity.linf == 6
    assert candidates.scores().sensitivity.monotone


def occurrences(text: str, string: str) -> int:
    return sum(text.startswith(string, place) for place in range(len(text)))


# Reading ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "column",
    [
        ["A B", "", None, " B\tA  B "],
        [["A", "B"], [], None, ["B", "A", "B"]],
    ],
)
def test_rows_that_are_sequences(column: list[object]) -> None:
    sequences = Sequences.open(pl.DataFrame({"s": column}), schema())
    assert contents(sequences) == ([0, 1, 1, 0, 1], [2, 0, 0, 3])


def test_other_separators_and_numbers_as_symbols() -> None:
    front = schema("front page, B", "symbol: s, separator: '>', longest: 9")
    assert contents(Sequences.open(pl.DataFrame({"s": ["front page> B", "B"]}), front)) == ([0, 1, 1], [2, 1])
    numbers = schema("1, 2, 17")
    assert contents(Sequences.open(pl.DataFrame({"s": [[17, 1], [2]]}), numbers)) == ([2, 0, 1], [2, 1])
    assert contents(Sequences.open(pl.DataFrame({"s": ["17 1", "2"]}), numbers)) == ([2, 0, 1], [2, 1])


@pytest.mark.parametrize(
    "times",
    [
        ["9", "10", "100", "9"],
        [9, 10, 100, 9],
        ["2020-01-01T10:00Z", "2020-01-01 10:00:30", "2021-01-01", "2019-12-31"],
        pl.Series([3, 4, 5, 1]).cast(pl.Date),
    ],
)
def test_events_are_grouped_by_user_and_ordered_by_time(times: object) -> None:
    events = pl.DataFrame({"u": ["x", "x", "x", "y"], "t": times, "s": ["A", "B", "B", "A"]})
    by_time = schema(columns="user: u, time: t, symbol: s, longest: 9")
    for order in ([0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]):
        assert contents(Sequences.open(events[order], by_time)) == ([0, 1, 1, 0], [3, 1])


def test_without_time_events_stay_in_the_order_of_the_rows() -> None:
    events = pl.DataFrame({"u": [2, 1, 2, 1], "s": ["A", "B", "B", "A"]})
    assert contents(Sequences.open(events, schema(columns="user: u, symbol: s, longest: 9"))) == (
        [1, 0, 0, 1],
        [2, 2],
    )


def test_sessions_of_different_people_are_never_mixed() -> None:
    # two people use the session number 1
    events = pl.DataFrame({"u": [1, 1, 2, 1], "who": ["x", "x", "x", "y"], "s": ["A", "B", "A", "B"]})
    sessions = schema(
        "A, B", "user: u, symbol: s, longest: 9", "unit: {protects: user, column: who, at_most: 1}"
    )
    lengths = contents(Sequences.open(events, sessions, order_key=b"1"))[1]
    assert lengths in ([1, 1], [2, 1])


def test_no_records_are_no_sequences() -> None:
    assert contents(opened([])) == ([], [])
    nobody = pl.DataFrame({"u": [], "s": []}, schema={"u": pl.Int64, "s": pl.String})
    assert contents(Sequences.open(nobody, schema(columns="user: u, symbol: s, longest: 9"))) == ([], [])


def test_values_outside_the_alphabet_follow_the_schema() -> None:
    other = schema(extra=", outside: other, missing: value, missingValues: [NA]")
    sequences = Sequences.open(pl.DataFrame({"s": ["A x NA", "B"]}), other)
    assert contents(sequences) == ([0, 3, 2, 1], [3, 1])
    assert len(sequences.alphabet) == 4


BAD_RECORDS = [
    (["A B", "A c"], {}, "s: value 'c' in row 2 is not a declared category"),
    ([["A"], ["B", None]], {}, "s: the value in row 2 is missing"),
    (["A"], {"columns": "user: u, symbol: s, longest: 9"}, "u: the data has no such column"),
    (
        ["A"],
        {"columns": "symbol: s, longest: 9", "unit": "unit: {protects: user, column: w, at_most: 1}"},
        "w: the",
    ),
]


@pytest.mark.parametrize(("column", "options", "message"), BAD_RECORDS)
def test_records_that_do_not_fit_are_refused_in_one_sentence(
    column: list[object], options: dict[str, str], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        Sequences.open(pl.DataFrame({"s": column}), schema(**options))


@pytest.mark.parametrize(
    ("times", "message"),
    [
        (["noon", "1"], "neither numbers nor dates"),
        (["1", None], "time in row 2 is missing"),
        ([1.0, float("nan")], "time in row 2 is missing"),
    ],
)
def test_times_that_cannot_be_ordered_are_refused(times: list[object], message: str) -> None:
    events = pl.DataFrame({"u": [1, 1], "t": times, "s": ["A", "B"]})
    with pytest.raises(DataError, match=message):
        Sequences.open(events, schema(columns="user: u, time: t, symbol: s, longest: 9"))


@pytest.mark.parametrize(
    ("columns", "unit", "message"),
    [
        ("symbol: s", "", "longest sequence is not declared"),
        ("symbol: s, longest: 0", "", "at least 1 symbol"),
        ("symbol: s, time: t, longest: 3", "", "name the 'user' too"),
        ("symbol: s, user: u, separator: x, longest: 3", "", "remove it"),
        ("symbol: s, longest: 3", "unit: {protects: record}", "'sequence' or 'user'"),
        ("symbol: s, longest: 3", "relation: replace\nsize: 9", "'add-remove'"),
        ("symbol: s, user: u, longest: 3", "unit: {protects: user, column: u, at_most: 3}", "at_most: 1"),
    ],
)
def test_schemas_that_cannot_be_meant_are_refused(columns: str, unit: str, message: str) -> None:
    with pytest.raises(SchemaError, match=message):
        Sequences.open(rows(["A"]), schema(columns=columns, unit=unit))


def test_a_schema_with_other_fields_or_no_sequence_is_refused() -> None:
    with pytest.raises(SchemaError, match="age: a release of sequences holds the symbols"):
        Sequences.open(
            rows(["A"]), Schema.from_yaml(schema().to_yaml() + "\n  - {name: age, type: boolean}\n")
        )
    with pytest.raises(SchemaError, match="which columns make a sequence"):
        Sequences.open(rows(["A"]), schema().model_copy(update={"layout": None}))
    with pytest.raises(UsageError, match="in memory"):
        Sequences.open(rows(["A"]), schema(), engine="duckdb")
    with pytest.raises(PenstockError, match="not 9"):
        opened(["A"], 4).truncated(9)


def test_drafts_of_whole_sequences_and_of_events() -> None:
    from penstock.drafting.proposal import draft
    from penstock.kinds.sequences.layout import SequenceLayout

    whole = draft(pl.DataFrame({"pages": ["home news", "news", "home home"] * 9}), kind="sequences")
    assert whole.unit.protects == "sequence"
    assert whole.field("pages").labels == ("home", "news")
    layout = SequenceLayout.of(whole)
    assert (layout.user, layout.longest) == (None, 20)
    assert whole.to_review() == ["pages", "unit"]
    assert Schema.from_yaml(whole.to_yaml()) == whole
    events = pl.DataFrame({"user_id": [1, 1, 2], "age": [3, 4, 5], "page": ["a", "b", "a"]})
    drafted = draft(events, kind="sequences")
    assert drafted.names == ("page",)
    assert "'age' is no part of a sequence" in drafted.to_yaml()
    Sequences.open(events, drafted)
