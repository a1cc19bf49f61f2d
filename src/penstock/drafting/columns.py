"""What a column looks like: its type, signs for missing values, spikes, decimals, and whom it tells apart.

All of this is read off the records, so that a draft marks whatever it takes from here for review.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from penstock.schema.bins import Edges
from penstock.schema.field import Field
from penstock.schema.reading import read
from penstock.schema.values import BLANKS, DATE, DATETIME, NUMBER, Type, written

MARKERS: Final = ("", "?", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL")
"""Texts that mean "missing" wherever they stand."""
SIGNS: Final = frozenset(
    [
        *("n", "x", ".", "..", "-", "--", "*", "#", "na", "n.a.", "none", "niu", "unknown", "missing"),
        *("refused", "not applicable", "not stated", "not known", "not available", "no answer", "don't know"),
        *("#n/a", "#na", "#value!"),
    ]
)
"""Texts that mean "missing" among numbers and dates, whatever their case."""
SENTINELS: Final = tuple(-float(digit * length) for digit in "987" for length in range(1, 6))
"""Numbers that stand for a missing value where all others are at least 0: -9, -99, -8, ...

So does -1 among amounts; among a few codes it may be one of them.
"""
_BEYOND: Final = re.compile("^(9+[6-9]|8{2,}|7{2,})$")
"""The digits of numbers that often stand for no amount far above all others: 99, 998, 9999, 88.8, ..."""
_PERIOD: Final = r"^[0-9]{4}-(W[0-9]{2}(-[1-7])?|[0-9]{2}|Q[1-4])$|^[0-2][0-9]:[0-5][0-9](:[0-5][0-9])?$"
"""Weeks, months, quarters and times of the day, whose texts are in the order of time."""
_MONEY = r"(EUR|USD|GBP|CHF|JPY|[$€£])"
_OTHERWISE: Final = {
    "numbers with separated thousands: write 1234.5 for 1,234.5": r"^[+-]?[0-9]{1,3}(,[0-9]{3})+(\.[0-9]+)?$",
    "numbers with a decimal comma: write 2.5 for 2,5": r"^[+-]?([0-9]+|[0-9]{1,3}([. '][0-9]{3})+),[0-9]+$",
    "percentages: write 25 for 25 %": r"^[+-]?[0-9]+([.,][0-9]+)? ?%$",
    "amounts of money: write 25 for 25 EUR": rf"^{_MONEY} ?-?[0-9.,]+$|^-?[0-9.,]+ ?{_MONEY}$",
    "dates: write 2026-11-30 for 30.11.2026": r"^[0-9]{1,2}[./-][0-9]{1,2}[./-][0-9]{2,4}( [0-9:]+)?$",
}
"""Numbers and dates that are not written as `penstock.schema.values` reads them, and how to write them."""
MOST_SIGNS: Final = 3
FEW: Final = 20
"""So many different whole numbers, or fewer, are codes where each of them repeats."""
MOST_CATEGORIES: Final = 256
MOST_SPIKES: Final = 5
_FINEST: Final = 6
_AROUND: Final = 5

_PERSON = r"(user|person|patient|customer|client|member|subject|subscriber|caller|employee|visitor|mrn)"
_NUMBER_OF = r"(id|uid|uuid|no|nr|num|key|number)"
_PEOPLE = re.compile(rf"^({_PERSON}|{_PERSON}?[_. -]?{_NUMBER_OF})$", re.IGNORECASE)
_RECORD = r"(case|record|row|index|invoice|order|account|policy|contract|ticket|trace|session|stay|admission)"
_IDENTIFIER = re.compile(
    r"^(.*[_.: -])?(id|uid|uuid|guid|ssn|key|nr|no|number)$"
    rf"|^{_RECORD}([_. -]?{_NUMBER_OF})?$"
    r"|^((first|last|sur|full)?[_ ]?name|e-?mail|phone)$",
    re.IGNORECASE,
)
_CAMEL = re.compile(r"^.*[a-z](Id|ID|No|Nr)$")
_CASE = re.compile(rf"^(case:(concept:name|id)|(.*[_. -])?{_RECORD}([_. -]?{_NUMBER_OF})?)$", re.IGNORECASE)
_EVENT = r"(activity|event|action|task|step|operation|page|symbol|state|status)"
_ACTIVITY = re.compile(rf"^(concept:name|(.*[_. -])?{_EVENT}([_. -]?name)?)$", re.IGNORECASE)


def identifies_a_person(name: str) -> bool:
    """Whether a column's name, which is public, says that it tells people apart."""
    return bool(_PEOPLE.match(name))


