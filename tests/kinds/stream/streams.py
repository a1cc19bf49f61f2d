"""Schemas and memory dumps for the tests of streams."""

from __future__ import annotations

import gc
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from penstock.schema import Schema


def schema(
    relation: str = "replace", *, ids: int = 1_000_000, most: int = 49, protects: str = "id"
) -> Schema:
    return Schema.from_yaml(
        f"{{kind: stream, unit: {{protects: {protects}}}, relation: {relation}, "
        f"stream: {{ids: {ids}, most: {most}}}}}"
    )


_SHARED = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType, types.MethodType)


def held_by(root: Any) -> Iterator[Any]:
    """Everything that an object holds on to, directly or through others; classes and modules aside."""
    seen: set[int] = set()
    waiting = [root]
    while waiting:
        found = waiting.pop()
        if id(found) in seen or isinstance(found, _SHARED):
            continue
        seen.add(id(found))
        yield found
        if isinstance(found, np.ndarray) and found.base is not None:
            waiting.append(found.base)
        waiting += gc.get_referents(found)


def dump(root: Any) -> bytes:
    """The bytes of all that an object holds: arrays, texts, numbers."""
    parts = []
    for each in held_by(root):
        if isinstance(each, np.ndarray):
            parts.append(each.tobytes())
        elif isinstance(each, bytes | bytearray):
            parts.append(bytes(each))
        elif isinstance(each, str):
            parts.append(each.encode())
        elif isinstance(each, int):
            parts.append(each.to_bytes((each.bit_length() + 8) // 8, "little", signed=True))
    return b"\0".join(parts)
