from __future__ import annotations

import datetime
from itertools import pairwise

import numpy as np
import pytest

from penstock.errors import UsageError
from penstock.report import diagrams, maps, pictures
from penstock.report.theme import LIGHT, PALETTE, ink_on, luminance, safe, told_apart
from penstock.schema import Schema


def test_bars_keep_the_largest_and_add_up_the_rest() -> None:
    labels = [f"c{i}" for i in range(100)]
    picture = pictures.bars("many", labels, np.arange(100), most=10)
    trace = picture.figure.data[0]
    assert len(trace.y) == 10
    assert sum(trace.x) == sum(range(100))
    assert len(picture.rows) == 100
    assert "c99 is the largest of 100 categories" in picture.caption


def test_categories_that_look_like_numbers_or_are_equal_stay_apart() -> None:
    picture = pictures.bars("odd", ["1", "1.0", "2020-01-01", "1"], [1, 2, 3, 4])
    assert list(picture.figure.data[0].y) == [0, 1, 2, 3]
    assert list(picture.figure.layout.yaxis.ticktext) == ["1", "1.0", "2020-01-01", "1"]


def test_several_series_are_compared_side_by_side() -> None:
    picture = pictures.bars("two", ["a", "b"], {"original": [1, 2], "release": [3, 4]})
    assert [trace.name for trace in picture.figure.data] == ["original", "release"]
    assert picture.columns == ("category", "original", "release")
    assert picture.rows == (("a", 1.0, 3.0), ("b", 2.0, 4.0))


def test_counts_are_shown_whole_and_percents_to_a_tenth() -> None:
    bars = pictures.bars("b", ["a", "b", "c"], [2.02e-9, 63.4, -1e-12])
    assert bars.rows == (("a", 0.0), ("b", 63.0), ("c", 0.0))
    assert list(bars.figure.data[0].text) == ["0", "63", "0"]
    grid = [[1.14e-05, 41.64], [99.98, 0.06]]
    assert [row[2] for row in pictures.heatmap("h", "ab", "cd", grid).rows] == [0, 42, 100, 0]
    percents = pictures.heatmap("h", "ab", "cd", grid, amount="percent")
    assert [row[2] for row in percents.rows] == [0, 41.6, 100, 0.1]
    strengths = pictures.heatmap("h", "ab", "cd", grid, amount="strength")
    assert [row[2] for row in strengths.rows] == [1.14e-05, 41.64, 99.98, 0.06]


def test_a_histogram_draws_columns_as_wide_as_its_bins() -> None:
    trace = pictures.histogram("h", [0, 10, 30], [5, 6]).figure.data[0]
    assert list(trace.x) == [5, 20]
    assert list(trace.width) == pytest.approx([9.6, 19.2])


def test_dates_have_a_date_axis() -> None:
    days = [datetime.date(2023, 1, 1), datetime.date(2023, 2, 1), datetime.date(2023, 3, 1)]
    picture = pictures.histogram("d", days, [1, 2])
    assert picture.figure.layout.xaxis.type == "date"
    assert picture.rows[0][0] == "2023-01-01 to 2023-02-01"


FIELDS = Schema.from_yaml("""
fields:
  - {name: age, type: integer, constraints: {minimum: 0, maximum: 99}, bins: {width: 10}, missing: value}
  - {name: gain, type: number, constraints: {minimum: 0, maximum: 1000}, bins: {edges: [0, 1, 10, 1000]}}
  - {name: size, categoriesOrdered: true, constraints: {enum: [small, middle, large]}}
  - {name: colour, constraints: {enum: [red, green, blue]}}
  - {name: one, constraints: {enum: [only]}}
  - {name: fixed, type: integer, constraints: {minimum: 3, maximum: 3}}
""")


