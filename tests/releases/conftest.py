from collections.abc import Iterator

import pytest

from penstock.releases import registry


@pytest.fixture(autouse=True)
def _test_forms() -> Iterator[None]:
    """The releases of these tests can be saved and loaded while a test runs."""
    with (
        registry.extended("tiny", "tests.releases.tiny:Tiny"),
        registry.extended("showcase", "tests.releases.tiny:Showcase"),
    ):
        yield