def identifies(name: str) -> bool:
    """Whether a column's name says that it tells records apart."""
    return bool(_IDENTIFIER.match(name) or _CAMEL.match(name) or _CASE.match(name))


@dataclass(frozen=True)
class Looks:
    """The type that fits every value of a column but for some `signs` that stand for missing ones.

    `type` is None for columns that are no plain values.
    """

    type: Type | None
    signs: tuple[str, ...] = ()


def looks(column: pl.Series, markers: tuple[str, ...]) -> Looks:
    """What a column holds; `markers` are the signs for missing values that hold everywhere."""
    dtype = column.dtype
    if dtype == pl.String or dtype == pl.Null:
        return _text(column.cast(pl.String), markers)
    if isinstance(dtype, pl.Categorical | pl.Enum):
        return Looks("string")
    if dtype == pl.Boolean:
        return Looks("boolean")
    if dtype.is_numeric():
        known = column.cast(pl.Float64).fill_nan(None).drop_nulls()
        whole = dtype.is_integer() or (len(known) > 0 and bool((known == known.floor()).all()))
        return Looks("integer" if whole else "number", _sentinels(known))
    if dtype == pl.Date:
        return Looks("date")
    return Looks("datetime" if isinstance(dtype, pl.Datetime) else None)


def _text(column: pl.Series, markers: tuple[str, ...]) -> Looks:
    stripped = column.str.strip_chars(BLANKS).drop_nulls()
    stripped = stripped.filter(~stripped.is_in(list(markers)))
    texts = stripped.unique()
    found = _fits(texts)
    if found is None:
        signs = _signs(stripped, texts)
        rest = texts.filter(~texts.is_in(signs))
        found = _fits(rest) if signs and not rest.is_empty() else None
        if found is None or found == "boolean":
            return Looks("string")
        stripped = stripped.filter(~stripped.is_in(signs))
    else:
        signs = []
    if found in ("integer", "number"):
        return Looks(found, (*signs, *_sentinels(stripped.cast(pl.Float64))))
    return Looks(found, tuple(signs))


def _signs(values: pl.Series, texts: pl.Series) -> list[str]:
    """The few texts among numbers or dates that stand for a missing value, most frequent first.

    Words that often mean it are taken for one; another text only where it repeats among many values.
    """
    odd = texts.filter(~(texts.str.contains(NUMBER) | texts.str.contains(DATETIME)))
    if not 0 < len(odd) <= MOST_SIGNS:
        return []
    times = {text: int((values == text).sum()) for text in odd.to_list()}
    many = len(texts) - len(odd) > FEW
    known = all(text.lower() in SIGNS or (many and times[text] > 1) for text in times)
    return sorted(times, key=lambda text: (-times[text], text)) if known else []


def _sentinels(numbers: pl.Series) -> tuple[str, ...]:
    """Numbers such as -9 that repeat where everything else is at least 0."""
    negative = numbers.filter(numbers < 0)
    known = SENTINELS if numbers.n_unique() <= FEW else (*SENTINELS, -1.0)
    if not 1 < len(negative) < len(numbers) or not negative.is_in(list(known)).all():
        return ()
    return tuple(written(value) for value in sorted(negative.unique().to_list(), reverse=True))


