"""The exact worst loss of PrivTree's decisions about contexts, over neighbouring sets of sequences."""

from collections import Counter
from itertools import combinations_with_replacement, product
from math import exp, log, log1p

import numpy as np
import pytest

from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms.splitting import Splitter
from penstock.privacy.randomness.generator import Randomness

LONGEST, DEEPEST, SYMBOLS = 3, 4, "AB"

Scores = dict[str, int]


def splitter(epsilon: int, constant: str, paths: int = LONGEST) -> Splitter:
    pay = Budget(epsilon, randomness=Randomness.seeded(1))
    return Splitter.paid(pay, fan_out=len(SYMBOLS) + 1, paths=paths, constant=constant)  # type: ignore[arg-type]


def scores(texts: list[str]) -> Scores:
    """The score of every context that occurs, by a plain loop."""
    after: dict[str, Counter[str]] = {}
    for text in texts:
        marked = "$" + (text + "&")[:LONGEST]
        for place in range(1, len(marked)):
            for length in range(min(place, DEEPEST) + 1):
                after.setdefault(marked[place - length : place], Counter())[marked[place]] += 1
    return {context: sum(counts.values()) - max(counts.values()) for context, counts in after.items()}


def chances(tree: Splitter, score: int, depth: int) -> tuple[float, float]:
    """ln Pr[split] and ln Pr[no split]."""
    margin = max(score / float(tree.lam) - depth * float(tree.gamma), -float(tree.gamma))
    rare, common = -abs(margin) - log(2), log1p(-exp(-abs(margin)) / 2)
    return (common, rare) if margin > 0 else (rare, common)


def loss(tree: Splitter, larger: Scores, smaller: Scores) -> tuple[float, float]:
    """The largest and smallest log-ratio of the probabilities of any tree."""
    differing = [c for c in larger | smaller if larger.get(c, 0) != smaller.get(c, 0)]

    def below(context: str) -> tuple[float, float]:
        if len(context) >= DEEPEST or context[:1] == "$" or not any(c.endswith(context) for c in differing):
            return 0.0, 0.0
        one, two = (chances(tree, each.get(context, 0), len(context)) for each in (larger, smaller))
        yes, no = one[0] - two[0], one[1] - two[1]
        children = [below(symbol + context) for symbol in f"{SYMBOLS}$"]
        most, least = (sum(each) for each in zip(*children, strict=True))
        return max(no, yes + most), min(no, yes + least)

    return below("")


TEXTS = ["".join(letters) for length in range(LONGEST + 1) for letters in product(SYMBOLS, repeat=length)]
"""All sequences that can be told apart: one of the longest length has lost its end."""


def extremes(tree: Splitter) -> tuple[float, float]:
    """Over all sets of up to two sequences and all sequences that can be added; larger sets lose less."""
    found = [
        loss(tree, scores([*texts, text]), scores(list(texts)))
        for size in range(3)
        for texts in combinations_with_replacement(TEXTS, size)
        for text in TEXTS
    ]
    rng = np.random.default_rng(0)
    for _ in range(100):
        texts = [str(text) for text in rng.choice(TEXTS, rng.integers(3, 60))]
        found.append(loss(tree, scores([*texts, str(rng.choice(TEXTS))]), scores(texts)))
    return max(most for most, _ in found), min(least for _, least in found)


@pytest.mark.parametrize(("epsilon", "figure"), [(1, 0.495), (3, 1.102)])
def test_the_worst_loss_of_the_published_constant_stays_below_epsilon(epsilon: int, figure: float) -> None:
    tree = splitter(epsilon, "published")
    most, least = extremes(tree)
    assert most == pytest.approx(figure, abs=0.001)
    assert least == pytest.approx(-LONGEST / float(tree.lam), abs=1e-9)
    assert least == pytest.approx(-0.4 * epsilon, rel=1e-5)


@pytest.mark.parametrize("epsilon", [1, 6])
def test_the_worst_loss_of_the_tight_constant_stays_below_epsilon(epsilon: int) -> None:
    tree = splitter(epsilon, "tight")
    most, least = extremes(tree)
    assert 0.25 * epsilon < most <= epsilon
    assert least >= -LONGEST / float(tree.lam) - 1e-9


def test_noise_that_ignores_the_length_of_sequences_is_refuted() -> None:
    most, least = extremes(splitter(1, "published", paths=1))
    assert most > 1.045
    assert least == pytest.approx(-1.2, rel=1e-5)
