"""All PrivBayes studies one after the other, and what they found as a page of the documentation.

    python studies/privbayes_all.py --jobs 2             # about half an hour on two cores
    python studies/privbayes_all.py --seconds 300        # start no run of a study after five minutes of it
    python studies/privbayes_all.py --show --write       # run nothing, write docs/studies/privbayes.md

The other arguments are those of each study.
"""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

from frame import main, run
from frame.table import markdown, report

STUDIES = (
    "privbayes_network",
    "privbayes_encodings",
    "privbayes_parameters",
    "privbayes_error",
    "privbayes_marginals",
    "privbayes_svm",
    "privbayes_overlap",
)
PAGE = Path(__file__).resolve().parents[1] / "docs" / "studies" / "privbayes.md"

HEAD = """# PrivBayes: the published experiments, re-run

Made by `python studies/privbayes_all.py --show --write`; [how to re-run them](../studies.md). Every
claim of the paper ends as *holds* or *does not hold*, with our numbers. Figures in brackets are those of
an independent prototype on the same public copies of the data, because the paper prints its curves as
images. Q2, Q3 and Q4 are mean total variation distances over all marginals of two, three and four
attributes. A case that goes against a claim by no more than two standard errors counts as noise.

"""


def everything(arguments: list[str]) -> None:
    writing = "--write" in arguments
    rest = [argument for argument in arguments if argument != "--write"]
    for name in STUDIES:
        main(import_module(name).study, rest)
    if writing:
        PAGE.write_text(page(), encoding="utf-8")
        print(f"written: {PAGE.name}")


def page() -> str:
    """The claims in one table, then every study in full."""
    found = [run(import_module(name).study(), seconds=-1) for name in STUDIES]
    claims = []
    for results in found:
        for claim in results.study.claims:
            verdict = claim.verdict(results)
            claims.append([claim.number, claim.text, verdict.words])
    claims.sort(key=lambda row: (not row[0].isdigit(), int(row[0]) if row[0].isdigit() else 0))
    table = "\n".join(markdown(["claim", "", "in our runs"], claims))
    reports = "\n".join(report(results).replace("### ", "## ", 1) for results in found)
    return f"{HEAD}{table}\n\n{reports}"


if __name__ == "__main__":
    everything(sys.argv[1:])
