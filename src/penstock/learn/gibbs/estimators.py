"""Gibbs learners as estimators of scikit-learn: rules of a schema, and predictors that somebody hands over.

Guarantee: pure epsilon for one row added or removed, or replaced.
Why: one of a finite list of predictors is drawn with probability proportional to prior exp(-lam risk), an
exponential mechanism over sums of losses, of which one row adds between 0 and 1 to each (`handed`). The list,
the prior and the loss are public: they must not have been learned from the rows.

Reference: D. J. Mir, "Differential privacy: an exploration of the privacy-utility landscape" (Rutgers 2013),
chapter 8.
"""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from penstock.contracts.method import Method
from penstock.errors import UsageError
from penstock.kinds.table.data import Table
from penstock.learn.estimators import Bounds, Seed, opened_budget
from penstock.learn.gibbs.energy import paid_bound
from penstock.learn.gibbs.handed import ONE, Answered, Loss, asked, by_themselves, wrong
from penstock.learn.gibbs.method import GibbsRule
from penstock.learn.linear.estimators import Book, PrivateLinearLabels
from penstock.privacy.budgets.amounts import Amount, exact
from penstock.privacy.ledger.ledger import Ledger
from penstock.privacy.mechanisms import choice
from penstock.privacy.unit import Relation, Unit
from penstock.schema import Schema

MOST_PREDICTORS = 1 << 16
MOST_WEIGHT = 1 << 40


class PrivateGibbsRule(PrivateLinearLabels):
    """The method `gibbs-rule` with scikit-learn's manners: one rule about a single column.

    Most parameters are those of `PrivateLogisticRegression`; `prior` is that of the method. A column is cut
    at fifteen places where no schema says otherwise.

    >>> rows = np.random.default_rng(0).uniform(-1, 1, (2000, 3))
    >>> model = PrivateGibbsRule(classes=(0, 1), bounds=(-1, 1), random_state=1).fit(rows, rows[:, 1] > 0)
    >>> model.predict([[0.0, 0.7, 0.0], [0.0, -0.7, 0.0]]).tolist()
    [1, 0]
    """

    _bins = 16

    def __init__(
        self,
        *,
        epsilon: Amount = 1,
        classes: Sequence[Any] | None = None,
        bounds: Bounds | None = None,
        schema: Schema | None = None,
        prior: Literal["columns", "rules"] = "columns",
        ledger: Book = None,
        account: str | None = None,
        random_state: Seed = None,
    ) -> None:
        self.epsilon = epsilon
        self.classes = classes
        self.bounds = bounds
        self.schema = schema
        self.prior = prior
        self.ledger = ledger
        self.account = account
        self.random_state = random_state

    def _method(self, target: str) -> Method[Table]:
        return GibbsRule(target=target, prior=self.prior)


