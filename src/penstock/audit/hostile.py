"""Hostile neighbours: small inputs on which a mistake would show, and a search for worse ones.

A room says where its methods are tried: a schema and the records that hurt, such as values on the bounds,
rare and missing ones, the longest sequence (`Ground`). From these all the rest is made, whatever the kind:
nobody and somebody, all equal, ties, a new rarest one, a user far above the bound, each added at the front or
at the back, or replaced. The search then changes neighbours at random, keeps what increases the loss, and
tries again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from penstock import catalogue
from penstock.audit.neighbours import Pair
from penstock.audit.replay import NONE, Outcome, Records, Replays, Tampering, Trial
from penstock.audit.replay import replay as play
from penstock.audit.transcript import Recording, Transcript
from penstock.errors import PenstockError
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.unit import Relation
from penstock.schema import Schema

Unit = tuple[tuple[Any, ...], ...]

CROWD = 7
LARGEST = 12


@dataclass(frozen=True)
class Ground:
    """Where methods of a kind are replayed: a public schema, and records that a hostile input is made of.

    `records` are rows of the schema's fields; the column that says whose they are is added where users are
    protected. Where several rows make one record, such as the events of a case, `cases` are those records,
    and `whose` is the column that tells them apart. `parameters` hold what a method needs on this ground.
    """

    label: str
    schema: str
    records: Sequence[tuple[Any, ...]]
    columns: Sequence[str] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    cases: Sequence[Unit] = ()
    whose: str | None = None

    @property
    def described(self) -> Schema:
        return described(self.schema)

    def under(self, relation: Relation, size: int) -> Schema:
        """The schema under a relation; replace makes the number of records public."""
        return _under(self.schema, relation, size if relation is Relation.REPLACE else None)

    def types(self) -> dict[str, Any]:
        """The types of the columns, which are known before any record is."""
        import polars as pl

        names = list(self.columns or self.described.names)
        return dict(pl.DataFrame(list(self.records), schema=names, orient="row").schema)

    def units(self) -> list[Unit]:
        """What one unit may bring: one record, or as many as are protected together; for a user also several
        alike, of all kinds, and too many."""
        if self.cases:
            return list(self.cases)
        unit = self.described.unit
        single: list[Unit] = [(record,) for record in self.records]
        bound = unit.records
        if unit.column is None:
            places = range(len(self.records) - bound + 1) if bound > 1 else range(0)
            return single + [tuple(self.records[place : place + bound]) for place in places]
        several: list[Unit] = [(record,) * bound for record in self.records]
        several += [(record,) * (3 * bound + 1) for record in self.records[:2]]  # far above the bound
        several.append(tuple(self.records) * 2)
        return single + several

    def pairs(self, relation: Relation) -> Iterator[Pair]:
        """Neighbours that hurt, the same for every kind of data."""
        units = self.units()
        if relation is Relation.REPLACE:
            yield from self._replaced(units)
            return
        for unit in units:
            yield Pair((), (unit,), f"nobody | {_short(unit)}")
        first, last = units[0], units[-1]
        for unit in dict.fromkeys((first, units[len(units) // 2], last)):
            yield Pair((unit,) * CROWD, (unit,) * (CROWD + 1), f"all equal | one more {_short(unit)}")
        for unit in dict.fromkeys((*units[1:3], last)):
            rare = (first,) * CROWD
            yield Pair(rare, (unit, *rare), f"all equal | a new rarest {_short(unit)}, in front")
        if len(units) > 1:
            tied = (first, units[1]) * 3
            yield Pair(tied, (*tied, units[1]), "a tie | and broken")
        everybody = tuple(units)
        yield Pair(everybody[1:], everybody, f"all but one | and {_short(first)}")
        for unit in (first, last):
            yield Pair(everybody, (*everybody, unit), f"one of each | one more {_short(unit)}")
            yield Pair(everybody, (unit, *everybody), f"one of each | {_short(unit)} in front")

    def _replaced(self, units: Sequence[Unit]) -> Iterator[Pair]:
        first, last = units[0], units[-1]
        middle = units[len(units) // 2]
        for one, two in ((first, last), (first, middle), (middle, last)):
            if one != two:
                for rest in ((), (first,) * (CROWD - 1), tuple(units)):
                    words = f"{len(rest)} others: {_short(one)} | {_short(two)}"
                    yield Pair((*rest, one), (*rest, two), words)


@lru_cache(maxsize=256)
def described(text: str) -> Schema:
    """The schema that a text is, read once."""
    return Schema.from_yaml(text)


@lru_cache(maxsize=512)
def _under(text: str, relation: Relation, size: int | None) -> Schema:
    """The same schema whenever it is asked for, so that replays know it again."""
    facts = described(text).model_dump(by_alias=True, exclude_defaults=True)
    facts["relation"] = relation.value
    facts.pop("size", None)
    if size is not None:
        facts["size"] = size
    return Schema.model_validate(facts)


def _short(unit: Unit) -> str:
    return f"{unit[0]}" if len(unit) == 1 else f"{len(unit)} records {unit[0]}"


def trial(
    ground: Ground,
    method: str,
    relation: Relation,
    size: int,
    *,
    parameters: Mapping[str, Any] | None = None,
    epsilon: Fraction = Fraction(1),
    delta: Fraction = Fraction(0),
    engine: str = catalogue.MEMORY,
    tampering: Tampering = NONE,
) -> Trial:
    """The ground as one method sees it; a method that needs a delta gets one."""
    return Trial(
        method,
        ground.under(relation, size),
        {**ground.parameters, **(parameters or {})},
        ground.columns,
        ground.types(),
        epsilon,
        delta if catalogue.method(method).pure else Fraction(1, 10**6),
        engine,
        tampering,
        whose=ground.whose,
    )


def refused(made: Trial, ground: Ground) -> str | None:
    """Why a method does not work on this ground at all, which is public; None where it does."""
    public = made.schema.size or 0
    some = ((ground.records[0],), (ground.records[-1],))[:public]
    transcript = Transcript()
    try:
        made.release(some, Recording(Randomness.seeded(0), transcript))
    except PenstockError as refusal:
        return (
            None if transcript.charges else str(refusal)
        )  # after a charge it is no refusal, it is a mistake
    return None


def both_ways(
    made: Trial,
    ground: Ground,
    relation: Relation,
    pair: Pair,
    seed: int,
    *,
    folders: bool = False,
    rows: bool = True,
) -> tuple[Replays, Outcome]:
    """One pair, recorded on either side and replayed on the other; and the worse outcome of the two."""
    found, worst = Replays(), None
    for one, two in ((pair.first, pair.second), (pair.second, pair.first)):
        sized = made
        if relation is Relation.REPLACE:
            sized = replace(made, schema=ground.under(relation, _records(one)))
        outcome = play(sized, one, two, seed, folders=folders, rows=rows)
        found = found + Replays.of(outcome, f"{made.method} on {ground.label}, {pair.words}")
        if worst is None or outcome.share > worst.share:
            worst = outcome
    assert worst is not None
    return found, worst


def _records(records: Records) -> int:
    return sum(len(unit) for unit in records)


def search(made: Trial, ground: Ground, relation: Relation, replays: int, seed: int = 0) -> Replays:
    """Random neighbours, changed greedily: whatever increases the loss is kept and changed further."""
    rng = np.random.default_rng(seed)
    units = ground.units()
    found, best, kept = Replays(), -1.0, None
    while found.number + found.refused < replays:
        pair = (
            _random(units, relation, rng)
            if kept is None or rng.random() < 0.3
            else _changed(kept, units, rng)
        )
        more, worst = both_ways(made, ground, relation, pair, int(rng.integers(1 << 30)))
        found = found + more
        if worst.share > best:
            best, kept = worst.share, pair
    return found


def _random(units: Sequence[Unit], relation: Relation, rng: np.random.Generator) -> Pair:
    rest = [_any(units, rng) for _ in range(int(rng.integers(0, LARGEST)))]
    return _around(rest, _any(units, rng), _any(units, rng), relation, rng)


def _any(units: Sequence[Unit], rng: np.random.Generator) -> Unit:
    return units[int(rng.integers(len(units)))]


def _around(rest: list[Unit], one: Unit, two: Unit, relation: Relation, rng: np.random.Generator) -> Pair:
    place = int(rng.integers(len(rest) + 1))
    with_one = (*rest[:place], one, *rest[place:])
    if relation is Relation.REPLACE:
        if len(two) != len(one):
            two = one
        return Pair(with_one, (*rest[:place], two, *rest[place:]), "found by the search")
    return Pair(tuple(rest), with_one, "found by the search")


def _changed(pair: Pair, units: Sequence[Unit], rng: np.random.Generator) -> Pair:
    """The same unit joins or leaves both sides, somewhere; the difference between them stays."""
    if rng.random() < 0.5 and len(pair.first) > 1:
        shared = [unit for unit in pair.first if unit in pair.second]
        if shared:
            gone = shared[int(rng.integers(len(shared)))]
            return Pair(_without(pair.first, gone), _without(pair.second, gone), pair.name)
    more = _any(units, rng)
    if rng.random() < 0.5:
        return Pair((more, *pair.first), (more, *pair.second), pair.name)
    return Pair((*pair.first, more), (*pair.second, more), pair.name)


def _without(units: tuple[Unit, ...], gone: Unit) -> tuple[Unit, ...]:
    place = units.index(gone)
    return (*units[:place], *units[place + 1 :])
