"""One look for every chart and page: colours, labels, and what differs between light and dark.

Categories take the Okabe-Ito colours, which people with any common colour vision can tell apart;
amounts take a single-hue ramp that also survives a black and white printer. Text meets WCAG AA on
both the light and the dark ground.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from penstock.report.shapes import Figure, Shape

BLUE, VERMILLION, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
ORANGE, SKY, YELLOW, GREY = "#E69F00", "#56B4E9", "#F0E442", "#8A97A3"

PALETTE = (BLUE, ORANGE, GREEN, PURPLE, SKY, VERMILLION, YELLOW)
HUES = (*PALETTE, GREY)
"""For lines and dots of which many are to be told apart."""
_COMPARED = (GREY, BLUE, VERMILLION, *PALETTE[1:])
_ROLES = {"original": GREY, "floor": GREY, "release": BLUE, "synthetic": BLUE, "ceiling": GREEN}

_RAMP_LIGHT = ["#F1F6FA", "#CFE3F0", "#97C5DF", "#559FCB", "#1E78AE", "#0B5687", "#083456"]
_RAMP_DARK = ["#14222E", "#17405E", "#1A6292", "#2F86BD", "#66AEDB", "#A6D3EE", "#E8F6FF"]


def ink_on(colour: str) -> str:
    """Black or white, whichever reads better on the colour.

    >>> ink_on("#0072B2"), ink_on("#F0E442")
    ('#ffffff', '#000000')
    """
    light = luminance(colour)
    return "#ffffff" if 1.05 / (light + 0.05) >= (light + 0.05) / 0.05 else "#000000"


def luminance(colour: str) -> float:
    """Relative luminance of an sRGB colour, as WCAG defines it."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def mixed(colour: str, ground: str, share: float) -> str:
    """`share` of the colour, the rest of the ground.

    >>> mixed("#000000", "#ffffff", 0.5)
    '#808080'
    """
    pairs = [(int(colour[i : i + 2], 16), int(ground[i : i + 2], 16)) for i in (1, 3, 5)]
    return "#" + "".join(f"{int(share * a + (1 - share) * b + 0.5):02x}" for a, b in pairs)


def _look(*, ink: str, quiet: str, line: str, ground: str, ramp: list[str]) -> dict[str, Any]:
    return {
        "ink": ink,
        "quiet": quiet,
        "line": line,
        "ground": ground,
        "ramp": ramp,
        "palette": list(PALETTE),
    }


LIGHT = _look(ink="#10202e", quiet="#506070", line="#E3E9EE", ground="#ffffff", ramp=_RAMP_LIGHT)
DARK = _look(ink="#E9EFF4", quiet="#A3B1BD", line="#2A3640", ground="#151e25", ramp=_RAMP_DARK)


def colours(names: Sequence[str]) -> list[str]:
    """A colour for each of several series, the same on every page for what is compared on all of them.

    >>> colours(["release", "floor: an even map"]) == colours(["synthetic", "original"]) == [BLUE, GREY]
    True
    """
    if len(names) == 1:
        return [BLUE]
    roles = [_ROLES.get(name.partition(":")[0]) for name in names]
    if None not in roles and len(set(roles)) == len(names):
        return [role for role in roles if role is not None]
    return [_COMPARED[place % len(_COMPARED)] for place in range(len(names))]


def safe(text: object, longest: int = 60) -> str:
    """Anybody's text for use in a chart: shown letter by letter, never read as markup.

    >>> safe("<b>50K"), safe("x" * 9, longest=5)
    ('&lt;b&gt;50K', 'xxxx…')
    """
    clean = "".join(character if character.isprintable() else " " for character in str(text))
    if len(clean) > longest:
        clean = clean[: longest - 1] + "…"
    return escape(clean, quote=False)


def told_apart(labels: Sequence[object], longest: int) -> list[str]:
    """Labels of at most so many letters (`safe`), no two of which look alike unless they are the same.

    Where the beginnings agree, the middle is left out instead of the end; where that does not help, they are
    numbered.

    >>> told_apart(["employed for years", "employed full time", "no"], 10)
    ['empl…years', 'empl… time', 'no']
    """
    texts = [str(label) for label in labels]
    shown = [safe(text, longest) for text in texts]
    for short in (_without_middle, _numbered):
        meant: dict[str, set[str]] = {}
        for text, seen in zip(texts, shown, strict=True):
            meant.setdefault(seen, set()).add(text)
        for place, text in enumerate(texts):
            if len(meant[shown[place]]) > 1:
                shown[place] = safe(short(text, longest, place), longest)
    return shown


def _without_middle(text: str, longest: int, _: int) -> str:
    head = (longest - 1) // 2
    return text if len(text) <= longest else f"{text[:head]}…{text[head + 1 - longest :]}"


def _numbered(text: str, longest: int, place: int) -> str:
    return f"{text[: max(1, longest - 7)]}… ({place + 1})"


def figure(data: list[Shape], **layout: Any) -> Figure:
    """A figure that waits for its reader's colours: a page has them once for all of its figures."""
    return Figure(data, Shape(layout))
