"""Whose presence is protected, and against which change.

A differential privacy guarantee compares two datasets that differ in one *unit*. The unit and
the *relation* between the two datasets are public facts chosen by the custodian, and they
decide every sensitivity that follows.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, StringConstraints, model_validator

_WORD = r"[a-z][a-z -]{0,39}"


class Relation(StrEnum):
    """How two neighbouring datasets differ.

    >>> Relation("add-remove").words
    'one unit added or removed'
    """

    ADD_REMOVE = "add-remove"
    REPLACE = "replace"

    @property
    def words(self) -> str:
        return "one unit added or removed" if self is Relation.ADD_REMOVE else "one unit replaced by another"


@dataclass(frozen=True)
class Entity:
    """Whose presence a guarantee hides, whatever the bound on what they contribute.

    Two amounts can be added up only when they are about the same entity: users told apart by one column are
    other entities than users told apart by another.

    >>> Entity.named("user:patient_id").words
    'one user (patient_id)'
    """

    protects: str
    column: str | None = None

    @classmethod
    def named(cls, text: str) -> Entity:
        """The entity behind its `name`; ValueError where there is none."""
        protects, colon, column = text.partition(":")
        if not re.fullmatch(_WORD, protects) or (colon and not column.strip()):
            raise ValueError(f"a unit is a word such as record, or user:COLUMN, not '{text:.80}'")
        return cls(protects, column if colon else None)

    @property
    def name(self) -> str:
        """One word, as it is written on the command line and in ledgers."""
        return self.protects if self.column is None else f"{self.protects}:{self.column}"

    @property
    def words(self) -> str:
        return f"one {self.protects}" + ("" if self.column is None else f" ({self.column})")

    def can_hold(self, other: Entity) -> bool:
        """Whether so many of the other can be said to stand in the rows of one of these.

        That is so for an entity that a column tells apart, as users are: it gathers whatever stands in its
        rows. Never the other way round: a record is no place for users, and of how many records a user has
        nothing follows about what protects users.
        """
        return self == other or self.column is not None

    def group(self, other: Entity, held: int) -> int:
        """How many steps of add-remove, of one whole `other` each, one of these is that has a part in `held`.

        Without one of these, all its rows are gone. What that does to the others depends on what they are:

        - A record, or another entity that no column tells apart, stands in one row or is one line of the
          data. It is gone with its row, and never changed: one step each.
        - An entity that another column tells apart, as hospitals are beside patients, may have rows of many.
          Without one patient, the patient's hospitals are still there, each with other records: the hospital
          as it was is removed, and the hospital as it is now is added, two steps each. Counted in records it
          is the same: where each hospital brings a sample of at most n of its records, n of them may leave
          and n others take their place, 2n records, and one step pays for n.
        - Entities that the same column tells apart gather the same rows, whatever they are called: each is
          gone whole, one step.

        So a group of `held` that are only touched costs as much as 2 `held` that are gone. That all of them
        are always whole (the persons of a household) is nothing that this can see, so it is not assumed.

        >>> patient = Entity.named("user:patient")
        >>> patient.group(Entity.named("record"), 40), patient.group(Entity.named("user:hospital"), 3)
        (40, 6)
        """
        return held if other.column is None or self.column == other.column else 2 * held


class Unit(BaseModel):
    """The entity whose presence the guarantee hides.

    Which words `protects` may be, and which of them have a `column` and a bound, is a fact about kinds of
    data, and a schema is held to it.

    >>> Unit(protects="user", column="patient_id", at_most=3).words
    'one user (patient_id), who contributes at most 3 records'
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    protects: Annotated[str, StringConstraints(pattern=f"^{_WORD}$")] = "record"
    column: str | None = None
    at_most: int | None = None
    review: bool = False

    @model_validator(mode="after")
    def _a_column_has_a_bound(self) -> Self:
        if self.column is not None and self.at_most is None:
            raise ValueError(
                f"unit: protects '{self.protects}' needs 'at_most', the largest number of records "
                f"one {self.protects} may contribute (1 or more)"
            )
        if self.at_most is not None and self.at_most < 1:
            raise ValueError(f"unit: 'at_most' is {self.at_most}; it is a whole number from 1 on")
        return self

    @property
    def records(self) -> int:
        """The largest number of records that one unit contributes."""
        return self.at_most or 1

    @property
    def entity(self) -> Entity:
        """Whom it protects, without the bound."""
        return Entity(self.protects, self.column)

    @property
    def words(self) -> str:
        if self.column is not None:
            plural = "record" if self.at_most == 1 else "records"
            return f"one {self.protects} ({self.column}), who contributes at most {self.at_most} {plural}"
        if self.records > 1:
            return f"any {self.at_most} {self.protects}s together, such as all those of one person"
        return f"one {self.protects}"
