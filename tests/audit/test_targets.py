"""The audit refutes every broken copy and no shipped mechanism.

All runs are seeded. A true claim is called refuted with probability at most 1e-6 over the choice of the
seed (the harness guarantees it per verdict), so a failure here is a finding, not bad luck.
"""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.test_docstrings import REFERENCE, docs

from penstock.audit import broken, findings, mechanisms, run, select, targets
from penstock.audit.harness import Status, Verdict, exact_bound, examine, search
from penstock.audit.neighbours import Pair
from penstock.audit.sampling import draw
from penstock.audit.search import screen
from penstock.audit.target import Kind, Promise, Target
from penstock.audit.targets import every_audit
from penstock.errors import UsageError
from penstock.privacy.randomness import samplers
from penstock.privacy.randomness.generator import Randomness

SHIPPED = mechanisms.targets()
BROKEN = broken.targets()
AUDITS = [audit for audits in every_audit() for audit in audits.methods]
METHODS = [target for audits in every_audit() for target in replace(audits, proofs=tuple).targets()]

TIGHT = {
    "discrete-laplace": 1.0,
    "discrete-laplace-replace": 1.0,
    "randomised-response": 1.0,
    "permute-and-flip-monotone": 1.0,
}


def by_name(target: Target) -> str:
    return target.name


@pytest.mark.parametrize("target", SHIPPED, ids=by_name)
def test_exact_loss_of_every_shipped_mechanism_is_at_most_epsilon(target: Target) -> None:
    found = exact_bound(target)
    assert found.epsilon <= float(target.promise.epsilon) * (1 + 1e-9)
    if target.name in TIGHT:
        assert found.epsilon == pytest.approx(TIGHT[target.name], abs=1e-9)


@pytest.mark.parametrize("target", SHIPPED, ids=by_name)
def test_running_shipped_mechanisms_does_not_refute_them(target: Target) -> None:
    verdict = examine(replace(target, pairs=(exact_bound(target).pair,)), 8_000)
    assert verdict.status is Status.HOLDS
    assert verdict.expected


@pytest.mark.parametrize("target", BROKEN, ids=by_name)
def test_running_broken_mechanisms_refutes_them(target: Target) -> None:
    """By sampling alone; exact laws are not used. Each verdict is wrong with probability at most 1e-6."""
    verdict = examine(replace(target, distribution=None), 50_000)
    assert verdict.status is Status.REFUTED
    assert verdict.failure <= 1.01e-6


@pytest.mark.parametrize("target", [each for each in BROKEN if each.distribution], ids=by_name)
def test_exact_loss_of_broken_mechanisms_is_above_the_claim(target: Target) -> None:
    verdict = examine(replace(target, run=None), 0)
    assert verdict.status is Status.REFUTED
    assert verdict.failure == 0.0


@pytest.mark.parametrize("target", [each for each in METHODS if each.kind is Kind.SHIPPED], ids=by_name)
def test_fitting_shipped_methods_does_not_refute_them(target: Target) -> None:
    few = replace(target, pairs=target.pairs[:2], effort=1)
    assert examine(few, 160, verdict_only=True).status is Status.HOLDS


@pytest.mark.parametrize("target", [each for each in METHODS if each.kind is Kind.BROKEN], ids=by_name)
def test_fitting_sabotaged_methods_refutes_them(target: Target) -> None:
    """End to end through `fit`; subtle mistakes, which double the loss, need more runs than crude ones.

    Most are found out by half of the runs, so these are tried first.
    """
    subtle = target.name.endswith(("halved-sensitivity", "used-twice"))
    times = 3 if target.name.startswith("broken-top-strings") else 1  # one choice of two tells little
    few, many = (500, 1_000) if subtle else (110, 240)
    first, *others = target.pairs[:3]
    tried = (
        examine(replace(target, pairs=[pair], effort=1), times * runs, verdict_only=True)
        for pair, runs in [(first, few), *((pair, many) for pair in (first, *others))]
    )
    assert any(verdict.status is Status.REFUTED for verdict in tried)


PROOFS = [target for audits in every_audit() for target in audits.proofs()]


@pytest.mark.parametrize("target", [each for each in PROOFS if each.run], ids=by_name)
def test_whatever_can_be_run_gives_numbers_to_compare(target: Target) -> None:
    """The tests of the rooms take the exact laws of these targets; `penstock audit` runs them as well."""
    first, second = draw(target, target.pairs[0], Randomness.seeded(1), 2)
    assert first.shape == second.shape
    assert first.shape[1] > 0


def test_claims_of_users_are_audited_with_their_bound() -> None:
    """Without the bound on a user's records, five records leak five times as much."""
    audit = next(audit for audit in AUDITS if audit.label == "users")
    unbounded = replace(
        audit, schema=audit.schema.replace("unit: {protects: user, column: person, at_most: 2}", "")
    )
    verdict = examine(replace(unbounded.target(), effort=1), 400)
    assert verdict.status is Status.REFUTED


def test_every_method_of_the_catalogue_is_audited() -> None:
    """A new method needs a `MethodAudit` in the audits of its room; its broken copies come with it."""
    from penstock import catalogue

    audited = {audit.method for audit in AUDITS}
    assert {info.name for info in catalogue.methods()} - audited == set()


