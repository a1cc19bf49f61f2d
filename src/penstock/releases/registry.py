"""Which class stands behind a saved release: a fixed table, and nothing that a file could extend.

A release folder names the `form` of its model. Only the forms below are known, so that a hostile
folder can choose among our own classes and never cause anything else to be imported.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from penstock.errors import ReleaseError

_FORMS: dict[str, str] = {
    "independent": "penstock.kinds.table.independent:IndependentRelease",
    "network": "penstock.kinds.table.network.release:NetworkRelease",
    "privbayes": "penstock.kinds.table.network.release:NetworkRelease",  # as it was called at first
    "marginals": "penstock.kinds.table.baselines.marginals:MarginalsRelease",
    "full-table": "penstock.kinds.table.baselines.full_table:FullTableRelease",
    "uniform": "penstock.kinds.table.baselines.uniform:UniformRelease",
    "grid": "penstock.kinds.points.grid:GridRelease",
    "selection": "penstock.learn.selection.release:SelectionRelease",
    "tree": "penstock.kinds.points.tree:TreeRelease",
    "adaptive-grid": "penstock.kinds.points.baselines.adaptive_grid:AdaptiveGridRelease",
    "simple-tree": "penstock.kinds.points.baselines.simple_tree:SimpleTreeRelease",
    "suffix-tree": "penstock.kinds.sequences.suffix_tree:SuffixTreeRelease",
    "n-gram": "penstock.kinds.sequences.ngram:NGramRelease",
    "top-strings": "penstock.kinds.sequences.top_strings:TopStringsRelease",
}


def forms() -> tuple[str, ...]:
    """The names of all forms that this version can load."""
    return tuple(sorted(_FORMS))


def where(form: str) -> str:
    """The class for a form, as ``module:name``; unknown names are refused."""
    found = _FORMS.get(form)
    if found is None:
        raise ReleaseError(
            f"This version of Penstock knows no release of the form {form[:80]!r}; "
            f"it knows {', '.join(forms())}. A newer version may."
        )
    return found


@contextmanager
def extended(form: str, place: str) -> Iterator[None]:
    """For tests: know one more form inside the block."""
    if form in _FORMS:
        raise ValueError(f"{form} is registered already")
    _FORMS[form] = place
    try:
        yield
    finally:
        del _FORMS[form]
