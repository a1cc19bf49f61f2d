"""What the tests of the command line share: a custodian's desk and the outcome of a command."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

SCHEMA = """\
fields:
  - {name: name, type: string, constraints: {enum: [ada, bob, cyd]}}
  - {name: age, type: integer, constraints: {minimum: 0, maximum: 99}, bins: {width: 10}}
  - {name: income, type: number, constraints: {minimum: 0, maximum: 5000}, bins: {count: 5}, missing: value}
"""
ROWS = [("ada", "31", "1200.5"), ("bob", "45", ""), ("cyd", "7", "0")] * 20


@dataclass(frozen=True)
class Outcome:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def sentences(self) -> int:
        """How many sentences the complaint has; full stops inside numbers and file names do not count."""
        return sum(
            1
            for i, letter in enumerate(self.err)
            if letter in ".?" and self.err[i + 1 : i + 2] in ("", " ", "\n")
        )


Cli = Callable[..., Outcome]


@dataclass(frozen=True)
class Desk:
    """Where the custodian works."""

    folder: Path

    @property
    def data(self) -> Path:
        return self.folder / "people.csv"

    @property
    def schema(self) -> Path:
        return self.folder / "people.schema.yaml"

    @property
    def ledger(self) -> Path:
        return self.folder / "ledger.db"

    @property
    def out(self) -> Path:
        return self.folder / "people-release"

    @property
    def release(self) -> tuple[str, ...]:
        """The command line that releases the table; more words may follow."""
        words = ("release", self.data, "--schema", self.schema, "--epsilon", "1", "--out", self.out)
        return tuple(str(word) for word in words)

    def write(self, rows: list[tuple[str, ...]], header: tuple[str, ...] = ("name", "age", "income")) -> None:
        self.data.write_text("\n".join(",".join(row) for row in [header, *rows]) + "\n", encoding="utf-8")
