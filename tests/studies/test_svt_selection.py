"""The published Zipf cells that are quick to repeat, and the scores they rest on.

A cell passes when the means over 100 runs differ by at most 3.5 standard errors plus 0.001: for a right
implementation each fails with probability below 5e-4, and the seeds are fixed.
"""

from __future__ import annotations

import pytest

import svt_selection as study


@pytest.mark.parametrize("cell", study.FAST, ids=lambda cell: " ".join(map(str, cell)))
def test_published_cells_are_reproduced(cell: tuple[str, int, str]) -> None:
    found = study.run("zipf", *cell, repetitions=100)
    assert found.published is not None
    assert found.distance is not None
    assert found.distance <= 1, study.comparison([found])


def test_the_zipf_scores_are_the_published_ones() -> None:
    scores = study.zipf()
    assert sum(1 / i for i in range(1, 10_001)) == pytest.approx(study.HARMONIC, abs=1e-12)
    expected = {0: 102170.0298, 49: 2043.4006, 50: 2003.3339, 9999: 10.2170}
    assert {place: round(float(scores[place]), 4) for place in expected} == expected


def test_all_legible_cells_are_there() -> None:
    """Two budgets, five numbers, nine algorithms, and three cells that are lost in the print."""
    assert len(study.PUBLISHED) == 2 * 5 * 9 - 3
    assert study.PUBLISHED["0.5", 300, "1:c^2/3"] == (0.907, 0.058)


def test_one_shot_beats_the_exponential_mechanism() -> None:
    """Mean error 0.248 against 0.264 with a deviation of 0.014: 15 runs each differ by 3 standard errors."""
    ours, theirs = (study.run("zipf", "0.1", 100, name, repetitions=15) for name in ("one-shot", "EM"))
    assert ours.error < theirs.error


def test_a_miss_is_marked_and_three_are_too_many() -> None:
    wrong = [study.Cell("zipf", "0.1", 50, name, 0.5, 0.01, 0.5, 100) for name in ("EM", "1:1", "1:c", "1:3")]
    assert study.mark(wrong[0]).startswith("MISS")
    assert study.verdict(wrong)[0] is False
    assert study.verdict(wrong[:2])[0] is True
    assert "| 0.1 | 50 | EM | 0.082 ± 0.011 | 0.500 ± 0.010 | +0.418 | 6.10 | MISS" in study.comparison(wrong)
