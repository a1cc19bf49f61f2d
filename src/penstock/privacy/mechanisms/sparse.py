"""The sparse vector technique: many questions "is this above its threshold?", paid by the few yeses.

Guarantee: pure epsilon, for any number of queries, chosen one after another in view of the earlier answers.
Why: fix two neighbouring inputs and a list of answers with at most c times yes. Let z be the noise on the
threshold. Compare the probability of the answers given z on one input with that given z + D on the other, D
being the sensitivity of a query:

* the noise of the threshold is at z + D at least exp(-epsilon1) as likely as at z;
* a no is at least as likely as before: no query moved by more than the threshold did, however many there are;
* a yes sees its query fall by D and its threshold rise by D, a shift of 2 D against noise of scale
  2 c D/epsilon2, which costs epsilon2/c. There are at most c of them.

Integrating over z gives exp(epsilon1 + epsilon2). If all queries move in the same direction (`monotone`), a
shift of D is enough: where all fall, z needs no shift and a yes costs D; where all rise, z moves by D and a
yes sees at most D; so noise of half the scale will do. This needs add-remove: when one unit replaces another,
one count falls while the other rises. Numbers beside a yes are c further Laplace answers with noise of their
own; telling the very number that was compared would reveal the threshold's noise. With `redraw` a yes starts
the whole anew, and c runs of epsilon/c each compose.

The argument holds for discrete Laplace noise on whole numbers as it stands, and that is what is drawn,
exactly; real-valued queries are put on a public lattice, which costs one more step of sensitivity. Thresholds
are public: a constant, or something that was itself paid for.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from fractions import Fraction
from threading import Lock
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from penstock.errors import BudgetError, UsageError
from penstock.privacy.budgets.amounts import Amount, exact
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.laws.additive import StreamedLaplace
from penstock.privacy.laws.comparisons import Comparison, HiddenThreshold
from penstock.privacy.mechanisms.lattice import from_steps, power_of_two, public_step, to_steps
from penstock.privacy.mechanisms.sparse_answers import NO, YES, SparseAnswer, SparseAnswers
from penstock.privacy.mechanisms.sparse_design import Allocation, Design
from penstock.privacy.mechanisms.thresholds import Threshold, Thresholds, margins, whole_thresholds
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.randomness.noise_stream import NoiseStream
from penstock.privacy.randomness.samplers import Integers
from penstock.privacy.seals.sealed import Sealed, form_of, open_seal
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.privacy.unit import Relation

Query = Sealed[Any] | tuple[Sealed[Any], Thresholds]

_YES, _NO = np.array([True]), np.array([False])
_SHORT: Final = 256  # queries compared at once, at first and at most
_LONG: Final = 1 << 17


class SparseVector:
    """A sparse vector that has been paid for and answers queries until it has said yes c times.

    >>> pay = Budget(50, randomness=Randomness.seeded(1))
    >>> svt = SparseVector.paid(pay, c=1, because="a record moves one query by one")
    >>> def visitors(count: int) -> Sealed[int]:
    ...     return Sealed(count, Sensitivity.of(1), Relation.ADD_REMOVE, because="a visitor counts once")
    >>> [svt.ask(visitors(count), threshold=50).above for count in (3, 7, 90)]
    [False, False, True]
    >>> svt.exhausted
    True
    """

    def __init__(self, design: Design, relation: Relation, step: Fraction | None, source: Randomness) -> None:
        """Called by `paid`."""
        self.design, self.relation, self.step = design, relation, step
        self._moves = design.sensitivity if step is None else (design.sensitivity - 1) * step
        self._left, self._lock, self._process = design.c, Lock(), os.getpid()
        self._source = source
        # Streams of their own, so that a seeded run answers alike one by one and all at once.
        self._query_noise = NoiseStream(design.query_scale, source.spawn("queries"))
        self._threshold_noise = NoiseStream(design.threshold_scale, source.spawn("threshold"), first=1)
        scale = design.answer_scale
        self._answer_noise = None if scale is None else NoiseStream(scale, source.spawn("answers"), first=4)
        self.__rho: int | None = None
        self._law = HiddenThreshold(design.threshold_scale, design.query_scale, design.redraw)
        self._seen: Sensitivity | None = None
        self._known: tuple[object, int] = (object(), 0)  # a threshold object and its value

    @classmethod
    def paid(
        cls,
        pay: Budget,
        *,
        c: int,
        because: str,
        sensitivity: Amount = 1,
        relation: Relation = Relation.ADD_REMOVE,
        monotone: bool = False,
        allocation: Allocation = "optimal",
        answers: Amount = 0,
        redraw: bool = False,
        real: bool = False,
        granularity: Fraction | float | None = None,
    ) -> SparseVector:
        """Pay all that is left of `pay`, once and for all queries to come.

        `sensitivity` bounds each single query, and `because` says why that holds for queries still to come.
        `monotone` halves the noise, and the reason is then also why all move in one direction. `answers` is
        the share of epsilon for numbers beside a yes. With `real` the queries are real numbers, rounded to
        whole steps of `granularity`, a public power of two (by default at most 1/1024 of the sensitivity).
        """
        if monotone and relation is not Relation.ADD_REMOVE:
            raise UsageError(
                "Monotonic mode needs relation 'add-remove': where one unit replaces another, one count "
                "rises while another falls. Nothing was spent."
            )
        if not isinstance(because, str) or not because.strip():
            raise UsageError(
                "A sparse vector needs the reason why its queries move no further, and in monotonic mode "
                "all in the same direction: because='...'. Nothing was spent."
            )
        epsilon = pay.left[0]
        if epsilon <= 0:
            raise BudgetError(f"Nothing is left of '{pay.label}' to pay for a sparse vector.")
        moves, step = exact(sensitivity, "sensitivity", derived=True), None
        if real and moves > 0:
            step = public_step(granularity, power_of_two(moves / 1024))
            moves = moves / step + 1
        design = Design.of(
            epsilon,
            c,
            allocation=allocation,
            answers=answers,
            sensitivity=moves,
            monotone=monotone,
            redraw=redraw,
        )
        detail = design.words + (f", in steps of {step}" if step else "")
        detail += f"; monotone: {because}" if monotone else ""
        source = pay.spend(
            "sparse vector",
            amount=epsilon,
            relation=relation,
            sensitivity=f"{sensitivity} per query",
            detail=detail,
        )
        return cls(design, relation, step, source)

    def __repr__(self) -> str:
        return f"SparseVector({self.left} of {self.design.c} positive answers left)"

    def __reduce__(self) -> Any:
        raise UsageError("A sparse vector cannot be copied: each copy would say yes c times.")

    @property
    def left(self) -> int:
        """How many positive answers are left."""
        return self._left

    @property
    def exhausted(self) -> bool:
        return self._left == 0

    def ask(self, query: Sealed[Any], threshold: Threshold = 0) -> SparseAnswer:
        """Whether the query is above its threshold, as far as the noise lets see."""
        value = self._opened(query)
        if type(value) is not int or self.step is not None:
            value = int(self._whole(value, 0))
        given, limit = self._known
        if threshold is not given:  # the same object as last time needs no second look
            limit = int(whole_thresholds(threshold, 1, self.step)[0])
            self._known = threshold, limit
        with self._lock:
            self._refuse_without_answers()
            if not self._source.draw(_Once(self, value, limit)):
                return NO
            self._left -= 1
            numbers = self._numbers(np.array([value], dtype=object))
            return YES if numbers is None else SparseAnswer(True, numbers.tolist()[0])

    def ask_all(self, queries: Sealed[NDArray[Any]], thresholds: Thresholds = 0) -> SparseAnswers:
        """The same for all queries of a vector, in their order; ends with the last yes that there was.

        `thresholds` are one for all or one for each.
        """
        values = self._whole(self._opened(queries), 1)
        return self._answer(values, whole_thresholds(thresholds, values.size, self.step))

    def _opened(self, query: Sealed[Any]) -> Any:
        """The value of a query that this sparse vector was paid for; anything else is refused."""
        if not isinstance(query, Sealed):
            raise UsageError(f"A sparse vector answers sealed queries, not {type(query).__name__}.")
        if query.relation is not self.relation:
            raise UsageError(
                f"This sparse vector was paid for under '{self.relation.value}', and the query is sealed "
                f"under '{query.relation.value}'."
            )
        moves = query.sensitivity
        if moves is not self._seen:  # the same object as last time needs no second look
            if moves.linf > self._moves:
                raise UsageError(
                    f"The query has sensitivity {moves.linf}, and this sparse vector was paid for queries of "
                    f"sensitivity {self._moves}."
                )
            if self.design.monotone and not moves.monotone:
                raise UsageError(
                    "The query is not monotone, and this sparse vector was paid for monotone ones."
                )
            self._seen = moves
        return open_seal(query)

    def _whole(self, value: Any, dimensions: int) -> Integers:
        """A query as whole numbers, on the lattice where the queries are real."""
        numbers = np.asarray(value)
        if numbers.dtype.kind not in ("iu" if self.step is None else "iuf") or numbers.ndim != dimensions:
            kind = "whole" if self.step is None else "real"
            shape = "one number" if dimensions == 0 else "a vector of numbers"
            raise UsageError(f"This sparse vector answers {kind} queries, {shape} at a time.")
        return numbers if self.step is None else to_steps(numbers, self.step)

    def _answer(self, values: Integers, limits: Integers) -> SparseAnswers:
        with self._lock:
            self._refuse_without_answers()
            above = self._source.draw(_Many(self, values, limits))
            (found,) = np.nonzero(above)
            self._left -= found.size
            return SparseAnswers(above, self._numbers(values[found]))

    def _refuse_without_answers(self) -> None:
        if not self._left:
            raise BudgetError(
                f"This sparse vector has given its {self.design.c} positive answers; pay for a new one."
            )
        if os.getpid() != self._process:
            raise BudgetError("A sparse vector answers only in the process that paid for it.")

    @property
    def _rho(self) -> int:
        """The noise on the threshold, drawn when it is first needed."""
        if self.__rho is None:
            self.__rho = self._threshold_noise.next()
        return self.__rho

    def _compared(self, value: int, limit: int) -> bool:
        """Whether one query reaches its threshold, under noise."""
        above = value + self._query_noise.next() >= limit + self._rho
        if above and self.design.redraw:
            self.__rho = None
        return above

    def _compared_all(self, values: Integers, limits: Integers) -> NDArray[np.bool_]:
        """The same for many, up to the last yes that there may be."""
        left = self._left
        hits: list[NDArray[np.int64]] = []
        start, block = 0, _SHORT
        while start < values.size and left:
            stop = min(start + block, values.size)
            noise = self._query_noise.take(stop - start)
            reached = margins(values[start:stop], limits[start:stop], noise)
            for found in self._scan(reached, left):
                hits.append(found + start)
                left -= found.size
            start, block = stop, min(4 * block, _LONG)
        found = np.concatenate(hits) if hits else np.empty(0, dtype=np.int64)
        above = np.zeros(values.size if left else int(found[-1]) + 1, dtype=np.bool_)
        above[found] = True
        return above

    def _scan(self, values: Integers, left: int) -> Iterator[NDArray[np.int64]]:
        """Where noisy values reach the threshold's noise, until no positive answer is left."""
        if not self.design.redraw:
            (hits,) = np.nonzero(values >= self._rho)
            yield hits[:left].astype(np.int64)
            return
        start = 0
        while left:
            reached = values[start:] >= self._rho
            first = int(np.argmax(reached)) if reached.size else 0
            if not reached.size or not reached[first]:
                return
            self.__rho = None
            left -= 1
            yield np.array([start + first], dtype=np.int64)
            start += first + 1

    def _numbers(self, values: Integers) -> NDArray[Any] | None:
        """The positive queries with fresh noise, where that is paid for."""
        if self._answer_noise is None:
            return None
        scale = self.design.answer_scale
        assert scale is not None
        wide = self._source.draw(StreamedLaplace(values, scale, self._answer_noise))
        if self.step is not None:
            return from_steps(wide, self.step)
        limit = np.iinfo(np.int64)
        held: NDArray[np.int64] = np.clip(wide, limit.min, limit.max).astype(np.int64)
        return held


