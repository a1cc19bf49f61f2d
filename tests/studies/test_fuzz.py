"""A short run of the fuzzer over every loader, and what it would call a find."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random
from types import SimpleNamespace

import pytest

import fuzz
from fuzzing import loaders, mutation, trial
from fuzzing.loaders import LOADERS, Loader
from penstock.errors import DataError

INPUTS = {"query": 2000, "folder": 150}


@pytest.mark.parametrize("name", LOADERS)
def test_every_broken_input_is_accepted_or_refused_with_one_sentence(name: str) -> None:
    tally = trial.try_all(name, 0, range(INPUTS.get(name, 400)))
    assert tally.finds == []
    assert tally.inputs == INPUTS.get(name, 400)
    assert tally.refused > tally.inputs / 2  # mutants that are all accepted would test nothing
    assert tally.accepted > 0  # and so would mutants that are broken beyond their first check


def test_the_same_seed_makes_the_same_inputs(tmp_path: Path) -> None:
    loader = LOADERS["schema"](tmp_path)
    first = [trial.made(loader, 3, number) for number in range(50)]
    assert [trial.made(loader, 3, number) for number in range(50)] == first
    assert len(set(first)) > 40
    assert first != [trial.made(loader, 4, number) for number in range(50)]


def test_changes_to_one_document_leave_no_trace_in_the_next() -> None:
    before = json.dumps(mutation.VALUES)
    for number in range(2000):
        mutation.document(Random(number), b'{"a": [1, {"b": []}], "c": {}}')
    assert json.dumps(mutation.VALUES) == before


def test_documents_and_texts_are_changed() -> None:
    rng = Random(0)
    assert sum(mutation.text(rng, [b"age < 30"]) == b"age < 30" for _ in range(200)) < 40
    assert (
        sum(
            mutation.document(rng, b'{"a": [1, {"b": "c"}]}') == b'{"a": [1, {"b": "c"}]}' for _ in range(200)
        )
        < 40
    )


def test_the_shares_add_up_to_what_was_asked_for() -> None:
    parts = fuzz.shares(list(LOADERS), 1_000_003)
    assert sum(parts.values()) == 1_000_003
    assert min(parts.values()) > 10_000


class Broken(Loader):
    """Answers in every wrong way, by number."""

    name, share = "broken", 1.0

    def input(self, rng: Random) -> bytes:
        return b""

    def attempt(self, data: bytes) -> None:
        raise next(self.answers)

    answers: Iterator[BaseException]


def test_what_is_no_sentence_of_penstock_is_a_find(monkeypatch: pytest.MonkeyPatch) -> None:
    class Panic(BaseException):
        pass

    wrong = [KeyError("x"), Panic(), DataError(""), DataError("no full stop"), RecursionError()]
    Broken.answers = iter([*wrong, DataError("One sentence. And what to do.")])
    monkeypatch.setitem(loaders.LOADERS, "broken", Broken)
    tally = trial.try_all("broken", 0, range(6))
    assert (tally.crashes, tally.refused) == (5, 1)
    assert [find.number for find in tally.finds] == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(("busy", "ended"), [(True, True), (False, False)])
def test_a_worker_is_ended_for_its_own_time_and_not_for_a_busy_machine(
    monkeypatch: pytest.MonkeyPatch, busy: bool, ended: bool
) -> None:
    class Results:
        """Come after three glances."""

        glances = 0

        def poll(self, seconds: float) -> bool:
            self.glances += 1
            return self.glances > 3

    used = iter(range(0, 1000, 50)) if busy else iter([0] * 20)
    monkeypatch.setattr(trial, "_cpu", lambda pid: float(next(used)))
    calls: list[bool] = []
    trial._watch(1, SimpleNamespace(value=7), Results(), lambda: calls.append(True))  # type: ignore[arg-type]
    assert bool(calls) is ended


def test_what_is_finished_is_kept(tmp_path: Path) -> None:
    tally = trial.Tally(
        accepted=1, crashes=1, medians=[0.5], finds=[trial.Find("url", 1, "KeyError", b"\xff")]
    )
    place = tmp_path / "fuzz.jsonl"
    assert fuzz.kept(place) == (0, trial.Tally())
    place.write_text(json.dumps({"end": 2, **tally.to_dict()}) + "\n")
    assert fuzz.kept(place) == (2, tally)


def test_the_page_has_one_row_for_each_loader() -> None:
    found = {name: trial.Tally(accepted=10, refused=90, medians=[0.001], slowest=0.01) for name in LOADERS}
    made = fuzz.page(found, 1)
    assert "600 inputs, no crash, no hang: 90%" in made.screen
    assert all(f"| {name} " in made.text() for name in LOADERS)
