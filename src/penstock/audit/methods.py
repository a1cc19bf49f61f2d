"""Whole methods as audit targets: `fit` on tiny inputs, everything that the release would publish compared.

The runner opens the records as a custodian's data would be, fits the method with a fresh budget each time
and turns the release's model into one row of numbers. Nothing about the method is assumed, so a leak
through a count, a size, a domain or a branch shows up in the same way. A room lists a `MethodAudit` for each
of its methods; the broken copies come with it (`sabotage`), because the most common mistakes can be made from
outside: a data handle that states too small a sensitivity, a budget that is spent twice, a schema read off
the records, a seed that never changes.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from penstock import catalogue
from penstock.audit.hostile import Ground, described
from penstock.audit.neighbours import Pair, small_pairs
from penstock.audit.sabotage import understated
from penstock.audit.target import Kind, Promise, Target
from penstock.contracts.plug import data_class, method_class
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.randomness.generator import Randomness
from penstock.releases.release import Release
from penstock.schema import Schema

CRUDE = ("forgotten-noise",)
SUBTLE = ("halved-sensitivity", "forgotten-noise", "budget-used-twice")
"""Broken copies that few runs can refute: where a release is coarse, and where it is a plain count."""

VISIBLE = 4
"""A seed whose noise hides the one record of no audit: a count that it makes negative would not show it."""


@dataclass(frozen=True)
class MethodAudit:
    """How to audit a method: a tiny schema, the records that may occur, the parameters that matter.

    `universe` holds the possible records as tuples; all databases of up to `largest` of them are tried.
    `pairs` replaces that where a unit is more than a record. `columns` names the columns where there are
    more than the schema's fields, such as the one that identifies a user. `read_off` gives the schema that
    somebody would read off the records, for a broken copy that does so. `copies` names the broken copies that
    come with it (None: all of them for the first configuration of a method).
    """

    method: str
    schema: str
    universe: Sequence[tuple[Any, ...]]
    largest: int = 2
    parameters: Mapping[str, Any] = field(default_factory=dict)
    epsilon: Fraction = Fraction(1)
    delta: Fraction = Fraction(0)
    label: str = ""
    pairs: Sequence[Pair] = ()
    effort: float = 0.02
    columns: Sequence[str] = ()
    read_off: Callable[[Schema, Sequence[tuple[Any, ...]]], Schema] | None = None
    copies: Sequence[str] | None = None

    @property
    def name(self) -> str:
        return f"{self.method}{f'-{self.label}' if self.label else ''}"

    @property
    def schema_kind(self) -> str:
        return described(self.schema).kind

    @property
    def promise(self) -> Promise:
        return Promise(self.epsilon, self.delta, described(self.schema).relation)

    def target(self) -> Target:
        """The method as it is shipped."""
        info = catalogue.method(self.method)
        return Target(
            self.name,
            Kind.SHIPPED,
            self.promise,
            info.summary,
            self._pairs(),
            run=self.run,
            effort=self.effort,
        )

    def sabotaged(self) -> Iterator[Target]:
        """The same method with one mistake each; every one of these must be refuted."""
        mistakes: list[tuple[str, str, Callable[..., Any]]] = [
            (
                "halved-sensitivity",
                "the data handle states half of every sensitivity",
                partial(self.run, lens=partial(understated, factor=Fraction(1, 2))),
            ),
            (
                "forgotten-noise",
                "the data handle states that next to nothing can change",
                partial(self.run, lens=partial(understated, factor=Fraction(1, 20))),
            ),
            (
                "budget-used-twice",
                "twice the budget is spent, and half of it written down",
                partial(self.run, spends=2),
            ),
            ("fixed-seed", "the noise is the same in every release", partial(self.run, same_seed=True)),
        ]
        if self.read_off is not None:
            mistakes.append(
                (
                    "domain-from-data",
                    "the schema is read off the records",
                    partial(self.run, reads_domain=True),
                )
            )
        shipped = self.target()
        few = shipped.pairs[1 :: max(1, len(shipped.pairs) // 4)] or shipped.pairs
        for mistake, summary, run in mistakes:
            if self.copies is not None and mistake not in self.copies:
                continue
            yield replace(
                shipped,
                name=f"broken-{self.name}-{mistake}",
                kind=Kind.BROKEN,
                pairs=few,
                run=run,
                summary=f"{self.method}: {summary}",
            )

    def run(
        self,
        records: Sequence[tuple[Any, ...]],
        randomness: Randomness,
        n: int,
        *,
        lens: Callable[[Any], Any] | None = None,
        spends: int = 1,
        same_seed: bool = False,
        reads_domain: bool = False,
    ) -> list[NDArray[np.float64]]:
        """n releases of the same records, each as a row of numbers."""
        import polars as pl

        info = catalogue.method(self.method)
        method = method_class(info)(**self.parameters)
        schema = described(self.schema)
        columns = list(self.columns or schema.names)
        frame = pl.DataFrame(list(records), schema=columns, orient="row")
        if reads_domain and self.read_off is not None:
            schema = self.read_off(schema, records)
        opened = None
        rows: list[NDArray[np.float64]] = []
        for _ in range(n):
            # Users are bounded by a random sample when the records are opened, which is part of the method.
            if opened is None or schema.unit.column is not None:
                chance = None if schema.unit.column is None else bytes(randomness.take(32))
                opened = data_class(catalogue.kind(info.kind)).open(frame, schema, order_key=chance)
            data = lens(opened) if lens is not None else opened
            source = Randomness.seeded(VISIBLE) if same_seed else randomness
            budget = Budget(self.epsilon * spends, self.delta, randomness=source)
            data, budget = data.prepared(budget)
            rows.append(numbers_of(method.fit(data, budget)))
        return rows

    def _pairs(self) -> Sequence[Pair]:
        if self.pairs:
            return self.pairs
        # The copies that read a domain off the records need one, so the smallest database has one; under
        # 'replace' all have the public size.
        size = described(self.schema).size
        smallest, largest = (1, self.largest) if size is None else (size, size)
        return small_pairs(self.universe, largest, self.promise.relation, smallest=smallest, most=24)


def numbers_of(release: Release) -> NDArray[np.float64]:
    """Everything that a release publishes, as numbers: its model, and a fingerprint of all its words.

    Texts and the receipt become checksums: if they follow the records, the audit sees them change.
    """
    model = release.model()
    numbers: list[float] = []
    words = [
        json.dumps(release.receipt.to_dict(), sort_keys=True),
        json.dumps(dict(release.parameters), sort_keys=True, default=str),
        _written(release.schema),
    ]
    _flatten(model.json, numbers, words)
    for name in sorted(model.tables):
        frame = model.tables[name]
        words.append(f"{name} {frame.columns} {frame.height}")
        for column in frame.columns:
            if frame[column].dtype.is_numeric():
                numbers += [float(value) for value in frame[column].to_list()]
            else:
                words.append(str(frame[column].to_list()))
    return np.array([float(crc32("\n".join(words).encode())), *numbers])


@lru_cache(maxsize=16)
def _written(schema: Schema) -> str:
    return schema.to_yaml()


def _flatten(value: Any, numbers: list[float], words: list[str]) -> None:
    if isinstance(value, Mapping):
        for key in value:
            words.append(str(key))
            _flatten(value[key], numbers, words)
    elif isinstance(value, list | tuple):
        words.append(str(len(value)))
        for item in value:
            _flatten(item, numbers, words)
    elif isinstance(value, bool | int | float):
        numbers.append(float(value))
    else:
        words.append(str(value))


@dataclass(frozen=True)
class Audits:
    """What a room offers to the audit: its methods, whatever in them has a proof of its own, and grounds.

    `grounds` are where replays of all methods of a kind find hostile inputs (`penstock.audit.hostile`).
    `mistakes` are the rows of learners: by learner and mistake (`penstock.audit.mistakes`) the broken copy
    that makes it, or why none can.
    """

    methods: tuple[MethodAudit, ...] = ()
    proofs: Callable[[], Sequence[Target]] = tuple
    grounds: tuple[Ground, ...] = ()
    mistakes: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def targets(self) -> tuple[Target, ...]:
        """The proofs, then each method, followed by its sabotaged copies (of its first configuration)."""
        found: list[Target] = list(self.proofs())
        copied: set[str] = set()
        for audit in self.methods:
            found.append(audit.target())
            if audit.copies is not None or audit.method not in copied:
                found += audit.sabotaged()
                copied.add(audit.method)
        return tuple(found)
