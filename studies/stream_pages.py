"""What the study of streams keeps, and the page that is filled from it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from math import log10
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
RESULTS = HERE / "stream_results.json"
ASSETS = HERE.parent / "docs" / "assets"
PAGE = HERE.parent / "docs" / "studies" / "streams.md"


def keep(part: str, titles: Sequence[str], rows: Sequence[Sequence[str]], figures: Any) -> None:
    """Print the table of one part, and write it and its figures beside those of the others."""
    known = kept()
    known[part] = {"table": [list(titles), *map(list, rows)], "figures": figures}
    RESULTS.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    print(drawn(known[part]["table"]))


def kept() -> dict[str, Any]:
    """What is known of all parts."""
    found: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {}
    return found


def drawn(lines: Sequence[Sequence[str]]) -> str:
    titles, *rows = lines
    ruled = [titles, ["---" if number == 0 else "--:" for number in range(len(titles))], *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in ruled)


def write_page() -> None:
    """Put every table that is kept between its marks on the page."""
    text = PAGE.read_text(encoding="utf-8")
    for part, known in kept().items():
        begin, end = f"<!-- studies/streams.py --{part} -->\n", f"<!-- end of --{part} -->"
        before, mark, rest = text.partition(begin)
        if not mark:
            raise SystemExit(f"{PAGE.name} has no place for --{part}")
        text = f"{before}{begin}\n{drawn(known['table'])}\n\n{end}{rest.partition(end)[2]}"
    PAGE.write_text(text, encoding="utf-8")


def picture(sizes: list[int], lines: dict[str, list[float]]) -> str:
    """The lines on logarithmic axes."""
    colours = ("#0072B2", "#D55E00", "#009E73", "#56B4E9", "#506070")
    left, top, wide, high = 70, 20, 420, 260
    low, most = 1.0, max(max(line) for line in lines.values()) * 1.5

    def x(size: float) -> float:
        return left + wide * (log10(size) - log10(sizes[0])) / (log10(sizes[-1]) - log10(sizes[0]))

    def y(value: float) -> float:
        return top + high * (1 - (log10(max(value, low)) - log10(low)) / (log10(most) - log10(low)))

    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 520 440" '
        'font-family="sans-serif" font-size="12">',
        "<title>Error of a pan-private distinct count against the number of ids</title>",
        '<rect width="520" height="440" fill="#ffffff"/>',
    ]
    power = 0
    while 10**power <= most:
        parts.append(
            f'<line x1="{left}" x2="{left + wide}" y1="{y(10**power):.1f}" y2="{y(10**power):.1f}" '
            f'stroke="#E3E9EE"/><text x="{left - 8}" y="{y(10**power) + 4:.1f}" text-anchor="end">'
            f"{10**power:,}</text>"
        )
        power += 1
    parts += [
        f'<text x="{x(size):.1f}" y="{top + high + 18}" text-anchor="middle">{size:,}</text>'
        for size in sizes
    ]
    parts.append(f'<text x="{left + wide / 2}" y="{top + high + 36}" text-anchor="middle">ids m</text>')
    for number, (name, line) in enumerate(lines.items()):
        dash = ' stroke-dasharray="5 4"' if name.startswith("sqrt") else ""
        path = " ".join(f"{x(size):.1f},{y(value):.1f}" for size, value in zip(sizes, line, strict=True))
        parts.append(
            f'<polyline points="{path}" fill="none" stroke="{colours[number]}" stroke-width="2"{dash}/>'
        )
        at = top + high + 56 + 18 * number
        parts.append(
            f'<line x1="{left}" x2="{left + 24}" y1="{at - 4}" y2="{at - 4}" stroke="{colours[number]}" '
            f'stroke-width="2"{dash}/><text x="{left + 32}" y="{at}">{name}</text>'
        )
    return "\n".join([*parts, "</svg>", ""])