class _Many(Comparison):
    """Queries of a vector, compared by the sparse vector that was asked."""

    def __init__(self, asked: SparseVector, values: Integers, limits: Integers) -> None:
        super().__init__(values, limits, asked._law, asked.left)
        self._asked = asked

    def draw(self, source: Randomness) -> NDArray[np.bool_]:
        return self._asked._compared_all(self.values, self.limits)


class _Once(_Many):
    """A single query: most of them come one at a time, and are compared without an array."""

    def __init__(self, asked: SparseVector, value: int, limit: int) -> None:
        self._asked, self.noise, self.left = asked, asked._law, asked._left
        self.values = [value]  # type: ignore[assignment]  # an array would cost more than the comparison
        self.limits = [limit]  # type: ignore[assignment]

    def draw(self, source: Randomness) -> NDArray[np.bool_]:
        return _YES if self._asked._compared(self.values[0], self.limits[0]) else _NO


def sparse_vector(
    stream: Iterable[Query] | Sealed[NDArray[Any]],
    pay: Budget,
    *,
    c: int,
    threshold: Thresholds = 0,
    **options: Any,
) -> Iterator[SparseAnswer]:
    """Answer the queries of a stream one after another, and stop by itself after the c-th yes.

    Paid when called, once. An element is a sealed number, a sealed vector of numbers, or a pair of one of
    these and its own threshold(s). The stream is read one element at a time, so that it may be a generator
    that chooses its next query in view of the answers so far. `options` are those of `SparseVector.paid`.
    A sealed vector may stand for the whole stream; the options are then those of `above_threshold`.
    """
    if isinstance(stream, Sealed):
        return iter(above_threshold(stream, pay, c=c, threshold=threshold, **options))
    whole_thresholds(threshold, np.size(threshold), None)  # type: ignore[arg-type]  # refused before it is paid
    if not isinstance(stream, Iterable):
        raise UsageError(
            f"A stream of sealed queries is something to iterate over, not {type(stream).__name__}. "
            "Nothing was spent."
        )
    known = "every query is sealed, and one that moves further than was paid for is refused"
    because = options.pop("because", "" if options.get("monotone") else known)
    return _answered(iter(stream), SparseVector.paid(pay, c=c, because=because, **options), threshold)


