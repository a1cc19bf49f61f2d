"""Somebody else's code, run on records so that nothing of it gets out but its answer.

What it prints, warns and raises is lost; the chance that it draws is the same for every call, so that how
much one takes decides nothing about the next. `by_itself` does that in this process. `within` does it in a
process of its own, which is ended after so many seconds: an answer that is late, or lost because the process
died, is none, and whatever the code left behind in memory is gone with the process.

Nothing here is private by itself. Callers give it the records of one block, or of one row, and turn what is
no answer into a public one.
"""

from __future__ import annotations

import os
import random
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from multiprocessing.connection import Connection


@contextmanager
def by_itself() -> Iterator[None]:
    """What runs in here says nothing, and finds the chance of all programs as every other call does."""
    drawn, state = random.getstate(), np.random.get_state()  # that of others
    try:
        random.seed(0)
        np.random.seed(0)
        with (
            warnings.catch_warnings(),
            np.errstate(all="ignore"),
            open(os.devnull, "w", encoding="utf-8") as nowhere,
            redirect_stdout(nowhere),
            redirect_stderr(nowhere),
        ):
            warnings.simplefilter("ignore")
            yield
    finally:
        random.setstate(drawn)
        np.random.set_state(state)


def answer(asked: Callable[[], Any]) -> Any:
    """What the code answers, by itself; None where it failed, without a word."""
    with by_itself():
        return attempt(asked)


def attempt(asked: Callable[[], Any]) -> Any:
    """What the code answers, for callers who are by themselves already; None where it failed."""
    try:
        return asked()
    except KeyboardInterrupt:
        raise
    except BaseException:  # whatever it was is the records' secret
        return None


def within(seconds: float, function: Callable[..., Any], *given: Any) -> Any:
    """What a function of some module answers in a process of its own; None where it fails or is late.

    Function and arguments must be such that they can be sent to another process; what they send back is an
    array of numbers or None.
    """
    import multiprocessing

    known = multiprocessing.get_all_start_methods()
    context: Any = multiprocessing.get_context("forkserver" if "forkserver" in known else "spawn")
    if "forkserver" in known:
        context.set_forkserver_preload([function.__module__, "sklearn.linear_model"])
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_told, args=(sender, function, given), daemon=True)
    try:
        process.start()
        sender.close()
        found = receiver.recv() if receiver.poll(seconds) else None
    except EOFError:  # the process ended without an answer
        found = None
    finally:
        sender.close()
        receiver.close()
        if process.pid is not None:
            process.kill()
            process.join()
            process.close()
    return found if isinstance(found, np.ndarray) else None


def _told(sender: Connection, function: Callable[..., Any], given: tuple[Any, ...]) -> None:
    """In the other process: send what the function answers, and nothing else."""
    for stream in (1, 2):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
    sender.send(answer(lambda: function(*given)))
