"""Every privacy argument in the source can be found by one search, and every opening of a seal is on a list.

A sealed value is born in the constructor `Sealed`, in `claim`, `derive` or `scored`, and each of them asks
for the reason why the sensitivity holds; `apart` asks why the parts of a budget share no record.
`grep -rn "because=" src/` is therefore the list of all privacy arguments. What a reviewer reads must not be
made from the records, so that a reason is a literal text. Seals are opened in the places below and nowhere
else.
"""

from __future__ import annotations

import ast
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import penstock
from penstock.errors import UsageError
from penstock.privacy.seals.sealed import Sealed, join
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.privacy.unit import Relation

SOURCE = Path(penstock.__file__).parent
MODULES = sorted(SOURCE.rglob("*.py"))

BIRTHS = ("Sealed", "claim", "derive", "scored", "apart")

PUBLIC_IN_REASONS = {
    ("kinds/table/privbayes/structure.py", "self.name"): "the name of the score, a parameter of the method",
}
"""What is filled into the f-string of a reason, and why that is public."""

OPENINGS = {
    # The seal's own room: what is opened is sealed again, or nothing of it is told but type and shape.
    "privacy/seals/sealed.py join": "sealed again at once, with the sensitivities added",
    "privacy/seals/sealed.py form_of": "type and shape only, which schema and method fix",
    # Mechanisms, each after it was paid.
    "privacy/mechanisms/noise.py _discrete_laplace": "discrete Laplace noise of scale l1/epsilon",
    "privacy/mechanisms/noise.py laplace_real": "the same on a lattice whose rounding is paid for",
    "privacy/mechanisms/noise.py gaussian": "discrete Gaussian noise for the rho that was paid",
    "privacy/mechanisms/products.py noisy": "a difference of Wishart matrices for the trace that moves",
    "privacy/mechanisms/choice.py best": "permute-and-flip or the exponential mechanism",
    "privacy/mechanisms/choice.py best_several": "the same several times, or noise once and the largest",
    "privacy/mechanisms/choice.py point": "the exponential mechanism over the points of a public domain",
    "privacy/mechanisms/choice.py points": "the same once in each of several parts that share no unit",
    "privacy/mechanisms/sparse.py SparseVector._opened": "compared under noise with a noisy threshold",
    "privacy/mechanisms/response.py randomise": "randomised response, answer by answer",
    "privacy/mechanisms/ladder.py ladder": "an exact draw from rungs of which an integer moves one at most",
    "privacy/mechanisms/noisy_local.py noisy_local": "noise on a bound of the move that is itself noisy",
    "privacy/mechanisms/smooth.py laplace": "Laplace noise on the scale of the smooth sensitivity",
    "privacy/mechanisms/smooth.py cauchy": "Cauchy noise on the scale of the smooth sensitivity",
    "privacy/mechanisms/posterior.py bounded": "the exponential mechanism over a lattice of coefficients",
    "privacy/mechanisms/posterior.py unbounded": "the same in a ball whose tails a delta covers",
    "privacy/mechanisms/splitting.py Splitter.split": "PrivTree's decisions, one exact coin a node",
    "privacy/mechanisms/chains.py Chain.passing": "cells of a part that pass under noise, paid by the chain",
    "privacy/mechanisms/chains.py Chain.counted": "the same cells with their noisy counts, paid by the chain",
    "privacy/mechanisms/chains.py Chain.noisy": "noise of the rate that the chain spends",
    "privacy/mechanisms/chains.py Chain.chosen": "the exponential mechanism, paid by the chain",
    "privacy/mechanisms/chains.py Chain.several": "the same several times, paid by the chain",
    # Mechanisms that belong to one method, each with its theorem beside it.
    "drafting/bounds.py frequent": "stability-based histogram: noise, and a threshold that covers delta",
    "kinds/points/baselines/dawa.py least_uneven": "DAWA's noisy costs of all stretches",
    "learn/linear/perturbation.py perturbed_minimum": "noise in the objective; distances are paid for",
    "kinds/stream/group.py noisy_sketch": "noise by the distance that a neighbour's move has in a group",
    "kinds/sequences/exploration.py Exploration.look": "noise string by string, paid start by start",
    # Audits compare neighbouring inputs that they make up themselves: there is nobody to protect.
    "audit/sensitivity.py moves": "how far a value really moves between two made-up inputs",
    "audit/tampering.py raw_size": "a mistake made on purpose, in a broken copy",
    "audit/worst_loss.py worst_loss": "the exact loss of a tree between two made-up inputs",
    "learn/clusters/audits.py Rounds.loss": "how far a round moves between two made-up inputs",
    "kinds/points/audits.py OnlyOccupied.fans": "a mistake made on purpose, in a broken copy",
    "kinds/graph/audits/features.py by_true_counts": "a mistake made on purpose, in a broken copy",
    "kinds/table/audits/gaps.py Step.choice_law": "the exact law of a choice on a made-up table",
    "kinds/table/audits/gaps.py Step.cost_in_rho": "how far scores move between two made-up tables",
    "kinds/table/audits/gaps.py Step.sum_law": "the exact law of a noisy number on a made-up table",
    "learn/gaussian/audits.py Draw.law": "the exact law of a draw on a made-up table",
    "learn/classification/audits/grids.py Step.law": "the exact law of a choice on a made-up table",
    "learn/classification/audits/grids.py Passes._law": "the broken copy whose candidates follow the records",
    "learn/aggregate/audits.py Averages.loss": "how far sums move between two made-up inputs",
    "learn/search/audits.py Step.law": "the exact law of a choice on a made-up table",
    "learn/gibbs/audits.py Draw.law": "the exact law of a draw on made-up rows",
    "learn/linear/audits/outputs.py Ridge.law": "the exact law of a choice on a made-up table",
    "learn/linear/audits/outputs.py Weights.loss": "how far a minimum moves between two made-up tables",
    "kinds/table/audits/dependence.py Choice.law": "the exact law of a choice on a made-up table",
    "kinds/table/audits/dependence.py Step.law": "the exact law of a noisy number on a made-up table",
    "kinds/table/audits/looks.py CountedAsOne._counts": "how far counts of two made-up tables are apart",
    "kinds/table/audits/looks.py LargestOfTwo._sum": "how far a number of two made-up tables is apart",
}
"""Module and function that call `open_seal`, and why they may."""


