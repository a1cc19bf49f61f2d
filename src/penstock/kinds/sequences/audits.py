"""Audits of sequences: the decisions about contexts, exactly, and whole methods on a few short sequences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import polars as pl

from penstock.audit.hostile import Ground
from penstock.audit.methods import CRUDE, Audits, MethodAudit
from penstock.audit.neighbours import Pair, small_pairs
from penstock.audit.target import Target
from penstock.audit.worst_loss import DecidedTree, Rows, joined, loss_target
from penstock.kinds.sequences.data import Sequences
from penstock.kinds.sequences.layout import SequenceLayout
from penstock.privacy.mechanisms.growth import Level
from penstock.privacy.unit import Relation
from penstock.schema import Schema

LONGEST = 4
VISITS = f"""
kind: sequences
sequence: {{symbol: pages, longest: {LONGEST}}}
fields:
  - {{name: pages, constraints: {{enum: [a, b]}}}}
"""
FIRST_VISITS = VISITS.replace(f"longest: {LONGEST}", "longest: 1")
LONG_VISITS = VISITS.replace(f"longest: {LONGEST}", "longest: 3")

TIMED = """
kind: sequences
sequence: {user: case, time: at, symbol: page, longest: 3}
fields:
  - {name: page, constraints: {enum: [a, b]}}
  - {name: at, type: integer, constraints: {minimum: 0, maximum: 9}, bins: {count: 2}}
"""
ONE_CASE = ((1, 0, "a"), (1, 1, "b"))
TIMED_PAIRS = (
    Pair(ONE_CASE, (*ONE_CASE, (2, 0, "a")), "a case | one more of a single event"),
    Pair(
        ONE_CASE, (*ONE_CASE, (2, 0, "a"), (2, 1, "b"), (2, 3, "a"), (2, 9, "b")), "a case | a long one more"
    ),
    Pair(ONE_CASE, (*ONE_CASE, (2, 6, "b"), (2, 6, "b"), (2, 6, "b")), "a case | one more at once"),
)
MOSTLY_TIMES = {"deepest": 0, "tree_share": "1/2", "length_share": "1/100", "times_share": "97/100"}

SEEN = tuple((text,) for text in ("", "a", "b", "a b", "b b", "a a a", "a b a b", "b a a b a"))
FIRST_PAGES = (("a",), ("b",))
PAGES = (("a",), ("a b",), ("b b a",), ("",))
ONE_MORE = Pair((("",),), (("",), ("a",)), "nobody's page | one a")


def contexts(rows: Rows, schema: Schema, longest: int | None = None) -> Level:
    """The empty context of some sequences; the rows given are those kept of every user."""
    if longest is not None:
        columns = SequenceLayout.of(schema).model_copy(update={"longest": longest})
        schema = schema.model_copy(update={"layout": columns})
    frame = pl.DataFrame(list(rows), schema={"pages": pl.String}, orient="row")
    return Sequences.open(frame, schema).contexts()


def decisions() -> tuple[Target, ...]:
    """Contexts as they are shipped, and broken copies."""
    suffixes = DecidedTree(VISITS, contexts, fan_out=3, paths=LONGEST, deepest=LONGEST)
    people = replace(suffixes, paths=3 * LONGEST)
    visits = (
        *joined(("a b b b",), range(12), (("b a a",),)),
        *joined(("a a a a",), range(0, 60, 10), (("b b b b",),)),
        *small_pairs(SEEN, 2, Relation.ADD_REMOVE, most=24),
    )
    threes = joined(("a a a a",), range(0, 60, 10), (("b b b b",),) * 3)
    return (
        loss_target("privtree-contexts", "decisions about contexts of sequences", suffixes, visits),
        loss_target(
            "privtree-contexts-users", "decisions when a user has up to three sequences", people, threes
        ),
        loss_target(
            "broken-privtree-contexts-length-ignored",
            "noise for one place where a sequence has four",
            replace(suffixes, paths=1),
            visits,
        ),
        loss_target(
            "broken-privtree-contexts-not-cut",
            "sequences are used whole, with noise for four of their places",
            replace(suffixes, top=partial(contexts, longest=20)),
            joined(("a a a a",), (40,), (("b " * 16,),)),
        ),
        loss_target(
            "broken-privtree-contexts-users-as-sequences",
            "noise for one sequence where a user has three",
            suffixes,
            threes,
        ),
    )


def seen_symbols(schema: Schema, records: Sequence[tuple[Any, ...]]) -> Schema:
    """The alphabet shortened to the symbols that occur."""
    text = schema.model_dump(by_alias=True, exclude_defaults=True)
    seen = {symbol for record in records for symbol in record[0].split()}
    text["fields"][0]["constraints"]["enum"] = sorted(seen)
    return Schema.model_validate(text)


METHODS: tuple[MethodAudit, ...] = (
    MethodAudit(
        "privtree-sequences",
        FIRST_VISITS,
        FIRST_PAGES,
        parameters={"tree_share": "1/10", "deepest": 0},
        read_off=seen_symbols,
    ),
    MethodAudit("privtree-sequences", LONG_VISITS, PAGES, parameters={"tree_share": "1/2"}, label="deep"),
    MethodAudit(
        "privtree-sequences", LONG_VISITS, PAGES, parameters={"choose_longest": True}, label="choosing"
    ),
    MethodAudit(
        "privtree-sequences",
        TIMED,
        (),
        parameters=MOSTLY_TIMES,
        label="timed",
        pairs=TIMED_PAIRS,
        columns=("case", "at", "page"),
        copies=CRUDE,
    ),
    MethodAudit("n-gram", FIRST_VISITS, FIRST_PAGES, parameters={"longest_gram": 1}, read_off=seen_symbols),
    MethodAudit("n-gram", LONG_VISITS, PAGES, label="deep"),
    MethodAudit("n-gram", VISITS, SEEN, parameters={"longest_gram": 2}, label="short-strings", copies=()),
    MethodAudit(
        "top-strings", FIRST_VISITS, (), parameters={"many": 1}, pairs=(ONE_MORE,), epsilon=Fraction(3, 2)
    ),
    MethodAudit("top-strings", LONG_VISITS, PAGES, parameters={"many": 3}, label="several"),
)

LONG_AND_SHORT = (("",), ("a",), ("b b b b",), ("a b a b a b a b a b",), ("a a a a",))
LOG = """
kind: sequences
sequence:
  {user: case, time: at, symbol: page, longest: 3, first: [a], last: [b, c], once: [b], neverBoth: [[b, c]]}
fields:
  - {name: page, constraints: {enum: [a, b, c]}}
  - {name: at, type: integer, constraints: {minimum: 0, maximum: 9}, bins: {count: 2}}
"""
CASES = (
    (("a", 0), ("b", 9)),
    (("a", 5),),
    (("c", 9), ("b", 0), ("b", 0), ("b", 3), ("a", 9)),  # too long, and against every rule about the order
    (("a", 4), ("a", 4), ("c", 4)),
)
GROUNDS = (
    Ground("sequences up to too long ones", VISITS, LONG_AND_SHORT),
    Ground("users", f"unit: {{protects: user, column: person, at_most: 2}}{VISITS}", LONG_AND_SHORT),
    Ground("an event log", LOG, CASES[0], ("page", "at"), cases=CASES, whose="case"),
    Ground(
        "users with several cases",
        f"unit: {{protects: user, column: person, at_most: 2}}{LOG}",
        (("a", 0, 1), ("b", 9, 1), ("c", 9, 2), ("a", 5, 3)),
        ("page", "at", "case"),
    ),
)

AUDITS = Audits(METHODS, decisions, GROUNDS)
