"""The release: answers, conditional rows, rules, saving and loading, pictures."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from tests.kinds.table.tables import mixed_rows, paid, schema_of, table_of

from penstock.errors import QueryError, ReleaseError, UsageError
from penstock.kinds.table.confluence.knobs import KNOBS
from penstock.kinds.table.confluence.method import Confluence, fit_with
from penstock.kinds.table.data import Table
from penstock.kinds.table.network import release as release_module
from penstock.kinds.table.network.aligning import aligned
from penstock.kinds.table.network.network import Network
from penstock.kinds.table.network.parents import Pair
from penstock.kinds.table.network.release import NetworkRelease
from penstock.kinds.table.privbayes.method import PrivBayes
from penstock.releases import Manifest, Model, load
from penstock.schema import Schema

PEOPLE = """
fields:
- {name: age, type: integer, constraints: {minimum: 0, maximum: 99}, bins: {width: 10}}
- {name: income, type: number, constraints: {minimum: 0, maximum: 90000}, bins: {count: 6}, missing: value}
- {name: born, type: date, constraints: {minimum: 1920-01-01, maximum: 2019-12-31}, bins: {count: 10}}
- name: job
  taxonomy: {service: [clerk, cook, nurse], other: [farmer, none]}
  outside: other
- {name: smoker, type: boolean, missing: value}
"""


def people(n: int, seed: int = 0) -> pl.DataFrame:
    """Raw text as it comes from a CSV: numbers, dates, blanks and strangers."""
    rng = np.random.default_rng(seed)
    age = np.clip(rng.normal(45, 20, n), 0, 99).astype(int)
    income = np.where(age < 18, 0.0, np.clip(rng.normal(30000, 9000, n) + 300 * age, 0, 90000))
    jobs = np.where(age < 18, "none", rng.choice(["clerk", "cook", "nurse", "farmer", "astronaut"], n))
    return pl.DataFrame(
        {
            "age": [str(each) for each in age],
            "income": [
                "" if lost else f"{each:.2f}" for each, lost in zip(income, rng.random(n) < 0.1, strict=True)
            ],
            "born": [f"{2019 - each}-06-15" for each in age],
            "job": jobs,
            "smoker": rng.choice(["true", "false", ""], n, p=[0.3, 0.6, 0.1]),
        }
    )


OURS = Confluence()


@cache
def people_release(
    method: Confluence | PrivBayes = OURS, rules: str = "", epsilon: Any = 4
) -> NetworkRelease:
    return method.fit(Table.open(people(6000), Schema.from_yaml(PEOPLE + rules)), paid(epsilon, 5))


RELEASE = fit_with(
    replace(KNOBS, whole_cells=0), Table.open(people(6000), Schema.from_yaml(PEOPLE)), paid(4, 5)
)
"""Made of views: as one table, which these few columns would be, it would have nothing to align."""

every_method = pytest.mark.parametrize(
    "method",
    [
        Confluence(),
        PrivBayes(),
        PrivBayes(encoding="vanilla"),
        PrivBayes(encoding="gray"),
        PrivBayes(encoding="binary"),
    ],
    ids=repr,
)


@every_method
def test_marginals_are_distributions_and_agree_with_sampled_rows(method: Any) -> None:
    """40,000 rows: every cell within 6 standard errors, fails with probability below 1e-6."""
    release = people_release(method)
    codes = release.draw_codes(40_000, np.random.default_rng(0))
    for names in (["age"], ["job", "age"], ["smoker", "income", "job"]):
        joint = release.marginal(names)
        assert joint.shape == tuple(release.schema.sizes[name] for name in names)
        assert joint.sum() == pytest.approx(1)
        counts = np.zeros(joint.shape)
        np.add.at(counts, tuple(codes[name] for name in names), 1)
        assert (np.abs(counts / 40_000 - joint) < 6 * np.sqrt(joint * (1 - joint) / 40_000) + 1e-4).all()


def test_rows_are_raw_values_of_the_schema() -> None:
    rows = RELEASE.sample(2000, seed=1)
    assert rows.columns == ["age", "income", "born", "job", "smoker"]
    assert rows["age"].dtype == pl.Int64
    assert rows["born"].dtype == pl.Date
    assert 0.03 < rows["income"].null_count() / 2000 < 0.2
    assert {"clerk", "other"} <= set(rows["job"].unique())
    again = RELEASE.schema.encode(rows)
    assert set(again) == set(RELEASE.schema.names)
    assert rows.equals(RELEASE.sample(2000, seed=1))
    assert RELEASE.sample(0).shape == (0, 5)
    assert RELEASE.sample().height == RELEASE.size


def test_dependencies_are_answered() -> None:
    young = RELEASE.query("age < 10").value
    assert young > 100
    assert RELEASE.query("age < 10 and job = none").value > 0.8 * young
    assert RELEASE.query("age < 10 and income > 60000").value < 0.1 * young
    everything = RELEASE.query("age >= 0").value
    assert everything == pytest.approx(RELEASE.total)
    either, young, old = (
        RELEASE.query(question)
        for question in ("age < 50 or job = cook", "age < 50", "age >= 50 and job = cook")
    )
    assert abs(either.value - young.value - old.value) < sum(each.error or 0 for each in (either, young, old))
    parts = [RELEASE.query(question) for question in ("income is missing", "income is not missing")]
    assert abs(sum(part.value for part in parts) - RELEASE.total) < sum(part.error or 0 for part in parts)


def test_error_bars_come_from_the_noise() -> None:
    """95 % intervals of 60 releases cover the truth at least 48 times; Binomial(60, .95) below 48: 1e-6."""
    schema = schema_of([4, 3, 2])
    rows = mixed_rows(3000, [4, 3, 2])
    table = table_of(rows, schema)
    truth = int((rows[:, 0] == 1).sum())
    hits = 0
    for seed in range(60):
        answer = PrivBayes(preset="plain").fit(table, paid(1, seed)).query("a = 1")
        assert answer.rests_on == "counted"
        assert answer.error is not None
        hits += abs(answer.value - truth) <= answer.error
    assert hits >= 48
    assert RELEASE.query("age < 30").error is not None


@every_method
def test_rows_given_a_condition_meet_it(method: Any) -> None:
    release = people_release(method)
    rows = release.sample(500, seed=3, where="age = 33..47 and job in (clerk, cook)")
    assert rows.height == 500
    assert rows["age"].is_between(33, 47).all()
    assert set(rows["job"]) <= {"clerk", "cook"}
    either = release.sample(300, seed=4, where="age < 12 or smoker = true")
    assert ((either["age"] < 12) | either["smoker"].fill_null(value=False)).all()


def test_rows_given_a_condition_have_the_conditional_distribution() -> None:
    """20,000 rows against exact inference, every cell within 6 standard errors."""
    codes = RELEASE.schema.encode(RELEASE.sample(20_000, seed=5, where="age < 35 and smoker = false"))
    joint = RELEASE.marginal(["age", "smoker", "job"])
    smoker = RELEASE.schema.attribute("smoker").labels.index("false")
    weights = np.array([1, 1, 1, 0.5, 0, 0, 0, 0, 0, 0])  # half of the bin 30..39 is below 35
    expected = (joint[:, smoker] * weights[:, None]).sum(axis=0)
    expected /= expected.sum()
    counts = np.bincount(codes["job"], minlength=len(expected)) / 20_000
    assert (np.abs(counts - expected) < 6 * np.sqrt(expected * (1 - expected) / 20_000) + 1e-4).all()


@pytest.mark.parametrize("narrow", [False, True])
def test_patterns_without_meaning_are_ruled_out_and_not_pushed_to_the_last_code(
    narrow: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forty attributes of 5 codes in 3 independent bits: few rows are meaningful by luck.

    Every cell within 6 standard errors, fails with probability below 1e-6. Beyond the width of exact
    inference rows are still of the schema, and mass is pushed to the last codes.
    """
    n = 1_000 if narrow else 8_000
    sizes = [5] * 40
    uniform = np.random.default_rng(0).integers(0, 5, (2000, 40))
    release = PrivBayes(preset="plain", encoding="binary", degree=0).fit(
        table_of(uniform, schema_of(sizes)), paid(50, 4)
    )
    exact = {name: release.marginal([name]) for name in release.schema.names}
    if narrow:
        monkeypatch.setattr(release_module.inference, "sample_given", _too_wide)
    codes = release.draw_codes(n, np.random.default_rng(0))
    off = []
    for name, joint in exact.items():
        counts = np.bincount(codes[name], minlength=5)
        assert len(counts) == 5
        off.append((np.abs(counts / n - joint) > 6 * np.sqrt(joint * (1 - joint) / n) + 1e-4).any())
    assert any(off) == narrow


