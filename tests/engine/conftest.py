"""One PostgreSQL server for all tests of this folder that a process runs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from studies.servers import PostgresServer, missing


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    why = missing()
    if why is not None:
        pytest.skip(why)
    server = PostgresServer()
    yield server
    server.removed()