def test_search_finds_the_one_pair_that_leaks() -> None:
    """Noise is forgotten only when record 3 is present twice; 60 pairs are tried with few runs each."""

    def run(records: tuple[int, ...], randomness: Randomness, n: int) -> Any:
        noise = samplers.discrete_laplace(Fraction(1), n, randomness)
        return len(records) + (0 * noise if records.count(3) == 2 else noise)

    hidden = Target("hidden", Kind.BROKEN, Promise(Fraction(1)), "", [Pair((), (0,))], run=run)
    assert examine(hidden, 2_000).status is Status.HOLDS
    found = search(hidden, range(4), 3, trials=2_000)
    assert found.epsilon > 1
    assert 3 in found.pair.second


def test_screening_prefers_the_worse_pair() -> None:
    def run(distance: int, randomness: Randomness, n: int) -> Any:
        return distance + samplers.discrete_laplace(Fraction(2), n, randomness)

    pairs = [Pair(0, step) for step in (1, 2, 3, 9)]
    target = Target("steps", Kind.BROKEN, Promise(Fraction(1)), "", pairs, run=run)
    assert screen(target, 500, Randomness.seeded(0)).second == 9


@pytest.fixture(scope="module")
def verdicts() -> list[Verdict]:
    return run(["randomised-response", "discrete-gaussian", "broken-forgotten-noise"], 4_000)


def test_run_shares_the_failure_probability_among_its_targets(verdicts: list[Verdict]) -> None:
    assert sum(verdict.failure for verdict in verdicts) <= 1.001e-6
    assert [verdict.expected for verdict in verdicts] == [True] * 3


def test_verdicts_are_plain_json(verdicts: list[Verdict]) -> None:
    read = json.loads(json.dumps([verdict.to_dict() for verdict in verdicts]))
    assert [row["status"] for row in read] == ["holds", "holds", "refuted"]
    assert read[2]["lower_bound"] > 4
    infinite = examine(
        Target("gap", Kind.BROKEN, Promise(Fraction(1)), "", [Pair(0, 1)], loss=lambda *_: float("inf")),
        0,
    )
    assert infinite.to_dict()["lower_bound"] == "infinite"


def test_findings_tell_the_same_in_every_form(verdicts: list[Verdict]) -> None:
    assert findings.table(verdicts).row_count == 3
    assert "2 of 2 shipped claims stand" in findings.summary(verdicts)
    assert "1 of 1 deliberately broken copies refuted" in findings.summary(verdicts)
    picture = findings.picture(verdicts)
    assert len(picture.rows) == 3
    assert ("randomised-response", "1", "1.000", "holds") in picture.rows
    assert len(picture.figure.data) == 3


def test_names_select_targets_and_kinds() -> None:
    assert [target.name for target in select(["point", "exponential"])] == ["point", "exponential"]
    assert {target.kind for target in select(["broken"])} == {Kind.BROKEN}
    assert select() == targets()
    with pytest.raises(UsageError, match="did you mean randomised-response"):
        select(["randomized-response"])


def test_runs_repeat_with_their_seed() -> None:
    one, two, other = (run(["broken-budget-used-twice"], 2_000, seed=seed)[0].to_dict() for seed in (4, 4, 5))
    for row in (one, two, other):
        del row["seconds"]
    assert one == two


def test_everything_that_a_release_publishes_is_compared() -> None:
    audit = AUDITS[0]
    rows = audit.run((("red",), ("green",)), Randomness.seeded(2), 3)
    assert {len(row) for row in rows} == {len(rows[0])}
    assert len(rows[0]) >= 1 + 3
    assert not np.array_equal(rows[0], rows[1])
    assert rows[0][0] == rows[1][0]  # receipt, schema and parameters do not change from run to run


def test_documentation_lists_every_target_and_figures_of_no_other() -> None:
    """After adding a target, run `python docs/audit_page.py --missing`: it saves its figures."""
    place = Path(__file__).parents[2] / "docs"
    text = REFERENCE.on_page_markdown((place / "audit.md").read_text(encoding="utf-8"))
    assert [target.name for target in targets() if f"| `{target.name}` |" not in text] == []
    figures = json.loads((place / "assets" / "audit.json").read_text(encoding="utf-8"))["targets"]
    assert set(figures) <= {target.name for target in targets()}
    assert {told["verdict"] for told in figures.values()} == {"holds", "refuted"}


def test_figures_of_the_page_tell_the_verdicts_that_they_were_taken_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = docs("audit_page")
    monkeypatch.setattr(page, "FIGURES", tmp_path / "audit.json")
    verdicts = run(["discrete-laplace", "point", "broken-sparse-alg21"], 2_000)
    known = {"gone": {"verdict": "holds"}, **{verdict.name: page.told(verdict) for verdict in verdicts}}
    retold = page.save(known)
    written = json.loads((tmp_path / "audit.json").read_text(encoding="utf-8"))
    assert list(written["targets"]) == [verdict.name for verdict in retold] == [v.name for v in verdicts]
    assert [findings.measured(v.bound) for v in retold] == [findings.measured(v.bound) for v in verdicts]
    assert written["summary"] == findings.summary(verdicts) == findings.summary(retold)
