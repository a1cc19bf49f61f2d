"""Which columns of the data make an edge, and which nodes there are."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, ClassVar

from pydantic import Field as Described
from pydantic import model_validator

from penstock.errors import SchemaError
from penstock.schema import Field, Layout, Schema

MOST_NODES = 10**8  # a few numbers for each of them fit into memory


class EdgeLayout(Layout):
    """Two columns with the ends of an edge, on a node set that is public.

    The node set never follows from the edges: a node whose only edge is removed would vanish with it. Say how
    many nodes there are (`nodes`), whatever they are called in the data; or declare one field with the names
    of all nodes, as a list (`enum`, which may be a file) or as whole numbers from `minimum` to `maximum`.
    ``header: false`` is for text files without names above the columns, such as those of SNAP: the first two
    columns are the ends, and lines that begin with # or % are comments.

    >>> EdgeLayout(nodes=34).start, EdgeLayout(nodes=34).end
    ('from', 'to')
    """

    required: ClassVar[bool] = True
    missing: ClassVar[str] = (
        "edges: the schema does not say which nodes there are. Add a line such as 'edges: {nodes: 5242}' or "
        "'edges: {from: caller, to: callee, nodes: 5242}' with the public number of nodes."
    )

    start: str = Described("from", alias="from", description="the column of one end of an edge")
    end: str = Described("to", alias="to", description="the column of the other end")
    nodes: int | None = Described(
        None, description="how many nodes there are, those without an edge included"
    )
    header: bool = Described(
        True,
        description="whether a text file has names above its columns; else the first two are the ends",
    )

    @model_validator(mode="after")
    def _possible(self) -> EdgeLayout:
        if self.nodes is not None and not 1 <= self.nodes <= MOST_NODES:
            raise SchemaError(
                f"edges: nodes is {self.nodes}; give the public number of nodes, from 1 to {MOST_NODES}."
            )
        if self.start == self.end:
            raise SchemaError(f"edges: both ends are in the column '{self.start}'. Name two columns.")
        return self

    @classmethod
    def _where(cls, data: object) -> str:
        return "edges"

    def own_fields(self) -> list[dict[str, Any]]:
        """Nodes without names of their own are numbered from 1 on."""
        if self.nodes is None:
            raise SchemaError(self.missing)
        return [{"name": "node", "type": "integer", "constraints": {"minimum": 1, "maximum": self.nodes}}]

    def refuse_undeclared(self, key: str, names: Collection[str]) -> None:
        if len(names) > 1:
            last = sorted(names)[-1]
            raise SchemaError(
                f"fields: a graph has one field, with the names of its nodes, and no others. Remove '{last}'."
            )

    def refuse(self, schema: Schema) -> None:
        node = schema.fields[0]
        size = _size(node)
        if self.nodes is not None and self.nodes != size:
            raise SchemaError(
                f"{node.name}: the field names {size} nodes, and 'edges' says {self.nodes}. Correct one of "
                "them."
            )
        if self.nodes is None and node.type == "integer" and size > MOST_NODES:
            raise SchemaError(f"{node.name}: {size} nodes are too many. Narrow the bounds.")

    def named(self, schema: Schema) -> bool:
        """Whether nodes have public names: a list of them, or declared whole numbers."""
        return self.nodes is None or _names(schema.fields[0]) is not None

    def labels(self, schema: Schema) -> tuple[str, ...] | None:
        """The names of the nodes, where they are listed."""
        return _names(schema.fields[0])

    @property
    def ends(self) -> tuple[str, str]:
        return self.start, self.end


def nodes_of(schema: Schema) -> int:
    """The public number of nodes."""
    EdgeLayout.of(schema)
    return _size(schema.fields[0])


def first_number(schema: Schema) -> int:
    """What the first node is called where nodes are numbers."""
    node = schema.fields[0]
    return 1 if _names(node) is not None else int(node.constraints.minimum)


def _names(node: Field) -> tuple[str, ...] | None:
    return None if node.constraints.enum is None else node.labels


def _size(node: Field) -> int:
    names = _names(node)
    if names is not None:
        return len(names)
    bounds = node.constraints
    if node.type != "integer" or bounds.minimum is None or bounds.maximum is None:
        raise SchemaError(
            f"{node.name}: nodes are named by a list (enum) or are whole numbers from 'minimum' to "
            "'maximum'. "
            "Declare one of them."
        )
    return int(bounds.maximum) - int(bounds.minimum) + 1
