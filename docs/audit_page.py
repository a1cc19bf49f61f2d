"""Runs the whole audit and puts its table and picture into the page about it; needs Chromium.

Takes about a quarter of an hour: `python docs/audit_page.py`.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from penstock.audit import run
from penstock.audit.findings import markdown, picture, summary
from penstock.audit.target import Kind

HERE = Path(__file__).parent
BEGIN, END = "<!-- audit: begin -->", "<!-- audit: end -->"


def main() -> int:
    verdicts = run()
    shipped = [verdict for verdict in verdicts if verdict.kind is Kind.SHIPPED]
    broken = [verdict for verdict in verdicts if verdict.kind is Kind.BROKEN]
    parts = [
        summary(verdicts),
        "![Claimed and measured privacy loss](assets/audit.png){ loading=lazy }",
        "### What Penstock ships",
        markdown(shipped),
        "### Deliberately broken copies",
        markdown(broken),
    ]
    page = HERE / "audit.md"
    text = page.read_text(encoding="utf-8")
    before, after = text[: text.index(BEGIN) + len(BEGIN)], text[text.index(END) :]
    page.write_text("\n\n".join([before, *parts, after]), encoding="utf-8")
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
