"""A fact: a frozen pydantic model whose mistakes come back as one sentence with a remedy."""

import difflib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, ModelWrapValidatorHandler, ValidationError, model_validator
from pydantic.alias_generators import to_camel

from penstock.errors import SchemaError


def nearest(word: object, known: Iterable[object]) -> str:
    """' (did you mean ...?)' when a known word is close, else nothing.

    >>> nearest("agee", ["age", "sex"])
    " (did you mean 'age'?)"
    """
    words = [str(each) for each in known]
    lowered = {each.lower(): each for each in reversed(words)}
    text = str(word).lower()
    close = difflib.get_close_matches(text, lowered, n=1, cutoff=0.6)
    return f" (did you mean '{lowered[close[0]]}'?)" if close else ""


def refuse_unknown_keys(
    model: type[BaseModel], data: Mapping[str, object], where: str, known: Sequence[str] = ()
) -> None:
    """A misspelt key must not be ignored: it may be the one that protects."""
    known = known or keys_of(model)
    for key in data:
        if key not in known and key not in model.model_fields:
            raise SchemaError(
                f"{where}: unknown key '{key}'{nearest(key, known)}. Known keys are {', '.join(known)}."
            )


def keys_of(model: type[BaseModel]) -> list[str]:
    """The keys of a model as they are written in a file."""
    return [info.alias or name for name, info in model.model_fields.items()]


class Fact(BaseModel):
    """A public fact: immutable, no unknown keys, Frictionless spelling (camelCase) in files."""

    model_config = ConfigDict(frozen=True, extra="forbid", alias_generator=to_camel, populate_by_name=True)

    @classmethod
    def _where(cls, data: Any) -> str:
        """How an error message names the place where the mistake is."""
        return cls.__name__.lower()

    @classmethod
    def _keys(cls, data: Mapping[str, Any]) -> list[str]:
        """The keys that may be given."""
        return keys_of(cls)

    @model_validator(mode="wrap")
    @classmethod
    def _in_one_sentence(cls, data: Any, handler: ModelWrapValidatorHandler[Self]) -> Self:
        if isinstance(data, Mapping):
            refuse_unknown_keys(cls, data, cls._where(data), cls._keys(data))
        try:
            return handler(data)
        except ValidationError as problem:
            raise SchemaError(sentence(problem, cls._where(data))) from None


def sentence(problem: ValidationError, where: str) -> str:
    """The first of pydantic's complaints, as one sentence that names the place and the remedy."""
    first = problem.errors()[0]
    path = ".".join(str(part) for part in first["loc"])
    at = f"{where}: '{path}'" if path else f"{where}:"
    given = first.get("input")
    match first["type"]:
        case "missing":
            return f"{at} is missing. Add it."
        case "literal_error" | "enum":
            expected = first.get("ctx", {}).get("expected", "one of the known words")
            return f"{at} is {given!r}; write one of {expected}."
        case "extra_forbidden":
            return f"{at} is an unknown key. Remove it."
        case "value_error":
            return str(first.get("ctx", {}).get("error", first["msg"])) + "."
        case "model_type" | "dict_type" | "model_attributes_type":
            return f"{at} is {given!r}, not a mapping. Write it as 'key: value' lines."
        case "tuple_type" | "list_type":
            return f"{at} is {given!r}, not a list. Write it as a YAML list."
        case _:
            return f"{at} is {given!r}: {first['msg'][0].lower()}{first['msg'][1:]}. Correct this value."
