"""The study of item sets: the data have the published shapes, and sentences follow from numbers."""

from __future__ import annotations

from typing import Any

import pytest

from frame import MissingDataError
from set_data import NAMES, STM_ITEMS, STM_LONGEST, Baskets, load, shaped
from set_pages import BUDGETS, PUBLISHED, SMALL, TOP, sentences

SHAPES = {
    "msnbc": (989_818, 17, 1.717, 17),
    "bms": (59_602, 497, 2.511, 267),
    "retail": (88_162, 16_470, 10.306, 76),
    "groceries": (9_835, 169, 4.409, 32),
    "mushroom": (8_124, 119, 23.0, 23),
}


def shape(baskets: Baskets) -> tuple[int, int, float, int]:
    sets = baskets.truth()
    mean = float(sets.sizes @ sets.weights) / sets.total
    return sets.total, baskets.items, round(mean, 3), int(sets.sizes.max())


@pytest.mark.parametrize("name", ["bms", "groceries", "mushroom"])
def test_a_dataset_has_the_shape_that_is_known(name: str) -> None:
    try:
        baskets = load(name)
    except MissingDataError as missing:
        pytest.skip(str(missing))
    assert shape(baskets) == SHAPES[name]


def test_made_up_sets_have_the_shape_of_the_transit_data() -> None:
    records, items, mean, longest = shape(shaped(20_000))
    assert (records, items) == (20_000, STM_ITEMS)
    assert 4.3 < mean < 5.3
    assert longest <= STM_LONGEST


def known(ours: float, theirs: float) -> dict[str, Any]:
    def one(error: float) -> dict[str, Any]:
        return {"errors": [error] * 5, "utility": {str(many): 1 - error for many in (20, 50, TOP)}}

    labels = {"sluice": ours, "diffpart": theirs, **dict.fromkeys(SMALL, 0.5), "items as columns": ours}
    return {
        "errors": {
            f"{label}|{name}|{epsilon}": one(error)
            for label, error in labels.items()
            for name in NAMES
            for epsilon in BUDGETS
        }
    }


def test_sentences_turn_with_the_numbers() -> None:
    better = {text: holds for text, holds, _ in sentences(known(0.1, 0.2))}
    worse = {text: holds for text, holds, _ in sentences(known(0.3, 0.2))}
    ours = [text for text in better if text.startswith("Ours")]
    assert len(ours) == 4  # those that rest on errors alone
    assert all(better[text] for text in ours)
    assert not any(worse[text] for text in ours)
    assert set(PUBLISHED) <= set(BUDGETS)
