"""The book of a living release: what is public about it, what was paid, and what it answered when.

Nothing in it depends on the stream but the answers, which were paid for: no number of updates, no time of the
last one. It is a file of plain JSON beside the counters, replaced in one step whenever a line is added, and a
charge is written down before the noise that it pays for is drawn: a crash can waste a charge, never hide one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from functools import lru_cache
from typing import Any

from pydantic import BaseModel, ConfigDict

from penstock.contracts.sketch import Setting
from penstock.errors import PenstockError, ReleaseError
from penstock.kinds.stream.layout import StreamLayout
from penstock.privacy.budgets.charges import Charge, Together
from penstock.privacy.budgets.receipt import Receipt
from penstock.privacy.unit import Unit
from penstock.report.numbers import readable
from penstock.schema import Schema

FORMAT = 1
AHEAD = "state and all steps"
"""The label of the one charge of a stream that is told step by step."""
NOW = "%Y-%m-%dT%H:%M:%S+00:00"


@dataclass(frozen=True)
class Reading:
    r"""One answer of a living release: `value`, and `error` the half-width of a 95 % interval around it.

    >>> print(Reading("distinct", None, 9731.0, 402.0, "ids", "2026-01-01T00:00:00+00:00", Fraction(1)))
    9,731 ± 402 ids
    """

    question: str
    at: int | None
    value: float
    error: float
    text: str
    asked: str
    epsilon: Fraction
    conservative: bool = False

    def __str__(self) -> str:
        return f"{readable(self.value)} ± {readable(self.error)} {self.text}"

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON; the epsilon is an exact fraction in text."""
        return {
            "question": self.question,
            "at": self.at,
            "value": self.value,
            "error": self.error,
            "text": self.text,
            "asked": self.asked,
            "epsilon": str(self.epsilon),
            "conservative": self.conservative,
        }


class _Line(BaseModel):
    """A charge as it is written."""

    model_config = ConfigDict(extra="forbid", strict=True)

    label: str
    mechanism: str
    epsilon: str
    sensitivity: str = ""
    detail: str = ""

    @property
    def charge(self) -> Charge:
        return Charge(
            self.label, self.mechanism, Fraction(self.epsilon), Fraction(0), self.sensitivity, self.detail
        )


class _Answer(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    question: str
    at: int | None
    value: float
    error: float
    text: str
    asked: str
    epsilon: str
    conservative: bool = False


class Book(BaseModel):
    """Everything that is written about a stream besides its counters."""

    model_config = ConfigDict(extra="forbid", strict=True)

    penstock_stream: int = FORMAT
    sketch: str
    parameters: dict[str, Any]
    schema_yaml: str
    key: str
    epsilon: str
    answers: int
    epsilon_state: str
    epsilon_out: str
    drawn: int = 1
    opened: str
    closed: str | None = None
    publishable: bool = True
    ledger: str | None = None
    account: str | None = None
    holds_at_most: int | None = None
    entries: list[str] = []
    paid: list[_Line] = []
    readings: list[_Answer] = []
    own: list[int] = []

    @classmethod
    def read(cls, text: bytes, where: str) -> Book:
        """The book in a file that nobody vouches for."""
        if _version(text) not in (None, FORMAT):
            raise ReleaseError(f"'{where}' was written by another version of Penstock; use that one.")
        try:
            found = cls.model_validate_json(text)
            found.refuse_contradictions()
        except (ValueError, ZeroDivisionError, PenstockError, RecursionError):
            raise ReleaseError(f"'{where}' is not the state of a stream, or was changed by hand.") from None
        return found

    def refuse_contradictions(self) -> None:
        """Raise ValueError where the book cannot be one that was kept: what it may cost and what was paid.

        Nobody can tell a book that was changed with care from a true one. The ledger knows what was paid.
        """
        _ = self.receipt, self.setting, self.history
        ahead = any(line.label == AHEAD for line in self.paid)
        state, out = Fraction(self.epsilon_state), Fraction(self.epsilon_out)
        whole = state if ahead else state + self.answers * out
        drawn = [line for line in self.paid if line.label.startswith("state")]
        answers = [line for line in self.paid if not line.label.startswith("state")]
        if (
            whole != Fraction(self.epsilon)
            or not state > 0
            or not out > 0
            or not self.answers >= 1
            or not 0 <= int(self.key) < 1 << 128
            or [Fraction(line.epsilon) for line in drawn] != [state] * self.drawn
            or any(Fraction(line.epsilon) != out for line in answers)
            or (not ahead and len(self.readings) > len(answers))
            or self.spent > self.limit
        ):
            raise ValueError("the book contradicts itself")

    @property
    def described(self) -> Schema:
        return _described(self.schema_yaml)

    @property
    def setting(self) -> Setting:
        """What the sketch is told."""
        return _setting(self.schema_yaml, self.key, self.epsilon_state, self.drawn)

    @property
    def history(self) -> list[Reading]:
        """Every answer so far, the first first."""
        return [Reading(**{**line.model_dump(), "epsilon": Fraction(line.epsilon)}) for line in self.readings]

    @property
    def spent(self) -> Fraction:
        return sum((Fraction(line.epsilon) for line in self.paid), Fraction(0))

    @property
    def limit(self) -> Fraction:
        """What it may cost in all: as said when it was opened, and a state share for each time noise was
        drawn anew."""
        return Fraction(self.epsilon) + (self.drawn - 1) * Fraction(self.epsilon_state)

    @property
    def receipt(self) -> Receipt:
        """What was paid so far, of what may be."""
        schema = self.described
        return Receipt(
            budget_epsilon=self.limit,
            budget_delta=Fraction(0),
            relation=schema.relation,
            unit=Unit(protects=schema.unit.protects),
            paid=Together("release", tuple(line.charge for line in self.paid)),
            publishable=self.publishable,
            ledger=", ".join(self.entries) or None,
        )

    def with_charge(self, charge: Mapping[str, str] | Charge, **changed: Any) -> Book:
        """The book with one more line of what was paid."""
        facts = (
            dict(charge)
            if isinstance(charge, Mapping)
            else {
                "label": charge.label,
                "mechanism": charge.mechanism,
                "epsilon": str(charge.epsilon),
                "sensitivity": charge.sensitivity,
                "detail": charge.detail,
            }
        )
        return self.model_copy(update={"paid": [*self.paid, _Line(**facts)], **changed})

    def with_reading(self, reading: Reading) -> Book:
        """The book with one more answer."""
        return self.model_copy(update={"readings": [*self.readings, _Answer(**reading.to_dict())]})


def _version(text: bytes) -> object:
    """The version that a book says it has; None where it says none."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found.get("penstock_stream") if isinstance(found, dict) else None


@lru_cache(maxsize=16)
def _described(text: str) -> Schema:
    return Schema.from_yaml(text)


@lru_cache(maxsize=16)
def _setting(text: str, key: str, state: str, drawn: int) -> Setting:
    schema = _described(text)
    layout = StreamLayout.of(schema)
    return Setting(layout.ids, layout.most, schema.relation, int(key), Fraction(state), drawn)


def now() -> str:
    """The time of a line."""
    return datetime.now(UTC).strftime(NOW)
