"""Where an engine of this machine writes records that do not fit into memory or go from step to step."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from penstock.errors import DataError
from penstock.lifetime import made_and_held, marked, remove, sweep

SPILLED = "penstock-spill-"


class SpillFolder:
    """A folder for spilled records: its owner's alone, locked while this process lives."""

    def __init__(self, parent: str | Path | None) -> None:
        place = Path(tempfile.gettempdir() if parent is None else parent)
        try:
            sweep(place, SPILLED)
            self.path, self._held = made_and_held(lambda: self._made(place))
        except OSError as problem:
            raise DataError(
                f"{place}: no folder can be made there ({problem.strerror}). Choose another."
            ) from None

    @staticmethod
    def _made(place: Path) -> Path:
        path = place / f"{SPILLED}{marked()}"
        path.mkdir(mode=0o700)
        return path

    def remove(self) -> None:
        remove(self.path)
        os.close(self._held)
