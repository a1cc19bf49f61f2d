"""Lines as updates: each of them by itself, whatever stands beside it and wherever it is cut."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from penstock.kinds.stream.hashing import from_texts, numbered
from penstock.kinds.stream.lines import LONGEST, Unfinished, read_lines

LETTERS = st.sampled_from(
    [b"a", b"1", b"0", b" ", b"\t", b"\r", b"\x0b", b"\x0c", b"\x00", b"\xff", b"-", b"7" * 19, b"z" * 70]
)
LINES = st.lists(st.lists(LETTERS, max_size=4).map(b"".join), max_size=8)


def said(lines: list[bytes], field: int | None) -> list[tuple[int, int]]:
    found = read_lines(b"".join(line + b"\n" for line in lines), field)
    assert found.number == len(lines)
    assert len(found.places) == len(found.updates)
    return list(zip(found.updates.ids.tolist(), found.updates.deltas.tolist(), strict=True))


@settings(max_examples=150, deadline=None)
@given(LINES, st.sampled_from([None, 1, 2]))
@example([b"ann\x0b", b"two words"], None)
@example([b"ann\x0c", b"ann\t1"], None)
@example([b"a\rb", b"z" * 70], None)
def test_a_line_is_the_same_update_whatever_stands_beside_it(lines: list[bytes], field: int | None) -> None:
    alone = [update for line in lines for update in said([line], field)]
    assert said(lines, field) == alone


@settings(max_examples=60, deadline=None)
@given(LINES, st.lists(st.integers(0, 60), max_size=4))
def test_a_line_is_the_same_update_wherever_it_is_cut(lines: list[bytes], cuts: list[int]) -> None:
    text = b"\n".join(lines)
    unfinished, found = Unfinished(), []
    for start, end in zip([0, *sorted(cuts)], [*sorted(cuts), len(text)], strict=True):
        found.append(unfinished.lines(text[start:end])[0])
    assert b"".join([*found, unfinished.last()]) == (
        text + b"\n" if text and not text.endswith(b"\n") else text
    )


def test_a_line_that_is_too_long_is_left_out_however_it_arrives() -> None:
    long = b"x" * (LONGEST + 1)
    whole = read_lines(b"ann\n" + long + b"\nbob\n")
    assert (len(whole.updates), [place for place, _ in whole.odd]) == (2, [1])
    tabbed = read_lines(b"ann\t1\n" + long + b"\nbob\n")
    assert (len(tabbed.updates), [place for place, _ in tabbed.odd]) == (2, [1])
    unfinished = Unfinished()
    assert unfinished.lines(b"ann\n" + long[:-1]) == (b"ann\n", False)
    assert unfinished.lines(b"x") == (b"", True)
    assert unfinished.lines(b"y" * 10) == (b"", False)
    assert unfinished.lines(b"y\nbob\nc") == (b"bob\n", False)
    assert unfinished.last() == b"c\n"


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(0, (1 << 64) - 1), min_size=1, max_size=5))
@example([0, 9, 10**18 - 1, 10**18, 10**19 - 1, 10**19, (1 << 64) - 1])
def test_a_number_is_the_same_id_as_its_digits(numbers: list[int]) -> None:
    as_texts = numbered([str(each) for each in numbers])
    assert as_texts.tolist() == numbers == numbered(np.array(numbers, dtype=np.uint64)).tolist()
    assert [int(numbered(str(each))[0]) for each in numbers] == numbers


def test_digits_that_are_no_number_of_64_bits_are_texts() -> None:
    for text in ("0017", "", "-3", "+3", str(1 << 64), str((1 << 64) + 17), "9" * 20, "1" * 21, "17 "):
        (found,) = from_texts([text.encode()]).tolist()
        assert found not in (17, 3, 0)
    assert numbered(["\ud800"]).size == 1
