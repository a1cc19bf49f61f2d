"""One look for every chart and page: colours, type and the two Plotly templates.

Categories take the Okabe-Ito colours, which people with any common colour vision can tell apart;
amounts take a single-hue ramp that also survives a black and white printer. Text meets WCAG AA on
both the light and the dark ground.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import plotly.graph_objects as go

BLUE, VERMILLION, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
ORANGE, SKY, YELLOW, GREY = "#E69F00", "#56B4E9", "#F0E442", "#8A97A3"

PALETTE = (BLUE, ORANGE, GREEN, PURPLE, SKY, VERMILLION, YELLOW)

FONT = "ui-sans-serif, system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"

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


def ramp(colours: list[str]) -> list[list[Any]]:
    """A Plotly colour scale of equal steps."""
    return [[round(i / (len(colours) - 1), 4), colour] for i, colour in enumerate(colours)]


def _template(*, ink: str, quiet: str, line: str, ground: str, ramp_: list[str]) -> dict[str, Any]:
    axis = {
        "showgrid": False,
        "zeroline": False,
        "showline": False,
        "ticks": "",
        "linecolor": line,
        "gridcolor": line,
        "tickfont": {"size": 12, "color": quiet},
        "title": {"font": {"size": 12, "color": quiet}, "standoff": 10},
        "automargin": True,
        "ticklabeloverflow": "allow",  # a label that needs room makes the margin wider, and is never left out
        "separatethousands": True,
        "fixedrange": True,
    }
    bar = {
        "thickness": 10,
        "outlinewidth": 0,
        "ticks": "",
        "tickfont": {"size": 11, "color": quiet},
        "title": {"font": {"size": 11, "color": quiet}},
    }
    scale = ramp(ramp_)
    return {
        "layout": {
            "font": {"family": FONT, "size": 13, "color": ink},
            "paper_bgcolor": "rgba(0,0,0,0)",
            "plot_bgcolor": "rgba(0,0,0,0)",
            "colorway": list(PALETTE),
            "colorscale": {"sequential": scale, "sequentialminus": scale},
            "coloraxis": {"colorbar": bar},
            "margin": {"l": 8, "r": 8, "t": 8, "b": 8, "pad": 4},
            "xaxis": axis,
            "yaxis": axis,
            "hoverlabel": {
                "bgcolor": ink,
                "bordercolor": ink,
                "font": {"family": FONT, "size": 13, "color": ground},
                "align": "left",
            },
            "legend": {
                "orientation": "h",
                "x": 0,
                "xanchor": "left",
                "y": 1.02,
                "yanchor": "bottom",
                "font": {"size": 12, "color": ink},
                "bgcolor": "rgba(0,0,0,0)",
            },
            "modebar": {"bgcolor": "rgba(0,0,0,0)", "color": quiet, "activecolor": ink},
            "bargap": 0.32,
            "barcornerradius": 3,
            "dragmode": False,
            "hovermode": "closest",
            "annotationdefaults": {"font": {"size": 12, "color": quiet}, "arrowcolor": quiet},
        },
        "data": {
            "bar": [{"marker": {"line": {"width": 0}}, "textfont": {"size": 12, "color": quiet}}],
            "heatmap": [{"colorbar": bar, "xgap": 1, "ygap": 1, "hoverongaps": False}],
            "scatter": [{"line": {"width": 2.5}}],
        },
    }


LIGHT = _template(
    ink="#10202e",
    quiet="#506070",
    line="#E3E9EE",
    ground="#ffffff",
    ramp_=_RAMP_LIGHT,
)
DARK = _template(
    ink="#E9EFF4",
    quiet="#A3B1BD",
    line="#2A3640",
    ground="#10171D",
    ramp_=_RAMP_DARK,
)
SEQUENTIAL = ramp(_RAMP_LIGHT)


def safe(text: object, longest: int = 60) -> str:
    """Anybody's text for use in a chart: shown letter by letter, never read as markup.

    >>> safe("<b>50K"), safe("x" * 9, longest=5)
    ('&lt;b&gt;50K', 'xxxx…')
    """
    clean = "".join(character if character.isprintable() else " " for character in str(text))
    if len(clean) > longest:
        clean = clean[: longest - 1] + "…"
    return escape(clean, quote=False)


def figure(traces: list[Any], **layout: Any) -> go.Figure:
    """A Plotly figure that waits for the house style: a page has it once for all of its figures.

    Plotly checks a template again with every figure that has it, which takes longer than all the rest.
    """
    import plotly.graph_objects as go

    return go.Figure(data=traces, layout={"template": "none", **layout})