class PrivateGibbs(BaseEstimator):  # type: ignore[misc]  # untyped library
    """One of a finite list of predictors, drawn so that those with a small risk are likely.

    Every call of `fit` spends `epsilon`. `predictors` is a public list of fitted estimators, or of functions
    from rows to answers: learned from other data, written down by hand, or taken from the literature, never
    learned from the rows at hand. `prior` weighs them by whole numbers from 1 on (None: all the same). `loss`
    is a function of an answer and the true one between 0 and 1 (None: whether they differ); true answers that
    are whole numbers reach it as int, whatever type `y` has.

    `relation` is `add-remove` or `replace`. With the latter the number of rows is public, and `bound` is the
    share of epsilon that buys Catoni's bound on the mean risk of predictors that are drawn so,
    `risk_at_most_`. The one that was drawn is `predictor_`, its place in the list `chosen_`, and what it cost
    `receipt_`.

    >>> rows = np.random.default_rng(0).uniform(-1, 1, (300, 1))
    >>> borders = [lambda rows, at=at: rows[:, 0] > at for at in (-0.8, -0.4, 0.0, 0.4, 0.8)]
    >>> model = PrivateGibbs(borders, random_state=1).fit(rows, rows[:, 0] > 0)
    >>> model.chosen_, model.predict([[0.1], [-0.3]]).tolist()
    (2, [True, False])
    >>> model.receipt_.epsilon
    Fraction(1, 1)
    """

    def __init__(
        self,
        predictors: Sequence[Any] = (),
        *,
        prior: Sequence[int] | None = None,
        loss: Loss | None = None,
        epsilon: Amount = 1,
        relation: Literal["add-remove", "replace"] = "add-remove",
        bound: Amount = 0,
        ledger: Ledger | str | PathLike[str] | None = None,
        account: str | None = None,
        random_state: Seed = None,
    ) -> None:
        self.predictors = predictors
        self.prior = prior
        self.loss = loss
        self.epsilon = epsilon
        self.relation = relation
        self.bound = bound
        self.ledger = ledger
        self.account = account
        self.random_state = random_state

    @property
    def delta(self) -> Amount:
        """None is needed: the guarantee is pure."""
        return 0

    def fit(self, X: Any, y: Any) -> Self:  # noqa: N803  # scikit-learn's name
        """Draw one of the predictors by what they answer of the rows; spends epsilon."""
        relation, base = self._refused()
        values, _ = validate_data(self, X, y, reset=True, dtype=np.float64)
        truth = by_themselves(y)
        budget, _ = opened_budget(self, Unit(), relation)
        budget.ready(relation)
        predictors = list(self.predictors)
        scores = Answered(values, truth, relation).right(predictors, self.loss or wrong)
        share, for_draw = exact(self.bound, "bound"), budget
        if share:
            for_draw, for_bound = budget.split(draw=1 - share, bound=share)
            self.risk_at_most_ = paid_bound(scores, base, len(values), ONE, for_draw.left[0], for_bound)
        self.chosen_ = choice.best(scores, pay=for_draw, method="exponential", base=base)
        self.predictor_ = predictors[self.chosen_]
        self.receipt_ = budget.receipt(Unit(), relation)
        budget.complete(f"{type(self).__name__}, not saved")
        return self

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """What the drawn predictor answers; it costs nothing."""
        check_is_fitted(self)
        return np.asarray(asked(self.predictor_, validate_data(self, X, reset=False, dtype=np.float64)))

    def _refused(self) -> tuple[Relation, NDArray[np.int64]]:
        """Refuse what cannot work; the relation, and the prior as whole numbers."""
        predictors = self.predictors
        if not hasattr(predictors, "__len__") or not 1 <= len(predictors) <= MOST_PREDICTORS:
            raise UsageError(
                f"predictors must be a list of 1 to {MOST_PREDICTORS:,}, declared without the rows. "
                "Nothing was spent."
            )
        if any(not callable(getattr(each, "predict", each)) for each in predictors):
            raise UsageError(
                "Every predictor must be a fitted estimator or a function of rows. Nothing was spent."
            )
        if self.loss is not None and not callable(self.loss):
            raise UsageError("loss must be a function of an answer and the true one. Nothing was spent.")
        base = [1] * len(predictors) if self.prior is None else list(self.prior)
        whole = all(isinstance(each, int | np.integer) and 1 <= each <= MOST_WEIGHT for each in base)
        if len(base) != len(predictors) or not whole:
            raise UsageError(
                "prior must have a whole number from 1 on for each predictor. Nothing was spent."
            )
        try:
            relation = Relation(self.relation)
        except ValueError:
            raise UsageError("relation must be 'add-remove' or 'replace'. Nothing was spent.") from None
        share = exact(self.bound, "bound")
        if not 0 <= share < 1 or (share and relation is not Relation.REPLACE):
            raise UsageError(
                "bound must be a share of epsilon below 1, and needs relation='replace', where the number of "
                "rows is public. Nothing was spent."
            )
        return relation, np.array(base, dtype=np.int64)