def test_conditions_that_never_hold_are_refused_in_words() -> None:
    sure = PrivBayes(preset="plain", degree=1).fit(
        table_of(np.zeros((4000, 2), dtype=np.int64), schema_of([2, 2])), paid(20)
    )
    with pytest.raises(UsageError, match="nearly no row"):
        sure.sample(5, seed=0, where="a = 1 and b = 1")
    with pytest.raises(QueryError):
        RELEASE.sample(5, where="agee < 3")


RULES = "impossible: ['age < 18 and income > 1000', 'age < 15 and smoker = true']\n"


@every_method
def test_no_sampled_row_is_declared_impossible(method: Any) -> None:
    release = people_release(method, RULES, epsilon=1)
    for rows in (release.sample(3000, seed=1), release.sample(400, seed=1, where="age < 25")):
        assert len(release.schema.rules) == 2
        assert not any(rule.holds(rows).any() for rule in release.schema.rules)
    assert release.query("age < 15 and smoker = true").value == 0
    everybody = release.query("age >= 0")
    assert abs(everybody.value - release.total) < 2 * (everybody.error or 0) + 0.02 * release.total
    assert release.marginal(["age", "smoker"]).sum() == pytest.approx(1)


def test_wide_questions_are_answered_from_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    exact = RELEASE.marginal(["age", "job"])
    narrow = NetworkRelease(
        method="confluence",
        schema=RELEASE.schema,
        receipt=RELEASE.receipt,
        parameters={},
        total=RELEASE.total,
        encoding=RELEASE.encoding,
        network=RELEASE.network,
        measured=RELEASE.measured,
    )
    monkeypatch.setattr(release_module.inference, "marginal", _too_wide)
    monkeypatch.setattr(release_module.inference, "sample_given", _too_wide)
    assert np.abs(narrow.marginal(["age", "job"]) - exact).max() < 0.005
    assert narrow.query("age < 30").value == pytest.approx(RELEASE.query("age < 30").value, rel=0.05)
    rows = narrow.sample(200, seed=0, where="age < 30")
    assert rows["age"].max() < 30


