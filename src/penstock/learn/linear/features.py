"""How a record becomes numbers: the features of the predictors, and the response. All of it is public.

A record is seen as its codes, as everywhere in the house. Each predictor is looked up by itself:

* a column of two codes becomes one number, -1 or 1; one of more codes a number of 0 or 1 for each code
  (missing and other values are codes like any other);
* a range becomes the middle of the bin, scaled by the declared bounds to -1 ... 1; a missing value, or one
  outside the bounds where that is a code, is 0 there and 1 in a number of its own.

In front stands a 1, so that the intercept is a weight like the others, and regularised like them. Then
everything is divided by one public number, the longest that such a vector can be, so that the Euclidean norm
of every possible record is at most 1, and rounded towards 0 to whole steps of 2**-14. So features are whole
numbers of steps, sums of them and of their products are exact, and no norm is larger than stated.

Nothing is read off the records: not a bound, not a mean, not which categories occur.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import isqrt, sqrt
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from penstock.errors import UsageError
from penstock.kinds.table.rows import CodedRows
from penstock.schema import Schema

Reals = NDArray[np.float64]
Numbers = NDArray[np.int64]
Task = Literal["labels", "numbers"]

FEATURE_BITS = 14
STEPS = 1 << FEATURE_BITS
"""So many steps are 1."""
MOST_FEATURES = 1024
AT_ONCE = 1 << 16
"""Rows whose features are held at a time, where those of all are too many."""
HELD = 1 << 26
"""So many features are held at once."""
ROUNDING = 1 - 2.0**-40
"""A little less than 1, so that rounding in the scaling of features cannot make them longer than 1."""


@dataclass(frozen=True, eq=False)
class Features:
    """The numbers that stand for the predictors: a table for each of them, with a row for each code.

    `lookups` are in steps; `labels` name the features, the first of which is the intercept.

    >>> schema = Schema.from_yaml('''
    ... fields:
    ...   - {name: smoker, type: boolean}
    ...   - {name: colour, constraints: {enum: [red, green, blue]}}
    ...   - {name: age, type: integer, constraints: {minimum: 0, maximum: 99}, bins: {count: 4}}
    ... ''')
    >>> features = Features.of(schema, "smoker")
    >>> features.labels
    ('(intercept)', 'colour: red', 'colour: green', 'colour: blue', 'age')
    >>> features.longest <= 1, float(features.sum_bound)
    (True, 1.71875)
    """

    names: tuple[str, ...]
    lookups: tuple[Numbers, ...]
    labels: tuple[str, ...]
    constant: int

    @classmethod
    def of(cls, schema: Schema, target: str) -> Features:
        """The features of every column but the target, in the schema's order."""
        names = tuple(name for name in schema.names if name != target)
        plain = [_plain(schema, name) for name in names]
        squares = 1.0 + sum(float((table**2).sum(axis=1).max()) for table, _ in plain)
        scale = STEPS / sqrt(squares) * ROUNDING
        return cls(
            names,
            tuple(np.trunc(table * scale).astype(np.int64) for table, _ in plain),
            ("(intercept)", *(label for _, labels in plain for label in labels)),
            int(scale),
        )

    @property
    def number(self) -> int:
        """How many features there are, with the intercept."""
        return len(self.labels)

    @cached_property
    def widths(self) -> tuple[int, ...]:
        """How many features each predictor has."""
        return tuple(table.shape[1] for table in self.lookups)

    @cached_property
    def sum_bound(self) -> Fraction:
        """The largest sum of absolute features that a record can have (L1)."""
        most = sum(int(np.abs(table).sum(axis=1).max()) for table in self.lookups)
        return Fraction(self.constant + most, STEPS)

    @cached_property
    def largest(self) -> Fraction:
        """The largest absolute value that a feature can have."""
        most = max((int(np.abs(table).max()) for table in self.lookups), default=0)
        return Fraction(max(self.constant, most), STEPS)

    @cached_property
    def longest(self) -> Fraction:
        """The longest that the features of a record can be, squared (L2); 1 at most."""
        most = sum(int((table**2).sum(axis=1).max()) for table in self.lookups)
        return Fraction(self.constant**2 + most, STEPS**2)

    def steps(self, codes: Sequence[NDArray[np.integer]], rows: int) -> Reals:
        """The features of so many coded rows, in steps, as doubles: whole numbers, column by column."""
        found = np.empty((rows, self.number), order="F")
        found[:, 0] = self.constant
        place = 1
        for table, column in zip(self.lookups, codes, strict=True):
            doubles = table.astype(np.float64)
            for along in range(table.shape[1]):
                np.take(doubles[:, along], column, out=found[:, place])
                place += 1
        return found

    def effects(self, weights: Reals) -> list[Reals]:
        """What each code of each predictor adds to the answer: a row for each code, a column for each answer.

        `weights` has a row for each feature, for features between -1 and 1.
        """
        found, place = [], 1
        for table, width in zip(self.lookups, self.widths, strict=True):
            found.append(table @ weights[place : place + width] / STEPS)
            place += width
        return found

    def intercepts(self, weights: Reals) -> Reals:
        """What every record is given."""
        given: Reals = weights[0] * (self.constant / STEPS)
        return given


