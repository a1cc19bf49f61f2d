"""Release sensitive data under differential privacy.

    import penstock

    schema = penstock.draft("people.csv")            # proposes; review it and save it
    schema = penstock.Schema.load("people.schema.yaml")
    release = penstock.release("people.csv", schema, epsilon=1)
    release.sample(1000)
    release.save("people-release")
    penstock.load("people-release").query("age < 30")

Importing the package costs next to nothing: everything is loaded when it is first used.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.privacy.budget import Budget as Budget
    from penstock.privacy.ledger import Ledger as Ledger
    from penstock.release.release import Release as Release
    from penstock.schema import Schema as Schema
    from penstock.verbs import draft as draft
    from penstock.verbs import evaluate as evaluate
    from penstock.verbs import load as load
    from penstock.verbs import release as release
    from penstock.verbs import select as select

__version__ = "0.1.0"

_EXPORTS = {
    "Budget": "penstock.privacy.budget",
    "Ledger": "penstock.privacy.ledger",
    "Release": "penstock.release.release",
    "Schema": "penstock.schema",
    "draft": "penstock.verbs",
    "load": "penstock.verbs",
    "select": "penstock.verbs",
}
_ROOMS_WITH_A_VERB = ("evaluate", "release")

__all__ = ["Budget", "Ledger", "Release", "Schema", "draft", "evaluate", "load", "release", "select"]


class _Room(ModuleType):
    """A room whose name is also a verb: `penstock.release(…)` works, and so does `penstock.release.load`."""

    def __call__(self, *args: Any, **options: Any) -> Any:
        verb = self.__name__.rpartition(".")[2]
        return getattr(import_module("penstock.verbs"), verb)(*args, **options)


class _House(ModuleType):
    """The package; rooms that share their name with a verb become callable as they are attached."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _ROOMS_WITH_A_VERB and type(value) is ModuleType:
            value.__class__ = _Room
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _House


def __getattr__(name: str) -> Any:
    if name in _ROOMS_WITH_A_VERB:
        return import_module(f"penstock.{name}")
    if name not in _EXPORTS:
        raise AttributeError(f"module 'penstock' has no attribute '{name}'")
    value = getattr(import_module(_EXPORTS[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, "__version__"})
