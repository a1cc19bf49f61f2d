"""Sources of randomness that write down what is drawn, and that give the same again.

Both stand where a budget keeps its randomness. `Recording` draws as usual and notes every charge and every
output. `Replaying` draws nothing: it answers each draw with the output that was noted, provided that the run
asks for the same thing in the same order, and keeps both laws, from which the loss follows. A run that asks
for anything else, or for bits outside a law, has shown that a public decision depended on the records, or
that randomness met them unpaid: `Departure`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, TypeVar

from penstock.privacy.randomness.generator import Law, Randomness

O = TypeVar("O")  # noqa: E741  # an output


class Departure(Exception):  # noqa: N818  # it is no error of the program, it is what an audit looks for
    """A run did something that the run on a neighbour of its records did not, or could not have."""


@dataclass(frozen=True)
class Drawn:
    """One draw: who paid, from which branch of the stream, around which values, and what came out."""

    charge: int | None  # number of the charge, None for chance that nobody paid for
    branch: tuple[str, ...]
    law: Law[Any]
    public: Hashable
    output: Any

    @property
    def words(self) -> str:
        paid = "nobody paid for" if self.charge is None else f"of charge {self.charge + 1}"
        return f"a draw {paid}, {str(self.public)[:120]}"


@dataclass
class Transcript:
    """Everything that was paid and drawn, in order."""

    charges: list[Any] = field(default_factory=list)
    draws: list[Drawn] = field(default_factory=list)
    inside: bool = False  # whether a law is being drawn from, and may ask for bits

    @contextmanager
    def drawing(self) -> Iterator[None]:
        self.inside = True
        try:
            yield
        finally:
            self.inside = False


class _Watched(Randomness):
    """A source that knows which charge pays and which branch of the stream it is."""

    __slots__ = ("_branch", "_charge", "_transcript")

    def __init__(self, transcript: Transcript, charge: int | None, branch: tuple[str, ...]) -> None:
        super().__init__(b"watched")
        self._transcript, self._charge, self._branch = transcript, charge, branch

    def take(self, count: int) -> bytearray:
        raise Departure(
            "Random bits were taken without a law, so that nobody can say how likely the outcome was; draw "
            "them with 'source.draw(law)'."
        )


class Recording(_Watched):
    """Draws from another source, and writes down what came out."""

    __slots__ = ("_inner",)

    def __init__(
        self,
        inner: Randomness,
        transcript: Transcript,
        charge: int | None = None,
        branch: tuple[str, ...] = (),
    ) -> None:
        super().__init__(transcript, charge, branch)
        self._inner = inner

    def take(self, count: int) -> bytearray:
        return self._inner.take(count) if self._transcript.inside else super().take(count)

    def charged(self, charge: object) -> Randomness:
        self._transcript.charges.append(charge)
        return type(self)(self._inner, self._transcript, len(self._transcript.charges) - 1, self._branch)

    def spawn(self, label: str) -> Randomness:
        return type(self)(self._inner.spawn(label), self._transcript, self._charge, (*self._branch, label))

    def draw(self, law: Law[O]) -> O:
        if self._transcript.inside:
            return law.draw(self)
        with self._transcript.drawing():
            output = law.draw(self)
        # A copy: whoever gets the output may go on working in it.
        self._transcript.draws.append(Drawn(self._charge, self._branch, law, law.public, deepcopy(output)))
        return output


class Replaying(_Watched):
    """Gives the outputs of a transcript again, one after the other, and notes the laws that they met."""

    __slots__ = ("_recorded",)

    def __init__(
        self,
        recorded: Transcript,
        transcript: Transcript,
        charge: int | None = None,
        branch: tuple[str, ...] = (),
    ) -> None:
        super().__init__(transcript, charge, branch)
        self._recorded = recorded

    def charged(self, charge: object) -> Randomness:
        place = len(self._transcript.charges)
        before = self._recorded.charges[place] if place < len(self._recorded.charges) else None
        if charge != before:
            raise Departure(f"Charge {place + 1} was {before}, and on the neighbour it is {charge}.")
        self._transcript.charges.append(charge)
        return type(self)(self._recorded, self._transcript, place, self._branch)

    def spawn(self, label: str) -> Randomness:
        return type(self)(self._recorded, self._transcript, self._charge, (*self._branch, label))

    def draw(self, law: Law[O]) -> O:
        place = len(self._transcript.draws)
        asked = Drawn(self._charge, self._branch, law, law.public, None)
        before = self._recorded.draws[place] if place < len(self._recorded.draws) else None
        if before is None or (asked.charge, asked.branch, asked.public) != (
            before.charge,
            before.branch,
            before.public,
        ):
            was = "nothing" if before is None else before.words
            raise Departure(f"Draw {place + 1} was {was}, and on the neighbour it is {asked.words}.")
        self._transcript.draws.append(Drawn(asked.charge, asked.branch, law, asked.public, before.output))
        output: O = deepcopy(before.output)
        return output
