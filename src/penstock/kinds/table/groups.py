"""One question for each value of one or two columns: counts, sums and means by group, and histograms.

Each group is a question of its own, with what its answer rests on. The model is looked at once for all of
them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from penstock.errors import QueryError
from penstock.kinds.table.answering import Asked, answer
from penstock.kinds.table.counted import MOST_CELLS, CountedTable
from penstock.releases.answer import Answer
from penstock.releases.batch import ANSWERED, with_answers
from penstock.schema.fact import nearest

if TYPE_CHECKING:
    import polars as pl

    from penstock.kinds.table.support import Support
    from penstock.schema import Condition, Schema

Reals = NDArray[np.float64]
Measure = Callable[[Asked, "Condition"], Answer]

MOST_COLUMNS = 2
MOST_GROUPS = 5_000


class Remembered:
    """A release that looks at its model once for each set of columns."""

    def __init__(self, release: Asked) -> None:
        self._release = release
        self._marginals: dict[tuple[str, ...], Reals] = {}

    @property
    def schema(self) -> Schema:
        return self._release.schema

    @property
    def support(self) -> Support:
        return self._release.support

    @property
    def total(self) -> float:
        return self._release.total

    @property
    def counted_tables(self) -> Sequence[CountedTable]:
        return self._release.counted_tables

    @property
    def estimates_errors(self) -> bool:
        return self._release.estimates_errors

    @property
    def loose(self) -> Sequence[Condition]:
        return self._release.loose

    def in_groups(self, names: Sequence[str]) -> list[tuple[str, ...]]:
        return self._release.in_groups(names)

    def marginal(self, names: Sequence[str]) -> Reals:
        key = tuple(names)
        if key not in self._marginals:
            self._marginals[key] = self._release.marginal(names)
        return self._marginals[key]

    def share(self, condition: Condition, worth: str | None = None) -> float:
        names = tuple(dict.fromkeys((*condition.names, *(() if worth is None else (worth,)))))
        if self.loose or prod(self.schema.sizes[name] for name in names) > MOST_CELLS:
            return self._release.share(condition, worth)
        return float((self.marginal(names) * condition.table(names, worth)).sum())


def columns_of(by: str | Sequence[str], schema: Schema) -> tuple[str, ...]:
    """The columns by which records are told apart: one or two names, or a text with a comma between them."""
    names = (by,) if isinstance(by, str) and by in schema.names else by
    if isinstance(names, str):
        names = [part.strip() for part in names.split(",")]
    for name in names:
        if name not in schema.names:
            raise QueryError(
                f"'{name}' is not a field{nearest(name, schema.names)}. The fields are "
                f"{', '.join(schema.names)}."
            )
    if not 1 <= len(set(names)) == len(names) <= MOST_COLUMNS:
        raise QueryError(f"Records are told apart by one or two different columns, not by {len(names)}.")
    groups = prod(schema.sizes[name] for name in names)
    if groups > MOST_GROUPS:
        raise QueryError(
            f"{' and '.join(names)} have {groups:,} groups; ask for at most {MOST_GROUPS:,} at once."
        )
    return tuple(names)


def answers_by(
    release: Asked, condition: Condition, names: Sequence[str], measure: Measure
) -> list[tuple[tuple[int, ...], Answer]]:
    """The answer for each group in which a record can be, by the codes of the columns."""
    once = Remembered(release)
    found = []
    for codes in product(*(range(release.schema.sizes[name]) for name in names)):
        asked = condition.among(dict(zip(names, codes, strict=True)))
        counted = answer(once, asked)
        if counted.rests_on == "declared" and counted.value == 0:
            continue
        if measure is answer:
            found.append((codes, counted))
        elif once.share(asked) > 0:  # a group without records has no mean
            found.append((codes, measure(once, asked)))
    return found


def by_group(
    release: Asked, condition: Condition, by: str | Sequence[str], measure: Measure, value: str
) -> pl.DataFrame:
    """The answers of all groups as a frame: the groups, then the columns of answers."""
    import polars as pl

    names = columns_of(by, release.schema)
    found = answers_by(release, condition, names, measure)
    columns = []
    for place, name in enumerate(names):
        taken = (*ANSWERED, value)
        shown = name if name not in taken else f"{name} (group)"
        columns.append(told_apart(release.schema, name, [codes[place] for codes, _ in found]).alias(shown))
    return with_answers(pl.DataFrame(columns), [each for _, each in found], value)


def told_apart(schema: Schema, name: str, codes: Sequence[int]) -> pl.Series:
    """What groups are called: by their value, or by their bin where that holds several; null for missing."""
    import polars as pl

    codec = schema.codec(name)
    attribute = codec.attribute
    several = codec.field.ranged and any(
        first != last for first, last in (codec.field.edges.span(code) for code in range(attribute.regular))
    )
    if not several and attribute.other is None:
        return codec.decode(np.asarray(codes, dtype=np.int64), np.random.default_rng(0))
    labels: list[Any] = [None if code == attribute.missing else attribute.labels[code] for code in codes]
    return pl.Series(name, labels, dtype=pl.String)


def histogram(release: Asked, condition: Condition, name: str) -> pl.DataFrame:
    """How many records each bin or category of a column has, with the ends of bins where it has bins."""
    import polars as pl

    (column,) = columns_of([name], release.schema)
    found = answers_by(release, condition, [column], answer)
    codec = release.schema.codec(column)
    labels = [codec.attribute.labels[codes[0]] for codes, _ in found]
    frame = pl.DataFrame({"value": pl.Series(labels, dtype=pl.String)})
    if codec.field.ranged:
        from penstock.schema.values import at, written

        spans = [
            codec.field.edges.span(codes[0]) if codes[0] < codec.attribute.regular else None
            for codes, _ in found
        ]
        for title, end in (("from", 0), ("to", 1)):
            ends = [None if span is None else at(codec.field.type, span[end]) for span in spans]
            if codec.field.type not in ("integer", "number"):
                ends = [None if each is None else written(each) for each in ends]
            frame = frame.with_columns(pl.Series(title, ends))
    return with_answers(frame, [each for _, each in found])
