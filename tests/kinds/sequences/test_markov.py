"""Variable-order Markov models: counting, the most frequent strings, drawing."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.kinds.sequences.markov import Markov


def model(seed: int, symbols: int = 2, holes: bool = False) -> Markov:
    """A random tree of contexts, in which every sequence ends soon."""
    rng = np.random.default_rng(seed)
    children: list[list[int]] = [[-1] * (symbols + 1)]
    node, total = 0, 1
    while node < len(children) and total < 40:
        if node == 0 or rng.random() < 0.4:
            for symbol in range(symbols + 1):
                if holes and rng.random() < 0.3:
                    continue
                children[node][symbol] = total
                children.append([-1] * (symbols + 1))
                total += 1
        node += 1
    weights = rng.integers(0, 6, (total, symbols + 1)).astype(float)
    weights[:, -1] += 4
    weights[0] = 100 * rng.dirichlet(np.ones(symbols + 1)) + 1
    return Markov(np.array(children), weights)


def walked(markov: Markov, string: tuple[int, ...]) -> float:
    """The count of a string, by the definition."""
    count = float(markov.weights[0, string[0]])
    for place in range(1, len(string)):
        node = 0
        for symbol in reversed(string[:place]):
            if markov.children[node, symbol] < 0:
                break
            node = int(markov.children[node, symbol])
        while markov.weights[node].sum() == 0:
            (node,) = np.nonzero((markov.children == node).any(axis=1))[0]
        count *= markov.weights[node, string[place]] / markov.weights[node].sum()
    return count


@given(st.integers(0, 10**6), st.sampled_from([2, 3]), st.booleans())
@settings(max_examples=25, deadline=None)
def test_top_strings_are_those_of_an_exhaustive_enumeration(seed: int, symbols: int, holes: bool) -> None:
    markov = model(seed, symbols, holes)
    longest = 8 if symbols == 2 else 6
    strings = [s for length in range(1, longest + 1) for s in product(range(symbols), repeat=length)]
    counts = {string: markov.count(string) for string in strings}
    some = strings[:: max(1, len(strings) // 50)]
    assert [counts[string] for string in some] == pytest.approx([walked(markov, string) for string in some])
    ranked = sorted((s for s in strings if counts[s] > 0), key=lambda s: (-counts[s], len(s), s))[:12]
    beyond = max(counts[string] for string in strings if len(string) == longest)
    found = markov.top(12)
    for (string, count), expected in zip(found, ranked, strict=False):
        if count <= beyond * (1 + 1e-9):
            break
        assert count == pytest.approx(counts[expected])
        assert string == expected or count == pytest.approx(counts[string])


def test_ties_go_to_the_shorter_and_then_to_the_smaller() -> None:
    even = Markov(np.array([[-1, -1, -1]]), np.array([[2.0, 2.0, 0.0]]))
    assert [string for string, _ in even.top(5)] == [(0,), (1,), (0, 0), (0, 1), (1, 0)]


def test_drawn_sequences_follow_the_model() -> None:
    markov, many = model(3), 60_000
    codes, lengths = markov.draw(many, 50, np.random.default_rng(1))
    ends = np.cumsum(lengths)
    drawn = [tuple(codes[end - length : end].tolist()) for end, length in zip(ends, lengths, strict=True)]
    for string in [(), (0,), (1,), (0, 1), (1, 1, 0)]:
        whole = (2, *string, 2)
        share = 1.0
        for node, symbol in markov.steps(whole):
            share *= markov.shares[node, symbol]
        # binomial, beyond 6 standard deviations: below 3e-9 for each of the five
        assert abs(drawn.count(string) - many * share) <= 6 * (many * share * (1 - share)) ** 0.5


def test_a_thousand_symbols_are_drawn_by_their_weights() -> None:
    weights = np.zeros((1, 1001))
    weights[0, [5, 700, 1000]] = [1, 2, 1]
    codes, lengths = Markov(np.full((1, 1001), -1), weights).draw(20_000, 30, np.random.default_rng(0))
    assert set(np.unique(codes)) == {5, 700}
    assert abs((codes == 700).mean() - 2 / 3) < 0.02  # 60,000 draws, standard deviation 0.002: beyond 10
    assert abs(lengths.mean() - 3) < 0.2  # geometric with mean 3 and deviation 3.5: 8 standard errors


def test_no_sequences_and_no_length_are_nothing() -> None:
    markov = model(1)
    assert [each.tolist() for each in markov.draw(0, 5, np.random.default_rng(0))] == [[], []]
    assert [each.tolist() for each in markov.draw(2, 0, np.random.default_rng(0))] == [[], [0, 0]]
