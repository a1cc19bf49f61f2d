"""Different values, as NumPy finds them."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine.distinct import distinct


@given(st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(0, 3)))
def test_distinct_values_are_those_that_numpy_finds(values: list[int]) -> None:
    given_values = np.array(values, dtype=np.int64)
    before = given_values.copy()
    found = distinct(given_values)
    assert found.dtype == np.int64
    assert np.array_equal(found, np.unique(given_values))
    assert np.array_equal(given_values, before)
