"""Release folders of earlier formats, told in today's words.

The number in datapackage.json counts the changes of format that a reader must know of. A newer number than
ours is refused; an older one is brought here step by step to what the rest of the house reads. Folders are
never rewritten: what was published stays as it was.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.schema.values import NotAValueError, parse, position

FORMAT = 4

_ANSWERS_1 = {"marginals": "counts", "selection": "selection", "top-strings": "selection"}
_FORMS_1 = {"privbayes": "network"}
_KINDS_1 = {"select-items": "itemsets", "select-categories": "table"}
_BLOCKS_1 = {"sequence": "sequences", "items": "itemsets"}

_LACKING_2 = {form: {"length_deviation": 0.0, "gap_scale": 0.0} for form in ("suffix-tree", "n-gram")}
_TOLD_2 = {"selection": ("mechanism",), "simple-tree": ("inner",)}

_BINS_3, _SINGLE_3 = 16, 64
_CODED_3 = ("table", "sequences")
"""The kinds whose ranges are coded in bins."""


def upgraded(about: dict[str, Any]) -> dict[str, Any]:
    """The object `penstock` of a data package in today's format; unchanged where it is of no earlier one.

    >>> upgraded({"format": 1, "form": "selection", "kind": "selection", "method": "select-items"})
    {'format': 4, 'form': 'selection', 'kind': 'itemsets', 'method': 'select-items', 'answer': 'selection'}
    """
    made = about.get("format")
    if type(made) is int and made == 1 and "answer" not in about:
        return upgraded(_from_1(about))
    return {**about, "format": FORMAT} if type(made) is int and made in (2, 3) else about


def upgraded_schema(facts: dict[str, Any], made: int) -> dict[str, Any]:
    """The schema of a folder of format `made` as a schema of today.

    In the first format a schema could hold the block of another kind of data, which nothing ever read; today
    it is taken for a mistake. Before the fourth, a range without bins had one for each of up to 64 whole
    values, else sixteen of one width.

    >>> upgraded_schema({"kind": "points", "sequence": {"symbol": "x"}}, 1)
    {'kind': 'points'}
    >>> age = {"name": "age", "type": "integer", "constraints": {"minimum": 0, "maximum": 99}}
    >>> upgraded_schema({"fields": [age]}, 3)["fields"][0]["bins"]
    {'count': 16}
    """
    kind = facts.get("kind", "table")
    foreign = {key for key, owner in _BLOCKS_1.items() if made == 1 and owner != kind}
    told = {key: stated for key, stated in facts.items() if key not in foreign}
    fields = told.get("fields")
    if made <= 3 and kind in _CODED_3 and isinstance(fields, list):
        told["fields"] = [_with_bins_3(field) for field in fields]
    return told


def _with_bins_3(field: Any) -> Any:
    """A range that says nothing about bins, with those that it had before the fourth format."""
    if not isinstance(field, dict) or field.get("bins") is not None:
        return field
    type_, bounds = field.get("type"), field.get("constraints")
    if type_ not in ("integer", "number", "date", "datetime") or not isinstance(bounds, dict):
        return field
    try:
        ends = [position(parse(type_, bounds.get(end))) for end in ("minimum", "maximum")]
    except NotAValueError:
        return field
    if bounds.get("enum") is not None or ends[0] > ends[1]:
        return field
    values = int(ends[1]) - int(ends[0]) + 1
    count = 1 if ends[0] == ends[1] else _BINS_3
    single = type_ != "number" and values <= _SINGLE_3
    return {**field, "bins": {"count": values if single else count}}


def upgraded_model(
    form: str, facts: Mapping[str, Any], parameters: Mapping[str, Any], made: int
) -> dict[str, Any]:
    """The model.json of a folder of format `made` with all keys that its form has today.

    Before the third format, releases of sequences had counted neither lengths nor times, and two facts that
    decide about error bars and caveats were said among the parameters alone.

    >>> upgraded_model("n-gram", {"longest": 6}, {}, 2)
    {'longest': 6, 'length_deviation': 0.0, 'gap_scale': 0.0}
    >>> upgraded_model("selection", {"field": "sex"}, {"mechanism": "histogram"}, 2)
    {'field': 'sex', 'mechanism': 'histogram'}
    """
    if made > 2:
        return dict(facts)
    told = {key: parameters[key] for key in _TOLD_2.get(form, ()) if key in parameters}
    lacking = {**_LACKING_2.get(form, {}), **told}
    return {**facts, **{key: fact for key, fact in lacking.items() if key not in facts}}


def _from_1(about: dict[str, Any]) -> dict[str, Any]:
    """Format 1 had no kind of answer, and gave selections a kind of their own in place of their data's.

    What is now the method confluence was a preset of privbayes, after which the form of both was called.
    """
    form, kind, method = (about.get(key) for key in ("form", "kind", "method"))
    parameters = about.get("parameters")
    ours = isinstance(parameters, dict) and parameters.get("preset") == "adaptive"
    return {
        **about,
        "format": 2,
        "form": _FORMS_1.get(str(form), form),
        "method": "confluence" if method == "privbayes" and ours else method,
        "kind": _KINDS_1.get(str(method), kind) if kind == "selection" else kind,
        "answer": _ANSWERS_1.get(str(form), "synthetic data"),
    }
