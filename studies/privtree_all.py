"""All PrivTree studies one after the other, and what they found as a page of the documentation.

    python studies/privtree_all.py                   # about two hours on one core
    python studies/privtree_all.py --seconds 300     # start no run of a study after five minutes of it
    python studies/privtree_all.py --show --write    # run nothing, write docs/studies/privtree.md

The other arguments are those of each study. Times are measured by privtree_speed.py, on its own.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

from frame import Results, all_of, run
from frame.store import RESULTS
from frame.table import report

STUDIES = ("privtree_spatial", "privtree_sequences")
SPEED = RESULTS / "privtree_speed.md"
PAGE = Path(__file__).resolve().parents[1] / "docs" / "studies" / "privtree.md"

HEAD = """# PrivTree: the published experiments, re-run

Made by `python studies/privtree_all.py --show --write` from the results of `privtree_spatial.py`,
`privtree_sequences.py` and `privtree_speed.py`; [how to re-run them](../studies.md). The literature prints
its curves as images and says in words what they show: every such sentence ends here as *holds* or *does not
hold*, with our numbers. Figures in brackets are those of the project's specification, from an independent
prototype on generated data.

A case that goes against a claim by no more than two standard errors counts as noise. Where the literature
says "noticeably" or "by a large margin", the factor in the claim is ours. Where a claim names a factor, the
first of two numbers has been multiplied by it. The relative error of a count is its distance
from the truth, divided by the truth or by 0.1 % of the points, whichever is larger. Small, medium and large
boxes cover 0.01–0.1 %, 0.1–1 % and 1–10 % of the space; 1000 of each (500 in four dimensions), volume, shape
and place at random.
"""


def page() -> str:
    """The claims in one table, the times, then every study in full."""
    found = [run(import_module(name).study(), seconds=-1) for name in STUDIES]
    parts = [HEAD, "## Claims", *(claims(results) for results in found)]
    if SPEED.exists():
        parts += ["## Speed", "From `python studies/privtree_speed.py`.", SPEED.read_text(encoding="utf-8")]
    parts += [report(results, claims=False, fold=True).replace("### ", "## ", 1) for results in found]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def claims(results: Results) -> str:
    """Every claim with its verdict and our numbers, as a table."""
    lines = ["| | claim | in our runs | our numbers |", "|---|---|---|---|"]
    for claim in results.study.claims:
        verdict = claim.verdict(results)
        lines.append(f"| {claim.number} | {claim.text} | **{verdict.words}** | {verdict.numbers} |")
    return "\n".join(lines)


if __name__ == "__main__":
    all_of(STUDIES, page, PAGE, sys.argv[1:])
