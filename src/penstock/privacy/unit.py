"""Whose presence is protected, and against which change.

A differential privacy guarantee compares two datasets that differ in one *unit*. The unit and
the *relation* between the two datasets are public facts chosen by the custodian, and they
decide every sensitivity that follows.
"""

from enum import StrEnum
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, StringConstraints, model_validator


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


class Unit(BaseModel):
    """The entity whose presence the guarantee hides.

    Which words `protects` may be, and which of them have a `column` and a bound, is a fact about kinds of
    data, and a schema is held to it.

    >>> Unit(protects="user", column="patient_id", at_most=3).words
    'one user (patient_id), who contributes at most 3 records'
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    protects: Annotated[str, StringConstraints(pattern=r"^[a-z][a-z -]{0,39}$")] = "record"
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
    def words(self) -> str:
        if self.column is not None:
            plural = "record" if self.at_most == 1 else "records"
            return f"one {self.protects} ({self.column}), who contributes at most {self.at_most} {plural}"
        if self.records > 1:
            return f"any {self.at_most} {self.protects}s together, such as all those of one person"
        return f"one {self.protects}"
