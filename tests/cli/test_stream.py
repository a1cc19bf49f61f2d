"""`penstock stream` from end to end: opened, fed, asked, closed; interrupted, killed, and never
remembering."""

from __future__ import annotations

import errno
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.cli.desk import Cli, Outcome

from penstock.privacy.ledger.ledger import Ledger
from penstock.stream import load

SCHEMA = "kind: stream\ntitle: Visitors\nrelation: replace\nstream: {ids: 100000, most: 9}\n"
Feed = Callable[..., Outcome]


@pytest.fixture
def state(tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stream that may be asked four times."""
    monkeypatch.chdir(tmp_path)
    Path("v.schema.yaml").write_text(SCHEMA, encoding="utf-8")
    assert cli("stream", "open", "v.state", "-s", "v.schema.yaml", "-e", "8", "-n", "4").code == 0
    return Path("v.state")


@pytest.fixture
def feed(cli: Cli, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Feed:
    """Feed a text."""

    def call(text: bytes, *arguments: str) -> Outcome:
        source = tmp_path / "lines"
        source.write_bytes(text)
        with open(source, "rb") as lines:
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(lines))
            return cli("stream", "feed", "v.state", *arguments)

    return call


def test_a_stream_is_opened_fed_asked_and_closed(state: Path, cli: Cli, feed: Feed) -> None:
    assert feed(b"\n".join(b"%d" % number for number in range(20_000))).code == 0
    told = cli("stream", "ask", state)
    assert told.code == 0
    assert "±" in told.out
    assert told.out.rstrip().endswith("ids")
    asked = json.loads(cli("stream", "ask", state, "density", "--json").out)
    assert 0.1 < asked["value"] < 0.3
    assert asked["answers_left"] == 2
    shown = json.loads(cli("stream", "show", state, "--json").out)
    assert [each["question"] for each in shown["answers"]] == ["distinct", "density"]
    assert shown["receipt"]["epsilon"] == "6"
    assert "2 answers left" in cli("stream", "show", state).out
    page = (state / "report.html").read_text(encoding="utf-8")
    assert "Answers over time" in page
    assert "error_y" in page
    assert "Whoever sees them twice" in page
    assert json.loads(cli("stream", "close", state, "--json").out)["receipt"]["epsilon"] == "6"
    assert not (state / "counters.npy").exists()
    for command in ("ask", "feed", "close"):
        done = cli("stream", command, state)
        assert (done.code, done.sentences) == (1, 2), done.err


def test_lines_may_take_out_what_was_put_in(state: Path, feed: Feed) -> None:
    before = np.load(state / "counters.npy").tolist()
    done = feed(b"ann\t3\r\nbob\n\nann\t-3\nbob\t-1", "--json")
    assert json.loads(done.out) == {"state": "v.state", "updates": 4, "left_out": 0, "interrupted": False}
    assert np.load(state / "counters.npy").tolist() == before


def test_the_id_may_be_a_word_of_each_line(state: Path, feed: Feed) -> None:
    before = np.load(state / "counters.npy").tolist()
    assert feed(b'10.0.0.7 - - [01/Jan] "GET /"\n10.0.0.7 x\n', "--field", "1").code == 0
    load(state).update(["10.0.0.7"], -2)
    assert np.load(state / "counters.npy").tolist() == before


def test_lines_may_stand_in_a_file(state: Path, cli: Cli) -> None:
    before = np.load(state / "counters.npy").tolist()
    Path("day.log").write_bytes(b"ann\t2\nbob\nann\t-2\nbob\t-1\n")
    assert json.loads(cli("stream", "feed", state, "day.log", "--json").out)["updates"] == 4
    assert np.load(state / "counters.npy").tolist() == before
    missing = cli("stream", "feed", state, "night.log")
    assert (missing.code, missing.sentences) == (1, 2), missing.err
    assert cli("stream", "feed", state, ".").code == 1


def test_the_demo_counts_a_day_and_keeps_no_line_of_it(
    tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("penstock.demo.log.READERS", 400)
    done = cli("demo", "--kind", "stream", "--out", "readers")
    assert done.code == 0, done.err
    ran = re.findall(r"^\$ penstock (\w+ \w+)", done.out, re.MULTILINE)
    day = ["stream feed", "stream ask"] * 4
    assert ran == [
        "ledger init",
        "ledger limit",
        "stream open",
        *day,
        "stream show",
        "stream close",
        "ledger show",
    ]
    page = re.search(r"Its report: +(\S+)", done.out)
    assert page is not None
    assert "Answers over time" in Path(page[1]).read_text(encoding="utf-8")
    assert {path.name for path in Path("readers").iterdir()} == {"stream.json", "report.html"}
    left = [path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()]
    assert not any(b"192.0.2.9" in each for each in left)
    assert str(tmp_path).encode() not in Path("readers/stream.json").read_bytes()
    assert cli("demo", "--kind", "stream", "--out", "readers").code == 1
    assert cli("demo", "--kind", "stream", "--data-only", "day.log").code == 0
    assert Path("day.log").read_text(encoding="utf-8").startswith("192.0.2.9 - - [02/Mar/2026:00:00:00")


def test_a_line_that_is_no_update_is_left_out_and_all_others_are_fed(state: Path, feed: Feed) -> None:
    """One person's line decides about nobody else's; the custodian is told of the first, and how many."""
    before = np.load(state / "counters.npy").tolist()
    done = feed(b"ann\nbob\tmany\nann\t99\ncyd\n\n\t5\n")
    assert done.code == 0
    assert done.err == (
        "A line is no update and is left out, as all others of its kind will be; line 2: what follows the "
        "tab is no whole number.\nv.state: 2 updates fed, 3 left out.\n"
    )
    load(state).update(["ann", "cyd"], -1)
    assert np.load(state / "counters.npy").tolist() == before


def test_lines_of_which_none_is_an_update_are_a_mistake(state: Path, feed: Feed) -> None:
    before = np.load(state / "counters.npy").tolist()
    done = feed(b"a b\nc d\n", "--field", "3")
    assert done.code == 1
    assert done.err.endswith("None of 2 lines was an update; line 1: it has no word 3. Nothing was fed.\n")
    assert "by more than 9" in feed(b"ann\nbob\t99\n").err
    load(state).update(["ann"], -1)
    assert "has no steps" in feed(b"ann\n", "--step-every", "1").err
    assert np.load(state / "counters.npy").tolist() == before


def test_lines_of_any_bytes_and_any_length_are_read(state: Path, feed: Feed) -> None:
    """Binary lines are ids like others; one that is longer than any id is left out, wherever it is cut."""
    before = np.load(state / "counters.npy").tolist()
    odd = [bytes(each for each in range(256) if each not in b"\t\n\r "), b"\x0b", b"\x00", "ä".encode()]
    text = b"\n".join([*odd, b"x" * (5 << 20), b"ann", b"y" * ((1 << 20) + 1), b"bob", b"z" * (9 << 20)])
    done = feed(text, "--json")
    assert json.loads(done.out)["updates"] == 6
    assert json.loads(done.out)["left_out"] == 3
    load(state).update([*odd, b"ann", b"bob"], -1)
    assert np.load(state / "counters.npy").tolist() == before


def test_a_disk_that_is_full_costs_the_page_and_not_the_answer(
    state: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("penstock.kinds.stream.page.whole_file", full)
    told = cli("stream", "ask", state)
    assert told.code == 0
    assert "±" in told.out
    assert "report.html could not be written" in told.err
    monkeypatch.setattr("penstock.kinds.stream.folder.whole_file", full)
    refused = cli("stream", "ask", state)
    assert refused.code == 1
    assert (refused.sentences, refused.out) == (1, "")
    assert len(load(state, writing=False).history) == 1
    assert load(state, writing=False).receipt.epsilon == 5


def test_lines_are_counted_as_they_come(state: Path) -> None:
    """As behind 'tail -f': every line is in the counters while the next has not been written yet."""
    counters = np.lib.format.open_memmap(state / "counters.npy", mode="r")
    with subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL) as feeding:
        assert feeding.stdin is not None
        for number in range(5):
            before = counters.copy()
            feeding.stdin.write(b"10.0.0.%d\n" % number)
            feeding.stdin.flush()
            while np.array_equal(counters, before):
                assert feeding.poll() is None
                os.sched_yield()
            assert np.count_nonzero(counters != before) == 1
        feeding.stdin.close()
        assert feeding.wait() == 0


def test_a_threshold_may_be_a_share_of_the_whole_stream(
    tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("v.schema.yaml").write_text(SCHEMA.replace("100000", "1000"), encoding="utf-8")
    wanted = ("-e", "100", "-n", "3", "--sketch", "pp-incidence")
    assert cli("stream", "open", "plain", "-s", "v.schema.yaml", *wanted).code == 0
    assert "weigh=true" in cli("stream", "ask", "plain", "heavy-hitters", "--share", "1/10").err
    assert cli("stream", "open", "w", "-s", "v.schema.yaml", *wanted, "-p", "weigh=true").code == 0
    Path("lines").write_bytes(b"1\t9\n2\t7\n2\t-1\n" + b"".join(b"%d\n" % each for each in range(10, 30)))
    assert cli("stream", "feed", "w", "lines").code == 0
    told = json.loads(cli("stream", "ask", "w", "heavy-hitters", "--share", "1/6", "--json").out)
    assert told["at"] == 6  # of 35
    assert abs(told["value"] - 2) < 3 * told["error"]  # six deviations
    assert "not both" in cli("stream", "ask", "w", "heavy-hitters", "--share", "1/6", "--at", "3").err
    assert "share must be" in cli("stream", "ask", "w", "heavy-hitters", "--share", "2").err
    assert "from 1 to 9" in cli("stream", "ask", "w", "heavy-hitters", "--share", "1").err
    assert load("w", writing=False).answers_left == 2


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("open", "v.state", "-s", "v.schema.yaml", "-e", "1"), "exists already"),
        (("open", "w", "-s", "v.schema.yaml", "-e", "0"), "greater than 0"),
        (("open", "w", "-s", "v.schema.yaml", "-e", "1", "--sketch", "pp-bukket"), "did you mean"),
        (("open", "w", "-s", "v.schema.yaml", "-e", "1", "--param", "depth=1"), "sets no parameter"),
        (("open", "w", "-s", "v.schema.yaml", "-e", "1", "--account", "x"), "both a ledger and an account"),
        (("open", "w", "-s", "missing.yaml", "-e", "1"), "no such file"),
        (("ask", "v.state", "median"), "does not answer 'median'"),
        (("ask", "v.state", "distinct", "--at", "3"), "has no number of its own"),
        (("ask", "nowhere"), "is no stream"),
        (("feed", "nowhere"), "is no stream"),
        (("step", "v.state"), "has no steps"),
    ],
)
def test_mistakes_are_told_and_cost_nothing(
    state: Path, cli: Cli, arguments: tuple[str, ...], why: str
) -> None:
    done = cli("stream", *arguments)
    assert done.code in (1, 2)
    assert why in done.err
    assert done.sentences <= 3
    assert "should not" not in done.err
    assert load(state, writing=False).receipt.epsilon == 4
    assert not Path("w").exists()


def test_a_stream_is_no_data_to_open(state: Path, cli: Cli) -> None:
    Path("log.csv").write_text("id\n1\n", encoding="utf-8")
    done = cli("release", "log.csv", "-s", "v.schema.yaml", "-e", "1", "-o", "out")
    assert "is fed, not opened" in done.err
    assert cli("draft", "log.csv", "--kind", "stream").code == 2


def test_the_ledger_pays_for_every_answer_and_nobody_asks_around_it(
    tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("v.schema.yaml").write_text(SCHEMA, encoding="utf-8")
    Ledger.create("ledger.db").set_limit("visitors", epsilon=5, relation="replace", unit="id")
    booked = ("--ledger", "ledger.db", "--account", "visitors")
    assert cli("stream", "open", "v.state", "-s", "v.schema.yaml", "-e", "8", "-n", "4", *booked).code == 0
    assert cli("stream", "ask", "v.state").code == 0
    refused = cli("stream", "ask", "v.state")
    assert refused.code == 1
    assert "has epsilon 0 left" in refused.err
    Path("ledger.db").rename("elsewhere.db")
    assert cli("stream", "ask", "v.state").code == 1
    assert len(load("v.state", writing=False).history) == 1


COMMAND = (sys.executable, "-m", "penstock", "stream", "feed", "v.state")
CANARIES = [f"canary-{each}" for each in range(1000)]


def fed_until(number: signal.Signals, state: Path, whole: Path) -> tuple[int, bytes]:
    """Feed a thousand lines and a beginning of another; when all are counted, send a signal.

    A copy of the state, in `whole`, tells what the counters are then: that some have changed
    does not say that no line is half counted.
    """
    shutil.copytree(state, whole)
    with load(whole) as copy:
        copy.update(CANARIES)
    counted = np.load(whole / "counters.npy")
    shutil.rmtree(whole)
    # where the tests themselves run in the background, Ctrl-C is ignored, and children would inherit that
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as feeding:
        assert feeding.stdin is not None
        assert feeding.stderr is not None
        feeding.stdin.write("".join(f"{line}\n" for line in CANARIES).encode() + b"canary-half")
        feeding.stdin.flush()
        while not np.array_equal(np.load(state / "counters.npy"), counted):
            assert feeding.poll() is None
            os.sched_yield()
        feeding.send_signal(number)
        said = feeding.stderr.read()
        return feeding.wait(), said


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_whatever_ends_the_feeding_leaves_what_was_counted_and_no_line(
    state: Path, number: signal.Signals, tmp_path: Path
) -> None:
    """Killed at once, nothing that was counted is lost; no id is on the disk, and the next may feed on."""
    empty = np.load(state / "counters.npy")
    code, said = fed_until(number, state, tmp_path / "whole")
    assert code == (-9 if number is signal.SIGKILL else 128 + number)
    assert b"canary" not in said
    assert number is signal.SIGKILL or b"1,000 updates fed, then interrupted" in said
    for file in state.parent.rglob("*"):
        assert not file.is_file() or b"canary" not in file.read_bytes()
    again = load(state)
    again.update(CANARIES, -1)
    assert np.array_equal(np.load(state / "counters.npy"), empty)


def test_asking_goes_on_while_another_process_feeds(state: Path, cli: Cli) -> None:
    feeding = load(state)
    feeding.update(np.arange(1000))
    assert cli("stream", "ask", state).code == 0
    busy = cli("stream", "feed", state)
    assert busy.code == 1
    assert "is being fed by another process" in busy.err


def test_a_running_count_is_told_step_by_step(
    tmp_path: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("c.schema.yaml").write_text(
        "kind: stream\nunit: {protects: event}\nstream: {ids: 10, most: 1}\n", encoding="utf-8"
    )
    opened = ("--sketch", "continual-counter", "--param", "steps=4")
    assert cli("stream", "open", "c.state", "-s", "c.schema.yaml", "-e", "40", *opened).code == 0
    living = load("c.state")
    living.update([1] * 500)
    living.release()
    told = json.loads(cli("stream", "step", "c.state", "--json").out)
    assert 480 < told["value"] < 520
    assert cli("stream", "ask", "c.state").out.startswith(f"{told['value']:,.0f} ± ")
    Path("lines").write_bytes(b"1\n" * 100)
    with open("lines", "rb") as lines:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(lines))
        assert cli("stream", "feed", "c.state", "--step-every", "1000").code == 0
    for _ in range(3):
        assert cli("stream", "step", "c.state").code == 0
    assert "0 steps left" in cli("stream", "show", "c.state").out
    assert "All 4 steps" in cli("stream", "step", "c.state").err
    assert json.loads(cli("stream", "show", "c.state", "--json").out)["receipt"]["epsilon"] == "40"


@pytest.mark.parametrize("command", ["open", "feed", "ask", "step", "show", "rerandomise", "close"])
def test_every_command_has_help_with_an_example(command: str, cli: Cli) -> None:
    told = cli("stream", command, "--help").out
    assert f"penstock stream {command}" in told
    assert "Examples" in told
