"""Drafts of graphs: the two columns of the ends, and the number of nodes that the edges name."""

from __future__ import annotations

import os
from typing import Any

import polars as pl

from penstock.drafting.proposal import KindDraft, Notes
from penstock.engine.header import Header
from penstock.engine.records import Source
from penstock.engine.source import read
from penstock.errors import DataError
from penstock.kinds.graph.layout import EdgeLayout
from penstock.kinds.graph.reading import begins_with_an_edge, read_lines
from penstock.schema import Field, Layout

_STARTS = ("from", "source", "src", "start", "caller", "u", "fromnodeid")
_ENDS = ("to", "target", "dst", "end", "callee", "v", "tonodeid")
_SAY_NODES = (
    "The number of nodes is that of the nodes that have an edge, read off the data: replace it, both times, "
    "by the public number of all nodes, or list their names under 'fields'. It must not follow from the "
    "edges."
)
_SAY_ANY_NODES = (
    "Nothing was read but the names of the columns: write the public number of all nodes, twice below."
)
_SAY_UNIT = (
    "One edge is protected. To protect all edges of a person who has at most 20 of them, write "
    "unit: {protects: edge, at_most: 20}; that costs 20 times as much accuracy."
)


class GraphDraft(KindDraft):
    """Which columns are the ends, and how many nodes were seen; both to review."""

    def __init__(self) -> None:
        self._header = True

    def read(self, source: Any, *, table: str | None = None, header: Header = None) -> Source:
        """Text without names above its columns is understood, too: such as that of SNAP."""
        if (
            header is None
            and table is None
            and isinstance(source, str | os.PathLike)
            and begins_with_an_edge(source)
        ):
            self._header = False
            return read_lines(source, ("from", "to"))
        return read(source, table=table, header=header)

    def arranged(
        self, fields: list[Field], frame: pl.DataFrame | None, markers: tuple[str, ...], notes: Notes
    ) -> tuple[list[Field], Layout | None]:
        names = [each.name for each in fields] if frame is None else frame.columns
        if len(names) < 2:
            raise DataError("A graph needs two columns, one for each end of an edge.")
        start = next((name for name in names if name.lower() in _STARTS), names[0])
        rest = [name for name in names if name != start]
        end = next((name for name in rest if name.lower() in _ENDS), rest[0])
        notes.top[:] = [note for note in notes.top if not note.startswith("Left out:")]
        notes.top += [_SAY_ANY_NODES if frame is None else _SAY_NODES, _SAY_UNIT]
        seen = 1
        if frame is not None:
            seen = pl.concat([frame[name].cast(pl.String).rename("node") for name in (start, end)]).n_unique()
        notes.fields.clear()
        told = (
            "to be written: the number of nodes"
            if frame is None
            else "read off the data: the number of nodes"
        )
        notes.fields["node"] = (told,)
        layout = EdgeLayout.model_validate({"from": start, "to": end, "nodes": seen, "header": self._header})
        (node,) = layout.own_fields()
        return [Field.model_validate({**node, "review": True})], layout
