"""N-gram and frequent strings by the exponential mechanism."""

from fractions import Fraction
from math import exp, log
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kinds.sequences.trees import opened

from penstock.errors import BudgetError, QueryError, ReleaseError, UsageError
from penstock.kinds.sequences.exploration import Exploration
from penstock.kinds.sequences.ngram import NGram, NGramRelease, _Tree
from penstock.kinds.sequences.top_strings import TopStrings, TopStringsRelease
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.randomness.generator import Randomness
from penstock.releases import Manifest, Model, load


def ngram(
    texts: list[str], epsilon: Any = 1, symbols: str = "ABC", seed: int = 1, **options: Any
) -> NGramRelease:
    budget = Budget(epsilon, randomness=Randomness.seeded(seed))
    return NGram(**options).fit(opened(texts, symbols, 6), budget)


def top(texts: list[str], epsilon: Any = 1, symbols: str = "ABC", **options: Any) -> TopStringsRelease:
    budget = Budget(epsilon, randomness=Randomness.seeded(1))
    return TopStrings(**options).fit(opened(texts, symbols, 6), budget)


TEXTS = ["ABC", "ABCA", "AB", "C"] * 500


# N-gram -----------------------------------------------------------------------------------------------


@given(
    st.fractions(min_value=Fraction(1, 10**4), max_value=50, max_denominator=10**6),
    st.sampled_from(["A", "AB", "ABC"]),
)
@settings(max_examples=20, deadline=None)
def test_receipt_total_equals_budget_exactly(epsilon: Fraction, symbols: str) -> None:
    assert ngram(["A"] * 30, epsilon, symbols).receipt.epsilon == epsilon
    assert top(["A"] * 30, epsilon, symbols, many=7).receipt.epsilon == epsilon


def test_no_string_can_be_looked_at_for_more_than_is_left() -> None:
    begun = Exploration.paid(opened(TEXTS, "ABC", 6), Budget(1, randomness=Randomness.seeded(1)))
    looked, noisy = begun.look([Fraction(3, 4)])
    assert noisy.shape == (1, 4)
    longer = looked.extended(np.array([0, 2]))
    assert longer.left == (Fraction(1, 4), Fraction(1, 4))
    for amounts in ([Fraction(1, 2), Fraction(1, 8)], [Fraction(0), Fraction(1, 8)], [Fraction(1, 8)]):
        with pytest.raises(UsageError, match="what is left"):
            longer.look(amounts)


def test_what_is_left_for_strings_goes_on_and_stays_nowhere_behind() -> None:
    """Else two looks at the same strings would cost what one does."""
    begun = Exploration.paid(opened(TEXTS, "ABC", 6), Budget(1, randomness=Randomness.seeded(1)))
    looked, _ = begun.look([Fraction(1, 2)])
    with pytest.raises(UsageError, match="once"):
        looked.extended(np.array([1, 1]))
    longer = looked.extended(np.array([0, 2]))
    for again in (
        lambda: begun.look([Fraction(1, 2)]),
        lambda: begun.extended(np.array([0])),
        lambda: looked.look([Fraction(1, 4)]),
        lambda: looked.extended(np.array([1])),
    ):
        with pytest.raises(BudgetError, match="used already"):
            again()
    longer.look([Fraction(1, 4), Fraction(1, 4)])


def cost_of_adding(text: str, longest: int, epsilons: dict[str, Fraction]) -> Fraction:
    """What a sequence costs when every string has its own epsilon: its moves times epsilon / longest."""
    marked = (text + "&")[:longest]
    cost = Fraction(0)
    for place in range(len(marked)):
        for length in range(place + 1):
            cost += epsilons.get(marked[place - length : place], Fraction(0)) / longest
    return cost


