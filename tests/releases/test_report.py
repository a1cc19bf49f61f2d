from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from fractions import Fraction
from html.parser import HTMLParser
from pathlib import Path

import pytest
from tests.releases.tiny import SURVEY, Showcase, paid, tiny

from penstock import catalogue
from penstock.catalogue import KindInfo, UnitInfo
from penstock.privacy.budgets.charges import Apart, Charge, Concentrated, Portion, Together
from penstock.privacy.budgets.receipt import Receipt
from penstock.releases.example import example_query
from penstock.releases.public_report import belief, meaning, report
from penstock.report import pictures
from penstock.report.page import (
    Card,
    Cards,
    Commands,
    Gallery,
    Headline,
    Points,
    Section,
    Table,
    Text,
    render,
)
from penstock.report.receipt import lines, receipt_blocks, receipt_picture
from penstock.report.theme import luminance
from penstock.schema import Relation, Schema, Unit

EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>"


class Outline(HTMLParser):
    """Tags, their attributes, and the text outside scripts and styles."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self._inside: str | None = None
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._inside = tag if tag in ("script", "style") else self._inside
        if tag == "script":
            self.scripts.append((dict(attrs), ""))

    def handle_endtag(self, tag: str) -> None:
        self._inside = None if tag == self._inside else self._inside

    def handle_data(self, data: str) -> None:
        if self._inside == "script":
            self.scripts[-1] = (self.scripts[-1][0], self.scripts[-1][1] + data)
        elif self._inside is None:
            self.words.append(data)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.words))


@pytest.fixture(scope="module")
def page() -> str:
    return report(tiny(seed=None), title="people-release")


def test_the_report_says_what_a_reader_must_know(page: str) -> None:
    text = Outline(page).text
    for words in (
        "Household survey 2023",
        "ε = 1",
        "What is promised",
        "at most 73 % sure",
        "Protected",
        "One record",
        "One unit added or removed",
        "Pure differential privacy",
        "In no ledger",
        "What was paid",
        "counts of age",
        "The released data",
        "Hours per week",
        "The model",
        "What was public beforehand",
        "17 to 90",
        "How to use it",
        "penstock sample people-release -n 10000 -o rows.csv",
        "Limits",
        "as if the fields were independent",
    ):
        assert words in text, words
    assert "ot publishable" not in text


def test_a_seeded_release_is_not_publishable_and_says_so() -> None:
    assert "Not publishable: made with a fixed seed" in Outline(report(tiny(seed=3))).text


def test_the_page_loads_nothing(page: str) -> None:
    outline = Outline(page)
    for tag, attributes in outline.tags:
        for name in ("src", "href", "srcset", "data", "action", "poster", "background"):
            value = attributes.get(name)
            assert value is None or value.startswith("#"), (tag, name, value)
        assert "url(" not in (attributes.get("style") or "")
    assert not [
        tag for tag, _ in outline.tags if tag in ("link", "iframe", "object", "embed", "base", "form")
    ]
    style = re.search(r"<style>(.*?)</style>", page, re.S)
    assert style is not None
    assert "url(" not in style.group(1)
    assert "@import" not in style.group(1)


def test_the_policy_admits_our_two_scripts_and_no_others(page: str) -> None:
    outline = Outline(page)
    policy = next(a["content"] for tag, a in outline.tags if tag == "meta" and a.get("http-equiv"))
    assert policy is not None
    assert "default-src 'none'" in policy
    assert "unsafe-inline" not in policy.split("style-src")[0]
    code = [text for attributes, text in outline.scripts if attributes.get("type") != "application/json"]
    assert len(code) == 2
    for text in code:
        assert f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" in policy


def test_what_draws_the_charts_is_inlined_once_and_small(page: str) -> None:
    assert page.count("const penstockChart") == 1
    assert len(page.encode()) < 150_000


def test_a_page_without_charts_carries_no_script() -> None:
    plain = render("title", [Section("one", [Text(["words"])])])
    assert "<script" not in plain
    assert "script-src 'none'" in plain
    assert len(plain) < 30_000


def test_hostile_names_are_shown_and_never_interpreted(tmp_path: Path) -> None:
    schema = json.dumps(
        {
            "title": EVIL,
            "description": EVIL,
            "fields": [
                {"name": EVIL, "constraints": {"enum": [EVIL + "a", "<b>b</b>", "%{x}"]}},
                {
                    "name": "n",
                    "title": EVIL,
                    "type": "integer",
                    "constraints": {"minimum": 0, "maximum": 100},
                },
            ],
        }
    )
    release = tiny(schema=schema, parameters={EVIL: EVIL}, method="tiny")
    release.save(tmp_path / "x</script><script>alert(3)<")
    page = (tmp_path / "x</script><script>alert(3)<" / "report.html").read_text()
    outline = Outline(page)
    assert not [tag for tag, attributes in outline.tags if tag == "img" or "onerror" in attributes]
    assert len([1 for attributes, _ in outline.scripts if attributes.get("type") != "application/json"]) == 2
    assert EVIL in "".join(outline.words)
    data = next(text for attributes, text in outline.scripts if attributes.get("id") == "figures")
    assert "<" not in data
    figures = json.loads(data)
    labels = [label for figure in figures for trace in figure["data"] for label in trace.get("labels", [])]
    ticks = [tick for figure in figures for tick in figure["layout"].get("yaxis", {}).get("ticktext", [])]
    assert not [label for label in [*labels, *ticks] if "<" in label]
    assert "&lt;b&gt;b&lt;/b&gt;" in ticks


def test_the_same_release_gives_the_same_page() -> None:
    assert report(tiny()) == report(tiny())


def test_every_picture_has_words_and_a_table_for_those_who_cannot_see_it() -> None:
    for picture in tiny(Showcase).pictures():
        assert len(picture.caption) > 20
        assert picture.rows
        assert all(len(row) == len(picture.columns) for row in picture.rows)
    outline = Outline(report(tiny(Showcase)))
    plots = [attributes for tag, attributes in outline.tags if "data-figure" in attributes]
    captions = {attributes.get("id") for _, attributes in outline.tags}
    assert len(plots) >= 12
    assert all(plot["role"] == "img" and plot["aria-labelledby"] in captions for plot in plots)


# The guarantee in words --------------------------------------------------------------------------------


def receipt(epsilon: str = "1", delta: str = "0", **options: object) -> Receipt:
    charge = Charge("all", "discrete laplace", Fraction(epsilon), Fraction(delta))
    facts = {"relation": Relation.ADD_REMOVE, "unit": Unit(), **options}
    return Receipt(Fraction(epsilon), Fraction(delta), paid=Together("release", (charge,)), **facts)  # type: ignore[arg-type]


def test_belief_is_bayes_with_odds_of_e_to_the_epsilon() -> None:
    for epsilon in (Fraction(1, 10), Fraction(1), Fraction(5)):
        least, most = belief(epsilon)
        assert most / (1 - most) == pytest.approx(2.718281828459045 ** float(epsilon))
        assert least == pytest.approx(1 - most)


_NODE = UnitInfo("node", yours="you, with all your connections,", plural=True)
_FRIENDS = KindInfo("friends", words="friendships", units=(_NODE,), data="no:where", draft="no:where")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (receipt(), "whether your record is in the data at all"),
        (receipt(relation=Relation.REPLACE), "which of two possible contents your record has"),
        (receipt(unit=Unit(protects="user", column="id", at_most=3)), "3 records at most"),
        (receipt(unit=Unit(protects="node")), "with all your connections"),
        (receipt("1", "1/1000000"), "1e-06 (delta)"),
        (receipt("8"), "weak guarantee"),
        (receipt("20"), "more than 99.9"),
    ],
)
def test_the_promise_is_told_for_every_unit_relation_and_size(given: Receipt, words: str) -> None:
    """Also in the words of a unit that only a kind yet to come will know."""
    with catalogue.extended(kinds=(_FRIENDS,)):
        assert words in " ".join(meaning(given))


def test_a_promise_is_never_rounded_to_certainty() -> None:
    for epsilon in ("0.00001", "0.5", "7", "50", "100"):
        text = " ".join(meaning(receipt(epsilon)))
        assert "100\u00a0% sure" not in text


# The receipt as table and chart ------------------------------------------------------------------------

_NESTED = Receipt(
    Fraction(2),
    Fraction(1, 10**6),
    Relation.ADD_REMOVE,
    Unit(),
    Together(
        "release",
        (
            Charge("size", "discrete laplace", Fraction(1, 10), sensitivity="1"),
            Apart(
                "regions",
                (Charge("north", "choice", Fraction(2, 5)), Charge("south", "choice", Fraction(1, 5))),
            ),
            Concentrated(
                "marginals",
                Fraction(1),
                Fraction(1, 10**6),
                Fraction(1, 100),
                (
                    Portion("age", "discrete gaussian", Fraction(1, 200)),
                    Portion("sex", "discrete gaussian", Fraction(1, 400)),
                ),
            ),
        ),
    ),
)


def test_every_entry_of_a_receipt_has_its_line() -> None:
    found = [(line.depth, line.label, line.epsilon) for line in lines(_NESTED)]
    assert found == [
        (0, "size", "0.1"),
        (0, "regions", "0.4"),
        (1, "north", "0.4"),
        (1, "south", "0.2"),
        (0, "marginals", "1"),
        (1, "age", ""),
        (1, "sex", ""),
    ]
    table = receipt_blocks(_NESTED)[-1]
    assert isinstance(table, Table)
    assert [row[-2:] for row in table.rows[-2:]] == [["1.5", "1e-06"], ["2", "1e-06"]]


def test_the_areas_of_the_chart_add_up_level_by_level() -> None:
    trace = receipt_picture(_NESTED, lines(_NESTED)).figure.data[0]
    areas = dict(zip(trace.ids, trace["values"], strict=True))
    for parent in set(trace.parents) - {""}:
        inside = [
            areas[name] for name, above in zip(trace.ids, trace.parents, strict=True) if above == parent
        ]
        assert sum(inside) == pytest.approx(areas[parent])


def test_a_receipt_with_thousands_of_charges_stays_readable() -> None:
    many = Receipt(
        Fraction(1),
        Fraction(0),
        Relation.ADD_REMOVE,
        Unit(),
        Together(
            "release",
            tuple(
                Together(
                    f"group {g}",
                    tuple(Charge(f"c{g}-{i}", "discrete laplace", Fraction(1, 4000)) for i in range(100)),
                )
                for g in range(40)
            ),
        ),
    )
    trace = receipt_picture(many, lines(many)).figure.data[0]
    assert len(trace.ids) == 1 + 2 * 40  # the total, 40 groups, and in each what is too thin
    assert "100 smaller ones" in trace.labels
    assert "c0-0, c0-1" in trace.customdata[trace.labels.index("100 smaller ones")]
    table = receipt_blocks(many)[-1]
    assert isinstance(table, Table)
    assert table.folded


def test_nothing_spent_is_still_a_receipt() -> None:
    nothing = Receipt(Fraction(1), Fraction(0), Relation.ADD_REMOVE, Unit(), Together("release"))
    assert len(receipt_blocks(nothing)) == 1
    schema = Schema.from_yaml(SURVEY)
    assert "Total" in Outline(report(replace(tiny(), receipt=nothing, schema=schema))).text
    assert paid(schema).epsilon == 1


@pytest.mark.parametrize(
    ("fields", "query"),
    [
        ("{name: x, type: number, constraints: {minimum: -1, maximum: 1}}", "x < 0"),
        ("{name: it's, constraints: {enum: [it's, b]}}", "\"it's\" = 'it''s'"),
        ("{name: and, type: boolean}", '"and" = false'),
        ("{name: 'a \"b\"', type: boolean}", '"a ""b""" = false'),
        ("{name: d, type: date, constraints: {minimum: 2020-01-01, maximum: 2020-01-31}}", "d < 2020-01-17"),
        ("{name: one, constraints: {enum: [only]}}", None),
    ],
)
def test_the_example_is_a_question_that_the_release_understands(fields: str, query: str | None) -> None:
    assert example_query(Schema.from_yaml(f"fields: [{fields}]")) == query


