"""The question itself, and what is answered: formulas for each epsilon, and a trial on made-up records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from os import PathLike, fspath
from typing import Any

from penstock import catalogue
from penstock.api import configure
from penstock.errors import UsageError
from penstock.explanation.foreseen import Foreseen, amounts
from penstock.explanation.trial import LARGEST_TRIAL, Curve, tried
from penstock.privacy.budgets.amounts import Amount, exact, plain
from penstock.report.picture import Picture
from penstock.schema import Relation, Schema

MOST_RECORDS = 10**12


@dataclass(frozen=True)
class Explanation:
    """What each epsilon means for data of one schema and size. It is made without any record.

    `lines` hold what formulas say. `curves` are the scores of releases of made-up records, one for each
    measure of the kind's own evaluation; `remark` says why there are none.
    """

    schema: Schema = field(repr=False)
    records: int
    method: str
    delta: Fraction
    lines: tuple[Foreseen, ...]
    curves: tuple[Curve, ...] = ()
    remark: str | None = None

    @property
    def unit(self) -> str:
        """Who or what is protected, in words."""
        return self.schema.unit.words

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON for scripts."""
        return {
            "kind": self.schema.kind,
            "method": self.method,
            "unit": self.unit,
            "relation": self.schema.relation.value,
            "records": self.records,
            "delta": plain(self.delta),
            "lines": [line.to_dict() for line in self.lines],
            "trial": [curve.to_dict() for curve in self.curves],
            "remark": self.remark,
        }

    def pictures(self) -> Sequence[Picture]:
        """Curves over epsilon: what an observer gains, how far counts are off, how good releases were."""
        from penstock.explanation.page import pictures

        return pictures(self)

    def report(self) -> str:
        """One self-contained HTML page."""
        from penstock.explanation.page import page

        return page(self)


def explain(
    schema: Schema | str | PathLike[str],
    *,
    records: int | None = None,
    epsilon: str | Amount = "0.1..10",
    delta: Amount = 0,
    method: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    trial: bool = True,
    runs: int = 1,
    seed: int = 0,
) -> Explanation:
    """What each epsilon means for data of this schema with so many records, before any of them is read.

    `records` is the number that is expected, or publicly known; the schema's own size where it declares one.
    `epsilon` is one, a list or a range (`"0.1..10"`). With `trial` made-up records are drawn from the schema
    and released with the method at each epsilon, `runs` times, always with the same `seed`; how far such
    releases are from what they were made of is a guide to real ones, not a promise.

    >>> found = explain(Schema.from_yaml("fields: [{name: smoker, type: boolean}]"), records=10_000,
    ...                 epsilon="0.1,1", trial=False)
    >>> [(str(line.epsilon), round(line.guess, 3), line.within) for line in found.lines]
    [('1/10', 0.525, 30.0), ('1', 0.731, 3.0)]
    """
    described = schema if isinstance(schema, Schema) else Schema.load(fspath(schema))
    described.refuse_if_unreviewed()
    many = _records(described, records)
    chosen = amounts(epsilon) if isinstance(epsilon, str) else (exact(epsilon),)
    spent = exact(delta, "delta")
    if not 0 <= spent < 1 or any(one <= 0 for one in chosen):
        raise UsageError("epsilon must be above 0, and delta from 0 to below 1.")
    if not isinstance(runs, int) or not 1 <= runs <= 100:
        raise UsageError("runs must be a whole number from 1 to 100.")
    sized = _sized(described, many)
    info = catalogue.default_method(sized.kind) if method is None else catalogue.method(method)
    if info.kind != sized.kind:
        raise UsageError(
            f"{info.name} is a method for data of kind '{info.kind}', and the schema describes "
            f"'{sized.kind}'; choose another method."
        )
    configure(info, parameters or {}).check(sized)
    lines = tuple(Foreseen.of(sized, many, one, spent) for one in chosen)
    curves: tuple[Curve, ...] = ()
    remark: str | None = "No trial on made-up records was asked for."
    if trial:
        remark = _no_trial(sized, many, info)
    if remark is None:
        curves = tried(sized, many, chosen, spent, info, parameters or {}, runs, seed)
    return Explanation(sized, many, info.name, spent, lines, curves, remark)


def _records(schema: Schema, records: int | None) -> int:
    if records is None:
        if schema.size is None:
            raise UsageError("Say about how many records there are, such as --rows 10000.")
        return schema.size
    if not isinstance(records, int) or isinstance(records, bool) or not 1 <= records <= MOST_RECORDS:
        raise UsageError(f"The number of records must be a whole number from 1 to {MOST_RECORDS:,}.")
    if schema.size is not None and records != schema.size:
        raise UsageError(
            f"The schema declares a public size of {schema.size:,} records; leave the number out, or correct "
            "one of them."
        )
    return records


def _sized(schema: Schema, records: int) -> Schema:
    """The schema with the number of records where its relation makes that public."""
    if schema.relation is not Relation.REPLACE or schema.size is not None:
        return schema
    return Schema.model_validate({**schema.model_dump(by_alias=True, exclude_defaults=True), "size": records})


def _no_trial(schema: Schema, records: int, info: catalogue.MethodInfo) -> str | None:
    """Why made-up records cannot be tried, in one sentence; None where they can."""
    kind = catalogue.kind(schema.kind)
    if kind.made_up is None:
        return f"There are no made-up records of kind '{schema.kind}'; only formulas are shown."
    if info.evaluation is None and kind.evaluation is None:
        return f"Releases of {info.name} cannot be evaluated; only formulas are shown."
    if schema.relation.value not in info.relations:
        return (
            f"{info.name} works under the relation {' or '.join(info.relations)}, and the schema says "
            f"'{schema.relation.value}'; only formulas are shown."
        )
    if records > LARGEST_TRIAL:
        return (
            f"Made-up records are tried up to {LARGEST_TRIAL:,}; only formulas are shown. What counts is "
            "about records times epsilon: ask for fewer records and proportionally larger epsilons."
        )
    return None
