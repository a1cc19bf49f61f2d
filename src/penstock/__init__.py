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

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock import stream as stream
    from penstock.api import draft as draft
    from penstock.api import evaluate as evaluate
    from penstock.api import load as load
    from penstock.api import recover as recover
    from penstock.api import release as release
    from penstock.api import select as select
    from penstock.explanation import explain as explain
    from penstock.privacy.budgets.budget import Budget as Budget
    from penstock.privacy.ledger.ledger import Ledger as Ledger
    from penstock.releases.release import Release as Release
    from penstock.schema import Schema as Schema

__version__ = "0.1.0"

_EXPORTS = {
    "Budget": "penstock.privacy.budgets.budget",
    "Ledger": "penstock.privacy.ledger.ledger",
    "Release": "penstock.releases.release",
    "Schema": "penstock.schema",
    "draft": "penstock.api",
    "evaluate": "penstock.api",
    "explain": "penstock.explanation",
    "load": "penstock.api",
    "recover": "penstock.api",
    "release": "penstock.api",
    "select": "penstock.api",
}

_MODULES = ("stream",)
"""Modules that are loaded when they are first used, too."""

__all__ = [
    "Budget",
    "Ledger",
    "Release",
    "Schema",
    "draft",
    "evaluate",
    "explain",
    "load",
    "recover",
    "release",
    "select",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"penstock.{name}")
    if name not in _EXPORTS:
        raise AttributeError(f"module 'penstock' has no attribute '{name}'")
    value = getattr(import_module(_EXPORTS[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *_MODULES, "__version__"})
