"""Every method of the catalogue, replayed: on all grounds of its kind, with all its words, on every engine.

Nothing here names a method. What may be varied is what the catalogue and the method declare: relations,
engines of the kind, every word that a parameter can be. Combinations that a method refuses are public
refusals, made before any record is read, and are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import Any

from penstock import catalogue
from penstock.audit.hostile import Ground, both_ways, described, refused, search, trial
from penstock.audit.methods import Audits, MethodAudit
from penstock.audit.neighbours import Pair
from penstock.audit.replay import NONE, Replays, Tampering, Trial
from penstock.catalogue import MethodInfo
from penstock.contracts.parameters import OneOf, YesNo
from penstock.contracts.plug import method_class
from penstock.privacy.unit import Relation

FEW = 4
ROWS_EVERY = 4


@dataclass(frozen=True)
class Setting:
    """One way to run a method: where, under which relation, with which parameters and budget."""

    ground: Ground
    relation: Relation
    parameters: Mapping[str, Any]
    engine: str
    most: int | None = None  # hostile pairs; None is all of them
    epsilon: Fraction = Fraction(1)
    delta: Fraction = Fraction(0)

    def pairs(self) -> list[Pair]:
        """The hostile pairs to be tried, evenly chosen where not all of them are."""
        every = list(self.ground.pairs(self.relation))
        return every if self.most is None else every[:: max(1, -(-len(every) // self.most))]

    def trial(self, method: str, tampering: Tampering = NONE) -> Trial:
        size = 2
        return trial(
            self.ground,
            method,
            self.relation,
            size,
            parameters=self.parameters,
            epsilon=self.epsilon,
            delta=self.delta,
            engine=self.engine,
            tampering=tampering,
        )


def grounds(info: MethodInfo, every: list[Audits]) -> list[Ground]:
    """Those of the method's own audits, and those that its kind offers, if it has their parameters."""
    known = {parameter.name for parameter in method_class(info).parameters()}
    found = [_ground(audit) for audit in audits_of(info, every)]
    offered = [ground for audits in every for ground in audits.grounds if known >= ground.parameters.keys()]
    return found + [ground for ground in offered if ground.described.kind == info.kind]


def audits_of(info: MethodInfo, every: list[Audits]) -> list[MethodAudit]:
    return [audit for audits in every for audit in audits.methods if audit.method == info.name]


def _ground(audit: MethodAudit) -> Ground:
    """The records of an audit; where a column beside the schema's fields says whose they are, without it."""
    schema = described(audit.schema)
    columns = tuple(audit.columns or schema.names)
    others = [name for name in columns if name not in schema.names]
    whose = others[0] if 0 < len(others) < len(columns) else None
    sides = [audit.universe, *(side for pair in audit.pairs for side in (pair.first, pair.second))]
    places = [place for place, name in enumerate(columns) if name != whose]
    cases: dict[tuple[int, Any], list[tuple[Any, ...]]] = {}
    for number, side in enumerate(sides):
        for record in side:
            owner = None if whose is None else record[columns.index(whose)]
            cases.setdefault((number, owner), []).append(tuple(record[place] for place in places))
    together = schema.unit.column is None and whose is not None
    return Ground(
        audit.name,
        audit.schema,
        list(dict.fromkeys(record for rows in cases.values() for record in rows)),
        tuple(columns[place] for place in places),
        cases=tuple(dict.fromkeys(map(tuple, cases.values()))) if together else (),
        whose=whose if together else None,
    )


def words(info: MethodInfo) -> list[tuple[str, Any]]:
    """Every word that a parameter of the method can be."""
    found: list[tuple[str, Any]] = []
    for parameter in method_class(info).parameters():
        if isinstance(parameter.domain, OneOf):
            found += [(parameter.name, choice) for choice in parameter.domain.choices]
        elif isinstance(parameter.domain, YesNo):
            found += [(parameter.name, True), (parameter.name, False)]
    return found


_known: dict[tuple[MethodInfo, tuple[int, ...]], list[Setting]] = {}