def test_budgets_along_each_string_cost_at_most_epsilon_for_any_sequence() -> None:
    # every string gets some epsilon, such that a string and all its beginnings have 1 together at most
    rng = np.random.default_rng(0)
    largest = Fraction(0)
    for _ in range(200):
        epsilons: dict[str, Fraction] = {}

        def share(string: str, left: Fraction, into: dict[str, Fraction]) -> None:
            part = left if len(string) == 3 else left * Fraction(int(rng.integers(1, 5)), 4)
            into[string] = part
            if len(string) < 3 and part < left:
                for symbol in "AB":
                    share(string + symbol, left - part, into)

        share("", Fraction(1), epsilons)
        text = "".join(rng.choice(list("AB"), 5))
        largest = max(largest, cost_of_adding(text, 5, epsilons))
    assert Fraction(4, 5) < largest <= 1


def test_thresholds_and_rounds_are_the_published_ones() -> None:
    tree = _Tree(8, 5)
    longer, rounds = tree.settle((), np.array([1000, 400, 40, 5, -9, 3, 0, 0, 300]), 50.0, 5)
    threshold = 50 * log(4)  # 69.3
    assert longer.tolist() == [True, True] + [False] * 7
    largest = 1000 / 1448  # what follows the empty string, without ends and without negative counts
    expected = [min(4, int(np.ceil(log(threshold / count) / log(largest)))) for count in (1000, 400)]
    assert rounds[:2].tolist() == expected == [4, 4]
    assert tree.histograms[()].tolist() == [1000, 400, 40, 5, 0, 3, 0, 0, 0]
    # a steep histogram lets strings sink fast: fewer rounds, and more for each
    flat = _Tree(8, 5).settle((), np.full(9, 100), 50.0, 5)[1]
    assert flat[:8].tolist() == [1] * 8


def test_consistency_fills_in_and_shares_out_as_published() -> None:
    tree = _Tree(3, 5)
    tree.settle((), np.array([100, 60, 40, 0]), 1.0, 5)
    # after A: B and the end were not released; the nearest string is the empty one: an even share of the rest
    tree.settle((0,), np.array([50, 0, 30, 0]), 30.0, 4)  # threshold 12.2
    assert tree.histograms[(0,)].tolist() == pytest.approx([50, 10, 30, 10])
    tree.settle((1,), np.array([90, 30, 0, 0]), 30.0, 4)  # more than the 60 that there are
    assert tree.histograms[(1,)].tolist() == pytest.approx([45, 15, 0, 0])
    # after BA (45 times): the nearest string is A, whose proportions fill in what is missing
    tree.settle((1, 0), np.array([20, 0, 0, 0]), 10.0, 3)
    assert tree.histograms[(1, 0)].tolist() == pytest.approx([22.5, 4.5, 13.5, 4.5])
    # the last look releases everything, and counts below zero become zero
    tree.settle((0, 2), np.array([3, -4, 0, 1]), 10.0, 1)
    assert tree.histograms[(0, 2)].tolist() == pytest.approx([22.5, 0, 0, 7.5])
    # nothing above the threshold: the string is not known
    tree.settle((0, 1), np.array([1, 1, 1, 1]), 10.0, 3)
    assert (0, 1) not in tree.histograms


def test_every_known_string_is_as_frequent_as_its_histogram_says() -> None:
    release = ngram(TEXTS, 5)
    assert len(release.histograms) > 4
    for string, histogram in release.histograms.items():
        assert histogram.min() >= 0
        if string:
            assert histogram.sum() == pytest.approx(release.histograms[string[:-1]][string[-1]])
    assert release.count("A,B").value == pytest.approx(release.histograms[(0,)][1])


def test_strings_and_their_number_are_near_the_truth() -> None:
    release = ngram(TEXTS, 8)
    assert release.count("A,B").value == pytest.approx(1500, rel=0.1)
    assert release.count("A,B,C").value == pytest.approx(1000, rel=0.15)
    assert release.number.value == pytest.approx(2000, rel=0.1)
    assert release.top(3)["string"].to_list()[0] == "A"
    assert release.sample(100, seed=1)["s"].str.split(" ").list.len().max() <= 6
    assert release.next("A")["symbol"][0] == "B"
    with pytest.raises(QueryError, match="how sequences begin"):
        release.count("$,A")


