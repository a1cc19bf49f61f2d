"""Events: yes-or-no questions about an output, learned from some samples to be tested on others.

Any event gives a sound lower bound on epsilon, because a differentially private output cannot make any
event much likelier under one input than under its neighbour. A good event gives a high bound. This
module looks for good ones: it projects an output on single numbers, cuts those into cells, and collects
the cells that one input favours (an estimated likelihood-ratio set) or takes everything beyond a
threshold. Cells and their order come from one part of the samples, the choice between events from
another, and the bound that is reported from samples that this module never sees.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.audit.exact import Distribution

Outputs = NDArray[np.float64]
"""One row per run, one column per number in the output; NaN where an output has nothing to say."""

MOST_CELLS = 64
MOST_SYMBOLS = 4096
MOST_COLUMNS = 200


def outputs_of(raw: Any) -> Outputs:
    """Whatever a runner returned, as a matrix with one row per run.

    A list of sequences is padded with NaN, and every row starts with its length: a length that follows
    the data is a leak like any other. A row depends on its own output only, never on the others around
    it; otherwise runs would not be independent and no confidence limit would hold.

    >>> outputs_of([[1, 2], [3]])
    array([[ 2.,  1.,  2.],
           [ 1.,  3., nan]])
    """
    if isinstance(raw, np.ndarray) and raw.dtype != object:
        matrix = raw.astype(np.float64)
        return matrix.reshape(len(matrix), -1)
    if all(np.ndim(row) == 0 for row in raw):
        return np.array([float(row) for row in raw], dtype=np.float64).reshape(-1, 1)
    rows = [np.atleast_1d(np.asarray(row, dtype=np.float64)).ravel() for row in raw]
    padded = np.full((len(rows), 1 + max(len(row) for row in rows)), np.nan)
    for place, row in enumerate(rows):
        padded[place, 0] = len(row)
        padded[place, 1 : 1 + len(row)] = row
    return padded


def same_width(first: Outputs, second: Outputs) -> tuple[Outputs, Outputs]:
    """Both matrices with the same columns, the narrower padded with NaN."""
    width = max(first.shape[1], second.shape[1])
    return _widen(first, width), _widen(second, width)


def _widen(outputs: Outputs, width: int) -> Outputs:
    if outputs.shape[1] >= width:
        return outputs[:, :width]
    missing = np.full((len(outputs), width - outputs.shape[1]), np.nan)
    return np.hstack([outputs, missing])


@dataclass(frozen=True)
class Event:
    """A question that every output answers with yes or no."""

    words: str
    holds: Callable[[Outputs], NDArray[np.bool_]]

    def count(self, outputs: Outputs) -> int:
        return int(np.count_nonzero(self.holds(outputs)))


@dataclass(frozen=True)
class Projection:
    """A single number made from an output; post-processing, so nothing is lost by choosing badly."""

    words: str
    value: Callable[[Outputs], NDArray[np.float64]]
    symbols: bool = False  # the numbers only name things: every one is a cell of its own


@dataclass(frozen=True)
class Learned:
    """The event found, the input under which it is likelier, and what it promises.

    `promise` is the lower bound that samples like those used for learning would give; being the best of
    many it is too optimistic to report.
    """

    event: Event
    first_is_likelier: bool
    promise: float


def learn(
    first: Outputs,
    second: Outputs,
    *,
    delta: float = 0.0,
    z: float = 5.0,
    tests: int | None = None,
    projections: Sequence[Projection] = (),
    events: Sequence[Event] = (),
) -> Learned | None:
    """The event that should give the best lower bound on epsilon with `tests` fresh outputs of each input.

    `z` is the number of standard deviations that the later test will subtract. None when the outputs
    have nothing to tell apart.
    """
    first, second = same_width(first, second)
    half_first, half_second = len(first) // 2, len(second) // 2
    if min(half_first, half_second) < 2 or first.shape[1] == 0:
        return None
    shape = first[:half_first], second[:half_second]
    judge = first[half_first:], second[half_second:]
    rate = _Rate(len(judge[0]), len(judge[1]), tests, delta, z)
    best = _Best()
    for event in events:
        best.offer(event, rate.both(event.count(judge[0]), event.count(judge[1])))
    found_here = [replace(each, value=_fixed(each.value, first.shape[1])) for each in _projections(*shape)]
    for projection in (*projections, *found_here):
        values = [projection.value(part) for part in (*shape, *judge)]
        for order in _orders(values[0], values[1], projection.symbols):
            _try_order(best, rate, projection, order, values[2], values[3])
    return best.found


@dataclass(frozen=True)
class _Rate:
    """How high a bound two success counts promise, by the Wilson interval (cheap; only for ranking)."""

    first: int
    second: int
    tests: int | None
    delta: float
    z: float

    def __call__(
        self, likelier: NDArray[Any], other: NDArray[Any], runs: int, other_runs: int
    ) -> NDArray[Any]:
        low = self._wilson(likelier / runs, self.tests or runs, -1.0) - self.delta
        high = self._wilson(other / other_runs, self.tests or other_runs, 1.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(low > 0, np.log(np.maximum(low, 1e-300) / high), -np.inf)

    def _wilson(self, share: NDArray[Any], runs: int, sign: float) -> NDArray[Any]:
        z2 = self.z**2 / runs
        spread = np.sqrt(np.maximum(share * (1 - share), 0.0) * z2 + z2**2 / 4)
        return np.asarray((share + z2 / 2 + sign * spread) / (1 + z2))

    def both(self, hits_first: int, hits_second: int) -> tuple[float, float]:
        forward = self(np.array([hits_first]), np.array([hits_second]), self.first, self.second)
        backward = self(np.array([hits_second]), np.array([hits_first]), self.second, self.first)
        return float(forward[0]), float(backward[0])


def visible(first: Distribution, second: Distribution, tests: int, delta: float, z: float) -> float:
    """The bound that `tests` outputs of two known laws promise with their best likelihood-ratio set."""
    outcomes = list(first.logs.keys() | second.logs.keys())
    p = np.array([first.probability(outcome) for outcome in outcomes])
    q = np.array([second.probability(outcome) for outcome in outcomes])
    rate, order = _Rate(1, 1, tests, delta, z), np.argsort(-p / np.maximum(q, 1e-300), kind="stable")
    forward = rate(np.cumsum(p[order]), np.cumsum(q[order]), 1, 1)
    backward = rate(np.cumsum(q[order[::-1]]), np.cumsum(p[order[::-1]]), 1, 1)
    return float(max(forward.max(), backward.max()))


@dataclass
class _Best:
    found: Learned | None = None
    score: float = -np.inf

    def offer(self, event: Event, promises: tuple[float, float]) -> None:
        for forward, promise in zip((True, False), promises, strict=True):
            if promise > self.score:
                self.found, self.score = Learned(event, forward, promise), promise


@dataclass(frozen=True)
class _Order:
    """Cells of a projected number, in the order in which an event takes them up."""

    edges: NDArray[np.float64]
    cells: NDArray[np.int64]
    natural: bool

    def index(self, values: NDArray[np.float64]) -> NDArray[np.int64]:
        """The cell of each value; NaN has the last cell to itself."""
        return np.searchsorted(self.edges, values, side="right").astype(np.int64)


def _orders(first: NDArray[np.float64], second: NDArray[np.float64], symbols: bool) -> Iterable[_Order]:
    """From below, from above, and by likelihood ratio in both directions."""
    edges = _edges(np.concatenate([first, second]), MOST_SYMBOLS if symbols else MOST_CELLS)
    count = len(edges) + 1
    plain = _Order(edges, np.arange(count), True)
    hits_first = np.bincount(plain.index(first), minlength=count)
    hits_second = np.bincount(plain.index(second), minlength=count)
    if len(first) == 0 or np.array_equal(hits_first, hits_second):
        return
    ratio = np.log((hits_first + 0.5) / (hits_second + 0.5))
    if not symbols:
        yield plain
        yield _Order(edges, plain.cells[::-1], True)
    falling = np.argsort(-ratio, kind="stable")
    yield _Order(edges, falling, False)
    yield _Order(edges, falling[::-1], False)


def _edges(values: NDArray[np.float64], most: int = MOST_CELLS) -> NDArray[np.float64]:
    """Where cells begin: one cell per value when there are few, else quantiles and frequent values."""
    present = values[np.isfinite(values)]
    seen, times = np.unique(present, return_counts=True)
    if len(seen) == 0:
        return np.array([np.inf])
    if len(seen) > most:
        frequent = seen[times >= len(values) / MOST_CELLS]
        quantiles = np.quantile(present, np.linspace(0, 1, MOST_CELLS // 2), method="lower")
        seen = np.unique(np.concatenate([quantiles, frequent, np.nextafter(frequent, np.inf)]))
    return np.append(seen, np.inf)


def _try_order(
    best: _Best,
    rate: _Rate,
    projection: Projection,
    order: _Order,
    first: NDArray[np.float64],
    second: NDArray[np.float64],
) -> None:
    """Offer every event that consists of the first few cells of an order."""
    count = len(order.edges) + 1
    hits_first = np.cumsum(np.bincount(order.index(first), minlength=count)[order.cells])
    hits_second = np.cumsum(np.bincount(order.index(second), minlength=count)[order.cells])
    forward = rate(hits_first, hits_second, len(first), len(second))
    backward = rate(hits_second, hits_first, len(second), len(first))
    for scores, is_forward in ((forward, True), (backward, False)):
        place = int(np.argmax(scores))
        if scores[place] > best.score:
            event = _event(projection, order, place + 1)
            best.found = Learned(event, is_forward, float(scores[place]))
            best.score = float(scores[place])


def _event(projection: Projection, order: _Order, taken: int) -> Event:
    chosen = np.zeros(len(order.edges) + 1, dtype=bool)
    chosen[order.cells[:taken]] = True

    def holds(outputs: Outputs) -> NDArray[np.bool_]:
        return np.asarray(chosen[order.index(projection.value(outputs))])

    return Event(_words(projection, order, taken, chosen), holds)


def _words(projection: Projection, order: _Order, taken: int, chosen: NDArray[np.bool_]) -> str:
    if order.natural and 0 < taken < len(chosen):
        ascending = order.cells[0] == 0
        edge = order.edges[taken - 1] if ascending else order.edges[len(order.edges) - taken]
        if np.isfinite(edge):
            return f"{projection.words} {'<' if ascending else '>='} {edge:.6g}"
        return f"{projection.words} is {'present' if ascending else 'absent'}"
    return f"{projection.words} in a likelihood-ratio set of {taken} of {len(chosen)} cells"


def _projections(first: Outputs, second: Outputs) -> Iterable[Projection]:
    """Single columns, simple summaries, and three learned scores of the whole output."""
    width = first.shape[1]
    columns = _telling_columns(first, second)
    for column in columns:
        words = "output" if width == 1 else f"output[{column}]"
        yield Projection(words, partial(_column, column=column))
    if width == 1:
        return
    yield Projection("sum", lambda outputs: np.nansum(outputs, axis=1))
    yield Projection("smallest", lambda outputs: _ignoring(np.nanmin, outputs))
    yield Projection("largest", lambda outputs: _ignoring(np.nanmax, outputs))
    yield Projection("zeros", lambda outputs: np.count_nonzero(outputs == 0, axis=1).astype(float))
    yield Projection("absent", lambda outputs: np.count_nonzero(np.isnan(outputs), axis=1).astype(float))
    if len(columns) <= 6:
        for one, two in combinations(columns, 2):
            yield Projection(f"output[{one}] - output[{two}]", partial(_difference, one=one, two=two))
    if columns:  # a release that says the same whatever happens has nothing to learn from
        yield _linear(first, second, columns)
        yield _columnwise(first, second, columns)
    yield _symbol(first, second)


def _fixed(
    value: Callable[[Outputs], NDArray[np.float64]], width: int
) -> Callable[[Outputs], NDArray[np.float64]]:
    """The same number from the columns that were there while learning, however wide later outputs are."""
    return lambda outputs: value(_widen(outputs, width))


def _column(outputs: Outputs, column: int) -> NDArray[np.float64]:
    return outputs[:, column] if column < outputs.shape[1] else np.full(len(outputs), np.nan)


def _difference(outputs: Outputs, one: int, two: int) -> NDArray[np.float64]:
    return _column(outputs, one) - _column(outputs, two)


def _ignoring(summary: Callable[..., Any], outputs: Outputs) -> NDArray[np.float64]:
    """A summary of what is present; NaN where nothing is."""
    empty: NDArray[np.bool_] = np.all(np.isnan(outputs), axis=1)
    filled = np.where(empty[:, None], 0.0, outputs)
    return np.where(empty, np.nan, summary(filled, axis=1))


def _telling_columns(first: Outputs, second: Outputs) -> list[int]:
    """The columns that vary, the most different first when there are too many to try all."""
    both = np.vstack([first, second])
    filled = np.nan_to_num(both, nan=-1e300)
    varying = np.flatnonzero((filled != filled[0]).any(axis=0))
    if len(varying) <= MOST_COLUMNS:
        return [int(column) for column in varying]
    ranks = filled[:, varying].argsort(axis=0, kind="stable").argsort(axis=0, kind="stable")
    gap = np.abs(ranks[: len(first)].mean(axis=0) - ranks[len(first) :].mean(axis=0))
    return sorted(int(column) for column in varying[np.argsort(-gap, kind="stable")[:MOST_COLUMNS]])


def _linear(first: Outputs, second: Outputs, columns: Sequence[int]) -> Projection:
    """Fisher's linear discriminant: finds combinations in which noise cancels."""
    chosen = list(columns)
    one, two = np.nan_to_num(first[:, chosen]), np.nan_to_num(second[:, chosen])
    gap = one.mean(axis=0) - two.mean(axis=0)
    spread = (np.cov(one, rowvar=False) + np.cov(two, rowvar=False)).reshape(len(chosen), -1)
    ridge = 1e-9 * (np.trace(spread) / max(1, len(chosen)) or 1.0)
    weights = np.linalg.lstsq(spread + ridge * np.eye(len(chosen)), gap, rcond=None)[0]
    return Projection(
        "linear discriminant",
        lambda outputs: np.round(np.nan_to_num(_columns(outputs, chosen)) @ weights, 12),
    )