def test_a_field_is_drawn_as_its_kind_deserves() -> None:
    even = pictures.distribution(FIELDS, "age", [*range(10), 7])
    assert list(even.figure.data[0].x)[:2] == [4.5, 14.5]
    assert "Beside them: 7 (missing)." in even.caption
    assert len(even.rows) == 11
    assert pictures.distribution(FIELDS, "gain", [5, 3, 1]).figure.data[0].orientation == "h"
    ordered = pictures.distribution(FIELDS, "size", [1, 5, 2]).figure
    assert list(ordered.layout.yaxis.ticktext) == ["small", "middle", "large"]
    by_size = pictures.distribution(FIELDS, "colour", [1, 5, 2]).figure
    assert list(by_size.layout.yaxis.ticktext) == ["green", "blue", "red"]
    for single in ("one", "fixed"):
        assert pictures.distribution(FIELDS, single, [4]).rows[0][1] == 4.0


def test_a_heat_map_shows_numbers_only_where_there_is_room() -> None:
    small = pictures.heatmap("s", "ab", "xyz", np.arange(6).reshape(2, 3))
    assert small.figure.data[0].texttemplate
    assert small.rows[-1] == ("b", "z", 5.0)
    large = pictures.heatmap("l", range(50), range(50), np.zeros((50, 50)))
    assert large.figure.data[0].texttemplate is None


def test_a_grid_map_puts_the_first_axis_to_the_right_and_the_second_up() -> None:
    counts = np.zeros((3, 2))
    counts[2, 0] = 9
    picture = maps.grid_map("m", [0, 1, 2, 3], [0, 1, 2], counts, x_name="lon", y_name="lat")
    trace = picture.figure.data[0]
    assert np.asarray(trace.customdata)[0, 2] == 9
    assert picture.rows[0] == ("2 to 3", "0 to 1", 9.0)
    assert "lon 2.5, lat 0.5" in picture.caption


def test_a_fine_grid_is_drawn_with_neighbours_put_together() -> None:
    """However fine the grid, the page stays small: 200 x 3 cells become 67 x 3, none of them lost."""
    counts = np.arange(600.0).reshape(200, 3)
    picture = maps.grid_map("m", np.arange(201), [0, 1, 2, 3], counts)
    trace = picture.figure.data[0]
    shown = np.asarray(trace.customdata)
    assert shown.shape == (3, 67)
    assert shown[0, 0] == counts[:3, 0].sum()
    assert shown.sum() == counts.sum()
    assert list(trace.x[-2:]) == [198, 200]
    assert "Drawn are 67 by 3 of 200 by 3 cells: neighbours are put together." in picture.caption


def test_a_box_map_colours_by_density_not_by_count() -> None:
    boxes = [(0, 0, 1, 1), (1, 0, 11, 10)]
    figure = maps.box_map("m", boxes, [10, 20]).figure
    filled = {round(trace.meta["ramp"], 3): min(trace.x[:5]) for trace in figure.data if trace.fill}
    assert filled[1.0] == 0.0
    assert min(filled) < 1.0


def test_a_network_without_cycles_is_layered_and_one_with_cycles_is_round() -> None:
    layered = diagrams.network("n", ["a", "b", "c"], [("a", "b"), ("b", "c"), ("a", "c")])
    heights = {note["text"]: note["y"] for note in layered.figure.layout.annotations}
    assert heights["a"] > heights["b"] > heights["c"]
    assert layered.rows == (("a", "b"), ("b", "c"), ("a", "c"))
    round_one = diagrams.network("n", ["a", "b"], [("a", "b"), ("b", "a")])
    assert len(round_one.figure.layout.annotations) == 2
    with pytest.raises(UsageError, match="not one of its nodes"):
        diagrams.network("n", ["a"], [("a", "z")])


def test_long_edges_of_a_network_stay_within_its_picture() -> None:
    """Edges over many layers bow out to the right, beyond all nodes."""
    nodes = [f"n{number}" for number in range(12)]
    edges = [*pairwise(nodes), (nodes[0], nodes[11]), (nodes[1], nodes[10])]
    figure = diagrams.network("n", nodes, edges, strengths=[0.5] * len(edges)).figure
    low, high = figure.layout.xaxis["range"]
    drawn = [place for trace in figure.data for place in trace.x if place is not None]
    assert low <= min(drawn)
    assert max(drawn) < high


