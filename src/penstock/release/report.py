"""The public report of a release: one page that opens anywhere and asks the network for nothing.

It shows only what the release knows, so it may be published with it.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from fractions import Fraction
from importlib.metadata import PackageNotFoundError, version
from math import exp
from typing import Any

from penstock.privacy.receipt import Apart, Charge, Entry, Receipt, plain
from penstock.release.page import (
    Commands,
    Gallery,
    Gauge,
    Headline,
    Points,
    Section,
    Table,
    Text,
    percent,
    render,
)
from penstock.release.release import Picture, Release
from penstock.release.theme import PALETTE, figure, ink_on, mixed, safe
from penstock.schema import Field, Relation, Schema

FEW_CHARGES = 40
WEAK_EPSILON = 5

_SEEDED = (
    "Not publishable: made with a fixed seed. Whoever knows the seed can subtract the noise, so this release "
    "protects nobody; it is good for tests and studies only."
)


def report(release: Release, *, title: str | None = None) -> str:
    """The page for people: guarantee, receipt, pictures, model, schema, how to use it, limits."""
    name = title or release.schema.title or f"{release.method} release"
    fields = len(release.schema.fields)
    pictures = list(release.pictures())
    sections = [
        Section(
            "What was paid",
            _receipt_blocks(release.receipt),
            short="Receipt",
            lead=(
                "Every look at the records costs privacy. These are all the looks that were taken, what each of them "
                "cost, and how they add up."
            ),
        ),
        *(
            [
                Section(
                    "The released data",
                    [Gallery(pictures)],
                    short="Pictures",
                    lead=(
                        "Drawn from the release alone. Noise has been added to every count, so small amounts are uncertain."
                    ),
                )
            ]
            if pictures
            else []
        ),
        Section("The model", _model_blocks(release), short="Model"),
        Section(
            "What was public beforehand",
            [_fields_table(release.schema)],
            short="Schema",
            lead=(
                "The custodian declared these fields and their domains; none of it was read from the records by this "
                "release."
            )
            if not release.unreviewed
            else "",
        ),
        Section("How to use it", [Commands(_commands(release, name))], short="Use"),
        Section("Limits", [Points([*release.limits(), *_limits(release)])], short="Limits"),
    ]
    banner = None if release.publishable else _SEEDED
    return render(
        name,
        sections,
        eyebrow="Differentially private release",
        subtitle=release.schema.description
        or (
            f"{_KINDS.get(release.kind, release.kind)} with {fields} {'field' if fields == 1 else 'fields'}, released "
            f"by the method {release.method}."
        ),
        headline=_headline(release.receipt, release.schema.size),
        banner=banner,
        footer=f"Made with Penstock {_version()}. This page is complete in itself and loads nothing from the network.",
    )


_KINDS = {
    "table": "A table",
    "points": "Points on a map",
    "sequences": "Sequences",
    "itemsets": "Item sets",
    "graph": "A graph",
    "calls": "Call records",
}


def belief(epsilon: Fraction) -> tuple[float, float]:
    """From fifty-fifty, the least and the most that an observer can come to believe.

    Bayes: the odds move by a factor of at most e^epsilon in either direction.

    >>> [round(bound, 2) for bound in belief(Fraction(1))]
    [0.27, 0.73]
    """
    most = 1 / (1 + exp(-float(epsilon)))
    return 1 - most, most


def meaning(receipt: Receipt) -> list[str]:
    """The guarantee for somebody who has never heard of differential privacy."""
    whose = _WHOSE[receipt.unit.protects]
    least, most = belief(receipt.epsilon)
    if receipt.relation is Relation.ADD_REMOVE:
        doubt = f"whether {whose.yours} {whose.verb} in the data at all"
    else:
        doubt = f"which of two possible contents {whose.yours} {whose.had}"
    paragraphs = [
        f"Suppose somebody wants to find out {doubt}, and believes that the chances are fifty-fifty. However long "
        f"they study this release, and whatever else they know or compute, they can end up at most "
        f"{percent(most)} sure. That holds for every {whose.one} in the data, now and in the future.",
    ]
    if receipt.delta:
        paragraphs.append(f"With a chance of about {plain(receipt.delta)} (delta), this bound may fail.")
    if receipt.epsilon > WEAK_EPSILON:
        paragraphs.append(
            "This is a weak guarantee: an epsilon above 5 leaves an observer little doubt in the worst case."
        )
    if receipt.unit.protects == "user":
        paragraphs.append(
            f"What is protected is everything that one user contributed, up to {receipt.unit.at_most} "
            f"{'record' if receipt.unit.at_most == 1 else 'records'}; what went beyond was left out at "
            "random."
        )
    return paragraphs


class _Whose:
    def __init__(self, one: str, yours: str, verb: str, had: str) -> None:
        self.one, self.yours, self.verb, self.had = one, yours, verb, had


_WHOSE = {
    "record": _Whose("record", "your record", "is", "has"),
    "user": _Whose("user", "your records", "are", "have"),
    "edge": _Whose("connection", "one of your connections", "is", "has"),
    "node": _Whose("node", "you, with all your connections,", "are", "have"),
}


def _headline(receipt: Receipt, size: int | None) -> Headline:
    least, most = belief(receipt.epsilon)
    price = "the most that this release can reveal about one " + _WHOSE[receipt.unit.protects].one
    facts = [
        ("Protected", _sentence(receipt.unit.words)),
        ("Neighbouring data", _sentence(receipt.relation.words)),
        (
            "Kind of guarantee",
            "Pure differential privacy"
            if not receipt.delta
            else f"Approximate, delta {plain(receipt.delta)}",
        ),
        ("Ledger", f"Entry {receipt.ledger}" if receipt.ledger else "In no ledger"),
    ]
    if size is not None and receipt.relation is Relation.REPLACE:
        facts.insert(2, ("Number of records", f"{size:,}, a public number"))
    return Headline(
        value=f"ε = {plain(receipt.epsilon)}",
        label=price,
        title="What is promised",
        paragraphs=meaning(receipt),
        gauge=Gauge(
            least,
            most,
            low_text=f"at least {percent(least)}".replace("at least less", "less"),
            high_text=f"at most {percent(most)}".replace("at most more than 99.9 %", "nearly certain"),
            caption="What an observer who starts at 50 % can come to believe. The shorter the blue bar, the "
            "stronger the protection.",
        ),
        facts=facts,
    )


def _receipt_blocks(receipt: Receipt) -> list[Any]:
    rows, indents, strong = [], [], []
    for depth, entry in _walk(receipt.paid.parts, 0):
        epsilon, delta = entry.cost
        if isinstance(entry, Charge):
            how = entry.mechanism + (f": {entry.detail}" if entry.detail else "")
        else:
            how = (
                "disjoint records: the dearest part counts"
                if isinstance(entry, Apart)
                else "the parts add up"
            )
        cells = [entry.label, how, entry.sensitivity if isinstance(entry, Charge) else "", plain(epsilon)]
        rows.append([*cells, plain(delta)] if receipt.budget_delta else cells)
        indents.append(depth)
    total = ["Total", "", "", plain(receipt.epsilon)]
    budget = ["Budget", "", "", plain(receipt.budget_epsilon)]
    if receipt.budget_delta:
        total.append(plain(receipt.delta))
        budget.append(plain(receipt.budget_delta))
    strong.append(len(rows))
    rows += [total, budget]
    indents += [0, 0]
    columns = ["what was looked at", "mechanism", "sensitivity", "epsilon"] + ["delta"] * bool(
        receipt.budget_delta
    )
    many = len(rows) > FEW_CHARGES
    table = Table(
        columns,
        rows,
        indents=indents,
        strong=strong,
        folded=many,
        caption=f"All {len(rows) - 2} lines of the receipt" if many else "",
    )
    return [receipt_picture(receipt), table] if receipt.epsilon else [table]


def _walk(entries: tuple[Entry, ...], depth: int) -> Iterator[tuple[int, Entry]]:
    for entry in entries:
        yield depth, entry
        if not isinstance(entry, Charge):
            yield from _walk(entry.parts, depth + 1)


def receipt_picture(receipt: Receipt) -> Picture:
    """The receipt as areas: the whole on the left, the single charges on the right."""
    import plotly.graph_objects as go

    ids, labels, parents, areas, colours, words = (
        ["0"],
        ["<b>Total</b>"],
        [""],
        [1.0],
        ["#0a2a43"],
        [plain(receipt.epsilon)],
    )

    def place(entry: Entry, parent: str, area: float, colour: str, depth: int) -> None:
        name = str(len(ids))
        ids.append(name)
        labels.append(safe(entry.label, 40))
        parents.append(parent)
        areas.append(area)
        colours.append(mixed(colour, "#ffffff", max(0.45, 1 - 0.28 * depth)))
        words.append(plain(entry.cost[0]))
        if not isinstance(entry, Charge):
            # Disjoint parts share the area of the dearest: together they cost no more than that.
            whole = sum(part.cost[0] for part in entry.parts)
            for part in entry.parts:
                if whole and part.cost[0]:
                    place(part, name, area * float(part.cost[0] / whole), colour, depth + 1)

    parts = [part for part in receipt.paid.parts if part.cost[0]]
    for index, part in enumerate(parts):
        place(part, "0", float(part.cost[0] / receipt.epsilon), PALETTE[index % len(PALETTE)], 0)
    depth = max((level for level, _ in _walk(receipt.paid.parts, 0)), default=0)
    leaves = sum(1 for _ in receipt.charges())
    drawn = figure(
        [
            go.Icicle(
                ids=ids,
                labels=labels,
                parents=parents,
                values=areas,
                branchvalues="total",
                sort=False,
                maxdepth=depth + 2,
                text=[f"ε {word}" for word in words],
                textinfo="label+text",
                tiling={"orientation": "h", "pad": 2},
                marker={"colors": colours, "line": {"width": 0}},
                pathbar={"visible": False},
                textfont={"color": [ink_on(colour) for colour in colours], "size": 13},
                hovertemplate="%{label}<br><b>%{text}</b><extra></extra>",
                root={"color": "#0a2a43"},
            )
        ],
        height=min(640, max(220, 30 * leaves)),
        margin={"l": 0, "r": 0, "t": 0, "b": 0},
        uniformtext={"minsize": 9, "mode": "hide"},
    )
    largest = max(receipt.charges(), key=lambda item: item[1].epsilon)[1]
    caption = (
        f"{leaves} {'charge' if leaves == 1 else 'charges'} make up epsilon {plain(receipt.epsilon)}; the largest "
        f"single one is {largest.label} with {plain(largest.epsilon)}."
    )
    return Picture("Where the privacy budget went", caption, drawn, wide=True)


def _model_blocks(release: Release) -> list[Any]:
    words = list(release.explain()) or [f"The model was made by the method {release.method}."]
    blocks: list[Any] = [Text(words)]
    if release.parameters:
        rows = [[str(name), _shown(value)] for name, value in release.parameters.items()]
        blocks.append(Table(["parameter", "value"], rows))
    return blocks


def _shown(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(_shown(each) for each in value)
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_shown(each)}" for key, each in value.items())
    return (
        {True: "yes", False: "no", None: "–"}.get(value, str(value))
        if value is None or isinstance(value, bool)
        else str(value)
    )


def _fields_table(schema: Schema) -> Table:
    rows = [
        [field.title or field.name, field.kind, _domain(field), _cut(schema, field), _strays(field)]
        for field in schema.fields
    ]
    return Table(["field", "kind", "domain", "seen as", "other values"], rows)


def _domain(field: Field) -> str:
    if field.ranged:
        return field.domain.replace("..", " to ")
    shown = ", ".join(field.labels[:12])
    return f"{shown} and {len(field.labels) - 12} more" if len(field.labels) > 12 else shown


def _cut(schema: Schema, field: Field) -> str:
    size = schema.attribute(field.name).size
    noun = "bin" if field.ranged else "category"
    plural = {"bin": "bins", "category": "categories"}[noun]
    return f"{size} {noun if size == 1 else plural}"


def _strays(field: Field) -> str:
    outside = {"clamp": "clamped to the domain", "other": "counted as other", "refuse": "refused"}[
        field.outside
    ]
    missing = ", missing is a value" if field.missing == "value" else ""
    note = ", not reviewed" if field.review else ""
    return outside + missing + note


def _commands(release: Release, folder: str) -> list[tuple[str, str]]:
    place = shlex.quote(folder)
    lines = [("See what it is and what was paid", f"penstock inspect {place}")]
    if release.can_sample:
        lines.append(
            (
                "Draw synthetic rows, as many as you like, at no further privacy cost",
                f"penstock sample {place} -n 10000 -o rows.csv",
            )
        )
    example = release.example()
    if release.can_query and example:
        lines.append(("Ask it", f"penstock query {place} {shlex.quote(example)}"))
    code = ["from penstock.release import load", "", f"release = load({folder!r})"]
    if release.can_sample:
        code.append("rows = release.sample(10_000)")
    if release.can_query and example:
        code.append(f"answer = release.query({example!r})")
    lines.append(("The same in Python", "\n".join(code)))
    return lines


def _limits(release: Release) -> list[str]:
    receipt = release.receipt
    sentences = [
        "The promise is about this release. Other releases from the same records add to the cost; "
        + (
            f"the custodian's ledger keeps the sum (entry {receipt.ledger})."
            if receipt.ledger
            else "this release is in no ledger, so nobody keeps the sum."
        ),
        "Differential privacy hides whether one "
        + _WHOSE[receipt.unit.protects].one
        + " took part. It does not hide what "
        "is true of many: a pattern in the population can be learned from the release, and is meant to be.",
    ]
    if receipt.unit.protects == "record":
        sentences.append(
            "One record is protected. A person with several records is protected less, by the epsilon times "
            "their number."
        )
    if release.unreviewed:
        sentences.append(
            "These facts of the schema were read from the records and were released without review, which "
            f"the guarantee does not cover: {', '.join(release.unreviewed)}."
        )
    sentences.append(
        "Do not read small counts literally: they carry noise, and rare combinations may be invented or "
        "missing."
    )
    return sentences


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:]


def _version() -> str:
    try:
        return version("penstock")
    except PackageNotFoundError:
        return "unknown"


__all__ = ["belief", "meaning", "receipt_picture", "report"]
