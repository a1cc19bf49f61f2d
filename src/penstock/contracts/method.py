"""What every method offers: declared parameters, a check that costs nothing, and `fit`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, ClassVar, Generic, TypeVar

from penstock import catalogue
from penstock.contracts.data import Data
from penstock.contracts.parameters import Parameter, parameters_of
from penstock.privacy.budgets.budget import Budget
from penstock.releases.release import Release
from penstock.schema import Schema

D = TypeVar("D", bound=Data)


@dataclass(frozen=True)
class Method(ABC, Generic[D]):
    """An algorithm that turns sealed data into a release.

    A method is a frozen dataclass: its fields are its parameters, each annotated with what it may be
    (`penstock.contracts.parameters`), and they are checked when it is made. `name` is its name in the
    catalogue.
    """

    name: ClassVar[str]

    def __init_subclass__(cls, **options: Any) -> None:
        """Whatever a method's `fit` does, the budget hears first whose presence it hides, and whether the
        data can be repeated, which makes a release for nobody else.
        """
        super().__init_subclass__(**options)
        if "fit" in cls.__dict__:
            cls.fit = _telling(cls.fit)  # type: ignore[method-assign]

    def __post_init__(self) -> None:
        for parameter in self.parameters():
            parameter.refuse(self)

    @classmethod
    def parameters(cls) -> tuple[Parameter, ...]:
        """What can be set, with its range and its default."""
        return parameters_of(cls)

    @property
    def info(self) -> catalogue.MethodInfo:
        """What the catalogue says of this method."""
        return catalogue.method(self.name)

    def check(self, schema: Schema) -> None:
        """Refuse what cannot work on data of this schema; needs neither records nor budget."""

    def cells(self, schema: Schema) -> int:
        """About how many numbers the model may hold, to foresee its room on the disk from public facts.

        A million, unless a method knows more from the schema and its parameters.
        """
        return 1 << 20

    @abstractmethod
    def fit(self, data: D, budget: Budget) -> Release:
        """The release of the data; spends the whole budget, and nothing where it refuses."""


def _telling(fit: Callable[..., Release]) -> Callable[..., Release]:
    @wraps(fit)
    def told(self: Method[Any], data: Data, budget: Budget) -> Release:
        budget.protect(data.schema.unit)
        if data.repeatable:
            budget.mark_repeatable()
        return fit(self, data, budget)

    return told
