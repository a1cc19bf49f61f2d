"""The public report of a release: one page that opens anywhere and asks the network for nothing.

It shows only what the release knows, so it may be published with it.
"""

from __future__ import annotations

import shlex
from fractions import Fraction
from math import exp, nextafter
from typing import Any

from penstock import catalogue
from penstock.errors import QueryError, UsageError
from penstock.privacy.budgets.receipt import Receipt
from penstock.releases.package import penstock_version
from penstock.releases.predicting import Predicting
from penstock.releases.published import Published
from penstock.report.maps import over_ground
from penstock.report.numbers import percent
from penstock.report.page import (
    Block,
    Commands,
    Gallery,
    Gauge,
    Headline,
    Points,
    Section,
    Table,
    Text,
    render,
)
from penstock.report.picture import Picture
from penstock.report.receipt import receipt_blocks, short
from penstock.schema import Field, Relation, Schema

WEAK_EPSILON = 5
FEW_CATEGORIES = 12
MOST_FIELDS = 200
"""Rows of the table of fields; the schema in the folder has them all."""

_SEEDED = (
    "Not publishable: made with a fixed seed. Whoever knows the seed can subtract the noise, so this release "
    "protects nobody; it is good for tests and studies only."
)


def report(release: Published, *, title: str | None = None) -> str:
    """The page for people: guarantee, receipt, pictures, model, schema, how to use it, limits.

    `title` is the name of the folder that the commands on the page speak about.
    """
    folder = title or "my-release"
    name = release.schema.title or title or f"{release.method} release"
    return render(
        name,
        _sections(release, folder),
        eyebrow="Differentially private release",
        subtitle=release.schema.description or _subtitle(release),
        headline=_headline(release.receipt, release.schema.size),
        banner=None if release.publishable else _SEEDED,
        footer=f"Made with Penstock {penstock_version()}. This page is complete in itself and loads nothing.",
    )


def _subtitle(release: Published) -> str:
    count = len(release.schema.fields)
    fields = "one field" if count == 1 else f"{count} fields"
    data = f"{catalogue.kind(release.kind).words} with {fields}"
    what = catalogue.ANSWERS[release.answer].of.format(data=data)
    return f"{_sentence(what)}, released by the method {release.method}."


def _sections(release: Published, folder: str) -> list[Section]:
    pictures, lacking = _pictures(release)
    declared = "The custodian declared these fields and their domains before anything was counted."
    found = "Facts that were found privately in the records, and paid for separately (see the limits)."
    unchecked = "Some of these facts were read from the records and were not reviewed; they are marked."
    sections = [
        Section(
            "What was paid",
            receipt_blocks(release.receipt),
            lead="Every look at the records costs privacy. These are all the looks that were taken, what "
            "each of them cost, and how the costs add up.",
            short="Receipt",
        ),
        Section(
            "The released data",
            [Gallery(pictures), *_not_drawn(release)],
            lead="Drawn from the release alone. Noise was added to whatever was counted, so small "
            "amounts are uncertain.",
            short="Pictures",
        ),
        Section("The model", _model_blocks(release), short="Model"),
        Section(
            "What was public beforehand",
            [_fields_table(release.schema)],
            lead=unchecked if release.unreviewed else found if release.schema.drafted else declared,
            short="Schema",
        ),
        Section("How to use it", [Commands(_commands(release, folder))], short="Use"),
        Section("Limits", [Points([*lacking, *release.limits(), *_limits(release)])], short="Limits"),
    ]
    return sections if pictures else [section for section in sections if section.short != "Pictures"]


def _pictures(release: Published) -> tuple[list[Picture], list[str]]:
    """The pictures, or why there are none: a model that cannot be drawn is paid for all the same."""
    try:
        return [over_ground(each, release.schema.ground) for each in release.pictures()], []
    except (QueryError, UsageError) as problem:
        return [], [f"This release has no pictures. {problem}"]


def _not_drawn(release: Published) -> list[Block]:
    """That a page does not show all that there is, and where the rest of it is."""
    if not release.not_drawn:
        return []
    rest = "One more field is" if release.not_drawn == 1 else f"{release.not_drawn:,} more fields are"
    return [Text([f"{rest} in the release and not drawn: there would be too much for a page."])]


