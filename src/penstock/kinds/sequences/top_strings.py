"""Frequent strings by the exponential mechanism, one after the other.

The candidates are all strings of one symbol. A frequent one is chosen; it is published and gives way
to its extensions by one symbol; and so on.

Guarantee: pure epsilon for one sequence added or removed (for one user: as many sequences as the schema
allows a user).
Why: each of the k choices is epsilon/k-differentially private, because the count of a string moves by at
most the number of places of one unit, and the candidates only depend on earlier choices. When a unit is
added all counts move in the same direction, which halves the price of a choice against the literature's;
`constant="published"` pays it in full.

Reference: the baseline "EM" of J. Zhang, "Algorithms for synthetic data release under differential
privacy" (2016), section 4.5.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, Self

from pydantic import BaseModel

from penstock.contracts.method import Method
from penstock.contracts.parameters import Whole
from penstock.errors import ReleaseError
from penstock.kinds.sequences.data import Sequences
from penstock.kinds.sequences.markov import String
from penstock.kinds.sequences.release import MOST_STRINGS, SequenceRelease, check_loaded
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms import choice
from penstock.privacy.seals.sensitivity import Sensitivity
from penstock.progress import progress
from penstock.releases import Manifest, Model

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class TopStrings(Method[Sequences]):
    """The `many` strings that seem most frequent, without their counts.

    >>> TopStrings(many=10).many
    10

    >>> from penstock.demo import visits, visits_schema
    >>> from penstock.privacy.randomness.generator import Randomness
    >>> from penstock.schema import Schema
    >>> sequences = Sequences.open(visits(500), Schema.from_yaml(visits_schema()))
    >>> release = TopStrings(many=2).fit(sequences, Budget(2, randomness=Randomness.seeded(1)))
    >>> release.top()["string"].to_list()
    ['search', 'home']
    """

    name: ClassVar[str] = "top-strings"

    many: Annotated[int, Whole(1, 10_000)] = 20
    constant: Literal["tight", "published"] = "tight"

    def fit(self, sequences: Sequences, budget: Budget) -> TopStringsRelease:
        """Choose one string after the other, for equal parts of the budget; spends all of it."""
        self.ready(sequences, budget)
        candidates = sequences.candidates()
        found: list[String] = []
        parts = budget.evenly([f"string {number}" for number in range(1, self.many + 1)])
        with progress("choosing strings", total=self.many) as step:
            for part in parts:
                scores = candidates.scores()
                if self.constant == "published":
                    scores = scores.claim(
                        lambda counts: counts,
                        Sensitivity.scores(sequences.places, len(candidates)),
                        because="each count is bounded as before; that all move alike is left unsaid",
                    )
                found.append(candidates.take(choice.best(scores, pay=part, method="exponential")))
                step(1)
        return TopStringsRelease(
            method=self.name,
            schema=sequences.schema,
            parameters={"many": self.many, "constant": self.constant},
            receipt=budget.receipt(sequences.schema.unit, sequences.relation),
            longest=sequences.longest,
            strings=tuple(found),
        )


class _Saved(BaseModel):
    longest: int
    strings: list[list[int]]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class TopStringsRelease(SequenceRelease):
    """Strings that were chosen as frequent, in the order of their choice.

    >>> from penstock import Schema, release
    >>> from penstock.demo import visits, visits_schema
    >>> schema = Schema.from_yaml(visits_schema())
    >>> known = {"many": 2}
    >>> found = release(visits(500), schema, epsilon=2, method="top-strings", parameters=known, seed=1)
    >>> found.top()["string"].to_list()
    ['search', 'home']
    """

    answer: ClassVar[str] = "selection"
    form: ClassVar[str] = "top-strings"

    strings: tuple[String, ...]

    def top(self, many: int = 20) -> pl.DataFrame:
        """The first strings that were chosen; their counts are not known: column string."""
        import polars as pl

        chosen = [self.written(codes) for codes in self.frequent(many)]
        return pl.DataFrame({"string": chosen}, schema={"string": pl.String})

    def frequent(self, many: int) -> list[String]:
        return list(self.strings[: self._many(many)])

    def model(self) -> Model:
        return Model(
            json=_Saved(longest=self.longest, strings=[list(codes) for codes in self.strings]).model_dump()
        )

    @classmethod
    def from_model(cls, manifest: Manifest, model: Model) -> Self:
        saved = model.read(_Saved)
        symbols = check_loaded(manifest.schema, saved.longest)
        if len(saved.strings) > MOST_STRINGS or not all(
            codes and all(0 <= code < symbols for code in codes) for codes in saved.strings
        ):
            raise ReleaseError("model.json lists impossible strings; get the release again.")
        return cls(
            **manifest.common, longest=saved.longest, strings=tuple(tuple(codes) for codes in saved.strings)
        )

    def example(self) -> str | None:
        return None

    def explain(self) -> Sequence[str]:
        first = ", ".join(self.top(5)["string"])
        return [
            f"{len(self.strings)} strings of symbols that were chosen because they are frequent, the first "
            f"of them {first}. How often they occur was not published."
        ]

    def limits(self) -> Sequence[str]:
        return ["There are neither counts nor synthetic sequences in this release."]
