"""Virtual environments for peers, made once and kept."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from frame.store import RESULTS
from race.peers import Environment

FOLDER = RESULTS / "venvs"


def python_of(environment: Environment | None) -> Path:
    """The interpreter to run a driver with; the environment is made where it is not there yet."""
    if environment is None:
        return Path(sys.executable)
    place = FOLDER / environment.name
    python = place / "bin" / "python"
    stamp = place / "installed.txt"
    wanted = " ".join((*environment.packages, *environment.alone))
    if stamp.exists() and stamp.read_text() == wanted:
        return python
    print(f"installing {wanted}", file=sys.stderr, flush=True)
    started = time.monotonic()
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*install, *environment.packages], check=True)
    if environment.alone:
        subprocess.run([*install, "--no-deps", *environment.alone], check=True)
    stamp.write_text(wanted)
    print(f"installed in {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
    return python