def belief(epsilon: Fraction) -> tuple[float, float]:
    """From fifty-fifty, the least and the most that an observer can come to believe.

    Bayes: the odds move by a factor of at most e^epsilon in either direction.

    >>> [round(bound, 2) for bound in belief(Fraction(1))]
    [0.27, 0.73]
    """
    most = min(1 / (1 + exp(-float(epsilon))), nextafter(1, 0))
    return 1 - most, most


def meaning(receipt: Receipt) -> list[str]:
    """The guarantee for somebody who has never heard of differential privacy."""
    whose = catalogue.unit(receipt.unit.protects)
    if receipt.relation is Relation.ADD_REMOVE:
        doubt = f"whether {whose.yours} {'are' if whose.plural else 'is'} in the data at all"
    else:
        doubt = f"which of two possible contents {whose.yours} {'have' if whose.plural else 'has'}"
    sure = percent(belief(receipt.epsilon)[1])
    paragraphs = [
        f"Suppose somebody wants to find out {doubt}, and believes that the chances are fifty-fifty. However "
        "long they study this release, and whatever else they know or compute, they can end up "
        f"{'' if sure.startswith('more') else 'at most '}{sure} sure. "
        f"That holds for every {whose.called} in the data, now and in the future.",
    ]
    if receipt.delta:
        paragraphs.append(f"With a chance of about {short(receipt.delta)} (delta), this bound may fail.")
    if receipt.epsilon > WEAK_EPSILON:
        paragraphs.append(
            "This is a weak guarantee: in the worst case, an epsilon above 5 leaves an observer little doubt."
        )
    if whose.bounded:
        records = "1 record" if receipt.unit.records == 1 else f"{receipt.unit.records} records"
        paragraphs.append(
            f"What is protected is everything that one {whose.called} contributed: {records} at most, chosen "
            "at random where somebody had more."
        )
    return paragraphs


def _headline(receipt: Receipt, size: int | None) -> Headline:
    least, most = belief(receipt.epsilon)
    one = catalogue.unit(receipt.unit.protects).called
    kind = f"Approximate differential privacy, δ = {short(receipt.delta)}" if receipt.delta else ""
    terms = [
        ("Protected", _sentence(receipt.unit.words)),
        ("Neighbouring data", _sentence(receipt.relation.words)),
        ("Kind of guarantee", kind or "Pure differential privacy"),
        ("Ledger", f"Entry {receipt.ledger}" if receipt.ledger else "In no ledger"),
    ]
    if size is not None and receipt.relation is Relation.REPLACE:
        terms.insert(2, ("Number of records", f"{size:,}, a public number"))
    return Headline(
        value=f"ε = {short(receipt.epsilon)}",
        label=f"the most that this release can reveal about one {one}",
        title="What is promised",
        paragraphs=meaning(receipt),
        gauge=Gauge(
            least,
            most,
            low_text=percent(least),
            high_text=percent(most),
            caption="What an observer who starts at 50\u00a0% can come to believe. The shorter the bar, the "
            "stronger the protection.",
        ),
        terms=terms,
    )


def _model_blocks(release: Published) -> list[Block]:
    words = list(release.explain()) or [f"The model was made by the method {release.method}."]
    blocks: list[Block] = [Text(words)]
    remarks = list(release.remarks())
    if remarks:
        blocks.append(Points(remarks))
    if release.parameters:
        rows = [[str(name), _shown(value)] for name, value in release.parameters.items()]
        blocks.append(Table(["parameter", "value"], rows))
    return blocks


def _shown(value: Any) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(_shown(each) for each in value)
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_shown(each)}" for key, each in value.items())
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value)


def _fields_table(schema: Schema) -> Table:
    rows = [
        [_named(field), field.kind, _domain(field), _cut(schema, field), _strays(field)]
        for field in schema.fields[:MOST_FIELDS]
    ]
    cut = f"The first {MOST_FIELDS} of {len(schema.fields):,} fields; schema.yaml has all"
    caption = cut if len(schema.fields) > MOST_FIELDS else ""
    return Table(["field", "kind", "domain", "seen as", "other values"], rows, caption=caption)


def _named(field: Field) -> str:
    return f"{field.name} ({field.title})" if field.title and field.title != field.name else field.name


