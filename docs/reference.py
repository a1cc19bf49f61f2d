"""Fills pages from the program itself, so that they cannot go stale.

Commands come from the command line, methods, kinds and forms from the catalogue, parameters from their
declarations. A page says where by a comment, such as ``<!-- the baselines -->``. What only people can say,
such as when to use a method, stands on the method's page and is read from there.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

from penstock import catalogue
from penstock.catalogue import KindInfo, MethodInfo, SketchInfo

HERE = Path(__file__).parent
Entry = tuple[str, str]


def on_config(config: Any, **_: Any) -> Any:
    """Called by MkDocs once: a page for each method of the catalogue, between the first page and the last."""
    for section in config.nav:
        if "Methods" in section:
            first, *rest = section["Methods"]
            living = catalogue.sketches(role="method")
            pages = [{info.name: page_of(info)} for info in (*offered(), *living)]
            section["Methods"] = [first, *pages, *rest]
    return config


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Called by MkDocs for every page."""
    for place, filled in PLACES.items():
        if place in markdown:
            markdown = markdown.replace(place, filled())
    for pattern, filled_with in NAMED_PLACES.items():
        for place, name in {found[0]: found[1] for found in re.finditer(pattern, markdown)}.items():
            markdown = markdown.replace(place, filled_with(name))
    return markdown


# The lists of the reference ----------------------------------------------------------------------------


def methods() -> list[Entry]:
    """Every method and baseline by name, with the dotted path of its class."""
    return [(info.name, info.where.replace(":", ".")) for info in catalogue.methods()]


def handles() -> list[Entry]:
    """Every kind of data by name, with the dotted path of the handle that its methods take."""
    return [(info.name, (info.data or "").replace(":", ".")) for info in catalogue.kinds()]


def forms() -> list[Entry]:
    """Every form of a saved release by name, with the dotted path of its class; each class once."""
    known = {catalogue.form(form).where.replace(":", "."): form for form in reversed(catalogue.forms())}
    return sorted((form, where) for where, form in known.items())


def listed(entries: Iterable[Entry], about: Callable[[str], Sequence[str]] = lambda name: ()) -> str:
    """A section for each: its name, what is to be said about it, and what its docstrings say."""
    return "\n\n".join(
        part for name, where in entries for part in (f"## {name}", *about(name), f"::: {where}")
    )


def about_method(name: str) -> list[str]:
    """Where the method is explained, and its parameters."""
    info = catalogue.method(name)
    words = (
        "Its theorem, cost and limits"
        if info.role == "baseline"
        else "When to use it, its theorem, how good it is"
    )
    return [f"[{words}](../{page_of(info)}).", parameters(name)]


def parameters(name: str) -> str:
    """The parameters of a method with default and range, as it declares them."""
    from penstock.contracts.parameters import FromPython
    from penstock.contracts.plug import method_class
    from penstock.kinds.stream.living import living_class

    fed = name in [info.name for info in catalogue.sketches()]
    found = living_class(name).sketch_class if fed else method_class(catalogue.method(name))
    rows = []
    for parameter in found.parameters():
        words = parameter.domain.words
        if isinstance(parameter.domain, FromPython):
            words += " (from Python only)"
        if parameter.optional:
            words += "; or none"
        rows.append((f"`{parameter.name}`", f"`{written(parameter.default)}`", words))
    return table(("parameter", "default", "what it may be"), rows) if rows else "It has no parameters."


def written(value: object) -> str:
    """A default as one would write it behind `--param name=`.

    >>> written(None), written(True), written(10.0), written("1/2")
    ('none', 'true', '10', '1/2')
    """
    if value is None or isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


# Which method -----------------------------------------------------------------------------------------


def offered(kind: str | None = None) -> list[MethodInfo]:
    """The methods, kind by kind, the default of each first."""
    order = [info.name for info in catalogue.kinds()]
    found = catalogue.methods(kind, role="method")
    return sorted(found, key=lambda info: (order.index(info.kind), not info.default))


def page_of(info: MethodInfo | SketchInfo) -> str:
    """Where a method is explained: on a page of its own, or in a section of the baselines' page."""
    return f"methods/baselines.md#{info.name}" if info.role == "baseline" else f"methods/{info.name}.md"


def choice() -> str:
    """For each kind of data its methods, and when to use them."""
    parts = []
    for kind in catalogue.kinds():
        found = offered(kind.name)
        rows = [(linked(info), info.answer, guarantee(info), info.summary, advice(info)) for info in found]
        titles = ("method", "answer", "guarantee", "what it is", "when to use it")
        parts += [f"## For {kind.words}", table(titles, rows)]
    return "\n\n".join(parts)


