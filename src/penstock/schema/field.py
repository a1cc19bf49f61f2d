"""Fields: one column's public domain, in Frictionless Table Schema words with our extras beside."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal, get_args

from pydantic import Field as Range
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
MOST_DECIMALS = 9


def _read_tree(nested: object) -> Taxonomy:
    return nested if isinstance(nested, Taxonomy) else Taxonomy.from_nested(nested)


Tree = Annotated[Taxonomy, PlainValidator(_read_tree), PlainSerializer(lambda tree: tree.to_nested())]
Merged = Annotated[
    tuple[tuple[Any, tuple[Any, ...]], ...],
    SkipValidation,
    PlainSerializer(lambda pairs: {written(into): list(values) for into, values in pairs}),
]
"""For each category into which values are merged, these values."""


class Constraints(Fact):
    """The declared domain: a list of values, or bounds."""

    enum: Annotated[tuple[Any, ...], SkipValidation] | None = None
    minimum: Annotated[Any, SkipValidation] = None
    maximum: Annotated[Any, SkipValidation] = None


@dataclass(frozen=True)
class _Written:
    """The parts of a field as a document or a program writes them, on their way to its type."""

    where: str
    type: Type
    true: Sequence[str]
    false: Sequence[str]

    def inside(self, part: Callable[[Any], Any], given: Any) -> Any:
        """A mistake inside a part is a mistake of this field."""
        try:
            return part(given)
        except SchemaError as problem:
            named = str(problem).startswith(f"{self.where}: ")
            raise SchemaError(str(problem) if named else f"{self.where}: {problem}") from None

    def value(self, raw: object, what: str) -> Value:
        try:
            return parse(self.type, raw, self.true, self.false)
        except NotAValueError:
            hint = "Put it in quotes." if self.type == "string" else "Correct it."
            if raw is None:
                hint = "Remove it; missing values are declared with 'missing: value'."
            shown = "'null'" if raw is None else repr(raw)
            raise SchemaError(f"{what} {shown} is not {noun(self.type)}. {hint}") from None

    def values(self, raw: object, what: str) -> tuple[Value, ...]:
        if not isinstance(raw, Sequence) or isinstance(raw, str):
            raise SchemaError(f"{raw!r} is not a list of {what}s. Write it as a YAML list.")
        return tuple(self.value(each, what) for each in raw)

    def merged(self, given: Any) -> Merged:
        pairs = given.items() if isinstance(given, Mapping) else given
        if not isinstance(given, Mapping | tuple):
            raise SchemaError(f"merged is {given!r}. Write 'merged: {{elsewhere: [annex, tower]}}'.")
        return tuple(
            (self.value(into, "merged category"), self.values(values, "merged value"))
            for into, values in pairs
        )

    def constraints(self, given: Any) -> Constraints:
        if isinstance(given, Constraints):
            given = given.model_dump(exclude_none=True)
        if not isinstance(given, Mapping):
            raise SchemaError(f"constraints are {given!r}. Write 'constraints: {{minimum: 0, maximum: 99}}'.")
        result = dict(given)
        if given.get("enum") is not None:
            result["enum"] = self.values(given["enum"], "enum value")
        for bound in ("minimum", "maximum"):
            if given.get(bound) is not None:
                result[bound] = self.value(given[bound], bound)
        return Constraints.model_validate(result)

    def bins(self, given: Any) -> Bins:
        if isinstance(given, Bins):
            given = given.model_dump(exclude_none=True)
        if not isinstance(given, Mapping):
            raise SchemaError(
                f"bins are {given!r}. Write 'bins: {{count: 16}}', '{{width: 5}}' or '{{edges: [...]}}'."
            )
        result = dict(given)
        if given.get("edges") is not None:
            result["edges"] = self.values(given["edges"], "bin edge")
        if given.get("coarser") is not None:
            steps = given["coarser"]
            if not isinstance(steps, Sequence) or isinstance(steps, str):
                raise SchemaError(f"coarser is {steps!r}. Write a list of lists of edges, the finest first.")
            result["coarser"] = tuple(self.values(step, "bin edge") for step in steps)
        return Bins.model_validate(result)


class Field(Fact):
    """One column: its name, its type and its domain.

    ``outside`` says what happens to a value outside the domain: ``refuse`` it before anything is
    spent (default), ``clamp`` it to the nearest bound, map it to the category ``other``, or ``drop`` the
    whole record, where the kind of data has records that may lie elsewhere.
    ``missing`` says whether a missing value is a ``value`` with a code of its own or refused.
    ``spikes`` are values of a range that stand out, each with a bin of its own; ``decimals`` is how many
    of them a number has. ``merged`` lists for a category the values of the column that mean it as well.

    >>> Field(name="income", type="integer", constraints={"minimum": 0, "maximum": 90_000}).labels[:2]
    ('0..999', '1000..1999')
    """

    name: str
    type: Type = "string"
    title: str | None = None
    description: str | None = None
    constraints: Constraints = Constraints()
    categories_ordered: bool = False
    merged: Merged = ()
    bins: Bins | None = None
    spikes: Annotated[tuple[Any, ...], SkipValidation] = ()
    decimals: Annotated[int, Range(ge=0, le=MOST_DECIMALS)] | None = None
    taxonomy: Tree | None = None
    outside: Literal["clamp", "drop", "other", "refuse"] = "refuse"
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
        if not isinstance(data, Mapping) or data.get("type", "string") not in get_args(Type):
            return data
        true = data.get("trueValues", data.get("true_values")) or TRUE_VALUES
        false = data.get("falseValues", data.get("false_values")) or FALSE_VALUES
        written = _Written(cls._where(data), data.get("type", "string"), true, false)
        parts = {
            "constraints": written.constraints,
            "bins": written.bins,
            "spikes": lambda given: written.values(given, "spike"),
            "merged": written.merged,
            "taxonomy": _read_tree,
        }
        result = {key: value for key, value in data.items() if key not in parts}
        for key, part in parts.items():
            if data.get(key) is not None:
                result[key] = written.inside(part, data[key])
        return result

    @model_validator(mode="after")
    def _complete(self) -> Field:
        if not self.name:
            raise SchemaError("field: a name is empty. Name every field as its column is named.")
        _ = self.values if self.kind in ("categorical", "ordinal", "boolean") else self.edges
        if self.kind in ("categorical", "ordinal"):
            self._check_enum()
        if self.ranged:
            self._check_coarser()
        if self.outside == "drop" and not self.ranged:
            raise SchemaError(
                f"{self.name}: only what lies outside of bounds can be dropped. Set 'outside: other' or "
                "'outside: refuse'."
            )
        if self.spikes and not self.ranged:
            raise SchemaError(f"{self.name}: 'spikes' belong to a range of values. Remove them, or the enum.")
        if self.decimals is not None and self.type != "number":
            raise SchemaError(f"{self.name}: 'decimals' belong to a field of type 'number'. Remove them.")
        if self.kind not in ("categorical", "ordinal"):
            stray = {
                "taxonomy": self.taxonomy is not None,
                "merged": bool(self.merged),
                "categoriesOrdered": self.categories_ordered,
            }
            for key in (key for key, given in stray.items() if given):
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
        if self.merged:
            self._check_merged(seen)

    def _check_merged(self, categories: Mapping[str, Value]) -> None:
        if self.outside == "clamp":
            raise SchemaError(
                f"{self.name}: values cannot be merged where others are clamped. Set 'outside: other' or "
                "'outside: refuse'."
            )
        seen: dict[str, str] = {}
        for into, values in self.merged:
            name = written(into).strip(BLANKS)
            if name not in categories:
                raise SchemaError(
                    f"{self.name}: values are merged into '{name}', which is not in the enum. Add it there."
                )
            for key in (written(value).strip(BLANKS) for value in values):
                if key in categories:
                    raise SchemaError(
                        f"{self.name}: '{key}' is in the enum and merged into '{name}'. Remove one of them."
                    )
                if key == OTHER and self.outside == OTHER and self.type == "string":
                    raise SchemaError(
                        f"{self.name}: '{key}' is merged into '{name}', and values outside are called the "
                        "same. Add it to the enum, or remove 'outside: other'."
                    )
                if self.taxonomy is not None and key in self.taxonomy.inner_labels():
                    raise SchemaError(
                        f"{self.name}: '{key}' is a group of the taxonomy and merged into '{name}'. Rename "
                        "the group."
                    )
                if key in seen:
                    raise SchemaError(f"{self.name}: '{key}' is merged twice. Remove one of the two.")
                seen[key] = name

    def _check_coarser(self) -> None:
        if self.bins is None or self.bins.coarser is None:
            return
        if self.bins.adaptive:
            raise SchemaError(
                f"{self.name}: adaptive bins are found in the records, and nobody knows where they could be "
                "merged. Remove 'coarser', or 'adaptive'."
            )
        known = set(self.edges.values[1:-1])
        for step in self.coarser:
            stray = next((place for place in step if place not in known), None)
            if stray is not None:
                raise SchemaError(
                    f"{self.name}: the coarser edge {written(at(self.type, stray))} is not among the inner "
                    "edges of the bins, or of the step before it. Correct it."
                )
            known = set(step)

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
    def meanings(self) -> tuple[tuple[Value, int], ...]:
        """Every value that a column may hold and its code: the categories, then what is merged into them."""
        categories = [(value, code) for code, value in enumerate(self.values)]
        codes = {written(value).strip(BLANKS): code for value, code in categories}
        merged = [
            (value, codes[written(into).strip(BLANKS)]) for into, values in self.merged for value in values
        ]
        return (*categories, *merged)

    @cached_property
    def spellings(self) -> dict[str, int]:
        """The same, as they are written."""
        return {written(value): code for value, code in self.meanings}

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
        places = [position(value) for value in self.spikes]
        stray = next(
            (v for v, place in zip(self.spikes, places, strict=True) if not start <= place <= end), None
        )
        if stray is not None:
            raise SchemaError(
                f"{self.name}: the spike {written(stray)} is not between the minimum and the maximum. "
                "Widen the bounds, or remove it."
            )
        if len(set(places)) < len(places):
            raise SchemaError(f"{self.name}: a spike is given twice. Remove one of the two.")
        return cut(self.name, self.type, start, end, bins).singling_out(places)

    @cached_property
    def coarser(self) -> tuple[tuple[float, ...], ...]:
        """The inner edges that are left at each step of generalising, the finest first."""
        steps = () if self.bins is None or self.bins.coarser is None else self.bins.coarser
        return tuple(tuple(sorted({position(edge) for edge in step})) for step in steps)

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
        opening = f"[{start}"
        if self.spikes:
            before = math.nextafter(low, -math.inf)
            opening = f"({written(before)}" if before in map(position, self.spikes) else opening
        return f"{opening}, {end}{']' if last == self.edges.count - 1 else ')'}"

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

    def with_bins(self, bins: Bins) -> Field:
        """The same field cut in another way, checked anew."""
        return self._with(bins=bins)

    def _with(self, **changes: Any) -> Field:
        kept = {name: getattr(self, name) for name in type(self).model_fields}
        return Field(**{**kept, **changes})
