"""All PrivTree studies one after the other, and what they found as pages of the documentation.

    python studies/privtree_all.py                   # about two hours on one core
    python studies/privtree_all.py --seconds 300     # start no run of a study after five minutes of it
    python studies/privtree_all.py --show --write    # run nothing, write the pages in docs/studies

The other arguments are those of each study. Times are measured by privtree_speed.py, on its own.
"""

from __future__ import annotations

import sys
from importlib import import_module

from frame import Results, all_of, run
from frame.page import Page, listed
from frame.statements import checked, refuted, statement_table, tally
from frame.store import RESULTS
from frame.table import account, agreement, every_table, excerpt, runs

STUDIES = ("privtree_spatial", "privtree_sequences")
SPEED = RESULTS / "privtree_speed.md"

BOXES_OF = ("two_states", "us_roads", "gowalla", "checkin", "nyc_taxi")
BOXES_BY = ("PrivTree", "UG", "AG", "Hierarchy", "Privelet*", "DAWA")
STRINGS_OF = ("msnbc", "bpic", "markov")
STRINGS_BY = ("PrivTree", "N-gram", "EM", "Truncate")

ASKED = """Does what the literature says of PrivTree hold: range counts on points, frequent strings and
lengths of sequences, against the published baselines? And is it fast enough for millions of points?"""

AGAIN = """`python studies/privtree_all.py`, about two hours on one core, `python studies/privtree_speed.py`,
ten minutes, then `python studies/privtree_all.py --show --write` for these pages ([how](../studies.md))."""

READING = """## How to read the figures

The literature prints its curves as images and says in words what they show: every such sentence ends here as
*holds* or *does not hold*, with our numbers. Figures in brackets are those of the project's specification,
from an independent prototype on generated data.

A case that goes against a statement by no more than two standard errors counts as noise. Where the literature
says "noticeably" or "by a large margin", the factor in the statement is ours. Where one names a factor, the
first of two numbers has been multiplied by it. The relative error of a count is its distance
from the truth, divided by the truth or by 0.1 % of the points, whichever is larger. Small, medium and large
boxes cover 0.01–0.1 %, 0.1–1 % and 1–10 % of the space; 1000 of each (500 in four dimensions), volume, shape
and place at random."""


def pages() -> Page:
    """What all studies found, from what is on disk."""
    points, sequences = (run(import_module(name).study(), seconds=-1) for name in STUDIES)
    return page(points, sequences, SPEED.read_text(encoding="utf-8") if SPEED.exists() else "")


def page(points: Results, sequences: Results, speed: str) -> Page:
    """The findings on one screen, statements, times and experiments below it, all figures in the appendix."""
    every = checked(points, sequences)
    theirs, ours = ([one for one in every if one.number.startswith("A") is own] for own in (False, True))
    met, missed = speed.count("| holds |"), speed.count("| does not hold |")
    lead = f"""{tally(theirs, "statements of the literature")}. {tally(ours, "about our own figures")}.
        {agreement(points)} {agreement(sequences)} {met} of {met + missed} aims of speed are met."""
    return Page(
        name="privtree",
        title="PrivTree: the published experiments, re-run",
        asked=ASKED,
        found=[
            lead,
            excerpt(points, "error, medium boxes", BOXES_OF, BOXES_BY, "0.2", "relative error medium"),
            excerpt(
                sequences,
                "found of the top 100",
                STRINGS_OF,
                STRINGS_BY,
                "0.2",
                "precision 100",
            ),
            "What does not hold:",
            listed(refuted(every)),
        ],
        again=AGAIN,
        rests_on=f"""{runs(points)} a figure on points and {runs(sequences)} on sequences, seeded; times are
            processor seconds of one core. Real data: roads, check-ins, taxi trips, web and process logs, and
            stand-ins where the published ones cannot be had.""",
        details=[
            READING,
            "## The statements",
            *(statement_table(checked(results)) for results in (points, sequences)),
            *(["## Speed", "From `python studies/privtree_speed.py`.", speed] if speed else []),
            "## The experiments",
            *(account(results, "privtree") for results in (points, sequences)),
        ],
        tables=[every_table(results) for results in (points, sequences)],
    )


if __name__ == "__main__":
    all_of(STUDIES, pages, sys.argv[1:])
