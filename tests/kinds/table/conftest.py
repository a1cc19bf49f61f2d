"""What tests of tables share."""

from __future__ import annotations

import pytest

from penstock.kinds.table.confluence import method


@pytest.fixture
def in_views(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables of a few small columns are counted in views: not as a whole, nor all pairs by one matrix."""
    monkeypatch.setattr(method._Fit, "_as_a_whole", lambda self, strength=None: False)
    monkeypatch.setattr(method._Fit, "_products", lambda self, levels: None)


@pytest.fixture
def by_columns(in_views: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """And single columns are counted first, as where dependence is sparse or noise large."""
    monkeypatch.setattr(method._Fit, "_at_once", lambda self, strength: [])
