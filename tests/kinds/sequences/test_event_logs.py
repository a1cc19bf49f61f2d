"""Synthetic event logs: lengths that were counted, rules that hold, times that were paid for."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import lookalikes
from tests.kinds.sequences.trees import fit, opened, schema
from tests.lookalikes import event_log

import penstock
from penstock.audit.neighbours import neighbours
from penstock.audit.sensitivity import moves
from penstock.errors import DataError, ReleaseError, SchemaError, UsageError
from penstock.kinds.sequences.clock import Clock
from penstock.kinds.sequences.data import Sequences
from penstock.kinds.sequences.layout import SequenceLayout
from penstock.kinds.sequences.lengths import Bending, Lengths, binned, length_bins
from penstock.kinds.sequences.markov import Markov
from penstock.kinds.sequences.release import MarkovRelease
from penstock.kinds.sequences.rules import OrderRules
from penstock.kinds.sequences.suffix_tree import PrivTreeSequences
from penstock.kinds.sequences.symbols import Symbols
from penstock.kinds.sequences.writing import Writer
from penstock.privacy.seals.sealed import Sealed, open_seal
from penstock.privacy.unit import Relation
from penstock.schema import Schema

CASE, TIME, ACTIVITY = "case:concept:name", "time:timestamp", "concept:name"
RULES = (
    f", first: [{lookalikes.FIRST}], last: [{lookalikes.LAST}], once: [{', '.join(lookalikes.ONCE)}], "
    f"neverBoth: [[{', '.join(lookalikes.NEVER_BOTH)}]]"
)
CALENDAR = (
    f"  - {{name: '{TIME}', type: datetime, constraints: {{minimum: 2024-01-01, maximum: 2025-12-31}}, "
    "bins: {count: 24}}\n"
)


def log_schema(made: lookalikes.Lookalike, *, rules: bool = False, times: bool = False) -> Schema:
    longest = f"longest: {lookalikes.LONGEST_CASE}"
    text = made.schema.replace(longest, longest + RULES) if rules else made.schema
    return Schema.from_yaml(text + CALENDAR if times else text)


def cases(rows: pl.DataFrame) -> list[list[str]]:
    return rows.group_by(CASE, maintain_order=True).agg(ACTIVITY)[ACTIVITY].to_list()


def broken(found: list[list[str]]) -> int:
    """How many cases break one of the planted rules."""
    return sum(
        case[0] != lookalikes.FIRST
        or case[-1] != lookalikes.LAST
        or any(case.count(name) > 1 for name in lookalikes.ONCE)
        or set(lookalikes.NEVER_BOTH) <= set(case)
        for case in found
    )


# Lengths ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_synthetic_lengths_are_those_of_the_log_and_none_exceeds_the_longest(seed: int) -> None:
    """The noise of a mean of 1,000 lengths at epsilon 2 is below 0.7 symbols; four of these are allowed."""
    made = event_log(1000, seed=seed)
    truth = [len(case) for case in cases(made.frame)]
    release = penstock.release(made.frame, log_schema(made), epsilon=2, seed=seed)
    drawn = release.writer.draw(3000, np.random.default_rng(seed))[1]
    assert drawn.max() <= lookalikes.LONGEST_CASE
    assert abs(drawn.mean() - np.mean(truth)) < 2.8
    assert release.receipt.epsilon == 2


@pytest.mark.parametrize("method", ["privtree-sequences", "n-gram"])
def test_synthetic_lengths_are_those_that_were_counted_where_rules_hold(method: str) -> None:
    """Rules keep cases from ending; still no bin of lengths gets a tenth of the cases more, or less.

    One that noise fills, and that rules hardly allow, may have lost all that noise gave it: at epsilon 1 its
    deviation is 1/28 of 400 cases.
    """
    made = event_log(400)
    schema_ = log_schema(made, rules=True, times=True)
    for seed in range(2):
        release = penstock.release(made.frame, schema_, epsilon=1, method=method, seed=seed)
        drawn = release.writer.draw(4000, np.random.default_rng(seed))[1]
        found = binned(drawn, release.longest) / 4000
        assert np.abs(found - release.counted.shares()).max() < 0.1


def test_strings_as_published_leave_lengths_to_themselves() -> None:
    made = event_log(300)
    parameters = {"lengths": "published"}
    release = penstock.release(
        made.frame, log_schema(made), epsilon=1, method="n-gram", parameters=parameters, seed=1
    )
    assert release.counted is None
    assert "lengths" not in [charge.label for _, charge in release.receipt.charges()]


def test_the_literature_leaves_lengths_to_the_model() -> None:
    made = event_log(300)
    parameters = {"lengths": "published"}
    release = penstock.release(made.frame, log_schema(made), epsilon=1, parameters=parameters, seed=1)
    assert release.cap == 10 * lookalikes.LONGEST_CASE
    assert release.writer.draw(3000, np.random.default_rng(1))[1].max() > lookalikes.LONGEST_CASE
    assert [charge.label for _, charge in release.receipt.charges()] == ["shape", "histograms"]


@pytest.mark.parametrize("longest", [1, 2, 3, 7, 40, 1000])
def test_every_length_lies_in_one_bin(longest: int) -> None:
    bins = length_bins(longest)
    assert (np.diff(bins) > 0).all()
    assert bins[0] == 0
    assert bins[-1] <= longest
    counts = binned(np.arange(3 * longest), longest)
    assert counts.sum() == 3 * longest
    assert len(bins) < 10 + 3 * np.log(longest)


def chain() -> Markov:
    """Two symbols; a leads to b or the end, b to a."""
    children = np.full((4, 3), -1, dtype=np.int32)
    children[0] = [1, 2, 3]
    return Markov(children, np.array([[3.0, 2, 1], [0, 2, 1], [2, 0, 0], [1, 1, 0]]))


def test_a_node_knows_where_a_symbol_leads() -> None:
    assert chain().following.tolist() == [[1, 2]] * 4
    deep = opened(["ABAB", "BBA"] * 50, "AB", 6)
    model = fit(deep, 60).markov
    for node in range(len(model.children)):
        for symbol in range(model.mark):
            reached = int(model.following[node, symbol])
            assert reached == 0 or reached in model.children


def test_bending_gives_every_sequence_a_factor_for_its_length() -> None:
    """All sequences of the bent model up to four symbols, against the model's own probabilities."""
    model, factors = chain(), np.array([1.0, 4.0, 0.5, 2.0, 3.0])
    bending = Bending.of(model, factors)

    def probability(string: tuple[int, ...], with_factors: bool) -> float:
        value, nodes = 1.0, [3, *((1, 2)[symbol] for symbol in string)]
        following = [*string, model.mark][:4]
        for place, symbol in enumerate(following):
            shares = model.shares[[nodes[place]]]
            weights = bending.weights(place, np.array([nodes[place]]), shares) if with_factors else shares
            value *= float(weights[0, symbol] / weights[0].sum())
        return value

    strings = [string for size in range(5) for string in product(range(2), repeat=size)]
    plain = np.array([probability(string, with_factors=False) for string in strings])
    wanted = plain * factors[[len(string) for string in strings]]
    found = np.array([probability(string, with_factors=True) for string in strings])
    assert plain.sum() == pytest.approx(1)
    assert found == pytest.approx(wanted / wanted.sum())


