"""Edits of a YAML text that leave everything else as it was typed: comments, quotes, order and blank lines.

The parser says where each value begins and ends, and only those letters are exchanged. Whatever an edit
does is checked: read again, the text must say what it said before, but for the one fact that was to change.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import yaml

from penstock.errors import SchemaError
from penstock.schema import document
from penstock.schema.values import NUMBER

Path = tuple[str | int, ...]


class Number(str):
    """The digits of a number, which stand in a file without quotes."""


def put(text: str, path: Path, value: Any, *, before: str | None = None) -> str:
    """The text in which the value at `path` is this one; a key that is not there yet is added.

    A new key stands last, or above the key `before` where there is one.

    >>> print(put("fields:\\n  - name: age  # in years\\n", ("fields", 0, "title"), "Age"))
    fields:
      - name: age  # in years
        title: Age
    <BLANKLINE>
    """

    def expected(facts: Any) -> None:
        _at(facts, path[:-1])[path[-1]] = value

    return _checked(text, expected, lambda root: _put(text, _node(root, path[:-1]), path[-1], value, before))


def remove(text: str, path: Path) -> str:
    """The text without the key or item at `path`; remarks right above an item go with it."""

    def expected(facts: Any) -> None:
        del _at(facts, path[:-1])[path[-1]]

    return _checked(text, expected, lambda root: _remove(text, _node(root, path[:-1]), path[-1]))


def put_items(text: str, path: Path, items: Sequence[str]) -> str:
    """The text whose list at `path` has these items; those that stay keep their places and their comments."""
    old: list[str] = _at(document.as_typed(text), path)
    stay = [item for item in old if item in items]
    if len(set(old)) == len(old) and stay == list(items[: len(stay)]) and (stay or not old):
        for place in range(len(old) - 1, -1, -1):
            if old[place] not in items:
                text = remove(text, (*path, place))
        for item in items[len(stay) :]:
            text = append(text, path, item)
        return text
    return put(text, path, list(items))


def append(text: str, path: Path, item: Any) -> str:
    """The text whose list at `path` has one more item, at its end."""

    def expected(facts: Any) -> None:
        _at(facts, path).append(item)

    def edit(root: yaml.Node) -> str:
        node = _node(root, path)
        if not node.value or node.flow_style:
            shown = _flow(item)
            return _inside_braces(text, node, shown)
        last = node.value[-1]
        dash = text.rindex("-", 0, last.start_mark.index)
        indent = " " * (dash - _line_start(text, dash))
        return _new_line(text, _end(last), f"{indent}- {_flow(item)}")

    return _checked(text, expected, edit)


def remarks_above(text: str, path: Path) -> list[str]:
    """The comment lines right above a key or an item, without their signs."""
    root = _composed(text)
    start = _line_start(text, _node(root, path).start_mark.index)
    found: list[str] = []
    for line in reversed(text[:start].split("\n")[:-1]):
        if not line.strip().startswith("#"):
            break
        found.append(line.strip().lstrip("#").strip())
    return found[::-1]


def remark(text: str, path: Path, words: str) -> str:
    """The text with one more comment line right above an item of a block list."""
    root = _composed(text)
    node, parent = _node(root, path), _node(root, path[:-1])
    if parent.flow_style:
        return text  # within braces there is no line above
    start = _line_start(text, node.start_mark.index)
    indent = len(text[start:]) - len(text[start:].lstrip(" "))
    return _checked(
        text, lambda facts: None, lambda _: text[:start] + " " * indent + f"# {words}\n" + text[start:]
    )


def without_remarks(text: str, path: Path, beginning: str) -> str:
    """The text without the comment lines right above an item that begin like this."""
    start = _line_start(text, _node(_composed(text), path).start_mark.index)
    lines = text[:start].split("\n")[:-1]
    kept: list[str] = []
    while lines and lines[-1].strip().startswith("#"):
        line = lines.pop()
        if not line.strip().lstrip("#").strip().startswith(beginning):
            kept.insert(0, line)
    return "".join(f"{line}\n" for line in (*lines, *kept)) + text[start:]


# Where things stand --------------------------------------------------------------------------------------


def _composed(text: str) -> yaml.Node:
    root = yaml.compose(text, Loader=yaml.BaseLoader)
    assert root is not None
    return root


def _checked(text: str, expected: Callable[[Any], None], edit: Callable[[yaml.Node], str]) -> str:
    facts = document.as_typed(text)
    expected(facts)
    changed = edit(_composed(text))
    try:
        same = document.as_typed(changed) == _as_text(facts)
    except SchemaError:
        same = False
    if not same:
        raise SchemaError("schema: this place cannot be edited without touching others. Edit it by hand.")
    return changed


def _as_text(value: Any) -> Any:
    """As a document reads it: every scalar is text."""
    if isinstance(value, dict):
        return {key: _as_text(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_as_text(each) for each in value]
    if isinstance(value, bool):
        return str(value).lower()
    return value if value is None else str(value)


def _at(facts: Any, path: Path) -> Any:
    for step in path:
        facts = facts[step]
    return facts


def _node(node: yaml.Node, path: Path) -> Any:
    for step in path:
        if isinstance(step, int):
            node = node.value[step]
        else:
            node = next(value for key, value in node.value if key.value == step)
    return node


def _end(node: yaml.Node) -> int:
    """Where a value ends; a block collection's own mark lies behind the comments that follow it."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _end(last[1] if isinstance(last, tuple) else last)
    end: int = node.end_mark.index
    return end


