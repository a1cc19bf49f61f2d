"""Releases of made-up records at each epsilon, compared with what they were made of.

The records come from the schema and a seed, so nothing here is private, and nothing is booked. The noise is
seeded, too: the same question has the same answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from penstock import catalogue
from penstock.api import evaluate, release
from penstock.errors import PenstockError, UsageError
from penstock.evaluation.score import Score
from penstock.privacy.budgets.amounts import plain
from penstock.progress import progress
from penstock.schema import Schema

LARGEST_TRIAL = 100_000
_LIMIT = 60
"""So many marginals, or questions of each sort, are compared: enough for a mean, and quick."""


@dataclass(frozen=True)
class Curve:
    """One measure over the epsilons: what releases of made-up records scored, with floor and ceiling."""

    name: str
    epsilons: tuple[Fraction, ...]
    values: tuple[float, ...]
    floor: float
    ceiling: float
    lower_is_better: bool
    note: str

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON."""
        return {
            "name": self.name,
            "epsilons": [plain(one) for one in self.epsilons],
            "values": list(self.values),
            "floor": self.floor,
            "ceiling": self.ceiling,
            "lower_is_better": self.lower_is_better,
            "note": self.note,
        }


def tried(
    schema: Schema,
    records: int,
    epsilons: Sequence[Fraction],
    delta: Fraction,
    info: catalogue.MethodInfo,
    parameters: Mapping[str, Any],
    runs: int,
    seed: int,
) -> tuple[Curve, ...]:
    """The curves of all measures that every release of the trial has."""
    rows = _made_up(schema, records, seed)
    found: list[list[dict[str, Score]]] = []
    with progress("trying made-up records", total=len(epsilons) * runs) as step:
        for epsilon in epsilons:
            scores = []
            for run in range(runs):
                try:
                    made = release(
                        rows,
                        schema,
                        epsilon=epsilon,
                        delta=delta if info.takes_delta else 0,
                        method=info.name,
                        parameters=parameters,
                        seed=seed + run,
                    )
                    compared = evaluate(made, rows, limit=_LIMIT, queries=_LIMIT, learning=False)
                except PenstockError as problem:
                    raise UsageError(
                        f"{info.name} cannot be tried on made-up records of this schema: {problem} "
                        "With --no-trial only formulas are shown."
                    ) from problem
                scores.append({score.name: score for score in compared.scores})
                step(1)
            found.append(scores)
    return tuple(_curve(name, tuple(epsilons), found) for name in _shared(found))


def _made_up(schema: Schema, records: int, seed: int) -> Any:
    place = catalogue.kind(schema.kind).made_up
    assert place is not None, "asked before"
    draw = catalogue.load(place)
    if not callable(draw):
        raise TypeError(f"{place} draws nothing")
    return draw(schema, records, seed)


def _shared(found: list[list[dict[str, Score]]]) -> list[str]:
    """The measures that every run has, in their order."""
    every = [scores for runs in found for scores in runs]
    return [name for name in every[0] if all(name in scores for scores in every)]


def _curve(name: str, epsilons: tuple[Fraction, ...], found: list[list[dict[str, Score]]]) -> Curve:
    every = [[scores[name] for scores in runs] for runs in found]
    first = every[0][0]
    return Curve(
        name,
        epsilons,
        tuple(float(np.mean([score.value for score in runs])) for runs in every),
        float(np.mean([score.floor for runs in every for score in runs])),
        float(np.mean([score.ceiling for runs in every for score in runs])),
        first.lower_is_better,
        first.note,
    )