def test_bent_sequences_have_the_wanted_lengths() -> None:
    """30,000 draws against shares that were asked for exactly: 0.02 are more than six deviations."""
    wanted = np.array([0.0, 0.3, 0.1, 0.2, 0.4])
    lengths = Lengths((wanted * 10**6).astype(np.int64), 1.0)
    writer = Writer.of(chain(), 4, None, lengths)
    drawn = binned(writer.draw(30_000, np.random.default_rng(5))[1], 4) / 30_000
    assert drawn == pytest.approx(wanted, abs=0.03)


def test_huge_models_keep_the_lengths_they_have(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.kinds.sequences.lengths.MOST_EXPECTATIONS", 3)
    writer = Writer.of(chain(), 4, None, Lengths(np.ones(5, dtype=np.int64), 1.0))
    assert writer.bending is None


# Rules ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["privtree-sequences", "n-gram"])
def test_declared_rules_hold_in_every_synthetic_case(method: str) -> None:
    made = event_log(300)
    without = penstock.release(made.frame, log_schema(made), epsilon=1, method=method, seed=1)
    assert broken(cases(without.sample(300, seed=1))) > 50
    release = penstock.release(made.frame, log_schema(made, rules=True), epsilon=1, method=method, seed=1)
    rows = release.sample(2000, seed=1)
    assert rows[CASE].n_unique() == 2000  # none is empty
    assert broken(cases(rows)) == 0
    assert release.count("Pay compensation,Reject request").value == 0
    assert release.count("$,Decide").value == 0 if method == "privtree-sequences" else True


alphabets = st.integers(2, 5)


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_rules_hold_whatever_they_are(data: st.DataObject) -> None:
    names = "ABCDE"[: data.draw(alphabets)]
    some = st.lists(st.sampled_from(names), max_size=3, unique=True)
    first, last, once = data.draw(some), data.draw(some), data.draw(some)
    both = data.draw(
        st.lists(st.lists(st.sampled_from(names), min_size=2, max_size=3, unique=True), max_size=2)
    )
    longest = data.draw(st.integers(1, 6))
    layout = SequenceLayout(
        symbol="s", longest=longest, first=tuple(first), last=tuple(last), once=tuple(once),
        never_both=tuple(tuple(pair) for pair in both),
    )  # fmt: skip
    try:
        rules = OrderRules.of(layout, tuple(names), longest)
    except SchemaError:
        assert not possible(names, first, last, once, both, longest)
        return
    if rules is None:
        assert not any((first, last, once, both))
        return
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    weights = rng.integers(0, 3, (1, len(names) + 1)).astype(np.float64)
    model = Markov(np.full((1, len(names) + 1), -1), weights)
    codes, lengths = Writer(model, longest, rules).draw(200, rng)
    for part in np.split(codes, np.cumsum(lengths)[:-1]):
        text = "".join(names[code] for code in part)
        assert keeps("".join(text), first, last, once, both), text
        assert len(text) <= longest
        assert not rules.broken_by([*part.tolist()])


def keeps(text: str, first: list[str], last: list[str], once: list[str], both: list[list[str]]) -> bool:
    if not text:
        return not first and not last
    return (
        (not first or text[0] in first)
        and (not last or text[-1] in last)
        and all(text.count(name) <= 1 for name in once)
        and all(sum(name in text for name in group) <= 1 for group in both)
    )


def possible(
    names: str, first: list[str], last: list[str], once: list[str], both: list[list[str]], longest: int
) -> bool:
    texts = ("".join(each) for size in range(1, min(longest, 3) + 1) for each in product(names, repeat=size))
    return any(keeps(text, first, last, once, both) for text in texts)


@pytest.mark.parametrize(("words", "why"), [
    (", first: [C]", "'C' under 'first' is not a symbol"), (", once: [c]", "under 'once'"),
    (", neverBoth: [[A]]", "give two or more"), (", neverBoth: [[A, A]]", "give two or more"),
    (", first: [A], last: [B], neverBoth: [[A, B]]", "no sequence can keep the rules"),
    (", never: [A]", "unknown key 'never'"),
])  # fmt: skip
def test_rules_that_cannot_be_meant_are_refused(words: str, why: str) -> None:
    with pytest.raises(SchemaError, match=why):
        opened_with(words)


def opened_with(words: str) -> Sequences:
    return Sequences.open(pl.DataFrame({"s": ["A B"]}), schema("AB", 9, words))


def test_rules_survive_a_file() -> None:
    written = log_schema(event_log(5), rules=True, times=True)
    assert Schema.from_yaml(written.to_yaml()) == written
    assert "neverBoth:" in written.to_yaml()


# Times ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["privtree-sequences", "n-gram"])
def test_logs_come_back_with_cases_and_times(method: str, tmp_path: Path) -> None:
    made = event_log(300)
    schema_ = log_schema(made, rules=True, times=True)
    release = penstock.release(made.frame, schema_, epsilon=3, method=method, seed=1)
    assert release.receipt.epsilon == 3
    labels = [charge.label for _, charge in release.receipt.charges()]
    assert {"starts", "gaps"} <= set(labels)
    rows = release.sample(200, seed=2)
    assert rows.columns == [CASE, TIME, ACTIVITY]
    assert rows[TIME].dtype == pl.Datetime("us")
    assert rows[TIME].min() >= pl.Series(["2024-01-01"]).str.to_datetime()[0]
    later = rows.with_columns(pl.col(TIME).diff().over(CASE).alias("gap"))
    assert (later["gap"].drop_nulls().dt.total_microseconds() >= 0).all()
    release.save(tmp_path / "out")
    again = penstock.load(tmp_path / "out")
    assert again.sample(200, seed=2).equals(rows)
    assert again.receipt.epsilon == 3
    written = pl.read_csv(tmp_path / "out" / "synthetic.csv", infer_schema=False)
    assert written.columns == [CASE, TIME, ACTIVITY]
    assert (
        written[TIME].str.contains("^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}$").all()
    )  # to the second, as read
    reread = Sequences.open(written, schema_)
    assert reread.clock is not None
    assert "Times are written too" in (tmp_path / "out" / "report.html").read_text()


def test_waiting_times_are_those_of_each_activity() -> None:
    """Planted means between 1 and 120 hours; 3,000 cases at epsilon 6 are far above the noise."""
    made = event_log(3000)
    release = penstock.release(made.frame, log_schema(made, rules=True, times=True), epsilon=6, seed=1)
    rows = release.sample(3000, seed=1).with_columns(pl.col(TIME).diff().over(CASE).alias("gap"))
    found = dict(rows.group_by(ACTIVITY).agg(pl.col("gap").mean().dt.total_seconds() / 3600).iter_rows())
    for activity, hours in lookalikes.HOURS_BEFORE.items():
        if hours:
            assert hours / 2 < found[activity] < 2 * hours, activity


def test_without_a_declared_domain_only_the_order_is_released() -> None:
    made = event_log(60)
    release = penstock.release(made.frame, log_schema(made), epsilon=1, seed=1)
    assert release.times is None
    assert release.sample(5, seed=1).columns == [CASE, "position", ACTIVITY]


def test_times_outside_their_domain_stop_before_anything_is_spent() -> None:
    made = event_log(20)
    late = Schema.from_yaml(log_schema(made, times=True).to_yaml().replace("2024-01-01", "2024-07-01"))
    with pytest.raises(DataError, match=r"time:timestamp: .* outside the declared"):
        Sequences.open(made.frame, late)
    with pytest.raises(SchemaError, match="none may be missing"):
        Sequences.open(
            made.frame, Schema.from_yaml(made.schema + CALENDAR.replace("bins", "missing: value, bins"))
        )


def test_shares_that_leave_nothing_are_refused_unpaid() -> None:
    made = Sequences.open(event_log(20).frame, log_schema(event_log(20), times=True))
    budget = penstock.Budget(1)
    with pytest.raises(UsageError, match="leave nothing of the budget for the model"):
        PrivTreeSequences(times_share="9/10", length_share="1/10").fit(made, budget)
    assert budget.receipt().epsilon == 0


@pytest.mark.parametrize("kind", ["date", "integer"])
def test_days_and_plain_numbers_are_times_too(kind: str) -> None:
    bounds = "minimum: 2024-01-01, maximum: 2024-12-31" if kind == "date" else "minimum: 0, maximum: 99"
    text = (
        "kind: sequences\nsequence: {user: u, time: t, symbol: s, longest: 5}\n"
        "fields:\n  - {name: s, constraints: {enum: [A, B]}}\n"
        f"  - {{name: t, type: {kind}, constraints: {{{bounds}}}}}"
    )
    days = [f"2024-03-{day:02}" for day in range(1, 5)] if kind == "date" else [1, 5, 20, 80]
    frame = pl.DataFrame({"u": [1, 1, 2, 2] * 30, "t": days * 30, "s": ["A", "B", "A", "A"] * 30})
    rows = fit(Sequences.open(frame, Schema.from_yaml(text)), 9).sample(20, seed=1)
    assert rows["t"].dtype == (pl.Date if kind == "date" else pl.Int64)


def test_damaged_tables_are_refused(tmp_path: Path) -> None:
    made = event_log(30)
    release = penstock.release(made.frame, log_schema(made, times=True), epsilon=1, seed=1)
    model = release.model()
    for name in ("lengths", "starts", "gaps"):
        shorter = {**model.tables, name: model.tables[name].head(1)}
        with pytest.raises(ReleaseError, match=f"model-{name}.parquet has 1 rows"):
            type(release).from_model(manifest(release), type(model)(model.json, shorter))


def manifest(release: MarkovRelease) -> Any:
    from penstock.releases import Manifest

    return Manifest(release.method, release.schema, release.receipt, release.parameters)


# Sensitivities, by brute force over small neighbours, and broken copies -----------------------------------

EVENTS = """
kind: sequences
sequence: {user: u, time: t, symbol: s, longest: 4}
fields:
  - {name: s, constraints: {enum: [A, B]}}
  - {name: t, type: integer, constraints: {minimum: 0, maximum: 30}, bins: {count: 3}}
"""
WHOLE: list[tuple[tuple[int, str], ...]] = [
    ((0, "A"),),
    ((3, "A"), (4, "B")),
    ((0, "B"), (0, "B"), (9, "A"), (30, "B")),
    ((0, "A"), (1, "A"), (3, "A"), (6, "A"), (10, "A"), (20, "B")),
]


def measured(ask: Callable[[Sequences], Sealed[Any]], kind: type[Sequences] = Sequences) -> Any:
    def measure(records: tuple[tuple[tuple[int, str], ...], ...]) -> Sealed[Any]:
        rows = [(case, time, symbol) for case, events in enumerate(records) for time, symbol in events]
        frame = pl.DataFrame(rows, schema={"u": pl.Int64, "t": pl.Int64, "s": pl.String}, orient="row")
        return ask(kind.open(frame, Schema.from_yaml(EVENTS)))

    return measure


@pytest.mark.parametrize(("ask", "stated"), [
    (Sequences.length_counts, 1), (Sequences.starts, 1), (Sequences.gaps, 2),
])  # fmt: skip
def test_one_sequence_moves_these_counts_as_far_as_stated(ask: Any, stated: int) -> None:
    found = moves(measured(ask), neighbours(WHOLE, 3, Relation.ADD_REMOVE))
    assert found.contradictions == []
    assert found.l1 == found.stated.l1 == stated


class EveryEventCounted(Sequences):
    """Broken on purpose: what passes before every event is counted, with noise for one of each symbol."""

    def gaps(self) -> Sealed[Any]:
        clock, symbols = self._timed(), self._recorded
        assert isinstance(symbols, Symbols)
        assert symbols.moments is not None
        codes, moments = symbols.codes.astype(np.int64), symbols.moments
        later = np.setdiff1d(np.arange(len(codes)), symbols._begins)
        cells = codes[later] * clock.gaps.count + clock.gaps.codes(
            (moments[later] - moments[later - 1]) * 1.0
        )
        counts = np.bincount(cells, minlength=2 * clock.gaps.count)
        return Sealed(counts, super().gaps().sensitivity, self.relation, because="it is not so")


def test_counting_every_event_for_the_price_of_one_is_refuted() -> None:
    found = moves(measured(EveryEventCounted.gaps, EveryEventCounted),
                  neighbours(WHOLE, 2, Relation.ADD_REMOVE))  # fmt: skip
    assert any("l1 is at least" in words for words in found.contradictions)


def test_a_user_with_several_sequences_moves_them_all() -> None:
    text = EVENTS.replace("fields:", "unit: {protects: user, column: who, at_most: 2}\nfields:")
    frame = pl.DataFrame({"u": [1, 1, 2, 2], "who": [1] * 4, "t": [0, 5, 3, 9], "s": ["A", "B", "B", "A"]})
    sequences = Sequences.open(frame, Schema.from_yaml(text))
    assert [int(sealed.sensitivity.l1) for sealed in (
        sequences.length_counts(), sequences.starts(), sequences.gaps())] == [2, 2, 4]  # fmt: skip
    assert open_seal(sequences.starts()).sum() == 2


def test_a_clock_covers_every_length_of_time() -> None:
    clock = Clock.of(Schema.from_yaml(EVENTS))
    assert clock is not None
    assert clock.gaps.values == (0, 1, 2, 5, 10, 20, 30)
    assert clock.gaps.codes(np.array([0.0, 1, 4, 30])).tolist() == [0, 1, 2, 5]


@given(st.fractions(min_value=Fraction(1, 10**4), max_value=20, max_denominator=10**6))
@settings(max_examples=15, deadline=None)
def test_receipt_total_equals_budget_exactly_with_times(epsilon: Fraction) -> None:
    rows = [(1, 0, "A"), (1, 4, "B"), (2, 7, "B")]
    frame = pl.DataFrame(rows, schema={"u": pl.Int64, "t": pl.Int64, "s": pl.String}, orient="row")
    release = fit(Sequences.open(frame, Schema.from_yaml(EVENTS)), epsilon)
    assert release.receipt.epsilon == epsilon
    assert len(list(release.receipt.charges())) == 5
