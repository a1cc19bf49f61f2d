"""The Lindland household survey: a country that does not exist, with people who never lived.

Twelve columns of every type that a schema knows. They hang together the way such surveys do
(education and age move occupation, occupation moves hours and income, the district moves the way
to work, income and age move health), so that a method which keeps only single columns visibly
loses something.
"""

from __future__ import annotations

from datetime import date, timedelta
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import polars as pl

DISTRICTS = (
    "Harrow Bay",
    "Saltmere",
    "Seaby",
    "Gulls Head",
    "Old Town",
    "Mill Quarter",
    "Riverside",
    "Northgate",
    "University",
    "Upper Fell",
    "Stonebeck",
    "Larchdale",
)
_DISTRICT_SHARES = (9, 6, 7, 3, 12, 10, 14, 11, 8, 7, 8, 5)
_CITY = slice(4, 9)

EDUCATION = ("primary", "lower secondary", "upper secondary", "vocational", "bachelor", "master or higher")
OCCUPATIONS = (
    "farmer",
    "fisher",
    "builder",
    "machine operator",
    "driver",
    "cleaner",
    "shop assistant",
    "cook",
    "carer",
    "clerk",
    "teacher",
    "nurse",
    "engineer",
    "physician",
    "manager",
    "student",
    "retired",
    "not working",
)
_WORKING = 15

# Rows: level of education; columns: the fifteen paid occupations.
_JOBS = np.array(
    [
        [14, 6, 16, 12, 10, 18, 10, 8, 5, 1, 0, 0, 0, 0, 0],
        [9, 5, 16, 14, 11, 12, 14, 9, 7, 3, 0, 0, 0, 0, 0],
        [5, 2, 10, 10, 9, 5, 17, 9, 10, 17, 1, 1, 1, 0, 3],
        [6, 2, 17, 13, 8, 2, 10, 10, 14, 10, 1, 3, 2, 0, 2],
        [1, 0, 2, 2, 1, 1, 6, 3, 6, 20, 17, 14, 15, 1, 11],
        [1, 0, 1, 1, 0, 0, 2, 1, 2, 8, 22, 4, 26, 14, 18],
    ],
    dtype=float,
)
_HOURLY = np.array([9.5, 10.5, 13.5, 13, 12.5, 9, 10, 10.5, 12, 14, 18, 17.5, 24, 33, 29])
_HOURS = np.array([48, 46, 41, 39, 42, 28, 31, 38, 32, 37, 38, 35, 40, 46, 44])
_DOCTORS = 13


def survey(records: int = 10_000) -> pl.DataFrame:
    """The survey, the same on every machine and every day.

    >>> survey(100).columns[:4]
    ['district', 'age', 'sex', 'household']
    """
    import polars as pl

    rng = np.random.default_rng(20_250_321)
    district = _pick(rng, np.tile(np.array(_DISTRICT_SHARES, float), (records, 1)))
    in_city = (district >= _CITY.start) & (district < _CITY.stop)
    at_university = district == DISTRICTS.index("University")

    age = np.clip(
        np.where(
            at_university & (rng.random(records) < 0.55),
            rng.normal(23, 3, records),
            rng.gamma(6.2, 4.6, records) + rng.choice([16, 34], records, p=[0.7, 0.3]),
        ),
        16,
        99,
    ).astype(int)
    sex = _pick(
        rng,
        np.column_stack(
            [np.full(records, 51.0) + (age > 70) * 8, np.full(records, 48.0), np.full(records, 0.9)]
        ),
    )
    older = np.clip((age - 45) / 30, 0, 1)
    education = _pick(
        rng,
        np.column_stack(
            [
                4 + 16 * older,
                12 + 14 * older + 12 * (age < 19),
                26 + 30 * (age < 21),
                28 - 10 * older - 20 * (age < 20),
                np.where(age < 22, 1, 20 - 9 * older + 14 * at_university),
                np.where(age < 25, 0.2, 10 - 3 * older + 10 * at_university),
            ]
        ),
    )

    occupation = _occupation(rng, age, education, sex, district)
    working = occupation < _WORKING
    household = _household(rng, age, at_university)
    hours = np.where(
        working,
        np.clip(
            rng.normal(_HOURS[np.minimum(occupation, _WORKING - 1)], 6.5)
            - 7.5 * ((sex == 0) & (household > 2)),
            4,
            80,
        ),
        np.nan,
    )
    income = _income(rng, age, occupation, hours, in_city)
    commute = _commute(rng, working | (occupation == _WORKING), in_city, hours, income, age)
    smokes = rng.random(records) < 0.13 + 0.14 * (education < 2) + 0.07 * (sex == 1) - 0.1 * (age > 70)
    health = _health(rng, age, income, smokes)
    day = _interview_day(rng, records)

    def but(values: NDArray[np.bool_], share: float | NDArray[np.floating]) -> NDArray[np.bool_]:
        return values & (rng.random(records) >= share)

    answered = np.ones(records, bool)
    return pl.DataFrame(
        {
            "district": [DISTRICTS[i] for i in district],
            "age": age,
            "sex": [("woman", "man", "other")[i] for i in sex],
            "household": household,
            "education": _with_gaps([EDUCATION[i] for i in education], but(answered, 0.015)),
            "occupation": [OCCUPATIONS[i] for i in occupation],
            "hours": _with_gaps(np.round(hours * 2) / 2, working),
            "income": _with_gaps(income, but(answered, 0.04 + 0.09 * (income > 4500))),
            "commute": [("home", "on foot", "bicycle", "bus", "train", "car")[i] for i in commute],
            "health": [("very bad", "bad", "fair", "good", "very good")[i] for i in health],
            "smoker": _with_gaps(smokes, but(answered, 0.03)),
            "interviewed": [date(2025, 1, 1) + timedelta(days=int(i)) for i in day],
        }
    )


