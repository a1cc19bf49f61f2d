"""DDI-Codebook: the XML of data archives. Nothing in it is expanded, fetched or run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.errors import UsageError
from penstock.review.codebooks.entry import Entry

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element


def read(content: bytes, source: str) -> list[Entry]:
    """The variables of a codebook in any 1.x or 2.x version, whatever its namespace."""
    try:
        from defusedxml.common import DefusedXmlException
        from defusedxml.ElementTree import ParseError, fromstring
    except ModuleNotFoundError:
        raise UsageError(
            "DDI codebooks are read with defusedxml; install it with 'pip install penstock[codebooks]'."
        ) from None
    try:
        root = fromstring(content, forbid_dtd=False, forbid_entities=True, forbid_external=True)
    except DefusedXmlException:
        raise UsageError(
            f"'{source}' declares XML entities, which a codebook does not need; remove its DOCTYPE."
        ) from None
    except (ParseError, LookupError, ValueError) as problem:  # also an encoding that nobody knows
        raise UsageError(f"'{source}' is not valid XML: {problem}.") from None
    found = [_entry(each) for each in root.iter() if _tag(each) == "var" and each.get("name")]
    if not found:
        raise UsageError(f"'{source}' describes no variable: a DDI codebook has 'var' elements.")
    return found


def _entry(variable: Element) -> Entry:
    values: dict[str, str] = {}
    signs: list[str] = []
    for category in _children(variable, "catgry"):
        code = _words(next(iter(_children(category, "catValu")), None))
        if code and category.get("missing", "N").upper() in ("Y", "YES", "TRUE"):
            signs.append(code)
        elif code:
            values[code] = _words(next(iter(_children(category, "labl")), None))
    low = high = None
    for limits in _children(variable, "valrng"):
        for span in _children(limits, "range"):
            low, high = span.get("min"), span.get("max")
    signs += [
        each.get("VALUE") or each.get("value") or ""
        for limits in _children(variable, "invalrng")
        for each in _children(limits, "item")
    ]
    question = next(iter(_children(variable, "qstn")), None)
    asked = None if question is None else next(iter(_children(question, "qstnLit")), question)
    continuous = variable.get("intrvl") == "contin" and low is not None and high is not None
    return Entry(
        name=str(variable.get("name")),
        title=_words(next(iter(_children(variable, "labl")), None)),
        description=_words(asked),
        values={} if continuous else values,
        low=low,
        high=high,
        ordered=variable.get("nature") == "ordinal",
        spikes=tuple(values) if continuous else (),
        signs=tuple(sign for sign in signs if sign),
    )


def _tag(element: Element) -> str:
    return element.tag.rpartition("}")[2]


def _children(element: Element, name: str) -> list[Element]:
    return [each for each in element if _tag(each) == name]


def _words(element: Any) -> str:
    return "" if element is None else " ".join("".join(element.itertext()).split())
