"""Other methods for points, to compare with: each behind the same `fit(points, budget)`.

The uniform grid has a page of its own, `penstock.kinds.points.grid`.
"""

from penstock.kinds.points.baselines.adaptive_grid import AdaptiveGrid
from penstock.kinds.points.baselines.dawa import Dawa
from penstock.kinds.points.baselines.hierarchy import Hierarchy
from penstock.kinds.points.baselines.privelet import Privelet
from penstock.kinds.points.baselines.simple_tree import SimpleTree

__all__ = ["AdaptiveGrid", "Dawa", "Hierarchy", "Privelet", "SimpleTree"]
