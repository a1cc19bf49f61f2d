"""PrivTree for sequences: the worked examples, the release, and inputs at the edge."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kinds.sequences.trees import fit, noiseless, opened, schema

from penstock.errors import BudgetError, QueryError, ReleaseError, UsageError
from penstock.kinds.sequences.data import Sequences
from penstock.kinds.sequences.suffix_tree import PrivTreeSequences, SuffixTreeRelease
from penstock.kinds.sequences.symbols import Symbols
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms.growth import Shape
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.randomness.samplers import discrete_laplace
from penstock.releases import load
from penstock.schema import Schema

EXAMPLE = ["B", "AB", "AAB", "AAAB"]


def example() -> SuffixTreeRelease:
    return noiseless(opened(EXAMPLE), lambda context: context in ("", "A"))


def visits(n: int, seed: int = 0) -> list[str]:
    """Sequences in which what comes next depends on the last two symbols."""
    rng = np.random.default_rng(seed)
    steps = rng.dirichlet([0.4] * 4, size=(4, 4))
    texts = []
    for _ in range(n):
        codes = [3, 3]
        while (drawn := int(rng.choice(4, p=steps[codes[-2], codes[-1]]))) != 3 and len(codes) < 20:
            codes.append(drawn)
        texts.append("".join("ABC"[code] for code in codes[2:]))
    return texts


# The published example --------------------------------------------------------------------------------


def test_string_counts_of_the_published_example() -> None:
    release = example()
    assert release.count("A,B").value == pytest.approx(3)
    assert release.count("A,A,B").value == pytest.approx(2)
    assert release.count("$,A,B").value == pytest.approx(1)
    assert release.count(["B"]).value == 4
    assert release.count("B,&").value == 4
    assert release.number.value == 4
    assert release.count("$").value == 4


def test_top_strings_of_the_published_example() -> None:
    assert example().top(2)["string"].to_list() == ["A", "B"]
    assert example().top(2)["count"].to_list() == [6, 4]


def test_the_published_example_writes_sequences_with_the_stated_probabilities() -> None:
    release = example()
    for text, probability in (("B", 1 / 4), ("AB", 1 / 4), ("AAB", 1 / 3), ("AAAB", 1 / 9)):
        asked = ["$", *text, "&"]
        assert release.count(asked).value / release.number.value == pytest.approx(probability)
    written = release.sample(40_000, seed=1)["s"].str.replace_all(" ", "")
    for text, probability in (("B", 1 / 4), ("AB", 1 / 4), ("AAB", 1 / 3), ("AAAB", 1 / 9)):
        found = int((written == text).sum())
        # binomial, beyond 6 standard deviations: below 3e-9 for each of the four
        assert abs(found - 40_000 * probability) < 6 * (40_000 * probability * (1 - probability)) ** 0.5
    # mean 2.5; the variance of a length is 1/4 + 1/2 * 3 / 4 + ... < 2, so 6 standard errors are below 0.043
    assert abs(float(written.str.len_chars().mean()) - 2.5) < 0.043


def test_the_example_predicts_what_comes_next() -> None:
    release = example()
    assert release.next("A,A").to_dicts()[0] == {"symbol": "B", "share": pytest.approx(2 / 3)}
    assert release.next("B").to_dicts()[0] == {"symbol": "(end)", "share": pytest.approx(1)}
    assert release.next("$,A").to_dicts()[0]["symbol"] == "A"
    assert release.next().to_dicts()[0] == {"symbol": "A", "share": pytest.approx(6 / 14)}


# Sums, zeros, back-off --------------------------------------------------------------------------------


def hand_made(counts: list[list[int]], fans: list[int]) -> SuffixTreeRelease:
    made = fit(opened(EXAMPLE))
    return SuffixTreeRelease(
        method=made.method,
        schema=made.schema,
        receipt=made.receipt,
        longest=9,
        shape=Shape(np.array(fans)),
        counts=np.array(counts),
        deviation=1.0,
    )


def test_zeros_come_after_the_sums_have_been_formed() -> None:
    release = hand_made([[5, -3, 0], [0, 4, 2], [1, 0, -6]], [3, 0, 0, 0])
    assert release.raw[0].tolist() == [6, 1, -4]
    assert release.markov.weights[0].tolist() == [6, 1, 0]  # not 6, 4, 2: the sums of what was cut off
    assert release.markov.weights[1].tolist() == [5, 0, 0]
    assert release.number.value == 0  # 1 + 0 - 6 begin


def test_a_context_without_weight_asks_its_nearest_ancestor_and_at_last_nobody() -> None:
    release = hand_made([[-1, -2, 0], [0, 4, 2], [8, 0, 0]], [3, 0, 0, 0])
    assert release.markov.speakers.tolist() == [0, 0, 2, 3]
    assert release.next("A")["share"].to_list() == release.next()["share"].to_list()
    silent = hand_made([[-1, -1, -1]], [0])
    assert silent.next("A,B")["share"].to_list() == pytest.approx([1 / 3] * 3)
    assert silent.top(5).is_empty()
    assert silent.size == 0
    assert silent.sample(200, seed=0).height == 200


def test_sequences_that_never_end_are_cut_at_ten_times_the_longest() -> None:
    release = hand_made([[5, 0, 0]], [0])
    assert release.sample(3, seed=0)["s"].to_list() == [" ".join("A" * 90)] * 3
    assert release.top(3)["string"].to_list() == ["A", "A,A", "A,A,A"]


def test_the_error_bar_is_that_of_the_noise() -> None:
    sequences = opened(visits(4000), "ABC", 20)
    exact = noiseless(sequences, lambda context: len(context) < 2)
    scale, source = Fraction(10), Randomness.seeded(3)
    deviation = (2 * np.exp(-0.1)) ** 0.5 / (1 - np.exp(-0.1))
    strings = ["A", "A,B", "C,A,B", "$,A", "B,&", "$"]
    answers = []
    for _ in range(600):
        noise = discrete_laplace(scale, exact.counts.size, source).reshape(exact.counts.shape)
        noisy = SuffixTreeRelease(
            method="privtree-sequences",
            schema=exact.schema,
            receipt=exact.receipt,
            longest=20,
            shape=exact.shape,
            counts=exact.counts + noise,
            deviation=float(deviation),
        )
        answers.append([noisy.count(string).value for string in strings])
    spread = np.std(np.array(answers), axis=0)
    for string, found in zip(strings, spread, strict=True):
        # a standard deviation from 600 draws is within 15 % of the truth (5 standard errors, below 1e-6),
        # and the noise is small beside the counts, where the first order is nearly all
        bar = noisy.count(string).error
        assert bar is not None
        assert found == pytest.approx(bar / 1.96, rel=0.2)


# Fitting ----------------------------------------------------------------------------------------------


@given(
    st.fractions(min_value=Fraction(1, 10**5), max_value=50, max_denominator=10**9),
    st.booleans(),
    st.sampled_from([None, "1/3", 0.9]),
)
@settings(max_examples=30, deadline=None)
def test_receipt_total_equals_budget_exactly(epsilon: Fraction, private: bool, share: object) -> None:
    release = fit(opened(EXAMPLE), epsilon, choose_longest=private, tree_share=share)
    assert release.receipt.epsilon == epsilon
    assert len(list(release.receipt.charges())) == 3 + private
    published = fit(opened(EXAMPLE), epsilon, choose_longest=private, tree_share=share, lengths="published")
    assert published.receipt.epsilon == epsilon
    assert len(list(published.receipt.charges())) == 2 + private


def test_budget_and_noise_of_the_worked_example() -> None:
    # 7 symbols, at most 50 kept, epsilon 1: 1/8 for the tree, lambda 857.143, histogram scale 57.143
    sequences = opened([], "ABCDEFG", 50)
    release = fit(sequences, 1, constant="published", lengths="published")
    shape, histograms = (charge for _, charge in release.receipt.charges())
    assert (shape.epsilon, histograms.epsilon) == (Fraction(1, 8), Fraction(7, 8))
    assert shape.sensitivity == "50"
    assert histograms.detail == "scale 400/7"
    assert release.parameters["noise_scale"] == pytest.approx(857.143, abs=1e-3)
    assert release.parameters["decay"] == pytest.approx(1782.38, abs=0.01)
    # the number of sequences: sqrt(2 * 8) * 57.143 = 228.6, a little less for geometric noise
    if len(release.shape) > 1:
        assert release.number.error == pytest.approx(1.96 * 228.6, rel=0.01)


def test_a_release_is_close_to_the_truth_and_its_tree_remembers_two_symbols() -> None:
    texts = visits(20_000)
    release = fit(opened(texts, "ABC", 20), 4, lengths="published")
    assert release.shape.depth >= 2
    assert abs(release.number.value - 20_000) < 8 * release.number.error / 1.96  # 8 deviations: below 1e-6
    for string in ("A,B", "C,A,B"):
        truth = sum(text.startswith(string.replace(",", ""), at) for text in texts for at in range(len(text)))
        assert release.count(string).value == pytest.approx(truth, rel=0.05)
    lengths = release.lengths()
    mean = float((lengths["length"] * lengths["share"]).sum())
    assert mean == pytest.approx(np.mean([len(text) for text in texts]), rel=0.05)


def test_a_seed_repeats_everything() -> None:
    one, two = (fit(opened(visits(300), "ABC", 9), 1, seed=5) for _ in range(2))
    assert (one.shape.fans == two.shape.fans).all()
    assert (one.counts == two.counts).all()


def test_the_longest_length_is_chosen_near_the_quantile() -> None:
    # 95 % are 3,420 of 3,600; by length, numbers 2,821 to 3,450 have 94 symbols and an end
    texts = ["A" * (length % 100) for length in range(3000)] + ["A" * 94] * 600
    release = fit(opened(texts, "A", 300), 20, choose_longest=True)
    # 30 sequences, 600 twentieths, are worth a factor exp(-600/38) for each length beside it
    assert release.longest == 95
    paid = [charge.label for _, charge in release.receipt.charges()]
    assert paid == ["longest", "lengths", "shape", "histograms"]
    assert release.parameters["choose_longest"] is True


def test_public_limits_on_contexts_hold() -> None:
    texts = visits(2000)
    assert fit(opened(texts, "ABC", 20), 20, deepest=1).shape.depth == 1
    assert fit(opened(texts, "ABC", 20), 20, deepest=0).shape.depth == 0
    assert fit(opened(["AAAAAA"] * 3000, "ABC", 2), 50).shape.depth <= 2


# At the edge ------------------------------------------------------------------------------------------


def test_no_sequences_at_all() -> None:
    release = fit(opened([]), 1)
    assert release.number.value < 200
    release.sample(10, seed=0)
    release.pictures()


def test_an_alphabet_of_one_symbol() -> None:
    release = fit(opened(["A" * 3] * 2000 + [""] * 500, "A", 6), 5)
    assert release.count("A").value == pytest.approx(6000, rel=0.05)
    assert release.count("$,&").value == pytest.approx(500, rel=0.3)
    assert release.top(3)["string"].to_list() == ["A", "A,A", "A,A,A"]


def test_an_alphabet_of_a_thousand_symbols() -> None:
    symbols = [f"p{number}" for number in range(1000)]
    many = Schema.from_yaml(
        "kind: sequences\nsequence: {symbol: s, longest: 4}\n"
        f"fields: [{{name: s, constraints: {{enum: [{', '.join(symbols)}]}}}}]\n"
    )
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"s": [" ".join(rng.choice(symbols[:20], 3)) for _ in range(2000)]})
    release = PrivTreeSequences().fit(Sequences.open(frame, many), Budget(2, randomness=Randomness.seeded(1)))
    assert release.counts.shape[1] == 1001
    assert set(release.top(5)["string"].str.split(",").explode()) <= set(symbols)
    assert release.sample(500, seed=1).height == 500
    release.pictures()


def test_sequences_longer_than_the_bound_are_cut_and_stay_open() -> None:
    release = fit(opened(["A" * 50] * 1000, "AB", 5), 50)
    assert release.count("A").value == pytest.approx(5000, rel=0.02)
    assert release.count("&").value < 50


def test_empty_sequences_are_sequences() -> None:
    release = fit(opened([""] * 1000), 20)
    assert release.size == pytest.approx(1000, abs=30)
    assert release.lengths()["share"][0] > 0.9


# Asking, drawing, saving ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("A,D", "'D' is not a symbol"),
        ("A,$", "is not a symbol"),
        ("&,A", "is not a symbol"),
        ("", "empty"),
        ("'A", "quote"),
    ],
)
def test_strings_that_cannot_be_asked_for_are_refused(text: str, message: str) -> None:
    with pytest.raises(QueryError, match=message):
        example().query(text) if text else example().count(text)


@pytest.mark.parametrize("text", ["$", " $ ", ["$"], ("$",), "'$'"])
def test_the_beginning_alone_asks_for_all_sequences_however_it_is_written(text: str | list[str]) -> None:
    release = example()
    assert release.count(text) == release.number
    assert release.count(text).text == "sequences"


def test_a_symbol_may_be_called_like_a_mark_or_hold_a_comma() -> None:
    odd = Schema.from_yaml(
        """
