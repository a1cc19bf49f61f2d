"""Runs the audit and saves the figures and the picture for the page about it; needs Chromium.

    python docs/audit_page.py                    # everything, about half an hour on one core
    python docs/audit_page.py --missing          # what has no figures yet: after adding a method
    python docs/audit_page.py replay-dawa dawa   # these again, the others keep their figures

Figures are saved after every target, so that whoever stops it goes on with `--missing`. Targets that are run
apart have the seeds and the share of the failure probability that they have in a run of everything.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from math import inf
from pathlib import Path
from typing import Any

from penstock.audit import Bound, Pair, Status, Target, Verdict, run, select, targets
from penstock.audit.findings import measured, picture, summary
from penstock.audit.sampling import FAILURE

FIGURES = Path(__file__).parent / "assets" / "audit.json"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Run the audit for the page about it.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="only these targets")
    parser.add_argument("--missing", action="store_true", help="only targets that have no figures yet")
    asked = parser.parse_args(arguments)
    some = asked.missing or asked.names
    known = json.loads(FIGURES.read_text(encoding="utf-8"))["targets"] if some else {}
    again = [target for target in select(asked.names) if not (asked.missing and target.name in known)]
    for target in again:
        [verdict] = run([target.name], failure=FAILURE / len(targets()))
        known[target.name] = told(verdict)
        save(known)
        print(f"{verdict.name}: {verdict.status.value}, {verdict.seconds:.0f} s", file=sys.stderr)
    return photograph(picture(save(known)).figure)


def told(verdict: Verdict) -> dict[str, Any]:
    """What the page needs of a verdict."""
    return {
        "exact loss": measured(verdict.exact),
        "measured": measured(verdict.sampled),
        "verdict": verdict.status.value,
        "replays": verdict.replays,
        "failure": verdict.failure,
    }


def retold(target: Target, figures: Mapping[str, Any]) -> Verdict:
    """The verdict that these figures were taken from, as far as they tell."""
    nothing, bounds = Pair((), ()), []
    for name, failure, tests in (("exact loss", 0.0, figures["replays"]), ("measured", FAILURE, 0)):
        if figures[name] != measured(None):
            epsilon = inf if figures[name] == "∞" else float(figures[name])
            bounds.append(Bound(epsilon, failure, nothing, "", "either", tests=tests))
    return Verdict(
        target.name,
        target.kind,
        target.promise,
        target.summary,
        tuple(bounds),
        Status(figures["verdict"]),
        figures["failure"],
        trials=0,
        seconds=0.0,
    )


def save(known: Mapping[str, Mapping[str, Any]]) -> list[Verdict]:
    """Write the figures of all targets that there are, in their order; the verdicts that they tell."""
    found = [target for target in targets() if target.name in known]
    verdicts = [retold(target, known[target.name]) for target in found]
    lines = ",\n".join(
        f"  {json.dumps(target.name)}: {json.dumps(known[target.name], ensure_ascii=False)}"
        for target in found
    )
    text = f'{{\n "summary": {json.dumps(summary(verdicts))},\n "targets": {{\n{lines}\n }}\n}}\n'
    FIGURES.write_text(text, encoding="utf-8")
    return verdicts


def photograph(figure: Any, name: str = "audit.png") -> int:
    """The figure alone, on white, as a picture in the assets."""
    from pictures import Camera, View, browser  # beside this file

    from penstock.report.picture import Picture

    chromium = browser()
    if chromium is None:
        return 1
    height = int(figure.layout.height)
    with tempfile.TemporaryDirectory() as place:
        sheet = Path(place) / "audit.html"
        shown = Picture("", "", figure)._repr_html_()
        sheet.write_text(
            f"<!doctype html><meta charset=utf-8><body style='font-family:system-ui'>{shown}",
            encoding="utf-8",
        )
        view = View(sheet.as_uri(), 0, 0, 1000, height + 16)
        Camera(chromium, sheet.parent).take(name, 1000, height + 16, [view])
    return 0


if __name__ == "__main__":
    sys.exit(main())
