"""Takes the pictures of the pages about selections from real releases of made-up data; needs Chromium.

`python docs/selection_pictures.py`. The noise is fresh each time, so the pictures differ in detail.
"""

from __future__ import annotations

import sys

import numpy as np
import polars as pl
from audit_page import photograph  # beside this file

import penstock
from penstock.demo import survey, survey_schema

GOODS = """
    apples bananas beans beef beer berries bread butter cabbage cake carrots cheese chicken chocolate coffee
    cream eggs fish flour grapes ham honey jam juice lamb leeks lemons lettuce milk mushrooms mustard nuts
    oats oil onions pasta pears peas pepper pizza plums potatoes rice salt sausages soup spinach sugar tea
    tomatoes wine yoghurt
"""
SCHEMA = f"""
kind: itemsets
items: {{item: goods}}
fields:
  - {{name: goods, constraints: {{enum: {GOODS.split()}}}}}
"""


def baskets(count: int = 20_000, seed: int = 0) -> pl.DataFrame:
    """Made-up baskets: every basket holds each good with a chance of its own."""
    rng = np.random.default_rng(seed)
    goods = np.array(GOODS.split())
    chances = rng.permutation(0.4 / np.arange(1, goods.size + 1) ** 0.7)
    held = rng.random((count, goods.size)) < chances
    return pl.DataFrame({"goods": [" ".join(goods[row]) for row in held]})


def main() -> int:
    schema = penstock.Schema.from_yaml(SCHEMA)
    items = penstock.select(baskets(), schema, epsilon=1, c=20, counts="1/4")
    people = penstock.Schema.from_yaml(survey_schema())
    column = penstock.select(survey(), people, epsilon=1, c=4, column="commute")
    done = [
        photograph(release.pictures()[0].figure, f"{name}.png")
        for name, release in (("select-items", items), ("select-categories", column))
    ]
    return max(done)


if __name__ == "__main__":
    sys.exit(main())
