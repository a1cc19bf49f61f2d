"""Every promise for every method of the catalogue; a new method is tested without a line here."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.conformance.checks import CHECKS, Check

from penstock import catalogue
from penstock.catalogue import MethodInfo


@pytest.mark.parametrize("info", catalogue.methods(), ids=lambda info: info.name)
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_conformance(check: Check, info: MethodInfo, tmp_path: Path) -> None:
    check(info, tmp_path)


def test_a_kind_has_one_default_at_most_and_methods_to_choose_from() -> None:
    for kind in catalogue.kinds():
        offered = catalogue.methods(kind.name, role="method")
        assert offered, kind.name
        assert sum(info.default for info in offered) <= 1


def test_every_form_belongs_to_a_method() -> None:
    assert {info.form for info in catalogue.methods()} == set(catalogue.forms())
