"""What no method, command or study uses is deleted: every function and class has a caller outside the tests.

A name counts as used where a file of the source, the studies or the docs' scripts says it, other than the
definition itself and the list of what a package offers. Audits try what others use, so they do not count for
the core. Methods are looked up by their names, so that of two with one name a used one hides another.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.test_house import HOME

ROOT = Path(__file__).parents[1]

NOT_YET: dict[str, str] = {
    "privacy/mechanisms/noise.py gaussian_variance": "private learning: how wide Gaussian noise is",
    "privacy/mechanisms/response.py randomise": "streams: people's own noisy answers",
    "privacy/mechanisms/response.py estimate": "the same: how many people hold an answer",
    "privacy/mechanisms/sparse_errors.py error_queries": "in the guide to selection: public estimates",
    "privacy/budgets/budget.py apart": "partitions: parts of the records that are paid for once",
}
"""Core that no method uses yet, tested and audited, each with what is going to use it. An entry goes when it
is used; that of a common name is found by reading."""

BY_OTHERS = {
    "cli/audit.py audit": "the command line finds a command by its name",
    "learn/classification/cells.py replicated_table": "users whose learners take no weights",
    "kinds/itemsets/release.py compact": "users of the library: sets with how often each of them occurs",
    "learn/clusters/estimator.py transform": "scikit-learn's pipelines call it",
    "schema/document.py construct_object": "PyYAML calls it",
    "schema/document.py ignore_aliases": "PyYAML calls it",
    "audit/sensitivity.py contradictions": "what tests of methods ask of a stated sensitivity",
    "theory/channels.py information_bound": "users of the library: the guide to what is public beforehand",
    "theory/channels.py randomised_response": "the same",
    "theory/channels.py rate_distortion": "the same",
    "theory/learning.py catoni_bound": "the same",
    "theory/learning.py divergence": "the same",
    "theory/learning.py gibbs_posterior": "the same",
    "theory/learning.py mcallester_bound": "the same",
    "theory/learning.py gibbs_rate": "the same",
    "theory/regression.py bounded_beta": "the same",
    "theory/regression.py effective_dimension": "the same",
    "theory/regression.py excess_risk_bound": "the same",
    "theory/regression.py hockey_stick": "the same",
    "theory/regression.py published_epsilon": "the published claim, to be refuted by the audit",
    "theory/regression.py largest": "the audit: the beta of that claim",
    "theory/regression.py unbounded_beta": "the same",
    "theory/beliefs.py sampled": "the same",
    "kinds/stream/incidence.py cropped_mean": "users of the library: one of the questions to totals",
    "kinds/stream/incidence.py heavy_hitters": "the same",
    "kinds/stream/audits/box.py lost_mass": "the audit's tests: how much the printed box gives away",
    "privacy/randomness/logarithms.py exceeds": "the audit's own comparison with a bracketed number",
}
"""What is called by a library or by its users, or is there for the audits."""


def rooms_of_audits(path: Path) -> bool:
    parts = path.relative_to(HOME).parts if path.is_relative_to(HOME) else ()
    return bool(parts) and (parts[0] == "audit" or "audits" in parts or parts[-1] == "audits.py")


def readers() -> list[Path]:
    """Whoever may use what the source offers."""
    studies = ROOT / "studies"
    scripts = [path for path in studies.rglob("*.py") if not path.is_relative_to(studies / "results")]
    return [*sorted(HOME.rglob("*.py")), *scripts, *(ROOT / "docs").glob("*.py")]


def defined(tree: ast.AST) -> Iterator[str]:
    """Functions, methods and classes that a file offers; those that a decorator hands on are used by it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            plain = {
                "classmethod",
                "staticmethod",
                "property",
                "cached_property",
                "overload",
                "contextmanager",
            }
            decorators = {
                ast.unparse(each).partition("(")[0].rpartition(".")[2] for each in node.decorator_list
            }
            if decorators <= plain | {"dataclass", "lru_cache"}:
                yield node.name


def used(tree: ast.AST) -> Iterator[str]:
    """Names that a file says, other than in a definition or an import; a place of the catalogue says one."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and ":" in node.value:
            yield node.value.rpartition(":")[2]


def unused() -> set[str]:
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in readers()}
    by_all = {name for tree in trees.values() for name in used(tree)}
    by_core = {name for path, tree in trees.items() if not rooms_of_audits(path) for name in used(tree)}
    found = set()
    for path, tree in trees.items():
        if path.is_relative_to(HOME):
            known = by_all if rooms_of_audits(path) else by_core
            found |= {f"{path.relative_to(HOME).as_posix()} {name}" for name in set(defined(tree)) - known}
    return found


def test_everything_has_a_caller_or_a_plan() -> None:
    found = unused()
    assert sorted(found - set(NOT_YET) - set(BY_OTHERS)) == []


def test_what_nothing_uses_yet_is_listed_in_the_architecture() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    for place in NOT_YET:
        _, _, name = place.rpartition(" ")
        assert f"`{name}`" in page, name


@pytest.mark.parametrize(
    "text", ["def lonely(): pass", "class Lonely: pass", "class A:\n    def lonely(self): pass"]
)
def test_what_nobody_calls_would_be_found(text: str) -> None:
    tree = ast.parse(text)
    assert {name.lower() for name in set(defined(tree)) - set(used(tree))} >= {"lonely"}