def name_of(module: Path) -> str:
    return module.relative_to(SOURCE).as_posix()


def parsed(module: Path) -> ast.Module:
    return ast.parse(module.read_text(encoding="utf-8"))


def called(call: ast.Call) -> str:
    """The last word of what is called: `Sealed` for ``Sealed(...)`` and ``Sealed[int](...)``."""
    function = call.func.value if isinstance(call.func, ast.Subscript) else call.func
    return getattr(function, "attr", getattr(function, "id", ""))


def calls(tree: ast.AST, *names: str) -> Iterator[ast.Call]:
    found = (node for node in ast.walk(tree) if isinstance(node, ast.Call))
    yield from (call for call in found if called(call) in names)


def births() -> Iterator[tuple[Path, ast.Call]]:
    for module in MODULES:
        yield from ((module, call) for call in calls(parsed(module), *BIRTHS))


def places_of(name: str) -> set[str]:
    """Module and innermost function (with its class) of every use of a name, calls and others alike."""
    found = set()

    def walk(node: ast.AST, module: Path, around: tuple[str, ...]) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.ImportFrom | ast.Import):
                continue
            if (isinstance(child, ast.Name) and child.id == name) or (
                isinstance(child, ast.Attribute) and child.attr == name
            ):
                found.add(f"{name_of(module)} {'.'.join(around)}")
            named = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            walk(child, module, (*around, child.name) if named else around)

    for module in MODULES:
        walk(parsed(module), module, ())
    return found


# --- births ---


def test_every_birth_of_a_sealed_value_states_its_reason() -> None:
    count = 0
    for module, call in births():
        reasons = [keyword.value for keyword in call.keywords if keyword.arg == "because"]
        where = f"{name_of(module)}:{call.lineno}"
        assert len(reasons) == 1, f"{where}: no reason"
        assert not any(keyword.arg is None for keyword in call.keywords), f"{where}: nothing is passed unseen"
        (reason,) = reasons
        if isinstance(reason, ast.Constant):
            assert isinstance(reason.value, str), where
            assert len(reason.value.split()) >= 4, f"{where}: a reason is a sentence, not a word"
        elif isinstance(reason, ast.JoinedStr):
            for part in reason.values:
                if isinstance(part, ast.FormattedValue):
                    told = (name_of(module), ast.unparse(part.value))
                    assert told in PUBLIC_IN_REASONS, f"{where}: is {told[1]} public?"
        else:
            assert isinstance(reason, ast.Name), f"{where}: a reason is a literal text"
            assert reason.id == "because", f"{where}: a reason is a literal text"
        count += 1
    assert count > 40


def test_every_sparse_vector_states_why_its_queries_move_no_further() -> None:
    count = 0
    for module in MODULES:
        for call in calls(parsed(module), "paid"):
            if ast.unparse(call.func) not in ("SparseVector.paid", "cls.paid"):
                continue
            where = f"{name_of(module)}:{call.lineno}"
            (reason,) = [keyword.value for keyword in call.keywords if keyword.arg == "because"] or [None]
            literal = isinstance(reason, ast.Constant) and len(str(reason.value).split()) >= 4
            assert literal or (isinstance(reason, ast.Name) and reason.id == "because"), where
            count += 1
    assert count >= 2


