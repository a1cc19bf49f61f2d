"""The examples in the docstrings of this package run while its kind is in the catalogue."""

from collections.abc import Iterator

import pytest
from tests.conformance.ballots.entry import FORM, KIND, METHOD

from penstock import catalogue


@pytest.fixture(autouse=True)
def _in_the_catalogue() -> Iterator[None]:
    with catalogue.extended(kinds=(KIND,), methods=(METHOD,), forms=(FORM,)):
        yield
