"""What all scikit-learn estimators of this house share: public bounds, a budget, and the release behind them.

An estimator is a method with scikit-learn's manners: parameters in the constructor, `fit`, attributes with a
trailing underscore. What it learned is a release like any other, in `release_`: save it, look at its receipt.

Two things differ from other estimators, because privacy needs them. The range of every column is a public
fact that somebody declares, in `bounds` or in a `schema`; it is never read off the data. And fitting costs:
every call of `fit` spends epsilon, so a search over parameters or a cross-validation spends it many times. A
`ledger` with an `account` keeps the book.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from penstock.contracts.method import Method
from penstock.engine.pandas_frame import as_text
from penstock.engine.source import read
from penstock.errors import PenstockWarning, UsageError
from penstock.privacy.budgets.amounts import Amount
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.budgets.till import Account
from penstock.privacy.ledger.ledger import Ledger
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.unit import Relation, Unit
from penstock.releases.release import Release
from penstock.schema import Schema

if TYPE_CHECKING:
    import polars as pl

Bounds = tuple[float, float] | Sequence[tuple[float, float]] | Mapping[str, tuple[float, float]]
Seed = int | np.random.RandomState | None

UNBOUNDED = (-1.0, 1.0)
"""The range of columns for which nobody declared one."""

_BINS = 16  # into which a column of features is cut where a method codes it
_NEAR = 4096  # rows whose columns are copied together


class Paying(Protocol):
    """The parameters by which every private estimator is paid."""

    epsilon: Amount
    delta: Amount
    ledger: Ledger | str | PathLike[str] | None
    account: str | None
    random_state: Seed


def bounded_fields(
    names: Sequence[str], bounds: Bounds | None, bins: int | None = None, *, called: str = "bounds"
) -> list[dict[str, Any]]:
    """Numeric fields with these public bounds: one pair for all columns, one for each, or by name.

    `bins` says how finely they are seen, and `called` what the bounds are called where they are wrong.

    Without bounds every column is taken to lie between -1 and 1, and a warning says so: nothing is read off
    the data. Values outside are moved onto the bounds.

    >>> [field["constraints"] for field in bounded_fields(["a", "b"], (0, 5))]
    [{'minimum': 0.0, 'maximum': 5.0}, {'minimum': 0.0, 'maximum': 5.0}]
    """
    if bounds is None:
        warnings.warn(
            "No bounds were declared, so every column is taken to lie between -1 and 1 and values outside "
            "are moved there. Bounds are public facts: give them in 'bounds', from what you know and not "
            "from the data.",
            PenstockWarning,
            stacklevel=4,
        )
        bounds = UNBOUNDED
    if isinstance(bounds, Mapping):
        lacking = [name for name in names if name not in bounds]
        if lacking:
            raise UsageError(
                f"{called} has no entry for {', '.join(map(repr, lacking[:5]))}. Nothing was spent."
            )
        pairs: list[Any] = [bounds[name] for name in names]
    elif isinstance(bounds, str) or not isinstance(bounds, Iterable):
        raise UsageError(
            f"{called} must be two numbers, the smaller first, not {bounds!r}. Nothing was spent."
        )
    else:
        listed: list[Any] = list(bounds)
        whole = len(listed) == 2 and not any(isinstance(each, Sequence | np.ndarray) for each in listed)
        pairs = [(listed[0], listed[1])] * len(names) if whole else listed
    if len(pairs) != len(names):
        raise UsageError(
            f"{called} has {len(pairs)} pairs, and {len(names)} would be one for each column; give so many, "
            "or one pair for all. Nothing was spent."
        )
    found = []
    for name, pair in zip(names, pairs, strict=True):
        low, high = _pair(name, pair)
        found.append(
            {
                "name": name,
                "type": "number",
                "constraints": {"minimum": low, "maximum": high},
                "bins": {"count": _BINS},
                "outside": "clamp",
                **({} if bins is None else {"bins": {"count": bins}}),
            }
        )
    return found


def _pair(name: str, pair: object) -> tuple[float, float]:
    """Two finite numbers, the smaller first."""
    try:
        low, high = (float(each) for each in pair)  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        low, high = np.nan, np.nan
    if not (np.isfinite(low) and np.isfinite(high) and low < high):
        raise UsageError(
            f"The bounds of '{name}' must be two finite numbers, the smaller first. Nothing was spent."
        )
    return low, high


def column_names(estimator: Any) -> list[str]:
    """The names of the columns that an estimator has validated: their own, or x0, x1, ... for an array."""
    own = getattr(estimator, "feature_names_in_", None)
    return [f"x{place}" for place in range(estimator.n_features_in_)] if own is None else list(map(str, own))


def framed(values: NDArray[Any], names: Sequence[str]) -> pl.DataFrame:
    """Columns of an array under these names."""
    import polars as pl

    # some rows at a time: a column of a long array is far apart in memory, those of few rows are near
    columns = np.empty(values.shape[::-1], dtype=values.dtype)
    for begin in range(0, len(values), _NEAR):
        columns[:, begin : begin + _NEAR] = values[begin : begin + _NEAR].T
    return pl.DataFrame(dict(zip(names, columns, strict=True)))


def free_name(name: str, taken: Sequence[str]) -> str:
    """The name, with as many strokes behind it as no column has."""
    while name in taken:
        name += "_"
    return name


def described_frame(X: Any, names: Sequence[str]) -> pl.DataFrame:  # noqa: N803  # scikit-learn's name
    """The columns of these names, of a frame of any library; of an array in their order.

    Objects without a type of their own become text one by one, as in any release (`pandas_frame`): a type
    that is inferred from a whole column would let one record decide how all others are read.

    >>> described_frame([[1, "red"], [2.5, "blue"]], ["size", "colour"])["size"].to_list()
    ['1', '2.5']
    """
    import polars as pl
    from sklearn.utils.validation import check_array

    if hasattr(X, "columns"):
        source = read(X)
        refuse_without(source.names, names)
        return source.cells(names)
    values = check_array(X if hasattr(X, "dtype") else np.asarray(X, dtype=object), dtype=None)
    if values.shape[1] != len(names):
        raise UsageError(f"X has {values.shape[1]} columns, and the schema describes {len(names)}.")
    if values.dtype != object:
        return framed(values, names)
    return pl.DataFrame(
        {
            name: pl.Series([None if each is None else as_text(each) for each in column], dtype=pl.String)
            for name, column in zip(names, values.T.tolist(), strict=True)
        }
    )


def refuse_without(columns: Iterable[Any], names: Sequence[str]) -> None:
    """Refuse a frame that lacks columns."""
    there = set(columns)
    if lacking := [name for name in names if name not in there]:
        raise UsageError(f"X has no column {', '.join(map(repr, lacking[:5]))}, which the schema describes.")


def refuse_unless_schema(given: object) -> None:
    """Refuse what is no schema, such as the name of its file."""
    if not isinstance(given, Schema):
        raise UsageError(
            f"schema must be a Schema, such as Schema.from_yaml(...), not {type(given).__name__}. "
            "Nothing was spent."
        )


def described_records(X: Any, y: Any, schema: Schema) -> tuple[list[str], pl.DataFrame]:  # noqa: N803
    """The names of all columns of a schema but its target, and those columns of as many rows as `y` has.

    Where the schema protects users, the column that names them comes along.
    """
    from sklearn.utils.validation import check_consistent_length

    refuse_unless_schema(schema)
    if schema.target is None:
        raise UsageError("The schema names no target; say which column it is. Nothing was spent.")
    names = [name for name in schema.names if name != schema.target]
    who = [] if schema.unit.column is None or not hasattr(X, "columns") else [schema.unit.column]
    frame = described_frame(X, [*names, *(name for name in who if name not in names)])
    check_consistent_length(frame, y)
    return names, frame


def paid_release(estimator: Paying, method: Method[Any], frame: Any, schema: Schema) -> Release:
    """The release that a method makes of these records, paid as the estimator says.

    The order is that of `penstock.release`: what is wrong with the request is found before the ledger hears
    of it, the ledger is asked before the records are coded, and only then anything is spent.
    """
    name = type(estimator).__name__
    method.check(schema)
    budget, seed = opened_budget(estimator, schema.unit, schema.relation)
    order_key = None if seed is None else f"seed {seed}".encode()
    records, rest = method.takes().open(frame, schema, order_key=order_key).prepared(budget)
    release = method.fit(records, rest)
    budget.complete(f"{name}, not saved")
    return release


def opened_budget(estimator: Paying, unit: Unit, relation: Relation) -> tuple[Budget, int | None]:
    """The budget that an estimator pays with, which its ledger allows, and its seed where it has one."""
    Budget(estimator.epsilon, estimator.delta)
    account, seed = _account(estimator, type(estimator).__name__), _seed(estimator.random_state)
    randomness = None if seed is None else Randomness.seeded(seed)
    budget = Budget(estimator.epsilon, estimator.delta, randomness=randomness, account=account)
    budget.protect(unit)
    budget.check(relation)
    return budget, seed


def _account(estimator: Paying, label: str) -> Account | None:
    if estimator.ledger is None and estimator.account is None:
        return None
    if estimator.ledger is None or estimator.account is None:
        missing = "ledger" if estimator.ledger is None else "account"
        raise UsageError(f"What is booked needs both a ledger and an account; '{missing}' is missing.")
    opened = estimator.ledger if isinstance(estimator.ledger, Ledger) else Ledger.open(estimator.ledger)
    return opened.account(estimator.account, label)


def _seed(random_state: Seed) -> int | None:
    """A seed for repeatable noise, which nobody may publish; None for real noise."""
    if random_state is None:
        return None
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(1 << 31))
    if isinstance(random_state, bool) or not isinstance(random_state, int | np.integer):
        raise UsageError(
            "random_state must be a whole number, or None for noise that nobody can repeat, not "
            f"{random_state!r}. Nothing was spent."
        )
    return int(random_state)
