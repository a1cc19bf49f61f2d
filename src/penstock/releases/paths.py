"""Names of folders as they are meant."""

from __future__ import annotations

import os
from pathlib import Path


def absolute(folder: str | Path) -> Path:
    """The folder that a name means from here: absolute, a tilde spelt out, links left as they are."""
    return Path(os.path.abspath(Path(os.fspath(folder)).expanduser()))
