"""What an entry of the catalogue says: of a kind of data, a method, a form of release, a kind of answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Role = Literal["method", "baseline"]

MEMORY = "memory"
HERE = (MEMORY, "duckdb")
"""Those of them that run in this process."""
SPARK = "spark"
ENGINES = (*HERE, SPARK)
"""Where records can be counted, the reference first. A kind names those of them that count its records."""


@dataclass(frozen=True)
class OptionInfo:
    """An option of `penstock query`: how a question that releases of a kind may answer is asked there.

    `question` is its name among those that a release declares, `name` the option without its dashes,
    `metavar` what is written behind it, and `many` says that this is a file of such questions. A `narrowed`
    one may be about the records that meet an EXPRESSION, and told apart by `--by` where that is an option.
    """

    question: str
    name: str
    metavar: str
    help: str
    many: bool = False
    narrowed: bool = False


@dataclass(frozen=True)
class UnitInfo:
    """Somebody or something whose presence can be protected, and how a report speaks of it.

    `name` is the word of the schema. A report says *one* `one`, and calls what a reader has of it `yours`,
    which *is* or *are* in the data and *has* or *have* contents (`plural`). `bounded` says that such a unit
    may have several records: the schema then names the column that tells units apart, and the most records
    that one contributes. `several` says that one person may have several such units, and `together` that the
    schema may protect a number of them at once (`at_most` without a column).
    """

    name: str
    yours: str
    one: str = ""
    plural: bool = False
    bounded: bool = False
    several: bool = False
    together: bool = False

    @property
    def called(self) -> str:
        """What one of them is called in a sentence."""
        return self.one or self.name


@dataclass(frozen=True)
class KindInfo:
    """A kind of data: its words, and where its room keeps what the rest of the house asks for.

    `words` are for messages and reports. `units` are those whose presence can be protected, the usual one
    first. `layout` is the block of the schema that says how columns make records (its key, and the place of
    its class), where the kind needs one. `data` is the sealed handle, `draft` what drafts do for this kind,
    `private_drafts` whether one can be paid for, `evaluation` compares a release with the records, and
    `audits` lists what tries to refute the kind's methods; both are missing where all methods of the kind are
    at home in other rooms. `engines` are where the records are counted, `options` how its releases are asked.
    Where `targets` says so, a schema may name the column that others will be asked to predict; where `maps`
    does, it may bring lines to draw on them; where `drops` does, records that lie elsewhere can be left out.
    Where there is `made_up`, it draws records that nobody has from a schema alone.

    A kind without a handle is `living`: its records are never opened, because they are not kept. They are
    fed, one after the other, to what remembers them privately (`SketchInfo`); the custodian writes the
    schema.
    """

    name: str
    words: str
    units: tuple[UnitInfo, ...]
    data: str | None = None
    draft: str | None = None
    evaluation: str | None = None
    audits: str | None = None
    made_up: str | None = None
    layout: tuple[str, str] | None = None
    private_drafts: bool = False
    targets: bool = False
    maps: bool = False
    drops: bool = False
    engines: tuple[str, ...] = (MEMORY,)
    options: tuple[OptionInfo, ...] = ()

    @property
    def living(self) -> bool:
        """Whether its records are fed, not opened."""
        return self.data is None

    @property
    def places(self) -> tuple[str, ...]:
        """Where everything stands that belongs to this kind."""
        stated = (self.data, self.draft, self.evaluation, self.audits, self.made_up, *(self.layout or ())[1:])
        return tuple(place for place in stated if place is not None)


@dataclass(frozen=True)
class MethodInfo:
    """What can be said of a method without loading it.

    `form` is the form of the release that it makes, `answer` the kind of answer that this is, `role`
    whether it is meant to be used or to be compared with, `default` whether it is chosen for its kind of
    data when nobody says which. An `approximate` one is pure, and spends a delta where it is given one. A
    method that is at home in another room than that of its kind brings its own `evaluation` and `audits`.
    """

    name: str
    kind: str
    where: str
    form: str
    summary: str
    guarantee: str = "pure epsilon"
    relations: tuple[str, ...] = ("add-remove",)
    approximate: bool = False
    answer: str = "synthetic data"
    role: Role = "method"
    default: bool = False
    evaluation: str | None = None
    audits: str | None = None

    @property
    def pure(self) -> bool:
        """Whether the method needs no delta."""
        return self.guarantee == "pure epsilon"

    @property
    def takes_delta(self) -> bool:
        """Whether the method has a use for a delta."""
        return self.approximate or not self.pure

    @property
    def places(self) -> tuple[str, ...]:
        """Where everything stands that belongs to this method."""
        return tuple(place for place in (self.where, self.evaluation, self.audits) if place is not None)


@dataclass(frozen=True)
class SketchInfo:
    """What can be said of a living release without loading it: fed with a stream, asked, and closed.

    `where` is its class, `unit` whose presence it protects, `relations` against which changes, and
    `questions` what it can be asked, each with the name of the number that belongs to the question, where one
    does. `deletes` says whether what was fed can be taken back without a trace.
    """

    name: str
    kind: str
    where: str
    summary: str
    unit: str
    relations: tuple[str, ...]
    questions: Mapping[str, str | None]
    deletes: bool = True
    guarantee: str = "pan-private, pure epsilon"
    role: Role = "method"
    default: bool = False


@dataclass(frozen=True)
class FormInfo:
    """A form of saved release: where its class stands, and the words that its model is written in.

    `keys` are those of model.json, `tables` the tables beside it with their columns, and `optional_tables`
    those behind them that a release has only where they were paid for; `optional_columns` may be absent
    likewise. Folders outlive programs, so under one number of the format these words never change: a model
    with other parts is another form.
    """

    name: str
    where: str
    keys: tuple[str, ...]
    tables: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    optional_tables: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    optional_columns: tuple[str, ...] = ()


@dataclass(frozen=True)
class AnswerInfo:
    """A kind of answer that a release may be, besides the kind of data that it is about.

    `words` say what it is, `of` turns words for the data into words for the answer, and `sampled` says
    whether rows can be drawn from it.
    """

    name: str
    words: str
    of: str = "{data}"
    sampled: bool = False
