"""Does a change of the house change what comes out of it? The same seeded releases, before and after.

    python studies/house/fingerprints.py make before        # in a checkout of the state before
    python studies/house/fingerprints.py make after         # here
    python studies/house/fingerprints.py compare before after

Every file of every release is compared byte for byte. Words that were renamed on purpose are listed in
`RENAMED` and put into the files from before; a file that needed them is counted apart. Hashes and sizes in
the table of contents follow from the files and are left out there.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import polars as pl

import penstock
from penstock.demo import survey, survey_schema

SQUARE = """
kind: points
fields:
  - {name: x, type: number, constraints: {minimum: 0, maximum: 1}}
  - {name: y, type: number, constraints: {minimum: 0, maximum: 1}}
"""
PAGES = """
kind: sequences
sequence: {symbol: pages, longest: 8}
fields:
  - {name: pages, constraints: {enum: [home, news, sport, shop]}}
"""
BASKETS = """
kind: itemsets
items: {item: basket}
fields:
  - {name: basket, constraints: {enum: [bread, butter, milk, eggs, tea, salt]}}
"""
ANSWERS = """
relation: replace
size: 2000
fields:
  - {name: a, type: boolean}
  - {name: b, type: boolean}
  - {name: c, type: boolean}
  - {name: d, type: boolean}
"""
VISITORS = """
unit: {protects: user, column: who, at_most: 2}
fields:
  - {name: age, type: integer, constraints: {minimum: 0, maximum: 99}, bins: {adaptive: true, most: 8}}
  - {name: sex, constraints: {enum: [f, m]}}
