"""Labels of charts on a phone: there is room beside an axis for what stands at its end."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from tests.browser.chromium import CHROMIUM, opened
from tests.browser.rendering import assert_renders

import penstock
from penstock.schema import Schema

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")


def test_reports_of_classifiers_and_clusters_leave_no_label_out_on_a_phone(tmp_path: Path) -> None:
    """Labels at the end of an axis have room beside it; they used to be hidden where they needed some."""
    rng = np.random.default_rng(0)
    names = ["age", "weight-in-kg", "education-num", "capital-gain", "capital-loss", "hours-per-week"]
    rows = pl.DataFrame(rng.random((500, 6)), schema=names)
    fields = [{"name": name, "type": "number", "constraints": {"minimum": 0, "maximum": 1}} for name in names]
    points = Schema.model_validate({"kind": "points", "fields": fields})
    labels = {"name": "label", "constraints": {"enum": ["low", "high"]}}
    table = Schema.model_validate({"fields": [*fields, labels], "target": "label"})
    people = rows.with_columns(
        label=pl.when(pl.col("age") > 0.5).then(pl.lit("high")).otherwise(pl.lit("low"))
    )
    pages = []
    for method, frame, schema in (("kmeans", rows, points), ("privpfc", people, table)):
        made = penstock.release(frame, schema, epsilon=4, method=method, seed=1, out=tmp_path / method)
        pages += [
            tmp_path / method / "report.html",
            penstock.evaluate(made, frame).save(tmp_path / f"{method}.html"),
        ]
    with opened(pages[0]) as page:
        for path in pages:
            for width in (1280, 390):
                page.visit(path, width=width, touch=width == 390)
                page.wait("document.documentElement.dataset.drawn")
                assert_renders(page)
                if path.name == "report.html" and path.parent.name == "kmeans":
                    shown = page.ask(VISIBLE_LABELS)
                    assert set(names) <= set(shown), width


VISIBLE_LABELS = """
[...document.querySelectorAll(".xtick text")]
  .filter(label => getComputedStyle(label).display !== "none" && label.getBoundingClientRect().width > 0)
  .map(label => label.textContent)
"""