def _too_wide(*_: Any, **__: Any) -> Any:
    raise release_module.TooWideError


# Aligned rows --------------------------------------------------------------------------------------------


def _loose() -> NetworkRelease:
    """A release whose network forgot everything but single columns, so that its counts have much to say."""
    shares = [RELEASE.marginal([name]) for name in RELEASE.schema.names]
    numbers = range(len(shares))
    network = Network(
        RELEASE.network.variables, tuple(map(Pair, numbers)), tuple(share[None, :] for share in shares)
    )
    return replace(RELEASE, network=network)


def _calls(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of rows that are aligned from now on."""
    found: list[int] = []

    def counted(columns: Any, *rest: Any) -> Any:
        found.append(len(columns[0]))
        return aligned(columns, *rest)

    monkeypatch.setattr(release_module, "aligned", counted)
    return found


def test_aligned_rows_are_the_same_after_saving_and_loading(tmp_path: Path) -> None:
    made = _loose()
    again = load(made.save(tmp_path / "release"))
    rows = made.sample(2000, seed=2)
    assert again.sample(2000, seed=2).equals(rows)
    assert not made._unaligned.sample(2000, seed=2).equals(rows)  # there was something to align


def test_releases_saved_before_rows_were_aligned_draw_balanced_rows(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    calls = _calls(monkeypatch)
    old = load(
        replace(RELEASE, parameters={**RELEASE.parameters, "rows": "balanced"}).save(tmp_path / "release")
    )
    rows = old.sample(400, seed=3)
    assert rows.equals(old.draw(400, np.random.default_rng(3)))
    assert not calls
    assert RELEASE.sample(400, seed=3).height == 400
    assert calls == [400]


def test_more_rows_than_are_aligned_are_drawn_from_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = _calls(monkeypatch)
    monkeypatch.setattr(release_module, "MOST_ALIGNED", 500)
    assert [RELEASE.sample(n, seed=1).height for n in (500, 501)] == [500, 501]
    assert calls == [500]


def test_only_the_sample_that_is_told_is_aligned(monkeypatch: pytest.MonkeyPatch) -> None:
    """The others say how far drawing moves a number, and rows that are thrown away need no care."""
    calls = _calls(monkeypatch)
    monkeypatch.setattr(release_module.inference, "sample_given", _too_wide)
    found = RELEASE.sql("select job, median(age) as m from release group by job", rows=900)
    assert all(set(error) == {"m"} for error in found.errors)
    assert calls == [900]
    rows = RELEASE.sample(200, seed=0, where="age < 30")
    assert rows["age"].max() < 30
    assert calls == [900]


@pytest.mark.parametrize("n", [0, 1, 40, 20_000])
def test_rules_are_kept_by_any_number_of_aligned_rows(n: int) -> None:
    release = people_release(OURS, RULES, epsilon=1)
    rows = release.sample(n, seed=5)
    assert rows.height == n
    assert not any(rule.holds(rows).any() for rule in release.schema.rules)


@pytest.mark.parametrize("records", [0, 1])
def test_rows_of_next_to_no_records(records: int) -> None:
    release = OURS.fit(Table.open(people(records), Schema.from_yaml(PEOPLE)), paid(1, 5))
    assert release.sample(300, seed=1).height == 300


# Saving and loading --------------------------------------------------------------------------------------


@every_method
def test_saved_and_loaded_it_is_the_same(method: Any, tmp_path: Path) -> None:
    release = people_release(method)
    folder = release.save(tmp_path / "release")
    again = load(folder)
    assert isinstance(again, NetworkRelease)
    assert again.receipt == release.receipt
    assert again.total == release.total
    assert again.parameters == release.parameters
    assert again.sample(300, seed=2).equals(release.sample(300, seed=2))
    question = "age < 30 and job = nurse"
    assert again.query(question) == release.query(question)
    assert again.model().json == release.model().json
    assert "Bayesian network" in (folder / "report.html").read_text(encoding="utf-8")


def test_releases_saved_under_the_first_name_of_the_form_are_loaded(tmp_path: Path) -> None:
    """Both methods were one, `privbayes`, and so was the form of their releases."""
    contents = RELEASE.save(tmp_path / "release") / "datapackage.json"
    package = json.loads(contents.read_text(encoding="utf-8"))
    assert package["penstock"]["form"] == "network"
    package["penstock"] |= {"format": 1, "form": "privbayes", "method": "privbayes"}
    del package["penstock"]["answer"]
    contents.write_text(json.dumps(package), encoding="utf-8")
    again = load(tmp_path / "release")
    assert isinstance(again, NetworkRelease)
    for one, two in itertools.combinations(RELEASE.schema.names, 2):
        assert np.array_equal(again.marginal([one, two]), RELEASE.marginal([one, two]))
    assert again.sample(100, seed=2).schema == RELEASE.sample(100, seed=2).schema


def test_nothing_exact_is_saved() -> None:
    """The model holds noisy counts and what was made of them; the exact counts are nowhere in it."""
    schema = schema_of([3, 2])
    rows = mixed_rows(1000, [3, 2])
    model = Confluence().fit(table_of(rows, schema), paid("1/10")).model()
    truth = np.bincount(rows[:, 0] * 2 + rows[:, 1], minlength=6)
    assert not set(truth.tolist()) & set(model.tables["counts"]["count"].to_list())
    assert "1000" not in json.dumps(model.json)


def broken(change: Any) -> Model:
    model = RELEASE.model()
    data = json.loads(json.dumps(model.json))
    tables = dict(model.tables)
    change(data, tables)
    return Model(json=data, tables=tables)


def _swap(data: dict[str, Any], _: Any) -> None:
    data["network"].reverse()


def _negative(_: Any, tables: dict[str, pl.DataFrame]) -> None:
    frame = tables["conditionals"]
    values = frame["probability"].to_numpy().copy()
    values[:2] = values[:2] + np.array([-2.0, 2.0])
    tables["conditionals"] = pl.DataFrame({"probability": values})


def _short(_: Any, tables: dict[str, pl.DataFrame]) -> None:
    tables["counts"] = tables["counts"].head(3)


def _renamed(data: dict[str, Any], _: Any) -> None:
    data["variables"][0]["name"] = "height"


def _unknown_level(data: dict[str, Any], _: Any) -> None:
    next(pair for pair in data["network"] if pair["parents"])["parents"][0]["level"] = 99


def _unknown_variable(data: dict[str, Any], _: Any) -> None:
    data["network"][0]["child"] = 77


def _levels(data: dict[str, Any], _: Any) -> None:
    data["variables"][0]["levels"][0][0] = 5


def _not_nested(data: dict[str, Any], _: Any) -> None:
    data["variables"][0]["levels"] = [[0, 0, 1, 1, 2, 2, 3, 3, 4, 4], [0, 1, 0, 1, 0, 1, 0, 1, 0, 1]]


def _text(data: dict[str, Any], _: Any) -> None:
    data["total"] = "many"


def _twice(data: dict[str, Any], _: Any) -> None:
    data["network"][1] = data["network"][0]


def _a_pair_with_itself(data: dict[str, Any], _: Any) -> None:
    parts = next(one["parts"] for one in data["measured"] if len(one["parts"]) > 1)
    parts[1] = parts[0]


@pytest.mark.parametrize(
    "change",
    [
        _a_pair_with_itself,
        _swap,
        _negative,
        _short,
        _renamed,
        _unknown_level,
        _unknown_variable,
        _levels,
        _not_nested,
        _text,
        _twice,
    ],
)
def test_hostile_models_are_refused(change: Any) -> None:
    manifest = Manifest("confluence", RELEASE.schema, RELEASE.receipt, {})
    NetworkRelease.from_model(manifest, broken(lambda *_: None))
    with pytest.raises(ReleaseError):
        NetworkRelease.from_model(manifest, broken(change))


# The report ----------------------------------------------------------------------------------------------


def test_pictures_show_the_network_with_its_strengths() -> None:
    pictures = list(RELEASE.pictures())
    network = pictures[0]
    assert network.columns == ("from", "to", "strength")
    assert all(0 <= row[2] <= 1 for row in network.rows)
    strengths = [row[2] for row in network.rows]
    assert strengths == sorted(strengths, reverse=True)
    titles = [picture.title for picture in pictures]
    parent, child, _ = network.rows[0]
    assert {f"{parent} by {child}", f"{child} given {parent}", "age", "smoker"} <= set(titles)


def test_the_model_is_explained_in_words() -> None:
    (text,) = RELEASE.explain()
    assert "5 attributes" in text
    bits = people_release(PrivBayes(encoding="gray"))
    assert "bits (gray code)" in " ".join(bits.explain())
    assert len(RELEASE.limits()) == 2


def test_networks_without_edges_have_pictures_too() -> None:
    release = PrivBayes(preset="plain").fit(
        table_of(mixed_rows(60, [7, 6]), schema_of([7, 6])), paid("1/100")
    )
    assert release.network.degree == 0
    assert [picture.title for picture in release.pictures()] == ["a", "b"]


def test_what_can_never_hold_is_refused_at_once_and_not_looked_for() -> None:
    for where in ("age > 200", "age < 10 and age > 20", "smoker = true and smoker = false"):
        with pytest.raises(UsageError, match="holds for no row that the schema allows"):
            RELEASE.sample(5, seed=0, where=where)
