"""The picture of answers over time."""

from __future__ import annotations

from fractions import Fraction

from penstock.kinds.stream.book import Reading
from penstock.kinds.stream.page import drawn


def told(*seconds: int) -> list[Reading]:
    return [
        Reading(
            "distinct", None, 10.0 * second, 2.0, "ids", f"2026-01-02T03:04:{second:02d}+00:00", Fraction(1)
        )
        for second in seconds
    ]


def test_answers_stand_at_the_times_at_which_they_were_asked() -> None:
    picture = drawn("distinct", told(1, 2, 9))
    assert list(picture.figure.data[0].x) == [each.asked for each in told(1, 2, 9)]
    assert picture.figure.layout.xaxis.type == "date"


def test_answers_of_one_second_do_not_hide_each_other() -> None:
    picture = drawn("distinct", told(5, 5, 7))
    assert list(picture.figure.data[0].x) == ["answer 1", "answer 2", "answer 3"]
    assert list(picture.figure.data[0].y) == [50.0, 50.0, 70.0]
    assert picture.figure.layout.xaxis.type == "category"
