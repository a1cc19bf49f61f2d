"""From the catalogue to the things themselves, each checked against its contract when it is loaded."""

from __future__ import annotations

from typing import Any

from penstock import catalogue
from penstock.catalogue import KindInfo, MethodInfo
from penstock.contracts.data import Data
from penstock.contracts.method import Method
from penstock.errors import UsageError


def method_class(info: MethodInfo) -> type[Method[Any]]:
    """The method's class; its constructor takes the parameters, `fit(data, budget)` does the work.

    `Any` because a name decides here which class it is, and no type checker follows names. So the pair is
    checked when it is loaded: the method takes the handle of the kind of data that the catalogue states.
    Inside a room, `Method[Table]` and its `fit` are checked by their types.
    """
    found = catalogue.load(info.where)
    if not isinstance(found, type) or not issubclass(found, Method):
        raise TypeError(f"{info.where} is no method")
    if found.takes() is not data_class(catalogue.kind(info.kind)):
        raise TypeError(f"{info.where} takes {found.takes().__name__}, which is no handle on {info.kind}")
    return found


def data_class(info: KindInfo) -> type[Data]:
    """The sealed handle of a kind; `open(source, schema)` makes one."""
    if info.data is None:
        raise UsageError(
            f"Data of kind '{info.name}' is fed, not opened: begin with 'penstock {info.name} open'. Nothing "
            "was "
            "spent."
        )
    found = catalogue.load(info.data)
    if not isinstance(found, type) or not issubclass(found, Data):
        raise TypeError(f"{info.data} is no handle on data")
    return found
