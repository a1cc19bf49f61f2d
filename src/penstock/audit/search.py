"""Looking for the worst neighbouring pair.

A method can be private on the pairs that one thinks of and fail on others, so the audit tries all small
databases. Every pair gets a few runs; the pairs whose learned event promises most stay in and get more
(successive halving). The survivor is then tested on fresh randomness by the harness: however many pairs
were tried, the reported bound rests on one test.
"""

from __future__ import annotations

from math import inf

from penstock.audit.events import Outputs, learn
from penstock.audit.neighbours import Pair
from penstock.audit.sampling import FAILURE, draw, quantile
from penstock.audit.target import Target
from penstock.privacy.randomness.generator import Randomness

FEW = 120


def screen(target: Target, trials: int, randomness: Randomness, *, failure: float = FAILURE) -> Pair:
    """The most promising pair of a target, after at most `trials` runs of each survivor."""
    alive = list(target.pairs)
    runs = min(FEW, trials)
    while len(alive) > 1:
        ranked = sorted(alive, key=lambda pair: -_promise(target, pair, runs, randomness, failure))
        alive = ranked[: max(1, len(ranked) // 4)]
        runs = min(trials, 4 * runs)
    return alive[0]


def _promise(target: Target, pair: Pair, runs: int, randomness: Randomness, failure: float) -> float:
    outputs: tuple[Outputs, Outputs] = draw(target, pair, randomness.spawn(pair.words), runs)
    # Few runs cannot show a difference at the final confidence; three deviations are enough to rank by.
    found = learn(
        *outputs,
        delta=float(target.promise.delta),
        z=min(3.0, quantile(failure)),
        projections=target.projections,
        events=target.events,
    )
    return found.promise if found is not None else -inf
