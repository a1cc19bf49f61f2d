"""Releases of item sets: synthetic sets, counts of sets of items, frequent ones, rules, sizes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel
from pydantic import Field as Range

from penstock.errors import QueryError, ReleaseError
from penstock.kinds.itemsets import pictures
from penstock.kinds.itemsets.layout import ItemSetLayout
from penstock.kinds.itemsets.mining import ItemSet, Rule, frequent, rules, supports_of
from penstock.kinds.itemsets.weighted import Numbers, WeightedSets
from penstock.kinds.itemsets.writing import Text, laid_out, parse, universe_of
from penstock.releases import Answer, Manifest, Model, Question, Release, Written
from penstock.releases.answer import contributions
from penstock.releases.batch import answered
from penstock.report.picture import Picture
from penstock.schema import Codec, Schema

if TYPE_CHECKING:
    import polars as pl

MOST_LISTED = 100_000
MOST_ITEMS = 50_000_000
LARGEST_COUNT = 1 << 62
PRUNED = (
    "Sets that are rare were left out and others may be there by chance, so that nobody knows how far this "
    "number is from the truth; for rare sets it is mostly too small."
)
MODELLED = (
    "The number comes from synthetic sets that agree with noisy counts as well as they can; where sets of "
    "items are rare nobody knows how far it is from the truth."
)


def whole(text: str, what: str) -> int:
    """How many to list, as somebody wrote it."""
    try:
        return int(text)
    except ValueError:
        raise QueryError(f"'{text}' is not a whole number; write how many {what} to list.") from None


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ItemSetsRelease(Release):
    """A release that knows weighted sets: all that can be asked follows from these."""

    kinds: ClassVar[tuple[str, ...]] = ("itemsets",)
    answer: ClassVar[str] = "synthetic data"

    @property
    @abstractmethod
    def synthetic(self) -> WeightedSets:
        """The sets with at least one item, and how often each occurs."""

    @property
    @abstractmethod
    def number(self) -> Answer:
        """The estimated number of sets."""

    @property
    @abstractmethod
    def without_items(self) -> int:
        """The estimated number of sets without an item."""

    @cached_property
    def codec(self) -> Codec:
        """The public domain of the items."""
        return self.schema.codec(ItemSetLayout.of(self.schema).item)

    @cached_property
    def universe(self) -> tuple[str, ...]:
        return self.schema.field(ItemSetLayout.of(self.schema).item).labels

    def written(self, codes: Sequence[int]) -> str:
        """Some items as questions write them."""
        words = [self.universe[code] for code in codes]
        return ",".join(f"'{word}'" if "," in word or word != word.strip() else word for word in words)

    @property
    def reason(self) -> str:
        """Why counts have no error bar."""
        return MODELLED

    def count(self, text: Text) -> Answer:
        """How many sets hold all of some items, written with commas between them."""
        return self.estimate(parse(text, self.universe))

    def estimate(self, items: Sequence[int]) -> Answer:
        """The number of sets that hold all of these items, and what it rests on."""
        caveats = (self.reason, *contributions(self.schema))
        return Answer(float(self.synthetic.support(items)), None, "sets", "model", caveats)

    def estimates(self, asked: Sequence[Sequence[int]]) -> NDArray[np.float64]:
        """The same numbers for many sets of items at once."""
        return supports_of(self.synthetic, len(self.universe), asked).astype(np.float64)

    def ask(self, expression: str) -> Answer:
        """The number of sets that hold items such as ``milk,bread``."""
        return self.count(expression)

    def example(self) -> str | None:
        return self.written(range(min(2, len(self.universe))))

    def questions(self) -> Mapping[str, Question]:
        return {
            "count": Question(
                "sets that hold some items are counted", self.count, self._count_all, self.example()
            ),
            "top": Question(
                "the most frequent sets of items are listed",
                lambda text: self.top(whole(text, "sets")),
                example="3",
            ),
            "rules": Question(
                "what goes with what is listed", lambda text: self.rules(whole(text, "rules")), example="3"
            ),
            "sizes": Question(
                "how many sets have each size is listed",
                lambda text: self.sizes(whole(text, "sizes")),
                example="5",
            ),
            "compact": Question(
                "every different synthetic set is written to a file", self._write_compact, example="sets.csv"
            ),
            **self.in_sql(),
        }

    def _count_all(self, path: str) -> pl.DataFrame:
        """The sets of items of a file with their counts; a first line 'items' may be an item."""
        return answered(path, "items", self.count, named="items" not in self.universe)

    def frequent(
        self, many: int, *, smallest: int = 1, largest: int | None = None
    ) -> list[tuple[ItemSet, int]]:
        """The sets of items that most sets hold, by their codes, with their counts."""
        return frequent(self.synthetic, len(self.universe), many, smallest=smallest, largest=largest)

    def mined(self, many: int) -> list[Rule]:
        """So many rules of what goes with what, by the codes of the items."""
        total = max(1, self.synthetic.total + self.without_items)
        return rules(self.synthetic, len(self.universe), total, many)

    def top(self, many: int = 20, *, smallest: int = 1) -> pl.DataFrame:
        """The sets of items that most sets hold: columns items, count.

        `smallest` leaves out sets of fewer items. Picking the largest of many noisy numbers prefers those
        that noise has raised, so none of them has an error bar.
        """
        import polars as pl

        found = self.frequent(_listed(many), smallest=smallest)
        return pl.DataFrame(
            {"items": [self.written(codes) for codes, _ in found], "count": [count for _, count in found]},
            schema={"items": pl.String, "count": pl.Int64},
        )

    def rules(self, many: int = 20) -> pl.DataFrame:
        """What goes with what: columns given, then, support, confidence, lift.

        Of the sets that hold the items `given`, the share `confidence` holds `then` as well; `lift` is how
        many times the share of `then` among all sets that is.
        """
        import polars as pl

        found = self.mined(_listed(many))
        return pl.DataFrame(
            {
                "given": [self.written(rule.given) for rule in found],
                "then": [self.written([rule.then]) for rule in found],
                "support": [rule.support for rule in found],
                "confidence": [rule.confidence for rule in found],
                "lift": [rule.lift for rule in found],
            },
            schema={
                "given": pl.String,
                "then": pl.String,
                "support": pl.Int64,
                "confidence": pl.Float64,
                "lift": pl.Float64,
            },
        )

    def sizes(self, many: int | None = None) -> pl.DataFrame:
        """How many sets have each number of items, up to so many: columns size, count."""
        import polars as pl

        counts = self.synthetic.of_sizes()
        counts[0] += self.without_items
        listed = len(counts) if many is None else min(_listed(many) + 1, len(counts))
        return pl.DataFrame({"size": np.arange(listed), "count": counts[:listed]})

    def compact(self) -> pl.DataFrame:
        """Every different synthetic set once, with how often it occurs: columns items, count."""
        import polars as pl

        texts = [
            self.written(self.synthetic.items[begin : begin + size].tolist())
            for begin, size in zip(self.synthetic.begins.tolist(), self.synthetic.sizes.tolist(), strict=True)
        ]
        return pl.DataFrame(
            {"items": texts, "count": self.synthetic.weights}, schema={"items": pl.String, "count": pl.Int64}
        )

    def _write_compact(self, path: str) -> Written:
        """A CSV file of all different synthetic sets with their counts."""
        place = Path(path)
        try:
            self.compact().write_csv(place)
        except OSError as problem:
            raise QueryError(f"'{path}' cannot be written: {problem.strerror or problem}.") from None
        return Written(place, "every different synthetic set, with its count")

    @property
    def size(self) -> int:
        """The estimated number of sets; fewer where they would have more than `MOST_ITEMS` items."""
        mean = float(self.synthetic.sizes @ self.synthetic.weights.astype(np.float64))
        mean /= max(1, self.synthetic.total)
        return round(min(max(0.0, self.number.value), MOST_ITEMS / max(1.0, mean)))

    def draw(self, n: int, rng: np.random.Generator) -> pl.DataFrame:
        """`n` synthetic sets, laid out in rows like the original.

        As many as there are give every set exactly as often as it was released, in random order; another
        number of them is drawn from these. Where nothing is known every set is one item, any of them. Where
        rows are items, sets without any have no row, and all that there are make so many fewer.
        """
        return laid_out(self.schema, *self._drawn(n, rng), rng)

    def _drawn(self, n: int, rng: np.random.Generator) -> tuple[Numbers, Numbers]:
        """Sizes and items of so many synthetic sets."""
        sets = self.synthetic
        # a set without items has no row where rows are items, so that it cannot be written there
        empty = self.without_items if ItemSetLayout.of(self.schema).transaction is None else 0
        if not sets.total + empty:
            return np.ones(n, dtype=np.int64), rng.integers(len(self.universe), size=n)
        weights = np.append(sets.weights, empty)
        if n in (sets.total + empty, sets.total + self.without_items):
            chosen = np.repeat(np.arange(len(weights)), weights)
        else:
            chosen = np.searchsorted(np.cumsum(weights), rng.integers(weights.sum(), size=n), side="right")
        rng.shuffle(chosen)
        with_empty = WeightedSets(np.append(sets.sizes, 0), sets.items, weights)
        return with_empty.picked(chosen)

    def files(self) -> Mapping[str, Callable[[pl.DataFrame, Path], None]]:
        """Where the original's lines are sets and nothing else, so can be those of the synthetic file."""
        headless = ItemSetLayout.of(self.schema).headless
        return {".dat": _write_lines, ".txt": _write_lines} if headless else {}

    def pictures(self) -> Sequence[Picture]:
        return pictures.of(self)

    def limits(self) -> Sequence[str]:
        return [self.reason]