def _answered(stream: Iterator[Query], svt: SparseVector, threshold: Thresholds) -> Iterator[SparseAnswer]:
    for element in stream:
        if type(element) is tuple and len(element) != 2:
            raise UsageError("An element of a stream is a sealed query, or a pair of one and its threshold.")
        query, limit = element if type(element) is tuple else (element, threshold)
        if isinstance(query, Sealed) and form_of(query).is_array:
            yield from svt.ask_all(query, limit)
        else:
            yield svt.ask(query, limit)  # type: ignore[arg-type]  # `ask` refuses what is no single threshold
        if not svt.left:
            return


def above_threshold(
    scores: Sealed[NDArray[Any]],
    pay: Budget,
    *,
    c: int,
    threshold: Thresholds = 0,
    allocation: Allocation = "optimal",
    answers: Amount = 0,
    monotone: bool | None = None,
    redraw: bool = False,
    granularity: Fraction | float | None = None,
) -> SparseAnswers:
    """A whole vector of queries at once: which of the first ones are above their threshold, up to c of them.

    Sensitivity and relation are those of the sealed vector, and so is whether it is monotone, when nothing
    else is said.
    """
    whole_thresholds(threshold, form_of(scores).size, None)
    svt = paid_for(
        scores,
        pay,
        c=c,
        allocation=allocation,
        answers=answers,
        monotone=monotone,
        redraw=redraw,
        granularity=granularity,
    )
    return svt.ask_all(scores, threshold)


def paid_for(
    scores: Sealed[NDArray[Any]], pay: Budget, *, c: int, monotone: bool | None = None, **options: Any
) -> SparseVector:
    """A sparse vector for the coordinates of one sealed vector, which knows its own sensitivity."""
    form = form_of(scores)
    if len(form.shape) != 1 or form.kind not in "iuf":
        raise UsageError("A sparse vector needs a vector of numbers, one per query. Nothing was spent.")
    together = scores.sensitivity.monotone and scores.relation is Relation.ADD_REMOVE
    if monotone and not together:
        raise UsageError(
            "These queries do not all move in the same direction, so monotonic mode would not be private. "
            "Nothing was spent."
        )
    moves_together = together if monotone is None else monotone
    return SparseVector.paid(
        pay,
        c=c,
        sensitivity=scores.sensitivity.linf,
        relation=scores.relation,
        monotone=moves_together,
        because="the sealed vector says how far its coordinates move, and whether together",
        real=form.kind == "f",
        **options,
    )
