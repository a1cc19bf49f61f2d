"""Transcript replay: the same outputs on a neighbour of the records, and exactly how much less likely.

A release is made of records D with a source that writes down every output of every mechanism. Then it is made
of a neighbour D' with a source that gives the same outputs again. Everything that leaves a method left it
through a mechanism, or nothing did: so

* the second run must ask for the same mechanisms, with the same amounts, labels, shapes and scales, in the
  same order, or a public decision depended on the records;
* whatever is published must be the same, byte for byte: model, receipt, parameters, schema, rows, files;
* the logarithm of P[outputs | D] / P[outputs | D'] is the privacy loss of this very transcript. It is the sum
  over the draws, each known exactly or to a hundred digits, and may not exceed epsilon: for each charge what
  the charge says, for draws that nobody paid for 0, and for all of them together the promise.

No event has to be guessed and nothing is estimated: one replay whose loss is above epsilon refutes the
guarantee. A replay that passes proves nothing about other records and outputs, which is why hostile ones are
searched for (`penstock.audit.hostile`). Randomness that is not private (post-processing, rows) is the same on
both sides by construction, and the random choice of the records that a user keeps is made with the same key.

Pure mechanisms bound the loss of every output. An approximate one lets single outputs lose more, if they are
rare: for an output o it implies P[o | D] <= e^epsilon P[o | D'] + delta, and that is checked. Gaussian noise
is paid in rho, and |f(D) - f(D')|^2 / (2 sigma^2), exactly, may not exceed the rho that was paid; nor may an
eighth of the square of the range of the losses of a choice that is paid in rho.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from zlib import crc32

from penstock import catalogue
from penstock.audit.transcript import Departure, Drawn, Recording, Replaying, Transcript
from penstock.contracts.plug import data_class, method_class
from penstock.errors import PenstockError
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.budgets.charges import Charge, Portion
from penstock.privacy.laws.additive import GaussianAround
from penstock.privacy.laws.choices import Tilted
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.randomness.logarithms import Between, Log
from penstock.releases.release import Release
from penstock.schema import Schema

if TYPE_CHECKING:
    import polars as pl

ORDER_KEY = b"the same on both sides"
ROWS = 20
ZERO = Log()

Records = Sequence[Sequence[tuple[Any, ...]]]
"""A database as its units, each with its records: one of them, or as many as a user has."""

Source = Callable[["pl.DataFrame"], tuple[Any, str | None]]
"""Puts records somewhere: the place, and the table where it is a database."""


@dataclass(frozen=True)
class Tampering:
    """Mistakes that can be made from outside a method; each is a step of a run that does something more."""

    schema: Callable[[Schema, Sequence[tuple[Any, ...]]], Schema] | None = None
    frame: Callable[[Schema, pl.DataFrame], pl.DataFrame] | None = None
    data: Callable[[Any], Any] | None = None
    method: Callable[[Any, Any], Any] | None = None
    budget: Callable[[Any, Budget], Budget] | None = None
    release: Callable[[Any, Release], Release] | None = None
    recording: type[Recording] = Recording
    replaying: type[Replaying] = Replaying


NONE = Tampering()


@dataclass(frozen=True)
class Trial:
    """One way to make a release: method, schema, parameters, engine, and the promise that is made.

    `source` puts the records where they are read from, such as a file of their own, and names the table in a
    database; without it they are opened as they are. The same ones are opened once.
    `whose` is the column that tells units of several rows apart where the schema's unit names none.
    """

    method: str
    schema: Schema
    parameters: Mapping[str, Any] = field(default_factory=dict)
    columns: Sequence[str] = ()
    types: Mapping[str, Any] = field(default_factory=dict)
    epsilon: Fraction = Fraction(1)
    delta: Fraction = Fraction(0)
    engine: str = catalogue.MEMORY
    tampering: Tampering = NONE
    source: Source | None = None
    whose: str | None = None

    def release(self, records: Records, source: Randomness) -> Release:
        """The release of some records, the way it is always made."""
        wrong = self.tampering
        info = catalogue.method(self.method)
        schema, frame = self.schema, self.frame(records)
        if wrong.schema is not None and records:  # nobody reads anything off no record
            schema = wrong.schema(schema, [record for unit in records for record in unit])
        if wrong.frame is not None:
            frame = wrong.frame(schema, frame)
        method = method_class(info)(**self.parameters)
        method.check(schema)
        data: Any = self._opened(frame, schema)
        if wrong.data is not None:
            data = wrong.data(data)
        if wrong.method is not None:
            method = wrong.method(data, method)
        whole = Budget(self.epsilon, self.delta, randomness=source)
        budget = whole if wrong.budget is None else wrong.budget(data, whole)
        data, budget = data.prepared(budget)
        made = method.fit(data, budget)
        return made if wrong.release is None else wrong.release(data, made)

    def _opened(self, frame: pl.DataFrame, schema: Schema) -> Any:
        here = self.source is None and self.engine == catalogue.MEMORY
        return (_in_memory if here else _elsewhere)(_Input.of(frame, schema), self.engine, self.source)

    def frame(self, records: Records) -> pl.DataFrame:
        """The records as a table, with a column that says whose they are where a unit has several."""
        import polars as pl

        names = list(self.columns or self.schema.names)
        column = self.schema.unit.column or self.whose
        types: dict[str, Any] = {name: self.types.get(name) for name in names}
        rows = [record for unit in records for record in unit]
        if column is not None and column not in names:
            types[column] = pl.Int64
            # They are named after their records, so that one more unit leaves all others their names.
            rows = [(*record, name) for name, unit in _named(records) for record in unit]
        return pl.DataFrame(rows, schema=types, orient="row")


@dataclass(frozen=True)
class _Input:
    """Records and their schema. The very same schema with equal records is opened once.

    Every release reads the records from their handle and changes nothing there, and most replays are of few
    records that others have, too.
    """

    types: tuple[tuple[str, Any], ...]
    values: str  # not the values themselves: true is 1 there, and 1 is 1.0
    number: int  # the schema's, for the same reason
    frame: pl.DataFrame = field(compare=False)
    schema: Schema = field(compare=False)  # keeps its number from being another's

    @classmethod
    def of(cls, frame: pl.DataFrame, schema: Schema) -> _Input:
        return cls(tuple(frame.schema.items()), repr(frame.rows()), id(schema), frame, schema)


def _open(found: _Input, engine: str, source: Source | None) -> Any:
    handle = data_class(catalogue.kind(found.schema.kind))
    place, table = (found.frame, None) if source is None else source(found.frame)
    return handle.open(place, found.schema, table=table, engine=engine, order_key=ORDER_KEY)


_in_memory = lru_cache(maxsize=1024)(_open)
_elsewhere = lru_cache(maxsize=96)(_open)  # fewer: each holds a database of some MiB


def _named(records: Records) -> Iterable[tuple[int, Sequence[tuple[Any, ...]]]]:
    seen: dict[str, int] = {}
    for unit in records:
        turn = seen.get(text := repr(unit), 0)
        seen[text] = turn + 1
        yield crc32(f"{turn} {text}".encode()), unit


@dataclass(frozen=True)
class Outcome:
    """What one replay showed: the loss of its transcript, and every way in which the two runs differed."""

    loss: Log = ZERO
    epsilon: Fraction = Fraction(1)
    charges: Sequence[tuple[Any, Fraction, Log]] = ()
    problems: Sequence[str] = ()
    refused: str | None = None

    @property
    def share(self) -> float:
        """The loss over epsilon, of all charges together or of the one where that is largest: 1 is right."""
        shares = [float(loss) / float(paid) for _, paid, loss in self.charges if paid]
        return max([float(self.loss) / float(self.epsilon), *shares], default=0.0)

    @property
    def precision(self) -> float:
        """How far the loss may be from the number that is shown."""
        return max((loss.width for _, _, loss in self.charges), default=0.0)


def replay(
    trial: Trial,
    first: Records,
    second: Records,
    seed: int = 0,
    *,
    folders: bool = False,
    rows: bool = True,
) -> Outcome:
    """Make a release of the first records, and replay it on the second.

    With `folders` both are saved, and all files compared; without, what is in them, of rows only a few.
    Without `rows`, none: they follow from the model, and can take longer than all the rest.
    """
    recorded, replayed = Transcript(), Transcript()
    source = trial.tampering.recording(Randomness.seeded(seed), recorded)
    try:
        one = trial.release(first, source)
    except PenstockError as refusal:
        if recorded.charges:
            return Outcome(epsilon=trial.epsilon, problems=(f"Refused after it was paid for: {refusal}",))
        return Outcome(epsilon=trial.epsilon, refused=str(refusal))
    except Departure as problem:
        return Outcome(epsilon=trial.epsilon, problems=(str(problem),))
    try:
        two = trial.release(second, trial.tampering.replaying(recorded, replayed))
    except Departure as problem:
        return Outcome(epsilon=trial.epsilon, problems=(str(problem),))
    except Exception as failure:
        words = f"{type(failure).__name__}: {failure}"
        return Outcome(epsilon=trial.epsilon, problems=(f"Only the neighbour is refused: {words}",))
    problems = _left_out(recorded, replayed)
    same = one.schema is two.schema  # then there is nothing to compare, and writing it takes long
    problems += _different(
        *(_saved(release) if folders else published(release, rows, not same) for release in (one, two))
    )
    charges, more = losses(recorded, replayed)
    if one.receipt.epsilon > trial.epsilon or one.receipt.delta > trial.delta:
        more.append(f"The receipt says {one.receipt.epsilon}, and epsilon {trial.epsilon} was promised.")
    total = Log()
    for _, _, loss in charges:
        total = total + loss
    pure = not any(drawn.law.approximate for drawn in recorded.draws)
    if (
        pure
        and not any(isinstance(charge, Portion) for charge, _, _ in charges)
        and total.exceeds(trial.epsilon)
    ):
        more.append(f"All draws together lose {float(total):.6g}, and epsilon {trial.epsilon} was promised.")
    return Outcome(total, trial.epsilon, charges, (*problems, *more))


def _left_out(recorded: Transcript, replayed: Transcript) -> list[str]:
    left = len(recorded.draws) - len(replayed.draws), len(recorded.charges) - len(replayed.charges)
    return [f"On the neighbour {left[0]} draws and {left[1]} charges are missing."] if any(left) else []


def losses(recorded: Transcript, replayed: Transcript) -> tuple[list[tuple[Any, Fraction, Log]], list[str]]:
    """For each charge of two transcripts what was paid and what was lost, and where the second is more."""
    together: dict[int | None, list[tuple[Drawn, Drawn]]] = {}
    for one, two in zip(recorded.draws, replayed.draws, strict=False):
        together.setdefault(one.charge, []).append((one, two))
    found: list[tuple[Any, Fraction, Log]] = []
    problems = []
    for number, draws in together.items():
        charge = None if number is None else recorded.charges[number]
        if isinstance(charge, Portion):
            rho = sum((_rho(one, two) for one, two in draws), Fraction(0))
            found.append((charge, charge.rho, Log(rho)))
            if rho > charge.rho:
                problems.append(f"'{charge.label}' paid rho {charge.rho}, and its noise costs {rho}.")
            continue
        loss, chance = _loss(draws)
        paid, slack = (charge.epsilon, charge.delta) if isinstance(charge, Charge) else (Fraction(0),) * 2
        found.append((charge, paid, loss))
        slack = slack if any(one.law.approximate for one, _ in draws) else Fraction(0)
        if loss.exceeds(paid) and not (slack and _rare(chance, loss, paid, slack)):
            who = f"'{charge.label}' paid {paid}" if isinstance(charge, Charge) else "Nobody paid"
            problems.append(f"{who}, and lost {float(loss):.6g}.")
    return found, problems


def _loss(draws: Sequence[tuple[Drawn, Drawn]]) -> tuple[Log, Callable[[], Log]]:
    """The loss of the draws of one charge, and how likely they were in the first run, if anybody asks."""
    loss = Log()
    hidden: dict[int, list[tuple[Drawn, Drawn]]] = {}
    for one, two in draws:
        if one.law.hidden is not None:
            hidden.setdefault(id(one.law.hidden), []).append((one, two))
        else:
            loss = loss + one.law.loss(one.output, two.law)
    for pairs in hidden.values():
        first, second = pairs[0][0].law.hidden, pairs[0][1].law.hidden
        assert first is not None
        assert second is not None
        loss = loss + first.log_probability([(one.law, one.output) for one, _ in pairs])
        loss = loss - second.log_probability([(two.law, one.output) for one, two in pairs])

    def chance() -> Log:
        total = Log()
        for one, _ in draws:
            total = total + one.law.log_probability(one.output)
        return total

    return loss, chance


def _rho(one: Drawn, two: Drawn) -> Fraction:
    if isinstance(one.law, GaussianAround) and isinstance(two.law, GaussianAround):
        return one.law.rho(two.law)
    if isinstance(one.law, Tilted) and isinstance(two.law, Tilted):
        return one.law.rho(two.law)
    raise Departure("What is paid in rho is Gaussian noise, or a choice by the exponential mechanism.")


def _rare(chance: Callable[[], Log], loss: Log, epsilon: Fraction, delta: Fraction) -> bool:
    """Whether P[o | D] - e^epsilon P[o | D'] can be at most delta."""
    known = chance()
    likely = Between.exp(known.exact + Fraction(known.low))
    # P' = P e^-loss; an infinite loss means that P' is 0.
    other = (
        0.0 if loss.low.is_infinite() else float(Between.exp(epsilon - loss.exact - Fraction(loss.low)).high)
    )
    return float(likely.low) * (1 - other) <= float(delta)


def published(release: Release, rows: bool = False, schema: bool = True) -> dict[str, bytes]:
    """What the files of a release say, without writing them."""
    model = release.model()
    found = {
        "receipt": json.dumps(release.receipt.to_dict()),
        "parameters": json.dumps(dict(release.parameters), default=str),
        "schema": release.schema.to_yaml() if schema else "",
        "model": json.dumps(model.json),
        "tables": " ".join(model.tables),
    }
    files = {name: text.encode() for name, text in found.items()}
    for name, table in model.tables.items():
        files[f"table {name}"] = f"{table.schema} {table.rows()}".encode()
    if rows and release.can_sample:
        try:
            files["rows"] = release.sample(ROWS, seed=0).write_json().encode()
        except PenstockError as refusal:
            files["rows"] = str(refusal).encode()
    return files


def _saved(release: Release) -> dict[str, bytes]:
    """Every file of the release's folder, in the folder's order."""
    with TemporaryDirectory() as place:
        folder = release.save(Path(place) / "release")
        contents = json.loads((folder / "datapackage.json").read_bytes())
        listed = [resource["path"] for resource in contents["resources"]]
        return {name: (folder / name).read_bytes() for name in ["datapackage.json", *listed]}


def _different(one: dict[str, bytes], two: dict[str, bytes]) -> list[str]:
    if list(one) != list(two):
        return [f"Published is {', '.join(one)}, and on the neighbour {', '.join(two)}."]
    return [f"What is published differs: {name}." for name in one if one[name] != two[name]]


@dataclass(frozen=True)
class Replays:
    """Many replays together: how many, the largest loss over epsilon, and what went wrong."""

    number: int = 0
    refused: int = 0
    share: float = 0.0
    precision: float = 0.0
    problems: tuple[str, ...] = ()

    def __add__(self, other: Replays) -> Replays:
        return Replays(
            self.number + other.number,
            self.refused + other.refused,
            max(self.share, other.share),
            max(self.precision, other.precision),
            (*self.problems, *other.problems),
        )

    @classmethod
    def of(cls, outcome: Outcome, where: str) -> Replays:
        if outcome.refused is not None:
            return cls(refused=1)
        problems = tuple(f"{where}: {problem}" for problem in outcome.problems)
        share = inf if outcome.problems and not outcome.charges else outcome.share
        return cls(1, 0, share, outcome.precision, problems)
