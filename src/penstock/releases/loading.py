"""Release folders read back, without running anything in them and without believing anything in them.

Every file is checked against its fingerprint, every value against its type, what one file says against the
others, and every problem is one sentence.
"""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Iterable
from pathlib import Path

from penstock import catalogue
from penstock.errors import PenstockError, PenstockWarning, ReleaseError
from penstock.privacy.budgets.receipt import Receipt
from penstock.releases.disk import AGAIN, DISTRUST, fingerprint, read
from penstock.releases.formats import upgraded_model, upgraded_schema
from penstock.releases.model import Manifest, Model
from penstock.releases.package import About, Package, from_json, read_package
from penstock.releases.parquet import read_table
from penstock.releases.release import Release
from penstock.schema import Schema, document

MEGABYTE = 1 << 20
LARGEST = {
    "datapackage.json": 16 * MEGABYTE,
    "receipt.json": 64 * MEGABYTE,
    "schema.yaml": 64 * MEGABYTE,
    "model.json": 256 * MEGABYTE,
}
LARGEST_TABLE = 4096 * MEGABYTE


def load(folder: str | Path) -> Release:
    """The release in a folder; ReleaseError if it is damaged, hostile or not a release."""
    place = Path(folder)
    if not place.is_dir():
        missing = "is not a folder" if place.exists() else "does not exist"
        raise ReleaseError(f"'{folder}' {missing}; name the folder of a release.")
    if not (place / "datapackage.json").is_file():
        raise ReleaseError(f"'{folder}' is not a release: it has no datapackage.json.")
    package = read_package(
        read(place, "datapackage.json", at_most=LARGEST["datapackage.json"]),
        f"'{place / 'datapackage.json'}'",
    )
    form = find(package.penstock.form)
    contents = _checked(place, package)
    for needed in ("receipt.json", "schema.yaml", "model.json"):
        if needed not in contents:
            raise ReleaseError(f"'{place / 'datapackage.json'}' does not list {needed}. {AGAIN}")
    _name_strangers(place, package)
    manifest = _manifest(package, contents, place)
    _refuse_false_names(form, package.penstock, manifest.schema, place)
    tables = {
        name.removeprefix("model-").removesuffix(".parquet"): read_table(data, f"'{place / name}'")
        for name, data in contents.items()
        if name.startswith("model-") and name.endswith(".parquet")
    }
    told = from_json(contents["model.json"], f"'{place / 'model.json'}'")
    facts = upgraded_model(form.form, told, manifest.parameters, package.made)
    return _revive(form, manifest, Model(facts, tables), place)


def unlisted(folder: str | Path, listed: Iterable[str]) -> list[str]:
    """What lies in a release folder besides datapackage.json and the files that it lists, by name."""
    known = {"datapackage.json", *listed}
    return sorted(path.name for path in Path(folder).iterdir() if path.name not in known)


def _name_strangers(place: Path, package: Package) -> None:
    """Warn of files that the release does not list.

    They are never read, so they cannot harm whoever loads the release, and a publisher may well add a
    licence. But no receipt covers them: whoever sees the folder should know which these are.
    """
    strange = unlisted(place, (resource.path for resource in package.resources))
    if strange:
        shown = ", ".join(repr(name[:80]) for name in strange[:5]) + (", …" if len(strange) > 5 else "")
        warnings.warn(
            f"'{place}' holds what the release does not list: {shown}. The guarantee does not cover it; "
            "take it out unless it is meant to be public.",
            PenstockWarning,
            stacklevel=3,
        )


def find(form: str) -> type[Release]:
    """The class for a form; unknown names are refused before anything is imported."""
    place = catalogue.form(form).where
    found = catalogue.load(place)
    if not isinstance(found, type) or not issubclass(found, Release):
        raise TypeError(f"{place} is no release")
    return found


