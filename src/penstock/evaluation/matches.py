"""Apparent matches: synthetic records that are equal to an original one, and what that does not mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from penstock.report.numbers import percent, sentence
from penstock.report.page import Section, Table, Text

if TYPE_CHECKING:
    import polars as pl

CAUTION = (
    "A match is no leak by itself: where few combinations of values exist, or one is common, rows are equal "
    "by chance, as the second line shows. Nor is it a proof of safety that there is none. What protects "
    "people is the guarantee on the receipt, which bounds what any one record can change, matches included."
)


@dataclass(frozen=True)
class Matches:
    """Shares of synthetic records that equal an original one: any, and one that nobody else shares.

    `floor` is the share of any among records whose columns were drawn independently, None where there are
    none to compare with; `distinct` the share of original records that are the only ones of their sort.
    """

    any: float
    unique: float
    floor: float | None
    distinct: float

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def words(self) -> str:
        chance = "" if self.floor is None else f" ({percent(self.floor)} by chance alone)"
        return sentence(
            f"{percent(self.any)} of the synthetic records equal an original one{chance}, "
            f"{percent(self.unique)} one that is the only one of its sort: by itself neither a leak nor a "
            "proof of safety."
        )


def matches(
    original: pl.DataFrame, synthetic: pl.DataFrame, floor: pl.DataFrame | None, on: Sequence[str]
) -> Matches:
    """How many rows of frames with the same columns are equal to an original row, in all of them.

    >>> import polars as pl
    >>> rows = pl.DataFrame({"a": [1, 1, 2]})
    >>> matches(rows, pl.DataFrame({"a": [1, 2, 3, 3]}), None, ["a"])
    Matches(any=0.5, unique=0.25, floor=None, distinct=0.333...)
    """
    import polars as pl

    keys = list(on)
    counted = original.select(keys).group_by(keys).agg(pl.len().alias(_MANY))

    def share(rows: pl.DataFrame, most: int | None) -> float:
        there = counted if most is None else counted.filter(pl.col(_MANY) <= most)
        found = rows.select(keys).join(there.select(keys), on=keys, how="semi", nulls_equal=True)
        return found.height / max(1, rows.height)

    alone = counted.filter(pl.col(_MANY) == 1).height / max(1, original.height)
    return Matches(
        share(synthetic, None), share(synthetic, 1), None if floor is None else share(floor, None), alone
    )


_MANY = "\0many"


def matched_section(equal: Matches, caption: str) -> Section:
    """The part of the custodian's page about matches, with the caution that they need."""
    facts = [
        ["synthetic records equal to an original one", percent(equal.any)],
        ["by chance alone: drawn independently", "–" if equal.floor is None else percent(equal.floor)],
        ["equal to one that is the only one of its sort", percent(equal.unique)],
        ["original records that are the only ones of their sort", percent(equal.distinct)],
    ]
    table = Table(["", "share"], facts, caption=caption)
    return Section("Apparent matches", [Text([CAUTION]), table], short="Matches")
