"""How a release walks through the house: the files whose functions run, and the calls between them.

    python studies/house/walk.py            # a table
    python studies/house/walk.py points

A *file* is one in which a function runs; an *edge* is an ordered pair of files of which one calls a
function of the other. Two files that call *each other* send the reader who follows the release back and
forth between them. On the way from call to call, a *hop* leaves a room and comes straight back to it: one
room, another, and the first again. Whatever runs because something is imported does not count: it runs once,
and for nobody's release.

The state before kinds had rooms of their own is commit 41dc141; with its source in a folder,

    git archive 41dc141 src | tar -x -C before
    PYTHONPATH=before/src python studies/house/walk.py points

walks through it in the rooms of today (`MOVED`), so that only the order of the work counts.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from pathlib import Path
from types import FrameType
from typing import Any

import penstock

HOME = str(Path(penstock.__file__).parent)

POINTS = """
kind: points
fields:
  - {name: x, type: number, constraints: {minimum: 0, maximum: 1}}
  - {name: y, type: number, constraints: {minimum: 0, maximum: 1}}
"""


class Walk:
    """Records which file calls which while it is watching."""

    def __init__(self) -> None:
        self.calls: Counter[tuple[str, str]] = Counter()
        self.files: set[str] = set()
        self.functions: set[tuple[str, str, str, str]] = set()
        self.path: list[str] = []
        self.importing: FrameType | None = None

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        if self.importing is not None:
            if event == "return" and frame is self.importing:
                self.importing = None
            return
        if event == "call" and frame.f_code.co_name == "<module>":
            self.importing = frame
        if event != "call" or frame.f_code.co_name in ("<module>", "<lambda>"):
            return
        here = self._file(frame)
        if here is None or frame.f_code.co_flags & 0x2 == 0:  # a class body has no fast locals
            return
        self.files.add(here)
        if not self.path or self.path[-1] != room(here):
            self.path.append(room(here))
        caller = frame.f_back
        while caller is not None and self._file(caller) is None:
            caller = caller.f_back
        there = None if caller is None else self._file(caller)
        if there is not None and there != here and caller is not None:
            self.calls[there, here] += 1
            self.functions.add((there, caller.f_code.co_qualname, here, frame.f_code.co_qualname))

    @staticmethod
    def _file(frame: FrameType) -> str | None:
        name = frame.f_code.co_filename
        return name.removeprefix(HOME + "/") if name.startswith(HOME) else None


def watched(kind: str, *, saved: bool) -> Walk:
    """One release of this kind of data, as the command line makes it, saved as a folder or not."""
    import polars as pl

    from penstock.demo import survey, survey_schema

    if kind == "points":
        values = [(7919 * i % 1000) / 1000 for i in range(2000)]
        frame, schema = pl.DataFrame({"x": values, "y": values[::-1]}), POINTS
    else:
        frame, schema = survey(2000), survey_schema()
    walk = Walk()
    with tempfile.TemporaryDirectory() as place:
        facts = penstock.Schema.from_yaml(schema)
        sys.setprofile(walk)
        penstock.release(frame, facts, epsilon=1, seed=1, out=Path(place) / "release" if saved else None)
        sys.setprofile(None)
    return walk


def main(kind: str) -> None:
    tell(f"a release of {kind}, made", watched(kind, saved=False))
    tell(f"a release of {kind}, made and saved", watched(kind, saved=True))


def tell(title: str, walk: Walk) -> None:
    edges = set(walk.calls)
    mutual = sorted({tuple(sorted(edge)) for edge in edges if edge[::-1] in edges})
    hops = sum(before == after for before, after in zip(walk.path, walk.path[2:], strict=False))
    across = {call for call in walk.functions if room(call[0]) != room(call[2])}
    rooms = {(room(call[0]), room(call[2])) for call in across}
    print(f"{title}: {len(walk.files)} files, {len(edges)} edges, {len(mutual)} pairs that call each other")
    print(f"between rooms: {len(across)} calls of one function by another, {len(rooms)} edges")
    print(f"changes of room on the way: {len(walk.path) - 1}, hops back and forth: {hops}")
    for first, second in mutual:
        print(f"  {first} <-> {second}")


GROUND = ("errors", "progress", "lifetime", "catalogue", "postprocessing", "methods")
MOVED = {
    **dict.fromkeys(("privacy/points", "privacy/cloud", "privacy/space", "privacy/axis"), "kinds/points"),
    **dict.fromkeys(("privacy/table", "privacy/adaptive_bins"), "kinds/table"),
    **dict.fromkeys(("release/maps", "release/pictures", "release/diagrams"), "report"),
    **dict.fromkeys(("release/page", "release/theme", "release/paid"), "report"),
    "privacy/consistency": "ground",
    "schema/unit": "privacy",
    "spatial": "kinds/points",
    "tabular": "kinds/table",
    "release": "releases",
}
"""Files and rooms of the first plan of the house, in which a kind of data had no room of its own, and where
they stand now: with it the two plans are walked through the same rooms."""


def room(file: str) -> str:
    """The room of a file: a folder at the top, or the room of one kind; the ground floor counts as none."""
    name = file.removesuffix(".py")
    parts = name.split("/")
    if name in MOVED or parts[0] in MOVED:
        return MOVED.get(name) or MOVED[parts[0]]
    if parts[0] in GROUND:
        return "ground"
    if len(parts) == 1:
        return "door"
    return "/".join(parts[:2]) if parts[0] in ("kinds", "learn") else parts[0]


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "table")
