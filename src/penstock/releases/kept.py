"""Paid models that are not in their place yet, and that nothing but the custodian's word removes.

A release is written into a hidden folder beside its destination, its model first. As soon as the model is on
disk, a file beside the folder says so and names the destination; it goes when the release has its place.
Whatever ends the process in between, the model is there, in a folder for its owner alone, and
`penstock recover` finishes it. Where the destination's disk refuses even the model, it is kept in a folder of
the user's own.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from penstock.lifetime import MARKED, hold, remove
from penstock.releases.paths import absolute

_SUFFIX = ".paid"
_MARKER = re.compile(rf"\..*\.partial-{MARKED}{re.escape(_SUFFIX)}\Z", re.DOTALL)
_LONGEST = 1 << 16


@dataclass(frozen=True)
class Kept:
    """A paid model in a hidden folder, and where it was meant to go."""

    folder: Path
    destination: Path
    since: str
    entry: str | None
    """What it is called in a ledger, where it is in one."""

    @property
    def busy(self) -> bool:
        """Whether a living process is still writing it."""
        held = hold(self.folder)
        if held is None:
            return True
        os.close(held)
        return False

    def tidy(self) -> None:
        """Remove what was half-written: all that the table of contents of the model does not list."""
        package = json.loads((self.folder / "datapackage.json").read_text(encoding="utf-8"))
        listed = {"datapackage.json", *(str(resource["path"]) for resource in package["resources"])}
        for path in self.folder.iterdir():
            if path.name not in listed:
                remove(path)

    def discard(self) -> None:
        """Remove it for good."""
        # The folder first: without its marker it would count as a leftover, with it as kept.
        remove(self.folder)
        marker(self.folder).unlink(missing_ok=True)


def marker(folder: Path) -> Path:
    """The file that says that the model in a hidden folder is paid for and complete."""
    return folder.with_name(folder.name + _SUFFIX)


def keep(folder: Path, destination: Path, entry: str | None) -> None:
    """Say durably that the model in a hidden folder is complete, and where it belongs."""
    since = datetime.now(UTC).isoformat(timespec="seconds")
    facts = {"destination": str(destination), "since": since, "entry": entry}
    descriptor = os.open(marker(folder), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(facts, file)
        file.flush()
        os.fsync(file.fileno())


def is_kept(folder: Path) -> bool:
    """Whether a hidden folder holds a paid model."""
    return os.path.lexists(marker(folder))


def find(*places: Path) -> list[Kept]:
    """What is kept in these folders and in the state folder, oldest first."""
    found: dict[Path, Kept] = {}
    for place in dict.fromkeys([*places, state_folder()]):
        found |= {kept.folder: kept for kept in _in(place)}
    return sorted(found.values(), key=lambda kept: (kept.since, kept.folder))


def meant_for(destination: Path) -> list[Kept]:
    """What is kept for one destination."""
    return [kept for kept in find(destination.parent) if kept.destination == destination]


def _in(place: Path) -> Iterable[Kept]:
    try:
        names = sorted(os.listdir(place))
    except OSError:
        return
    for name in names:
        if _MARKER.match(name):
            said = place / name
            folder = said.with_name(name.removesuffix(_SUFFIX))
            if not folder.is_dir() or folder.is_symlink():
                said.unlink(missing_ok=True)  # the release took its place, and its process ended right then
                continue
            facts = _read(said)
            if facts is not None:
                yield Kept(folder, Path(facts[0]), facts[1], facts[2])


def _read(said: Path) -> tuple[str, str, str | None] | None:
    try:
        with said.open(encoding="utf-8") as file:
            facts = json.loads(file.read(_LONGEST))
        entry = facts["entry"]
        return str(facts["destination"]), str(facts["since"]), None if entry is None else str(entry)
    except (OSError, ValueError, KeyError, TypeError):
        return None  # half-written: nobody was promised anything yet


def state_folder() -> Path:
    """Where models are kept that their destination's disk refuses: `PENSTOCK_STATE`, or the user's own."""
    chosen = os.environ.get("PENSTOCK_STATE")
    if chosen:
        return absolute(chosen)
    base = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(base).expanduser() / "penstock"
