"""The rooms of `penstock.privacy` import one another in one direction, and almost nothing from above."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import penstock

SOURCE = Path(penstock.__file__).parent
PRIVACY = SOURCE / "privacy"
MODULES = sorted(PRIVACY.rglob("*.py"))

MAY_IMPORT = {
    "unit": set(),
    "randomness": {"unit"},
    "laws": {"randomness"},
    "seals": {"unit", "randomness"},
    "budgets": {"unit", "randomness", "seals"},
    "mechanisms": {"unit", "randomness", "laws", "seals", "budgets"},
    "ledger": {"unit", "budgets"},
}
"""What each sub-room may import besides itself: the order that `penstock.privacy` writes down."""

INSIDE_FUNCTIONS = {
    ("budgets/tight_total.py", "dp_accounting"): "a second to import, for one question that few ask",
    ("ledger/ledger.py", "penstock.privacy.ledger.database"): "brings SQLAlchemy, which only a ledger needs",
}
"""The only imports that are not at the top of their module, each with its reason."""


def name_of(module: Path) -> str:
    return module.relative_to(PRIVACY).as_posix()


def imports(tree: ast.AST) -> Iterator[str]:
    """The modules that are imported anywhere in a tree: in functions and for types only, too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports name the whole module"
            yield node.module or ""
            # `from penstock.privacy.mechanisms import noise` imports the module of that name
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def ours(module: Path) -> list[list[str]]:
    found = imports(ast.parse(module.read_text(encoding="utf-8")))
    return [name.split(".") for name in found if name.partition(".")[0] == "penstock"]


@pytest.mark.parametrize("module", MODULES, ids=name_of)
def test_privacy_imports_nothing_from_above(module: Path) -> None:
    assert {name[1] for name in ours(module)} <= {"privacy", "errors", "progress"}


@pytest.mark.parametrize("module", MODULES, ids=name_of)
def test_sub_rooms_import_only_those_before_them(module: Path) -> None:
    inside = module.relative_to(PRIVACY)
    if inside.name == "__init__.py":
        assert not ours(module), "a room's door is a docstring: importing one room loads no other"
        return
    room = inside.with_suffix("").parts[0]
    used = {name[2] for name in ours(module) if name[1] == "privacy" and len(name) > 2}
    assert used <= MAY_IMPORT[room] | {room}


def test_the_order_of_the_sub_rooms_has_no_circle() -> None:
    for room, before in MAY_IMPORT.items():
        assert all(room not in MAY_IMPORT[other] for other in before)


def test_modules_inside_a_sub_room_do_not_import_each_other_in_a_circle() -> None:
    edges = {
        ".".join(("penstock", "privacy", *module.relative_to(PRIVACY).with_suffix("").parts)): {
            ".".join(name) for name in ours(module)
        }
        for module in MODULES
    }
    left = dict(edges)
    while free := [name for name, used in left.items() if not used & left.keys()]:
        for name in free:
            del left[name]
    assert not left


def test_imports_inside_functions_are_few_and_have_their_reason() -> None:
    found = set()
    for module in MODULES:
        tree = ast.parse(module.read_text(encoding="utf-8"))
        for function in ast.walk(tree):
            if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
                for name in imports(function):
                    for listed in INSIDE_FUNCTIONS:
                        if listed[0] == name_of(module) and f"{name}.".startswith(f"{listed[1]}."):
                            found.add(listed)
                            break
                    else:
                        raise AssertionError(f"{name_of(module)} imports {name} inside {function.name}")
    assert found == set(INSIDE_FUNCTIONS)
