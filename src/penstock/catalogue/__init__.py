"""Every kind of data and every method, as plain data: the one list that everything else reads.

The command line, drafts, evaluation, audits, the tables of the docs and the loading of releases all look
here, so that adding a kind is one package, one entry and one page, and adding a method one file, one entry
and one page. The entries stand in `kind_entries` and `method_entries`. Importing this room costs nothing:
places are written as ``"module:name"`` and loaded by whoever needs them, who also checks that what was found
keeps its contract (`penstock.contracts`). Only what is listed here can be loaded, so nothing that a file says
can cause anything else to be imported.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import Protocol, TypeVar

from penstock.catalogue import kind_entries, method_entries, sketch_entries
from penstock.catalogue.entry import (
    ENGINES,
    HERE,
    MEMORY,
    AnswerInfo,
    FormInfo,
    KindInfo,
    MethodInfo,
    OptionInfo,
    Role,
    SketchInfo,
    UnitInfo,
)
from penstock.errors import ReleaseError, UsageError

__all__ = [
    "ANSWERS",
    "ENGINES",
    "HERE",
    "MEMORY",
    "AnswerInfo",
    "FormInfo",
    "KindInfo",
    "MethodInfo",
    "OptionInfo",
    "Role",
    "SketchInfo",
    "UnitInfo",
    "default_method",
    "default_sketch",
    "every_kind",
    "extended",
    "form",
    "forms",
    "kind",
    "kinds",
    "load",
    "method",
    "methods",
    "sketch",
    "sketches",
    "unit",
    "units",
]


class _Named(Protocol):
    @property
    def name(self) -> str: ...


N = TypeVar("N", bound=_Named)
A = TypeVar("A", MethodInfo, SketchInfo)
"""An algorithm: one that is run once, or one that is fed."""


def _by_name(*entries: N) -> dict[str, N]:
    """The entries by name; a name is given once."""
    found = {entry.name: entry for entry in entries}
    if len(found) < len(entries):
        raise ValueError(f"one of {', '.join(found)} is in the catalogue twice")
    return found


ANSWERS: Mapping[str, AnswerInfo] = MappingProxyType(_by_name(*kind_entries.ANSWERS))
"""The kinds of answer that a release may be, besides the kind of data that it is about."""

_kinds = _by_name(*kind_entries.KINDS)
_methods = _by_name(*method_entries.METHODS)
_forms = _by_name(*method_entries.FORMS)
_sketches = _by_name(*sketch_entries.SKETCHES)

_OPTION = re.compile(r"[a-z]+(-[a-z]+)*")
_TAKEN = ("folder", "expression", "json", "help")  # what `penstock query` itself takes


def _refuse_contradictions() -> None:
    """One word means one thing: a unit, and an option of `penstock query`, whichever kinds share it."""
    known: dict[tuple[str, str], object] = {}
    for info in _kinds.values():
        for option in info.options:
            if not _OPTION.fullmatch(option.name) or option.name in _TAKEN:
                raise ValueError(f"{info.name}: --{option.name} cannot be an option of 'penstock query'")
        for sort, entries in (("the unit", info.units), ("the option", info.options)):
            for entry in entries:
                if known.setdefault((sort, entry.name), entry) != entry:
                    raise ValueError(f"{info.name}: {sort} '{entry.name}' means something else elsewhere")


_refuse_contradictions()


def load(place: str) -> object:
    """What stands at a place of this catalogue, ``"module:name"``; no other place is loaded."""
    if place not in _places():
        raise ValueError(f"{place} is no place of the catalogue")
    module, _, name = place.partition(":")
    found: object = getattr(import_module(module), name)
    return found


@cache
def _places() -> frozenset[str]:
    """Every place that is written in this catalogue; `_added` says when there are others."""
    return frozenset(
        (
            *(place for info in _kinds.values() for place in info.places),
            *(place for info in _methods.values() for place in info.places),
            *(info.where for info in _forms.values()),
            *(info.where for info in _sketches.values()),
        )
    )


def kinds() -> tuple[KindInfo, ...]:
    """All kinds of data whose records are opened."""
    return tuple(info for info in _kinds.values() if not info.living)


def every_kind() -> tuple[KindInfo, ...]:
    """All kinds of data that a schema can describe: those that are opened, and the living ones."""
    return tuple(_kinds.values())


def kind(name: str) -> KindInfo:
    """The kind of this name; unknown names are answered with the nearest known one.

    >>> [unit.name for unit in kind("table").units]
    ['record', 'user']
    """
    if name not in _kinds:
        near = get_close_matches(str(name), _kinds, n=1)
        hint = f" (did you mean '{near[0]}'?)" if near else ""
        raise UsageError(f"'{name}' is not a kind of data{hint}; there are {', '.join(_kinds)}.")
    return _kinds[name]


def units() -> tuple[UnitInfo, ...]:
    """All units whose presence can be protected, in the order of the kinds that know them."""
    return tuple(dict.fromkeys(unit for info in _kinds.values() for unit in info.units))


def unit(name: str) -> UnitInfo:
    """The unit of this name, whichever kinds of data know it.

    >>> unit("sequence").yours
    'your sequence'
    """
    known = {info.name: info for info in units()}
    if name not in known:
        raise UsageError(f"'{name}' is no unit of privacy; there are {', '.join(known)}.")
    return known[name]


def methods(kind: str | None = None, *, role: Role | None = None) -> tuple[MethodInfo, ...]:
    """All methods, or those for a kind of data or of a role; methods before baselines.

    >>> [info.name for info in methods("itemsets")]
    ['sluice', 'diffpart', 'privtree-sets', 'top-sets', 'select-items', 'set-histogram']
    """
    return _chosen(_methods.values(), kind, role)


def _chosen(entries: Iterable[A], kind: str | None, role: Role | None) -> tuple[A, ...]:
    """The entries for a kind of data and of a role, baselines last."""
    found = [
        info
        for info in entries
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
    if kind in _kinds and _kinds[kind].living:
        raise UsageError(
            f"Data of kind '{kind}' is fed, not opened: begin with 'penstock {kind} open'. Nothing was spent."
        )
    names = " or ".join(info.name for info in offered)
    raise UsageError(
        f"Data of kind '{kind}' has no method that is chosen by itself; say which: --method {names}."
    )


def sketches(kind: str | None = None, *, role: Role | None = None) -> tuple[SketchInfo, ...]:
    """All living releases, or those for a kind of data or of a role; baselines last.

    >>> [info.name for info in sketches(role="baseline")]
    ['group-sketch', 'density-inserts']
    """
    return _chosen(_sketches.values(), kind, role)


def sketch(name: str) -> SketchInfo:
    """The living release of this name; unknown names are answered with the nearest known ones."""
    if name not in _sketches:
        near = get_close_matches(name, _sketches, n=1)
        hint = f" (did you mean '{near[0]}'?)" if near else ""
        raise UsageError(f"There is no sketch '{name:.60}'{hint}; there are {', '.join(_sketches)}.")
    return _sketches[name]


def default_sketch(kind: str) -> SketchInfo:
    """The living release that is begun when nobody says which."""
    return next(info for info in sketches(kind, role="method") if info.default)


def forms() -> tuple[str, ...]:
    """The names of all forms of releases that this version can load."""
    return tuple(sorted(_forms))


def form(name: str) -> FormInfo:
    """The form of this name; unknown names are refused before anything is imported."""
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
    forms: tuple[FormInfo, ...] = (),
) -> Iterator[None]:
    """Know more inside the block: for tests, and for trying out a kind or a method before it is entered."""
    with _added(_kinds, kinds), _added(_methods, methods), _added(_forms, forms):
        _refuse_contradictions()
        yield


@contextmanager
def _added(known: dict[str, N], entries: tuple[N, ...]) -> Iterator[None]:
    more = _by_name(*entries)
    if both := known.keys() & more.keys():
        raise ValueError(f"{', '.join(sorted(both))}: in the catalogue already")
    known.update(more)
    _places.cache_clear()
    try:
        yield
    finally:
        for name in more:
            del known[name]
        _places.cache_clear()