def test_a_tree_keeps_the_fullest_nodes_with_their_ancestors() -> None:
    n = 500
    picture = diagrams.tree(
        "t", [f"n{i}" for i in range(n)], [-1, *(i // 2 for i in range(n - 1))], list(range(n)), most=40
    )
    kept = {row[0] for row in picture.rows}
    assert len(kept) <= 40
    assert "n0" in kept
    assert all(row[1] in kept or row[1] == "" for row in picture.rows)
    with pytest.raises(UsageError, match="before its children"):
        diagrams.tree("t", ["a", "b"], [1, -1], [1, 2])


@pytest.mark.parametrize(
    "draw",
    [
        lambda: pictures.bars("x", ["a"], [float("nan")]),
        lambda: pictures.bars("x", ["a"], [1, 2]),
        lambda: pictures.heatmap("x", "ab", "c", [[1]]),
        lambda: maps.grid_map("x", [0, 1], [0, 1], [[1, 2]]),
        lambda: maps.box_map("x", [], []),
        lambda: pictures.histogram("x", [1, 2], [1, 2]),
    ],
)
def test_numbers_that_do_not_fit_are_refused(draw: object) -> None:
    with pytest.raises(UsageError):
        draw()  # type: ignore[operator]


def test_labels_are_shown_letter_by_letter() -> None:
    assert safe('<a href="javascript:x">&') == '&lt;a href="javascript:x"&gt;&amp;'
    assert safe("a\u202eb\nc") == "a b c"
    assert safe("<" * 100, 10).count("&lt;") == 9


def test_ink_on_every_palette_colour_meets_wcag_aa() -> None:
    for colour in PALETTE:
        high, low = sorted((luminance(colour), luminance(ink_on(colour))), reverse=True)
        assert (high + 0.05) / (low + 0.05) >= 4.5, colour


def test_a_picture_that_is_shown_by_itself_has_the_house_style() -> None:
    picture = pictures.bars("b", ["x", "y"], [1, 2])
    shown = picture._repr_html_()
    assert LIGHT["ink"] in shown
    assert LIGHT["ink"] not in str(picture.figure)  # and is as it was


def test_a_network_has_a_second_form_for_narrow_screens_with_a_line_of_text_for_each_node() -> None:
    names = [f"question {number} of the survey" for number in range(24)]
    narrow = diagrams.network("n", names, [(names[0], name) for name in names[1:]]).figure.layout.narrow
    *arcs, dots = narrow.data
    assert len(arcs) == 23
    assert len(set(dots.text)) == len(dots.text) == 24
    assert narrow.layout.height >= 24 * 20


def test_labels_that_are_cut_still_differ() -> None:
    long = "a very long category name that goes on and on: "
    shown = pictures.bars("b", [f"{long}yes", f"{long}no", "other"], [1, 2, 3]).figure.layout.yaxis.ticktext
    assert len(set(shown)) == 3
    assert max(map(len, shown)) <= 26
    alike = told_apart([f"{'x' * 20}{middle}{'y' * 20}" for middle in "abc"], 12)
    assert len(set(alike)) == 3


def test_a_map_has_one_scale_unless_it_would_be_a_strip() -> None:
    for width, same in ((2.0, True), (3.0, True), (5.0, False), (0.2, False)):
        layout = maps.grid_map("map", [0.0, width], [0.0, 1.0], [[1.0]]).figure.layout
        assert (layout.yaxis.scaleanchor == "x") is same


def test_a_tree_has_a_second_form_for_narrow_screens_with_a_line_of_text_for_each_node() -> None:
    drawn = diagrams.tree("t", ["root", "a", "b", "a1"], [-1, 0, 0, 1], [4, 3, 1, 2]).figure
    _, dots = drawn.layout.narrow.data
    assert sorted(dots.y) == [0, 1, 2, 3]
    assert dict(zip(dots.text, zip(dots.x, dots.y, strict=True), strict=True)) == {
        "root": (0, 0),
        "a": (1, 1),
        "a1": (2, 2),
        "b": (1, 3),
    }
