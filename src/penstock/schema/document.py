"""Schemas as YAML documents: what is typed is what is meant.

Every plain scalar is kept as the text that was typed (only ``null``, ``~`` and nothing at all mean
nothing), and the field's type decides how to read it. So ``enum: [yes, no, 007]`` is three texts,
not two booleans and a number. Tags and aliases do nothing here, so a hostile document can neither
run code nor blow up.
"""

from collections.abc import Mapping
from datetime import date
from enum import Enum
from pathlib import Path
from typing import Any

import yaml

from penstock import catalogue
from penstock.errors import SchemaError
from penstock.schema.ground import from_geojson


class _Reader(yaml.BaseLoader):
    """Text, lists and mappings only; a key given twice is a mistake."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        return self._plain(node)

    def _plain(self, node: yaml.Node) -> Any:
        if isinstance(node, yaml.ScalarNode):
            return None if node.style is None and node.value in ("", "~", "null") else _whole(node)
        if isinstance(node, yaml.SequenceNode):
            return [self._plain(each) for each in node.value]
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = key_node.value
            if not isinstance(key, str):
                raise SchemaError(f"{_place(key_node)}: a list or mapping cannot be a key. Use plain text.")
            key = _whole(key_node)
            if key in result:
                raise SchemaError(
                    f"{_place(key_node)}: the key '{key}' is given twice. Remove one of the two."
                )
            result[key] = self._plain(value_node)
        return result

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise SchemaError("schema: YAML aliases (*name) are not read. Write the value out.")
        return super().compose_node(parent, index)


class _Writer(yaml.SafeDumper):
    """Block style with short lists on one line; strings quoted wherever other readers need it."""

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        super().increase_indent(flow, False)


class _OnOneLine(yaml.SafeDumper):
    """Flow style throughout, in the order given."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _represent_float(writer: yaml.SafeDumper, number: float) -> yaml.Node:
    if number == int(number) and abs(number) < 1e15:
        return writer.represent_int(int(number))
    return yaml.SafeDumper.represent_float(writer, number)


def _represent_list(writer: _Writer, items: list[Any]) -> yaml.Node:
    short = (
        all(not isinstance(item, dict | list) for item in items) and sum(len(str(i)) + 2 for i in items) < 90
    )
    return writer.represent_sequence("tag:yaml.org,2002:seq", items, flow_style=short)


def _represent_dict(writer: _Writer, items: dict[str, Any]) -> yaml.Node:
    leaves = all(not isinstance(value, dict | list) for value in items.values())
    short = (
        leaves and len(items) <= 3 and "name" not in items and sum(len(str(v)) for v in items.values()) < 60
    )
    return writer.represent_mapping("tag:yaml.org,2002:map", items.items(), flow_style=short)


def _represent_text(writer: yaml.SafeDumper, text: str) -> yaml.Node:
    broken = any(each in text for each in "\n\r\x85\u2028\u2029")
    return writer.represent_scalar("tag:yaml.org,2002:str", text, style='"' if broken else None)


for _each in (_Writer, _OnOneLine):
    _each.add_representer(str, _represent_text)
    _each.add_representer(float, _represent_float)
_Writer.add_representer(list, _represent_list)
_Writer.add_representer(dict, _represent_dict)


def _place(node: yaml.Node) -> str:
    return f"line {node.start_mark.line + 1}"


def _whole(node: yaml.ScalarNode) -> str:
    """The text of a scalar, with a character that JSON escapes in two halves as one; half of one is refused,
    because no file and no page could hold it."""
    text: str = node.value
    if text.isascii():
        return text
    try:
        return text.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        raise SchemaError(f"{_place(node)}: a text has half of a character. Correct its escape.") from None


def parse(text: str, source: str = "schema") -> dict[str, Any]:
    """The mapping that a YAML (or JSON) text holds, with every scalar as text."""
    found = as_typed(text, source)
    fields = found.get("fields")
    for field in fields if isinstance(fields, list) else []:
        if isinstance(field, dict) and isinstance(field.get("taxonomy"), str):
            raise SchemaError(
                f"{field.get('name', 'field')}: the taxonomy is the file '{field['taxonomy']}', and there is "
                "no folder to read it from. Load the schema from a file, or write the taxonomy out."
            )
    return found


def as_typed(text: str, source: str = "schema") -> dict[str, Any]:
    """The mapping that a text holds, with the names of files where they stand in place of what they hold."""
    found = _load(text, source)
    if not isinstance(found, dict):
        raise SchemaError(f"{source}: not a mapping. Start with 'fields:' and list the columns below it.")
    return found


