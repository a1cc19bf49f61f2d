"""The page of a stream: answers over time, what was paid, and what it rests on."""

from __future__ import annotations

from fractions import Fraction

from tests.kinds.stream.streams import schema

from penstock.kinds.stream.book import Reading
from penstock.kinds.stream.page import LISTED, drawn, page
from penstock.stream import ContinualCounter, IncidenceCounter


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
    alone = drawn("distinct", told(5))
    assert alone.figure.layout.xaxis.type == "category"
    assert alone.caption.startswith("1 answer: 50 ± 2 ids")


def test_of_many_answers_the_last_are_listed_and_all_are_drawn() -> None:
    counter = ContinualCounter(
        schema("add-remove", most=1, protects="event"), epsilon=2, steps=LISTED + 9, seed=1
    )
    for number in range(LISTED + 9):
        counter.step(seed=number)
    text = page(counter, "clicks")
    assert f"The last {LISTED} of {LISTED + 9} answers" in text
    assert f"{LISTED + 9} answers; the last is" in text
    assert "All steps were paid for when the stream was opened." in text
    assert "weight of the whole stream" not in text


def test_the_page_says_where_the_weight_of_a_stream_is_public() -> None:
    counter = IncidenceCounter(schema(ids=100), epsilon=2, weigh=True)
    assert "neighbours are streams whose updates pass to another id" in page(counter, "visits")
    assert "the weight of the whole stream is public at every moment" in counter.guarantee
