"""Item sets of the literature, as the study of DiffPart reads them, and made-up ones of a given shape.

The universe of a dataset here is the items that occur in it, since no list of all that could was published.
So the figures are those of data whose public list happens to have no further items; with real records a list
must never be made like that.
"""

from __future__ import annotations

import csv
import gzip
from dataclasses import dataclass

import numpy as np
import polars as pl

from frame.data import file
from penstock.kinds.itemsets.weighted import WeightedSets
from penstock.schema import Schema

STM_RECORDS, STM_ITEMS, STM_MEAN, STM_LONGEST = 1_210_096, 1_012, 4.82, 64


@dataclass(frozen=True)
class Baskets:
    """Sets of items 0 ... items - 1 as texts, with the schema that an expert would write for them."""

    name: str
    rows: pl.DataFrame
    items: int

    @property
    def schema(self) -> Schema:
        labels = [str(item) for item in range(self.items)]
        facts = {
            "kind": "itemsets",
            "items": {"item": "items"},
            "fields": [{"name": "items", "constraints": {"enum": labels}}],
        }
        return Schema.model_validate(facts)

    def truth(self) -> WeightedSets:
        """Every different set with how often it occurs."""
        lists = self.rows["items"].str.split(" ")
        sizes = lists.list.len().to_numpy().astype(np.int64)
        items = lists.explode().cast(pl.Int64).to_numpy()
        return WeightedSets.counted(sizes, items)


def load(name: str) -> Baskets:
    """A dataset by name; the numbers of its items are those of the file, in ascending order."""
    if name == "msnbc":
        return _msnbc()
    if name == "mushroom":
        return _mushroom()
    lines = _lines(FILES[name])
    sets = [sorted({int(word) for word in line.split()}) for line in lines if line.strip()]
    known = {item: place for place, item in enumerate(sorted({item for one in sets for item in one}))}
    texts = [" ".join(str(known[item]) for item in one) for one in sets]
    return Baskets(name, pl.DataFrame({"items": texts}), len(known))


FILES = {
    "bms": "bms_webview1/bms_webview1.txt.gz",
    "retail": "retail/retail.txt.gz",
    "groceries": "groceries/groceries.txt.gz",
    "kosarak": "kosarak/kosarak_first25k.txt.gz",
}
NAMES = ("msnbc", "bms", "retail", "groceries", "kosarak", "mushroom")


def _lines(path: str) -> list[str]:
    with gzip.open(file(path), "rt", encoding="utf-8") as text:
        return text.read().splitlines()


def _msnbc() -> Baskets:
    """Sequences of visits, without order and repetition: 989,818 sets over 17 categories."""
    texts = [
        " ".join(map(str, sorted({int(word) - 1 for word in line.split()})))
        for line in _lines("msnbc/msnbc.seq.gz")
    ]
    return Baskets("msnbc", pl.DataFrame({"items": texts}), 17)


def _mushroom() -> Baskets:
    """Every column with its value is an item: 8,124 sets of 23 items each."""
    rows = list(csv.reader(_lines("mushroom/mushroom.csv.gz")))
    sets = [[f"{column}={value}" for column, value in enumerate(row)] for row in rows[1:]]
    known = {item: place for place, item in enumerate(sorted({item for one in sets for item in one}))}
    texts = [" ".join(str(place) for place in sorted(known[item] for item in one)) for one in sets]
    return Baskets("mushroom", pl.DataFrame({"items": texts}), len(known))


def shaped(records: int, items: int = STM_ITEMS, seed: int = 0, together: float = 0.7) -> Baskets:
    """Made-up sets with the size, universe and mean length of the transit data, which are not public.

    Items are grouped: most of a set's items come from the neighbourhood of its first one, as stations do.
    With `together` 0 they are independent of each other, the i-th most frequent with a share like 1/i^0.8.
    """
    rng = np.random.default_rng(seed)
    sizes = np.minimum(rng.geometric(1 / 5.3, records), STM_LONGEST)
    popularity = 1 / np.arange(1, items + 1) ** 0.8
    order = rng.permutation(items)
    homes = order[rng.choice(items, size=records, p=popularity / popularity.sum())]
    near = np.repeat(homes, sizes) + np.round(rng.laplace(0, 6, int(sizes.sum()))).astype(np.int64)
    far = order[rng.choice(items, size=len(near), p=popularity / popularity.sum())]
    drawn = np.where(rng.random(len(near)) < together, np.clip(near, 0, items - 1), far)
    pairs = np.unique(np.repeat(np.arange(records), sizes) * items + drawn)
    owner, place = pairs // items, pairs % items
    frame = pl.DataFrame({"owner": owner, "items": place.astype(str)})
    texts = frame.group_by("owner", maintain_order=True).agg(pl.col("items").str.join(" "))
    return Baskets("shaped", texts.select("items"), items)
