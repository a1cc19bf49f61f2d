"""The methods that Penstock ships, by name: a plain list that costs nothing to read.

Nothing heavy is imported until a method is loaded, so that the command line can list and validate
names at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from typing import Any

from penstock.errors import UsageError


@dataclass(frozen=True)
class MethodInfo:
    """What can be said of a method without loading it."""

    name: str
    kind: str
    where: str
    summary: str
    guarantee: str
    relations: tuple[str, ...]
    data: str
    default: bool = False

    @property
    def pure(self) -> bool:
        """Whether the method has no use for a delta."""
        return self.guarantee == "pure epsilon"

    def load(self) -> type[Any]:
        """The method's class; its constructor takes the parameters, `fit(data, budget)` does the work."""
        return _attribute(self.where)

    def load_data(self) -> type[Any]:
        """The sealed handle that `fit` takes; `open(source, schema)` makes one."""
        return _attribute(self.data)


def _attribute(where: str) -> type[Any]:
    module, _, name = where.partition(":")
    found: type[Any] = getattr(import_module(module), name)
    return found


_TABLE = "penstock.kinds.table.data:Table"
_POINTS = "penstock.kinds.points.data:Points"
_SEQUENCES = "penstock.kinds.sequences.data:Sequences"
_ITEM_SETS = "penstock.kinds.itemsets.data:ItemSets"

METHODS: tuple[MethodInfo, ...] = (
    MethodInfo(
        "independent",
        "table",
        "penstock.kinds.table.independent:Independent",
        "noisy one-way marginals, columns sampled independently",
        "pure epsilon",
        ("add-remove", "replace"),
        _TABLE,
    ),
    MethodInfo(
        "confluence",
        "table",
        "penstock.kinds.table.confluence.method:Confluence",
        "tables of counts, as many as the budget can buy, merged into one Bayesian network",
        "pure epsilon",
        ("add-remove", "replace"),
        _TABLE,
        default=True,
    ),
    MethodInfo(
        "privbayes",
        "table",
        "penstock.kinds.table.privbayes.method:PrivBayes",
        "a Bayesian network that is chosen privately and counted, as published",
        "pure epsilon",
        ("add-remove", "replace"),
        _TABLE,
    ),
    MethodInfo(
        "privtree",
        "points",
        "penstock.kinds.points.privtree:PrivTree",
        "a tree that is fine where points are many, with noisy counts",
        "pure epsilon",
        ("add-remove",),
        _POINTS,
        default=True,
    ),
    MethodInfo(
        "uniform-grid",
        "points",
        "penstock.kinds.points.grid:UniformGrid",
        "one noisy histogram over a regular grid",
        "pure epsilon",
        ("add-remove",),
        _POINTS,
    ),
    MethodInfo(
        "privtree-sequences",
        "sequences",
        "penstock.kinds.sequences.suffix_tree:PrivTreeSequences",
        "a tree of contexts that says what comes next, with noisy counts",
        "pure epsilon",
        ("add-remove",),
        _SEQUENCES,
        default=True,
    ),
    MethodInfo(
        "n-gram",
        "sequences",
        "penstock.kinds.sequences.ngram:NGram",
        "noisy counts of short strings, made consistent",
        "pure epsilon",
        ("add-remove",),
        _SEQUENCES,
    ),
    MethodInfo(
        "top-strings",
        "sequences",
        "penstock.kinds.sequences.top_strings:TopStrings",
        "frequent strings chosen one after the other, without counts",
        "pure epsilon",
        ("add-remove",),
        _SEQUENCES,
    ),
    MethodInfo(
        "select-items",
        "itemsets",
        "penstock.learn.selection.select:SelectItems",
        "the most frequent items, or those above a threshold",
        "pure epsilon",
        ("add-remove", "replace"),
        _ITEM_SETS,
    ),
    MethodInfo(
        "select-categories",
        "table",
        "penstock.learn.selection.select:SelectCategories",
        "the most frequent categories of a column, or those above a threshold",
        "pure epsilon",
        ("add-remove", "replace"),
        _TABLE,
    ),
)


def _for_points(name: str, where: str, summary: str) -> MethodInfo:
    place = f"penstock.kinds.points.baselines.{where}"
    return MethodInfo(name, "points", place, summary, "pure epsilon", ("add-remove",), _POINTS)


def _for_tables(
    name: str, where: str, summary: str, relations: tuple[str, ...] = ("add-remove", "replace")
) -> MethodInfo:
    place = f"penstock.kinds.table.baselines.{where}"
    return MethodInfo(name, "table", place, summary, "pure epsilon", relations, _TABLE)


BASELINES: tuple[MethodInfo, ...] = (
    _for_tables(
        "laplace-marginals", "laplace:LaplaceMarginals", "every table of so many columns, counted by itself"
    ),
    _for_tables(
        "fourier-marginals",
        "fourier:FourierMarginals",
        "the same tables from noisy coefficients that they share",
    ),
    _for_tables("contingency", "contingency:Contingency", "noisy counts of every combination of values"),
    _for_tables("mwem", "mwem:MWEM", "a distribution that is corrected where it is most wrong"),
    _for_tables(
        "uniform",
        "uniform:Uniform",
        "every combination of values equally likely, and a noisy number of records",
        relations=("add-remove",),  # under replace that number is public, and nothing is left to pay for
    ),
    _for_points(
        "adaptive-grid", "adaptive_grid:AdaptiveGrid", "a coarse grid, cut finely where counts are high"
    ),
    _for_points("hierarchy", "hierarchy:Hierarchy", "noisy grids of every resolution, made to agree"),
    _for_points("privelet", "privelet:Privelet", "noise on the wavelet coefficients of a fine grid"),
    _for_points("simple-tree", "simple_tree:SimpleTree", "a tree whose noise grows with its height"),
    _for_points("dawa", "dawa:Dawa", "a grid whose even stretches are merged before they are counted"),
)
"""Published methods to compare with: chosen by name like the others, but no advice to use them."""


def find(name: str) -> MethodInfo:
    """The method of this name; unknown names are answered with the nearest known ones."""
    every = (*METHODS, *BASELINES)
    for info in every:
        if info.name == name:
            return info
    near = get_close_matches(name, [info.name for info in every], n=2)
    hint = f"did you mean {' or '.join(near)}?" if near else "run 'penstock methods' for the list."
    raise UsageError(f"There is no method '{name}'; {hint}")


def default_for(kind: str) -> MethodInfo:
    """The method to use for a kind of data when nobody says which."""
    for info in METHODS:
        if info.kind == kind and info.default:
            return info
    kinds = sorted({info.kind for info in METHODS})
    raise UsageError(
        f"There is no method for data of kind '{kind}' yet; there are methods for {', '.join(kinds)}."
    )
