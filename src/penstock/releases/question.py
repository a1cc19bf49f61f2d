"""What a release can be asked: it declares its questions, so that nobody needs a list of kinds to ask it.

A question takes the text that somebody typed and gives a number (`Answer`), a list (a frame of rows), what
SQL says (`Selected`) or a file that it wrote (`Written`). Where many questions of one sort may stand in a
file, `many` answers them all. Asking is post-processing of what is public already, and costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from penstock.releases.answer import Answer

if TYPE_CHECKING:
    import polars as pl

    from penstock.releases.sql import Selected

Result: TypeAlias = "Answer | pl.DataFrame | Selected | Written"


@dataclass(frozen=True)
class Written:
    """A file that was written for an answer, and what it holds.

    >>> print(Written(Path("town.geojson"), "the released map"))
    town.geojson: the released map.
    """

    path: Path
    text: str

    def __str__(self) -> str:
        return f"{self.path}: {self.text}."


@dataclass(frozen=True)
class Question:
    """One way to ask a release.

    `words` say what happens, to be followed by how to ask for it: "strings of symbols are counted", with
    --count. `ask` takes the text of one question; `many` takes the path of a file of them and gives the
    columns of the file with the answers beside them, or is None where questions come one by one. Both raise
    QueryError for a text that makes no sense. `example` is a text that does, made from what is public; None
    where this release holds nothing that it could be asked for. `narrowed` asks the same about the records
    that meet a condition, told apart by columns (each None where there is none), or is None where that makes
    no sense.

    >>> ask = lambda text: Answer(len(text), 0.0, "letters", "declared")
    >>> question = Question("letters are counted", ask, example="home")
    >>> print(question.ask(question.example))
    4 ± 0 letters (declared)
    """

    words: str
    ask: Callable[[str], Result]
    many: Callable[[str], pl.DataFrame] | None = None
    example: str | None = None
    narrowed: Callable[[str, str | None, str | None], Result] | None = None