def survey_schema() -> str:
    """The schema as its custodian has reviewed it, in YAML."""
    return files(__package__).joinpath("survey.schema.yaml").read_text(encoding="utf-8")


def _pick(rng: np.random.Generator, weights: NDArray[np.float64]) -> NDArray[np.int64]:
    """One column index for each row, in proportion to the row's weights."""
    steps = np.cumsum(np.maximum(weights, 0), axis=1)
    passed = rng.random(len(weights))[:, None] * steps[:, -1:] >= steps
    return np.asarray(passed.sum(axis=1), dtype=np.int64)


def _with_gaps(values: object, known: NDArray[np.bool_]) -> list[object]:
    listed = values.tolist() if isinstance(values, np.ndarray) else values
    assert isinstance(listed, list)
    return [value if there else None for value, there in zip(listed, known, strict=True)]


def _occupation(
    rng: np.random.Generator,
    age: NDArray[np.int64],
    education: NDArray[np.int64],
    sex: NDArray[np.int64],
    district: NDArray[np.int64],
) -> NDArray[np.int64]:
    weights = _JOBS[education].copy()
    coast, hills, city = district < _CITY.start, district >= _CITY.stop, np.isin(district, range(4, 9))
    weights[:, 0] *= np.where(hills, 3.5, np.where(city, 0.05, 1.2))
    weights[:, 1] *= np.where(coast, 4.0, 0.05)
    weights[:, 12:15] *= np.where(city, 1.5, 0.7)[:, None]
    for column, factor in ((2, 0.12), (3, 0.4), (4, 0.2), (8, 3.2), (10, 2.0), (11, 4.5), (12, 0.35)):
        weights[:, column] *= np.where(sex == 0, factor, 1)
    job = _pick(rng, weights)
    draw = rng.random(len(age))
    student = draw < np.where(age < 19, 0.85, np.where(age < 27, 0.42, 0.01))
    retired = draw < np.where(age >= 67, 0.95, np.where(age >= 60, 0.3, 0))
    idle = rng.random(len(age)) < 0.06 + 0.09 * (education < 2) + 0.05 * (age > 57)
    return np.where(student, 15, np.where(retired, 16, np.where(idle, 17, job)))


def _household(
    rng: np.random.Generator, age: NDArray[np.int64], at_university: NDArray[np.bool_]
) -> NDArray[np.int64]:
    raising = np.clip(1 - np.abs(age - 40) / 16, 0, 1)
    at_home = age < 20
    return 1 + _pick(
        rng,
        np.column_stack(
            [
                22 + 22 * (age > 72) + 20 * at_university - 18 * at_home,
                34 - 16 * raising - 20 * at_home,
                12 + 16 * raising + 14 * at_home,
                7 + 26 * raising + 22 * at_home,
                2 + 9 * raising + 9 * at_home,
                0.7 + 3 * raising,
                0.3 + raising,
                np.full(len(age), 0.2),
            ]
        ),
    )


def _income(
    rng: np.random.Generator,
    age: NDArray[np.int64],
    occupation: NDArray[np.int64],
    hours: NDArray[np.float64],
    in_city: NDArray[np.bool_],
) -> NDArray[np.float64]:
    """Euros a month before tax."""
    working = occupation < _WORKING
    hourly = _HOURLY[np.minimum(occupation, _WORKING - 1)] * (1 + 0.008 * np.clip(age - 25, 0, 30))
    wage = hourly * np.nan_to_num(hours) * 4.33 * rng.lognormal(0, 0.22, len(age)) * (1 + 0.07 * in_city)
    other = np.where(
        occupation == 15,
        rng.gamma(2.2, 210, len(age)),
        np.where(occupation == 16, rng.gamma(9, 175, len(age)), rng.gamma(3, 230, len(age))),
    )
    return np.round(np.clip(np.where(working, wage, other), 0, 15_000) / 10) * 10


def _commute(
    rng: np.random.Generator,
    goes_out: NDArray[np.bool_],
    in_city: NDArray[np.bool_],
    hours: NDArray[np.float64],
    income: NDArray[np.float64],
    age: NDArray[np.int64],
) -> NDArray[np.int64]:
    means = np.clip(income / 3000, 0.2, 2)
    ways = np.column_stack(
        [
            6 + 5 * (income > 3500),
            np.where(in_city, 16, 7),
            np.where(in_city, 24, 6) - 8 * (age > 60),
            np.where(in_city, 24, 14) / means,
            np.where(in_city, 10, 8),
            np.where(in_city, 14, 48) * means,
        ]
    )
    return np.where(goes_out, _pick(rng, ways), 0)


def _health(
    rng: np.random.Generator, age: NDArray[np.int64], income: NDArray[np.float64], smokes: NDArray[np.bool_]
) -> NDArray[np.int64]:
    score = 3.2 - 0.026 * (age - 30) + 0.16 * np.log1p(income / 1000) - 0.45 * smokes
    return np.clip(np.round(score + rng.normal(0, 0.75, len(age))), 0, 4).astype(int)


def _interview_day(rng: np.random.Generator, records: int) -> NDArray[np.int64]:
    """Days of 2025; nobody interviews on Sundays, and few in the summer."""
    days = np.arange(365)
    weekday = (days + 2) % 7
    weights = np.where(weekday == 6, 0.0, np.where(weekday == 5, 0.4, 1.0)) * np.where(
        (days > 180) & (days < 243), 0.35, 1
    )
    return rng.choice(days, records, p=weights / weights.sum())
