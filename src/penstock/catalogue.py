"""Every kind of data and every method, as plain data: the one list that everything else reads.

The command line, drafts, evaluation, audits, the tables of the docs and the loading of releases all look
here, so that adding a kind is one package, one entry and one page, and adding a method one file, one entry
and one page. Importing this module costs nothing: places are written as ``"module:name"`` and loaded by
whoever needs them, who also checks that what was found keeps its contract (`penstock.contracts`). Only what
is listed here can be loaded, so nothing that a file says can cause anything else to be imported.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from types import MappingProxyType
from typing import Literal, TypeVar

from penstock.errors import ReleaseError, UsageError

Role = Literal["method", "baseline"]
T = TypeVar("T")


@dataclass(frozen=True)
class OptionInfo:
    """An option of `penstock query`: how a question that releases of a kind may answer is asked there.

    `question` is its name among those that a release declares, `name` the option without its dashes,
    `metavar` what is written behind it, and `many` says that this is a file of such questions.
    """

    question: str
    name: str
    metavar: str
    help: str
    many: bool = False


@dataclass(frozen=True)
class KindInfo:
    """A kind of data: its words, and where its room keeps what the rest of the house asks for.

    `words` are for messages and reports. `units` are those whose presence can be protected, the usual one
    first. `layout` is the block of the schema that says how columns make records (its key, and the place of
    its class), where the kind needs one. `data` is the sealed handle, `draft` what drafts do for this kind,
    `private_drafts` whether one can be paid for, `evaluation` compares a release with the records, and
    `audits` lists what tries to refute the kind's methods; both are missing where all methods of the kind are
    at home in other rooms. `engines` are where the records are counted, `options` how its releases are asked.
    """

    name: str
    words: str
    units: tuple[str, ...]
    data: str
    draft: str
    evaluation: str | None = None
    audits: str | None = None
    layout: tuple[str, str] | None = None
    private_drafts: bool = False
    engines: tuple[str, ...] = ("memory",)
    options: tuple[OptionInfo, ...] = ()


@dataclass(frozen=True)
class MethodInfo:
    """What can be said of a method without loading it.

    `form` is the form of the release that it makes, `answer` the kind of answer that this is, `role` whether
    it is meant to be used or to be compared with, `default` whether it is chosen for its kind of data when
    nobody says which. A method that is at home in another room than that of its kind brings its own
    `evaluation` and `audits`.
    """

    name: str
    kind: str
    where: str
    form: str
    summary: str
    guarantee: str = "pure epsilon"
    relations: tuple[str, ...] = ("add-remove",)
    answer: str = "synthetic data"
    role: Role = "method"
    default: bool = False
    evaluation: str | None = None
    audits: str | None = None

    @property
    def pure(self) -> bool:
        """Whether the method has no use for a delta."""
        return self.guarantee == "pure epsilon"


_CONDITIONS = OptionInfo(
    "condition",
    "file",
    "FILE",
    "all conditions of a file. One in each line, or a CSV or Parquet file with a column 'condition'.",
    many=True,
)

_kinds: dict[str, KindInfo] = {
    info.name: info
    for info in (
        KindInfo(
            "table",
            words="a table",
            units=("record", "user"),
            data="penstock.kinds.table.data:Table",
            draft="penstock.kinds.table.draft:TableDraft",
            evaluation="penstock.kinds.table.evaluation:evaluate_table",
            audits="penstock.kinds.table.audits:AUDITS",
            private_drafts=True,
            engines=("memory", "duckdb"),
            options=(_CONDITIONS,),
        ),
        KindInfo(
            "points",
            words="points on a map",
            units=("record", "user"),
            data="penstock.kinds.points.data:Points",
            draft="penstock.kinds.points.draft:PointsDraft",
            evaluation="penstock.kinds.points.evaluation:evaluate_points",
            audits="penstock.kinds.points.audits:AUDITS",
            private_drafts=True,
            engines=("memory", "duckdb"),
            options=(
                _CONDITIONS,
                OptionInfo(
                    "box",
                    "box",
                    "LOW,HIGH,…",
                    "the number inside a box, low,high for each numeric field, or by name: x=0..5,y=2..8.",
                ),
                OptionInfo(
                    "box",
                    "boxes",
                    "FILE",
                    "the numbers inside all boxes of a CSV or Parquet file with the columns x_low, x_high, "
                    "and so on; as CSV, or with --json.",
                    many=True,
                ),
                OptionInfo("map", "geojson", "FILE", "write the map of a tree with its counts."),
            ),
        ),
        KindInfo(
            "sequences",
            words="sequences",
            units=("sequence", "user"),
            data="penstock.kinds.sequences.data:Sequences",
            draft="penstock.kinds.sequences.draft:SequencesDraft",
            evaluation="penstock.kinds.sequences.evaluation:evaluate_sequences",
            audits="penstock.kinds.sequences.audits:AUDITS",
            layout=("sequence", "penstock.kinds.sequences.layout:SequenceLayout"),
            options=(
                OptionInfo(
                    "string",
                    "count",
                    "A,B,…",
                    "how often a string of symbols occurs; $ in front for the beginning of a sequence, & at "
                    "the back for its end.",
                ),
                OptionInfo(
                    "string",
                    "counts",
                    "FILE",
                    "how often all strings of a file occur. One in each line, written as for --count, or a "
                    "CSV or Parquet file with a column 'string'.",
                    many=True,
                ),
                OptionInfo("top", "top", "K", "the K most frequent strings."),
                OptionInfo("next", "next", "A,B,…", "what comes after a string of symbols."),
            ),
        ),
        KindInfo(
            "itemsets",
            words="item sets",
            units=("record", "user"),
            data="penstock.kinds.itemsets.data:ItemSets",
            draft="penstock.kinds.itemsets.draft:ItemSetsDraft",
            layout=("items", "penstock.kinds.itemsets.layout:ItemSetLayout"),
        ),
        KindInfo(
            "graph",
            words="a graph",
            units=("edge",),
            data="penstock.kinds.graph.data:Graph",
            draft="penstock.kinds.graph.draft:GraphDraft",
            audits="penstock.kinds.graph.audits:AUDITS",
            layout=("edges", "penstock.kinds.graph.layout:EdgeLayout"),
            options=(
                OptionInfo(
                    "pattern", "pattern", "NAME", "how many there are: edge, triangle, 3-star, 4-clique, …"
                ),
                OptionInfo("degree", "degree", "D", "how many nodes have D links, or D..E of them."),
            ),
        ),
    )
}

ANSWERS: Mapping[str, str] = MappingProxyType(
    {
        "synthetic data": "rows to work with as if they were the records",
        "counts": "numbers",
        "selection": "a choice among candidates",
    }
)
"""The kinds of answer that a release may be, besides the kind of data that it is about."""

_forms: dict[str, str] = {
    "independent": "penstock.kinds.table.independent:IndependentRelease",
    "network": "penstock.kinds.table.network.release:NetworkRelease",
    "marginals": "penstock.kinds.table.baselines.marginals:MarginalsRelease",
    "full-table": "penstock.kinds.table.baselines.full_table:FullTableRelease",
    "uniform": "penstock.kinds.table.baselines.uniform:UniformRelease",
    "grid": "penstock.kinds.points.grid:GridRelease",
    "tree": "penstock.kinds.points.tree:TreeRelease",
    "adaptive-grid": "penstock.kinds.points.baselines.adaptive_grid:AdaptiveGridRelease",
    "simple-tree": "penstock.kinds.points.baselines.simple_tree:SimpleTreeRelease",
    "suffix-tree": "penstock.kinds.sequences.suffix_tree:SuffixTreeRelease",
    "n-gram": "penstock.kinds.sequences.ngram:NGramRelease",
    "top-strings": "penstock.kinds.sequences.top_strings:TopStringsRelease",
    "selection": "penstock.learn.selection.release:SelectionRelease",
    "degree-sequence": "penstock.kinds.graph.degree_sequence:DegreeSequenceRelease",
    "subgraph-counts": "penstock.kinds.graph.subgraph_counts:SubgraphCountsRelease",
}

_BOTH = ("add-remove", "replace")

_methods: dict[str, MethodInfo] = {
    info.name: info
    for info in (
        MethodInfo(
            "independent",
            "table",
            "penstock.kinds.table.independent:Independent",
            "independent",
            "noisy one-way marginals, columns sampled independently",
            relations=_BOTH,
        ),
        MethodInfo(
            "confluence",
            "table",
            "penstock.kinds.table.confluence.method:Confluence",
            "network",
            "tables of counts, as many as the budget can buy, merged into one Bayesian network",
            relations=_BOTH,
            default=True,
        ),
        MethodInfo(
            "privbayes",
            "table",
            "penstock.kinds.table.privbayes.method:PrivBayes",
            "network",
            "a Bayesian network that is chosen privately and counted, as published",
            relations=_BOTH,
        ),
        MethodInfo(
            "privtree",
            "points",
            "penstock.kinds.points.privtree:PrivTree",
            "tree",
            "a tree that is fine where points are many, with noisy counts",
            default=True,
        ),
        MethodInfo(
            "uniform-grid",
            "points",
            "penstock.kinds.points.grid:UniformGrid",
            "grid",
            "one noisy histogram over a regular grid",
        ),
        MethodInfo(
            "privtree-sequences",
            "sequences",
            "penstock.kinds.sequences.suffix_tree:PrivTreeSequences",
            "suffix-tree",
            "a tree of contexts that says what comes next, with noisy counts",
            default=True,
        ),
        MethodInfo(
            "n-gram",
            "sequences",
            "penstock.kinds.sequences.ngram:NGram",
            "n-gram",
            "noisy counts of short strings, made consistent",
        ),
        MethodInfo(
            "top-strings",
            "sequences",
            "penstock.kinds.sequences.top_strings:TopStrings",
            "top-strings",
            "frequent strings chosen one after the other, without counts",
            answer="selection",
        ),
        MethodInfo(
            "select-items",
            "itemsets",
            "penstock.learn.selection.select:SelectItems",
            "selection",
            "the most frequent items, or those above a threshold",
            relations=_BOTH,
            answer="selection",
            evaluation="penstock.learn.selection.evaluation:evaluate_selection",
            audits="penstock.learn.selection.audits:AUDITS",
        ),
        MethodInfo(
            "select-categories",
            "table",
            "penstock.learn.selection.select:SelectCategories",
            "selection",
            "the most frequent categories of a column, or those above a threshold",
            relations=_BOTH,
            answer="selection",
            evaluation="penstock.learn.selection.evaluation:evaluate_selection",
            audits="penstock.learn.selection.audits:AUDITS",
        ),
        MethodInfo(
            "degree-sequence",
            "graph",
            "penstock.kinds.graph.degree_sequence:DegreeSequence",
            "degree-sequence",
            "noisy degrees of all nodes in ascending order",
            answer="counts",
        ),
        MethodInfo(
            "ladder",
            "graph",
            "penstock.kinds.graph.subgraph_counts:LadderCounts",
            "subgraph-counts",
            "numbers of triangles, stars, cliques and k-triangles, each on a ladder of its own",
            answer="counts",
        ),
        MethodInfo(
            "laplace-marginals",
            "table",
            "penstock.kinds.table.baselines.laplace:LaplaceMarginals",
            "marginals",
            "every table of so many columns, counted by itself",
            relations=_BOTH,
            answer="counts",
            role="baseline",
        ),
        MethodInfo(
            "fourier-marginals",
            "table",
            "penstock.kinds.table.baselines.fourier:FourierMarginals",
            "marginals",
            "the same tables from noisy coefficients that they share",
            relations=_BOTH,
            answer="counts",
            role="baseline",
        ),
        MethodInfo(
            "contingency",
            "table",
            "penstock.kinds.table.baselines.contingency:Contingency",
            "full-table",
            "noisy counts of every combination of values",
            relations=_BOTH,
            role="baseline",
        ),
        MethodInfo(
            "mwem",
            "table",
            "penstock.kinds.table.baselines.mwem:MWEM",
            "full-table",
            "a distribution that is corrected where it is most wrong",
            relations=_BOTH,
            role="baseline",
        ),
        MethodInfo(
            "uniform",
            "table",
            "penstock.kinds.table.baselines.uniform:Uniform",
            "uniform",
            "every combination of values equally likely, and a noisy number of records",
            role="baseline",  # under replace that number is public, and nothing is left to pay for
        ),
        MethodInfo(
            "adaptive-grid",
            "points",
            "penstock.kinds.points.baselines.adaptive_grid:AdaptiveGrid",
            "adaptive-grid",
            "a coarse grid, cut finely where counts are high",
            role="baseline",
        ),
        MethodInfo(
            "hierarchy",
            "points",
            "penstock.kinds.points.baselines.hierarchy:Hierarchy",
            "grid",
            "noisy grids of every resolution, made to agree",
            role="baseline",
        ),
        MethodInfo(
            "privelet",
            "points",
            "penstock.kinds.points.baselines.privelet:Privelet",
            "grid",
            "noise on the wavelet coefficients of a fine grid",
            role="baseline",
        ),
        MethodInfo(
            "simple-tree",
            "points",
            "penstock.kinds.points.baselines.simple_tree:SimpleTree",
            "simple-tree",
            "a tree whose noise grows with its height",
            role="baseline",
        ),
        MethodInfo(
            "dawa",
            "points",
            "penstock.kinds.points.baselines.dawa:Dawa",
            "grid",
            "a grid whose even stretches are merged before they are counted",
            role="baseline",
        ),
    )
}


def load(place: str) -> object:
    """What stands at a place of this catalogue, ``"module:name"``; no other place is loaded."""
    if place not in _places():
        raise ValueError(f"{place} is no place of the catalogue")
    module, _, name = place.partition(":")
    found: object = getattr(import_module(module), name)
    return found


def _places() -> set[str | None]:
    """Every place that is written in this catalogue."""
    return {
        *(
            place
            for kind in _kinds.values()
            for place in (kind.data, kind.draft, kind.evaluation, kind.audits, *(kind.layout or ())[1:])
        ),
        *(place for info in _methods.values() for place in (info.where, info.evaluation, info.audits)),
        *_forms.values(),
    }


def kinds() -> tuple[KindInfo, ...]:
    """All kinds of data."""
    return tuple(_kinds.values())


def kind(name: str) -> KindInfo:
    """The kind of this name; unknown names are answered with the nearest known one.

    >>> kind("table").units
    ('record', 'user')
    """
    if name not in _kinds:
        near = get_close_matches(str(name), _kinds, n=1)
        hint = f" (did you mean '{near[0]}'?)" if near else ""
        raise UsageError(f"'{name}' is not a kind of data{hint}; there are {', '.join(_kinds)}.")
    return _kinds[name]


def methods(kind: str | None = None, *, role: Role | None = None) -> tuple[MethodInfo, ...]:
    """All methods, or those for a kind of data or of a role; methods before baselines.

    >>> [info.name for info in methods("itemsets")]
    ['select-items']
    """
    found = [
        info
        for info in _methods.values()
        if (kind is None or info.kind == kind) and (role is None or info.role == role)
    ]
    return tuple(sorted(found, key=lambda info: info.role == "baseline"))


def method(name: str) -> MethodInfo:
    """The method of this name; unknown names are answered with the nearest known ones."""
    if name not in _methods:
        near = get_close_matches(name, _methods, n=2)
        hint = f"did you mean {' or '.join(near)}?" if near else "run 'penstock methods' for the list."
        raise UsageError(f"There is no method '{name}'; {hint}")
    return _methods[name]


def default_method(kind: str) -> MethodInfo:
    """The method to use for a kind of data when nobody says which."""
    offered = methods(kind, role="method")
    for info in offered:
        if info.default:
            return info
    names = " or ".join(info.name for info in offered)
    raise UsageError(
        f"Data of kind '{kind}' has no method that is chosen by itself; say which: --method {names}."
    )


def forms() -> tuple[str, ...]:
    """The names of all forms of releases that this version can load."""
    return tuple(sorted(_forms))


def form(name: str) -> str:
    """Where the class behind a form stands; unknown names are refused before anything is imported."""
    if name not in _forms:
        raise ReleaseError(
            f"This version of Penstock knows no release of the form {name[:80]!r}; "
            f"it knows {', '.join(forms())}. A newer version may."
        )
    return _forms[name]


@contextmanager
def extended(
    *,
    kinds: tuple[KindInfo, ...] = (),
    methods: tuple[MethodInfo, ...] = (),
    forms: dict[str, str] | None = None,
) -> Iterator[None]:
    """Know more inside the block: for tests, and for trying out a kind or a method before it is entered."""
    with (
        _added(_kinds, {info.name: info for info in kinds}),
        _added(_methods, {info.name: info for info in methods}),
        _added(_forms, forms or {}),
    ):
        yield


@contextmanager
def _added(known: dict[str, T], more: dict[str, T]) -> Iterator[None]:
    if both := known.keys() & more.keys():
        raise ValueError(f"{', '.join(sorted(both))}: in the catalogue already")
    known.update(more)
    try:
        yield
    finally:
        for name in more:
            del known[name]
