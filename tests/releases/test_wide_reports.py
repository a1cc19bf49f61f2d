"""Reports of tables with hundreds of columns: as many pictures and rows as a reader can take in."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import penstock
from penstock.kinds.table.release import MOST_DRAWN
from penstock.privacy.budgets.receipt import Receipt
from penstock.releases import Release
from penstock.releases.public_report import MOST_FIELDS
from penstock.report.receipt import MOST_LINES, lines
from penstock.schema import Schema

COLUMNS = 260
ROWS = 300


def records(columns: int) -> pl.DataFrame:
    """Yes/no columns that answer to a few hidden ones."""
    rng = np.random.default_rng(2)
    hidden = rng.random((ROWS, 5)) < 0.5
    return pl.DataFrame(
        {f"c{n}": (hidden[:, n % 5] ^ (rng.random(ROWS) < 0.05)).astype(np.int64) for n in range(columns)}
    )


def wide(columns: int, target: str | None = None) -> Schema:
    field = "- {{name: c{}, type: integer, constraints: {{enum: [0, 1]}}}}"
    fields = "\n".join(field.format(n) for n in range(columns))
    return Schema.from_yaml((f"target: {target}\n" if target else "") + f"fields:\n{fields}\n")


def released(columns: int, method: str = "independent", target: str | None = None) -> Release:
    return penstock.release(records(columns), wide(columns, target), epsilon=50, method=method, seed=1)


def columns_drawn(release: Release) -> list[str]:
    return [picture.title for picture in release.pictures() if picture.title in release.schema.names]


@pytest.mark.parametrize("method", ["independent", "confluence", "laplace-marginals"])
def test_a_report_draws_as_many_columns_as_a_page_can_hold_and_says_how_many_it_does_not(method: str) -> None:
    release = released(COLUMNS, method)
    page = release.report()
    assert len(columns_drawn(release)) == MOST_DRAWN
    assert f"{COLUMNS - MOST_DRAWN} more fields are in the release and not drawn" in page
    assert f"The first {MOST_FIELDS} of {COLUMNS} fields; schema.yaml has all" in page
    assert len(page) < 300_000


def test_a_page_does_not_grow_with_the_number_of_columns() -> None:
    assert len(released(2 * COLUMNS).report()) < 1.02 * len(released(COLUMNS).report())


def test_a_table_of_few_columns_is_drawn_whole_and_says_nothing_about_it() -> None:
    release = released(MOST_DRAWN)
    assert columns_drawn(release) == list(release.schema.names)
    assert "not drawn" not in release.report()


def test_the_target_and_what_depends_most_on_one_another_are_drawn_first() -> None:
    last = f"c{COLUMNS - 1}"
    assert last in columns_drawn(released(COLUMNS, target=last))
    assert last not in columns_drawn(released(COLUMNS))
    frame = records(COLUMNS).with_columns(c250=pl.col("c251"))
    tied = penstock.release(frame, wide(COLUMNS), epsilon=50, method="confluence", seed=1)
    assert {"c250", "c251"} <= set(columns_drawn(tied))


def test_the_total_of_a_long_receipt_is_on_the_page() -> None:
    receipt: Receipt = released(COLUMNS).receipt
    assert len(lines(receipt)) > MOST_LINES
    page = released(COLUMNS).report()
    assert (
        f"The first {MOST_LINES} of {len(lines(receipt))} lines of the receipt; receipt.json has all" in page
    )
    assert "Total" in page


def test_an_evaluation_draws_the_columns_that_are_furthest_off() -> None:
    release, original = released(COLUMNS), records(COLUMNS)
    turned = original.with_columns(c255=1 - pl.col("c255"))
    page = penstock.evaluate(release, turned, learning=False)
    assert f"These are the {MOST_DRAWN} of {COLUMNS} that are furthest off" in page.report()
    (section,) = [one for one in page.sections if one.short == "Columns"]
    drawn = [picture.title for picture in section.blocks[0].pictures]
    assert "c255" in drawn
    assert len(drawn) == MOST_DRAWN