def _plain(schema: Schema, name: str) -> tuple[Reals, list[str]]:
    """The features of each code of one predictor, before they are scaled, each block of norm 1 at most."""
    field, attribute = schema.field(name), schema.attribute(name)
    if not field.ranged:
        if attribute.size == 2:
            return np.array([[-1.0], [1.0]]), [f"{name}: {attribute.labels[1]}"]
        if attribute.size == 1:
            return np.zeros((1, 0)), []
        return np.eye(attribute.size), [f"{name}: {label}" for label in attribute.labels]
    middles = scaled_middles(schema, name)
    extra = attribute.size - attribute.regular
    table = np.zeros((attribute.size, 1 + extra))
    table[: attribute.regular, 0] = middles
    table[attribute.regular :, 1:] = np.eye(extra)
    return table, [name, *(f"{name}: {label}" for label in attribute.labels[attribute.regular :])]


def scaled_middles(schema: Schema, name: str) -> Reals:
    """The middle of each bin of a range, from -1 to 1 between its bounds; 0 where these are equal."""
    edges = schema.field(name).edges
    spans = np.array([edges.span(code) for code in range(edges.count)], dtype=np.float64)
    middles = spans[:, 0] / 2 + spans[:, 1] / 2
    width = edges.high - edges.low
    if width <= 0:
        return np.zeros(len(middles))
    return np.clip(2 * (middles - edges.low) / width - 1, -1.0, 1.0)


@dataclass(frozen=True, eq=False)
class Problem:
    """What is to be predicted from what: public, and the same on every neighbour of the records.

    `values` are, for numbers, what each code of the target stands for, in steps of -1 ... 1. A record whose
    target has no number is left out, which the record alone decides.
    """

    schema: Schema
    target: str
    task: Task
    features: Features
    values: Numbers

    @classmethod
    def of(cls, schema: Schema, target: str) -> Problem:
        """The problem of predicting a column: labels of categories, numbers of a range."""
        features = Features.of(schema, target)
        if not schema.field(target).ranged:
            return cls(schema, target, "labels", features, np.zeros(0, dtype=np.int64))
        values = np.trunc(scaled_middles(schema, target) * STEPS).astype(np.int64)
        attribute = schema.attribute(target)
        without = np.zeros(attribute.size - attribute.regular, dtype=np.int64)
        return cls(schema, target, "numbers", features, np.concatenate([values, without]))

    @property
    def classes(self) -> int:
        """How many labels there are."""
        return self.schema.attribute(self.target).size

    @property
    def answers(self) -> int:
        """How many numbers are predicted: one for two labels or a number, else one for each label."""
        return 1 if self.task == "numbers" or self.classes == 2 else self.classes

    def examples(self, rows: CodedRows) -> Examples:
        """The records as features and responses; raw, and only called below the seal."""
        found = rows.kept.get(self.target)
        if not isinstance(found, Examples) or found.problem is not self:
            found = rows.kept[self.target] = Examples(self, rows)
        return found


