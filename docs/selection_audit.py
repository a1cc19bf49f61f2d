"""Audits every selection mechanism and every broken variant, and puts table and picture into their page.

`python docs/selection_audit.py` takes about two minutes and needs Chromium for the picture.
"""

from __future__ import annotations

import sys
from pathlib import Path

from audit_page import photograph  # beside this file

from penstock.audit import broken_sparse, run, sparse, top
from penstock.audit.findings import measured, picture, summary
from penstock.audit.harness import Verdict
from penstock.audit.target import Kind, Target

PAGE = Path(__file__).parent / "privacy" / "sparse-vector.md"
BEGIN, END = "<!-- selection audit: begin -->", "<!-- selection audit: end -->"
TRIALS = 50_000


def main() -> int:
    every = (*sparse.targets(), *top.targets(), *broken_sparse.targets())
    shipped = [target for target in every if target.kind is Kind.SHIPPED]
    broken = [target for target in every if target.kind is Kind.BROKEN]
    verdicts = run([target.name for target in (*shipped, *broken)], TRIALS)
    found = {verdict.name: verdict for verdict in verdicts}
    parts = [
        f"Made by `python docs/selection_audit.py`. {summary(verdicts)}",
        "![Claimed and measured privacy loss of selections](../assets/selection-audit.png){ loading=lazy }",
        "### What Penstock ships",
        _shipped([found[target.name] for target in shipped]),
        "### What was published or is easily got wrong",
        "\n".join(
            [
                "| target | from | mistake | true guarantee | exact loss | measured | counterexample |",
                "|---|---|---|---|--:|--:|---|",
                *(_broken(target, found[target.name]) for target in broken),
            ]
        ),
    ]
    text = PAGE.read_text(encoding="utf-8")
    before, after = text[: text.index(BEGIN) + len(BEGIN)], text[text.index(END) :]
    PAGE.write_text("\n\n".join([before, *parts, after]), encoding="utf-8")
    return photograph(picture(verdicts).figure, "selection-audit.png")


def _shipped(verdicts: list[Verdict]) -> str:
    lines = ["| target | what it is | claim | exact loss | measured | verdict |", "|---|---|---|--:|--:|---|"]
    lines += [
        f"| `{verdict.name}` | {verdict.summary} | {verdict.promise.words} | {measured(verdict.exact)} | "
        f"{measured(verdict.sampled)} | {verdict.status.value} |"
        for verdict in verdicts
    ]
    return "\n".join(lines)


def _broken(target: Target, verdict: Verdict) -> str:
    cells = (
        f"`{target.name}`",
        target.background.get("published", "–"),
        target.summary,
        target.background["truth"],
        measured(verdict.exact),
        measured(verdict.sampled),
        _counterexample(target, verdict),
    )
    return f"| {' | '.join(cells)} |"


def _counterexample(target: Target, verdict: Verdict) -> str:
    """The one from the literature, else the one that the audit found."""
    if "counterexample" in target.background:
        return target.background["counterexample"]
    bound = verdict.bound
    pair = bound.pair.words if len(bound.pair.words) < 60 else bound.pair.words[:57] + "…"
    return f"found: {pair.replace('|', 'and')}; {bound.event}"


if __name__ == "__main__":
    sys.exit(main())
