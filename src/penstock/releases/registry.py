"""Which class stands behind a saved release: a fixed table, and nothing that a file could extend.

A release folder names the `form` of its model. Only the forms below are known, so that a hostile
folder can choose among our own classes and never cause anything else to be imported.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING

from penstock.errors import ReleaseError

if TYPE_CHECKING:
    from penstock.releases.release import Release

_FORMS: dict[str, str] = {
    "independent": "penstock.kinds.table.independent:IndependentRelease",
    "network": "penstock.kinds.table.network.release:NetworkRelease",
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

_FORMER: dict[str, str] = {"privbayes": "network"}
"""Names of forms that releases saved earlier bear, and what the form is called now."""


def forms() -> tuple[str, ...]:
    """The names of all forms that this version can load."""
    return tuple(sorted(_FORMS))


def find(form: str) -> type[Release]:
    """The class for a form, under its name of today or a former one; unknown names are refused."""
    where = _FORMS.get(_FORMER.get(form, form))
    if where is None:
        raise ReleaseError(
            f"This version of Penstock knows no release of the form {form[:80]!r}; "
            f"it knows {', '.join(forms())}. A newer version may."
        )
    module, _, name = where.partition(":")
    found: type[Release] = getattr(import_module(module), name)
    return found


@contextmanager
def extended(form: str, where: str) -> Iterator[None]:
    """For tests: know one more form inside the block."""
    if form in _FORMS:
        raise ValueError(f"{form} is registered already")
    _FORMS[form] = where
    try:
        yield
    finally:
        del _FORMS[form]