"""

_CONFLUENCE = r"(survey|answers|visitors)-default(-duckdb)?"
_SELECTIONS = "survey-select|baskets-.*|pages-top-strings"

RENAMED: tuple[tuple[str, str, str], ...] = (
    # The door: `load` is where every user looks for it.
    ("", r"from penstock\.release import load", "from penstock import load"),
    # Format 2: the kind of a selection is that of its data, and the kind of answer is said beside it.
    ("", r'"format": 1,(\s+"version")', r'"format": 2,\1'),
    ("survey-select", r'"kind": "selection"', '"kind": "table"'),
    ("baskets-.*", r'"kind": "selection"', '"kind": "itemsets"'),
    (_SELECTIONS, r'("kind": "\w+",\s+)("method")', r'\1"answer": "selection",\n  \2'),
    ("", r'("kind": "\w+",\s+)("method")', r'\1"answer": "synthetic data",\n  \2'),
    ("survey-select", "A selection with", "A selection from a table with"),
    ("baskets-.*", "A selection with", "A selection from item sets with"),
    ("pages-top-strings", "Sequences with", "A selection from sequences with"),
    # Pages: the terms of a guarantee, and no colours that nothing is drawn in.
    ("", r"(?m)^\.facts ", ".terms "),
    ("", r'class="facts"', 'class="terms"'),
    # A selection from a column says which.
    (
        "survey-select",
        r'(\s+)("mechanism": "[a-z-]+")(\s+\},\s+"guarantee")',
        r'\1\2,\1"column": "district"\3',
    ),
    (
        "survey-select",
        r'(<th scope="row">mechanism</th>\n<td class="short">[a-z-]+</td>\n</tr>\n)',
        r'\1<tr>\n<th scope="row">column</th>\n<td class="short">district</td>\n</tr>\n',
    ),
    ("", r',"diverging":\[\[.*?\]\]', ""),
    # Our own table method has its own name, and the release of both is called after what it is.
    ("", r'"form": "privbayes"', '"form": "network"'),
    (_CONFLUENCE, r'"method": "privbayes"', '"method": "confluence"'),
    (_CONFLUENCE, r"by the method privbayes", "by the method confluence"),
    (_CONFLUENCE, r'"preset": "adaptive",\s*', ""),
    (_CONFLUENCE, r'<th scope="row">preset</th>\n<td class="short">adaptive</td>\n</tr>\n<tr>\n', ""),
)
"""(release, pattern, replacement): what files from before are expected to say now; '' is every release."""


def number(place: int, bound: int) -> int:
    """A made-up number that is the same everywhere."""
    return (place * 2654435761 + 40503 * (place // 7)) % 2**32 * bound >> 32


def data() -> dict[str, tuple[Any, str]]:
    """Every table, map, list of visits and baskets that is released, with its schema."""
    xs = [(number(i, 1000) * number(i + 5, 1000)) / 1e6 for i in range(3000)]
    ys = [number(3 * i, 1000) / 1e3 for i in range(3000)]
    words = ("home", "news", "sport", "shop")
    goods = ("bread", "butter", "milk", "eggs", "tea", "salt")
    bits = {
        name: [number(k * i, 4) < 1 + (i + k) % 3 for i in range(2000)] for k, name in enumerate("abcd", 1)
    }
    return {
        "survey": (survey(3000), survey_schema()),
        "answers": (pl.DataFrame(bits), ANSWERS),
        "visitors": (
            pl.DataFrame(
                {
                    "who": [number(i, 500) for i in range(1500)],
                    "age": [number(i, 50) + number(2 * i, 40) for i in range(1500)],
                    "sex": ["fm"[number(7 * i, 2)] for i in range(1500)],
                }
            ),
            VISITORS,
        ),
        "square": (pl.DataFrame({"x": xs, "y": ys}), SQUARE),
        "pages": (
            pl.DataFrame(
                {
                    "pages": [
                        " ".join(words[number(i + j, 4)] for j in range(number(i, 7))) for i in range(2000)
                    ]
                }
            ),
            PAGES,
        ),
        "baskets": (
            pl.DataFrame(
                {"basket": [" ".join(goods[: 1 + number(i, 6)][number(i + 1, 2) :]) for i in range(2000)]}
            ),
            BASKETS,
        ),
    }


WANTED: tuple[tuple[str, str, str | None, dict[str, Any]], ...] = (
    ("survey-default", "survey", None, {}),
    ("survey-plain", "survey", "privbayes", {"preset": "plain"}),
    ("survey-journal", "survey", "privbayes", {"preset": "journal", "encoding": "vanilla"}),
    ("survey-independent", "survey", "independent", {}),
    ("survey-select", "survey", "select-categories", {"c": 2, "column": "district", "counts": "1/4"}),
    ("answers-default", "answers", None, {}),
    ("answers-plain", "answers", "privbayes", {"preset": "plain"}),
    ("answers-thesis", "answers", "privbayes", {"preset": "thesis", "score": "I"}),
    ("answers-binary", "answers", "privbayes", {"preset": "journal", "encoding": "binary", "degree": 2}),
    ("visitors-default", "visitors", None, {}),
    ("visitors-plain", "visitors", "privbayes", {"preset": "plain"}),
    ("square-default", "square", None, {}),
    ("square-published", "square", "privtree", {"constant": "published", "theta": 5}),
    ("square-grid", "square", "uniform-grid", {}),
    ("square-adaptive-grid", "square", "adaptive-grid", {}),
    ("square-hierarchy", "square", "hierarchy", {}),
    ("square-privelet", "square", "privelet", {}),
    ("square-simple-tree", "square", "simple-tree", {}),
    ("square-dawa", "square", "dawa", {}),
    ("pages-default", "pages", None, {}),
    ("pages-n-gram", "pages", "n-gram", {}),
    ("pages-top-strings", "pages", "top-strings", {}),
    ("baskets-best", "baskets", "select-items", {"c": 3}),
    ("baskets-above", "baskets", "select-items", {"c": 3, "threshold": 500, "mechanism": "sparse-vector"}),
)


def make(folder: Path) -> None:
    """Every wanted release, under `folder`."""
    known = data()
    for name, source, method, parameters in WANTED:
        frame, schema = known[source]
        engines = ("memory", "duckdb") if source in ("survey", "square") and method is None else ("memory",)
        for engine in engines:
            penstock.release(
                frame,
                penstock.Schema.from_yaml(schema),
                epsilon=1,
                method=method,
                parameters=parameters,
                engine=engine,
                seed=7,
                accept_unreviewed_draft=True,
                out=folder / (name if engine == "memory" else f"{name}-{engine}"),
            )
        print(f"{name}: made")


def compare(before: Path, after: Path) -> int:
    """One table: files that are the same, the same but for renamed words, or different."""
    same, renamed, different = 0, 0, []
    found = [(root, path) for root in (before, after) for path in root.rglob("*") if path.is_file()]
    places = {path.relative_to(root) for root, path in found}
    for place in sorted(places):
        old, new = before / place, after / place
        if not old.is_file() or not new.is_file():
            different.append(f"{place}: only {'after' if new.is_file() else 'before'}")
            continue
        first, second = plain(old), plain(new)
        if first == second:
            same += 1
        elif told(first, place.parts[0]) == second:
            renamed += 1
        else:
            different.append(f"{place}: differs")
    print("\n".join(different))
    print(f"{len(WANTED)} kinds of release, {len(places)} files")
    print(f"{same} byte for byte the same, {renamed} but for renamed words, {len(different)} different")
    return 1 if different else 0


def plain(path: Path) -> bytes:
    """The bytes of a file; of the table of contents without what follows from the other files."""
    if path.name != "datapackage.json":
        return path.read_bytes()
    contents = json.loads(path.read_text(encoding="utf-8"))
    for resource in contents["resources"]:
        del resource["hash"], resource["bytes"]
    return json.dumps(contents, indent=1, ensure_ascii=False).encode()


def told(raw: bytes, release: str) -> bytes:
    """The file in today's words."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw
    for where, pattern, replacement in RENAMED:
        if not where or re.fullmatch(where, release):
            text = re.sub(pattern, replacement, text)
    return text.encode("utf-8")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["make", place]:
            make(Path(place))
        case ["compare", first, second]:
            sys.exit(compare(Path(first), Path(second)))
        case _:
            sys.exit(__doc__)