def test_one_search_lists_every_privacy_argument() -> None:
    """The search of ARCHITECTURE.md, CONTRIBUTING.md and the docs meets every birth."""
    command = ["grep", "-rn", "because=", str(SOURCE), "--include=*.py"]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    lines = {
        (Path(path), int(line)) for path, line in re.findall(r"^(.+?):(\d+):", listed, flags=re.MULTILINE)
    }
    for module, call in births():
        assert call.end_lineno is not None
        within = range(call.lineno, call.end_lineno + 1)
        assert any((module, line) in lines for line in within), f"{name_of(module)}:{call.lineno}"


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "CONTRIBUTING.md", "docs/architecture.md"])
def test_the_search_is_documented(page: str) -> None:
    text = (Path(__file__).parents[2] / page).read_text(encoding="utf-8")
    assert '`grep -rn "because=" src/`' in text


def test_records_meet_seals_in_one_named_file_for_each_kind() -> None:
    """Inside `kinds/` only `data.py` makes sealed values from nothing; all others derive them."""
    rooms = sorted(room for room in (SOURCE / "kinds").iterdir() if (room / "__init__.py").exists())
    assert rooms
    for room in rooms:
        makers = {
            module.relative_to(room).as_posix()
            for module in room.rglob("*.py")
            if any(calls(parsed(module), "Sealed"))
        }
        assert makers == {"data.py"}, room.name


def test_nobody_else_in_the_methods_makes_sealed_values() -> None:
    """Besides data handles: the seal's own operations, private drafts of raw columns, and audits.

    Sample and aggregate, and predictors that are handed over, are given rows that no schema describes: blocks
    and answered rows are their data handles.
    """
    makers = {name_of(module) for module, call in births() if called(call) == "Sealed"}
    outside = {name for name in makers if not name.startswith(("kinds/", "audit/"))}
    assert outside == {
        "privacy/seals/sealed.py",
        "drafting/bounds.py",
        "learn/aggregate/blocks.py",
        "learn/gaussian/audits.py",
        "learn/gibbs/handed.py",
    }


def test_there_is_no_other_way_to_make_a_sealed_value() -> None:
    """No other name for the class, no subclass, no constructor called behind its back."""
    for module in MODULES:
        for node in ast.walk(parsed(module)):
            if isinstance(node, ast.ImportFrom):
                assert not any(alias.name == "Sealed" and alias.asname for alias in node.names)
            elif isinstance(node, ast.ClassDef):
                assert not any("Sealed" in ast.unparse(base) for base in node.bases), node.name
            elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Name):
                assert node.value.id != "Sealed", name_of(module)
            elif isinstance(node, ast.Attribute) and ast.unparse(node.value) == "Sealed":
                raise AssertionError(f"{name_of(module)}: {ast.unparse(node)}")


# --- openings ---


def test_seals_are_opened_only_where_it_is_justified() -> None:
    assert places_of("open_seal") == set(OPENINGS)
    assert all(len(why.split()) >= 4 for why in OPENINGS.values())


def test_the_value_behind_a_seal_is_reached_in_no_other_way() -> None:
    """The mangled name of the value stands once in the source: in `open_seal`."""
    found = {module: module.read_text(encoding="utf-8").count("_Sealed__") for module in MODULES}
    assert {name_of(module): times for module, times in found.items() if times} == {
        "privacy/seals/sealed.py": 1
    }


# --- the constructor ---


def counts() -> Sealed[np.ndarray]:
    return Sealed(
        np.array([3, 4]), Sensitivity.of(1), Relation.ADD_REMOVE, because="a record falls into one cell"
    )


@pytest.mark.parametrize("because", ["", "  \n", None, 7])
def test_a_sealed_value_without_a_reason_is_refused(because: object) -> None:
    with pytest.raises(UsageError, match="the reason why it holds"):
        Sealed(1, Sensitivity.of(1), Relation.ADD_REMOVE, because=because)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        Sealed(1, Sensitivity.of(1), Relation.ADD_REMOVE)  # type: ignore[call-arg]


def test_a_sealed_value_keeps_its_reason_and_its_operations_state_theirs() -> None:
    sealed = counts()
    assert sealed.because == "a record falls into one cell"
    assert sealed.because not in repr(sealed)
    derived = [
        join([sealed, sealed]),
    ]
    reasons = [one.because for one in derived]
    assert len({sealed.because, *reasons}) == 2
    with pytest.raises(AttributeError):
        sealed.because = "anything"  # type: ignore[misc]
