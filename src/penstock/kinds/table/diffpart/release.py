"""Releases of rows with counts: every row that was found stands as often as it seems to occur."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel
from pydantic import Field as Range

from penstock.errors import ReleaseError
from penstock.kinds.table.diffpart.trees import Node
from penstock.kinds.table.release import TableRelease
from penstock.kinds.table.support import Support
from penstock.releases import Manifest, Model
from penstock.schema import Schema

Reals = NDArray[np.float64]
Counts = NDArray[np.int64]

UNKNOWN = 1000
"""Where nothing was found, so many rows of any values stand in for it; the number of records is then 0."""
TRIES = 100
MOST_DRAWN = 100_000
"""So many different rows stand for a part that was not divided to its end."""
LARGEST_COUNT = 1 << 50


def completed(schema: Schema, found: Sequence[tuple[tuple[Node, ...], int]]) -> dict[str, Any]:
    """Rows and counts of the parts that were found, for a release; post-processing.

    A node of several codes becomes any of them, by chance that is the same every time. Rows that the schema
    declares impossible are left out.
    """
    rng = np.random.default_rng(0)
    rows: Counter[tuple[int, ...]] = Counter()
    for cut, count in found:
        for row, many in _rows(cut, count, rng):
            rows[row] += many
    codes = np.array(sorted(rows), dtype=np.int64).reshape(len(rows), len(schema.names))
    counts = np.array([min(rows[row], LARGEST_COUNT) for row in sorted(rows)], dtype=np.int64)
    possible = ~_broken(schema, codes)
    total = float(counts[possible].astype(np.float64).sum())
    return {"codes": codes[possible], "counts": counts[possible], "total": total}


def _rows(
    cut: tuple[Node, ...], count: int, rng: np.random.Generator
) -> Iterator[tuple[tuple[int, ...], int]]:
    """The rows of a part that was found, and how many records each gets."""
    if all(len(node.codes) == 1 for node in cut):
        yield tuple(node.codes[0] for node in cut), count
        return
    drawn = min(count, MOST_DRAWN)
    each = np.column_stack([rng.choice(node.codes, size=drawn) for node in cut])
    for place, row in enumerate(each.tolist()):
        yield tuple(row), count // drawn + (place < count % drawn)


def _broken(schema: Schema, codes: Counts) -> NDArray[np.bool_]:
    return Support.of(schema).broken(dict(zip(schema.names, codes.T, strict=True)))


class _Saved(BaseModel):
    divided: Annotated[int, Range(ge=0)]
    left_out: Annotated[int, Range(ge=0)]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class RowsRelease(TableRelease):
    """Different rows, and how often each stands in the synthetic table.

    `divided` is how many parts of the records were divided, `left_out` how many were not, though they passed.

    >>> import polars as pl
    >>> from penstock import Schema, release
    >>> schema = Schema.from_yaml("fields: [{name: smoker, type: boolean}]")
    >>> people = pl.DataFrame({"smoker": [True] * 300 + [False] * 700})
    >>> made = release(people, schema, epsilon=1, method="diffpart-table", seed=1)
    >>> made.counts.shape
    (2,)
    """

    form: ClassVar[str] = "partition"

    codes: Counts
    counts: Counts
    divided: int
    left_out: int

    @cached_property
    def _known(self) -> tuple[Counts, Reals]:
        """Rows and their probabilities; any values where nothing was found."""
        if len(self.counts):
            return self.codes, self.counts / self.total
        rng = np.random.default_rng(0)
        for _ in range(TRIES):
            drawn = np.column_stack([rng.integers(size, size=UNKNOWN) for size in self.schema.sizes.values()])
            rows = drawn[~_broken(self.schema, drawn)]
            if len(rows):
                break
        return rows, np.full(len(rows), 1 / max(1, len(rows)))

    def weighted(self, names: Sequence[str], weights: Mapping[str, Reals]) -> Reals:
        codes, shares = self._known
        places = {name: place for place, name in enumerate(self.schema.names)}
        for name, weight in weights.items():
            shares = shares * weight[codes[:, places[name]]]
        joint = np.zeros([self.schema.sizes[name] for name in names])
        if not names:
            return np.asarray(shares.sum())
        np.add.at(joint, tuple(codes[:, places[name]] for name in names), shares)
        return joint

    def draw_codes(self, n: int, rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        codes, shares = self._known
        chosen = rng.choice(len(shares), size=n, p=shares / shares.sum())
        return dict(zip(self.schema.names, codes[chosen].T, strict=True))

    def draw_weighted(
        self, weights: Mapping[str, Reals], n: int, rng: np.random.Generator
    ) -> dict[str, NDArray[Any]] | None:
        codes, shares = self._known
        for place, name in enumerate(self.schema.names):
            if name in weights:
                shares = shares * weights[name][codes[:, place]]
        if shares.sum() <= 0:
            return None if n else dict(zip(self.schema.names, codes[:0].T, strict=True))
        chosen = rng.choice(len(shares), size=n, p=shares / shares.sum())
        return dict(zip(self.schema.names, codes[chosen].T, strict=True))

    def explain(self) -> Sequence[str]:
        said = [
            f"{len(self.counts):,} different rows were found, by dividing the records {self.divided:,} times "
            "along one column and going on where many seemed to be. Each has a noisy count."
        ]
        if self.left_out:
            said.append(f"{self.left_out:,} parts were not divided further, because the limit was reached.")
        return said

    def limits(self) -> Sequence[str]:
        return ["Rows that are rare were left out, so that there are fewer rows than records."]

    def model(self) -> Model:
        import polars as pl

        return Model(
            json=_Saved(divided=self.divided, left_out=self.left_out).model_dump(),
            tables={
                "rows": pl.DataFrame({"count": self.counts}),
                "codes": pl.DataFrame({"code": self.codes.ravel()}),
            },
        )

    @classmethod
    def from_model(cls, manifest: Manifest, model: Model) -> Self:
        import polars as pl

        saved = model.read(_Saved)
        sizes = np.array(list(manifest.schema.sizes.values()))
        counts = model.table("rows", {"count": pl.Int64})["count"].to_numpy()
        flat = model.table("codes", {"code": pl.Int64}, rows=len(counts) * len(sizes))["code"].to_numpy()
        codes = flat.reshape(len(counts), len(sizes))
        if (
            (codes < 0).any()
            or (codes >= sizes).any()
            or (counts < 1).any()
            or (counts > LARGEST_COUNT).any()
        ):
            raise ReleaseError("The release holds impossible rows; get it again.")
        return cls(
            **manifest.common,
            codes=codes,
            counts=counts,
            total=float(counts.astype(np.float64).sum()),
            divided=saved.divided,
            left_out=saved.left_out,
        )