def read(path: Path, text: str | None = None) -> dict[str, Any]:
    """A schema file as a mapping, with the taxonomies and lists of values that lie beside it read in.

    With a `text`, that is taken for what the file holds.
    """
    found = as_typed(contents(path) if text is None else text, str(path))
    if isinstance(found.get("ground"), str):
        found["ground"] = from_geojson(*_beside(path, found["ground"], "file", {"name": "ground"}))
    fields = found.get("fields")
    for field in fields if isinstance(fields, list) else []:
        if isinstance(field, dict) and isinstance(field.get("taxonomy"), str):
            field["taxonomy"] = _load(*_beside(path, field["taxonomy"], "taxonomy", field))
        if isinstance(field, dict) and isinstance(name := _enum(field), str):
            listed, _ = _beside(path, name, "enum", field)
            field["constraints"]["enum"] = [line.strip() for line in listed.splitlines() if line.strip()]
    return found


def _enum(field: dict[str, Any]) -> Any:
    constraints = field.get("constraints")
    return constraints.get("enum") if isinstance(constraints, dict) else None


def _beside(path: Path, name: str, what: str, field: dict[str, Any]) -> tuple[str, str]:
    """The text of a file beside the schema, and its name."""
    if Path(name).is_absolute() or ".." in Path(name).parts:
        raise SchemaError(
            f"{field.get('name', 'field')}: the {what} '{name}' is not beside the schema. Put the file into "
            "its folder."
        )
    if not (path.parent / name).exists():
        raise SchemaError(
            f"{field.get('name', 'field')}: the {what} is '{name}', and beside the schema there is no such "
            "file. Check the name, or write the values out."
        )
    return contents(path.parent / name), name


def contents(path: Path) -> str:
    """The text of a file, or one sentence about why it cannot be read."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise SchemaError(
            f"{path}: no such file. Check the path, or write one with 'penstock draft'."
        ) from None
    except UnicodeDecodeError:
        raise SchemaError(f"{path}: not UTF-8 text. Save it as UTF-8.") from None
    except OSError as problem:
        raise SchemaError(f"{path}: cannot be read ({problem.strerror}). Check the path.") from None


def _load(text: str, source: str) -> Any:
    try:
        return yaml.load(text, Loader=_Reader)
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark
        where = f", line {mark.line + 1}" if mark is not None else ""
        raise SchemaError(
            f"{source}{where}: not valid YAML ({problem.problem}). Correct this line."
        ) from None
    except (yaml.YAMLError, RecursionError):
        raise SchemaError(
            f"{source}: not valid YAML. Write it as plain UTF-8 text without deep nesting."
        ) from None


def write(facts: Mapping[str, Any], remarks: Mapping[str, tuple[str, ...]]) -> str:
    """YAML text of these facts, with comment lines above the fields they speak of."""
    top = {key: value for key, value in _plain(facts).items() if key != "fields"}
    lines = [_comment(remark) for remark in remarks.get("", ())]
    for key in (
        "impossible",
        "always",
        *(block[0] for block in (kind.layout for kind in catalogue.every_kind()) if block),
    ):
        if key in top:
            top[key] = top.pop(key)
    # the empty list keeps a short document in block style; its place is taken by the fields themselves
    lines += [*_dump({**top, "fields": []}).split("\n")[:-2], "fields:"]
    for field in _plain(facts).get("fields", []):
        lines += [f"  {_comment(remark)}" for remark in remarks.get(field["name"], ())]
        lines += [f"  {line}" for line in _dump([field]).rstrip("\n").split("\n")]
    return "\n".join(lines) + "\n"


def _comment(remark: str) -> str:
    """One line, whatever a column's name contains."""
    return "# " + "".join(each if each.isprintable() else "?" for each in " ".join(remark.split()))


def _dump(what: Any) -> str:
    return yaml.dump(what, Dumper=_Writer, sort_keys=False, allow_unicode=True, width=10**6)


def flow(value: Any) -> str:
    """A value as YAML on one line.

    >>> flow({"minimum": 0, "maximum": "007"}), flow(["yes", "a, b"]), flow(None)
    ("{minimum: 0, maximum: '007'}", "['yes', 'a, b']", 'null')
    """
    text: str = yaml.dump(
        [_plain(value)],
        Dumper=_OnOneLine,
        default_flow_style=True,
        sort_keys=False,
        allow_unicode=True,
        width=10**9,
    )
    return text.strip()[1:-1]


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, date):
        return value.isoformat()
    return value
