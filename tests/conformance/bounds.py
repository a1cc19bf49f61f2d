"""What a method is driven to: the ends of its parameters' ranges, and the schemas of its neighbours.

Nothing here names a method or a kind: ranges come from the declared parameters, and schemas from the audits
of all methods for the same kind of data.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from math import inf, nextafter
from typing import Any

import polars as pl
from tests.conformance.examples import Example, audits_of, example_of, examples

from penstock import catalogue
from penstock.catalogue import MethodInfo
from penstock.contracts.method import Method
from penstock.contracts.parameters import Exact, Number, OneOf, Parameter, Share, Text, Whole, YesNo
from penstock.errors import PenstockError
from penstock.privacy.budgets.amounts import DIGITS
from penstock.schema import Schema

HUGE = 10**5000  # nobody may give it: Python does not write so many digits
LARGE = (
    10**DIGITS - 1
)  # the largest that may be given; no double holds it, and neither does a word of 64 bits
LITTLE = Fraction(1, 10 ** (DIGITS - 1))
COPIES = 70


def ends(parameter: Parameter) -> list[Any]:
    """The outermost values that a parameter declares to take, and all of a few words."""
    domain = parameter.domain
    found: list[Any] = [None] if parameter.optional else []
    if isinstance(domain, OneOf):
        found += domain.choices
    elif isinstance(domain, YesNo):
        found += [False, True]
    elif isinstance(domain, Text):
        found += ["", "no such name"]
    elif isinstance(domain, Whole):
        found += [
            -LARGE if domain.least is None else domain.least,
            LARGE if domain.most is None else domain.most,
        ]
    elif isinstance(domain, Number):
        low = domain.least if domain.above is None else nextafter(float(domain.above), inf)
        high = domain.most if domain.below is None else nextafter(float(domain.below), -inf)
        largest = nextafter(inf, 0)
        found += [-largest if low is None else low, largest if high is None else high]
    elif isinstance(domain, Exact):
        low = domain.least if domain.above is None else Fraction(domain.above) + LITTLE
        high = domain.most if domain.below is None else Fraction(domain.below) - LITTLE
        found += [-LARGE if low is None else low, LARGE if high is None else high]
        found += [Fraction(1, 2) + LITTLE] if domain.accepts(Fraction(1, 2) + LITTLE) else []
        found += [0] if isinstance(domain, Share) and domain.none else []
    return found


def too_long() -> list[int | Fraction]:
    """Numbers that no parameter takes, whatever its range, because of their digits."""
    return [HUGE, -HUGE, LARGE + 1, Fraction(1, HUGE), Fraction(1, 2) + Fraction(1, HUGE)]


def driven(method: type[Method[Any]], base: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The parameters with one at a time at each of its ends."""
    for parameter in method.parameters():
        for value in ends(parameter):
            yield {**base, parameter.name: value}


def largest(method: type[Method[Any]], base: Mapping[str, Any], schema: Schema) -> Iterator[dict[str, Any]]:
    """Every whole number as large as `check` allows on this schema, beside each word it may stand with."""
    words: list[dict[str, Any]] = [{}]
    for parameter in method.parameters():
        if isinstance(parameter.domain, OneOf):
            words += [{parameter.name: word} for word in parameter.domain.choices]
    for parameter in method.parameters():
        if isinstance(parameter.domain, Whole):
            for word in words:
                value = _most(method, {**base, **word}, parameter, schema)
                if value is not None:
                    yield {**base, **word, parameter.name: value}


def _most(
    method: type[Method[Any]], given: Mapping[str, Any], parameter: Parameter, schema: Schema
) -> int | None:
    """The largest value that is not refused, by halving; None where already the smallest is, or none ever."""
    assert isinstance(parameter.domain, Whole)
    low = 0 if parameter.domain.least is None else parameter.domain.least
    high = 1 << 40 if parameter.domain.most is None else parameter.domain.most

    def taken(value: int) -> bool:
        return refusal(method, {**given, parameter.name: value}, schema) is None

    if not taken(low) or taken(high):
        return None  # the ends are tried anyway
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if taken(middle) else (low, middle)
    return low


def refusal(method: type[Method[Any]], parameters: Mapping[str, Any], schema: Schema) -> str | None:
    """What the method says against these parameters on this schema, before it has seen a record."""
    try:
        method(**parameters).check(schema)
    except PenstockError as problem:
        return str(problem)
    return None


def neighbours(info: MethodInfo) -> list[Example]:
    """Its own first parameters on every schema that methods for the same kind of data are audited with, under
    relations that it works with."""
    own = examples(info)[0]
    found: dict[str, Example] = {}
    for other in catalogue.methods(info.kind):
        for audit in audits_of(other):
            example = replace(example_of(audit), parameters=own.parameters, delta=own.delta)
            if example.schema.relation.value in info.relations:
                found.setdefault(audit.schema, example)
    return list(found.values())


def with_many_fields(info: MethodInfo) -> Example | None:
    """Its first example with the first field so many times; None where records cannot have them."""
    example = examples(info)[0]
    facts = example.schema.model_dump(by_alias=True, exclude_defaults=True)
    first = facts["fields"][0]
    facts["fields"] = [{**first, "name": f"{first['name']} {number}"} for number in range(COPIES)]
    try:
        schema = Schema.model_validate(facts)
    except PenstockError:
        return None
    column = example.frame.to_series(0)
    return replace(example, schema=schema, frame=pl.DataFrame([column.rename(name) for name in schema.names]))
