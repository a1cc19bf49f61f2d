"""Everything that can be audited, and the audit of all of it.

The mechanisms are audited here; what belongs to a kind of data or of answer is listed in its room, which
the catalogue knows.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from fractions import Fraction
from functools import cache, partial

from penstock import catalogue
from penstock.audit import broken, broken_sparse, matrices, mechanisms, sparse, top
from penstock.audit.harness import Verdict, examine
from penstock.audit.methods import Audits
from penstock.audit.replay import Replays
from penstock.audit.replays import replays
from penstock.audit.sampling import FAILURE
from penstock.audit.tampering import DOMAIN, TAMPERINGS, everywhere
from penstock.audit.target import Kind, Promise, Target
from penstock.catalogue import MethodInfo
from penstock.errors import UsageError
from penstock.privacy.unit import Relation
from penstock.progress import progress

MECHANISMS = (mechanisms, matrices, top, sparse, broken, broken_sparse)
"""The modules about what all methods use; each offers `targets()`."""

TRIALS = 100_000


def every_audit() -> list[Audits]:
    """What the rooms of the catalogue offer to the audit."""
    places = [info.audits for info in catalogue.every_kind()] + [info.audits for info in catalogue.methods()]
    found = []
    for place in dict.fromkeys(filter(None, places)):
        offered = catalogue.load(place)
        if not isinstance(offered, Audits):
            raise TypeError(f"{place} is no list of audits")
        found.append(offered)
    return found


def replay_targets() -> list[Target]:
    """Every method, replayed; and every mistake that can be made in any of them, made in all."""
    made = [
        Target(
            f"replay-{info.name}",
            Kind.SHIPPED,
            Promise(Fraction(1), relation=Relation(info.relations[0])),
            f"transcripts of {info.name}, replayed on hostile neighbours",
            (),
            replays=partial(_replayed, info),
            effort=0.005,
        )
        for info in catalogue.methods()
    ]
    summaries = {name: summary for name, (summary, _) in TAMPERINGS.items()}
    summaries[DOMAIN] = "the schema is read off the records"
    made += [
        Target(
            f"broken-replay-{name}",
            Kind.BROKEN,
            Promise(Fraction(1)),
            f"every method: {summary}",
            (),
            replays=partial(_tampered, name),
        )
        for name, summary in summaries.items()
    ]
    return made


def _replayed(info: MethodInfo, number: int, seed: int) -> Replays:
    return replays(info, every_audit(), number, seed)


def _tampered(name: str, number: int, seed: int) -> Replays:
    return everywhere(name, every_audit())


@cache
def targets() -> tuple[Target, ...]:
    """All audit targets, shipped ones first."""
    found = [target for module in MECHANISMS for target in module.targets()]
    found += [target for audits in every_audit() for target in audits.targets()]
    found += replay_targets()
    names = [target.name for target in found]
    if len(set(names)) != len(names):
        raise UsageError("Two audit targets have the same name.")
    return tuple(sorted(found, key=lambda target: target.kind is not Kind.SHIPPED))


def select(names: Sequence[str] = ()) -> tuple[Target, ...]:
    """The targets of these names; 'shipped' and 'broken' stand for all of a kind, nothing for everything."""
    if not names:
        return targets()
    known = {target.name: target for target in targets()}
    chosen: dict[str, Target] = {}
    for name in names:
        if name in (Kind.SHIPPED, Kind.BROKEN):
            chosen.update({target.name: target for target in targets() if target.kind == name})
        elif name in known:
            chosen[name] = known[name]
        else:
            near = get_close_matches(name, [*known, *Kind], n=2)
            hint = f"did you mean {' or '.join(near)}?" if near else "run 'penstock audit' for all of it."
            raise UsageError(f"There is nothing to audit called '{name}'; {hint}")
    return tuple(chosen.values())


def run(
    names: Sequence[str] = (), trials: int = TRIALS, *, failure: float = FAILURE, seed: int = 0
) -> list[Verdict]:
    """Audit targets by name and say which claims were refuted.

    `failure` bounds the probability that any true claim among them is called refuted; it is shared
    equally by all targets of this run. Runs with the same seed repeat exactly.
    """
    chosen = select(names)
    confidence = 1 - failure / len(chosen)
    verdicts = []
    with progress("auditing", total=len(chosen)) as step:
        for target in chosen:
            verdicts.append(examine(target, trials, confidence=confidence, seed=seed))
            step(1)
    return verdicts
