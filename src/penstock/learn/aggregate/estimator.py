"""Any estimator of scikit-learn, made private from outside.

Guarantee: pure epsilon for one row added or removed, or replaced.
Why: rows are put into disjoint blocks by public chance, so that one row is in one block. An estimator is
fitted to each block without noise, and each number that it learned is moved into a public range. One row
moves the sum of a number over all blocks by the length of the range at most, and the noise of the sums is
made for all numbers together. How many blocks there are is public, or follows from a noisy number of rows.

What the estimator learns in a block may depend on the block in whatever way: an error, a warning, a number
that is none, a shape that is another than usual and, with a limit on time, no answer at all are the middle of
the range, and nobody hears of them.

Reference: K. Nissim, S. Raskhodnikova and A. Smith, "Smooth sensitivity and sampling in private data
analysis" (STOC 2007); P. Mohan, A. Thakurta, E. Shi, D. Song and D. Culler, "GUPT: privacy preserving data
analysis made easy" (SIGMOD 2012).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from os import PathLike
from pickle import PicklingError
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin, clone, is_classifier
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from penstock.errors import UsageError
from penstock.learn.aggregate.blocks import REACH, Blocks
from penstock.learn.estimators import Seed, opened_budget
from penstock.learn.search.rounds import about_how_many
from penstock.learn.strangers import answer, within
from penstock.privacy.budgets.amounts import Amount
from penstock.privacy.ledger.ledger import Ledger
from penstock.privacy.mechanisms import noise
from penstock.privacy.unit import Relation, Unit

Reals = NDArray[np.float64]
Shapes = tuple[tuple[int, ...], ...]

LONGEST = 86_400
"""No block has more seconds than a day."""
POWER = 0.4
MOST_BLOCKS = 100_000
MADE_UP = 64


class SampleAndAggregate(MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]  # untyped library
    """An estimator that is fitted to blocks of the rows, and whose noisy mean is what was learned.

    Every call of `fit` spends `epsilon`. `estimator` is any of scikit-learn's, and `attributes` are those of
    its fitted attributes that are averaged: arrays whose shapes do not depend on the rows. `output_bounds`
    is their public range, one pair (low, high) for all of their numbers or one for each attribute: the noise
    grows with it, and with how many numbers there are. `blocks` is the number of blocks (None: n**0.4).

    For a classifier, `classes` lists the labels there may be. `relation` is `add-remove` or `replace`; with
    the latter, or with a `size`, the number of rows is public. With `rows_in_order` the rows of the only
    attribute are sorted before they are averaged, as centres of clusters must be.

    With `seconds` each block has a process of its own, which is ended when that time is over: a block that
    hangs, dies or fails counts as the middle of the range, and none can leave anything behind for the next.
    Without, blocks are fitted in this process, which is faster, and one that hangs is waited for.

    It works where an estimator finds in a block what it would find in all rows; the shapes of the attributes
    are found on made-up rows. What was learned is `estimator_`, and what it cost is `receipt_`.

    >>> from sklearn.linear_model import LinearRegression
    >>> rows = np.random.default_rng(0).uniform(-1, 1, (20_000, 1))
    >>> model = SampleAndAggregate(LinearRegression(), output_bounds=(-2, 2), blocks=1000, random_state=1)
    >>> model = model.fit(rows, rows[:, 0] + 0.5)
    >>> [round(float(number), 1) for number in (model.coef_[0], model.intercept_)]
    [1.0, 0.5]
    >>> model.receipt_.epsilon
    Fraction(1, 1)
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        attributes: Sequence[str] = ("coef_", "intercept_"),
        output_bounds: tuple[float, float] | Sequence[tuple[float, float]] = (-1.0, 1.0),
        blocks: int | None = None,
        rows_in_order: bool = False,
        seconds: float | None = None,
        epsilon: Amount = 1,
        classes: Sequence[Any] | None = None,
        relation: Literal["add-remove", "replace"] = "add-remove",
        size: int | None = None,
        ledger: Ledger | str | PathLike[str] | None = None,
        account: str | None = None,
        random_state: Seed = None,
    ) -> None:
        self.estimator = estimator
        self.attributes = attributes
        self.output_bounds = output_bounds
        self.blocks = blocks
        self.rows_in_order = rows_in_order
        self.seconds = seconds
        self.epsilon = epsilon
        self.classes = classes
        self.relation = relation
        self.size = size
        self.ledger = ledger
        self.account = account
        self.random_state = random_state

    @property
    def delta(self) -> Amount:
        """None is needed: the guarantee is pure."""
        return 0

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: N803  # scikit-learn's name
        """Learn from the rows, block by block; spends epsilon."""
        relation = self._refused()
        values, answers = self._checked(X, y)
        template = self._made_up(values.shape[1], answers is not None)
        low, high = self._ranges(template)
        shapes = tuple(np.shape(learned(template, name)) for name in self.attributes)
        self._refuse_unsendable(shapes, values.shape[1], answers is not None)
        budget, _ = opened_budget(self, Unit(), relation)
        budget.ready(relation)
        records = Blocks(values if answers is None else np.column_stack([values, answers[1]]), relation)
        many, rest = self.blocks, budget
        if many is None:
            public = len(values) if relation is Relation.REPLACE else self.size
            n, rest = about_how_many(public, records.size, budget)
            many = min(MOST_BLOCKS, max(1, int(n**POWER + 1e-9)))
        middle, half = (low + high) / 2, (high - low) / 2

        def analysed(rows: NDArray[np.intp]) -> Reals:
            found = self._found(values[rows], None if answers is None else answers[0][rows], shapes)
            return np.full(len(middle), np.nan) if found is None else (found - middle) / half

        chance = rest.randomness.spawn("blocks")
        noisy = noise.counts(records.sums(many, len(middle), analysed, chance), pay=rest)
        means = np.clip(middle + half * noisy / (many * REACH), low, high)
        self.estimator_, self.blocks_ = self._filled(template, means), many
        self.receipt_ = budget.receipt(Unit(), relation)
        budget.complete(f"{type(self).__name__}, not saved")
        return self

    def predict(self, X: Any) -> Any:  # noqa: N803
        """What the averaged estimator predicts; it costs nothing."""
        check_is_fitted(self)
        return self.estimator_.predict(validate_data(self, X, reset=False, dtype=np.float64))

    def __getattr__(self, name: str) -> Any:
        """The averaged attributes, by their own names."""
        if name in vars(self).get("attributes", ()) and "estimator_" in vars(self):
            return learned(self.estimator_, name)
        raise AttributeError(f"'{type(self).__name__}' has no attribute '{name}'")

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "estimator_")

    def _refused(self) -> Relation:
        """Refuse what cannot work; the relation."""
        if self.estimator is None or not hasattr(self.estimator, "fit"):
            raise UsageError("estimator must be an estimator of scikit-learn. Nothing was spent.")
        if not self.attributes or isinstance(self.attributes, str):
            raise UsageError("attributes must list what is to be averaged: ('coef_',). Nothing was spent.")
        if self.seconds is not None and not (_is_number(self.seconds) and 0 < self.seconds <= LONGEST):
            raise UsageError(
                f"seconds must be a number above 0 and at most {LONGEST}, not {self.seconds!r}. "
                "Nothing was spent."
            )
        if self.rows_in_order and len(self.attributes) > 1:
            raise UsageError("With rows_in_order there can be one attribute only. Nothing was spent.")
        for name, given, most in (("blocks", self.blocks, MOST_BLOCKS), ("size", self.size, 10**12)):
            whole = isinstance(given, int) and not isinstance(given, bool)
            if given is not None and not (whole and 1 <= given <= most):
                raise UsageError(
                    f"{name} must be a whole number from 1 to {most:,}, not {given!r}. Nothing was spent."
                )
        try:
            return Relation(self.relation)
        except ValueError:
            raise UsageError("relation must be 'add-remove' or 'replace'. Nothing was spent.") from None

    def _checked(self, X: Any, y: Any) -> tuple[Reals, tuple[NDArray[Any], Reals] | None]:  # noqa: N803
        """The rows as numbers, and their answers: as they are, and as numbers."""
        if y is None:
            return validate_data(self, X, reset=True, dtype=np.float64), None
        values, _ = validate_data(self, X, y, reset=True, dtype=np.float64)
        given = column_or_1d(y)
        if not is_classifier(self.estimator):
            numbers = given.astype(np.float64)  # what tells rows apart is what is learned from
            return values, (numbers, numbers)
        if self.classes is None or len(set(self.classes)) < 2:
            raise UsageError(
                "Labels are public facts: list them all in 'classes', at least two. Nothing was spent."
            )
        labels = np.unique(np.asarray(self.classes))
        codes = np.full(len(given), np.nan)
        for place, label in enumerate(labels.tolist()):
            codes[np.asarray(given == label)] = place
        if np.isnan(codes).any():
            raise UsageError("y holds a label that 'classes' does not list. Nothing was spent.")
        return values, (labels[codes.astype(np.intp)], codes)  # as declared, whatever type y's others give it

    def _rows_of_nobody(self, columns: int, answered: bool) -> tuple[Reals, Any]:
        """Rows that nobody is behind, and answers to them."""
        rng = np.random.default_rng(0)
        rows = rng.uniform(-1, 1, (max(MADE_UP, 4 * columns), columns))
        answers: Any = rows.sum(axis=1) + rng.normal(size=len(rows)) if answered else None
        if answered and is_classifier(self.estimator):
            answers = np.unique(np.asarray(self.classes))[np.arange(len(rows)) % len(set(self.classes or ()))]
        return rows, answers

    def _made_up(self, columns: int, answered: bool) -> Any:
        """The estimator, fitted to rows that nobody is behind: the shapes of what it learns are public."""
        rows, answers = self._rows_of_nobody(columns, answered)
        found = answer(lambda: fitted(self.estimator, rows, answers))
        if found is None or any(
            not np.issubdtype(np.asarray(learned(found, name)).dtype, np.number) for name in self.attributes
        ):
            raise UsageError(
                f"The estimator could not be fitted to made-up rows, or has then no numbers in "
                f"{', '.join(map(str, self.attributes))}. Try it on rows between -1 and 1. Nothing was spent."
            )
        return found

    def _refuse_unsendable(self, shapes: Shapes, columns: int, answered: bool) -> None:
        """Refuse an estimator that learns nothing from made-up rows in a process of its own."""
        if self.seconds is None:
            return
        try:
            found = self._found(*self._rows_of_nobody(columns, answered), shapes)
        except (PicklingError, AttributeError, TypeError):
            found = None
        if found is None:
            raise UsageError(
                "The estimator did not learn from made-up rows in a process of its own within "
                f"{self.seconds} seconds: allow more, define it in a module that can be imported, and start "
                "a script below 'if __name__ == \"__main__\":'. Nothing was spent."
            )

    def _ranges(self, template: Any) -> tuple[Reals, Reals]:
        """The public range of every number that is averaged."""
        sizes = [np.asarray(learned(template, name)).size for name in self.attributes]
        try:
            given = np.asarray(self.output_bounds, dtype=np.float64)
            pairs = np.broadcast_to(given, (len(sizes), 2)) if given.ndim == 1 else given
            low, high = (np.repeat(pairs[:, side], sizes) for side in range(2))
            sound = bool(np.isfinite(pairs).all() and (low < high).all())
        except (TypeError, ValueError, IndexError):
            sound = False
        if not sound:
            raise UsageError(
                "output_bounds must be two finite numbers, the smaller first, or a pair for each attribute. "
                "Nothing was spent."
            )
        return low, high

    def _found(self, rows: Reals, answers: Any, shapes: Shapes) -> Reals | None:
        """What the estimator learned from a block, number by number; None where it is not like others."""
        asked = (self.estimator, tuple(self.attributes), shapes, self.rows_in_order, rows, answers)
        if self.seconds is None:
            found: Reals | None = answer(lambda: analysed(*asked))
        else:
            found = within(float(self.seconds), analysed, *asked)
        return found if found is not None and found.size == sum(map(prod, shapes)) else None

    def _filled(self, template: Any, means: Reals) -> Any:
        """The estimator that was fitted to made-up rows, with the noisy means in place of what it learned."""
        begin = 0
        for name in self.attributes:
            was = learned(template, name)
            shape = np.shape(was)
            size = int(np.prod(shape, dtype=np.int64))
            now = means[begin : begin + size].reshape(shape)
            setattr(template, name, now if isinstance(was, np.ndarray) else float(now))
            begin += size
        return template


