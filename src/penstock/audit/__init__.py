"""Audit: attempts to refute a guarantee by running what made it on neighbouring inputs.

>>> from penstock.audit import run
>>> [verdict] = run(["randomised-response"], trials=2000)
>>> verdict.status.value, verdict.bound.epsilon <= 1 + 1e-9
('holds', True)
"""

from penstock.audit.harness import Bound, Status, Verdict, examine, lower_bound
from penstock.audit.neighbours import Pair
from penstock.audit.target import Kind, Promise, Target
from penstock.audit.targets import TRIALS, run, select, targets

__all__ = [
    "TRIALS",
    "Bound",
    "Kind",
    "Pair",
    "Promise",
    "Status",
    "Target",
    "Verdict",
    "examine",
    "lower_bound",
    "run",
    "select",
    "targets",
]
