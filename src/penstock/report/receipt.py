"""A receipt as people read it: areas for the eye, and a table whose lines add up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import cycle

from penstock.privacy.budgets.amounts import brief, plain
from penstock.privacy.budgets.charges import Apart, Charge, Concentrated, Entry, Together
from penstock.privacy.budgets.receipt import Receipt
from penstock.report.page import Block, Table, Text
from penstock.report.picture import Picture
from penstock.report.theme import PALETTE, figure, ink_on, mixed, safe

FEW_LINES = 40
MOST_AREAS = 300
_DEEP = "#0a2a43"
_ROUNDED = (
    "Amounts with ≈ are rounded here. receipt.json holds the exact fractions, which add up to the total."
)


@dataclass(frozen=True)
class Line:
    """One line of the receipt. `share` is its part of the group above, for drawing."""

    depth: int
    label: str
    how: str
    sensitivity: str
    epsilon: str
    delta: str
    share: float


def lines(receipt: Receipt) -> list[Line]:
    """Every group and every payment, each before its parts."""
    return list(_lines(receipt.paid, 0))


def short(amount: Fraction) -> str:
    """An amount in few characters; the exact fraction is in receipt.json.

    >>> short(Fraction(1, 3)), short(Fraction(1234567, 9876543))
    ('1/3', '≈ 0.125')
    """
    exact = plain(amount)
    return exact if len(exact) <= 9 else f"≈ {float(amount):.4g}"


def receipt_blocks(receipt: Receipt) -> list[Block]:
    """The chart and the table."""
    found = lines(receipt)
    slack = bool(receipt.budget_delta)
    rows = [[line.label, line.sensitivity, line.epsilon] + [line.delta] * slack for line in found]
    for name, epsilon, delta in (
        ("Total", receipt.epsilon, receipt.delta),
        ("Budget", receipt.budget_epsilon, receipt.budget_delta),
    ):
        rows.append([name, "", short(epsilon)] + [short(delta)] * slack)
    many = len(found) > FEW_LINES
    table = Table(
        ["what was looked at", "sensitivity", "epsilon"] + ["delta"] * slack,
        rows,
        indents=[line.depth for line in found] + [0, 0],
        notes=[line.how for line in found] + ["", ""],
        strong=[len(found)],
        right=[1, 2, 3],
        folded=many,
        caption=f"All {len(found)} lines of the receipt" if many else "",
    )
    blocks: list[Block] = [receipt_picture(receipt, found), table] if receipt.epsilon else [table]
    if any("≈" in line.epsilon + line.how for line in found):
        blocks.append(Text([_ROUNDED], tone="quiet"))
    return blocks


def receipt_picture(receipt: Receipt, found: Sequence[Line]) -> Picture:
    """The lines of a receipt as areas: the whole on the left, the single payments on the right."""
    import plotly.graph_objects as go

    deepest = max((line.depth for line in found), default=0)
    while deepest and sum(line.depth <= deepest for line in found) > MOST_AREAS:
        deepest -= 1
    names, labels, above, areas, colours, words = [""], ["Total"], [""], [1.0], [_DEEP], [""]
    names[0] = "total"
    words[0] = f"ε {short(receipt.epsilon)}"
    trail: list[tuple[str, float, str]] = []
    tints = _tints(receipt)
    for number, line in enumerate(line for line in found if line.depth <= deepest and line.share):
        del trail[line.depth :]
        parent, whole, colour = trail[-1] if trail else ("total", 1.0, "")
        colour = colour or next(tints)
        names.append(str(number))
        labels.append(safe(line.label, 40))
        above.append(parent)
        areas.append(whole * line.share)
        colours.append(mixed(colour, "#ffffff", max(0.4, 1 - 0.3 * line.depth)))
        words.append(f"ε {line.epsilon}" if line.epsilon else safe(line.how))
        trail.append((str(number), areas[-1], colour))
    leaves = len(names) - len(set(above))
    drawn = figure(
        [
            go.Icicle(
                ids=names,
                labels=labels,
                parents=above,
                values=areas,
                branchvalues="total",
                sort=False,
                maxdepth=deepest + 2,
                text=words,
                texttemplate="\u00a0%{label}  <b>%{text}</b>",
                textposition="middle left",
                leaf={"opacity": 1},
                tiling={"orientation": "h", "pad": 2},
                marker={"colors": colours, "line": {"width": 0}},
                pathbar={"visible": False},
                textfont={"color": [ink_on(colour) for colour in colours], "size": 13},
                hovertemplate="%{label}<br><b>%{text}</b><extra></extra>",
            )
        ],
        height=min(640, max(150, 34 * leaves)),
        margin={"l": 0, "r": 0, "t": 0, "b": 0},
        uniformtext={"minsize": 10, "mode": "hide"},
    )
    payments = [charge for _, charge in receipt.charges()]
    largest = max(payments, key=lambda charge: charge.epsilon)
    count = f"{len(payments)} {'charge makes' if len(payments) == 1 else 'charges make'} up"
    caption = f"{count} epsilon {short(receipt.epsilon)}." + (
        f" The largest is {largest.label} with {short(largest.epsilon)}." if len(payments) > 1 else ""
    )
    return Picture("Where the privacy budget went", caption, drawn, wide=True)


def _tints(receipt: Receipt) -> Iterator[str]:
    """A colour for each top part: shades of one colour for a plain list, a colour of its own for each group.

    The dearest group gets the calmest colour, because it fills most of the picture.
    """
    parts = [part for part in receipt.paid.parts if part.cost[0]]
    if all(isinstance(part, Charge) for part in parts):
        return cycle((PALETTE[0], mixed(PALETTE[0], "#ffffff", 0.72)))
    costs = [part.cost[0] for part in parts]
    dearest = costs.index(max(costs))
    others = cycle(PALETTE[1:])
    return (PALETTE[0] if number == dearest else next(others) for number in range(len(costs)))


def _lines(group: Together | Apart, depth: int) -> Iterator[Line]:
    # Disjoint parts share the area of their group: together they cost no more than the dearest.
    costs = [part.cost for part in group.parts]
    whole = sum((epsilon for epsilon, _ in costs), Fraction(0))
    for part, (epsilon, delta) in zip(group.parts, costs, strict=True):
        share = float(epsilon / whole) if whole else 0.0
        sensitivity = part.sensitivity if isinstance(part, Charge) else ""
        yield Line(depth, part.label, _how(part), sensitivity, short(epsilon), short(delta), share)
        if isinstance(part, Concentrated):
            used = sum((portion.rho for portion in part.parts), Fraction(0))
            for portion in part.parts:
                how = f"{portion.mechanism}, rho {short(portion.rho)}"
                share = float(portion.rho / used) if used else 0.0
                yield Line(depth + 1, portion.label, how, portion.sensitivity, "", "", share)
        elif not isinstance(part, Charge):
            yield from _lines(part, depth + 1)


def _how(entry: Entry) -> str:
    if isinstance(entry, Charge):
        return entry.mechanism + (f": {brief(entry.detail)}" if entry.detail else "")
    if isinstance(entry, Concentrated):
        return f"zero-concentrated, rho {short(entry.rho)}: the parts add up in rho"
    if isinstance(entry, Apart):
        dearest = "dearest part counts" if entry.meets == 1 else f"{entry.meets} dearest parts count"
        return f"disjoint records: the {dearest}"
    return "the parts add up"
