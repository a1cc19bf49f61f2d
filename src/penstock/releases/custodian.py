"""Files that stay with the custodian: evaluations, ledgers and drafts say more than a release may.

They are readable by their owner alone, and never lie inside a release folder, which somebody will copy to
the public as it is.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from penstock.errors import UsageError
from penstock.releases.disk import is_release, whole_file

OWNER_ONLY = 0o600


def refuse_inside_release(path: str | Path, what: str) -> None:
    """Raise UsageError when the file would lie in a release folder, or in a folder within one."""
    target = Path(os.path.realpath(path))
    for folder in target.parents:
        if is_release(folder):
            raise UsageError(
                f"'{path}' is inside the release '{folder}', which is public, and {what} is not; "
                "choose a place outside of it."
            )


@contextmanager
def custodians_file(path: str | Path, what: str) -> Iterator[Path]:
    """A hidden file to fill, readable by its owner alone from the first byte; see `whole_file`."""
    refuse_inside_release(path, what)
    with whole_file(path, mode=OWNER_ONLY) as partial:
        yield partial
