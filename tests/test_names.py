"""Kinds, methods, forms, units, blocks and engines are named in one place: nothing outside a room asks which
it has before it.

A string is the only way to name one from outside, so every string of the source that is such a name is
found, whatever is done with it: compared, looked up, put into a set, given a name of its own. The few that
mean something else, or are meant, are listed with their reasons.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from tests.test_house import HOME, files, kind_of

from penstock import catalogue

DEFAULT = "the kind of data that is meant where nobody says which: a promise of the schema's format"
PACKAGE = "a word of Frictionless data packages: a resource that is a table"
NOUN = "what is counted or drawn, in words for people"
BLOCK = "a sort of block on a page"
MECHANISM = "the mechanism, after which a method is called"
EARLIER = "what folders of earlier formats say, or lack"
BORDERS = "where bins end, which is no block of a schema"
PEOPLE = "somebody whom a column tells apart is what a draft calls a user, whatever the kind"

MEANT: dict[tuple[str, str], str] = {
    ("api.py", "table"): DEFAULT,
    ("cli/draft.py", "table"): DEFAULT,
    ("cli/review.py", "table"): DEFAULT,
    ("review/actions.py", "edges"): BORDERS,
    ("drafting/private.py", "table"): DEFAULT,
    ("drafting/proposal.py", "table"): DEFAULT,
    ("schema/schema.py", "table"): DEFAULT,
    ("cli/demo.py", "table"): "the demo's own data",
    ("cli/demo.py", "points"): "the demo's own data",
    ("cli/demo.py", "calls"): "the demo's own data",
    ("cli/demo.py", "sequences"): "the demo's own data",
    ("cli/demo.py", "itemsets"): "the demo's own data",
    ("cli/demo.py", "graph"): "the demo's own data",
    ("cli/demo.py", "stream"): "the demo's own data",
    ("kinds/calls/audits.py", "grid"): "a way to count places, on a grid",
    ("kinds/calls/where.py", "grid"): "a way to count places, on a grid",
    ("kinds/calls/where.py", "tree"): "a way to count places, on a tree",
    ("kinds/calls/public.py", "edges"): BORDERS,
    ("kinds/calls/tables.py", "edges"): BORDERS,
    ("kinds/calls/where.py", "edges"): BORDERS,
    ("kinds/graph/draft.py", "caller"): PEOPLE,
    ("learn/selection/release.py", "table"): "the kinds of data that one can select from",
    ("learn/selection/release.py", "itemsets"): "the kinds of data that one can select from",
    ("learn/clusters/release.py", "points"): "the kind of data that has clusters",
    ("learn/linear/release.py", "table"): "the kind of data that has columns to predict",
    ("learn/clusters/estimator.py", "points"): "the kind of data that has clusters",
    ("learn/clusters/pictures.py", "points"): NOUN,
    ("learn/clusters/evaluation.py", "points"): NOUN,
    ("kinds/sequences/top_strings.py", "selection"): "the kind of answer, not the form of that name",
    ("api.py", "user"): PEOPLE,
    ("cli/draft.py", "user"): PEOPLE,
    ("kinds/table/audits/__init__.py", "edges"): BORDERS,
    ("schema/field.py", "edges"): BORDERS,
    ("drafting/proposal.py", "user"): PEOPLE,
    ("engine/ibis.py", "user"): "how a column is called while users are bounded",
    ("privacy/unit.py", "record"): "the unit that is meant where a schema says none, and the noun",
    ("releases/answer.py", "record"): NOUN,
    ("releases/folder.py", "table"): PACKAGE,
    ("releases/package.py", "table"): PACKAGE,
    ("privacy/laws/rungs.py", "ladder"): MECHANISM,
    ("privacy/mechanisms/ladder.py", "ladder"): MECHANISM,
    ("kinds/table/diffpart/method.py", "tree"): "a way to cut numbers, along the tree of their bins",
    ("report/page.py", "table"): BLOCK,
    ("report/page.py", "points"): BLOCK,
    ("report/maps.py", "points"): NOUN,
    ("__init__.py", "stream"): "the module of that name, which is loaded when it is first used",
    ("cli/app.py", "stream"): "the command of that name",
    ("audit/harness.py", "event"): "what an audit looks for in outputs",
    ("report/pictures.py", "points"): NOUN,
    **{
        ("releases/formats.py", word): EARLIER
        for word in (
            *("marginals", "selection", "top-strings", "privbayes", "network", "confluence"),
            *("select-items", "select-categories", "itemsets", "table", "sequences"),
            *("suffix-tree", "n-gram", "simple-tree", "sequence", "items"),
        )
    },
}
"""(file, word): names of the catalogue outside their rooms, each with its reason."""


def home(place: str) -> str:
    """The room of a place: 'kinds/table', 'learn/selection'."""
    return "/".join(place.partition(":")[0].split(".")[1:3])


def homes() -> dict[str, set[str]]:
    """Every name of the catalogue, and the rooms in which it may be said."""
    found: dict[str, set[str]] = {info.name: {home(info.places[0])} for info in catalogue.every_kind()}
    for sketch in catalogue.sketches():
        found.setdefault(sketch.name, set()).add(home(sketch.where))
    for info in catalogue.methods():
        found.setdefault(info.name, set()).add(home(info.where))
        found.setdefault(info.form, set()).add(home(info.where))
    for form in map(catalogue.form, catalogue.forms()):
        found.setdefault(form.name, set()).add(home(form.where))
    for kind in catalogue.every_kind():
        for name in (*(unit.name for unit in kind.units), *(kind.layout or ())[:1]):
            found.setdefault(name, set()).add(home(kind.places[0]))
    for name in catalogue.ENGINES:
        found.setdefault(name, set()).add("engine")
    return found


def said(text: str, names: set[str]) -> Iterator[tuple[str, int]]:
    """Every string that is one of the names, or that recognises one by a part of it; docstrings aside."""
    tree = ast.parse(text)
    told = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr) and _is_text(node.value)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and id(node) not in told:
            words = {str(node.value)} if isinstance(node.value, str | bytes) else set()
            words |= {node.value.decode("latin-1")} if isinstance(node.value, bytes) else set()
            yield from ((word, node.lineno) for word in words & names)
        elif isinstance(node, ast.JoinedStr):
            whole = "".join(str(part.value) for part in node.values if isinstance(part, ast.Constant))
            if whole in names:
                yield whole, node.lineno
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            whole = "".join(
                str(part.value) for part in (node.left, node.right) if isinstance(part, ast.Constant)
            )
            if whole in names:
                yield whole, node.lineno
        elif isinstance(node, ast.Call | ast.Compare | ast.Match) and _about_kinds(node):
            for part in _texts(node):
                whole = next((name for name in names if len(part) > 1 and part in name), None)
                if whole is not None:
                    yield whole, node.lineno


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _about_kinds(node: ast.Call | ast.Compare | ast.Match) -> bool:
    """Whether something called 'kind' is recognised here by its letters."""
    if isinstance(node, ast.Call):
        by_letters = (
            "startswith",
            "endswith",
            "removeprefix",
            "removesuffix",
            "find",
            "index",
            "count",
            "match",
        )
        if not isinstance(node.func, ast.Attribute) or node.func.attr not in by_letters:
            return False
        asked: list[ast.AST] = [node.func.value, *node.args]
    elif isinstance(node, ast.Compare):
        if not any(isinstance(op, ast.In | ast.NotIn) for op in node.ops):
            return False
        asked = [node.left, *node.comparators]
    else:
        asked = [node.subject]
    return any(
        (isinstance(each, ast.Attribute) and each.attr == "kind")
        or (isinstance(each, ast.Name) and each.id == "kind")
        for part in asked
        for each in ast.walk(part)
    )


def _texts(node: ast.AST) -> list[str]:
    """Texts that are letters of something, not one of a list of words."""
    if isinstance(node, ast.Call):
        parts: list[ast.AST] = list(node.args)
    elif isinstance(node, ast.Compare):
        parts = [node.left]
    else:
        return []
    return [
        str(part.value) for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)
    ]


def compared(text: str, names: set[str]) -> Iterator[tuple[str, int]]:
    """Every name that something is compared with: equal or not, one of several, a case."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Compare | ast.match_case):
            asked = node.pattern if isinstance(node, ast.match_case) else node
            for each in ast.walk(asked):
                if isinstance(each, ast.Constant) and each.value in names:
                    yield str(each.value), each.lineno if isinstance(node, ast.match_case) else node.lineno


