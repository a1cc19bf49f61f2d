"""The living releases: what a stream is fed to, one entry each, plain data."""

from __future__ import annotations

from penstock.catalogue.entry import SketchInfo

_BOTH = ("replace", "add-remove")
_PER_ID = {
    "distinct": None,
    "density": None,
    "incidence": "t",
    "cropped-mean": "tau",
    "heavy-hitters": "threshold",
}

SKETCHES = (
    SketchInfo(
        "pp-bucket",
        "stream",
        "penstock.kinds.stream.buckets:DistinctCounter",
        "how many ids are there, from hashed counters that began with noise",
        unit="id",
        relations=_BOTH,
        questions={"distinct": None, "density": None},
        default=True,
    ),
    SketchInfo(
        "pp-incidence",
        "stream",
        "penstock.kinds.stream.incidence:IncidenceCounter",
        "how many ids have been met how often, from a noisy counter for each",
        unit="id",
        relations=_BOTH,
        questions=_PER_ID,
    ),
    SketchInfo(
        "l2-sketch",
        "stream",
        "penstock.kinds.stream.moments:SecondMoment",
        "the sum of the squared totals of all ids, from random signs",
        unit="id",
        relations=_BOTH,
        questions={"second-moment": None},
    ),
    SketchInfo(
        "continual-counter",
        "stream",
        "penstock.kinds.stream.continual:ContinualCounter",
        "a running count after every step, from a tree of intervals",
        unit="event",
        relations=("add-remove",),
        questions={"count": None},
    ),
    SketchInfo(
        "continual-l2",
        "stream",
        "penstock.kinds.stream.continual:ContinualMoment",
        "the sum of the squared totals after every step, from a tree of intervals of random signs",
        unit="event",
        relations=_BOTH,
        questions={"second-moment": None},
    ),
    SketchInfo(
        "group-sketch",
        "stream",
        "penstock.kinds.stream.group:GroupSketch",
        "a linear sketch modulo a prime with noise by enumeration, for tiny universes",
        unit="id",
        relations=("replace",),
        questions={"distinct": None},
        role="baseline",
    ),
    SketchInfo(
        "density-inserts",
        "stream",
        "penstock.kinds.stream.density:DensityInserts",
        "the share of ids that occur, from randomised bits that only inserts can change",
        unit="id",
        relations=("add-remove",),
        questions={"density": None, "distinct": None},
        deletes=False,
        role="baseline",
    ),
)
