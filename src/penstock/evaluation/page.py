"""The custodian's report: how close the release is, stamped so that nobody publishes it by accident."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from penstock.evaluation.score import NOTICE, RESAMPLED, Score
from penstock.report import shapes
from penstock.report.maps import over_ground
from penstock.report.numbers import percent, sentence
from penstock.report.page import Block, Card, Cards, Gallery, Section, Table, Text, render
from penstock.report.picture import Picture
from penstock.schema.ground import Ground

STAMP = "Not for publication"
BELOW = -0.02


def page(
    method: str,
    guarantee: str,
    rows: int,
    scores: Sequence[Score],
    sections: Sequence[Section],
    ceiling: str = RESAMPLED,
    remarks: Sequence[str] = (),
) -> str:
    """One self-contained HTML page about an evaluation."""
    return render(
        f"How good is this {method} release?",
        [_overview(scores, ceiling, remarks), *sections, _reading(scores, ceiling)],
        eyebrow="For the custodian's eyes only",
        subtitle=f"{sentence(guarantee)}. Compared with {rows:,} original records.",
        stamp=STAMP,
        banner=NOTICE,
        footer="Made by penstock evaluate. It quotes statistics of the original records without noise.",
    )


def over_its_ground(section: Section, ground: Ground) -> Section:
    """The section with the public lines of the schema drawn into its maps."""
    if not ground:
        return section
    blocks = [
        Gallery([over_ground(each, ground) for each in block.pictures])
        if isinstance(block, Gallery)
        else block
        for block in section.blocks
    ]
    return replace(section, blocks=blocks)


def _overview(scores: Sequence[Score], ceiling: str, remarks: Sequence[str]) -> Section:
    blocks: list[Block] = [Cards([_card(score) for score in scores])]
    if remarks:
        blocks.append(Text(tuple(remarks)))
    if any(score.position is not None for score in scores):
        blocks.append(_ladder(scores))
    known = any(score.model is not None for score in scores)
    rows = [
        [
            score.name,
            _digits(score.value),
            _position(score),
            *([_digits(score.model)] if known else []),
            _digits(score.floor),
            _digits(score.ceiling),
        ]
        for score in scores
    ]
    model = ["from the model"] if known else []
    head = ["score", "release", "of the way", *model, "floor", "ceiling"]
    notes = [score.note for score in scores]
    right = tuple(range(1, len(head)))
    blocks.append(Table(head, rows, caption="All scores", notes=notes, right=right))
    return Section(
        "Scores",
        blocks,
        short="Scores",
        lead="Every score stands between a floor, which needs no release at all, and a ceiling, which is "
        f"{ceiling}. A score at the ceiling has lost nothing to noise.",
    )


def _card(score: Score) -> Card:
    place = sentence(f"{_position(score)} of the way from floor to ceiling. ")
    if score.position is None:
        place = ""
    elif score.position < BELOW:
        place = "Below the floor. "
    return Card(
        score.name,
        _digits(score.value),
        f"{place}Floor {_digits(score.floor)}, ceiling {_digits(score.ceiling)}.",
    )


def _digits(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}" if abs(value) < 10 else f"{value:,.1f}"


def _position(score: Score) -> str:
    if score.position is None:
        return "–"
    return "below the floor" if score.position < BELOW else percent(min(max(score.position, 0.0), 1.0))


def _ladder(scores: Sequence[Score]) -> Picture:
    """Floor, release and ceiling on one line per score, on a common scale from floor to ceiling."""
    from penstock.report.theme import BLUE, GREEN, GREY, figure, told_apart

    placed = [(score, score.position) for score in scores if score.position is not None]
    names = told_apart([score.name for score, _ in placed], 40)
    shown = [min(max(position or 0.0, -0.25), 1.1) for _, position in placed]
    traces = [
        shapes.scatter(
            x=[0.0] * len(names),
            y=names,
            mode="markers",
            name="floor",
            marker={"color": GREY, "size": 11, "symbol": "line-ns-open", "line": {"width": 3}},
            hovertemplate="floor<extra></extra>",
        ),
        shapes.scatter(
            x=[1.0] * len(names),
            y=names,
            mode="markers",
            name="ceiling",
            marker={"color": GREEN, "size": 11, "symbol": "line-ns-open", "line": {"width": 3}},
            hovertemplate="ceiling<extra></extra>",
        ),
        shapes.scatter(
            x=shown,
            y=names,
            mode="markers",
            name="release",
            marker={"color": BLUE, "size": 12},
            customdata=[_digits(score.value) for score, _ in placed],
            hovertemplate="%{y}<br><b>%{customdata}</b><extra></extra>",
        ),
    ]
    drawn = figure(
        traces,
        height=90 + 34 * max(1, len(names)),
        showlegend=True,
        margin={"l": 8, "r": 24, "t": 34, "b": 8},
        xaxis={
            "range": [-0.3, 1.15],
            "tickvals": [0, 0.5, 1],
            "ticktext": ["floor", "half way", "ceiling"],
            "showgrid": True,
        },
        yaxis={"categoryorder": "array", "categoryarray": names[::-1]},
    )
    rows = tuple(
        (score.name, _digits(score.value), _digits(score.floor), _digits(score.ceiling))
        for score, _ in placed
    )
    return Picture(
        "From floor to ceiling",
        "For each score, how far the release is on the way from floor to ceiling; "
        "scores whose floor and ceiling meet are left out.",
        drawn,
        ("score", "release", "floor", "ceiling"),
        rows,
    )


_VARIATION = (
    "Total variation distance: the largest difference in probability that any question about these columns "
    "can show. 0 is the same distribution, 1 has nothing in common."
)
_SAMPLED = (
    "The ceiling is not zero because any finite sample differs from another; a release that beats it has not "
    "done better than the data, only better than one sample of it."
)
_NO_TUNING = (
    "Do not tune a method by looking at this page and releasing again: each release costs budget, and "
    "choosing among them by the original records is a leak that no receipt shows."
)


def _reading(scores: Sequence[Score], ceiling: str) -> Section:
    told = [_VARIATION] if any("total variation" in score.note for score in scores) else []
    told += [_SAMPLED] if ceiling == RESAMPLED else []
    return Section("How to read this", [Text((*told, _NO_TUNING))], short="Reading")