def classes() -> dict[str, set[str]]:
    """Every class that a kind defines, and the rooms of the kinds that do."""
    found: dict[str, set[str]] = {}
    for path in files():
        kind = kind_of(str(path.relative_to(HOME)))
        if kind is not None:
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    found.setdefault(node.name, set()).add(kind)
    return found


def recognised(text: str, known: Mapping[str, set[str]]) -> Iterator[tuple[str, int]]:
    """Classes by which kinds are told apart: in `isinstance`, `issubclass`, `type(...)`, a class pattern."""
    tree = ast.parse(text)
    ours = {"penstock": "penstock"}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("penstock"):
            ours |= {alias.asname or alias.name: alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            ours |= {each.asname: each.name for each in node.names if each.asname and "penstock" in each.name}
    for node in ast.walk(tree):
        asked: list[ast.AST] = []
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("isinstance", "issubclass"):
            asked = list(node.args[1:])
        elif isinstance(node, ast.Compare) and "type(" in ast.unparse(node):
            asked = [node.left, *node.comparators]
        elif isinstance(node, ast.MatchClass):
            asked = [node.cls]
        for each in (each for part in asked for each in ast.walk(part)):
            root, _, _ = ast.unparse(each).partition(".")
            if isinstance(each, ast.Name | ast.Attribute) and root in ours:
                name = each.attr if isinstance(each, ast.Attribute) else ours[root]
                if name in known:
                    yield name, node.lineno


def room(path: Path) -> str:
    """The room of a file: that of a kind or an analysis, or a folder at the top."""
    parts = path.relative_to(HOME).parts
    return "/".join(parts[: 2 if parts[0] in ("kinds", "learn") else 1])


def test_names_are_said_in_their_rooms_alone() -> None:
    allowed, found = homes(), set()
    for path in files():
        file = path.relative_to(HOME).as_posix()
        if file.startswith("catalogue/"):
            continue
        foreign = {name for name, rooms in allowed.items() if room(path) not in rooms}
        found |= {(file, word) for word, _ in said(path.read_text(encoding="utf-8"), foreign)}
    assert sorted(found - set(MEANT)) == []
    assert sorted(set(MEANT) - found) == [], "no longer needed"


def test_what_is_meant_where_nobody_says_is_never_compared_with() -> None:
    """A default may be said; asking whether a schema has it is a branch, whatever the list allows."""
    for (file, word), reason in MEANT.items():
        if reason == DEFAULT:
            text = (HOME / file).read_text(encoding="utf-8")
            assert [line for _, line in compared(text, {word})] == [], file
    for text in (
        'if kind != "table": pass',
        'if kind in ("table", "x"): pass',
        'match k:\n    case "table": 1',
    ):
        assert list(compared(text, {"table"})), text
    assert not list(compared('kind: str = "table"\nother = found.get("kind", "table")', {"table"}))


def test_nobody_outside_a_room_tells_kinds_apart_by_their_classes() -> None:
    known = classes()
    assert {"Table", "Points", "Sequences", "ItemSets", "TableRelease", "SequenceLayout"} <= set(known)
    found = []
    for path in files():
        file = path.relative_to(HOME).as_posix()
        own = kind_of(file)
        foreign = {name: kinds for name, kinds in known.items() if own not in kinds}
        found += [f"{file}:{line} {name}" for name, line in recognised(path.read_text("utf-8"), foreign)]
    assert found == []


@pytest.mark.parametrize(
    "text",
    [
        'if schema.kind == "table": pass',
        'if release.kind in ("points", "table"): pass',
        'wanted = kind != "sequences"',
        'match schema.kind:\n    case "itemsets": pass',
        'match schema.kind:\n    case "points" | "other": pass',
        '_WORDS = {"table": 1, "points": 2}',
        '_WORDS = {"table": 1}',
        'word = KINDS["table"]',
        'TABULAR = "table"\nif schema.kind == TABULAR: pass',
        'FLAT = frozenset({"table"})\nif schema.kind in FLAT: pass',
        'FLAT = ["table", "x"]',
        'FLAT = tuple("table x".split())\nif schema.kind.startswith("tab"): pass',
        'if schema.kind.startswith("tab"): pass',
        'if schema.kind.endswith("sets"): pass',
        'if "set" in schema.kind: pass',
        'flat = schema.kind == "ta" "ble"',
        'flat = schema.kind == "ta" + "ble"',
        'flat = schema.kind == f"table"',
        'flat = schema.kind.encode() == b"table"',
        'flat = dict(table=1)["table"]',
        'if release.method == "privtree": pass',
        'if release.method in {"select-items"}: pass',
        'if release.form == "network": pass',
        'FORMS = {"suffix-tree": 1}',
        'if schema.unit.protects == "user": pass',
        'if schema.unit.protects in ("record", "edge"): pass',
        'BLOCKS = {"sequence": 1}',
        'block = document["items"]',
        'if engine == "duckdb": pass',
        'ENGINES = ("memory", "duckdb")',
    ],
)
def test_a_name_outside_its_room_would_be_found(text: str) -> None:
    assert list(said(text, set(homes())))


@pytest.mark.parametrize(
    "text",
    [
        "from penstock.kinds.table.data import Table\nif isinstance(data, Table): pass",
        "from penstock.kinds.table.data import Table as T\nif isinstance(data, T | None): pass",
        "from penstock.kinds.table.data import Table\nif isinstance(data, (int, Table)): pass",
        "from penstock.kinds.table import data as tables\nif isinstance(data, tables.Table): pass",
        "import penstock.kinds.table.data as tables\nif isinstance(data, tables.Table): pass",
        "from penstock.kinds.table.data import Table\nif issubclass(kind, Table): pass",
        "from penstock.kinds.table.data import Table\nif type(data) is Table: pass",
        "from penstock.kinds.table.data import Table\nmatch data:\n    case Table(): pass",
        "from penstock.kinds.itemsets.layout import ItemSetLayout\nisinstance(schema.layout, ItemSetLayout)",
    ],
)
def test_a_kind_told_by_its_class_would_be_found(text: str) -> None:
    assert list(recognised(text, classes()))