def baselines() -> str:
    """The methods to compare with."""
    titles = ("baseline", "data", "answer", "guarantee", "what it is")
    found = catalogue.methods(role="baseline")
    rows = [(linked(info), info.kind, info.answer, guarantee(info), info.summary) for info in found]
    return table(titles, rows)


def sketches() -> str:
    """What a stream can be fed to; for pages in guide/."""
    titles = ("sketch", "protects", "neighbours", "what it is", "questions")
    rows = [
        (
            f"[`{info.name}`](../{page_of(info)}){', the default' if info.default else ''}",
            f"one {info.unit}",
            coded(info.relations),
            info.summary + ("; a baseline" if info.role == "baseline" else ""),
            coded(info.questions),
        )
        for info in catalogue.sketches()
    ]
    return table(titles, rows)


def linked(info: MethodInfo) -> str:
    """The name of a method as a link beside which stands whether it is the default; for pages in methods/."""
    default = ", the default" if info.default else ""
    return f"[`{info.name}`]({page_of(info).removeprefix('methods/')}){default}"


def guarantee(info: MethodInfo) -> str:
    """The guarantee, and under which relations it is given."""
    words = " or ".join(f"`{relation}`" for relation in info.relations)
    return f"{info.guarantee.replace('epsilon', 'ε')}, {words}"


def advice(info: MethodInfo) -> str:
    """When to use a method: the first sentence of that section of its page."""
    text = (HERE / page_of(info)).read_text(encoding="utf-8")
    found = re.search(
        r"^## When to use it\n+(?:- )?(.+?)(?=\n- |\n\n|\.\s|\Z)", text, re.MULTILINE | re.DOTALL
    )
    if found is None:
        raise LookupError(f"docs/{page_of(info)} does not say when to use {info.name}")
    return " ".join(found[1].split()).rstrip(".")


# Kinds of data ----------------------------------------------------------------------------------------


def kinds() -> str:
    """Every kind of data with its units, its block of the schema and its engines."""
    titles = ("kind", "the data", "units, the usual one first", "a block of its own", "`--engine`")
    return table(titles, [_kind(info) for info in catalogue.every_kind()])


def _kind(info: KindInfo) -> tuple[str, ...]:
    units = coded(unit.name for unit in info.units)
    block = f"`{info.layout[0]}`" if info.layout else "–"
    return f"`{info.name}`", info.words, units, block, "fed" if info.living else coded(info.engines)


def units() -> str:
    """The words for whose presence can be protected."""
    return coded(unit.name for unit in catalogue.units())


def named_kinds() -> str:
    """Every kind of data by its name."""
    return table(("kind", "the data"), [(f"`{info.name}`", info.words) for info in catalogue.kinds()])


def blocks() -> str:
    """For each kind with a block of its own in the schema the row of a table."""
    found = [(info.layout[0], info.name) for info in catalogue.every_kind() if info.layout is not None]
    return "\n".join(
        f"| `{key}` | in data of kind `{kind}`: which columns make a record |" for key, kind in found
    )


def keys_of_blocks() -> str:
    """The keys of these blocks, as each declares them."""
    from penstock.schema.layout import layout_class

    parts = []
    for info in catalogue.every_kind():
        block = layout_class(info.name)
        if block is not None:
            key, layout = block
            fields = layout.model_fields.items()
            rows = [(f"`{field.alias or name}`", field.description or "") for name, field in fields]
            parts += [f"### Keys of {key}", table(("key", "meaning"), rows)]
    return "\n\n".join(parts)


# What is written to disk ------------------------------------------------------------------------------


def answers() -> str:
    """Every kind of answer."""
    rows = [(f"`{info.name}`", info.words) for info in catalogue.ANSWERS.values()]
    return table(("answer", "what the release is"), rows)


def models() -> str:
    """Every form with the kinds and the answer of the methods that make it, and the words of its model."""
    rows = []
    for info in map(catalogue.form, catalogue.forms()):
        made = [method for method in catalogue.methods() if method.form == info.name]
        tables = [f"`{name}`: {coded(columns)}" for name, columns in info.tables.items()]
        tables += [
            f"`{name}`: {coded(columns)} (not always)" for name, columns in info.optional_tables.items()
        ]
        rows.append(
            (
                f"`{info.name}`",
                coded(kind.name for kind in catalogue.kinds() if kind.name in {each.kind for each in made}),
                coded(dict.fromkeys(method.answer for method in made)),
                coded(info.keys),
                "; ".join(tables) or "–",
            )
        )
    return table(("form", "kinds", "answer", "keys of model.json", "tables with their columns"), rows)


# The audit --------------------------------------------------------------------------------------------