def _line_start(text: str, place: int) -> int:
    return text.rfind("\n", 0, place) + 1


def _line_end(text: str, place: int) -> int:
    """Behind the line break of the line in which a value ended here."""
    if place and text[place - 1] == "\n":
        return place
    found = text.find("\n", place)
    return len(text) if found < 0 else found + 1


# How they are exchanged ----------------------------------------------------------------------------------


def _put(text: str, node: Any, key: Any, value: Any, before: str | None) -> str:
    if isinstance(key, int):
        item = node.value[key]
        return text[: item.start_mark.index] + _flow(value) + text[_end(item) :]
    for key_node, value_node in node.value:
        if key_node.value == key:
            colon = text.index(":", key_node.end_mark.index) + 1
            return text[:colon] + " " + _flow(value) + text[max(colon, _end(value_node)) :]
    if node.flow_style:
        return _inside_braces(text, node, f"{_flow(key)}: {_flow(value)}")
    indent: int = node.value[0][0].start_mark.column
    line = " " * indent + f"{_flow(key)}: {_flow(value)}"
    for key_node, _ in node.value:
        begins: int = key_node.start_mark.index
        start = _line_start(text, begins)
        if key_node.value == before and not text[start:begins].strip():
            return text[:start] + line + "\n" + text[start:]
    return _new_line(text, _end(node), line)


def _remove(text: str, node: Any, key: Any) -> str:
    place = key if isinstance(key, int) else [each.value for each, _ in node.value].index(key)
    entry = node.value[place]
    first, last = entry if isinstance(entry, tuple) else (entry, entry)
    start, end = first.start_mark.index, _end(last)
    if node.flow_style:
        if place + 1 < len(node.value):
            after = node.value[place + 1]
            end = (after[0] if isinstance(after, tuple) else after).start_mark.index
        elif place:
            before = node.value[place - 1]
            start = _end(before[1] if isinstance(before, tuple) else before)
        return text[:start] + text[end:]
    start = _line_start(text, start)
    if isinstance(key, int):
        while (above := _line_start(text, start - 1)) < start and text[above:start].strip().startswith("#"):
            if not text[above:start].startswith(" "):
                break
            start = above
    if len(node.value) == 1:
        empty = "{}" if isinstance(entry, tuple) else "[]"
        return text[:start].rstrip("\n ") + f" {empty}\n" + text[_line_end(text, end) :]
    return text[:start] + text[_line_end(text, end) :]


def _inside_braces(text: str, node: Any, shown: str) -> str:
    """One more entry before the closing brace."""
    close = node.end_mark.index - 1
    if not node.value:
        return text[:close] + shown + text[close:]
    last = node.value[-1]
    end = _end(last[1] if isinstance(last, tuple) else last)
    return text[:end] + f", {shown}" + text[end:]


def _new_line(text: str, place: int, line: str) -> str:
    end = _line_end(text, place)
    broken = "" if text[:end].endswith("\n") else "\n"
    return text[:end] + broken + line + "\n" + text[end:]


def _flow(value: Any) -> str:
    """A value on one line, quoted wherever any reader of YAML would need it."""
    if isinstance(value, Number) and re.match(NUMBER, value):
        return str(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_flow(key)}: {_flow(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(_flow, value))}]"
    return document.flow(str(value) if isinstance(value, Number) else value)
