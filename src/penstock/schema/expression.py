"""Questions about records: parsed, bound to a schema, and answered in three ways.

On a model: ``condition.disjoint_terms()`` splits a question into products of per-field weights,
so that its probability is a sum of products, exactly, under values that are even inside a bin.
On codes: ``condition.on_codes(codes)``. On raw or decoded rows: ``condition.holds(frame)``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import and_, or_
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from penstock.errors import DataError, QueryError
from penstock.schema import syntax
from penstock.schema.amounts import Amounts, means
from penstock.schema.codec import Codec
from penstock.schema.comparison import Between, compared
from penstock.schema.fact import nearest
from penstock.schema.predicate import Bound, Pieces, pieces
from penstock.schema.syntax import And, Atom, Comparison, Expression, Predicate

if TYPE_CHECKING:
    from penstock.schema.schema import Schema

Weights = NDArray[np.float64]
MOST_TERMS = 10_000
_WORTH = "\0worth"  # beside the weights of a term's fields: no field has such a name


class TooManyTermsError(QueryError):
    """A question is a sum of more products than anybody would wait for."""


@dataclass(frozen=True)
class Condition:
    """A question that fits its schema."""

    text: str
    expression: Expression
    codecs: Mapping[str, Codec]

    @cached_property
    def bound(self) -> dict[Predicate, Bound]:
        return {
            each: Bound(each, self.codecs[each.name])
            for each in syntax.predicates(self.expression)
            if isinstance(each, Predicate)
        }

    @cached_property
    def between(self) -> dict[Comparison, Between]:
        """The comparisons of two fields."""
        return {
            each: Between(each, self.codecs[each.name], self.codecs[each.other])
            for each in syntax.predicates(self.expression)
            if isinstance(each, Comparison)
        }

    @property
    def names(self) -> tuple[str, ...]:
        """The fields that the question speaks of, in its order."""
        atoms = syntax.predicates(self.expression)
        spoken = [(each.name, each.other) if isinstance(each, Comparison) else (each.name,) for each in atoms]
        return tuple(dict.fromkeys(name for names in spoken for name in names))

    @cached_property
    def _pieces(self) -> dict[str, Pieces]:
        return {
            name: pieces(
                self.codecs[name], [each for each in self.bound.values() if each.predicate.name == name]
            )
            for name in self.names
        }

    def disjoint_terms(self, worth: str | None = None) -> list[dict[str, Weights]]:
        """Products of weights per code that add up to the question; no two hold at the same time.

        A conjunction of conditions on single fields is one term. A question that never holds has none. With
        the name of a field of numbers as `worth`, every record weighs what its value of that field is worth
        (`amounts`), or nothing where it has none; of a bin that is cut, what the part inside is worth.
        """
        terms: list[dict[str, Weights]] = []
        self._expand(syntax.given(self.expression, {}), {}, terms, worth)
        return terms if worth is None else [self._worth(term, worth) for term in terms]

    def _worth(self, term: dict[str, Weights], name: str) -> dict[str, Weights]:
        """A term in which the weights of a field are multiplied by what its codes are worth there."""
        worth = term.pop(_WORTH, None)
        if worth is None:
            worth = np.nan_to_num(Amounts.of(self.codecs[name]).mean)
        return {**term, name: term[name] * worth if name in term else worth}

    def _worth_of(self, name: str, mine: NDArray[np.bool_], share: Weights) -> Weights:
        """What codes are worth whose values lie in some pieces of them."""
        cut, codec = self._pieces[name], self.codecs[name]
        if cut.ends is None:
            return np.nan_to_num(Amounts.of(codec).mean)
        each = np.nan_to_num(means(codec.field, *cut.ends[:, mine]))
        total = np.zeros(codec.size)
        np.add.at(total, cut.codes[mine], cut.shares[mine] * each)
        return np.divide(total, share, out=np.zeros(codec.size), where=share > 0)

    def _expand(
        self,
        rest: Expression | bool,
        fixed: dict[str, Weights],
        terms: list[dict[str, Weights]],
        worth: str | None,
    ) -> None:
        if rest is True:
            terms.append(fixed)
            if len(terms) > MOST_TERMS:
                raise TooManyTermsError("The question has too many alternatives. Ask a simpler one.")
        if isinstance(rest, bool):
            return
        first = syntax.predicates(rest)[0]
        if isinstance(first, Comparison):
            self._compare(first, rest, fixed, terms, worth)
            return
        name = first.name
        cut, size = self._pieces[name], self.codecs[name].size
        matrix = np.array(list(cut.holds.values())).T
        patterns, group = np.unique(matrix, axis=0, return_inverse=True)
        remaining: dict[Expression | bool, NDArray[np.bool_]] = {}
        for number, pattern in enumerate(patterns):
            known: dict[Atom, bool] = dict(zip(cut.holds, map(bool, pattern), strict=True))
            after = syntax.given(rest, known)
            remaining[after] = np.logical_or(remaining.get(after, False), group.ravel() == number)
        for after, mine in remaining.items():
            share = np.zeros(size)
            np.add.at(share, cut.codes[mine], cut.shares[mine])
            weights = {name: np.minimum(share, 1.0)}
            if name == worth:
                weights[_WORTH] = self._worth_of(name, mine, share)
            self._narrow(after, fixed, weights, terms, worth)

    def _compare(
        self,
        comparison: Comparison,
        rest: Expression,
        fixed: dict[str, Weights],
        terms: list[dict[str, Weights]],
        worth: str | None,
    ) -> None:
        """Code by code of the first field: where it compares alike with all of the other, together."""
        chances = self.between[comparison].chances
        alike, group = np.unique(chances, axis=0, return_inverse=True)
        for number, chance in enumerate(alike):
            mine = (group.ravel() == number).astype(np.float64)
            for holds, weights in ((True, chance), (False, 1 - chance)):
                after = syntax.given(rest, {comparison: holds})
                self._narrow(after, fixed, {comparison.name: mine, comparison.other: weights}, terms, worth)

    def _narrow(
        self,
        rest: Expression | bool,
        fixed: dict[str, Weights],
        weights: Mapping[str, Weights],
        terms: list[dict[str, Weights]],
        worth: str | None,
    ) -> None:
        """Go on with further weights; where none of a field's codes is left, nothing is."""
        both = {name: fixed[name] * each if name in fixed else each for name, each in weights.items()}
        if all(each.any() for name, each in both.items() if name != _WORTH) or not self.between:
            self._expand(rest, {**fixed, **both}, terms, worth)

    def can_hold(self) -> bool:
        """Whether any values could meet the question; also where it has too many alternatives to tell."""
        try:
            terms = self.disjoint_terms()
        except TooManyTermsError:
            return True
        return any(all(weights.any() for weights in term.values()) for term in terms)

    @property
    def negated(self) -> Condition:
        """The question that holds exactly where this one does not."""
        return Condition(f"not ({self.text})", syntax.Not(self.expression), self.codecs)

    def among(self, codes: Mapping[str, int]) -> Condition:
        """The question that holds where this one does and each of some fields has one code."""
        told = tuple(Predicate(name, "code", (str(code),), 0) for name, code in codes.items())
        labels = [f"{name}: {self.codecs[name].attribute.labels[code]}" for name, code in codes.items()]
        return Condition("; ".join([self.text, *labels]), And((self.expression, *told)), self.codecs)

    def present(self, name: str) -> Condition:
        """The question that holds where this one does and a field has a value of its domain."""
        attribute = self.codecs[name].attribute
        absent = [code for code in (attribute.missing, attribute.other) if code is not None]
        told = tuple(syntax.Not(Predicate(name, "code", (str(code),), 0)) for code in absent)
        return Condition(self.text, And((self.expression, *told)), self.codecs) if told else self

    def and_not(self, others: Sequence[Condition]) -> Condition:
        """The question that holds where this one does and none of the others."""
        parts = (self.expression, *(syntax.Not(other.expression) for other in others))
        text = " and ".join([f"({self.text})", *(f"not ({other.text})" for other in others)])
        return Condition(text, And(parts), self.codecs)

    def weights(self) -> dict[str, Weights]:
        """The weights per code of a question that is one product; QueryError if it is not."""
        terms = self.disjoint_terms()
        if len(terms) == 1:
            return terms[0]
        if not terms:
            return {name: np.zeros(self.codecs[name].size) for name in self.names}
        raise QueryError(
            f'"{self.text}" is not a conjunction of conditions on single fields. Ask one of those.'
        )

    def table(self, names: tuple[str, ...], worth: str | None = None) -> Weights:
        """The weight of every cell of the marginal over these fields, which include the question's.

        `worth` is as in `disjoint_terms`.
        """
        lacking = [name for name in self.names if name not in names]
        if lacking:
            raise QueryError(f'"{self.text}" also speaks of {lacking[0]}. Include it.')
        result = np.zeros(tuple(self.codecs[name].size for name in names))
        for term in self.disjoint_terms(worth):
            product = np.ones(())
            for name in names:
                product = np.multiply.outer(product, term.get(name, np.ones(self.codecs[name].size)))
            result += product
        return result

    def on_codes(self, codes: Mapping[str, NDArray[Any]]) -> Weights:
        """For every coded row the probability that the question holds for it."""
        rows = len(codes[self.names[0]])
        result = np.zeros(rows)
        for term in self.disjoint_terms():
            product = np.ones(rows)
            for name, weights in term.items():
                product *= weights[codes[name]]
            result += product
        return result

    def holds(self, frame: pl.DataFrame) -> NDArray[np.bool_]:
        """For every raw or decoded row whether the question holds for it."""
        for name in self.names:
            if name not in frame.columns:
                raise DataError(f"{name}: the data has no such column. The question needs it.")
        known: dict[Atom, NDArray[np.bool_]] = {
            predicate: each.in_column(frame[predicate.name]) for predicate, each in self.bound.items()
        }
        for comparison, pair in self.between.items():
            known[comparison] = pair.in_columns(frame[comparison.name], frame[comparison.other])
        return _truth(self.expression, known)


