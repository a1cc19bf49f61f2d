"""The public result of a method: what it publishes, and how that becomes a folder and a page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from penstock.releases import folder as folders
from penstock.releases import public_report
from penstock.releases.published import Published


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Release(Published):
    """A differentially private model of the records: save it, sample it, ask it."""

    def save(self, folder: str | Path, *, overwrite: bool = False) -> Path:
        """Write the release as a folder of plain files: all of it, or nothing.

        An existing folder is refused; with `overwrite` an existing *release* folder is replaced, and
        stays as it was until the new one is complete.
        """
        return folders.save(self, folder, overwrite=overwrite)

    def report(self) -> str:
        """The public report, as one self-contained HTML page."""
        return public_report.report(self)
