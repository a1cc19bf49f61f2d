"""What dead processes left is removed, what living ones hold is not, and signals wait where they must."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock import lifetime
from penstock.lifetime import hold, made_and_held, marked, sweep, undisturbed

pytestmark = pytest.mark.skipif(os.name == "nt", reason="no such locks on Windows")


def made(folder: Path, name: str) -> Path:
    place = folder / name
    place.mkdir()
    (place / "records").write_text("ada")
    return place


def test_only_what_nobody_holds_is_swept(tmp_path: Path) -> None:
    dead, living = made(tmp_path, f"left-{marked()}"), made(tmp_path, f"left-{marked()}")
    file = tmp_path / f"left-{marked()}"
    file.touch()
    others = [made(tmp_path, name) for name in ("left-", "left-0123456789abcdef0123", f"right-{marked()}")]
    link = tmp_path / f"left-{marked()}"
    link.symlink_to(others[0])
    spared = made(tmp_path, f"left-{marked()}")
    held = hold(living)
    assert held is not None
    assert hold(living) is None
    sweep(tmp_path, "left-", spare=lambda path: path == spared)
    assert not dead.exists()
    assert not file.exists()
    assert all((place / "records").exists() for place in (living, spared, *others))
    assert link.is_symlink()
    os.close(held)
    sweep(tmp_path, "left-")
    assert not living.exists()


def test_what_another_machine_left_on_a_shared_disk_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = made(tmp_path, f"left-{marked()}")
    with monkeypatch.context() as patch:
        patch.setattr(lifetime, "machine", lambda: "01234567")
        sweep(tmp_path, "left-")
        assert place.exists()
    sweep(tmp_path, "left-")
    assert not place.exists()


def test_a_killed_process_holds_nothing(tmp_path: Path) -> None:
    place = made(tmp_path, f"left-{marked()}")
    code = (
        "import os, pathlib, signal, sys; from penstock.lifetime import hold\n"
        "assert hold(pathlib.Path(sys.argv[1])) is not None\n"
        "print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(place)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        sweep(tmp_path, "left-")
        assert place.exists()
        process.kill()
    sweep(tmp_path, "left-")
    assert not place.exists()


def test_whoever_is_swept_before_it_holds_begins_anew(tmp_path: Path) -> None:
    tries: list[Path] = []

    def make() -> Path:
        tries.append(made(tmp_path, f"left-{marked()}"))
        if len(tries) == 1:
            sweep(tmp_path, "left-")
        return tries[-1]

    place, held = made_and_held(make)
    assert (place, len(tries)) == (tries[1], 2)
    os.close(held)


@pytest.fixture
def usual_interrupt() -> Iterator[None]:
    """Ctrl-C as Python hears it by itself: whoever starts Spark in this process has Spark hear it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("usual_interrupt")
def test_a_signal_waits_for_the_end_of_the_block() -> None:
    done = []

    def work() -> None:
        with undisturbed():
            signal.raise_signal(signal.SIGINT)
            done.append("all of it")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["all of it"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.usefixtures("usual_interrupt")
def test_other_threads_have_no_signals_to_put_off() -> None:
    seen = []

    def work() -> None:
        with undisturbed():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [signal.default_int_handler]
