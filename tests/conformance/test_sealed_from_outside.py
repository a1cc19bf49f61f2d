"""Raw records stay behind the handles: nobody but a kind's `data.py` reaches into what is private to them.

A sealed count is private by the sensitivity that its handle states. Whoever takes counts out of the private
members of a handle instead has no such thing, and no type checker says so: hence this look at syntax trees.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "penstock"
ROOMS = ("kinds", "learn", "evaluation", "drafting", "api.py")
OWN = ("self", "cls")
READERS = ("getattr", "vars", "attrgetter", "__getattribute__")
FOREIGN = ("learn/aggregate/estimator.py", "getattr(estimator, name, None)")
"""What an estimator of scikit-learn has learned, by a name that the user says: no handle of records."""


def private_reads(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Members beginning with an underscore that are taken from anything but the object itself, by whichever
    way: `data._engine`, `getattr(data, "_engine")`, `vars(data)`, `data.__dict__`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and _hidden(node.attr):
            owner = node.value
            asks_above = isinstance(owner, ast.Call) and ast.unparse(owner.func) == "super"
            if not (isinstance(owner, ast.Name) and owner.id in OWN) and not asks_above:
                yield node.lineno, ast.unparse(node)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in READERS:
            named = [each.value for each in node.args if isinstance(each, ast.Constant)]
            of_its_own = bool(node.args) and ast.unparse(node.args[0]) in OWN
            hidden = any(isinstance(name, str) and name.startswith("_") for name in named)
            if hidden or not (named or of_its_own):
                yield node.lineno, ast.unparse(node)


def _hidden(name: str) -> bool:
    return name == "__dict__" or (name.startswith("_") and not name.endswith("__"))


def files() -> Iterator[Path]:
    for room in ROOMS:
        place = SOURCE / room
        for path in [place] if place.is_file() else sorted(place.rglob("*.py")):
            if path.name != "data.py" or path.parent.parent.name != "kinds":
                yield path


def test_no_method_reaches_behind_a_handle() -> None:
    found = [
        f"{path.relative_to(SOURCE)}:{line}: {text}"
        for path in files()
        for line, text in private_reads(ast.parse(path.read_text(encoding="utf-8")))
        if (path.relative_to(SOURCE).as_posix(), text) != FOREIGN
    ]
    assert found == []


@pytest.mark.parametrize(
    "code",
    [
        "table._engine.counts([('age',)])",
        "self.table._engine.rows()",
        "getattr(table, '_engine').rows()",
        "vars(table)['_engine']",
        "table.__dict__['_engine']",
        "object.__getattribute__(table, '_engine')",
        "operator.attrgetter('_raw.histograms')(level)",
        "counts = [level._counts(asked) for level in levels]",
    ],
)
def test_a_look_behind_a_handle_is_seen(code: str) -> None:
    assert list(private_reads(ast.parse(code)))


@pytest.mark.parametrize("code", ["self._counts", "cls._made()", "super()._made()", "table.counts([('a',)])"])
def test_an_object_may_use_what_is_its_own(code: str) -> None:
    assert not list(private_reads(ast.parse(code)))
