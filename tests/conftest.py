"""Lets tests import what they share as `tests.room.module`, whichever way pytest finds them.

Property tests try the same examples in every run, and none fails for taking long: a busy machine is no
finding. `PENSTOCK_EXPLORE=1` lets them look for new examples.

Two things that no test is about are made cheap. Matrices here have a few rows, and threads of OpenBLAS that
wait for more take turns with the other worker of pytest; whoever sets their number is left alone. And the
collector goes over all objects a tenth as often: expressions of Ibis are a hundred thousand small ones each.

What takes longest begins first, so that no worker waits for another's last test in the end; and it begins in
one worker, since every other would start a Spark of its own.
"""

import gc
import os
import sys
from pathlib import Path

import pytest
from hypothesis import settings

for library in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(library, "1")  # before NumPy is imported
gc.set_threshold(50_000, 20, 20)
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("exploring", deadline=None)
settings.load_profile("exploring" if os.environ.get("PENSTOCK_EXPLORE") else "repeatable")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

LONGEST = (
    "tests/engine/test_spark.py",
    "tests/conformance/test_door.py",
    "tests/browser/",
    "tests/test_docs.py",
    "tests/audit/test_targets.py",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest first; all else in its order."""
    items.sort(key=lambda item: not item.nodeid.startswith(LONGEST))


@pytest.fixture(autouse=True)
def state_folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Paid models that a test leaves unfinished are kept with the test, not with whoever runs it."""
    place = tmp_path_factory.getbasetemp() / "state"
    monkeypatch.setenv("PENSTOCK_STATE", str(place))
    return place
