"""Suffix trees without noise, for tests that compare with numbers worked out by hand."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import polars as pl

from penstock.kinds.sequences.data import ContextLevel, Sequences
from penstock.kinds.sequences.suffix_tree import PrivTreeSequences, SuffixTreeRelease
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.mechanisms.growth import Growth
from penstock.privacy.randomness.generator import Randomness
from penstock.privacy.seals.sealed import open_seal
from penstock.schema import Schema


def schema(symbols: str = "AB", longest: int = 9, columns: str = "", unit: str = "") -> Schema:
    """One letter a symbol."""
    return Schema.from_yaml(f"""
kind: sequences
{unit}
sequence: {{symbol: s, longest: {longest}{columns}}}
fields:
  - {{name: s, constraints: {{enum: [{", ".join(symbols)}]}}}}
""")


def rows(texts: Iterable[str]) -> pl.DataFrame:
    return pl.DataFrame({"s": [" ".join(text) for text in texts]}, schema={"s": pl.String})


def opened(texts: Iterable[str], symbols: str = "AB", longest: int = 9) -> Sequences:
    return Sequences.open(rows(texts), schema(symbols, longest))


def fit(sequences: Sequences, epsilon: Any = 1, seed: int = 1, **options: Any) -> SuffixTreeRelease:
    return PrivTreeSequences(**options).fit(sequences, Budget(epsilon, randomness=Randomness.seeded(seed)))


def noiseless(sequences: Sequences, split: Callable[[str], bool]) -> SuffixTreeRelease:
    """The tree in which exactly the contexts that `split` names are lengthened, with exact counts."""
    symbols = [*sequences.alphabet, "$"]
    levels: list[ContextLevel] = [sequences.contexts()]
    fans, contexts = [], [""]
    while True:
        chosen = [context[:1] != "$" and split(context) for context in contexts]
        fans.append(np.where(chosen, len(symbols), 0))
        if not any(chosen):
            break
        levels.append(levels[-1].children(np.flatnonzero(chosen)))
        lengthened = [c for c, yes in zip(contexts, chosen, strict=True) if yes]
        contexts = [symbol + context for context in lengthened for symbol in symbols]
    growth = Growth.of(levels, fans)
    made = fit(sequences)
    return SuffixTreeRelease(
        method=made.method,
        schema=made.schema,
        receipt=made.receipt,
        longest=made.longest,
        shape=growth.shape,
        counts=open_seal(sequences.leaves(growth)),
        deviation=1.0,
    )