def _truth(expression: Expression, known: Mapping[Atom, NDArray[np.bool_]]) -> NDArray[np.bool_]:
    match expression:
        case Predicate() | Comparison():
            return known[expression]
        case syntax.Not(part):
            return ~_truth(part, known)
        case And(parts):
            return reduce(and_, (_truth(part, known) for part in parts))
        case syntax.Or(parts):
            return reduce(or_, (_truth(part, known) for part in parts))


def everything(codecs: Mapping[str, Codec]) -> Condition:
    """The question that holds for every record: to be narrowed, or counted.

    >>> everything({}).disjoint_terms()
    [{}]
    """
    return Condition("all records", And(()), codecs)


def any_of(conditions: Sequence[Condition]) -> Condition:
    """The question that holds where at least one of these does."""
    first = conditions[0]
    if len(conditions) == 1:
        return first
    text = " or ".join(f"({each.text})" for each in conditions)
    return Condition(text, syntax.Or(tuple(each.expression for each in conditions)), first.codecs)


def parse(text: str, schema: Schema | Mapping[str, Codec]) -> Condition:
    """A question about the fields of a schema; QueryError says what does not fit and where.

    >>> from penstock.schema import Schema
    >>> schema = Schema.from_yaml('''
    ... fields: [{name: age, type: integer, constraints: {minimum: 0, maximum: 99}, bins: {count: 4}}]
    ... ''')
    >>> parse("age < 30", schema).weights()
    {'age': array([1. , 0.2, 0. , 0. ])}
    """
    codecs = schema if isinstance(schema, Mapping) else schema.codecs
    expression = syntax.replaced(syntax.read(text), lambda each: compared(each, codecs))
    for predicate in syntax.predicates(expression):
        if predicate.name not in codecs:
            raise QueryError(
                f"At position {predicate.at + 1}: '{predicate.name}' is not a field"
                f"{nearest(predicate.name, codecs)}. The fields are {', '.join(codecs)}."
            )
    condition = Condition(text, expression, codecs)
    _ = condition.bound, condition.between
    return condition


def parse_rule(text: str, codecs: Mapping[str, Codec]) -> Condition:
    """What breaks a rule that always holds, as a question.

    >>> from penstock.schema import Schema
    >>> schema = Schema.from_yaml("fields: [{name: a, type: boolean}, {name: b, type: boolean}]")
    >>> parse_rule("if a = true then b = false", schema.codecs).disjoint_terms()
    [{'a': array([0., 1.]), 'b': array([0., 1.])}]
    """
    rule = parse(text, codecs)
    return Condition(f"not ({text})", syntax.opposite(rule.expression), codecs)
