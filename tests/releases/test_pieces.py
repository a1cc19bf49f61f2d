"""Many synthetic rows are drawn in pieces, and are the same rows whoever puts them together."""

import polars as pl
import pytest

from penstock import Release, Schema, release
from penstock.demo import survey, survey_schema
from penstock.releases.published import ROWS_AT_ONCE


@pytest.fixture(scope="module")
def made() -> Release:
    return release(survey(1000), Schema.from_yaml(survey_schema()), epsilon=1, seed=1)


def test_pieces_are_never_longer_than_what_fits(made: Release) -> None:
    wanted = 2 * ROWS_AT_ONCE + 5
    heights = [piece.height for piece in made.pieces(*made.drawing(wanted, 1))]
    assert heights == [ROWS_AT_ONCE, ROWS_AT_ONCE, 5]


@pytest.mark.parametrize("n", [0, 7, ROWS_AT_ONCE + 3])
def test_a_sample_is_its_pieces(made: Release, n: int) -> None:
    together = pl.concat(made.pieces(*made.drawing(n, 3)))
    assert made.sample(n, seed=3).equals(made.schema.marked(together))
    assert together.height == n
