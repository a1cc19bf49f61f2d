"""Finished cells on disk: one JSON line each, appended as they come, never rewritten.

A line that was cut off by a crash is ignored, so that the cell is computed again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from frame.study import Cell, Study

RESULTS = Path(__file__).resolve().parents[1] / "results"


class Store:
    """The results of one study."""

    def __init__(self, study: Study, folder: Path | None = None) -> None:
        self.study = study
        self.path = (folder or RESULTS) / f"{study.name}.jsonl"

    def lines(self) -> Iterator[dict[str, Any]]:
        """Every finished cell that today's study would compute in the same way."""
        if not self.path.exists():
            return
        with self.path.open(encoding="utf-8") as file:
            for text in file:
                try:
                    line = json.loads(text)
                    method, recipe = line["method"], line["recipe"]
                except (ValueError, KeyError, TypeError):
                    continue
                if method in self.study.methods and recipe == self.study.recipe(method):
                    yield line

    def finished(self) -> set[Cell]:
        """The cells whose every metric is known."""
        wanted = set(self.study.metrics)
        return {
            Cell(line["dataset"], line["method"], line["epsilon"], line["repetition"])
            for line in self.lines()
            if wanted <= set(line["measured"])
        }

    def append(self, cell: Cell, values: Mapping[str, float], seconds: float) -> None:
        """Write one finished cell; it survives a crash from here on."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        line = {
            "dataset": cell.dataset,
            "method": cell.method,
            "epsilon": cell.epsilon,
            "repetition": cell.repetition,
            "recipe": self.study.recipe(cell.method),
            "measured": list(self.study.metrics),
            "seconds": round(seconds, 3),
            "values": dict(values),
        }
        torn = self.path.exists() and not self.path.read_bytes().endswith(b"\n") and self.path.stat().st_size
        with self.path.open("a", encoding="utf-8") as file:
            file.write(("\n" if torn else "") + json.dumps(line) + "\n")
            file.flush()
            os.fsync(file.fileno())
