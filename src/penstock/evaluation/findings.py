"""What an evaluation of one kind of data is asked, and what it finds."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from penstock.evaluation.score import RESAMPLED, Score
from penstock.releases.release import Release
from penstock.report.page import Section
from penstock.schema import Schema

LIMIT = 500
QUERIES = 500
MOST_COMPARED = 1 << 18
"""Records of a table that a release is compared with: more tell little more. They are drawn, and the
evaluation says so."""


@dataclass(frozen=True)
class Options:
    """How to compare; a kind of data uses what makes sense for it.

    `table` names a table of a database. `target` is the column to predict (None: the schema's target, or
    else a few categorical ones), `limit` the most marginals of each number of columns that are compared,
    `queries` the number of random questions of each sort. Without `learning` nothing is trained, which takes
    most of the time; with `k_marginal` the score of SDNist is added.
    """

    table: str | None = None
    target: str | None = None
    limit: int = LIMIT
    queries: int = QUERIES
    seed: int = 0
    learning: bool = True
    k_marginal: bool = False


@dataclass(frozen=True)
class Findings:
    """Scores, details for JSON, sections for the page, and how many records were compared with.

    `ceiling` says in words what the ceiling of the scores is, `remarks` what the custodian should read first.
    """

    scores: tuple[Score, ...]
    rows: int
    details: Mapping[str, Any] = field(default_factory=dict)
    sections: Sequence[Section] = ()
    ceiling: str = RESAMPLED
    remarks: tuple[str, ...] = ()


def compared_with(records: int, of: int) -> list[str]:
    """What the custodian reads where a release was compared with some of the records only."""
    return [f"Compared with {records:,} of the {of:,} records, drawn at random."] if records < of else []


class Evaluator(ABC):
    """Compares a release with the records it came from; a kind of data derives its own.

    `k_marginals` says whether records have columns of which the score of SDNist makes sense.
    """

    k_marginals: ClassVar[bool] = False

    @abstractmethod
    def compare(self, release: Release, source: Any, schema: Schema, options: Options) -> Findings:
        """How far the release is from the records of the source, which the schema describes."""
