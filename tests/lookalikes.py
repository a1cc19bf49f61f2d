"""Made-up tables of the shapes that custodians bring: a census, customers, a hospital, an event log.

Each holds planted facts that a draft, a release and its answers must keep: codes that look like numbers,
signs for missing values, values that stand out (spikes), columns that tell people apart, rules without
exception, and columns that depend on one another. Nothing in them is real. Every table is a function of its
size and its seed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

Texts = NDArray[Any]


@dataclass(frozen=True)
class Lookalike:
    """A made-up table and what is true of it.

    `frame` holds text, as a CSV file does. `schema` is what a careful custodian confirms, without the rules:
    `rules` are questions that hold for no row, `groups` questions that hold for at least 3 % of the rows.
    `markers` are the signs for a missing value, `spikes` the values that stand out, `codes` the categories of
    columns that hold numbers, in their order, `identifiers` the columns that tell cases or people apart, and
    `depends` the pairs of columns of which one says much about the other.
    """

    frame: pl.DataFrame
    schema: str
    rules: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    markers: Mapping[str, str] = field(default_factory=dict)
    spikes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    codes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    identifiers: tuple[str, ...] = ()
    depends: tuple[tuple[str, str], ...] = ()

    @property
    def typed(self) -> pl.DataFrame:
        """The same table as Parquet or a DataFrame would hold it: columns of numbers are numbers."""
        columns = []
        for column in self.frame:
            whole, real = column.cast(pl.Int64, strict=False), column.cast(pl.Float64, strict=False)
            columns.append(column if real.null_count() else real if whole.null_count() else whole)
        return pl.DataFrame(columns)

    def ruled(self, rules: int | None = None) -> str:
        """The schema with the first so many rules, or all of them."""
        listed = "".join(f'  - "{rule}"\n' for rule in self.rules[:rules])
        return f"impossible:\n{listed}{self.schema}" if listed else self.schema


def _codes(names: Sequence[int]) -> str:
    return f"type: integer, constraints: {{enum: [{', '.join(map(str, names))}]}}"


def _field(name: str, domain: str, marker: str | None = None) -> str:
    gone = "" if marker is None else f", missing: value, missingValues: ['{marker}']"
    return f"  - {{name: '{name}', {domain}{gone}}}\n"


def _range(low: object, high: object, bins: str = "count: 16", type_: str = "integer") -> str:
    return f"type: {type_}, constraints: {{minimum: {low}, maximum: {high}}}, bins: {{{bins}}}"


def _where(test: Texts, values: Texts, marker: str) -> Texts:
    return np.where(test, np.asarray(values).astype(str), marker)


@dataclass(frozen=True)
class _Draws:
    """Draws for so many rows."""

    rng: np.random.Generator
    rows: int

    def pick(self, values: Sequence[Any], chances: Any) -> NDArray[Any]:
        """One value a row; `chances` has a row for each, or is the same for all."""
        table = np.broadcast_to(np.asarray(chances, dtype=float), (self.rows, len(values)))
        sums = np.cumsum(table / table.sum(axis=1, keepdims=True), axis=1)
        chosen = (self.rng.random((self.rows, 1)) >= sums).sum(axis=1)
        return np.asarray(values)[np.minimum(chosen, len(values) - 1)]

    def chance(self, probability: Any) -> NDArray[np.bool_]:
        return np.asarray(self.rng.random(self.rows) < probability)

    def whole(self, low: Any, high: Any) -> NDArray[np.int64]:
        """A whole number a row, from low to high inclusive."""
        return self.rng.integers(
            np.broadcast_to(low, self.rows), np.broadcast_to(high, self.rows), endpoint=True
        )


CENSUS_RULES = (
    "AGE < 16 and MARITAL != 1",
    "AGE < 16 and WORK is not missing",
    "AGE < 16 and OCCUPATION is not missing",
    "AGE < 16 and INDUSTRY is not missing",
    "AGE < 16 and HOURS is not missing",
    "AGE < 15 and INCOME is not missing",
    "AGE < 16 and EDUCATION is not missing",
    "AGE < 16 and COMMUTE is not missing",
    "SEX = 1 and CHILDREN is not missing",
    "AGE < 15 and CHILDREN is not missing",
    "AGE < 5 and STUDENT = 1",
    "AGE < 50 and WORK = 5",
    "WORK in (3, 4, 5, 6) and HOURS is not missing",
    "WORK in (3, 4, 5, 6) and OCCUPATION is not missing",
    "WORK in (3, 4, 5, 6) and COMMUTE is not missing",
    "RESIDENCE = 2 and TENURE is not missing",
    "RESIDENCE = 2 and ROOMS is not missing",
    "RESIDENCE = 2 and CARS is not missing",
    "BIRTHPLACE = 1 and YEARS_HERE is not missing",
    "AGE < 1 and MOVED is not missing",
)


def census(rows: int = 4000, seed: int = 1) -> Lookalike:
    """24 columns of codes, a few amounts, 20 rules between them."""
    draws = _Draws(np.random.default_rng(seed), rows)
    pick, chance, whole = draws.pick, draws.chance, draws.whole
    residence = pick([1, 2], [0.96, 0.04])
    band = pick(range(6), np.where((residence == 2)[:, None], [0, 0, 3, 2, 1, 4], [6, 13, 22, 28, 26, 5]))
    age = whole(np.array([0, 5, 16, 30, 50, 85])[band], np.array([4, 15, 29, 49, 84, 95])[band])
    adult = age >= 16
    sex = pick([1, 2], [0.49, 0.51])
    marital = np.where(
        adult, pick([1, 2, 3, 4, 5], np.c_[np.maximum(60 - age, 4), age, age / 5, age / 8, age**2 / 90]), 1
    )
    student = np.where((age >= 5) & chance(np.where(age < 18, 0.95, np.where(age < 25, 0.35, 0.02))), 1, 2)
    birthplace = pick([1, 2], [0.86, 0.14])
    education = pick(
        [0, 1, 2, 3, 4], np.c_[age, np.full(rows, 25), np.full(rows, 30), np.full(rows, 15), 90 - age / 2]
    )
    work = np.select(
        [age >= 66, (age >= 50) & chance(0.2), student == 1],
        [pick([1, 2, 5, 6], [4, 3, 88, 5]), np.full(rows, 5), pick([1, 4, 6], [30, 65, 5])],
        pick([1, 2, 3, 6], [68, 12, 6, 14]),
    )
    at_work = adult & (work <= 2)
    occupation = pick(
        range(1, 10), 1 + 6 * np.exp(-((np.arange(1, 10) - (9 - 1.8 * education[:, None])) ** 2) / 2)
    )
    industry = pick(range(1, 13), 1 + 5 * (np.abs(np.arange(1, 13) - 1.3 * occupation[:, None]) < 1.5))
    hours = np.where(chance(0.45), 40, np.clip(draws.rng.normal(34, 11, rows).round(), 1, 80)).astype(int)
    pay = np.round(np.exp(draws.rng.normal(9.2 + 0.22 * education + 0.3 * at_work, 0.5, rows)), -1).astype(
        int
    )
    income = np.where(chance(np.where(at_work, 0.02, 0.45)), 0, np.minimum(pay, 99990))
    commute = np.where(chance(0.25), 0, 5 * whole(1, 18))
    fertile = (sex == 2) & (age >= 15)
    children = np.minimum(draws.rng.poisson(np.clip((age - 18) / 14, 0, 1.9)), 9)
    household = residence == 1
    tenure = pick(
        [1, 2, 3, 4],
        np.c_[np.full(rows, 30), np.clip(80 - np.abs(age - 45), 5, 60), np.full(rows, 20), np.full(rows, 12)],
    )
    size = np.where(household, np.clip(1 + draws.rng.poisson(np.where(age < 16, 2.6, 1.2)), 1, 8), 1)
    rooms = np.clip(2 + size // 2 + draws.rng.poisson(np.where(tenure <= 2, 2.4, 0.9)), 1, 12)
    cars = np.minimum(draws.rng.poisson(np.where(tenure <= 2, 1.5, 0.6)), 4)
    health = pick(
        [1, 2, 3, 4, 5], np.c_[100 - age, np.full(rows, 40), 5 + age / 3, 1 + age / 8, 0.5 + age / 20]
    )
    disabled = np.where(
        chance(np.array([0.02, 0.05, 0.3, 0.7, 0.9])[health - 1]), pick([1, 2], [0.5, 0.5]), 3
    )
    ethnicity = pick(
        [1, 2, 3, 4, 10, 11],
        np.where((birthplace == 2)[:, None], [35, 5, 25, 15, 10, 10], [88, 2, 4, 3, 1, 2]),
    )
    columns: dict[str, tuple[Texts, str, str | None]] = {
        "REGION": (pick(range(1, 12), [5, 13, 10, 8, 10, 11, 12, 9, 9, 5, 8]), _codes(range(1, 12)), None),
        "RESIDENCE": (residence, _codes([1, 2]), None),
        "SEX": (sex, _codes([1, 2]), None),
        "AGE": (
            age,
            _range(0, 95, "edges: [0, 1, 5, 10, 15, 16, 20, 25, 30, 40, 50, 60, 66, 75, 85, 95]"),
            None,
        ),
        "MARITAL": (marital, _codes(range(1, 6)), None),
        "STUDENT": (student, _codes([1, 2]), None),
        "ETHNICITY": (ethnicity, _codes([1, 2, 3, 4, 10, 11]), None),
        "BIRTHPLACE": (birthplace, _codes([1, 2]), None),
        "YEARS_HERE": (
            _where(birthplace == 2, whole(0, np.minimum(age, 60)), "N"),
            _range(0, 60, "width: 10"),
            "N",
        ),
        "HEALTH": (health, _codes(range(1, 6)), None),
        "DISABLED": (disabled, _codes([1, 2, 3]), None),
        "EDUCATION": (_where(adult, education, "-9"), _codes(range(5)), "-9"),
        "WORK": (_where(adult, work, "-9"), _codes(range(1, 7)), "-9"),
        "OCCUPATION": (_where(at_work, occupation, "-9"), _codes(range(1, 10)), "-9"),
        "INDUSTRY": (_where(at_work, industry, "-9"), _codes(range(1, 13)), "-9"),
        "HOURS": (_where(at_work, hours, "N"), _range(1, 80, "edges: [1, 16, 31, 40, 41, 49, 80]"), "N"),
        "INCOME": (
            _where(age >= 15, income, "."),
            _range(0, 100000, "edges: [0, 1, 5000, 10000, 15000, 20000, 30000, 50000, 100000]"),
            ".",
        ),
        "COMMUTE": (_where(at_work, commute, "N"), _range(0, 90, "edges: [0, 1, 15, 30, 60, 90]"), "N"),
        "CHILDREN": (_where(fertile, children, "N"), _range(0, 9, "width: 1"), "N"),
        "TENURE": (_where(household, tenure, "-9"), _codes(range(1, 5)), "-9"),
        "ROOMS": (_where(household, rooms, "-9"), _range(1, 12, "width: 1"), "-9"),
        "CARS": (_where(household, cars, "-9"), _codes(range(5)), "-9"),
        "HOUSEHOLD": (size, _codes(range(1, 9)), None),
        "MOVED": (_where(age >= 1, pick([1, 2], [0.12, 0.88]), "-9"), _codes([1, 2]), "-9"),
    }
    return Lookalike(
        frame=pl.DataFrame(
            {name: np.asarray(values).astype(str) for name, (values, _, _) in columns.items()}
        ),
        schema="fields:\n"
        + "".join(_field(name, domain, gone) for name, (_, domain, gone) in columns.items()),
        rules=CENSUS_RULES,
        groups=(
            "AGE < 5",
            "AGE >= 85",
            "RESIDENCE = 2",
            "AGE < 16 and SEX = 1",
            "WORK = 5",
            "WORK is missing",
            "INCOME = 0",
            "INCOME is missing",
            "BIRTHPLACE = 2",
            "CHILDREN is missing",
        ),
        markers={name: gone for name, (_, _, gone) in columns.items() if gone is not None},
        spikes={"INCOME": (0,), "HOURS": (40,), "COMMUTE": (0,)},
        codes={
            "REGION": tuple(range(1, 12)),
            "SEX": (1, 2),
            "ETHNICITY": (1, 2, 3, 4, 10, 11),
            "WORK": (1, 2, 3, 4, 5, 6),
            "HOUSEHOLD": tuple(range(1, 9)),
        },
        depends=(
            ("AGE", "MARITAL"),
            ("AGE", "WORK"),
            ("EDUCATION", "OCCUPATION"),
            ("OCCUPATION", "INDUSTRY"),
        ),
    )


def churn(rows: int = 3000, seed: int = 2) -> Lookalike:
    """Customers: one row each, a contract, charges with two decimals, spikes at 0, 501 and 999."""
    draws = _Draws(np.random.default_rng(seed), rows)
    contract = draws.pick(["Month-to-month", "One year", "Two year"], [0.55, 0.21, 0.24])
    monthly_contract = contract == "Month-to-month"
    tenure = np.where(monthly_contract, draws.whole(0, 40), draws.whole(8, 72))
    internet = draws.pick(["DSL", "Fiber optic", "No"], [0.34, 0.44, 0.22])
    charges = (
        np.select([internet == "No", internet == "DSL"], [20.0, 50.0], 80.0)
        + draws.rng.integers(0, 3000, rows) / 100
    )
    left = draws.chance(np.where(monthly_contract, 0.43, 0.06) + 0.1 * (internet == "Fiber optic"))
    contacted = draws.chance(0.3)
    columns: dict[str, tuple[Texts, str, str | None]] = {
        "customerID": (
            np.array([f"{9000 + 7 * row}-{chr(65 + row % 26)}X" for row in range(rows)]),
            "",
            None,
        ),
        "senior": (draws.pick([0, 1], [0.84, 0.16]), _codes([0, 1]), None),
        "tenure": (tenure, _range(0, 72), None),
        "contract": (contract, "constraints: {enum: [Month-to-month, One year, Two year]}", None),
        "internet": (internet, "constraints: {enum: [DSL, Fiber optic, No]}", None),
        "support_calls": (np.minimum(draws.rng.poisson(1.2 + left), 5), _codes(range(6)), None),
        "monthly_charges": (np.char.mod("%.2f", charges), _range(0, 120, type_="number"), None),
        "total_charges": (
            _where(tenure > 0, np.char.mod("%.2f", charges * tenure), ""),
            _range(0, 9000, type_="number"),
            "",
        ),
        "credit_limit": (
            np.where(draws.chance(0.3), 501, 50 * draws.whole(2, 60)),
            _range(0, 3000, "edges: [0, 501, 502, 1000, 2000, 3000]"),
            None,
        ),
        "days_since_contact": (
            np.where(contacted, draws.whole(0, 300), 999),
            _range(0, 999, "edges: [0, 30, 90, 180, 365, 999, 999]"),
            None,
        ),
        "churn": (np.where(left, "Yes", "No"), "constraints: {enum: [No, Yes]}", None),
    }
    return Lookalike(
        frame=pl.DataFrame(
            {name: np.asarray(values).astype(str) for name, (values, _, _) in columns.items()}
        ),
        schema="fields:\n"
        + "".join(_field(n, domain, gone) for n, (_, domain, gone) in columns.items() if domain),
        rules=("contract = 'Two year' and tenure < 8", "tenure = 0 and total_charges is not missing"),
        groups=("churn = Yes", "contract = 'Two year'", "days_since_contact = 999", "credit_limit = 501"),
        markers={"total_charges": ""},
        spikes={"days_since_contact": (999,), "credit_limit": (501,)},
        codes={"senior": (0, 1), "support_calls": tuple(range(6))},
        identifiers=("customerID",),
        depends=(("contract", "churn"), ("contract", "tenure"), ("internet", "monthly_charges")),
    )


def hospital(rows: int = 3000, seed: int = 3) -> Lookalike:
    """Stays: patients come back, every stay has a case number, dates in order, measures with one decimal."""
    draws = _Draws(np.random.default_rng(seed), rows)
    patients = max(1, rows * 2 // 5)
    whose = draws.whole(0, patients - 1)
    people = np.random.default_rng(seed + 1)
    born, is_female = people.integers(0, 96, patients)[whose], (people.random(patients) < 0.52)[whose]
    ward = draws.pick([1, 2, 10, 11], np.where((born < 16)[:, None], [0, 0, 0, 1], [40, 35, 25, 0]))
    stay = np.minimum(draws.rng.geometric(np.where(ward == 10, 0.12, 0.3)) - 1, 60)
    start = draws.whole(0, 364)
    bmi = np.clip(draws.rng.normal(np.where(born < 16, 17.5, 26.5), 4.0, rows), 11, 60).round(1)
    glucose = np.where(
        draws.chance(0.12), 0, draws.rng.normal(100, 22, rows).clip(40, 400).round().astype(int)
    )
    outcome = draws.pick(
        ["home", "transfer", "died"], np.where((ward == 10)[:, None], [40, 35, 25], [90, 8, 2])
    )
    days = [date(2024, 1, 1) + timedelta(int(day)) for day in start]
    columns: dict[str, tuple[Texts, str, str | None]] = {
        "patient_id": (np.array([f"P{71000 + 13 * number}" for number in whose]), "", None),
        "case_no": (2024000000 + 17 * np.arange(rows), "", None),
        "age": (born, _range(0, 95, "edges: [0, 5, 16, 30, 45, 60, 75, 95]"), None),
        "sex": (np.where(is_female, "F", "M"), "constraints: {enum: [F, M]}", None),
        "ward": (ward, _codes([1, 2, 10, 11]), None),
        "admitted": (
            np.array([day.isoformat() for day in days]),
            _range("2024-01-01", "2024-12-31", "count: 12", "date"),
            None,
        ),
        "discharged": (
            np.array(
                [(day + timedelta(int(long))).isoformat() for day, long in zip(days, stay, strict=True)]
            ),
            _range("2024-01-01", "2025-03-01", "count: 14", "date"),
            None,
        ),
        "bmi": (
            _where(draws.chance(0.9), np.char.mod("%.1f", bmi), "unknown"),
            _range(10, 60, "width: 5", "number"),
            "unknown",
        ),
        "glucose": (
            _where(draws.chance(0.85), glucose, "-9"),
            _range(0, 400, "edges: [0, 1, 70, 85, 100, 115, 130, 200, 400]"),
            "-9",
        ),
        "outcome": (outcome, "constraints: {enum: [home, transfer, died]}", None),
    }
    return Lookalike(
        frame=pl.DataFrame(
            {name: np.asarray(values).astype(str) for name, (values, _, _) in columns.items()}
        ),
        schema="unit: {protects: user, column: patient_id, at_most: 3}\nfields:\n"
        + "".join(_field(n, domain, gone) for n, (_, domain, gone) in columns.items() if domain),
        rules=("age >= 16 and ward = 11", "age < 16 and ward in (1, 2, 10)"),
        groups=("ward = 11", "ward = 10", "outcome = died", "glucose = 0", "bmi is missing"),
        markers={"bmi": "unknown", "glucose": "-9"},
        spikes={"glucose": (0,)},
        codes={"ward": (1, 2, 10, 11)},
        identifiers=("patient_id", "case_no"),
        depends=(("age", "ward"), ("age", "bmi"), ("ward", "outcome")),
    )


ACTIVITIES = (
    "Register request",
    "Examine thoroughly",
    "Check ticket",
    "Decide",
    "Ask for documents",
    "Pay compensation",
    "Reject request",
    "Archive case",
)
FIRST, LAST = "Register request", "Archive case"
ONCE = ("Register request", "Decide", "Pay compensation", "Reject request", "Archive case")
NEVER_BOTH = ("Pay compensation", "Reject request")
HOURS_BEFORE = dict(zip(ACTIVITIES, (0, 4, 1, 48, 24, 120, 12, 2), strict=True))
"""How many hours on average pass before an activity, since the one before it."""
LONGEST_CASE = 40
"""The symbols of a case with its end: no case of the log has more."""


def event_log(cases: int = 400, seed: int = 4, *, loops: float = 0.93, offset: str = "+02:00") -> Lookalike:
    """Events of cases with names of several words and times with an offset.

    A case is registered, examined, checked and asked about in turn, decided, then paid or rejected, never
    both, and archived. `loops` is the chance of another look before the decision: with 0.93 a case has 20
    symbols on average, and none more than `LONGEST_CASE` with its end.
    """
    rng = np.random.default_rng(seed)
    looks = ("Examine thoroughly", "Check ticket", "Ask for documents")
    rows: list[tuple[str, str, str, str]] = []
    for case in range(cases):
        again = min(int(rng.geometric(1 - loops)), LONGEST_CASE - 6)
        way = [FIRST, *(looks[look] for look in rng.choice(3, again, p=[0.4, 0.45, 0.15])), "Decide"]
        way += [NEVER_BOTH[int(rng.random() < 0.35)], LAST]
        moment = datetime(2024, 3, 1) + timedelta(minutes=int(rng.integers(0, 250 * 1440)))
        for activity in way:
            moment += timedelta(seconds=int(3600 * rng.exponential(HOURS_BEFORE[activity])))
            written = f"{moment.isoformat(timespec='milliseconds')}{offset}"
            rows.append((f"case-{1000 + case}", activity, written, f"clerk {rng.integers(1, 6)}"))
    order = sorted(range(len(rows)), key=lambda row: rows[row][2])
    names = ("case:concept:name", "concept:name", "time:timestamp", "org:resource")
    frame = pl.DataFrame([rows[row] for row in order], schema=dict.fromkeys(names, pl.String), orient="row")
    return Lookalike(
        frame=frame,
        schema="kind: sequences\n"
        f"sequence: {{user: 'case:concept:name', time: 'time:timestamp', symbol: 'concept:name', "
        f"longest: {LONGEST_CASE}}}\n"
        f"fields:\n  - {{name: 'concept:name', constraints: {{enum: [{', '.join(ACTIVITIES)}]}}}}\n",
        identifiers=("case:concept:name",),
    )
