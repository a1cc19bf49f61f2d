"""Audits of graphs: ladders over all small graphs, exactly, and whole methods on a few nodes."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

from penstock.audit.hostile import Ground
from penstock.audit.methods import Audits, MethodAudit
from penstock.audit.neighbours import Pair
from penstock.audit.target import Target
from penstock.kinds.graph.audits import features, ladders, smooth_noise
from penstock.schema import Schema

FEW = "{kind: graph, edges: {nodes: 4}}"
MORE = "{kind: graph, edges: {nodes: 10}}"
TOGETHER = "{kind: graph, unit: {protects: edge, at_most: 2}, edges: {nodes: 4}}"
ENDS = ("from", "to")
PATH = (("a", "b"), ("b", "c"))
EDGES = (*PATH, ("a", "c"))
ALL = (*EDGES, ("a", "d"), ("b", "d"), ("c", "d"))
EVERY = (*ALL, ("c", "b"), ("d", "d"))
"""All edges of four nodes, one of them again, the other way round, and one that is none."""
LETTERS = "abcdefghij"
CLIQUE = tuple(combinations(LETTERS, 2))
FOUR = Ground("four nodes", FEW, EVERY, ENDS)
CLOSED = Pair(PATH, EDGES, "a path | a triangle")
ANOTHER = Pair(PATH[:1], PATH, "an edge | a path")
LAST = Pair(ALL[1:], ALL, "all edges but one | all")
ONE_MORE = (
    CLOSED,
    ANOTHER,
    LAST,
    Pair(PATH[:1], (("a", "b"), ("c", "d")), "an edge | two edges apart"),
    Pair((), PATH[:1], "no edge | one edge"),
)
IN_A_CLIQUE = (
    Pair(CLIQUE[:3], CLIQUE[:4], "three edges of a node | four"),
    Pair(CLIQUE[1:], CLIQUE, "a clique without an edge | a clique"),
)
TWO_AT_ONCE = (Pair(PATH[:1], EDGES, "an edge | a triangle"), Pair((), PATH, "no edge | two edges"))


def seen_nodes(schema: Schema, records: Sequence[tuple[Any, ...]]) -> Schema:
    """The number of nodes read off the edges: a node whose only edge goes is gone with it."""
    seen = len({end for record in records for end in record})
    return Schema.model_validate({"kind": schema.kind, "edges": {"nodes": max(1, seen)}})


METHODS: tuple[MethodAudit, ...] = (
    MethodAudit(
        "degree-sequence",
        FEW,
        EVERY,
        pairs=ONE_MORE,
        columns=ENDS,
        read_off=seen_nodes,
        epsilon=Fraction(3, 2),
        copies=("halved-sensitivity", "forgotten-noise", "fixed-seed", "domain-from-data"),
    ),
    MethodAudit(
        "degree-sequence", TOGETHER, EVERY, pairs=TWO_AT_ONCE, columns=ENDS, label="together", effort=0.01
    ),
    MethodAudit(
        "degree-triangle",
        FEW,
        EVERY,
        pairs=ONE_MORE,
        columns=ENDS,
        read_off=seen_nodes,
        effort=0.005,
        copies=("forgotten-noise", "fixed-seed", "domain-from-data"),
    ),
    MethodAudit(
        "kronecker",
        FEW,
        EVERY,
        pairs=ONE_MORE[:2],
        columns=ENDS,
        read_off=seen_nodes,
        parameters={"matched": "EHD"},
        effort=0.002,
        copies=("forgotten-noise", "domain-from-data"),
    ),
    MethodAudit(
        "kronecker",
        FEW,
        EVERY,
        pairs=ONE_MORE[:1],
        columns=ENDS,
        label="published",
        parameters={"preset": "published"},
        delta=Fraction(1, 100),
        effort=0.002,
        copies=(),
    ),
    MethodAudit(
        "ladder",
        FEW,
        EVERY,
        pairs=ONE_MORE,
        columns=ENDS,
        read_off=seen_nodes,
        parameters={"counts": "2-star", "bars": "1/10"},
        copies=("forgotten-noise", "fixed-seed", "domain-from-data"),
    ),
    MethodAudit(
        "ladder",
        TOGETHER,
        EVERY,
        pairs=TWO_AT_ONCE,
        columns=ENDS,
        label="several",
        effort=0.004,
        parameters={"counts": "triangle, 3-star, 4-clique, 2-triangle", "shares": "1/4, 1/4, 1/4, 1/4"},
    ),
    MethodAudit(
        "laplace-counts",
        FEW,
        EVERY,
        pairs=(ANOTHER, LAST),
        columns=ENDS,
        read_off=seen_nodes,
        parameters={"counts": "2-star"},
        copies=("halved-sensitivity", "forgotten-noise"),
    ),
    MethodAudit(
        "smooth-counts",
        MORE,
        CLIQUE[:9],
        pairs=IN_A_CLIQUE,
        columns=ENDS,
        epsilon=Fraction(7, 8),
        read_off=seen_nodes,
        parameters={"counts": "2-star"},
        copies=("forgotten-noise",),
    ),
    MethodAudit(
        "noisy-local-counts",
        MORE,
        CLIQUE[:9],
        pairs=IN_A_CLIQUE,
        columns=ENDS,
        read_off=seen_nodes,
        delta=Fraction(1, 100),
        copies=("forgotten-noise",),
    ),
)


def proofs() -> tuple[Target, ...]:
    """Everything about graphs whose loss is computed."""
    return (*ladders.targets(), *smooth_noise.targets(), *features.targets(FOUR, ONE_MORE[0]))


GROUNDS = (
    FOUR,
    Ground("two edges together", TOGETHER, EVERY, ENDS),
)
AUDITS = Audits(METHODS, proofs, GROUNDS)
