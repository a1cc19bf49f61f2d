"""What tests of tables share."""

from __future__ import annotations

import pytest

from penstock.kinds.table.confluence import method


@pytest.fixture
def in_views(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables of a few small columns are counted in views, as larger ones are, and not as a whole."""
    monkeypatch.setattr(method._Fit, "_as_a_whole", lambda self, strength=None: False)
