"""Evaluation of the default for item sets: that of all releases of item sets."""

from __future__ import annotations

from penstock.kinds.itemsets.evaluation import ItemSetsEvaluation


class SluiceEvaluation(ItemSetsEvaluation):
    """How far counts, frequent sets of items and sizes are from the original's."""
