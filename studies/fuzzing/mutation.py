"""Broken inputs from good ones: by the grammar of the text, by the structure of a document, and by bytes.

Every function takes its randomness, so that an input is known by its seed, loader and number.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from copy import deepcopy
from random import Random
from typing import Any

TOKENS = re.compile(rb"\s+|[A-Za-z_]\w*|[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|'[^']*'|\"[^\"]*\"|.", re.DOTALL)

NUMBERS = (
    *("0", "-0", "-1", "1", "0.5", "1e308", "1e309", "-1e309", "1e-400", "5e-324", "NaN", "Infinity"),
    *("9" * 30, "-" + "9" * 30, "9007199254740993", "18446744073709551616", "0x1f", "1_000", "1/0", "1/3"),
    *(
        "1" * 400,
        "0." + "3" * 60,
        "00",
        "+5",
        "1e",
        "--1",
        "\u0661\u0662",
        "2020-13-45",
        "2020-02-30",
        "9999-12-31",
    ),
)
TEXTS = (
    *(
        "",
        " ",
        "\x00",
        "\n",
        "\r\n",
        "\t",
        "\u2028",
        "\ufeff",
        "\u202e",
        "\U0001f600",
        "e\u0301",
        "\xa0",
        "\x1b[31m",
    ),
    *(
        "'",
        '"',
        "`",
        ",",
        ";",
        "|",
        "^x$",
        "*",
        "..",
        "../..",
        "/etc/passwd",
        "~",
        "=1+1",
        "<b>",
        "{}",
        "[]",
        "&a",
    ),
    *(
        "null",
        "true",
        "false",
        "None",
        "missing",
        "is",
        "not",
        "in",
        "and",
        "or",
        "$",
        "%",
        "?",
        "#",
        ":",
        "!!str",
    ),
    "a" * 300,
)
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, -1, 2**31, 2**63, -(2**63), 10**30, 0.5, 1e308, -1e308, 5e-324),
    *(
        "",
        "0",
        "1",
        "-1",
        "1/2",
        "NaN",
        "a",
        "\x00",
        "\ud800",
        "a" * 300,
        "../x",
        [],
        {},
        [[]],
        [0],
        {"a": 0},
    ),
)


def text(rng: Random, seeds: Sequence[bytes]) -> bytes:
    """One to four changes to a good text; now and then to its bytes."""
    data = rng.choice(seeds)
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 4))):
        data = rng.choice(_BYTES)(rng, data) if rng.random() < 0.15 else _grammatical(rng, data, seeds)
    return data[:20_000]


def _grammatical(rng: Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    """A text whose tokens are moved, repeated, left out or exchanged."""
    tokens = TOKENS.findall(data) or [b""]
    place = rng.randrange(len(tokens))
    match rng.randrange(9):
        case 0:
            del tokens[place : place + rng.choice((1, 1, 2, 5))]
        case 1:
            tokens[place:place] = tokens[place : place + rng.choice((1, 2, 5, 12))]
        case 2:
            other = rng.randrange(len(tokens))
            tokens[place], tokens[other] = tokens[other], tokens[place]
        case 3:
            tokens[place] = rng.choice(NUMBERS).encode()
        case 4:
            tokens[place] = rng.choice(TEXTS).encode("utf-8", "surrogatepass")
        case 5:
            others = TOKENS.findall(rng.choice(seeds)) or [b""]
            tokens[place] = rng.choice(others)
        case 6:
            others = TOKENS.findall(rng.choice(seeds))
            tokens = tokens[:place] + others[rng.randrange(len(others) + 1) :]
        case 7:
            tokens[place] = tokens[place] * rng.choice((2, 3, 10, 60, 400))
        case _:
            del tokens[place:]
    return b"".join(tokens)


def _flipped(rng: Random, data: bytes) -> bytes:
    changed = bytearray(data or b"\0")
    for _ in range(rng.choice((1, 1, 2, 8))):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _inserted(rng: Random, data: bytes) -> bytes:
    place = rng.randrange(len(data) + 1)
    return data[:place] + rng.randbytes(rng.choice((1, 2, 4, 16))) + data[place:]


def _cut(rng: Random, data: bytes) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def _without_a_part(rng: Random, data: bytes) -> bytes:
    place = rng.randrange(len(data) + 1)
    return data[:place] + data[place + rng.choice((1, 2, 8, 64)) :]


_BYTES: tuple[Callable[[Random, bytes], bytes], ...] = (_flipped, _inserted, _cut, _without_a_part)


def damaged(rng: Random, data: bytes) -> bytes:
    """The bytes of a file, one or two of them wrong, or some of them gone."""
    return rng.choice(_BYTES)(rng, data)


def document(rng: Random, data: bytes) -> bytes:
    """A JSON document in which one to three values are exchanged, left out, repeated or renamed."""
    root = json.loads(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        root = _changed(rng, root)
    return json.dumps(root, allow_nan=True, ensure_ascii=rng.random() < 0.5).encode("utf-8", "surrogatepass")


def _changed(rng: Random, root: Any) -> Any:
    places = list(_places(root))
    if not places:
        return deepcopy(rng.choice(VALUES))
    parent, key = rng.choice(places)
    match rng.randrange(6):
        case 0:
            del parent[key]
        case 1:
            other, where = rng.choice(places)
            parent[key] = json.loads(json.dumps(other[where]))
        case 2 if isinstance(parent, list):
            parent[key:key] = [deepcopy(parent[key]) for _ in range(rng.choice((1, 2, 50)))]
        case 2:
            parent[rng.choice(TEXTS)] = parent.pop(key)
        case 3 if isinstance(parent[key], int | float) and not isinstance(parent[key], bool):
            parent[key] = rng.choice(
                (-1, 0, 1, parent[key] + 1, -parent[key], parent[key] * 1e6, 10**18, 1e308)
            )
        case 3 if isinstance(parent[key], str):
            parent[key] = text(rng, [parent[key].encode("utf-8", "surrogatepass")]).decode("utf-8", "replace")
        case _:
            parent[key] = deepcopy(rng.choice(VALUES))
    return root


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Every place of a document, as what holds it and its key."""
    found: list[tuple[Any, Any]] = []
    waiting = [value]
    while waiting:
        each = waiting.pop()
        keys = list(each) if isinstance(each, dict) else range(len(each)) if isinstance(each, list) else ()
        found += [(each, key) for key in keys]
        waiting += [each[key] for key in keys]
    return found