def test_rounded_amounts_say_where_the_exact_ones_are() -> None:
    assert "holds the exact fractions" in Outline(report(tiny(epsilon="1234567/9876543"))).text
    assert "holds the exact fractions" not in Outline(report(tiny())).text


# The page machinery ------------------------------------------------------------------------------------


def test_a_stamp_is_loud_and_in_the_title() -> None:
    page = render(
        "Evaluation", [Section("s", [Text(["x"])])], stamp="not for publication", banner="mind this"
    )
    assert '<div class="stamp" role="note"><strong>not for publication</strong></div>' in page
    assert "<title>Evaluation (not for publication)</title>" in page
    assert "mind this" in page


def test_every_kind_of_block_is_drawn() -> None:
    drawn = pictures.bars("picture-title", ["a", "b"], [1, 2])
    page = render(
        "t",
        [
            Section(
                "First section",
                [
                    Text(["para-graph"], tone="warning"),
                    Points(["point-one"]),
                    Cards([Card("label-x", "value-x", "note-x")]),
                    Table(
                        ["c1", "c2"],
                        [["row-one", 1234.5], ["row-two", None]],
                        caption="table-caption",
                        folded=True,
                    ),
                    Commands([("does-this", "run & that")]),
                    Gallery([drawn]),
                    drawn,
                ],
                lead="lead-words",
                short="short-name",
            ),
            Section("Second", []),
        ],
        headline=Headline("42", "head-label", "head-title", ["head-text"], terms=[("fact-a", "fact-b")]),
        footer="foot-x",
    )
    text = Outline(page).text
    for words in (
        "para-graph",
        "point-one",
        "label-x",
        "value-x",
        "note-x",
        "row-one",
        "1,23",
        "table-caption",
        "does-this",
        "run & that",
        "picture-title",
        "lead-words",
        "short-name",
        "42",
        "head-label",
        "head-title",
        "head-text",
        "fact-a",
        "fact-b",
        "foot-x",
    ):
        assert words in text, words
    assert page.count('data-figure="') == 2


@pytest.mark.parametrize("dark", [False, True])
def test_text_colours_meet_wcag_aa_on_their_grounds(dark: bool) -> None:
    import penstock.report.page as module

    css = (Path(module.__file__).parent / "page.css").read_text()
    blocks = re.findall(r":root \{(.*?)\}", css, re.S)
    colours = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", blocks[0]))
    if dark:
        colours |= dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", blocks[1]))
    pairs = [
        ("ink", "ground"),
        ("ink", "card"),
        ("quiet", "ground"),
        ("quiet", "card"),
        ("quiet", "soft"),
        ("accent", "card"),
        ("accent", "soft"),
        ("accent", "ground"),
        ("warn", "warn-soft"),
    ]
    for front, back in pairs:
        high, low = sorted((luminance(colours[front]), luminance(colours[back])), reverse=True)
        assert (high + 0.05) / (low + 0.05) >= 4.5, (front, back)
    for ground in ("deep", "deep-2", "loud"):
        assert 1.05 / (luminance(colours[ground]) + 0.05) >= 4.5, ground
