"""Takes the pictures of the gallery and of the guide to reviews, from the demos themselves; needs Chromium.

`python docs/gallery_pictures.py`, or with some kinds of data behind it. The noise is fresh each time, so the
pictures differ in detail.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from pictures import Camera, View, browser  # beside this file

from penstock import catalogue
from penstock.cli import run

WIDTH, HEIGHT = 1180, 1000


def main(kinds: list[str]) -> int:
    chromium = browser()
    if chromium is None:
        return 1
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for info in catalogue.every_kind():
            if kinds and info.name not in kinds:
                continue
            out = folder / info.name
            assert run(["demo", "--kind", info.name, "--out", str(out)]) == 0
            still = out.with_suffix(".html")  # a page that glides to its place is photographed on the way
            text = (out / "report.html").read_text(encoding="utf-8")
            still.write_text(
                text.replace("scroll-behavior: smooth", "scroll-behavior: auto"), encoding="utf-8"
            )
            section = "" if info.living else "#the-released-data"
            view = View(f"{still.as_uri()}{section}", 0, 0, WIDTH, HEIGHT)
            Camera(chromium, folder).take(f"gallery-{info.name}.png", WIDTH, HEIGHT, [view])
        if not kinds:
            _review(chromium, folder)
    return 0


def _review(chromium: str, folder: Path) -> None:
    """The page of a review, opened as a custodian would."""
    data = folder / "survey.csv"
    assert run(["demo", "--data-only", str(data)]) == 0
    command = [sys.executable, "-m", "penstock", "review", str(data), "--page", "--no-open"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as desk:
        assert desk.stdout is not None
        address = desk.stdout.readline().strip()
        assert re.match(r"http://127\.0\.0\.1:", address)
        target = Path(__file__).parent / "assets" / "review.png"
        quiet = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars")
        size = ("--virtual-time-budget=4000", f"--window-size={WIDTH},{HEIGHT}", f"--screenshot={target}")
        subprocess.run([chromium, *quiet, *size, address], check=True, capture_output=True)
        desk.terminate()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
