"""Takes the pictures of README and docs from the reports of the demo: `make pictures`, with Chromium.

The data are made up; the noise is fresh each time, so the pictures differ in detail and nothing else.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from penstock import demo
from penstock.cli import run

ASSETS = Path(__file__).parent / "assets"
PAGE = """<!doctype html><meta charset="utf-8"><style>
html {{ height: 100%; background: {ground}; }}
div {{ position: fixed; overflow: hidden; {edge} }}
iframe {{ border: 0; transform-origin: 0 0; }}
</style>{views}"""


@dataclass(frozen=True)
class View:
    """A part of a page, `width` x `height` as the page sees it, shown at a place of the picture."""

    page: str
    left: int
    top: int
    width: int
    height: int
    scale: float = 1.0

    def html(self) -> str:
        shown = f"width:{self.width * self.scale}px;height:{self.height * self.scale}px"
        size = f"left:{self.left}px;top:{self.top}px;{shown}"
        frame = f"width:{self.width}px;height:{self.height}px;transform:scale({self.scale})"
        return f'<div style="{size}"><iframe src="{self.page}" style="{frame}" scrolling="no"></iframe></div>'


def browser() -> str | None:
    """Where Chromium is; without it, that is said."""
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        print("The pictures need Chromium; install it and try again.", file=sys.stderr)
    return found


def main() -> int:
    chromium = browser()
    if chromium is None:
        return 1
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        survey, rides = Records("survey", folder), Records("rides", folder)
        map_of_rides = f"{rides.release('uniform-grid')}#the-released-data"
        columns = f"{survey.release('independent')}#the-released-data"
        shot = Camera(chromium, folder)
        framed = [
            View(survey.release(), 40, 40, 1180, 1060, 0.82),
            View(map_of_rides, 820, 120, 900, 900, 0.82),
        ]
        shot.take("report.png", 1600, 900, framed, framed=True)
        shot.take("independent.png", 1180, 900, [View(columns, 0, 0, 1180, 900)])
        shot.take("uniform-grid.png", 1180, 800, [View(map_of_rides, 0, 0, 1180, 800)])
        for method in ("confluence", "privbayes"):
            network = f"{survey.release(method)}#the-released-data"
            shot.take(f"{method}.png", 1180, 1000, [View(network, 0, 0, 1180, 1000)])
        tree = f"{rides.release('privtree')}#the-released-data"
        shot.take("privtree.png", 1180, 800, [View(tree, 0, 0, 1180, 800)])
        sequences = f"{Records('visits', folder).release()}#the-released-data"
        shot.take("privtree-sequences.png", 1180, 1600, [View(sequences, 0, 0, 1180, 1600)])
    return 0


@dataclass(frozen=True)
class Records:
    """One of the demo's datasets, written to a folder."""

    name: str
    folder: Path

    def release(self, method: str | None = None) -> str:
        """Release it with a method, or the default one; the address of the report."""
        data, schema = self.folder / f"{self.name}.csv", self.folder / f"{self.name}.yaml"
        frame, text = {
            "survey": lambda: (demo.survey(), demo.survey_schema()),
            "rides": lambda: (demo.rides(), demo.rides_schema()),
            "visits": lambda: (demo.visits(), demo.visits_schema()),
        }[self.name]()
        frame.write_csv(data)
        schema.write_text(text, encoding="utf-8")
        out = self.folder / f"{self.name}-{method or 'release'}"
        chosen = [] if method is None else ["--method", method]
        arguments = ["release", data, "--schema", schema, "--epsilon", "1", *chosen, "--out", out]
        assert run([str(argument) for argument in arguments]) == 0
        return (out / "report.html").as_uri()


@dataclass(frozen=True)
class Camera:
    """A browser without a window."""

    chromium: str
    folder: Path

    def take(self, name: str, width: int, height: int, views: list[View], *, framed: bool = False) -> None:
        """Compose views of pages into one picture."""
        edge = (
            "border-radius: 14px; box-shadow: 0 18px 50px rgba(10, 41, 66, .28); background: #fff;"
            if framed
            else ""
        )
        ground = "linear-gradient(150deg, #e8eff5, #cfdde8)" if framed else "#fff"
        page = self.folder / "picture.html"
        page.write_text(
            PAGE.format(ground=ground, edge=edge, views="".join(view.html() for view in views)),
            encoding="utf-8",
        )
        subprocess.run(
            [
                self.chromium,
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--hide-scrollbars",
                "--force-prefers-reduced-motion",  # a page that glides to its place is taken half-way
                "--allow-file-access-from-files",
                "--virtual-time-budget=12000",
                f"--window-size={width},{height}",
                f"--screenshot={ASSETS / name}",
                page.as_uri(),
            ],
            check=True,
            capture_output=True,
        )


if __name__ == "__main__":
    sys.exit(main())
