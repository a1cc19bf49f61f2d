"""Whole methods as audit targets: `fit` on tiny inputs, everything that the release would publish compared.

The runner opens the records as a custodian's data would be, fits the method with a fresh budget each time
and turns the release's model into one row of numbers. Nothing about the method is assumed, so a leak
through a count, a size, a domain or a branch shows up in the same way. A method is added to the audit by
one `MethodAudit`; its broken copies come with it (`sabotage`), because the most common mistakes can be
made from outside: a data handle that states too small a sensitivity, a budget that is spent twice, a
schema read off the records, a seed that never changes.
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

from penstock import methods
from penstock.audit.neighbours import Pair, small_pairs
from penstock.audit.sabotage import bounding_box, seen_categories, seen_edges, seen_symbols, understated
from penstock.audit.target import Claim, Kind, Target
from penstock.kinds.table.adaptive_bins import prepared
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.randomness.generator import Randomness
from penstock.releases.release import Release
from penstock.schema import Schema


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
    def claim(self) -> Claim:
        return Claim(self.epsilon, self.delta, Schema.from_yaml(self.schema).relation)

    def target(self) -> Target:
        """The method as it is shipped."""
        info = methods.find(self.method)
        return Target(
            self.name, Kind.SHIPPED, self.claim, info.summary, self._pairs(), run=self.run, effort=self.effort
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

        info = methods.find(self.method)
        method = info.load()(**self.parameters)
        schema = Schema.from_yaml(self.schema)
        columns = list(self.columns or schema.names)
        frame = pl.DataFrame(list(records), schema=columns, orient="row")
        if reads_domain and self.read_off is not None:
            schema = self.read_off(schema, records)
        opened = None
        rows: list[NDArray[np.float64]] = []
        for _ in range(n):
            # Users are bounded by a random sample when the records are opened, which is part of the method.
            if opened is None or schema.unit.column is not None:
                chance = {} if schema.unit.column is None else {"order_key": bytes(randomness.take(32))}
                opened = info.load_data().open(frame, schema, **chance)
            data = lens(opened) if lens is not None else opened
            source = Randomness.seeded(0) if same_seed else randomness
            budget = Budget(self.epsilon * spends, self.delta, randomness=source)
            if schema.kind == "table":
                data, budget = prepared(data, budget)
            rows.append(numbers_of(method.fit(data, budget)))
        return rows

    def _pairs(self) -> Sequence[Pair]:
        if self.pairs:
            return self.pairs
        # An input without any record is refused when it is opened, so the smallest database has one; under
        # 'replace' all have the public size.
        size = Schema.from_yaml(self.schema).size
        smallest, largest = (1, self.largest) if size is None else (size, size)
        return small_pairs(self.universe, largest, self.claim.relation, smallest=smallest, most=24)


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


_COLOURS = """
fields:
  - {name: colour, constraints: {enum: [red, green, blue]}}
"""
_COLOUR_RECORDS = (("red",), ("green",), ("blue",))

_SIZES = _COLOURS + "  - {name: large, constraints: {enum: ['yes', 'no']}}\n"
_SIZE_RECORDS = (("red", "yes"), ("green", "yes"), ("green", "no"), ("blue", "no"))

_USERS = """
unit: {protects: user, column: person, at_most: 2}
fields:
  - {name: colour, constraints: {enum: [red, green, blue]}}
"""

_SQUARE = """
kind: points
fields:
  - {name: x, type: number, constraints: {minimum: 0, maximum: 1}}
  - {name: y, type: number, constraints: {minimum: 0, maximum: 1}}
"""

_CORNERS = ((0.1, 0.1), (0.1, 0.9), (0.9, 0.9))

_LINE = _SQUARE.replace("  - {name: y, type: number, constraints: {minimum: 0, maximum: 1}}\n", "")
_ENDS = ((0.1,), (0.9,))
_CRUDE = ("forgotten-noise",)
_SUBTLE = ("halved-sensitivity", "forgotten-noise", "budget-used-twice")

_AGES = """
fields:
  - {name: age, type: integer, constraints: {minimum: 0, maximum: 15}, bins: {adaptive: true, most: 4}}
