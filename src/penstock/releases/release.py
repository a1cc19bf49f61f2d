"""The public result of a method: what it publishes, and how that becomes a folder and a page."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from penstock.errors import UsageError
from penstock.releases import folder as folders
from penstock.releases.predicting import Predicting
from penstock.releases.published import Published


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Release(Published):
    """A differentially private model of the records: save it, sample it, ask it.

    >>> import polars as pl
    >>> from penstock import Schema, release
    >>> schema = Schema.from_yaml("fields: [{name: smoker, type: boolean}]")
    >>> people = pl.DataFrame({"smoker": [True] * 300 + [False] * 700})
    >>> made = release(people, schema, epsilon=1, method="independent", seed=1)
    >>> made.kind, made.answer, list(made.questions())[:3]
    ('table', 'synthetic data', ['condition', 'sql', 'groups'])
    >>> made.sample(5).columns
    ['smoker']
    >>> 280 < made.query("smoker = true").value < 320
    True
    """

    def predicting(self, target: str | None = None) -> Predicting:
        """What predicts from new rows: the release itself. UsageError where it predicts nothing."""
        if not isinstance(self, Predicting):
            raise UsageError(
                f"A {self.method} release predicts nothing by itself; one of clusters, a classifier or a "
                "predictor does, and one of a whole table with a target. 'penstock methods' says which make "
                "them."
            )
        if target is not None:
            raise UsageError(
                "A target is for releases of a whole table; this one predicts what it was made for."
            )
        return self

    def save(self, folder: str | Path, *, overwrite: bool = False) -> Path:
        """Write the release as a folder of plain files: all of it, or nothing.

        An existing folder is refused; with `overwrite` an existing *release* folder is replaced, and
        stays as it was until the new one is complete.
        """
        return folders.save(self, folder, overwrite=overwrite)

    def report(self) -> str:
        """The public report, as one self-contained HTML page."""
        from penstock.releases import public_report  # and pages with it, which no fit needs

        return public_report.report(self)