def far_above(numbers: pl.Series) -> list[float]:
    """The few values that lie further above all others than those lie apart.

    Each is that of at least 1 record in 100, or has the digits of a number that stands for no amount and
    more than one record.
    """
    different = numbers.unique().sort().to_numpy()
    if len(different) <= FEW:
        return []
    gaps = np.diff(different)
    last = len(gaps) - 1 - int(np.argmax(gaps[::-1]))
    far: list[float] = different[last + 1 :].tolist()
    if len(far) > MOST_SIGNS or last < FEW or gaps[last] <= different[last] - different[0]:
        return []
    times = {value: int((numbers == value).sum()) for value in far}
    known = {value for value in far if _BEYOND.match(written(value).replace(".", ""))}
    often = all(times[value] > 1 and (value in known or 100 * times[value] >= len(numbers)) for value in far)
    return far if often else []


def written_otherwise(texts: pl.Series) -> str | None:
    """What texts seem to be that are numbers or dates, but not written so that they are read as such.

    Whole numbers among them are written alike either way.
    """
    odd = texts.filter(~texts.str.contains(NUMBER))
    seems = (words for words, pattern in _OTHERWISE.items() if odd.str.contains(pattern).all())
    return None if odd.is_empty() else next(seems, None)


def in_order_of_time(texts: pl.Series) -> bool:
    """Whether all texts are weeks, months, quarters or times of the day, written as ISO 8601 does."""
    return len(texts) > 2 and bool(texts.str.contains(_PERIOD).all())


def _fits(texts: pl.Series) -> Type | None:
    """The type that all of some different texts have; None where it is text."""
    if texts.is_empty():
        return "string"
    if texts.str.contains(NUMBER).all():
        numbers = texts.cast(pl.Float64, strict=False)
        if texts.str.contains("^[+-]?0[0-9]").any() or not numbers.is_finite().all():
            return "string"
        whole = (numbers == numbers.floor()).all() and not texts.str.contains(r"\.").any()
        return "integer" if whole else "number"
    if texts.str.to_lowercase().is_in(["true", "false"]).all():
        return "boolean"
    if texts.str.contains(DATE).all() and _readable(texts, "date"):
        return "date"
    return "datetime" if texts.str.contains(DATETIME).all() and _readable(texts, "datetime") else None


def _readable(texts: pl.Series, kind: Type) -> bool:
    return not read(Field.model_construct(name="", type=kind), texts, ()).unreadable.any()


def few(values: Sequence[object] | pl.Series, different: int, most: int = FEW) -> bool:
    """Whether whole numbers are so few, and repeat so often, that they are codes rather than amounts."""
    return different <= most and len(values) >= 4 * different


def mostly_different(column: pl.Series) -> bool:
    """Whether more than every second record has a value of its own."""
    different = column.n_unique()
    return different > FEW and 2 * different > len(column)


def numbers_records(column: pl.Series, type_: Type) -> bool:
    """Whether whole numbers are long and all different, as numbers of cases and accounts are."""
    if type_ != "integer":
        return False
    numbers = column.cast(pl.Float64, strict=False).drop_nulls()
    if len(numbers) <= FEW or numbers.n_unique() < len(numbers) or not (numbers >= 1e5).all():
        return False
    rising = bool(numbers.is_sorted()) or bool(numbers.is_sorted(descending=True))
    return _equally_long(numbers) and (rising or bool((numbers >= 1e6).all()))


def _equally_long(numbers: pl.Series) -> bool:
    """Whether whole numbers have six digits or more, all of them as many."""
    digits = np.floor(np.log10(np.maximum(numbers.to_numpy(), 1)))
    return bool(digits.min() >= 5 and digits.min() == digits.max())