def _domain(field: Field) -> str:
    if field.ranged:
        return field.domain.replace("..", " to ", 1)
    shown, more = ", ".join(field.labels[:FEW_CATEGORIES]), len(field.labels) - FEW_CATEGORIES
    return f"{shown} and {more} more" if more > 0 else shown


def _cut(schema: Schema, field: Field) -> str:
    size = schema.attribute(field.name).size
    noun = "bin" if field.ranged else "category"
    plural = {"bin": "bins", "category": "categories"}[noun]
    merged = sum(len(values) for _, values in field.merged)
    also = "" if not merged else f", {merged} value{'' if merged == 1 else 's'} merged"
    return f"{size} {noun if size == 1 else plural}{also}"


def _strays(field: Field) -> str:
    words = {
        "clamp": "clamped to the domain",
        "drop": "dropped with their record",
        "other": "counted as other",
        "refuse": "refused",
    }
    outside = words[field.outside]
    missing = ", missing is a value" if field.missing == "value" else ""
    note = ", not reviewed" if field.review else ""
    return outside + missing + note


def typed(word: str) -> str:
    r"""A word as one would type it in a shell.

    >>> typed("age < 30 and town = 'York'"), typed("a $ b"), typed("age")
    ('"age < 30 and town = \'York\'"', "'a $ b'", 'age')
    """
    return f'"{word}"' if " " in word and not set(word) & set('"$`\\!') else shlex.quote(word)


def _commands(release: Published, folder: str) -> list[tuple[str, str]]:
    place = shlex.quote(folder)
    lines = [("See what it is and what was paid", f"penstock inspect {place}")]
    drawn = "rows" if release.sampled == "records" else release.sampled
    if release.can_sample:
        lines.append(
            (
                f"Draw synthetic {drawn}, as many as you like, at no further privacy cost",
                f"penstock sample {place} -n {release.sampled_often} -o {drawn}.csv",
            )
        )
    example = release.example()
    if release.can_query and example:
        lines.append(("Ask it", f"penstock query {place} {typed(example)}"))
    predicts = isinstance(release, Predicting)
    if predicts:
        lines.append(("Predict for new rows", f"penstock predict {place} new.csv -o predicted.csv"))
    code = ["from penstock import load", "", f"release = load({folder!r})"]
    if release.can_sample:
        code.append(f"{drawn} = release.sample({release.sampled_often:_})")
    if release.can_query and example:
        code.append(f"answer = release.query({example!r})")
    if predicts:
        code.append("predicted = release.predict(rows)  # a Polars frame of new rows")
    lines.append(("The same in Python", "\n".join(code)))
    return lines


def _limits(release: Published) -> list[str]:
    receipt = release.receipt
    whose = catalogue.unit(receipt.unit.protects)
    one = whose.called
    kept = f"the custodian's ledger keeps the sum (entry {receipt.ledger})"
    sentences = [
        "The promise is about this release. Other releases from the same records add to the cost; "
        f"{kept if receipt.ledger else 'this one is in no ledger, so nobody keeps the sum'}.",
        f"Differential privacy hides whether one {one} took part. It does not hide what is true of many: a "
        "pattern in the population can be learned from the release, and is meant to be.",
    ]
    if whose.several:
        sentences.append(
            f"One {one} is protected at a time. A person with several {one}s, or whose {one} comes only "
            "together with others, is protected less: by the epsilon times their number."
        )
    if release.schema.drafted is not None:
        sentences.append(
            "The facts of the schema were found in the same records under differential privacy, which had "
            f"cost {release.schema.drafted.words}. This comes on top of the guarantee above."
        )
    if release.unreviewed:
        sentences.append(
            "These facts of the schema were read from the records and were released without review, which "
            f"the guarantee does not cover: {', '.join(release.unreviewed)}."
        )
    if release.can_query:
        sentences.append(
            "Every answer says what it rests on. Counted ones have a 95 % error bar for the noise that was "
            "added. Those that are spread evenly inside a bin, or follow from the model, have none: they "
            "tell a range where one is known, and whether it is counted or estimated."
        )
    sentences.append(
        "Do not read small counts literally: they carry noise, and rare combinations may be invented or lost."
    )
    return sentences


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:]