def _refuse_false_names(form: type[Release], about: About, schema: Schema, place: Path) -> None:
    """The kind of data and the kind of answer must be those of the schema and of the model."""
    if about.kind not in form.kinds:
        raise ReleaseError(
            f"'{place}' calls itself a release of {about.kind}, but its model is "
            f"one of {' or '.join(form.kinds)}. {AGAIN}"
        )
    if about.kind != schema.kind:
        raise ReleaseError(
            f"'{place}' calls itself a release of {about.kind}, but its schema describes {schema.kind}. "
            f"{AGAIN}"
        )
    if about.answer != form.answer:
        raise ReleaseError(
            f"'{place}' calls itself {about.answer}, but its model is one of {form.answer}. {AGAIN}"
        )


def _revive(form: type[Release], manifest: Manifest, model: Model, place: Path) -> Release:
    """Build the release; whatever a hostile model makes its class stumble over becomes one sentence."""
    import polars as pl

    try:
        return form.from_model(manifest, model)
    except ReleaseError as problem:
        raise ReleaseError(f"'{place}' cannot be opened. {problem}") from None
    except (
        PenstockError,
        ValueError,
        TypeError,
        KeyError,
        IndexError,
        AttributeError,
        ArithmeticError,
        AssertionError,
        RecursionError,
        MemoryError,
        pl.exceptions.PolarsError,
    ) as problem:
        raise ReleaseError(
            f"'{place}' cannot be opened: its model does not fit a {manifest.method} release "
            f"({type(problem).__name__}). {AGAIN}"
        ) from problem


def _manifest(package: Package, contents: dict[str, bytes], place: Path) -> Manifest:
    about = package.penstock
    parsed = from_json(contents["receipt.json"], f"'{place / 'receipt.json'}'")
    try:
        receipt = Receipt.from_dict(parsed)
        schema = _schema(contents["schema.yaml"], package.made)
    except (ReleaseError, RecursionError) as problem:
        raise ReleaseError(f"'{place}' cannot be opened. {problem}") from None
    stated = (about.guarantee, about.epsilon, about.delta, about.publishable)
    publishable = receipt.publishable and schema.publishable
    if stated != (receipt.guarantee, str(receipt.epsilon), str(receipt.delta), publishable):
        raise ReleaseError(
            f"'{place}' cannot be opened: datapackage.json and receipt.json state different "
            f"guarantees. {DISTRUST}"
        )
    if receipt.unit != schema.unit.model_copy(update={"review": False}):
        raise ReleaseError(
            f"'{place}' cannot be opened: receipt.json and schema.yaml disagree about whose presence is "
            f"protected. {DISTRUST}"
        )
    if about.unreviewed != list(schema.to_review()):
        raise ReleaseError(
            f"'{place}' cannot be opened: datapackage.json and schema.yaml disagree about "
            f"what was reviewed. {DISTRUST}"
        )
    return Manifest(about.method, schema, receipt, about.parameters)


def _schema(data: bytes, made: int) -> Schema:
    """The schema of a folder of format `made`.

    YAML that refers to itself could grow without bound, and no release contains it.
    """
    import yaml

    try:
        text = data.decode("utf-8")
        depth = 0
        for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if isinstance(event, yaml.AliasEvent) or depth > 200:
                raise ReleaseError(f"schema.yaml refers to itself or is nested too deeply. {DISTRUST}")
        return Schema.model_validate(upgraded_schema(document.parse(text), made))
    except ReleaseError:
        raise
    except (PenstockError, yaml.YAMLError, ValueError, TypeError, RecursionError) as problem:
        reason = " ".join(str(problem).split())[:300].rstrip(".")
        raise ReleaseError(f"schema.yaml is damaged: {reason}. {AGAIN}") from None


def _checked(place: Path, package: Package) -> dict[str, bytes]:
    """The bytes of the files that loading needs; all files are compared with their fingerprints."""
    contents: dict[str, bytes] = {}
    for resource in package.resources:
        name = resource.path
        limit = LARGEST.get(name, LARGEST_TABLE if name.startswith("model-") else None)
        if limit is None:
            found = fingerprint(place, name)
        else:
            data = read(place, name, at_most=limit)
            found = len(data), hashlib.sha256(data).hexdigest()
            contents[name] = data
        if found != (resource.bytes, resource.hash.removeprefix("sha256:")):
            raise ReleaseError(
                f"'{place / name}' is not the file that was released: its size or SHA-256 "
                f"differs from datapackage.json. {AGAIN}"
            )
    return contents
