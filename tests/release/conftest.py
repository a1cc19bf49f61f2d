from collections.abc import Iterator

import pytest

from penstock.release import registry


@pytest.fixture(autouse=True)
def _test_forms() -> Iterator[None]:
    """The releases of these tests can be saved and loaded while a test runs."""
    with (
        registry.extended("tiny", "tests.release.tiny:Tiny"),
        registry.extended("showcase", "tests.release.tiny:Showcase"),
    ):
        yield