def repeats_like_an_identifier(column: pl.Series, type_: Type) -> bool:
    """Whether each of many values has a few records, all of them about as many: as people come back.

    A name that says so is believed. Without one texts with digits are, and long numbers of one length that
    are not round, because other whole amounts may repeat as evenly.
    """
    times = column.drop_nulls().value_counts(sort=False, name="times")["times"].to_numpy()
    different, records = len(times), int(times.sum())
    if type_ not in ("string", "integer") or different <= FEW or not 1.2 <= records / different <= 50:
        return False
    if times.max() > 10 + 6 * records / different:
        return False
    if identifies_a_person(column.name) or identifies(column.name):
        return True
    if different <= MOST_CATEGORIES:
        return False
    if type_ == "integer":
        numbers = column.cast(pl.Float64, strict=False).drop_nulls()
        return _equally_long(numbers) and 2 * int((numbers % 10 == 0).sum()) < len(numbers)
    texts = column.drop_nulls().cast(pl.String)
    return int(texts.str.contains("[0-9]").sum()) > 0.9 * len(texts)


def usual_number(column: pl.Series) -> int:
    """A round number of records that nine of ten values do not exceed."""
    times = column.drop_nulls().value_counts(sort=False, name="times")["times"].to_numpy()
    usual = float(np.quantile(times, 0.9))
    return next((many for many in (1, 2, 3, 5, 10, 20) if many >= usual), 50)


def decimals_of(values: NDArray[np.float64]) -> int | None:
    """How many decimals some numbers have at most; None for more than people write."""
    return next((many for many in range(_FINEST + 1) if (np.round(values, many) == values).all()), None)


def spikes_in(values: NDArray[np.float64], edges: Edges) -> list[float]:
    """The values that stand out most: at least 1 in 30, and five times what is usual among those around them.

    What is usual over all of a range is no measure: amounts are frequent where there are many of them.
    """
    different, times = np.unique(values, return_counts=True)
    if len(different) <= FEW:
        return []
    around = np.lib.stride_tricks.sliding_window_view(np.pad(times, _AROUND, mode="reflect"), 2 * _AROUND + 1)
    high = (30 * times >= len(values)) & (times >= 5 * np.median(around, axis=1))
    spans = [edges.span(int(code)) for code in edges.codes(different)]
    wide = np.array([low < high for low, high in spans])
    largest = [place for place in np.argsort(-times, kind="stable") if high[place] and wide[place]]
    return sorted(float(different[place]) for place in largest[:MOST_SPIKES])


@dataclass(frozen=True)
class EventLog:
    """The columns of an event log: whose events they are, when they were, what they were.

    `named` says whether their names, and not their values alone, say so.
    """

    case: str
    time: str | None
    activity: str
    named: bool


def event_log(frame: pl.DataFrame, markers: tuple[str, ...]) -> EventLog | None:
    """The event log that a frame seems to be, from names, types and repetitions; None where it seems none."""
    types = {column.name: looks(column, markers).type for column in frame}
    different = {name: frame[name].n_unique() for name, type_ in types.items() if type_ is not None}

    def first(names: Sequence[str]) -> str | None:
        """The first of some columns whose values repeat, or the first of them."""
        repeated = [name for name in names if 3 * different[name] <= 2 * frame.height]
        return next(iter([*repeated, *names]), None)

    times = [name for name in different if types[name] in ("date", "datetime")]
    plain = [name for name in different if types[name] in ("string", "integer")]
    hinted = [
        first([name for name in plain if test(name)])
        for test in (lambda name: bool(_CASE.match(name)), identifies_a_person, identifies)
    ]
    alike = [name for name in plain if repeats_like_an_identifier(frame[name], types[name] or "string")]
    case = next((name for name in [*hinted, *alike] if name is not None), None)
    if case is None and times:  # with a time beside them, whatever comes back a few times may be cases
        case = next((name for name in plain if FEW < different[name] <= frame.height / 2), None)
    symbols = [name for name in plain if name != case and different[name] <= MOST_CATEGORIES]
    named = [name for name in symbols if _ACTIVITY.match(name)]
    if case is None or not symbols:
        return None
    moments = sorted(times, key=lambda name: (types[name] != "datetime", name != "time:timestamp"))
    words = [name for name in symbols if types[name] == "string"]
    return EventLog(
        case, next(iter(moments), None), next(iter([*named, *words, *symbols])), bool(named and hinted[0])
    )
