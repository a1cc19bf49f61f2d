"""The datasets of the papers, as coded tables with public schemas.

The files are not part of the project: several of them may not be passed on. They are looked for in the
folder that the environment variable PENSTOCK_DATA names, else in `../shared/data` beside the project.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from penstock.engine import MemoryEngine
from penstock.kinds.table.data import Table
from penstock.schema import Relation, Schema

ROOT = Path(__file__).resolve().parents[2]

Codes = dict[str, NDArray[Any]]


class MissingDataError(Exception):
    """A data file that a study needs is not there; the message says where it was looked for."""


def folder() -> Path:
    given = os.environ.get("PENSTOCK_DATA")
    return Path(given) if given else ROOT.parent / "shared" / "data"


def file(name: str) -> Path:
    """The path of a data file that exists."""
    path = folder() / name
    if not path.is_file():
        raise MissingDataError(
            f"The data file {name} is not in {folder()}. Set PENSTOCK_DATA to the folder that holds it; "
            "docs/studies.md says where each file comes from."
        )
    return path


@dataclass(frozen=True, eq=False)
class Dataset:
    """A table of codes, its public schema, and what its classification tasks predict.

    `tasks` give for each task the attribute and the codes of its positive class; `records` are the raw values
    where a study may ask for them.
    """

    name: str
    schema: Schema
    codes: Codes
    tasks: Mapping[str, tuple[str, frozenset[int]]]
    records: pl.DataFrame | None = None

    @property
    def rows(self) -> int:
        return len(next(iter(self.codes.values())))

    @property
    def sizes(self) -> dict[str, int]:
        return self.schema.sizes

    @property
    def names(self) -> list[str]:
        return list(self.schema.names)

    @cached_property
    def engine(self) -> MemoryEngine:
        """Raw counts, for metrics and for the variants that are not private."""
        return MemoryEngine(self.codes, self.sizes)

    def table(self, relation: Relation = Relation.REPLACE) -> Table:
        """The sealed table; under `replace` with its number of rows public, as the papers have it."""
        return self._tables[relation]

    @cached_property
    def _tables(self) -> dict[Relation, Table]:
        return {
            relation: Table(
                self.engine,
                self.schema.model_copy(
                    update={"relation": relation, "size": self.rows if relation is Relation.REPLACE else None}
                ),
            )
            for relation in Relation
        }

    def part(self, rows: NDArray[Any], name: str) -> Dataset:
        codes = {n: c[rows] for n, c in self.codes.items()}
        kept = None if self.records is None else self.records[rows]
        return Dataset(name, self.schema, codes, self.tasks, kept)

    def cut(self, rows: int, seed: int = 0) -> Dataset:
        """So many of the rows, drawn by a fixed seed; all of them where there are no more."""
        chosen = np.random.default_rng(seed).permutation(self.rows)[:rows]
        return self.part(chosen, f"{self.name} {rows}")

    def split(self, seed: int = 0, share: float = 0.8) -> tuple[Dataset, Dataset]:
        """A training and a test part, by a fixed seed."""
        order = np.random.default_rng(seed).permutation(self.rows)
        cut = int(share * self.rows)
        return self.part(order[:cut], f"{self.name} train"), self.part(order[cut:], f"{self.name} test")


def load(name: str) -> Dataset:
    """A table by name; kept for the next time.

    "nltcs train" and "nltcs test" are its 80/20 parts, "nltcs 500" is that many of its rows.
    """
    found = data_of(name)
    if not isinstance(found, Dataset):
        raise TypeError(f"{name!r} is no table; use data_of")
    return found


@cache
def data_of(name: str) -> Any:
    """What a study calls by this name: a table, points or sequences."""
    whole, _, part = name.partition(" ")
    if part.isdigit():
        return load(whole).cut(int(part))
    if part:
        train, test = load(whole).split()
        return {"train": train, "test": test}[part]
    if whole in LOADERS:
        return LOADERS[whole]()
    from frame.suite import SUITE  # which is made of what is defined here

    if whole in SUITE:
        return SUITE[whole].load()
    from frame.unseen import has, load_unseen

    if has(whole):
        return load_unseen(whole)
    raise KeyError(f"no dataset {name!r}; there are {', '.join([*LOADERS, *SUITE])}")


def load_own(name: str) -> Dataset:
    """A table of the papers, for the suite."""
    found = LOADERS[name]()
    assert isinstance(found, Dataset)
    return found


def coded(name: str, frame: pl.DataFrame, fields: Sequence[Mapping[str, Any]], tasks: Any = None) -> Dataset:
    """A dataset from raw columns and the fields of its schema."""
    schema = Schema.model_validate({"fields": list(fields)})
    text = frame.select(pl.col(field["name"]).cast(pl.String) for field in fields)
    codes: Codes = dict(schema.encode(text))
    found = {
        task: (column, frozenset(schema.attribute(column).labels.index(label) for label in labels))
        for task, (column, labels) in (tasks or {}).items()
    }
    return Dataset(name, schema, codes, found, frame)


def flat(name: str, labels: Sequence[object]) -> dict[str, Any]:
    return {"name": name, "constraints": {"enum": [str(label) for label in labels]}}


def ordered(name: str, labels: Sequence[object]) -> dict[str, Any]:
    """Bins or grades: neighbours may be merged two by two."""
    return {**flat(name, labels), "categoriesOrdered": True}


def grouped(name: str, tree: Mapping[str, Any], labels: Sequence[object] | None = None) -> dict[str, Any]:
    """Categories under a taxonomy, in the order of its leaves unless another is given."""
    nested = _nested(tree)
    field: dict[str, Any] = {"name": name, "taxonomy": nested}
    return field if labels is None else {**flat(name, labels), "taxonomy": nested}


def _nested(tree: Mapping[str, Any]) -> list[Any]:
    below: list[Any] = [{f"group {node['name']}": _nested(node)} for node in tree["node_list"]]
    return below + [str(value) for value in tree["value_list"]]


# The datasets -----------------------------------------------------------------------------------------


def _nltcs() -> Dataset:
    frame = pl.read_csv(file("nltcs/nltcs.csv.gz"))
    tasks = {
        "outside": ("getting about outside", ["1"]),
        "money": ("managing money", ["1"]),
        "bathing": ("bathing", ["1"]),
        "toilet": ("using toilet", ["1"]),
        "traveling": ("traveling", ["1"]),
    }
    return coded("nltcs", frame, [flat(name, (0, 1)) for name in frame.columns], tasks)


def _acs() -> Dataset:
    frame = pl.read_csv(file("acs/acs.csv.gz"))
    # The public copy does not say which columns the paper predicts: four balanced ones stand in for them.
    tasks = {name: (name, ["1"]) for name in ("a4", "a9", "a11", "a19")}
    return coded("acs", frame, [flat(name, (0, 1)) for name in frame.columns], tasks)


SCHOOL = (
    "Preschool", "1st-4th", "5th-6th", "7th-8th", "9th", "10th", "11th", "12th", "HS-grad",
    "Some-college", "Assoc-voc", "Assoc-acdm", "Bachelors", "Masters", "Prof-school", "Doctorate",
)  # fmt: skip


def _adult() -> Dataset:
    frame = pl.read_csv(file("adult/adult_privbayes_45222.csv.gz"))
    trees = json.loads(file("adult/privbayes_hierarchy.json").read_text())
    sizes = json.loads(file("adult/privbayes_domain.json").read_text())
    fields = []
    for name, tree in zip(frame.columns, trees, strict=True):
        if name == "education-num":
            fields.append(ordered(name, range(1, 17)))
        elif name == "education":
            fields.append(grouped(name, tree, SCHOOL))
        elif tree["node_list"]:
            fields.append(grouped(name, tree))
        elif frame[name].dtype.is_integer():
            fields.append(ordered(name, range(sizes[name])))
        else:
            fields.append(flat(name, tree["value_list"]))
    tasks = {
        "female": ("sex", ["Female"]),
        "income": ("income", [">50K"]),
        "education": ("education", SCHOOL[9:]),
        "single": ("marital-status", ["Never-married"]),
    }
    return coded("adult", frame, fields, tasks)


def _br2000() -> Dataset:
    frame = pl.read_csv(file("br2000/br2000.csv.gz"))
    trees = json.loads(file("br2000/hierarchy.json").read_text())
    sizes = json.loads(file("br2000/domain.json").read_text())
    fields = [
        grouped(name, tree, range(sizes[name]))
        if tree["node_list"]
        else ordered(name, range(16))
        if sizes[name] == 16
        else flat(name, range(sizes[name]))
        for name, tree in zip(frame.columns, trees, strict=True)
    ]
    # As for ACS: four binary columns stand in for the paper's.
    tasks = {name: (name, ["1"]) for name in ("a0", "a5", "a7", "a13")}
    return coded("br2000", frame, fields, tasks)


BINNED = ("age", "fnlwgt", "education-num", "capital-gain", "capital-loss", "hours-per-week")


def _adult_race() -> Dataset:
    """Adult in the binning of the MST papers: the table of the race."""
    frame = pl.read_csv(file("adult/adult_mst_48842.csv.gz"))
    sizes = json.loads(file("adult/mst_domain.json").read_text())
    fields = [(ordered if name in BINNED else flat)(name, range(sizes[name])) for name in frame.columns]
    return coded("adult-race", frame, fields, {"income": ("income>50K", ["1"])})


def _made_up() -> Dataset:
    """A table that needs no file, to try the frame with: b copies a's parity, c is a coin."""
    rng = np.random.default_rng(0)
    a = rng.integers(0, 4, 2000)
    frame = pl.DataFrame({"a": a, "b": a % 2, "c": rng.integers(0, 2, 2000)})
    fields = [ordered("a", range(4)), flat("b", (0, 1)), flat("c", (0, 1))]
    return coded("made-up", frame, fields, {"copy": ("b", ["1"])})


LOADERS: dict[str, Callable[[], Any]] = {
    "nltcs": _nltcs,
    "acs": _acs,
    "adult": _adult,
    "br2000": _br2000,
    "adult-race": _adult_race,
    "made-up": _made_up,
}
