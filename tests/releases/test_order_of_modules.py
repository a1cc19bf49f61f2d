"""Pages, releases and folders depend on each other one way only, imports inside functions included."""

from __future__ import annotations

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import penstock

SOURCE = Path(penstock.__file__).parent
ROOMS = ("report", "releases")


def imports_of(file: Path) -> set[str]:
    """The modules of Penstock that a file imports anywhere in it, for the type checker alone too."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            for alias in node.names:
                inner = SOURCE.parent / Path(*node.module.split("."), f"{alias.name}.py")
                found.add(f"{node.module}.{alias.name}" if inner.is_file() else node.module)
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return {name for name in found if name.partition(".")[0] == "penstock"}


def modules() -> dict[str, set[str]]:
    """Every module of the two rooms with what it imports."""
    files = [file for room in ROOMS for file in (SOURCE / room).glob("*.py")]
    names = [f"penstock.{file.parent.name}.{file.stem}".removesuffix(".__init__") for file in files]
    return {name: imports_of(file) for name, file in zip(names, files, strict=True)}


def test_no_module_needs_itself_by_any_way_round() -> None:
    list(TopologicalSorter(modules()).static_order())  # raises CycleError, which names the cycle


def test_pages_and_pictures_know_no_release() -> None:
    for name, needed in modules().items():
        if name.startswith("penstock.report"):
            assert not [each for each in needed if each.startswith("penstock.releases")], name