class Examples:
    """Raw: features and responses of the records, as far as a problem looks at them."""

    def __init__(self, problem: Problem, rows: CodedRows) -> None:
        self.problem, self._rows = problem, rows
        self._columns = [rows.codes[name] for name in problem.features.names]
        self.codes = rows.codes[problem.target]
        self.counts = rows.weights  # whole numbers, of which doubles hold those below 2**53 only
        self.weights = None if rows.weights is None else rows.weights.astype(np.float64)
        regular = problem.schema.attribute(problem.target).regular
        if problem.task == "numbers" and regular < len(problem.values):
            numbered = (self.codes < regular).astype(np.float64)
            self.weights = numbered if self.weights is None else self.weights * numbered
        self._held = rows.length * problem.features.number <= HELD

    @property
    def length(self) -> int:
        """Rows, each of which may stand for several records."""
        return self._rows.length

    def thinned(self, every: int) -> Examples:
        """One row of so many, each standing for as many more."""
        rows = self._rows
        codes = {name: column[::every] for name, column in rows.codes.items()}
        length = len(range(0, rows.length, every))
        weights = np.ones(length, dtype=np.int64) if rows.weights is None else rows.weights[::every]
        return Examples(self.problem, CodedRows(codes, weights * every, length))

    def signs(self, answer: int) -> Reals:
        """1 for records of a label and -1 for the others; with two labels the second counts as 1."""
        label = 1 if self.problem.answers == 1 else answer
        return np.where(self.codes == label, 1.0, -1.0)

    def responses(self, here: slice = slice(None)) -> Reals:
        """The number of each row, in steps; for labels 1 (or -1) in the column of the label, in steps."""
        problem, codes = self.problem, self.codes[here]
        if problem.task == "numbers":
            return np.asarray(problem.values[codes][:, None], dtype=np.float64)
        if problem.answers == 1:
            return np.asarray(np.where(codes == 1, float(STEPS), float(-STEPS))[:, None])
        return np.asarray(np.eye(problem.answers)[codes] * STEPS)

    @cached_property
    def _all(self) -> Reals:
        return self.problem.features.steps(self._columns, self.length)

    def parts(self) -> Iterator[tuple[slice, Reals]]:
        """The features of all rows in steps, some rows at a time, and which rows these are."""
        size = max(1, AT_ONCE)
        for begin in range(0, self.length, size):
            here = slice(begin, min(begin + size, self.length))
            if self._held:
                yield here, self._all[here]
            else:
                columns = [column[here] for column in self._columns]
                yield here, self.problem.features.steps(columns, here.stop - here.start)

    def margins(self, weights: Reals) -> Reals:
        """The product of every row's features with some weights (or with each column of weights)."""
        found = np.empty((self.length, *weights.shape[1:]))
        for here, steps in self.parts():
            found[here] = steps @ weights
        return found / STEPS


def target_column(schema: Schema, stated: str | None, task: Task) -> str:
    """The column to be predicted: the one that is stated, or else that of the schema.

    Labels are those of a column of categories; numbers are those of a range of plain numbers. Both are
    public, and checked before anything is spent.
    """
    target = schema.target if stated is None else stated
    if target is None:
        raise UsageError("Say which column is to be predicted: target=... Nothing was spent.")
    if target not in schema.names:
        raise UsageError(f"target must be a column of the table, not '{target}'. Nothing was spent.")
    field = schema.field(target)
    if task == "labels":
        if field.ranged:
            raise UsageError(
                f"target must be a column of categories, and '{target}' is a range; declare its values as an "
                "enum, or learn its numbers with a method of regression. Nothing was spent."
            )
        if schema.attribute(target).size < 2:
            raise UsageError(f"target '{target}' has one value only, so it is known. Nothing was spent.")
    else:
        if field.type not in ("integer", "number") or not field.ranged:
            raise UsageError(
                f"target must be a range of numbers with declared bounds, and '{target}' is none; for labels "
                "use a classifier. Nothing was spent."
            )
    if sum(_features_of(schema, name) for name in schema.names if name != target) >= MOST_FEATURES:
        raise UsageError(
            f"The other columns have more than {MOST_FEATURES:,} features together; leave columns with many "
            "categories out of the schema. Nothing was spent."
        )
    return target


def _features_of(schema: Schema, name: str) -> int:
    """How many features a column has."""
    attribute = schema.attribute(name)
    if schema.field(name).ranged:
        return 1 + attribute.size - attribute.regular
    return attribute.size if attribute.size > 2 else attribute.size - 1


def up(number: Fraction, bits: int = 40) -> Fraction:
    """A fraction of a power of two that is not below the number and next to nothing above it.

    >>> up(Fraction(1, 3)) >= Fraction(1, 3)
    True
    """
    return Fraction(-((-number.numerator << bits) // number.denominator), 1 << bits)


def root(number: Fraction, bits: int = 40) -> Fraction:
    """A fraction of a power of two that is not below the square root.

    >>> root(Fraction(4)), root(Fraction(2)) ** 2 >= 2
    (Fraction(2, 1), True)
    """
    scaled = -((-number.numerator << (2 * bits)) // number.denominator)
    below = isqrt(scaled)
    return Fraction(below if below * below == scaled else below + 1, 1 << bits)
