"""Pictures of released item sets: frequent items and pairs, sizes, and the tree of items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from penstock.kinds.itemsets.item_tree import ItemTree
from penstock.report import diagrams
from penstock.report.numbers import percent, readable
from penstock.report.picture import Picture
from penstock.report.pictures import bars, histogram

if TYPE_CHECKING:
    from penstock.kinds.itemsets.release import ItemSetsRelease

SHOWN = 20
SHOWN_SIZES = 40
SHOWN_NODES = 60
FAN_OUT = 10


def of(release: ItemSetsRelease) -> Sequence[Picture]:
    """All pictures that there is something to see in."""
    found = (*most_frequent(release, 2), _sizes(release), _groups(release))
    return [picture for picture in found if picture is not None]


def most_frequent(release: ItemSetsRelease, longest: int) -> list[Picture]:
    """The most frequent items, pairs and so on, up to sets of so many items."""
    titles = {1: "items", 2: "pairs"}
    found = (
        _frequent(release, size, f"Most frequent {titles.get(size, f'sets of {size} items')}")
        for size in range(1, longest + 1)
    )
    return [picture for picture in found if picture is not None]


def _frequent(release: ItemSetsRelease, size: int, title: str) -> Picture | None:
    top = release.frequent(SHOWN, smallest=size, largest=size)
    if not top:
        return None
    labels = [" + ".join(release.universe[code] for code in codes) for codes, _ in top]
    told = f"The {len(top)} most frequent ones; {labels[0]} leads with {readable(top[0][1])} sets."
    return bars(title, labels, [count for _, count in top], caption=told, amount="sets", most=SHOWN)


def _sizes(release: ItemSetsRelease) -> Picture:
    found = release.sizes()
    sizes, counts = found["size"].to_numpy(), found["count"].to_numpy().astype(np.float64)
    total = max(1.0, float(counts.sum()))
    shown = counts[: SHOWN_SIZES + 1]
    larger = float(counts[SHOWN_SIZES + 1 :].sum()) / total
    told = f"Sets have {float(sizes @ counts) / total:.3g} items on average"
    told += f"; {percent(larger)} of them, not shown, have more than {SHOWN_SIZES}." if larger else "."
    return histogram(
        "Sizes of sets",
        (np.arange(len(shown) + 1) - 0.5).tolist(),
        100 * shown / total,
        caption=told,
        amount="percent of sets",
        axis="number of items",
        labels=[str(size) for size in range(len(shown))],
    )


def _groups(release: ItemSetsRelease) -> Picture | None:
    """The groups of items by which sets were told apart, and how many sets meet each."""
    told_apart = "fan_out" in release.parameters
    given = release.parameters.get("fan_out", FAN_OUT)
    tree = ItemTree.declared(release.schema, given if isinstance(given, int) else FAN_OUT)
    if tree.root < tree.size:
        return None
    sets = release.synthetic
    place = np.zeros(tree.size, dtype=np.int64)
    place[tree.order] = np.arange(tree.size)
    owners, weights = sets.owners, sets.weights
    parents, names, values = [-1], ["all items"], [float(sets.total)]
    waiting = [(tree.root, 0)]
    while waiting and len(names) < 4 * SHOWN_NODES:
        node, above = waiting.pop(0)
        for member in tree.members(node):
            low, high = tree.bounds[member]
            at = place[sets.items]
            met = np.unique(owners[(at >= low) & (at < high)])
            labels = [release.universe[code] for code in tree.order[[low, high - 1]]]
            names.append(labels[0] if member < tree.size else f"{labels[0]} … {labels[1]}")
            parents.append(above)
            values.append(float(weights[met].sum()))
            waiting.append((member, len(names) - 1))
    return diagrams.tree(
        "The groups of items by which sets are told apart" if told_apart else "The groups of items",
        names,
        parents,
        values,
        caption="Tree of the items: to the right, groups become smaller. The value is how many of the "
        "released sets meet a group.",
        amount="sets",
        most=SHOWN_NODES,
    )