kind: sequences
sequence: {symbol: s, separator: '|', longest: 5}
fields: [{name: s, constraints: {enum: ['$', 'a,b', ' ']}}]
""".replace("' '", "c")
    )
    sequences = Sequences.open(pl.DataFrame({"s": ["$|a,b", "c"] * 500}), odd)
    release = fit(sequences, 20)
    assert release.count("$,'a,b'").value == pytest.approx(500, rel=0.1)
    assert release.count('$,"a,b"').value == release.count(["$", "a,b"]).value
    assert "$,'a,b'" in release.top(6)["string"].to_list()
    assert release.sample(50, seed=0)["s"].str.contains("a,b").any()


def test_events_come_back_as_events() -> None:
    by_user = schema("AB", 9, ", user: u, time: t")
    events = pl.DataFrame({"u": [1, 1, 2, 3] * 50, "t": range(200), "s": ["A", "B", "A", "B"] * 50})
    release = fit(Sequences.open(events, by_user), 20)
    rows_drawn = release.sample(40, seed=2)
    assert rows_drawn.columns == ["u", "position", "s"]
    first = rows_drawn.group_by("u").agg(pl.col("position").min())
    assert (first["position"] == 1).all()
    assert rows_drawn["u"].max() <= 40
    assert set(rows_drawn["s"]) <= {"A", "B"}
    odd = events.rename({"u": "position"})
    other = fit(Sequences.open(odd, schema("AB", 9, ", user: position, time: t")), 20)
    assert other.sample(5, seed=2).columns == ["position", "place in the sequence", "s"]


@pytest.mark.parametrize(
    "options",
    [
        {"tree_share": 0},
        {"tree_share": "3/2"},
        {"quantile": 1},
        {"longest_share": -1},
        {"constant": "loose"},
        {"deepest": -1},
        {"lengths": "even"},
        {"length_share": 0},
        {"times_share": "5/4"},
    ],
)
def test_impossible_parameters_are_refused(options: dict[str, object]) -> None:
    with pytest.raises((UsageError, BudgetError)):
        PrivTreeSequences(**options)  # type: ignore[arg-type]


def test_save_and_load_round_trip(tmp_path: Path) -> None:
    release = fit(opened(visits(800), "ABC", 20), 4)
    release.save(tmp_path / "out")
    again = load(tmp_path / "out")
    assert isinstance(again, SuffixTreeRelease)
    assert again.receipt == release.receipt
    assert again.sample(50, seed=1).equals(release.sample(50, seed=1))
    assert again.top(30).equals(release.top(30))
    assert again.longest == 20


def test_nothing_exact_is_saved(tmp_path: Path) -> None:
    texts = ["ABCABCABC"] * 777
    release = fit(opened(texts, "ABC", 20), 1)
    release.save(tmp_path / "out")
    saved = "".join(
        (tmp_path / "out" / name).read_text() for name in ("model.json", "receipt.json", "datapackage.json")
    )
    assert "777" not in saved


@pytest.mark.parametrize(
    ("contexts", "message"),
    [
        ([True], "does not describe a tree"),
        ([True, False, False, True, False, False, False], "splits a context"),
        ([], "does not describe a tree"),
    ],
)
def test_impossible_trees_are_refused(contexts: list[bool], message: str) -> None:
    from penstock.releases import Manifest, Model

    good = example()
    model = good.model()
    tables = {**model.tables, "contexts": pl.DataFrame({"split": contexts}, schema={"split": pl.Boolean})}
    manifest = Manifest(good.method, good.schema, good.receipt, {})
    with pytest.raises(ReleaseError, match=message):
        SuffixTreeRelease.from_model(manifest, Model(model.json, tables))
    with pytest.raises(ReleaseError, match="rows"):
        SuffixTreeRelease.from_model(
            manifest, Model(model.json, {**model.tables, "counts": pl.DataFrame({"count": [1, 2]})})
        )


def test_every_picture_tells_its_numbers() -> None:
    release = fit(opened(visits(3000), "ABC", 20), 4)
    drawn = {picture.title: picture for picture in release.pictures()}
    assert set(drawn) == {
        "Most frequent strings",
        "Lengths of sequences",
        "What follows what",
        "The contexts that were told apart",
    }
    assert all(picture.caption and picture.rows for picture in drawn.values())


def test_rows_are_read_back_as_they_were_written(tmp_path: Path) -> None:
    release = fit(opened(["AB", "", "A"] * 300), 20)
    drawn = release.sample(200, seed=3)
    drawn.write_csv(tmp_path / "synthetic.csv")
    again = Sequences.open(tmp_path / "synthetic.csv", release.schema)
    assert isinstance(again._recorded, Symbols)
    assert again._recorded.lengths.tolist() == drawn["s"].str.replace_all(" ", "").str.len_chars().to_list()


def test_a_budget_too_small_for_a_tree_is_refused_before_it_is_spent() -> None:
    budget = Budget(Fraction(1, 10**12), randomness=Randomness.seeded(1))
    with pytest.raises(UsageError, match="too small"):
        PrivTreeSequences().fit(opened(EXAMPLE), budget)
    assert budget.receipt().epsilon == 0


def test_endless_sequences_are_not_drawn_by_the_million() -> None:
    release = hand_made([[10**9, 0, 0], [0, 0, 0], [10**9, 0, 0]], [3, 0, 0, 0])
    assert release.number.value == 10**9
    assert release.size == round(50_000_000 / 90)  # each has ten times the longest length, 9
