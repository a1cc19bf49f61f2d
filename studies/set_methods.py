"""The tables on the pages of the methods for item sets, written from what the study found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from frame.page import FOLDER
from set_pages import HIGH, TOP, error_of

SHOWN = {
    "msnbc": "msnbc",
    "bms": "BMS-WebView-1",
    "groceries": "groceries",
    "mushroom": "mushroom",
    "retail": "retail",
    "kosarak": "kosarak, first 25,000",
}


def write_tables(got: dict[str, Any]) -> None:
    """Replace the table of each page by one with the same head and the figures of the study."""
    for name, made in (("sluice", _sluice), ("top-sets", _top_sets), ("privtree-sets", _privtree_sets)):
        path = FOLDER.parent / "methods" / f"{name}.md"
        head, rows = made(got)
        _replace(path, head, rows)


def _replace(path: Path, head: str, rows: list[list[str]]) -> None:
    lines = path.read_text(encoding="utf-8").split("\n")
    begin = next(place for place, line in enumerate(lines) if line.startswith(head)) + 2
    end = next(place for place in range(begin, len(lines)) if not lines[place].startswith("|"))
    lines[begin:end] = [f"| {' | '.join(row)} |" for row in rows]
    path.write_text("\n".join(lines), encoding="utf-8")


def _both(got: dict[str, Any], label: str, name: str, epsilon: str) -> str:
    one = got[f"{label}|{name}|{epsilon}"]
    return f"{error_of(one):.4f} / {one['utility'][str(TOP)]:.2f}"


def _useful(got: dict[str, Any], label: str, name: str, epsilon: str) -> str:
    return f"{got[f'{label}|{name}|{epsilon}']['utility'][str(TOP)]:.2f}"


def _sluice(got: dict[str, Any]) -> tuple[str, list[list[str]]]:
    rows = []
    for name, shown in SHOWN.items():
        sets, items, *_ = got[f"shape|{name}"]
        cells = [
            _both(got, label, name, epsilon) for epsilon in ("0.1", "1.0") for label in ("diffpart", "sluice")
        ]
        rows.append([shown, f"{sets:,}", f"{items:,}", *cells])
    return "| data | sets | items |", rows


def _top_sets(got: dict[str, Any]) -> tuple[str, list[list[str]]]:
    labels = ("diffpart", "top-sets", "sluice")
    rows = []
    for name, shown in SHOWN.items():
        cells = [
            ", ".join(_useful(got, label, name, epsilon) for label in labels)
            for epsilon in ("0.1", "0.5", "1.0")
        ]
        rows.append([shown, *cells, *(_useful(got, "top-sets", name, epsilon) for epsilon in HIGH)])
    return "| DiffPart, top-sets, sluice |", rows


def _privtree_sets(got: dict[str, Any]) -> tuple[str, list[list[str]]]:
    rows = [
        [
            shown,
            *(
                ", ".join(_both(got, label, name, epsilon) for label in ("diffpart", "privtree-sets"))
                for epsilon in ("0.1", "0.5", "1.0", "1.25")
            ),
        ]
        for name, shown in SHOWN.items()
    ]
    return "| DiffPart, privtree-sets |", rows
