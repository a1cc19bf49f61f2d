"""Every kind of error bar covers the truth about as often as it promises: the study of coverage, in small."""

from __future__ import annotations

import pytest

from error_bars import LEAST, MOST, SMALL, Case, Coverage, cases, measured

RELEASES = 40
ENOUGH = 28
"""Of 40 bars that cover 95 % each, fewer than 28 cover with probability 4e-8; of all kinds together 6e-7."""

CASES = {case.name: case for case in cases()}


@pytest.mark.parametrize("name", CASES)
def test_error_bars_cover_the_truth(name: str) -> None:
    """One question a release, so that the answers are independent."""
    case = CASES[name]
    question = next(iter(case.truth))
    found = measured(Case(name, case.kind, case.make, {question: case.truth[question]}), SMALL, RELEASES)
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
