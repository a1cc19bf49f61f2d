"""What a stranger meets first explains itself: docstrings everywhere, with examples that are run."""

from __future__ import annotations

import doctest
import inspect
import tomllib
from collections.abc import Iterator
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType
from typing import Any

import pytest

import penstock

ROOT = Path(__file__).parents[1]


def docs(name: str) -> ModuleType:
    """A script of the documentation, as a module."""
    spec = spec_from_file_location(f"docs_{name}", ROOT / "docs" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    made = module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


REFERENCE = docs("reference")


def found(dotted: str) -> Any:
    """What a dotted path leads to."""
    module, _, name = dotted.rpartition(".")
    return getattr(import_module(module), name)


def door() -> Iterator[tuple[str, Any]]:
    yield from ((f"penstock.{name}", getattr(penstock, name)) for name in penstock.__all__)


def classes() -> Iterator[tuple[str, Any]]:
    """Methods, data handles and releases, from the lists that the reference is made of; the core's own."""
    for entries in (REFERENCE.methods(), REFERENCE.handles(), REFERENCE.forms()):
        yield from ((name, found(dotted)) for name, dotted in entries)
    for dotted in (
        "penstock.privacy.budgets.receipt.Receipt",
        "penstock.privacy.seals.sealed.Sealed",
        "penstock.releases.Answer",
    ):
        yield dotted, found(dotted)


def fits() -> Iterator[tuple[str, Any]]:
    yield from ((f"{name}: fit", found(dotted).fit) for name, dotted in REFERENCE.methods())


def mechanisms() -> Iterator[tuple[str, Any]]:
    package = import_module("penstock.privacy.mechanisms")
    for module in (import_module(f"{package.__name__}.{one.name}") for one in iter_modules(package.__path__)):
        for name, value in inspect.getmembers(module):
            own = getattr(value, "__module__", None) == module.__name__
            if own and not name.startswith("_") and (inspect.isfunction(value) or inspect.isclass(value)):
                yield f"{module.__name__}.{name}", value


def named(things: Iterator[tuple[str, Any]]) -> list[Any]:
    return [pytest.param(value, id=name) for name, value in things]


def examples_in(thing: Any) -> list[doctest.Example]:
    return doctest.DocTestParser().get_examples(inspect.getdoc(thing) or "")


@pytest.mark.parametrize(
    "thing", named(pair for source in (door, classes, fits, mechanisms) for pair in source())
)
def test_everything_public_says_what_it_promises(thing: Any) -> None:
    assert len((inspect.getdoc(thing) or "").split()) > 3


@pytest.mark.parametrize("thing", named(pair for source in (door, classes) for pair in source()))
def test_every_public_class_and_every_function_of_the_door_has_an_example(thing: Any) -> None:
    """The tests run it: it stands in the docstring of something defined in a module of the package."""
    examples = examples_in(thing)
    assert examples
    assert any(example.want for example in examples), "an example shows what comes out"
    assert not any(doctest.SKIP in example.options for example in examples)
    assert thing.__doc__, "its own, not one that it inherits"
    assert Path(inspect.getfile(thing)).is_relative_to(ROOT / "src" / "penstock")


@pytest.mark.parametrize("method", named((name, found(dotted)) for name, dotted in REFERENCE.methods()))
def test_the_example_of_a_method_fits_it(method: Any) -> None:
    assert any(".fit(" in example.source for example in examples_in(method) + examples_in(method.fit))


def test_the_tests_run_the_examples_of_the_package() -> None:
    options = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["pytest"]
    assert "--doctest-modules" in options["ini_options"]["addopts"].split()
    assert "src" in options["ini_options"]["testpaths"]


def test_the_reference_shows_everything_that_is_listed() -> None:
    """Every method, handle and form has its section, and the door is complete."""
    page = REFERENCE.on_page_markdown
    folder = ROOT / "docs" / "reference"
    for name, entries in (
        ("methods", REFERENCE.methods()),
        ("data", REFERENCE.handles()),
        ("releases", REFERENCE.forms()),
    ):
        text = page((folder / f"{name}.md").read_text(encoding="utf-8"))
        for title, dotted in entries:
            assert f"\n## {title}\n" in text
            assert f"\n::: {dotted}" in text
    front = (folder / "door.md").read_text(encoding="utf-8")
    for _, value in door():
        assert f"\n::: {value.__module__}.{value.__qualname__}\n" in front


def test_examples_are_shown_as_code_and_nothing_else_is_changed() -> None:
    fenced = docs("doctests").fenced
    assert fenced("Adds up.\n\n>>> 1 + 1\n2\n\n>>> if True:\n...     1\n1\n\nAlways.") == (
        "Adds up.\n\n```pycon\n>>> 1 + 1\n2\n>>> if True:\n...     1\n1\n```\n\nAlways."
    )
    assert fenced("No example.") == "No example."
