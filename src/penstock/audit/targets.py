"""Everything that can be audited, and the audit of all of it.

`SOURCES` lists the modules that have targets; each offers `targets()`. A later room adds its module here
and nothing else changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from functools import cache
from importlib import import_module

from penstock.audit.harness import FAILURE, Verdict, examine
from penstock.audit.target import Kind, Target
from penstock.errors import UsageError
from penstock.progress import progress

SOURCES = (
    "penstock.audit.mechanisms",
    "penstock.audit.top",
    "penstock.audit.sparse",
    "penstock.kinds.points.audits",
    "penstock.audit.hierarchies",
    "penstock.kinds.table.audits",
    "penstock.audit.end_to_end",
    "penstock.audit.broken",
    "penstock.audit.broken_sparse",
)

TRIALS = 100_000


@cache
def targets() -> tuple[Target, ...]:
    """All audit targets, shipped ones first."""
    found = [target for source in SOURCES for target in import_module(source).targets()]
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
