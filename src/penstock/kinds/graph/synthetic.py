"""Releases from which graphs are drawn: any number of them, as edges, NetworkX graphs or sparse matrices."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from penstock.errors import UsageError
from penstock.kinds.graph import pictures
from penstock.kinds.graph.layout import EdgeLayout, first_number
from penstock.kinds.graph.release import GraphRelease
from penstock.kinds.graph.simple import Numbers, SimpleGraph
from penstock.releases import Question, Written
from penstock.report.picture import Picture

if TYPE_CHECKING:
    import polars as pl

Form = Literal["edges", "networkx", "scipy"]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SyntheticGraphRelease(GraphRelease):
    """A model of graphs. What `sample` counts are graphs: one by default, and several with a column that
    numbers them.
    """

    answer: ClassVar[str] = "synthetic data"
    sampled: ClassVar[str] = "graphs"
    sampled_often: ClassVar[int] = 3

    @property
    @abstractmethod
    def drawn_nodes(self) -> int:
        """How many nodes a synthetic graph has."""

    @abstractmethod
    def links(self, rng: np.random.Generator) -> tuple[Numbers, Numbers]:
        """Both ends of every link of one graph, as numbers from 0 on."""

    @property
    def size(self) -> int:
        return 1

    def draw(self, n: int, rng: np.random.Generator) -> pl.DataFrame:
        """The edges of `n` graphs: two columns as in the data, and `graph` before them where there are
        several."""
        import polars as pl

        first, names = first_number(self.schema), EdgeLayout.of(self.schema).ends
        frames = []
        for number in range(1, n + 1):
            ends = self.links(rng)
            columns = {name: each + first for name, each in zip(names, ends, strict=True)}
            numbered = {"graph": np.full(ends[0].size, number, dtype=np.int64)} if n > 1 else {}
            frames.append(pl.DataFrame({**numbered, **columns}))
        empty = dict.fromkeys(names, pl.Int64)
        return pl.concat(frames) if frames else pl.DataFrame(schema=empty)

    def sample(
        self,
        n: int | None = None,
        *,
        seed: int | None = None,
        where: str | None = None,
        form: Form = "edges",
    ) -> Any:
        """The edges of `n` synthetic graphs; one graph for NetworkX or as a matrix of SciPy, if `form` says
        so.
        """
        if form == "edges" or where is not None:
            return super().sample(n, seed=seed, where=where)
        if form not in ("networkx", "scipy"):
            raise UsageError(f"form must be edges, networkx or scipy, not {form!r}.")
        if n not in (None, 1):
            raise UsageError(f"One graph at a time for {form}, not {n}; call it again with another seed.")
        return self.graph(seed=seed) if form == "networkx" else self.matrix(seed=seed)

    def graph(self, *, seed: int | None = None) -> Any:
        """One synthetic graph for NetworkX, nodes without links included."""
        try:
            import networkx as nx
        except ImportError:
            raise UsageError("NetworkX is not installed; 'pip install networkx', or use matrix().") from None
        first = first_number(self.schema)
        _, rng = self.drawing(1, seed)
        ones, others = self.links(rng)
        made = nx.Graph()
        made.add_nodes_from(range(first, first + self.drawn_nodes))
        made.add_edges_from(zip((ones + first).tolist(), (others + first).tolist(), strict=True))
        return made

    def matrix(self, *, seed: int | None = None) -> Any:
        """One synthetic graph as a symmetric sparse matrix of SciPy."""
        import scipy.sparse as sp

        _, rng = self.drawing(1, seed)
        ones, others = self.links(rng)
        both = np.concatenate([ones, others]), np.concatenate([others, ones])
        shape = (self.drawn_nodes, self.drawn_nodes)
        return sp.csr_array((np.ones(both[0].size, dtype=np.int64), both), shape=shape)

    def simple(self, seed: int = 0) -> SimpleGraph:
        """One synthetic graph, to be counted."""
        return SimpleGraph.of(self.drawn_nodes, *self.links(np.random.default_rng(seed)))

    def files(self) -> Mapping[str, Callable[[pl.DataFrame, Path], None]]:
        return {".graphml": self._write_graphml, ".txt": self._write_text}

    def _write_text(self, rows: pl.DataFrame, path: Path) -> None:
        """An edge list as SNAP writes them, with the number of nodes in a comment."""
        if "graph" in rows.columns:
            raise UsageError("A .txt file holds one graph; draw one, or write a .csv or .parquet file.")
        names = rows.columns
        head = (
            f"# Synthetic graph\n# Nodes: {self.drawn_nodes} Edges: {rows.height}\n# {names[0]}\t{names[1]}\n"
        )
        with path.open("w", encoding="utf-8", newline="\n") as stream:
            stream.write(head)
            stream.write(rows.write_csv(separator="\t", include_header=False))

    def _write_graphml(self, rows: pl.DataFrame, path: Path) -> None:
        if "graph" in rows.columns:
            raise UsageError("A .graphml file holds one graph; draw one, or write a .csv or .parquet file.")
        first = first_number(self.schema)
        with path.open("w", encoding="utf-8", newline="\n") as stream:
            stream.write('<?xml version="1.0" encoding="UTF-8"?>\n')
            stream.write('<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n')
            stream.write('<graph id="synthetic" edgedefault="undirected">\n')
            stream.writelines(f'<node id="{node}"/>\n' for node in range(first, first + self.drawn_nodes))
            stream.writelines(f'<edge source="{one}" target="{two}"/>\n' for one, two in rows.iter_rows())
            stream.write("</graph>\n</graphml>\n")

    def questions(self) -> Mapping[str, Question]:
        written = Question("a synthetic graph is written", self._written, example="graph.txt")
        return {"graph": written, **self.in_sql()}

    def _written(self, text: str) -> Written:
        from penstock.releases.disk import whole_file

        path = Path(text)
        writer = self.files().get(path.suffix.lower())
        if writer is None:
            raise UsageError(
                f"'{text}' must end in {' or '.join(self.files())}, so that it is clear what to write."
            )
        rows = self.sample(1, seed=0)
        with whole_file(path) as partial:
            writer(rows, partial)
        return Written(path, f"a synthetic graph of {self.drawn_nodes:,} nodes and {rows.height:,} edges")

    def pictures(self) -> Sequence[Picture]:
        return pictures.of_graph(self.simple())
