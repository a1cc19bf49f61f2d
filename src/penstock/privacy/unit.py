"""Whose presence is protected, and against which change.

A differential privacy guarantee compares two datasets that differ in one *unit*. The unit and
the *relation* between the two datasets are public facts chosen by the custodian, and they
decide every sensitivity that follows.
"""

from enum import StrEnum
from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, model_validator


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

    >>> Unit(protects="user", column="patient_id", at_most=3).words
    'one user (patient_id), who contributes at most 3 records'
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    protects: Literal["record", "user", "sequence", "edge", "node"] = "record"
    column: str | None = None
    at_most: int | None = None
    review: bool = False

    @model_validator(mode="after")
    def _user_has_column_and_bound(self) -> Self:
        if self.protects == "user":
            if self.column is None:
                raise ValueError("unit: protects 'user' needs 'column', the field that identifies a user")
            if self.at_most is None or self.at_most < 1:
                raise ValueError(
                    "unit: protects 'user' needs 'at_most', the largest number of records "
                    "one user may contribute (1 or more)"
                )
        elif self.protects == "edge" and self.column is None:
            if self.at_most is not None and self.at_most < 1:
                raise ValueError("unit: 'at_most' is the number of edges protected together, 1 or more")
        elif self.column is not None or self.at_most is not None:
            raise ValueError(
                f"unit: 'column' and 'at_most' belong to 'protects: user', not to '{self.protects}'"
            )
        return self

    @property
    def records(self) -> int:
        """The largest number of records that one unit contributes."""
        return self.at_most or 1

    @property
    def words(self) -> str:
        if self.protects == "user":
            plural = "record" if self.at_most == 1 else "records"
            return f"one user ({self.column}), who contributes at most {self.at_most} {plural}"
        if self.records > 1:
            return f"any {self.at_most} {self.protects}s together, such as all those of one person"
        return f"one {self.protects}"
