"""Every kind of error bar covers the truth about as often as it promises: the study of coverage, in small."""

from __future__ import annotations

from dataclasses import replace

import pytest

from error_bars import LEAST, MOST, SMALL, Coverage, cases, measured

RELEASES = 40
ENOUGH = 28
"""Of 40 bars that cover 95 % each, fewer than 28 cover with probability 4e-8; of all kinds together 8e-7."""

CASES = {case.name: case for case in cases()}


@pytest.mark.parametrize("name", CASES)
def test_error_bars_cover_the_truth(name: str) -> None:
    """One question a release, so that the answers are independent."""
    case = CASES[name]
    question = next(iter(case.truth))
    found = measured(replace(case, truth={question: case.truth[question]}), SMALL, RELEASES)
    assert found.bars == RELEASES
    assert found.covered >= ENOUGH


def test_a_kind_of_bar_is_good_between_its_limits() -> None:
    case = next(iter(CASES.values()))

    def covering(share: float, epsilon: str) -> Coverage:
        return Coverage(case, epsilon, 1000, 1000, round(1000 * share), 1)

    assert covering(0.95, SMALL).good
    assert not covering(LEAST - 0.01, SMALL).good
    assert not covering(MOST + 0.01, SMALL).good
    assert covering(MOST + 0.01, "4").good
    bound = replace(covering(1.0, SMALL), case=replace(case, bound=True))
    assert bound.good
    assert not replace(bound, covered=900).good


def test_every_method_with_a_bar_is_in_the_study() -> None:
    """Bars that count by noise of another kind are cases of their own."""
    tried = {case.make(SMALL, 0).method for case in CASES.values()}
    assert tried >= {"confluence", "privbayes", "independent", "contingency", "laplace-marginals"}
    assert tried >= {"set-histogram", "select-items", "laplace-counts", "degree-sequence", "ladder"}
    assert any(case.make(SMALL, 0).receipt.delta > 0 for case in CASES.values())
