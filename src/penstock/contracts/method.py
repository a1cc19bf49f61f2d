"""What every method offers: declared parameters, a check that costs nothing, and `fit`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar, final, get_args

from penstock.contracts.data import Data
from penstock.contracts.parameters import Declared
from penstock.privacy.budgets.budget import Budget
from penstock.releases.release import Release
from penstock.schema import Schema

D = TypeVar("D", bound=Data)


@dataclass(frozen=True)
class Method(Declared, ABC, Generic[D]):
    """An algorithm that turns sealed data into a release.

    A method is a frozen dataclass: its fields are its parameters, each annotated with what it may be
    (`penstock.contracts.parameters`), and they are checked when it is made. `name` is its name in the
    catalogue.
    """

    name: ClassVar[str]

    @classmethod
    def takes(cls) -> type[Data]:
        """The handle that `fit` takes: the argument of `Method[...]` where the class was declared."""
        for base in cls.__mro__:
            for declared in getattr(base, "__orig_bases__", ()):
                for taken in get_args(declared):
                    if isinstance(taken, type) and issubclass(taken, Data):
                        return taken
        raise TypeError(f"{cls.__name__} does not say which data it takes")

    def check(self, schema: Schema) -> None:
        """Refuse what cannot work on data of this schema; needs neither records nor budget.

        Whatever schema and parameters decide is refused here, because it runs before the first charge. What
        is still to be found in the records may come out either way, and must be no reason to refuse in `fit`.
        """

    @final
    def ready(self, data: D, budget: Budget) -> None:
        """What every `fit` asks first: refuse a budget that cannot pay, and tell it what it pays for.

        What `check` refuses is refused before anything is paid. Records that were chosen with a known key
        make whatever the budget pays for unpublishable.
        """
        self.check(data.declared)
        budget.protect(data.booked)
        budget.ready(data.relation)
        if data.repeatable:
            budget.mark_repeatable()

    def cells(self, schema: Schema) -> int:
        """About how many numbers the model may hold, to foresee its room on the disk from public facts.

        A million, unless a method knows more from the schema and its parameters.
        """
        return 1 << 20

    @abstractmethod
    def fit(self, data: D, budget: Budget) -> Release:
        """The release of the data; spends the whole budget, and nothing where it refuses.

        Its first step is `self.ready(data, budget)`.
        """
