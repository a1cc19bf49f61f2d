"""Runs the whole audit and saves the figures and the picture for the page about it; needs Chromium.

Takes about a quarter of an hour: `python docs/audit_page.py`.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from penstock.audit import run
from penstock.audit.findings import measured, picture, summary

FIGURES = Path(__file__).parent / "assets" / "audit.json"


def main() -> int:
    verdicts = run()
    found = {
        verdict.name: {
            "exact loss": measured(verdict.exact),
            "measured": measured(verdict.sampled),
            "verdict": verdict.status.value,
        }
        for verdict in verdicts
    }
    lines = ",\n".join(
        f"  {json.dumps(name)}: {json.dumps(told, ensure_ascii=False)}" for name, told in found.items()
    )
    text = f'{{\n "summary": {json.dumps(summary(verdicts))},\n "targets": {{\n{lines}\n }}\n}}\n'
    FIGURES.write_text(text, encoding="utf-8")
    return photograph(picture(verdicts).figure)


def photograph(figure: Any, name: str = "audit.png") -> int:
    """The figure alone, on white, as a picture in the assets."""
    from pictures import Camera, View  # beside this file

    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        print("The picture needs Chromium; the table is written.", file=sys.stderr)
        return 1
    height = int(figure.layout.height)
    with tempfile.TemporaryDirectory() as place:
        sheet = Path(place) / "audit.html"
        sheet.write_text(
            figure.update_layout(width=980).to_html(config={"displayModeBar": False}), encoding="utf-8"
        )
        view = View(sheet.as_uri(), 0, 0, 1000, height + 16)
        Camera(chromium, sheet.parent).take(name, 1000, height + 16, [view])
    return 0


if __name__ == "__main__":
    sys.exit(main())
