"""Pictures of released item sets: frequent items and pairs, sizes, and the tree of items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from penstock.kinds.itemsets.item_tree import ItemTree
from penstock.kinds.itemsets.layout import ItemSetLayout
from penstock.report import diagrams
from penstock.report.numbers import percent, readable
from penstock.report.picture import Picture
from penstock.report.pictures import bars, histogram
from penstock.schema.taxonomy import Taxonomy

if TYPE_CHECKING:
    from penstock.kinds.itemsets.release import ItemSetsRelease

SHOWN = 20
SHOWN_SIZES = 40
SHOWN_NODES = 40
LETTERS, LETTERS_OF_LARGER = 30, 70
"""So many letters of a set are drawn beside its bar; larger sets have the whole width of the page."""
FAN_OUT = 10


def of(release: ItemSetsRelease) -> Sequence[Picture]:
    """All pictures that there is something to see in."""
    found = (*most_frequent(release, 2), _sizes(release), _groups(release))
    return [picture for picture in found if picture is not None]


def most_frequent(release: ItemSetsRelease, longest: int) -> list[Picture]:
    """The most frequent items and pairs, and all larger sets of up to so many items in one picture."""
    found = (
        _frequent(release, 1, 1, "Most frequent items"),
        _frequent(release, 2, 2, "Most frequent pairs"),
        _frequent(release, 3, longest, "Most frequent sets of three items and more") if longest > 2 else None,
    )
    return [picture for picture in found if picture is not None]


def _frequent(release: ItemSetsRelease, smallest: int, largest: int, title: str) -> Picture | None:
    top = release.frequent(SHOWN, smallest=smallest, largest=largest)
    if not top:
        return None
    labels = [" + ".join(release.universe[code] for code in codes) for codes, _ in top]
    leads = f"{labels[0]} leads with {readable(top[0][1])} sets."
    told = f"The {len(top)} most frequent ones; {leads}" if len(top) > 1 else f"There is one: {labels[0]}."
    wide = smallest > 2
    drawn = bars(
        title,
        labels,
        [count for _, count in top],
        caption=told,
        amount="sets",
        most=SHOWN,
        letters=LETTERS_OF_LARGER if wide else LETTERS,
    )
    return replace(drawn, wide=wide)


def _sizes(release: ItemSetsRelease) -> Picture:
    found = release.sizes()
    sizes, counts = found["size"].to_numpy(), found["count"].to_numpy().astype(np.float64)
    total = max(1.0, float(counts.sum()))
    shown = counts[: SHOWN_SIZES + 1]
    larger = float(counts[SHOWN_SIZES + 1 :].sum()) / total
    told = f"Sets have {float(sizes @ counts) / total:.3g} items on average"
    told += f"; {percent(larger)} of them, not shown, have more than {SHOWN_SIZES}." if larger else "."
    drawn = histogram(
        "Sizes of sets",
        (np.arange(len(shown) + 1) - 0.5).tolist(),
        100 * shown / total,
        caption=told,
        amount="percent of sets",
        axis="number of items",
        labels=[str(size) for size in range(len(shown))],
    )
    return replace(drawn, wide=True)


def _groups(release: ItemSetsRelease) -> Picture | None:
    """The groups of items by which sets were told apart, and how many sets meet each."""
    told_apart = "fan_out" in release.parameters
    given = release.parameters.get("fan_out", FAN_OUT)
    tree = ItemTree.declared(release.schema, given if isinstance(given, int) else FAN_OUT)
    if tree.root < tree.size:
        return None
    sets = release.synthetic
    place = np.zeros(tree.size, dtype=np.min_scalar_type(tree.size))
    place[tree.order] = np.arange(tree.size)
    at = place[sets.items]
    order = np.argsort(at, kind="stable")
    at, owners = at[order], sets.owners[order]
    declared = _declared(release)
    parents, names, values = [-1], ["all items"], [float(sets.total)]
    short = ["all items"]
    waiting = [(tree.root, 0)]
    while waiting and len(names) < 4 * SHOWN_NODES:
        node, above = waiting.pop(0)
        for member in tree.members(node):
            low, high = tree.bounds[member]
            met = np.zeros(len(sets), dtype=np.bool_)
            met[owners[slice(*np.searchsorted(at, [low, high]))]] = True
            labels = [release.universe[code] for code in tree.order[[low, high - 1]]]
            names.append(
                labels[0]
                if member < tree.size
                else declared.get((int(low), int(high)), f"{labels[0]} … {labels[1]}")
            )
            between = member >= tree.size and (int(low), int(high)) not in declared
            short.append(f"{high - low} items" if between else names[-1])
            parents.append(above)
            values.append(float(sets.weights[met].sum()))
            waiting.append((member, len(names) - 1))
    return diagrams.tree(
        "The groups of items by which sets are told apart" if told_apart else "The groups of items",
        names,
        parents,
        values,
        caption="Tree of the items: to the right, groups become smaller. The value is how many of the "
        f"released sets meet a group.{_stopped(release) if told_apart else ''}",
        amount="sets",
        most=SHOWN_NODES,
        short=short,
    )


def _stopped(release: ItemSetsRelease) -> str:
    """How far the records were divided, of what was released."""
    divided, left_out = (getattr(release, name, 0) for name in ("divided", "left_out"))
    told = f" {divided:,} parts of the records were divided, and none of what came of it has items of a "
    told += "group that is met by 0 sets."
    return told + (f" {left_out:,} parts that passed were left out." if left_out else "")


def _declared(release: ItemSetsRelease) -> dict[tuple[int, int], str]:
    """What the groups of the schema's taxonomy are called, by the places of their items in the tree."""
    found: dict[tuple[int, int], str] = {}
    taxonomy = release.schema.field(ItemSetLayout.of(release.schema).item).taxonomy

    def walk(group: Taxonomy, begin: int) -> int:
        end = begin + 1 if not group.children else begin
        for child in group.children:
            end = walk(child, end)
        if group.children:
            found.setdefault((begin, end), group.label)
        return end

    if taxonomy is not None:
        walk(taxonomy, 0)
    return found