def _write_lines(rows: pl.DataFrame, path: Path) -> None:
    """One set in each line, as it is: an empty line for a set without items, no names and no quotes."""
    with path.open("w", encoding="utf-8", newline="\n") as stream:
        stream.writelines(f"{text}\n" for text in rows.to_series().to_list())


def _listed(many: int) -> int:
    if not 1 <= many <= MOST_LISTED:
        raise QueryError(f"Between 1 and {MOST_LISTED:,} can be listed, not {many}.")
    return many


class _Saved(BaseModel):
    empty: Annotated[int, Range(ge=0, le=LARGEST_COUNT)]
    divided: Annotated[int, Range(ge=0)]
    left_out: Annotated[int, Range(ge=0)]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SetsRelease(ItemSetsRelease):
    """Whole sets that were found, each with a noisy count.

    `empty` is the noisy number of sets without an item, `divided` how many parts of the records were
    divided, and `left_out` how many were not although they passed, because there were too many.

    >>> import polars as pl
    >>> from penstock import Schema, release
    >>> schema = Schema.from_yaml('''
    ... kind: itemsets
    ... items: {item: basket}
    ... fields:
    ...   - {name: basket, constraints: {enum: [bread, butter, milk]}}
    ... ''')
    >>> baskets = pl.DataFrame({"basket": ["milk"] * 900 + ["milk bread"] * 600})
    >>> found = release(baskets, schema, epsilon=1, method="diffpart", seed=1)
    >>> found.top(2)["items"].to_list()
    ['milk', 'bread']
    """

    form: ClassVar[str] = "sets"

    sets: WeightedSets
    empty: int
    divided: int
    left_out: int

    @property
    def reason(self) -> str:
        return PRUNED if self.divided else MODELLED

    @property
    def synthetic(self) -> WeightedSets:
        return self.sets

    @property
    def without_items(self) -> int:
        return self.empty

    @property
    def number(self) -> Answer:
        caveats = (self.reason, *contributions(self.schema))
        return Answer(float(self.sets.total + self.empty), None, "sets", "model", caveats)

    def explain(self) -> Sequence[str]:
        how = (
            f", by dividing the records {self.divided:,} times by the groups of items that they meet and "
            "going on where many seemed to be"
            if self.divided
            else ""
        )
        said = [
            f"{len(self.sets):,} different sets of items were found{how}. Each has a count that rests on "
            f"noisy ones; together these are {self.sets.total:,} sets."
        ]
        if self.left_out:
            said.append(
                f"{self.left_out:,} parts were not divided further because the limit on their number was "
                "reached; what is in them is missing here."
            )
        return said

    def remarks(self) -> Sequence[str]:
        if len(self.sets):
            return ()
        return (
            "No set of items was frequent enough to be found; use a larger epsilon, or group rare items in "
            "the schema.",
        )

    def model(self) -> Model:
        import polars as pl

        return Model(
            json=_Saved(empty=self.empty, divided=self.divided, left_out=self.left_out).model_dump(),
            tables={
                "sets": pl.DataFrame({"size": self.sets.sizes, "count": self.sets.weights}),
                "items": pl.DataFrame({"item": self.sets.items}),
            },
        )

    @classmethod
    def from_model(cls, manifest: Manifest, model: Model) -> Self:
        saved = model.read(_Saved)
        return cls(
            **manifest.common,
            sets=loaded_sets(manifest.schema, model),
            empty=saved.empty,
            divided=saved.divided,
            left_out=saved.left_out,
        )


def loaded_sets(schema: Schema, model: Model) -> WeightedSets:
    """The saved sets, checked: items of the universe, ascending in every set, and counts that are some."""
    import polars as pl

    universe = universe_of(schema)
    listed = model.table("sets", {"size": pl.Int64, "count": pl.Int64})
    sizes, counts = listed["size"].to_numpy(), listed["count"].to_numpy()
    within = bool(
        ((sizes >= 1) & (sizes <= universe)).all() and ((counts >= 1) & (counts <= LARGEST_COUNT)).all()
    )
    if not within or int(counts.sum(dtype=object)) > LARGEST_COUNT:
        raise ReleaseError("model-sets.parquet holds impossible sizes or counts; get the release again.")
    items = model.table("items", {"item": pl.Int64}, rows=int(sizes.sum()))["item"].to_numpy()
    sets = WeightedSets(sizes, items, counts)
    same = sets.owners[1:] == sets.owners[:-1]
    if len(items) and (items.min() < 0 or items.max() >= universe or (np.diff(items)[same] <= 0).any()):
        raise ReleaseError("model-items.parquet holds impossible items; get the release again.")
    return sets
