"""Every method of the catalogue, replayed: on all grounds of its kind, with all its words, on every engine.

Nothing here names a method. What may be varied is what the catalogue and the method declare: relations,
engines of the kind, every word that a parameter can be. Combinations that a method refuses are public
refusals, made before any record is read, and are left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

from penstock import catalogue
from penstock.audit.hostile import Ground, both_ways, refused, search, trial
from penstock.audit.methods import Audits, MethodAudit
from penstock.audit.replay import NONE, Replays, Tampering, Trial
from penstock.catalogue import MethodInfo
from penstock.contracts.parameters import OneOf, YesNo
from penstock.contracts.plug import method_class
from penstock.privacy.unit import Relation
from penstock.schema import Schema


@dataclass(frozen=True)
class Setting:
    """One way to run a method: where, under which relation, with which parameters, counted where."""

    ground: Ground
    relation: Relation
    parameters: Mapping[str, Any]
    engine: str
    epsilon: Fraction = Fraction(1)

    def trial(self, method: str, tampering: Tampering = NONE) -> Trial:
        size = 2
        return trial(
            self.ground,
            method,
            self.relation,
            size,
            parameters=self.parameters,
            epsilon=self.epsilon,
            engine=self.engine,
            tampering=tampering,
        )


def grounds(info: MethodInfo, every: list[Audits]) -> list[Ground]:
    """Those of the method's own audits, and those that its kind offers."""
    found = [
        Ground(audit.name, audit.schema, audit.universe or _listed(audit), _fields(audit))
        for audit in audits_of(info, every)
    ]
    found += [ground for audits in every for ground in audits.grounds if ground.described.kind == info.kind]
    return found


def audits_of(info: MethodInfo, every: list[Audits]) -> list[MethodAudit]:
    return [audit for audits in every for audit in audits.methods if audit.method == info.name]


def _listed(audit: MethodAudit) -> list[tuple[Any, ...]]:
    """The different records of an audit that lists pairs, without the column that says whose they are."""
    fields = len(Schema.from_yaml(audit.schema).names)
    rows = [record for pair in audit.pairs for side in (pair.first, pair.second) for record in side]
    return list(dict.fromkeys(record[:fields] for record in rows))


def _fields(audit: MethodAudit) -> tuple[str, ...]:
    return tuple(audit.columns[: len(Schema.from_yaml(audit.schema).names)])


def words(info: MethodInfo) -> list[tuple[str, Any]]:
    """Every word that a parameter of the method can be."""
    found: list[tuple[str, Any]] = []
    for parameter in method_class(info).parameters():
        if isinstance(parameter.domain, OneOf):
            found += [(parameter.name, choice) for choice in parameter.domain.choices]
        elif isinstance(parameter.domain, YesNo):
            found += [(parameter.name, True), (parameter.name, False)]
    return found


def settings(info: MethodInfo, every: list[Audits]) -> Iterator[Setting]:
    """Every ground, relation and engine with the audits' parameters; and every word on the first grounds."""
    bases = [dict(audit.parameters) for audit in audits_of(info, every)] or [{}]
    different = [base for place, base in enumerate(bases) if base not in bases[:place]]
    known = grounds(info, every)
    engines = catalogue.kind(info.kind).engines
    relations = [Relation(relation) for relation in info.relations]
    for ground, relation, base in product(known, relations, different):
        yield Setting(ground, relation, base, engines[0])
    for engine, ground in product(engines[1:], known):
        yield Setting(ground, relations[0], different[0], engine)
    for (name, value), base, relation, ground in product(words(info), different, relations, known):
        if base.get(name) != value:
            yield Setting(ground, relation, {**base, name: value}, engines[0])


def usable(info: MethodInfo, every: list[Audits]) -> list[Setting]:
    """The settings that the method accepts."""
    return [setting for setting in settings(info, every) if not _out(info, setting)]


def _out(info: MethodInfo, setting: Setting) -> bool:
    users = setting.ground.described.unit.column is not None
    if users and setting.relation is Relation.REPLACE:
        return True  # a user who is replaced may bring another number of records
    return refused(setting.trial(info.name)) is not None


def hostile_pairs(info: MethodInfo, setting: Setting, seed: int, *, tampering: Tampering = NONE) -> Replays:
    """All hostile pairs of a setting, one replay in each direction."""
    made = setting.trial(info.name, tampering)
    found = Replays()
    for number, pair in enumerate(setting.ground.pairs(setting.relation)):
        more, _ = both_ways(made, setting.ground, setting.relation, pair, seed + number, folders=number == 0)
        found = found + more
    return found


def replays(info: MethodInfo, every: list[Audits], number: int, seed: int = 0) -> Replays:
    """So many replays of a method: hostile pairs in every setting, then the search, shared out evenly."""
    accepted = usable(info, every)
    found = Replays()
    for place, setting in enumerate(accepted):
        made = setting.trial(info.name)
        for turn, pair in enumerate(setting.ground.pairs(setting.relation)):
            if found.number * len(accepted) >= number * (place + 1) // 2:
                break
            found = found + both_ways(made, setting.ground, setting.relation, pair, seed + turn)[0]
    for place, setting in enumerate(accepted):
        share = (number - found.number) // (len(accepted) - place)
        if share > 0:
            made = setting.trial(info.name)
            found = found + search(made, setting.ground, setting.relation, share, seed + place)
    return found
