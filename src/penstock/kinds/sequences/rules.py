"""Order rules: what the schema says about the order of symbols, held in every synthetic sequence.

Rules are public facts, declared before anyone looked, so that holding them costs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from penstock.errors import SchemaError
from penstock.schema.fact import nearest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from penstock.kinds.sequences.layout import SequenceLayout

Flags = NDArray[np.bool_]
Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class OrderRules:
    """Rules about the codes 0 ... symbols - 1; the end has the code `symbols`.

    `first` and `last` say which symbols a sequence may begin and end with, `empty` whether it may have none,
    and `bars[a, b]` that b cannot come anywhere after a.
    """

    first: Flags
    last: Flags
    bars: Flags
    empty: bool
    longest: int

    @classmethod
    def of(cls, layout: SequenceLayout, labels: Sequence[str], longest: int) -> OrderRules | None:
        """The rules of a layout, None where it has none; SchemaError where no sequence could keep them."""
        if not (layout.first or layout.last or layout.once or layout.never_both):
            return None
        codes = {label: code for code, label in enumerate(labels)}

        def listed(words: Sequence[str], key: str) -> list[int]:
            for word in words:
                if word not in codes:
                    raise SchemaError(
                        f"sequence: '{word}' under '{key}' is not a symbol{nearest(word, codes)}. Correct it."
                    )
            return [codes[word] for word in words]

        def only(words: Sequence[str], key: str) -> Flags:
            found = np.ones(len(labels), dtype=np.bool_)
            if words:
                found[:] = False
                found[listed(words, key)] = True
            return found

        bars = np.zeros((len(labels), len(labels)), dtype=np.bool_)
        for code in listed(layout.once, "once"):
            bars[code, code] = True
        for group in layout.never_both:
            members = listed(group, "neverBoth")
            bars[np.ix_(members, members)] |= ~np.eye(len(members), dtype=np.bool_)
        empty = not layout.first and not layout.last
        rules = cls(only(layout.first, "first"), only(layout.last, "last"), bars, empty, longest)
        if not rules.possible:
            raise SchemaError(
                "sequence: no sequence can keep the rules under 'first', 'last', 'once' and 'neverBoth' "
                "together. Loosen one of them."
            )
        return rules

    @property
    def possible(self) -> bool:
        """Whether some sequence that is not empty keeps all rules."""
        begins = self.first[:, None]
        alone = (self.first & self.last).any()
        return bool(alone or (self.longest > 1 and (begins & self.last[None, :] & ~self.bars).any()))

    def allowed(self, barred: Flags, before: NDArray[np.integer], place: int) -> Flags:
        """What may come next at a place, a column per symbol and the end, after the symbols `before`.

        A symbol is only allowed if a good end can still be reached after it. So every sequence that keeps the
        rules so far has something that may come next: that symbol, or its end.
        """
        rows, symbols = barred.shape
        may = np.empty((rows, symbols + 1), dtype=np.bool_)
        may[:, :symbols] = ~barred
        if place == 0:
            may[:, :symbols] &= self.first
            may[:, symbols] = self.empty
        else:
            may[:, symbols] = self.last[before]
        if not self.last.all():
            later = self.last & ~barred
            closes = later.astype(np.float32) @ (~self.bars).T.astype(np.float32) > 0
            reaches = self.last | (closes if place + 1 < self.longest else False)
            may[:, :symbols] &= reaches
        return may

    def broken_by(self, codes: Sequence[int]) -> bool:
        """Whether no sequence that keeps the rules has a string; the mark stands for beginning and end."""
        symbols = len(self.first)
        inner = [code for code in codes if code != symbols]
        if len(codes) > 1 and codes[0] == symbols and inner and not self.first[inner[0]]:
            return True
        if len(codes) > 1 and codes[-1] == symbols and inner and not self.last[inner[-1]]:
            return True
        return any(self.bars[one, two] for place, one in enumerate(inner) for two in inner[place + 1 :])
