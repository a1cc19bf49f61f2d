"""The rooms within the kind: what both methods use lies below them, and neither uses the other."""

import ast
from pathlib import Path

import penstock.kinds.table

HERE = Path(penstock.kinds.table.__file__).parent
ROOM = "penstock.kinds.table."


def imported(room: str) -> set[str]:
    """The rooms of the kind that any module of a room imports, inside functions too."""
    found = set()
    for path in (HERE / room).glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0, path
                found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name.removeprefix(ROOM).split(".")[0] for name in found if name.startswith(ROOM)}


def test_the_network_knows_neither_of_the_methods_that_make_it() -> None:
    assert not imported("network") & {"confluence", "privbayes", "baselines"}


def test_the_methods_do_not_know_each_other() -> None:
    assert "network" in imported("confluence") & imported("privbayes")
    assert not imported("confluence") & {"privbayes", "baselines"}
    assert not imported("privbayes") & {"confluence", "baselines"}
    assert not imported("baselines") & {"confluence", "privbayes", "network"}
