"""What every page of ours must do in a browser."""

from __future__ import annotations

from tests.browser.chromium import Page

_COLOURS = """
    const parts = text => text.match(/[\\d.]+/g).map(Number);
    const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
        .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
        .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
    const solid = ([r, g, b, a = 1]) => a === 1;
    const mixed = (one, two, share) => one.slice(0, 3).map((v, i) => share * v + (1 - share) * two[i]);
    // All solid colours that lie under an element: one, or those of a gradient.
    const grounds = e => {
        for (; e; e = e.parentElement) {
            const style = getComputedStyle(e);
            const shades = (style.backgroundImage.match(/rgba?\\([^)]*\\)/g) || []).map(parts).filter(solid);
            if (shades.length) return shades;
            if (solid(parts(style.backgroundColor))) return [parts(style.backgroundColor)];
        }
        return [[255, 255, 255]];
    };
    const ratio = (one, two) => {
        const [a, b] = [light(one), light(two)];
        return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    };
    const least = (ink, under) => Math.min(...under.map(each => ratio(ink, each)));
"""

LOW_CONTRAST = f"""(() => {{ {_COLOURS}
    const words = [...document.querySelectorAll('body *:not(svg *)')]
        .filter(e => [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim()))
        .filter(e => e.checkVisibility() && !e.disabled && !e.closest('.skip, noscript, script'))
        .map(e => [least(parts(getComputedStyle(e).color), grounds(e)), e.textContent]);
    // The text of a picture lies on a rectangle that was drawn before it, or on the page; a rim of the
    // page's own colour keeps it off everything else.
    const drawn = [...document.querySelectorAll('svg.main-svg')].flatMap(svg => {{
        const page = grounds(svg), boxes = [...svg.querySelectorAll('rect')].filter(e => !e.closest('defs'));
        const frames = boxes.map(e => e.getBoundingClientRect());
        return [...svg.querySelectorAll('text')].filter(e => e.textContent.trim()).map(e => {{
            const style = getComputedStyle(e), spot = e.getBoundingClientRect();
            const [x, y] = [spot.x + spot.width / 2, spot.y + spot.height / 2];
            let under = page;
            boxes.forEach((box, i) => {{
                const frame = frames[i], shade = getComputedStyle(box);
                if (x < frame.left || x > frame.right || y < frame.top || y > frame.bottom) return;
                if (!(box.compareDocumentPosition(e) & Node.DOCUMENT_POSITION_FOLLOWING)) return;
                under = under.map(each => mixed(parts(shade.fill), each, Number(shade.fillOpacity)));
            }});
            const rimmed = style.paintOrder.startsWith('stroke') && style.stroke !== 'none';
            if (rimmed) under = [parts(style.stroke)];
            return [least(parts(style.fill), under), e.textContent];
        }});
    }});
    return [...words, ...drawn].filter(([found]) => found < 4.5)
        .map(([found, text]) => found.toFixed(2) + ' ' + text.trim().slice(0, 60));
}})()"""
"""Text of the page or of its pictures whose contrast is below that of WCAG AA, with its ratio."""

_REACHABLE = "a[href], button, summary, input, select, textarea, [tabindex='0']"


def assert_renders(shown: Page, *, charts: bool = True) -> None:
    """The page drew all its charts, said nothing, loaded nothing, and fits its window."""
    assert shown.problems == []
    assert [address for address in shown.requests if not address.startswith(("file:", "data:"))] == []
    assert len([address for address in shown.requests if address.startswith("file:")]) == 1
    drawn = shown.ask(
        "[...document.querySelectorAll('[data-figure]')].map(e => e.querySelectorAll('.main-svg').length)"
    )
    assert drawn or not charts
    assert all(drawn), "a chart is empty"
    assert shown.ask("document.documentElement.scrollWidth") <= shown.width
    over = shown.ask(f"""[...document.querySelectorAll('main *, .headline *, header *')]
        .filter(e => !e.closest('.scroll, pre, svg'))
        .filter(e => e.getBoundingClientRect().right > {shown.width} + 1)
        .map(e => e.tagName + '.' + e.className)""")
    assert over == []
    cut = shown.ask("""[...document.querySelectorAll('.plot')]
        .map(plot => plot.querySelector('.main-svg').getBoundingClientRect().width - plot.clientWidth)
        .filter(difference => Math.abs(difference) > 2).length""")
    assert cut == 0, "a chart is not as wide as its place"
    lost = shown.ask("""[...document.querySelectorAll('.main-svg')].flatMap(svg => {
        const frame = svg.getBoundingClientRect();
        return [...svg.querySelectorAll('text')].filter(e => e.textContent.trim()).filter(e => {
            const spot = e.getBoundingClientRect(), x = spot.x + spot.width / 2, y = spot.y + spot.height / 2;
            return x < frame.left || x > frame.right || y < frame.top || y > frame.bottom;
        }).map(e => e.textContent); })""")
    assert lost == [], "words of a chart lie outside of it"
    over = shown.ask("""[...document.querySelectorAll('.main-svg')].flatMap(svg => {
        if (svg.parentElement.querySelector('.zoom')) return [];  // a map can be looked at from nearer
        const words = [...svg.querySelectorAll('text:not([transform])')].filter(e => e.textContent.trim())
            .map(e => [e.getBoundingClientRect(), e.textContent]);
        const both = ([a], [b]) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 3
            && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 5;
        return words.flatMap((one, i) => words.slice(i + 1).filter(two => both(one, two))
            .map(two => one[1] + ' | ' + two[1]));
    })""")
    assert over == [], f"words of a chart lie on each other: {over[:5]}"
    tallest = shown.ask(
        "Math.max(0, ...[...document.querySelectorAll('tr')].map(e => e.getBoundingClientRect().height))"
    )
    assert tallest < 400, "a cell of a table is too narrow for its words"


def assert_reads_well(shown: Page) -> None:
    """All text has the contrast of WCAG AA, and the keyboard reaches all there is to press or to scroll."""
    assert shown.ask(LOW_CONTRAST) == []
    there = f"[...document.querySelectorAll({_REACHABLE!r})].filter(e => e.checkVisibility())"
    shown.ask(f"""(() => {{
        window.reached = new Map();
        document.addEventListener('focusin', event => {{
            const style = getComputedStyle(event.target);
            reached.set(event.target, style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2);
        }});
        return {there}.length;
    }})()""")
    for _ in range(shown.ask(f"{there}.length") + 1):
        shown.press("Tab")
    missed = shown.ask(f"{there}.filter(e => !reached.has(e)).map(e => e.outerHTML.slice(0, 80))")
    assert missed == [], "the keyboard does not reach this"
    unseen = shown.ask("[...reached].filter(([e, seen]) => !seen).map(([e]) => e.outerHTML.slice(0, 80))")
    assert unseen == [], "nobody sees that this has the focus"
