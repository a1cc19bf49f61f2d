"""The page of a living release: what was asked when, what it answered, and what was paid."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from penstock.kinds.stream import folder as place
from penstock.kinds.stream.book import Reading
from penstock.kinds.stream.living import Living
from penstock.privacy.budgets.amounts import plain
from penstock.releases.disk import reason, whole_file
from penstock.releases.paths import absolute
from penstock.report import shapes
from penstock.report.page import Block, Card, Cards, Gallery, Points, Section, Table, Text, render
from penstock.report.picture import Picture
from penstock.report.receipt import receipt_blocks
from penstock.report.theme import BLUE, figure, safe

LISTED = 50
"""So many answers are listed one by one, the last first."""
_SEEDED = "Noise of this stream came from a fixed seed: it protects nobody, and is good for tests only."


def write_page(living: Living[Any], folder: str | Path) -> str | None:
    """Write the page into the folder of a stream, in one step; what kept it from being written, if so.

    Whatever it would show is in the book already, so that nothing is lost with it.
    """
    try:
        with whole_file(absolute(folder) / place.PAGE) as partial:
            partial.write_text(page(living, Path(folder).name), encoding="utf-8")
    except OSError as problem:
        return f"{folder}/{place.PAGE} could not be written: {reason(problem)}. The book has all of it."
    return None


def page(living: Living[Any], title: str) -> str:
    """One HTML page that opens offline."""
    book, receipt, info = living.book, living.receipt, living.info()
    told = living.history
    sections = [
        Section("Answers over time", _answers(told), short="Answers"),
        Section(
            "What was paid",
            receipt_blocks(receipt),
            lead=_paid(living),
            short="Receipt",
        ),
        Section("How it counts", [_facts(living)], lead=f"{info.name}: {info.summary}.", short="Sketch"),
        Section("Limits", [Points(_limits(living))], short="Limits"),
    ]
    state = f"Closed at {_when(book.closed)}" if book.closed else f"Open since {_when(book.opened)}"
    return render(
        living.schema.title or title,
        sections,
        eyebrow="Living release of a stream",
        subtitle=f"{state}. {living.guarantee[0].upper()}{living.guarantee[1:]}.",
        banner=None if receipt.publishable else _SEEDED,
        footer="This page is complete in itself and loads nothing.",
    )


def _answers(told: list[Reading]) -> list[Block]:
    if not told:
        return [Text(["Nothing was asked yet."])]
    last = told[-1]
    cards = Cards([Card(f"last answer: {_asked(last)}", str(last), f"asked at {_when(last.asked)}")])
    pictures = [
        drawn(question, [each for each in told if _asked(each) == question])
        for question in dict.fromkeys(map(_asked, told))
    ]
    latest = told[-LISTED:]
    rows = [
        [_when(each.asked).removesuffix(" UTC"), _asked(each), str(each), plain(each.epsilon)]
        for each in reversed(latest)
    ]
    listed: list[Block] = [Table(["asked (UTC)", "question", "answer", "epsilon"], rows)]
    if len(told) > LISTED:
        few = f"The last {LISTED} of {len(told):,} answers; the pictures have all of them."
        listed.insert(0, Text([few]))
    return [cards, Gallery(pictures), *listed]


def _paid(living: Living[Any]) -> str:
    if living.sketch.ahead:
        return "All steps were paid for when the stream was opened."
    return "The counters were paid for when the stream was opened, every answer when it was given."


def _when(time: str) -> str:
    """A time as people read it.

    >>> _when("2026-01-02T03:04:05+00:00")
    '2026-01-02 03:04:05 UTC'
    """
    return time.replace("T", " ").replace("+00:00", " UTC")


def _asked(reading: Reading) -> str:
    return reading.question + ("" if reading.at is None else f" {reading.at}")


def drawn(question: str, told: list[Reading]) -> Picture:
    """Answers to one question with their error bars, over the time at which they were asked.

    Answers of one second would hide each other, so they stand in the order in which they were asked; and time
    has no scale where there is one alone.
    """
    at_once = len(told) == 1 or len({each.asked for each in told}) < len(told)
    trace = shapes.scatter(
        x=[f"answer {number}" if at_once else each.asked for number, each in enumerate(told, start=1)],
        y=[each.value for each in told],
        error_y={"type": "data", "array": [each.error for each in told], "thickness": 1.5},
        mode="lines+markers",
        line={"color": BLUE, "width": 1},
        marker={"color": BLUE, "size": 8},
        hovertemplate=f"%{{x}}<br><b>%{{y:,.4~g}}</b> {safe(told[0].text)}<extra></extra>",
    )
    picture = figure(
        [trace],
        showlegend=False,
        height=300,
        margin={"l": 8, "r": 12, "t": 10, "b": 8},
        xaxis={"type": "category" if at_once else "date"},
        yaxis={"showgrid": True, "rangemode": "tozero", "title": {"text": safe(told[0].text)}},
    )
    sure = "at least" if told[-1].conservative else "about"
    number = "1 answer:" if len(told) == 1 else f"{len(told):,} answers; the last is"
    caption = f"{number} {told[-1]}. Bars cover the truth in {sure} 95 of 100 streams."
    rows = tuple((_when(each.asked), each.value, each.error) for each in told)
    return Picture(question, caption, picture, ("asked", told[0].text, "±"), rows, wide=True)


def _facts(living: Living[Any]) -> Table:
    setting = living.setting
    rows: list[list[Any]] = [
        ["ids there may be", f"{setting.ids:,}"],
        ["largest total of one id", f"{setting.most:,}"],
        ["neighbours", f"{setting.relation.value}: {setting.relation.words}"],
        ["epsilon of the counters", plain(setting.state)],
        ["epsilon of an answer", living.book.epsilon_out],
        ["noise drawn", "once" if setting.drawn == 1 else f"{setting.drawn} times"],
        *[[name, str(value)] for name, value in living.book.parameters.items()],
    ]
    return Table(["", ""], rows)


def _limits(living: Living[Any]) -> list[str]:
    whose = living.info().unit
    resting = [
        "The guarantee takes the largest total of an id as true: whoever exceeds it is protected by less."
    ]
    weighed = [
        "The weight of the whole stream is kept, exactly: neighbours are streams whose updates pass to "
        "another id where they stand, and not earlier or later."
    ]
    return [
        *(resting if living.sketch.trusts_totals else []),
        *(weighed if living.sketch.weighed else []),
        "Whoever sees the counters at one moment, and all answers, learns no more about one "
        f"{whose} than the receipt says. Whoever sees them twice learns what was fed in between.",
        f"One {whose} is protected at a time: a person with several of them by the epsilon times their "
        "number.",
        "What is being read when somebody looks into the running process is not protected yet, nor is what "
        "the "
        "system keeps of it: pipes, swap, logs of others.",
        "When a file was written last tells when the stream was fed last.",
        "Error bars are for the noise and the hashes; they take the stated bounds on ids and totals as true.",
    ]