def _columns(outputs: Outputs, columns: Sequence[int]) -> Outputs:
    wide = _widen(outputs, max(columns, default=-1) + 1) if columns else outputs
    return wide[:, list(columns)]


def _columnwise(first: Outputs, second: Outputs, columns: Sequence[int]) -> Projection:
    """The sum of the columns' estimated log likelihood ratios: the best score when noise is independent."""
    tables: list[tuple[_Order, NDArray[np.float64]]] = []
    for column in columns:
        edges = _edges(np.concatenate([first[:, column], second[:, column]]))
        order = _Order(edges, np.arange(len(edges) + 1), True)
        hits_first = np.bincount(order.index(first[:, column]), minlength=len(edges) + 1)
        hits_second = np.bincount(order.index(second[:, column]), minlength=len(edges) + 1)
        # Cells whose counts differ by less than chance explains would only add noise to the score.
        shown = np.abs(hits_first - hits_second) > 2 * np.sqrt(hits_first + hits_second)
        tables.append((order, np.where(shown, np.log((hits_first + 0.5) / (hits_second + 0.5)), 0.0)))

    def score(outputs: Outputs) -> NDArray[np.float64]:
        total = np.zeros(len(outputs))
        for column, (order, ratios) in zip(columns, tables, strict=True):
            total += ratios[order.index(_column(outputs, column))]
        return np.round(total, 9)

    return Projection("likelihood score", score)


def _symbol(first: Outputs, second: Outputs) -> Projection:
    """The whole output as one symbol; symbols not met while learning are absent."""
    width = first.shape[1]
    known, times = np.unique(_keys(np.vstack([first, second]), width), return_counts=True)
    known = known[np.sort(np.argsort(-times, kind="stable")[:MOST_SYMBOLS])]

    def value(outputs: Outputs) -> NDArray[np.float64]:
        keys = _keys(outputs, width)
        places = np.minimum(np.searchsorted(known, keys), len(known) - 1)
        return np.where(known[places] == keys, places.astype(float), np.nan)

    return Projection("whole output", value, symbols=True)


def _keys(outputs: Outputs, width: int) -> NDArray[Any]:
    """Rows as opaque, comparable byte strings."""
    rows = np.ascontiguousarray(_widen(outputs, width) + 0.0)
    rows = np.where(np.isnan(rows), np.nan, rows)
    return rows.view(f"S{8 * width}").ravel()
