"""Noisy marginals and conditionals: how much noise there is, and what is derived."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from tests.kinds.table.tables import binary_rows, mixed_rows, paid, schema_of, table_of

from penstock.kinds.table.network.conditionals import added_up, conditional, measure
from penstock.kinds.table.network.encoding import Grouping, Variable, encode_as
from penstock.kinds.table.network.parents import Parent


def test_levels_are_added_up() -> None:
    levels = (Grouping((0, 1, 2, 3), 4), Grouping((0, 0, 1, 1), 2))
    variables = (Variable("x", "x", 3), Variable("y", "y", 4, None, levels))
    joint = np.arange(12.0).reshape(3, 4)
    summed = added_up(joint, (Parent(0), Parent(1)), (Parent(1, 1), Parent(0)), variables)
    assert summed.tolist() == [[1, 9, 17], [5, 13, 21]]


@pytest.mark.parametrize(("replace", "scale"), [(None, 3), (4000, 6)])
def test_counts_have_noise_of_the_scale_that_the_share_buys(replace: int | None, scale: int) -> None:
    """10,240 cells with discrete Laplace noise; 6 standard errors of the variance: fails below 1e-8."""
    schema = schema_of([2] * 10, replace=replace)
    rows = binary_rows(4000, 10)
    variables = encode_as("vanilla", [(name, 2) for name in schema.names]).variables
    parts = [tuple(Parent(i) for i in range(10))] * 10
    budget = paid(Fraction(10, 3))
    found = measure(table_of(rows, schema), variables, parts, budget.evenly([str(i) for i in range(10)]))
    truth = np.bincount(rows @ (1 << np.arange(10)[::-1]), minlength=1024).reshape((2,) * 10)
    noise = np.concatenate([(one.counts - truth).ravel() for one in found])
    expected = 2 * scale**2  # scale l1/epsilon with a third of the budget for each table
    kurtosis = 6 * expected**2  # E z^4 of Laplace noise is 6 variances squared
    error = np.sqrt((kurtosis - expected**2) / noise.size)
    assert abs(noise.var() - found[0].deviation ** 2) < 6 * error
    assert found[0].deviation ** 2 == pytest.approx(expected, rel=0.05)
    assert abs(noise.mean()) < 6 * np.sqrt(expected / noise.size)
    assert budget.receipt().epsilon == Fraction(10, 3)


def test_configurations_without_mass_back_off_to_fewer_parents() -> None:
    joint = np.zeros((2, 2, 2))  # child, first parent, second parent
    joint[:, 0, 0], joint[:, 0, 1] = (3, 1), (0, 0)
    table = conditional(joint, "back off").reshape(2, 2, 2)
    assert table[0, 0].tolist() == [0.75, 0.25]
    assert table[0, 1].tolist() == [0.75, 0.25]  # given the first parent only
    assert table[1, 0].tolist() == [0.75, 0.25]  # given nothing
    assert conditional(joint, "uniform").reshape(2, 2, 2)[0, 1].tolist() == [0.5, 0.5]
    assert conditional(np.zeros((4, 3)), "back off").tolist() == [[0.25] * 4] * 3


def test_generalised_parents_are_counted_at_their_level() -> None:
    schema = schema_of([16, 3], ordered=True)
    rows = mixed_rows(300, [16, 3])
    from penstock.kinds.table.network.encoding import encoded

    variables = encoded("hierarchical", schema.attributes).variables
    (one,) = measure(table_of(rows, schema), variables, [(Parent(1), Parent(0, 2))], paid(100).evenly(["x"]))
    assert one.counts.shape == (3, 4)
    truth = np.zeros((3, 4))
    np.add.at(truth, (rows[:, 1], rows[:, 0] // 4), 1)
    assert np.abs(one.counts - truth).max() <= 2  # scale 1/100: off by 1 has probability e^-100
