"""Fields: one column's public domain, in Frictionless Table Schema words with our extras beside."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import PlainSerializer, PlainValidator, SkipValidation, model_validator

from penstock.errors import SchemaError
from penstock.schema.bins import Bins, Edges, cut
from penstock.schema.fact import Fact
from penstock.schema.taxonomy import Taxonomy
from penstock.schema.values import (
    BLANKS,
    FALSE_VALUES,
    LARGEST_WHOLE,
    TRUE_VALUES,
    NotAValueError,
    Type,
    Value,
    at,
    noun,
    parse,
    position,
    written,
)

Kind = Literal["categorical", "ordinal", "integer", "number", "boolean", "date", "datetime"]
OTHER = "other"


def _read_tree(nested: object) -> Taxonomy:
    return nested if isinstance(nested, Taxonomy) else Taxonomy.from_nested(nested)


Tree = Annotated[Taxonomy, PlainValidator(_read_tree), PlainSerializer(lambda tree: tree.to_nested())]


class Constraints(Fact):
    """The declared domain: a list of values, or bounds."""

    enum: Annotated[tuple[Any, ...], SkipValidation] | None = None
    minimum: Annotated[Any, SkipValidation] = None
    maximum: Annotated[Any, SkipValidation] = None


class Field(Fact):
    """One column: its name, its type and its domain.

    ``outside`` says what happens to a value outside the domain: ``refuse`` it before anything is
    spent (default), ``clamp`` it to the nearest bound, or map it to the category ``other``.
    ``missing`` says whether a missing value is a ``value`` with a code of its own or refused.

    >>> Field(name="age", type="integer", constraints={"minimum": 17, "maximum": 90}).labels[:2]
    ('17..20', '21..25')
    """

    name: str
    type: Type = "string"
    title: str | None = None
    description: str | None = None
    constraints: Constraints = Constraints()
    categories_ordered: bool = False
    bins: Bins | None = None
    taxonomy: Tree | None = None
    outside: Literal["clamp", "other", "refuse"] = "refuse"
    missing: Literal["value", "refuse"] = "refuse"
    missing_values: tuple[str, ...] | None = None
    true_values: tuple[str, ...] = TRUE_VALUES
    false_values: tuple[str, ...] = FALSE_VALUES
    review: bool = False

    @classmethod
    def _where(cls, data: Any) -> str:
        name = data.get("name") if isinstance(data, Mapping) else None
        return str(name) if name else "field"

    @model_validator(mode="before")
    @classmethod
    def _typed(cls, data: Any) -> Any:
        """Bring enum, bounds and edges into the field's type, whichever way they were written."""
        if not isinstance(data, Mapping):
            return data
        where, kind = cls._where(data), data.get("type", "string")
        if kind not in ("string", "integer", "number", "boolean", "date", "datetime"):
            return data
        result = dict(data)
        true = data.get("trueValues", data.get("true_values")) or TRUE_VALUES
        false = data.get("falseValues", data.get("false_values")) or FALSE_VALUES

        def typed(raw: object, what: str) -> Value:
            try:
                return parse(kind, raw, true, false)
            except NotAValueError:
                hint = "Put it in quotes." if kind == "string" and raw is not None else "Correct it."
                if raw is None:
                    hint = "Remove it; missing values are declared with 'missing: value'."
                shown = "empty" if raw is None else repr(raw)
                raise SchemaError(f"{where}: {what} {shown} is not {noun(kind)}. {hint}") from None

        constraints = data.get("constraints")
        if isinstance(constraints, Constraints):
            constraints = constraints.model_dump(exclude_none=True)
        if isinstance(constraints, Mapping):
            constraints = dict(constraints)
            enum = constraints.get("enum")
            if isinstance(enum, Sequence) and not isinstance(enum, str):
                constraints["enum"] = tuple(typed(each, "enum value") for each in enum)
            elif enum is not None:
                raise SchemaError(f"{where}: 'enum' is {enum!r}, not a list. Write it as a YAML list.")
            for bound in ("minimum", "maximum"):
                if constraints.get(bound) is not None:
                    constraints[bound] = typed(constraints[bound], bound)
            result["constraints"] = constraints
        bins = data.get("bins")
        if isinstance(bins, Bins):
            bins = bins.model_dump(exclude_none=True)
        if isinstance(bins, Mapping) and isinstance(bins.get("edges"), Sequence):
            result["bins"] = {**bins, "edges": tuple(typed(each, "bin edge") for each in bins["edges"])}
        elif bins is not None and not isinstance(bins, Mapping):
            raise SchemaError(
                f"{where}: bins are {bins!r}. "
                f"Write 'bins: {{count: 16}}', '{{width: 5}}' or '{{edges: [...]}}'."
            )
        return result

    @model_validator(mode="after")
    def _complete(self) -> Field:
        if not self.name:
            raise SchemaError("field: a name is empty. Name every field as its column is named.")
        _ = self.values if self.kind in ("categorical", "ordinal", "boolean") else self.edges
        if self.kind in ("categorical", "ordinal"):
            self._check_enum()
        else:
            if self.categories_ordered or self.taxonomy is not None:
                key = "taxonomy" if self.taxonomy is not None else "categoriesOrdered"
                raise SchemaError(
                    f"{self.name}: '{key}' belongs to a field with an enum. Remove it, or add an enum."
                )
            if self.kind == "boolean":
                self._check_boolean()
        return self

    def _check_enum(self) -> None:
        stray = [
            k
            for k, v in (
                ("minimum", self.constraints.minimum),
                ("maximum", self.constraints.maximum),
                ("bins", self.bins),
            )
            if v is not None
        ]
        if stray:
            raise SchemaError(
                f"{self.name}: '{stray[0]}' next to an enum. Keep the enum or the bounds, not both."
            )
        seen: dict[str, Value] = {}
        for value in self.values:
            key = written(value).strip(BLANKS)
            if key in seen:
                raise SchemaError(f"{self.name}: enum value '{key}' is given twice. Remove one of them.")
            seen[key] = value
        if self.outside == "clamp" and not self.categories_ordered:
            raise SchemaError(
                f"{self.name}: categories cannot be clamped. Set 'outside: other' or 'outside: refuse'."
            )
        if self.outside == "clamp" and self.type == "string":
            raise SchemaError(
                f"{self.name}: text outside the enum has no nearest category. "
                "Set 'outside: other' or 'outside: refuse'."
            )
        if self.taxonomy is not None:
            self.taxonomy.refuse_unless_covers([written(value) for value in self.values], self.name)

    def _check_boolean(self) -> None:
        if (
            self.bins is not None
            or self.constraints.minimum is not None
            or self.constraints.maximum is not None
        ):
            raise SchemaError(f"{self.name}: a boolean has neither bounds nor bins. Remove them.")
        if self.outside == "clamp":
            raise SchemaError(
                f"{self.name}: a boolean cannot be clamped. Set 'outside: other' or 'outside: refuse'."
            )
        both = set(self.true_values) & set(self.false_values)
        if both:
            raise SchemaError(
                f"{self.name}: '{min(both)}' is both true and false. Keep it in one of the two lists."
            )

    @cached_property
    def kind(self) -> Kind:
        """How the domain is understood: a list of categories, or an ordered range."""
        if self.type == "string" or (self.type != "boolean" and self.constraints.enum is not None):
            return "ordinal" if self.categories_ordered else "categorical"
        if self.type in ("integer", "number", "boolean", "date", "datetime"):
            return self.type
        raise AssertionError(self.type)

    @cached_property
    def values(self) -> tuple[Value, ...]:
        """The categories in code order; only for fields with an enum and booleans."""
        if self.type == "boolean":
            return (False, True)
        enum = self.constraints.enum
        if enum is None and self.taxonomy is not None:
            return tuple(parse(self.type, leaf) for leaf in self.taxonomy.leaves)
        if not enum and not self.review:
            raise SchemaError(
                f"{self.name}: no categories are declared. List them under 'constraints: enum'."
            )
        return tuple(enum or ())

    @cached_property
    def edges(self) -> Edges:
        """The bins of an ordered range."""
        low, high = self.constraints.minimum, self.constraints.maximum
        if self.bins is not None and self.bins.edges:
            low = self.bins.edges[0] if low is None else low
            high = self.bins.edges[-1] if high is None else high
        if low is None or high is None:
            bound = "minimum" if low is None else "maximum"
            raise SchemaError(
                f"{self.name}: {noun(self.type)} without a {bound}. "
                f"Declare public bounds under 'constraints: minimum, maximum'."
            )
        start, end = position(low), position(high)
        if start > end:
            raise SchemaError(
                f"{self.name}: the minimum {written(low)} is above the maximum {written(high)}. "
                "Exchange them."
            )
        if self.whole and max(abs(start), abs(end)) > LARGEST_WHOLE:
            raise SchemaError(
                f"{self.name}: whole numbers beyond 2^53 are not exact. Declare narrower bounds."
            )
        if not math.isfinite(end - start):
            raise SchemaError(f"{self.name}: the range of the bounds is not finite. Declare narrower bounds.")
        bins = self.bins
        if bins is not None and bins.edges is not None:
            bins = Bins(edges=tuple(position(edge) for edge in bins.edges))
        return cut(self.name, start, end, self.whole, bins)

    @property
    def whole(self) -> bool:
        """Whether the values of a range are whole numbers, days or seconds."""
        return self.type in ("integer", "date", "datetime")

    @property
    def ranged(self) -> bool:
        """Whether the domain is an ordered range cut into bins."""
        return self.kind in ("integer", "number", "date", "datetime")

    @property
    def ordered(self) -> bool:
        return self.ranged or self.kind == "ordinal"

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """One label per category or bin, without the codes for missing and other values."""
        if not self.ranged:
            return tuple(written(value) for value in self.values)
        return tuple(self.span_label(code, code) for code in range(self.edges.count))

    def span_label(self, first: int, last: int) -> str:
        """The label of the bins first..last taken together."""
        low, high = self.edges.span(first)[0], self.edges.span(last)[1]
        start, end = written(at(self.type, low)), written(at(self.type, high))
        if self.whole:
            return start if low == high else f"{start}..{end}"
        if low == high:
            return start
        return f"[{start}, {end}{']' if last == self.edges.count - 1 else ')'}"

    @property
    def domain(self) -> str:
        """The declared domain in a few words, for messages."""
        if self.ranged:
            low, high = self.edges.low, self.edges.high
            return f"{written(at(self.type, low))}..{written(at(self.type, high))}"
        shown = ", ".join(repr(label) for label in self.labels[:5])
        return f"{shown} and {len(self.labels) - 5} more" if len(self.labels) > 5 else shown

    def with_bounds(self, minimum: Value, maximum: Value, bins: Bins | None = None) -> Field:
        """The same field with other public bounds (and bins), checked anew."""
        return self._with(
            constraints=Constraints(minimum=minimum, maximum=maximum),
            bins=bins if bins is not None else self.bins,
        )

    def with_categories(self, values: Sequence[Value], *, ordered: bool | None = None) -> Field:
        """The same field with another public list of categories, checked anew."""
        return self._with(
            constraints=Constraints(enum=tuple(values)),
            bins=None,
            taxonomy=None,
            categories_ordered=self.categories_ordered if ordered is None else ordered,
        )

    def _with(self, **changes: Any) -> Field:
        kept = {name: getattr(self, name) for name in type(self).model_fields}
        return Field(**{**kept, **changes})