@pytest.mark.parametrize("symbols", ["A", "AB"])
def test_small_alphabets_and_empty_data(symbols: str) -> None:
    release = ngram(["A"] * 200, 10, symbols)
    assert release.count("A").value == pytest.approx(200, rel=0.3)
    nothing = ngram([], 1, symbols)
    nothing.sample(20, seed=0)
    assert all(picture.caption for picture in nothing.pictures())


def test_ngrams_are_saved_and_loaded(tmp_path: Path) -> None:
    release = ngram(TEXTS, 5)
    release.save(tmp_path / "out")
    again = load(tmp_path / "out")
    assert isinstance(again, NGramRelease)
    assert again.top(20).equals(release.top(20))
    assert again.sample(50, seed=1).equals(release.sample(50, seed=1))


@pytest.mark.parametrize(
    ("before", "symbol"),
    [([7], [0]), ([0], [9]), ([0, 0], [1, 1]), ([-1], [0]), (list(range(60)), [0] * 60)],
)
def test_impossible_strings_are_refused(before: list[int], symbol: list[int]) -> None:
    release = ngram(TEXTS, 5)
    model = release.model()
    tables = {
        "strings": pl.DataFrame({"before": before, "symbol": symbol}),
        "counts": pl.DataFrame({"count": [1.0] * 4 * (len(before) + 1)}),
    }
    manifest = Manifest(release.method, release.schema, release.receipt, {})
    with pytest.raises(ReleaseError, match="strings"):
        NGramRelease.from_model(manifest, Model(model.json, tables))


# Frequent strings -------------------------------------------------------------------------------------


def test_candidates_of_the_worked_example() -> None:
    candidates = opened(TEXTS, "ABC", 6).candidates()
    for _ in range(4):
        candidates.take(0)
    assert len(candidates) == 11  # 3 symbols, 4 rounds: 3 + 4 * (3 - 1)


def test_the_most_frequent_strings_are_chosen_when_epsilon_is_large() -> None:
    chosen = top(TEXTS, 100, many=4).top(4)["string"].to_list()
    assert chosen[0] == "A"  # 2,000 times
    assert set(chosen) == {"A", "C", "B", "A,B"}  # 1,500 times each; the next is B,C with 1,000


def test_choices_have_the_stated_probabilities() -> None:
    # counts 3 and 1, at most 6 places, epsilon 6: a factor exp(6/6 * 2), or exp(6/12 * 2) as published
    sequences, runs = opened(["AAA", "B"], "AB", 6), 2000
    for constant, ratio in (("tight", exp(2)), ("published", exp(1))):
        chosen = 0
        for seed in range(runs):
            budget = Budget(6, randomness=Randomness.seeded(seed))
            chosen += TopStrings(1, constant).fit(sequences, budget).strings == ((0,),)  # type: ignore[arg-type]
        p = ratio / (1 + ratio)
        # binomial, beyond 6 standard deviations: below 3e-9 for each of the two
        assert abs(chosen - runs * p) < 6 * (runs * p * (1 - p)) ** 0.5


def test_chosen_strings_are_saved_and_loaded(tmp_path: Path) -> None:
    release = top(TEXTS, 10, many=5)
    release.save(tmp_path / "out")
    again = load(tmp_path / "out")
    assert isinstance(again, TopStringsRelease)
    assert again.strings == release.strings
    assert not again.can_sample
    manifest = Manifest(release.method, release.schema, release.receipt, {})
    with pytest.raises(ReleaseError, match="impossible"):
        TopStringsRelease.from_model(manifest, Model({"longest": 6, "strings": [[7]]}, {}))


def test_impossible_parameters_of_baselines_are_refused() -> None:
    for wrong in (lambda: NGram(0), lambda: TopStrings(0), lambda: TopStrings(3, "loose")):  # type: ignore[arg-type]
        with pytest.raises(UsageError):
            wrong()
