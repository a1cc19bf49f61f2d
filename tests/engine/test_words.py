"""Codes in few whole numbers: every column finds its bits again, wherever they were moved."""

from __future__ import annotations

import ibis
import numpy as np
import polars as pl
import pytest

from penstock.engine.coordinates import MOST_BITS, Coordinate
from penstock.engine.words import Words, coarser, finest


@pytest.mark.parametrize("seed", range(6))
def test_bits_of_several_words_make_one_number_that_tells_the_codes_apart(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = [int(size) for size in rng.integers(1, 40, 60)]
    words = Words.of(sizes)
    codes = [rng.integers(0, size, 50) for size in sizes]
    frame = pl.DataFrame({f"c{number}": column for number, column in enumerate(codes)})
    plain = ibis.memtable(frame)
    table = plain.select(**words.packed([plain[name] for name in plain.columns]))
    assert table.columns == tuple(words.names)
    for count in (1, 2, 4, 5):
        numbers = [int(number) for number in rng.choice(len(sizes), count, replace=False)]
        together = words.together(table, numbers)
        assert together is not None
        key, behind = together
        found = table.select(key=key).to_polars()["key"].to_numpy()
        for number, column in zip(numbers, words.codes_of(found, numbers, behind), strict=True):
            assert np.array_equal(column, codes[number])
        assert len(np.unique(found & 0xFFFFFFFF ^ found >> 32)) == len(np.unique(found))  # as it is hashed
    number = int(rng.integers(len(sizes)))
    found = table.select(code=words.code(table, number)).to_polars()["code"].to_numpy()
    assert np.array_equal(found, codes[number])


def test_columns_that_need_more_bits_than_are_hashed_find_no_place() -> None:
    words = Words.of([1 << 20, 1 << 20])
    table = ibis.table({"w0": "int64"}, name="codes")
    assert words.together(table, [0, 1]) is None
    assert words.together(table, [1]) is not None


@pytest.mark.parametrize("bits", [0, 1, 10, 31, MOST_BITS])
def test_positions_of_every_lattice_follow_from_those_of_the_finest(bits: int) -> None:
    rng = np.random.default_rng(bits)
    place = Coordinate(-0.3, 7.1)
    edges = -0.3 + (7.1 + 0.3) * np.arange(9) / 8
    values = np.concatenate([rng.uniform(-0.3, 7.1, 500), edges, np.nextafter(edges[1:], 0), [7.1, 5e-324]])
    table = ibis.memtable(pl.DataFrame({"x": [*values.tolist(), None]}))
    found = table.select(p=coarser(finest(place, table["x"]), bits)).to_polars()["p"].to_list()
    assert found == [*place.positions(values, bits).tolist(), None]
