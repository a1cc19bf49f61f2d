"""What releases of graphs share: the public number of nodes, and what an edge's protection is not."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from penstock.errors import PenstockWarning, ReleaseError
from penstock.kinds.graph.layout import nodes_of
from penstock.privacy.budgets.amounts import plain
from penstock.releases import Release


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class GraphRelease(Release):
    """A release of a graph; its nodes were public beforehand."""

    kinds: ClassVar[tuple[str, ...]] = ("graph",)

    @property
    def n(self) -> int:
        """The public number of nodes."""
        return nodes_of(self.schema)

    def limits(self) -> Sequence[str]:
        together = self.receipt.unit.records
        protected = "One edge is" if together == 1 else f"Any {together} edges together are"
        return [
            f"{protected} protected, and not whole nodes: that a person exists is public, and of somebody "
            "with "
            f"more than {together} {'edge' if together == 1 else 'edges'} roughly how many there are can be "
            "learnt.",
            "The nodes were declared by the custodian before anything was counted; their number is no "
            "secret.",
        ]


def warn_of_delta(delta: Fraction, n: int) -> None:
    """Tell the custodian of a delta that would allow to publish somebody's edge as it is."""
    if delta * n >= 1:
        warnings.warn(
            f"A delta of {plain(delta)} protects nobody well among {n} nodes: the edges of one of them may "
            "be told as they are. Give one far below 1 in the number of edges, such as 1e-6.",
            PenstockWarning,
            stacklevel=4,
        )


def refuse_nodes(found: int, release: str, declared: int) -> None:
    """A model for another number of nodes than the schema declares is no model of this release."""
    if found != declared:
        raise ReleaseError(
            f"The {release} are for {found} nodes where the schema declares {declared}; get the release "
            "again."
        )
