"""Baselines for releasing marginals: what a method for tables has to beat, with exact noise and receipts.

All of them are methods like any other: parameters in the constructor, `fit(table, budget)` gives a
release, and every release answers `marginal(names)`. `LaplaceMarginals` and `FourierMarginals` measure a
list of marginals and know nothing else. `Contingency` and `MWEM` hold the whole domain, so they can be
sampled, and need a domain that fits in memory. `Uniform` looks at nothing.
"""

from penstock.kinds.table.baselines.contingency import Contingency
from penstock.kinds.table.baselines.fourier import FourierMarginals
from penstock.kinds.table.baselines.laplace import LaplaceMarginals
from penstock.kinds.table.baselines.mwem import MWEM
from penstock.kinds.table.baselines.uniform import Uniform

__all__ = ["MWEM", "Contingency", "FourierMarginals", "LaplaceMarginals", "Uniform"]