"""
_AGE_RECORDS = ((3,), (4,), (12,))

_SHALLOW = {"tree_frac": "1/10", "deepest": 0}  # so that the counts, and mistakes about them, weigh most

_OTHERS = (("red", 1), ("green", 2))
_MANY = Pair(_OTHERS, (*_OTHERS, *(("blue", 3),) * 5), "two users | a third with five blue records")


_BASKETS = """
kind: itemsets
items: {item: basket, largest: 1}
fields:
  - {name: basket, constraints: {enum: [a, b, c]}}
"""
_LARGE_BASKETS = _BASKETS.replace(", largest: 1", "")
_SINGLES = (("a",), ("b",), ("c",))
_SETS = (("a",), ("a b",), ("a b c",), ("",))
_EVERYTHING = {"threshold": -1000}

_VISITS = """
kind: sequences
sequence: {symbol: pages, longest: 1}
fields:
  - {name: pages, constraints: {enum: [a, b]}}
"""
_LONG_VISITS = _VISITS.replace("longest: 1", "longest: 3")
_FIRST_PAGES = (("a",), ("b",))
_PAGES = (("a",), ("a b",), ("b b a",), ("",))
_ONE_MORE = Pair((("",),), (("",), ("a",)), "nobody's page | one a")


AUDITS: tuple[MethodAudit, ...] = (
    MethodAudit("independent", _COLOURS, _COLOUR_RECORDS, read_off=seen_categories),
    MethodAudit("independent", _SIZES, _SIZE_RECORDS, label="two-columns"),
    MethodAudit("independent", f"relation: replace\nsize: 2\n{_COLOURS}", _COLOUR_RECORDS, label="replace"),
    MethodAudit("independent", _USERS, (), label="users", pairs=(_MANY,), columns=("colour", "person")),
    MethodAudit("confluence", _COLOURS, _COLOUR_RECORDS, read_off=seen_categories),
    MethodAudit("confluence", _SIZES, _SIZE_RECORDS, label="two-columns"),
    MethodAudit("confluence", f"relation: replace\nsize: 2\n{_SIZES}", _SIZE_RECORDS, label="replace"),
    MethodAudit("privbayes", _COLOURS, _COLOUR_RECORDS, read_off=seen_categories),
    MethodAudit("privbayes", _SIZES, _SIZE_RECORDS, label="two-columns"),
    MethodAudit(
        "privbayes",
        f"relation: replace\nsize: 2\n{_SIZES}",
        _SIZE_RECORDS,
        parameters={"preset": "journal"},
        label="journal",
    ),
    # baselines for tables
    MethodAudit("laplace-marginals", _COLOURS, _COLOUR_RECORDS, parameters={"way": 1}, copies=_SUBTLE),
    MethodAudit("laplace-marginals", _SIZES, _SIZE_RECORDS, label="two-columns", copies=()),
    MethodAudit("fourier-marginals", _COLOURS, _COLOUR_RECORDS, parameters={"way": 1}, copies=_CRUDE),
    MethodAudit("fourier-marginals", _SIZES, _SIZE_RECORDS, label="two-columns", copies=()),
    MethodAudit("contingency", _COLOURS, _COLOUR_RECORDS, copies=_SUBTLE),
    MethodAudit(
        "contingency", f"relation: replace\nsize: 2\n{_SIZES}", _SIZE_RECORDS, label="replace", copies=()
    ),
    MethodAudit("mwem", _SIZES, _SIZE_RECORDS, parameters={"way": 2, "rounds": 2}, copies=()),
    MethodAudit(
        "mwem",
        f"relation: replace\nsize: 2\n{_COLOURS}",
        _COLOUR_RECORDS,
        parameters={"way": 1, "rounds": 1},
        label="replace",
        copies=_CRUDE,
    ),
    MethodAudit("uniform", _COLOURS, _COLOUR_RECORDS, copies=_SUBTLE),
    MethodAudit("uniform-grid", _SQUARE, _CORNERS, parameters={"side": 2}, read_off=bounding_box),
    MethodAudit("uniform-grid", _SQUARE, _CORNERS, label="adaptive-side", largest=3),
    MethodAudit("privtree", _SQUARE, _CORNERS, parameters=_SHALLOW, read_off=bounding_box),
    MethodAudit("privtree", _SQUARE, _CORNERS, label="deep", largest=3),
    MethodAudit("select-items", _BASKETS, _SINGLES, parameters=_EVERYTHING, read_off=seen_categories),
    MethodAudit("select-items", _LARGE_BASKETS, _SETS, parameters={"c": 2}, label="top"),
    MethodAudit(
        "select-items", _LARGE_BASKETS, _SETS, parameters={"c": 1, "counts": "1/2"}, label="top-and-counts"
    ),
    MethodAudit(
        "select-items",
        _LARGE_BASKETS,
        _SETS,
        parameters={"c": 1, "threshold": 1, "mechanism": "sparse-vector"},
        label="threshold",
    ),
    MethodAudit(
        "privtree-sequences",
        _VISITS,
        _FIRST_PAGES,
        parameters={"tree_share": "1/10", "deepest": 0},
        read_off=seen_symbols,
    ),
    MethodAudit("privtree-sequences", _LONG_VISITS, _PAGES, parameters={"tree_share": "1/2"}, label="deep"),
    MethodAudit(
        "privtree-sequences", _LONG_VISITS, _PAGES, parameters={"choose_longest": True}, label="choosing"
    ),
    MethodAudit("n-gram", _VISITS, _FIRST_PAGES, parameters={"longest_gram": 1}, read_off=seen_symbols),
    MethodAudit("n-gram", _LONG_VISITS, _PAGES, label="deep"),
    MethodAudit(
        "top-strings", _VISITS, (), parameters={"many": 1}, pairs=(_ONE_MORE,), epsilon=Fraction(3, 2)
    ),
    MethodAudit("top-strings", _LONG_VISITS, _PAGES, parameters={"many": 3}, label="several"),
    MethodAudit(
        "independent",
        _AGES,
        _AGE_RECORDS,
        label="adaptive-bins",
        effort=0.01,
        read_off=seen_edges,
        copies=("domain-from-data",),
    ),
    MethodAudit("adaptive-grid", _SQUARE, _CORNERS, effort=0.01, copies=_CRUDE),
    MethodAudit("hierarchy", _LINE, _ENDS, parameters={"fan": 2, "height": 1}, copies=_SUBTLE),
    MethodAudit("hierarchy", _LINE, _ENDS, parameters={"fan": 2, "height": 2}, label="two-levels", copies=()),
    MethodAudit("privelet", _LINE, _ENDS, parameters={"bits": 2, "hybrid": False}, copies=_CRUDE),
    MethodAudit("simple-tree", _LINE, _ENDS, parameters={"height": 1}, copies=_SUBTLE),
    MethodAudit("simple-tree", _LINE, _ENDS, parameters={"height": 3}, label="deep", copies=()),
    MethodAudit(
        "dawa", _LINE, _ENDS, parameters={"bits": 1, "stretches": "1/10"}, effort=0.01, copies=_CRUDE
    ),
    MethodAudit(
        "dawa",
        _LINE,
        _ENDS,
        parameters={"bits": 2, "stretches": "1/2"},
        label="merging",
        effort=0.01,
        copies=(),
    ),
    MethodAudit(
        "select-categories", _COLOURS, _COLOUR_RECORDS, parameters=_EVERYTHING, read_off=seen_categories
    ),
)


def targets() -> tuple[Target, ...]:
    """Each shipped method, followed by its sabotaged copies (of the first configuration of a method)."""
    found: list[Target] = []
    copied: set[str] = set()
    for audit in AUDITS:
        found.append(audit.target())
        if audit.copies is not None or audit.method not in copied:
            found += audit.sabotaged()
            copied.add(audit.method)
    return tuple(found)