def usable(info: MethodInfo, every: list[Audits]) -> list[Setting]:
    """The settings that the method accepts; found once, since each is tried to see."""
    key = info, tuple(id(audits) for audits in every)
    if key not in _known:
        _known[key] = _usable(info, every)
    return _known[key]


def _usable(info: MethodInfo, every: list[Audits]) -> list[Setting]:
    """Every ground under every relation with the audits' parameters, every other engine on every ground, and
    every word of a parameter where it is accepted first.
    """
    audits = audits_of(info, every)
    bases = [dict(audit.parameters) for audit in audits] or [{}]
    different = [base for place, base in enumerate(bases) if base not in bases[:place]]
    known = grounds(info, every)
    engines = [name for name in catalogue.kind(info.kind).engines if name in catalogue.HERE]
    relations = [Relation(relation) for relation in info.relations]
    found = []
    for (place, ground), relation in product(enumerate(known), relations):
        own = bases[place : place + 1]  # the grounds of the method's own audits come first, in their order
        options = (Setting(ground, relation, base, engines[0]) for base in (*own, *different))
        if (setting := _first(info, options)) is not None:
            paid = audits[place : place + 1]
            found.append(replace(setting, epsilon=paid[0].epsilon, delta=paid[0].delta) if paid else setting)
    found += _accepted(
        info,
        (
            Setting(ground, relation, base, engines[0], FEW)
            for ground, relation, base in product(known, relations, different[1:])
        ),
    )
    found += _accepted(
        info,
        (
            replace(setting, engine=engine, most=FEW // 2)
            for engine in engines[1:]
            for setting in tuple(found)
            if setting.relation is relations[0] and setting.most is None
        ),
    )
    for (name, value), relation in product(words(info), relations):
        options = (
            Setting(ground, relation, {**base, name: value}, engines[0], FEW)
            for base, ground in product(different, reversed(known))
        )
        if (setting := _first(info, options)) is not None:
            found.append(setting)
    return found


def _first(info: MethodInfo, options: Iterable[Setting]) -> Setting | None:
    return next(iter(_accepted(info, options)), None)


def _accepted(info: MethodInfo, options: Iterable[Setting]) -> Iterator[Setting]:
    return (setting for setting in options if not _out(info, setting))


def _out(info: MethodInfo, setting: Setting) -> bool:
    users = setting.ground.described.unit.column is not None
    if users and setting.relation is Relation.REPLACE:
        return True  # a user who is replaced may bring another number of records
    return refused(setting.trial(info.name), setting.ground) is not None


def hostile(
    info: MethodInfo, setting: Setting, seed: int = 0, *, tampering: Tampering = NONE, folders: bool = False
) -> Replays:
    """All hostile pairs of a setting, one replay in each direction; `folders` compares saved files too.

    Rows are drawn for some of them.
    """
    made = setting.trial(info.name, tampering)
    found = Replays()
    for number, pair in enumerate(setting.pairs()):
        whole, rows = folders and number == 0, number % ROWS_EVERY == 0
        more, _ = both_ways(
            made, setting.ground, setting.relation, pair, seed + number, folders=whole, rows=rows
        )
        found = found + more
        if not found.number:
            break  # what is refused with one set of records is refused with all: it was the schema
    return found


def replays(info: MethodInfo, every: list[Audits], number: int, seed: int = 0) -> Replays:
    """About so many replays of a method, shared out among its settings: hostile pairs, then the search."""
    accepted = usable(info, every)
    tried = accepted[:: max(1, -(-2 * len(accepted) // max(1, number)))]
    found = Replays()
    for place, setting in enumerate(tried):
        share = max(2, (number - found.number) // (len(tried) - place))
        few = replace(setting, most=share // 2 if setting.most is None else min(setting.most, share // 2))
        some = hostile(info, few, seed)
        if share > some.number + some.refused:
            made = setting.trial(info.name)
            left = share - some.number - some.refused
            some = some + search(made, setting.ground, setting.relation, left, seed + place)
        found = found + some
    return found
