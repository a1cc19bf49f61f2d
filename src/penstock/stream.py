"""Living releases of streams: the door to `penstock.kinds.stream`.

from penstock.stream import DistinctCounter, load

visitors = DistinctCounter(schema, epsilon=3, answers=24, folder="visitors.state")
visitors.update(ids)              # an array of whole numbers or texts; deltas of -1 take them out again
visitors.answer()                 # pays, and keeps the answer in the book
load("visitors.state").update(more)
"""

from __future__ import annotations

from penstock.kinds.stream.book import Reading
from penstock.kinds.stream.buckets import DistinctCounter
from penstock.kinds.stream.continual import ContinualCounter
from penstock.kinds.stream.density import DensityInserts
from penstock.kinds.stream.group import GroupSketch
from penstock.kinds.stream.incidence import IncidenceCounter
from penstock.kinds.stream.living import Living, load
from penstock.kinds.stream.moments import SecondMoment
from penstock.kinds.stream.stable import StableSketch

__all__ = [
    "ContinualCounter",
    "DensityInserts",
    "DistinctCounter",
    "GroupSketch",
    "IncidenceCounter",
    "Living",
    "Reading",
    "SecondMoment",
    "StableSketch",
    "load",
]
