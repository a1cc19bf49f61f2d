"""Mutual consistency: what several noisy marginals say about the same attributes becomes one."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from tests.kinds.table.tables import binary_rows, paid, schema_of, table_of

from penstock.errors import UsageError
from penstock.kinds.table.network.conditionals import Measured, added_up
from penstock.kinds.table.network.encoding import Grouping, Variable
from penstock.kinds.table.network.parents import Parent
from penstock.kinds.table.privbayes.agreement import agreeing, spread
from penstock.kinds.table.privbayes.method import PrivBayes

HALVES = Grouping((0, 0, 1, 1), 2)
VARIABLES = (
    Variable("a", "a", 4, levels=(Grouping((0, 1, 2, 3), 4), HALVES)),
    Variable("b", "b", 3),
    Variable("c", "c", 2),
    Variable("d", "d", 2),
)
SETS = (
    (Parent(1), Parent(0), Parent(2)),
    (Parent(0, 1), Parent(1), Parent(3)),
    (Parent(3), Parent(2), Parent(0)),
    (Parent(2),),
)


def truth() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 200, (4, 3, 2, 2)).astype(np.float64)


def views(seed: int) -> list[Measured]:
    rng, whole = np.random.default_rng(seed), tuple(Parent(number) for number in range(4))
    made = []
    for place, parts in enumerate(SETS):
        exact = added_up(truth(), whole, parts, VARIABLES)
        noisy = exact + np.rint(rng.laplace(0, 10 * (place + 1), exact.shape))
        made.append(Measured(parts, noisy.astype(np.int64), 10 * (place + 1) * np.sqrt(2)))
    return made


def test_afterwards_all_agree_on_what_they_share() -> None:
    measured = views(1)
    counts = agreeing(measured, VARIABLES)
    for (i, one), (j, two) in combinations(enumerate(measured), 2):
        common = sorted({p.variable for p in one.parts} & {p.variable for p in two.parts})
        parts = tuple(Parent(v, max(dict(one.parts)[v], dict(two.parts)[v])) for v in common)
        first = added_up(counts[i], one.parts, parts, VARIABLES)
        second = added_up(counts[j], two.parts, parts, VARIABLES)
        assert first == pytest.approx(second, abs=1e-6)


def test_marginals_that_agree_already_stay_as_they_are() -> None:
    whole = tuple(Parent(number) for number in range(4))
    exact = [Measured(p, added_up(truth(), whole, p, VARIABLES).astype(np.int64), 3.0) for p in SETS]
    for view, counts in zip(exact, agreeing(exact, VARIABLES), strict=True):
        assert counts == pytest.approx(view.counts, abs=1e-6)


def test_agreement_brings_counts_closer_to_the_truth() -> None:
    """Seeded; over 40 draws of the noise the squared error falls for every view."""
    whole = tuple(Parent(number) for number in range(4))
    exact = [added_up(truth(), whole, parts, VARIABLES) for parts in SETS]
    before, after = np.zeros(4), np.zeros(4)
    for seed in range(40):
        measured = views(seed)
        for place, counts in enumerate(agreeing(measured, VARIABLES)):
            before[place] += ((measured[place].counts - exact[place]) ** 2).sum()
            after[place] += ((counts - exact[place]) ** 2).sum()
    assert (after < before).all()


def test_what_is_missing_is_spread_evenly_and_in_full() -> None:
    view = views(1)[0]
    parts = (Parent(0, 1), Parent(2))
    missing = np.array([[12.0, -6.0], [0.0, 24.0]])
    given = spread(missing, parts, view, VARIABLES)
    full = np.broadcast_to(given, view.counts.shape)
    assert added_up(np.array(full), view.parts, parts, VARIABLES) == pytest.approx(missing)
    assert full[:, 0, 0] == pytest.approx(2.0)  # twelve over two codes of a and three of b


def test_plain_agrees_and_the_published_presets_do_not() -> None:
    """The same counts are paid for either way; what is made of them differs."""
    table = table_of(binary_rows(800, 6), schema_of([2] * 6, replace=800))
    made = {
        (preset, agree): PrivBayes(preset=preset, degree=2, agree=agree).fit(table, paid("1/2"))
        for preset in ("plain", "journal")
        for agree in (None, True, False)
    }
    for preset, default in (("plain", True), ("journal", False)):
        own, same, other = (made[preset, agree] for agree in (None, default, not default))
        for one, two, three in zip(own.measured, same.measured, other.measured, strict=True):
            assert one.counts.tolist() == two.counts.tolist() == three.counts.tolist()
        first, second, third = (
            np.concatenate([t.ravel() for t in r.network.tables]) for r in (own, same, other)
        )
        assert first == pytest.approx(second)
        assert first != pytest.approx(third)


def test_agreement_that_is_neither_true_nor_false_is_refused() -> None:
    table = table_of(binary_rows(50, 3), schema_of([2] * 3))
    with pytest.raises(UsageError, match="agree must be true or false"):
        PrivBayes(preset="plain", agree="perhaps").fit(table, paid(1))  # type: ignore[arg-type]