def findings() -> str:
    """Every target of the audit with what the last run found; a target that is new has no figures yet."""
    from penstock.audit import targets
    from penstock.audit.target import Kind

    last = json.loads((HERE / "assets" / "audit.json").read_text(encoding="utf-8"))
    titles = ("target", "what it is", "claim", *FIGURES)
    parts = [last["summary"], "![Claimed and measured privacy loss](assets/audit.png){ loading=lazy }"]
    for title, kind in (("What Penstock ships", Kind.SHIPPED), ("Deliberately broken copies", Kind.BROKEN)):
        rows = []
        for target in targets():
            if target.kind is kind:
                figures = last["targets"].get(target.name, {"verdict": "not in the last run"})
                told = [figures.get(column, "–") for column in FIGURES]
                rows.append((f"`{target.name}`", target.summary, target.promise.words, *told))
        parts += [f"### {title}", table(titles, rows)]
    return "\n\n".join(parts)


FIGURES = ("exact loss", "measured", "verdict")


def mistakes() -> str:
    """Four mistakes of learners, and the broken copy of each learner that makes it."""
    from penstock.audit.mistakes import Mistake
    from penstock.audit.targets import every_audit

    rows = [
        (f"`{learner}`", *(f"`{told}`" if told.startswith("broken-") else told for told in row.values()))
        for audits in every_audit()
        for learner, row in audits.mistakes.items()
    ]
    return table(("learner", *Mistake), rows)


def coded(words: Iterable[str]) -> str:
    """Words set as code."""
    return ", ".join(f"`{word}`" for word in words)


def table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown; what would end a cell is kept from doing so."""
    lines = [titles, ["---"] * len(titles), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', '&#124;') for cell in line)} |" for line in lines)


# Rooms and commands -----------------------------------------------------------------------------------


def room(package: str) -> str:
    """Every module of a room: what its docstrings say."""
    found = import_module(package)
    names = [module.name for module in iter_modules(found.__path__) if not module.name.startswith("_")]
    return "\n\n".join(f"::: {package}.{name}" for name in names)


def commands() -> str:
    """Every command with its help text and options, in Markdown."""
    from penstock.cli import app

    return "\n\n".join(_pages("penstock", app.commands()))


def _pages(path: str, command: Any) -> list[str]:
    inner = getattr(command, "commands", None)
    if inner is None:
        return [_page(path, command)]
    pages = []
    for name in sorted(inner):
        pages += _pages(f"{path} {name}", inner[name])
    return pages


def _page(path: str, command: Any) -> str:
    words = _markdown(inspect.cleandoc(command.help or ""))
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    usage = " ".join(
        [
            path,
            "[OPTIONS]",
            *(f"[{each.metavar}]" if not each.required else each.metavar for each in arguments),
        ]
    )
    rows = []
    for option in command.params:
        if option.param_type_name == "argument" or option.name == "help" or getattr(option, "hidden", False):
            continue
        names = ", ".join(f"`{name}`" for name in option.opts)
        needed = " **Required.**" if option.required else ""
        rows.append(f"| {names} | {_markdown(option.help or '')}{needed} |")
    table = "\n".join(["| option | meaning |", "|---|---|", *rows]) if rows else ""
    return f"## {path}\n\n```text\n{usage}\n```\n\n{words}\n\n{table}"


def _markdown(text: str) -> str:
    """Rich's marks as Markdown's."""
    code = re.sub(r"\[dark_cyan\](.*?)\[/\]", r"```text\n\1\n```", text, flags=re.DOTALL)
    return re.sub(r"\[bold\](.*?)\[/bold\]", r"**\1**", code).replace("\\\\\n", "\\\n")


PLACES: dict[str, Callable[[], str]] = {
    "<!-- the commands, generated from the program itself -->": commands,
    "<!-- the choice of methods -->": choice,
    "<!-- the baselines -->": baselines,
    "<!-- the sketches -->": sketches,
    "<!-- the kinds -->": kinds,
    "<!-- the kinds of data -->": named_kinds,
    "<!-- the kinds of answer -->": answers,
    "<!-- the units -->": units,
    "<!-- the blocks of kinds -->": blocks,
    "<!-- the keys of blocks -->": keys_of_blocks,
    "<!-- the words of models -->": models,
    "<!-- the findings of the audit -->": findings,
    "<!-- the mistakes of learners -->": mistakes,
    "<!-- the methods -->": lambda: listed(methods(), about_method),
    "<!-- the handles -->": lambda: listed(handles()),
    "<!-- the forms -->": lambda: listed(forms()),
}
NAMED_PLACES: dict[str, Callable[[str], str]] = {
    r"<!-- the modules of ([a-z_.]+) -->": room,
    r"<!-- the parameters of ([a-z0-9-]+) -->": parameters,
}
