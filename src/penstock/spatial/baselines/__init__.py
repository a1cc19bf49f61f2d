"""Other methods for points, to compare with: each behind the same `fit(points, budget)`.

The uniform grid has a page of its own, `penstock.spatial.grid`.
"""

from penstock.spatial.baselines.adaptive_grid import AdaptiveGrid
from penstock.spatial.baselines.dawa import Dawa
from penstock.spatial.baselines.hierarchy import Hierarchy
from penstock.spatial.baselines.privelet import Privelet
from penstock.spatial.baselines.simple_tree import SimpleTree

__all__ = ["AdaptiveGrid", "Dawa", "Hierarchy", "Privelet", "SimpleTree"]
