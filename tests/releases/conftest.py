from collections.abc import Iterator

import pytest

from penstock import catalogue


@pytest.fixture(autouse=True)
def _test_forms() -> Iterator[None]:
    """The releases of these tests can be saved and loaded while a test runs."""
    with (
        catalogue.extended(forms=(catalogue.FormInfo("tiny", "tests.releases.tiny:Tiny", keys=()),)),
        catalogue.extended(forms=(catalogue.FormInfo("showcase", "tests.releases.tiny:Showcase", keys=()),)),
    ):
        yield
