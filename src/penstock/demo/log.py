"""A day of a library's web server: who came, and how often, of people who do not exist.

Most readers come once, a few all day, and more in the evening than at night; a crawler asks for a page every
ten seconds. A line begins with the reader's address, as in the logs of most servers.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from importlib.resources import files

import numpy as np

DAY = datetime(2026, 3, 2, tzinfo=UTC)
READERS = 9_000
_PAGES = ("/", "/catalogue", "/opening-hours", "/events", "/account")


def quarters_of_a_day(readers: int | None = None) -> list[list[str]]:
    """The lines of a day in four parts, in the order in which they were written.

    >>> [part[0].split()[0] for part in quarters_of_a_day(3)]
    ['192.0.2.9', '192.0.2.9', '192.0.2.9', '192.0.2.9']
    """
    rng = np.random.default_rng(20_260_302)
    readers = READERS if readers is None else readers
    visits = rng.zipf(2.2, readers).clip(max=60)
    reader = np.repeat(np.arange(readers), visits)
    hour = (np.repeat(rng.normal(18, 5, readers), visits) + rng.normal(0, 1, reader.size)) % 24
    crawled = np.arange(0, 86_400, 10)
    second = np.concatenate([(hour * 3600).astype(np.int64), crawled])
    address = [_address(each) for each in reader.tolist()] + ["192.0.2.9"] * crawled.size
    page = rng.integers(0, len(_PAGES), second.size)
    parts: list[list[str]] = [[] for _ in range(4)]
    for each in np.argsort(second, kind="stable").tolist():
        time = DAY + timedelta(seconds=int(second[each]))
        line = f'{address[each]} - - [{time:%d/%b/%Y:%H:%M:%S} +0000] "GET {_PAGES[page[each]]}"\n'
        parts[time.hour // 6].append(line)
    return parts


def _address(reader: int) -> str:
    return f"10.{reader >> 16}.{reader >> 8 & 255}.{reader & 255}"


def log_schema() -> str:
    """The schema as its custodian has written it, in YAML."""
    return files(__package__).joinpath("log.schema.yaml").read_text(encoding="utf-8")
