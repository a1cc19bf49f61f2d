"""The suite: tables of many kinds, half of them to choose by, half only to confirm what was chosen.

What is public about a table, its columns and their domains, is written down here or follows from how it is
made; nothing is read off the records. A number after the name is a subsample: ``load("bank 2000")``. The
knobs of `confluence` were chosen on the tables of CHOOSING. Five of them, MOVED, were to confirm and had a
say all the same, as docs/studies/suite.md tells; so they were moved. In their place came `recipes`,
`branches`, `doubles`, `threes`, `answers`, `blanks` and `visits`, which have had no say: like all of
CONFIRMING they are run when knobs have been chosen. Seven tables of three to ten columns came last, when it
had turned out that there were none: three to choose by, and four, of columns that nobody had run, to confirm.
Numbers that are mostly nothing came after that, for the same reason: `words` to choose by, `claims` to
confirm.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
import polars as pl

from frame import families
from frame.data import SCHOOL, Dataset, coded, file, flat, load_own, ordered

SIZES = (500, 2_000, 10_000)
"""Every table is also looked at with so many of its rows, where it has more."""

BUDGETS = ("0.05", "0.1", "0.3", "1", "3", "10")


@dataclass(frozen=True)
class Entry:
    """One table: where it comes from, and how it is loaded."""

    source: str
    load: Callable[[], Dataset]


def own(name: str) -> Callable[[], Dataset]:
    return partial(load_own, name)


# Files of others ------------------------------------------------------------------------------------------


def numbers(name: str, low: float, high: float, bins: int) -> dict[str, Any]:
    return {
        "name": name,
        "type": "number",
        "constraints": {"minimum": low, "maximum": high},
        "bins": {"count": bins},
        "outside": "clamp",
    }


NLTCS_10 = (
    "eating",
    "getting in/out of bed",
    "getting around inside",
    "dressing",
    "bathing",
    "using toilet",
    "heavy house work",
    "light house work",
    "laundry",
    "cooking",
)
MONTHS = ("mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
BANK: tuple[dict[str, Any], ...] = (
    numbers("age", 17, 97, 16),
    flat("job", ("admin.", "blue-collar", "entrepreneur", "housemaid", "management", "retired",
                 "self-employed", "services", "student", "technician", "unemployed", "unknown")),
    flat("marital", ("divorced", "married", "single", "unknown")),
    ordered("education", ("illiterate", "basic.4y", "basic.6y", "basic.9y", "high.school",
                          "professional.course", "university.degree", "unknown")),
    *(flat(name, ("no", "unknown", "yes")) for name in ("default", "housing", "loan")),
    flat("contact", ("cellular", "telephone")),
    ordered("month", MONTHS),
    ordered("day_of_week", ("mon", "tue", "wed", "thu", "fri")),
    numbers("duration", 0, 1600, 16),
    numbers("campaign", 1, 17, 16),
    numbers("pdays", 0, 1000, 4),
    ordered("previous", range(8)),
    flat("poutcome", ("failure", "nonexistent", "success")),
    numbers("emp.var.rate", -4, 2, 12),
    numbers("cons.price.idx", 92, 95, 12),
    numbers("cons.conf.idx", -52, -26, 13),
    numbers("euribor3m", 0, 5.5, 11),
    numbers("nr.employed", 4950, 5250, 12),
    flat("y", ("no", "yes")),
)  # fmt: skip


def bank() -> Dataset:
    return coded("bank", pl.read_csv(file("bank/bank_additional_full.csv.gz")), BANK, {"y": ("y", ["yes"])})


WORK = ("?", "Federal-gov", "Local-gov", "Never-worked", "Private", "Self-emp-inc", "Self-emp-not-inc",
        "State-gov", "Without-pay")  # fmt: skip
MARRIED = ("Divorced", "Married-AF-spouse", "Married-civ-spouse", "Married-spouse-absent", "Never-married",
           "Separated", "Widowed")  # fmt: skip
JOBS = ("?", "Adm-clerical", "Armed-Forces", "Craft-repair", "Exec-managerial", "Farming-fishing",
        "Handlers-cleaners", "Machine-op-inspct", "Other-service", "Priv-house-serv", "Prof-specialty",
        "Protective-serv", "Sales", "Tech-support", "Transport-moving")  # fmt: skip
KIN = ("Husband", "Not-in-family", "Other-relative", "Own-child", "Unmarried", "Wife")
RACES = ("Amer-Indian-Eskimo", "Asian-Pac-Islander", "Black", "Other", "White")
ABROAD = ("?", "Cambodia", "Canada", "China", "Columbia", "Cuba", "Dominican-Republic", "Ecuador",
          "El-Salvador", "England", "France", "Germany", "Greece", "Guatemala", "Haiti",
          "Holand-Netherlands", "Honduras", "Hong", "Hungary", "India", "Iran", "Ireland", "Italy",
          "Jamaica", "Japan", "Laos", "Mexico", "Nicaragua", "Outlying-US(Guam-USVI-etc)", "Peru",
          "Philippines", "Poland", "Portugal", "Puerto-Rico", "Scotland", "South", "Taiwan", "Thailand",
          "Trinadad&Tobago", "United-States", "Vietnam", "Yugoslavia")  # fmt: skip


def adult_raw(bins: int, name: str) -> Dataset:
    """Adult as it was published, numbers in even bins between public bounds."""
    fields = (
        numbers("age", 15, 95, min(bins, 80)),
        flat("workclass", WORK),
        numbers("fnlwgt", 0, 1_500_000, bins),
        ordered("education", SCHOOL),
        flat("marital-status", MARRIED),
        flat("occupation", JOBS),
        flat("relationship", KIN),
        flat("race", RACES),
        flat("sex", ("Female", "Male")),
        numbers("capital-gain", 0, 100_000, bins),
        numbers("capital-loss", 0, 4_500, bins),
        numbers("hours-per-week", 0, 100, bins),
        flat("native-country", ABROAD),
        flat("income", ("<=50K", ">50K")),
    )
    frame = pl.read_csv(file("adult/adult_48842.csv.gz"))
    return coded(name, frame, fields, {"income": ("income", [">50K"])})


LETTERS: Mapping[str, str] = {
    "class": "ep", "cap-shape": "bcfksx", "cap-surface": "fgsy", "cap-color": "bcegnpruwy", "bruises": "ft",
    "odor": "acflmnpsy", "gill-attachment": "adfn", "gill-spacing": "cdw", "gill-size": "bn",
    "gill-color": "beghknopruwy", "stalk-shape": "et", "stalk-root": "bcuezr?",
    "stalk-surface-above-ring": "fksy", "stalk-surface-below-ring": "fksy",
    "stalk-color-above-ring": "bcegnopwy", "stalk-color-below-ring": "bcegnopwy", "veil-type": "pu",
    "veil-color": "nowy", "ring-number": "not", "ring-type": "cefnlpsz", "spore-print-color": "bhknoruwy",
    "population": "acnsvy", "habitat": "dglmpuw",
}  # fmt: skip


def mushroom() -> Dataset:
    with gzip.open(file("mushroom/mushroom.csv.gz")) as stream:
        frame = pl.read_csv(stream.read(), infer_schema_length=0).fill_null("?")
    fields = [flat(name, tuple(letters)) for name, letters in LETTERS.items()]
    return coded("mushroom", frame, fields, {"poisonous": ("class", ["p"])})


def bundled(name: str, bounds: Sequence[tuple[float, float]], bins: int) -> Dataset:
    """A table that scikit-learn brings along: numbers in even bins between public bounds, and a class."""
    from sklearn import datasets

    found = getattr(datasets, f"load_{name}")()
    columns = {str(each): found.data[:, place] for place, each in enumerate(found.feature_names)}
    wide = list(bounds) * (len(columns) if len(bounds) == 1 else 1)
    fields = [numbers(each, low, high, bins) for each, (low, high) in zip(columns, wide, strict=True)]
    frame = pl.DataFrame(columns)
    if hasattr(found, "target_names") and len(found.target_names) < 20:
        labels = [str(label) for label in found.target_names]
        frame = frame.with_columns(pl.Series("class", [labels[code] for code in found.target]))
        return coded(name, frame, [*fields, flat("class", labels)], {"class": ("class", labels[:1])})
    frame = frame.with_columns(pl.Series("target", np.asarray(found.target, dtype=np.float64)))
    return coded(name, frame, [*fields, numbers("target", 0, 400, bins)])


CANCER = tuple(
    (0.0, high)
    for high in (30, 40, 200, 2600, 0.2, 0.4, 0.5, 0.25, 0.35, 0.1,
                 3, 5, 22, 550, 0.035, 0.15, 0.4, 0.055, 0.08, 0.03,
                 40, 50, 260, 4300, 0.25, 1.1, 1.3, 0.3, 0.7, 0.21)
)  # fmt: skip
WINE = ((11, 15), (0, 6), (1, 4), (10, 30), (70, 170), (0, 4), (0, 5.5), (0, 0.7), (0, 4), (1, 13),
        (0.4, 1.8), (1, 4.2), (200, 1700))  # fmt: skip


def taxi() -> Dataset:
    """Rides by taxi in New York: when, from where to where, how far, for how much."""
    frame = pl.read_csv(file("nyc_taxi/nyc_taxi_2015_10k.csv.gz"))
    when = pl.col("pickup_time").str.to_datetime()
    frame = frame.with_columns(when.dt.hour().alias("hour"), when.dt.weekday().alias("weekday"))
    fields = (
        ordered("hour", range(24)),
        ordered("weekday", range(1, 8)),
        *(numbers(f"{end}_lon", -74.03, -73.75, 64) for end in ("pickup", "dropoff")),
        *(numbers(f"{end}_lat", 40.6, 40.9, 64) for end in ("pickup", "dropoff")),
        ordered("passengers", range(10)),
        numbers("trip_distance", 0, 25, 100),
        numbers("fare", 0, 80, 80),
    )
    return coded("taxi", frame, fields)


def stays(
    name: str, path: str, when: str, north: tuple[str, float, float], east: tuple[str, float, float]
) -> Dataset:
    """Where somebody was and when: a fine grid of places, the hour, the day of the week and the month."""
    frame = pl.read_csv(file(path))
    time = pl.col(when).str.strip_suffix("Z").str.to_datetime()
    frame = frame.with_columns(
        time.dt.hour().alias("hour"), time.dt.weekday().alias("weekday"), time.dt.month().alias("month")
    )
    fields = (
        *(numbers(column, low, high, 100) for column, low, high in (north, east)),
        ordered("hour", range(24)),
        ordered("weekday", range(1, 8)),
        ordered("month", range(1, 13)),
    )
    return coded(name, frame, fields)


def tracts() -> Dataset:
    """Census tracts of New York: shares and means of who lives there, with gaps."""
    frame = pl.read_csv(file("nyc_census/nyc_tract_acs2015.csv.gz"), infer_schema_length=0)
    frame = frame.with_columns(pl.col(frame.columns[3:]).cast(pl.Float64, strict=False))
    means = {"Income": 250_000, "IncomePerCap": 150_000, "MeanCommute": 75}
    shares = [name for name in frame.columns[6:] if name not in (*means, "Citizen")]
    fields = (
        flat("Borough", ("Bronx", "Brooklyn", "Manhattan", "Queens", "Staten Island")),
        *(numbers(name, 0, 12_000, 24) for name in ("TotalPop", "Men", "Women", "Citizen")),
        *({**numbers(name, 0, high, 25), "missing": "value"} for name, high in means.items()),
        *({**numbers(name, 0, 100, 20), "missing": "value"} for name in shares),
    )
    return coded("tracts", frame, fields)


SECTIONS = ("frontpage", "news", "tech", "local", "opinion", "on-air", "misc", "weather", "msn-news",
            "health", "living", "business", "msn-sports", "sports", "summary", "bbs", "travel")  # fmt: skip
VISITORS, MOST_PAGES = 200_000, 30


def visits() -> Dataset:
    """The first visitors to msnbc.com in the file: where they began, went and ended, and how many pages."""
    with gzip.open(file("msnbc/msnbc.seq.gz"), "rt") as stream:
        lines = [line.split() for line in islice(stream, VISITORS)]
    pages = pl.Series("page", lines).list.eval(
        pl.element().replace_strict({str(code): name for code, name in enumerate(SECTIONS, 1)})
    )
    steps = ("first", "second", "third", "fourth")
    frame = pl.DataFrame(
        {
            **{
                step: pages.list.get(place, null_on_oob=True).fill_null("-")
                for place, step in enumerate(steps)
            },
            "last": pages.list.last(),
            "pages": pages.list.len().clip(upper_bound=MOST_PAGES),
            "sections": pages.list.n_unique(),
        }
    )
    fields = (
        *(flat(step, SECTIONS if step == "first" else (*SECTIONS, "-")) for step in steps),
        flat("last", SECTIONS),
        ordered("pages", range(1, MOST_PAGES + 1)),
        ordered("sections", range(1, len(SECTIONS) + 1)),
    )
    return coded("visits", frame, fields)


def survey() -> Dataset:
    """The survey of the demonstration, made up and with gaps, dates and grades."""
    from penstock.demo import survey as records
    from penstock.demo import survey_schema
    from penstock.schema import Schema

    schema = Schema.from_yaml(survey_schema())
    frame = records(20_000)
    codes = schema.encode(frame.select(pl.col(name).cast(pl.String) for name in schema.names))
    return Dataset("survey", schema, dict(codes), {}, frame)


def some(name: str, entry: Callable[[], Dataset], columns: Sequence[str]) -> Dataset:
    """A few columns of another table: what is asked of a release is often no more."""
    whole = entry()
    described = whole.schema.model_dump(by_alias=True, exclude_unset=True)
    fields = [field for field in described["fields"] if field["name"] in columns]
    schema = type(whole.schema).model_validate({"fields": fields})
    return Dataset(name, schema, {column: whole.codes[column] for column in schema.names}, {})


# The halves -----------------------------------------------------------------------------------------------

CHAIN = partial(families.tree, "chain", 20_000, (5, 8, 4, 12, 6, 3, 10, 7, 4, 9, 2, 6, 8, 5), 0.5, 1, 3)
RECIPES = partial(families.functional, "recipes", 20_000, (7, 14, 10, 3, 24, 5), 12, 0.05, 401)
BLANKS = partial(families.gaps, "blanks", 20_000, (7, 3, 11, 5, 8, 4, 6, 13, 2, 9, 5), 0.55, 406)

CHOOSING: dict[str, Entry] = {
    "nltcs": Entry("National Long Term Care Survey, 16 yes/no columns", own("nltcs")),
    "acs": Entry("American Community Survey, 23 yes/no columns", own("acs")),
    "adult-race": Entry("Adult in the bins of the MST papers", own("adult-race")),
    "br2000": Entry("Brazil's census of 2000", own("br2000")),
    "bank": Entry("UCI bank marketing, numbers in even bins", bank),
    "digits": Entry("scikit-learn digits, 64 pixels in 8 grades", partial(bundled, "digits", ((0, 16),), 8)),
    "survey": Entry("the survey of `penstock demo`, made up", survey),
    "taxi": Entry("rides by taxi in New York, numbers in up to 100 even bins", taxi),
    "tracts": Entry("census tracts of New York, shares and means in even bins, with gaps", tracts),
    "functional": Entry(
        "generated: functions of one or two columns",
        partial(families.functional, "functional", 20_000, (6, 9, 12, 4, 16), 10, 0.1, 1),
    ),
    "mixture": Entry(
        "generated: six hidden classes",
        partial(families.mixture, "mixture", 20_000, 6, (4, 8, 12, 3, 6, 10, 2, 5, 16, 7, 9, 4), 0.5, 2),
    ),
    "chain": Entry(
        "generated: a chain of dependence",
        CHAIN,
    ),
    "rare": Entry(
        "generated: rare categories",
        partial(families.rare, "rare", 20_000, (40, 30, 20, 60, 12, 25, 50, 8, 16, 35), 1.6, 4),
    ),
    "large": Entry(
        "generated: 100 to 1,000 categories",
        partial(families.large, "large", 20_000, (100, 300, 1_000), (4, 6, 8, 10, 5, 12), 5),
    ),
    "wide": Entry(
        "generated: 100 yes/no columns, five factors", partial(families.wide, "wide", 20_000, 100, 5, 1.2, 6)
    ),
    "alone": Entry(
        "generated: all independent",
        partial(families.alone, "alone", 20_000, (4, 8, 12, 3, 6, 10, 2, 5, 16, 7, 9, 20), 2.0, 7),
    ),
    "twins": Entry(
        "generated: identical columns",
        partial(families.twins, "twins", 20_000, (4, 8, 12, 6, 10, 16, 5), (1, 3, 5), 8),
    ),
    "gaps": Entry(
        "generated: heavy missingness",
        partial(families.gaps, "gaps", 20_000, (5, 8, 4, 12, 6, 3, 10, 7, 4, 9), 0.35, 9),
    ),
    "checkins": Entry(
        "check-ins in New York, places in 100 by 100 bins",
        partial(
            stays,
            "checkins",
            "gowalla_nyc/gowalla_nyc_checkins.csv.gz",
            "time",
            ("lat", 40.49, 40.92),
            ("lon", -74.26, -73.70),
        ),
    ),
    "census": Entry(
        "generated: numbers in fine bins and categories, three factors",
        partial(
            families.people,
            "census",
            200_000,
            (90, 100, 64, 100, 50, 100),
            (5, 9, 3, 16, 24, 2, 7, 12),
            3,
            22,
        ),
    ),
    "functions": Entry(
        "generated: functions with little noise",
        partial(families.functional, "functions", 50_000, (20, 5, 8, 30), 14, 0.02, 11),
    ),
    "tree": Entry(
        "generated: a tree of dependence",
        partial(
            families.tree, "tree", 30_000, (6, 4, 9, 3, 12, 5, 8, 2, 10, 7, 16, 4, 6, 3, 5, 8), 0.3, 3, 13
        ),
    ),
    "copies": Entry(
        "generated: columns that come twice",
        partial(families.twins, "copies", 30_000, (20, 3, 9, 6, 4, 12), (0, 1, 2, 3, 4, 5), 19),
    ),
    "parity": Entry(
        "generated: dependence of three at a time", partial(families.parity, "parity", 30_000, 4, 6, 21)
    ),
    "fixes": Entry(
        "positions of two people in Beijing, 100 by 100 bins",
        partial(
            stays,
            "fixes",
            "geolife/geolife_2users.csv.gz",
            "datetime",
            ("lat", 39.6, 40.4),
            ("lng", 115.9, 116.9),
        ),
    ),
    "words": Entry(
        "generated: 40 numbers that are mostly nothing",
        partial(families.spikes, "words", 5_000, (24,) * 40, 4, 1),
    ),
    "adult-5": Entry(
        "five small columns of adult-race",
        partial(
            some,
            "adult-5",
            own("adult-race"),
            ("workclass", "marital-status", "relationship", "race", "sex"),
        ),
    ),
    "nltcs-10": Entry("ten columns of nltcs", partial(some, "nltcs-10", own("nltcs"), NLTCS_10)),
    "chain-3": Entry("three columns of chain", partial(some, "chain-3", CHAIN, ("c1", "c2", "c3"))),
}

MOVED = ("functions", "tree", "copies", "parity", "fixes")
"""Those of CHOOSING that were to confirm until they had a say in knobs of `confluence`."""

CONFIRMING: dict[str, Entry] = {
    "adult": Entry("Adult as in the PrivBayes papers, with taxonomies", own("adult")),
    "adult-16": Entry("Adult as published, 16 even bins", partial(adult_raw, 16, "adult-16")),
    "adult-100": Entry("Adult as published, 100 even bins", partial(adult_raw, 100, "adult-100")),
    "mushroom": Entry("UCI mushroom", mushroom),
    "breast_cancer": Entry(
        "scikit-learn breast cancer, 10 even bins", partial(bundled, "breast_cancer", CANCER, 10)
    ),
    "wine": Entry("scikit-learn wine, 8 even bins", partial(bundled, "wine", WINE, 8)),
    "iris": Entry("scikit-learn iris, 8 even bins", partial(bundled, "iris", ((0, 8),), 8)),
    "diabetes": Entry("scikit-learn diabetes, 8 even bins", partial(bundled, "diabetes", ((-0.2, 0.2),), 8)),
    "classes": Entry(
        "generated: fifteen hidden classes",
        partial(
            families.mixture, "classes", 30_000, 15, (6, 3, 20, 8, 5, 12, 4, 9, 2, 7, 10, 15, 4, 6), 0.8, 12
        ),
    ),
    "rarer": Entry(
        "generated: rarer categories",
        partial(families.rare, "rarer", 30_000, (100, 15, 45, 30, 80, 10, 20, 60), 2.0, 14),
    ),
    "larger": Entry(
        "generated: 2,000 and 10,000 categories",
        partial(families.large, "larger", 30_000, (10_000, 2_000), (3, 5, 8, 12, 4), 15),
    ),
    "wider": Entry("generated: 200 yes/no columns", partial(families.wide, "wider", 20_000, 200, 8, 1.0, 16)),
    "ordinal": Entry(
        "generated: 60 graded answers", partial(families.ordinal, "ordinal", 20_000, 60, 5, 4, 17)
    ),
    "apart": Entry(
        "generated: all independent, some flat",
        partial(families.alone, "apart", 30_000, (2, 2, 30, 6, 9, 3, 50, 4, 12, 8), 5.0, 18),
    ),
    "holes": Entry(
        "generated: missing values everywhere",
        partial(families.gaps, "holes", 30_000, (9, 4, 14, 6, 3, 8, 5, 10, 2, 7, 6, 12), 0.5, 20),
    ),
    "panel": Entry(
        "generated: numbers in fine bins and categories, five factors",
        partial(
            families.people,
            "panel",
            180_000,
            (100, 80, 100, 40, 100, 60, 20),
            (4, 30, 2, 8, 6, 14, 3, 10),
            5,
            23,
        ),
    ),
    "recipes": Entry(
        "generated: functions of one or two of six columns",
        RECIPES,
    ),
    "branches": Entry(
        "generated: a tree of weaker dependence",
        partial(
            families.tree,
            "branches",
            20_000,
            (8, 5, 3, 11, 6, 4, 14, 7, 2, 9, 5, 10, 3, 6, 12, 4, 7, 8),
            0.7,
            2,
            402,
        ),
    ),
    "doubles": Entry(
        "generated: half of the columns come twice",
        partial(families.twins, "doubles", 20_000, (7, 14, 2, 10, 5, 25, 8, 4), (0, 2, 4, 5), 403),
    ),
    "threes": Entry(
        "generated: six times dependence of three at a time",
        partial(families.parity, "threes", 20_000, 6, 3, 404),
    ),
    "answers": Entry(
        "generated: 60 yes/no columns, three factors",
        partial(families.wide, "answers", 20_000, 60, 3, 1.5, 405),
    ),
    "blanks": Entry(
        "generated: more than half of the values missing",
        BLANKS,
    ),
    "claims": Entry(
        "generated: 30 numbers that are mostly nothing, in 16 to 48 bins",
        partial(families.spikes, "claims", 8_000, (16, 24, 32, 40, 48, 20) * 5, 6, 407),
    ),
    "visits": Entry("visits to msnbc.com: the sections of a visitor's pages, and how many", visits),
    "mushroom-6": Entry(
        "six columns of mushroom",
        partial(
            some,
            "mushroom-6",
            mushroom,
            ("class", "cap-shape", "bruises", "odor", "gill-size", "habitat"),
        ),
    ),
    "visits-3": Entry(
        "three columns of visits", partial(some, "visits-3", visits, ("first", "second", "last"))
    ),
    "recipes-6": Entry(
        "six small columns of recipes",
        partial(
            some,
            "recipes-6",
            RECIPES,
            ("c3", "c5", "c8", "c9", "c12", "c13"),
        ),
    ),
    "blanks-4": Entry(
        "four small columns of blanks",
        partial(
            some,
            "blanks-4",
            BLANKS,
            ("c1", "c3", "c5", "c8"),
        ),
    ),
}

SUITE: dict[str, Entry] = {**CHOOSING, **CONFIRMING}
