"""Lets tests import what they share as `tests.room.module`, whichever way pytest finds them.

Property tests try the same examples in every run, and none fails for taking long: a busy machine is no
finding. `PENSTOCK_EXPLORE=1` lets them look for new examples.
"""

import os
import sys
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("exploring", deadline=None)
settings.load_profile("exploring" if os.environ.get("PENSTOCK_EXPLORE") else "repeatable")
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))


@pytest.fixture(autouse=True)
def state_folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Paid models that a test leaves unfinished are kept with the test, not with whoever runs it."""
    place = tmp_path_factory.getbasetemp() / "state"
    monkeypatch.setenv("PENSTOCK_STATE", str(place))
    return place