def fitted(estimator: Any, rows: Reals, answers: Any) -> Any:
    """A copy of an estimator that has learned from rows, with the same chance as all others."""
    copy = clone(estimator)
    seeds = [name for name in copy.get_params() if name.split("__")[-1] == "random_state"]
    copy.set_params(**dict.fromkeys(seeds, 0))
    return copy.fit(rows) if answers is None else copy.fit(rows, answers)


def analysed(
    estimator: Any, attributes: tuple[str, ...], shapes: Shapes, in_order: bool, rows: Reals, answers: Any
) -> Reals | None:
    """What an estimator learns from rows, number by number; None where the shapes are not these."""
    model = fitted(estimator, rows, answers)
    parts = [np.asarray(learned(model, name), dtype=np.float64) for name in attributes]
    if [part.shape for part in parts] != list(shapes):
        return None
    if in_order and parts[0].ndim == 2:
        parts[0] = parts[0][np.lexsort(parts[0].T[::-1])]
    return np.concatenate([part.ravel() for part in parts])


def learned(estimator: Any, name: str) -> Any:
    """What somebody else's estimator learned; None where it has no such thing."""
    return getattr(estimator, name, None)


def _is_number(given: object) -> bool:
    return isinstance(given, int | float) and not isinstance(given, bool)
