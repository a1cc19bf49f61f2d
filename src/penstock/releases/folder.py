"""Releases as folders of plain files: JSON, YAML, CSV, Parquet and one HTML page.

    datapackage.json   table of contents with size and SHA-256 of every other file
    receipt.json       every charge, and the guarantee in words
    schema.yaml        what was public before anyone looked
    model.json         the model, with its tables in model-*.parquet
    synthetic.csv      synthetic rows, `sample(seed=0)`, up to a million; also as Parquet when there are many
    report.html        the public report

Saving is atomic. Loading runs no code from the folder and believes nothing in it: every file is
checked against its fingerprint, every value against its type, and every problem is one sentence.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from penstock.errors import PenstockError, QueryError, ReleaseError, UsageError
from penstock.progress import progress
from penstock.releases import registry
from penstock.releases.disk import AGAIN, DISTRUST, check_destination, fingerprint, read, whole_folder
from penstock.releases.package import (
    FORMAT,
    About,
    Package,
    Resource,
    file_name,
    from_json,
    penstock_version,
    read_package,
    slug,
    table_schema,
    to_json,
)
from penstock.releases.parquet import read_table
from penstock.releases.release import Manifest, Model, Release

if TYPE_CHECKING:
    import polars as pl

    from penstock.schema import Schema

__all__ = ["check_destination", "load", "save"]

MEGABYTE = 1 << 20
LARGEST = {
    "datapackage.json": 16 * MEGABYTE,
    "receipt.json": 64 * MEGABYTE,
    "schema.yaml": 64 * MEGABYTE,
    "model.json": 256 * MEGABYTE,
}
LARGEST_TABLE = 4096 * MEGABYTE
MANY_ROWS = 100_000
MOST_ROWS = 1_000_000
"""As many synthetic rows are put into the folder at most; anyone can draw more from the model."""

_MEDIA = {
    ".json": "application/json",
    ".yaml": "application/yaml",
    ".csv": "text/csv",
    ".parquet": "application/vnd.apache.parquet",
    ".html": "text/html",
}
_TITLES = {
    "receipt.json": "What was paid: every charge and the guarantee",
    "schema.yaml": "What was public before",
    "model.json": "The released model",
    "report.html": "The report for people",
}


def save(release: Release, folder: str | Path, *, overwrite: bool = False) -> Path:
    """Write the release to a new folder: all of it, or nothing.

    An existing folder is refused; with `overwrite` an existing *release* folder is replaced, and
    stays as it was until the new one is complete.
    """
    if registry.find(release.form) is not type(release):
        raise ReleaseError(
            f"The form '{release.form}' is registered for another class than {type(release).__name__}."
        )
    title = Path(folder).name or "release"
    model = release.model()
    files = 5 + len(model.tables)
    with whole_folder(folder, overwrite=overwrite) as partial, progress("writing the release", files) as step:
        _write(partial / "receipt.json", to_json(release.receipt.to_dict()))
        # A draft's remarks tell the custodian what was read off the records; they are no public facts.
        _write(partial / "schema.yaml", release.schema.with_remarks({}).to_yaml())
        _write(partial / "model.json", to_json(model.json))
        step(3)
        for name, table in model.tables.items():
            table.write_parquet(partial / file_name(name))
            step(1)
        rows = _save_rows(release, partial)
        step(1)
        from penstock.releases.public_report import report

        _write(partial / "report.html", report(release, title=title))
        step(1)
        package = _contents(release, partial, title, rows)
        _write(partial / "datapackage.json", package.to_json())
    return Path(folder)


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
    kind = registry.find(package.penstock.form)
    contents = _checked(place, package)
    for needed in ("receipt.json", "schema.yaml", "model.json"):
        if needed not in contents:
            raise ReleaseError(f"'{place / 'datapackage.json'}' does not list {needed}. {AGAIN}")
    manifest = _manifest(package, contents, place)
    if kind.kind != package.penstock.kind:
        raise ReleaseError(
            f"'{place}' calls itself a release of {package.penstock.kind}, but its model is "
            f"one of {kind.kind}. {AGAIN}"
        )
    tables = {
        name.removeprefix("model-").removesuffix(".parquet"): read_table(data, f"'{place / name}'")
        for name, data in contents.items()
        if name.startswith("model-") and name.endswith(".parquet")
    }
    model = Model(from_json(contents["model.json"], f"'{place / 'model.json'}'"), tables)
    return _revive(kind, manifest, model, place)


def _revive(kind: type[Release], manifest: Manifest, model: Model, place: Path) -> Release:
    """Build the release; whatever a hostile model makes its class stumble over becomes one sentence."""
    import polars as pl

    try:
        return kind.from_model(manifest, model)
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
    from penstock.privacy.budgets.receipt import Receipt

    about = package.penstock
    parsed = from_json(contents["receipt.json"], f"'{place / 'receipt.json'}'")
    try:
        receipt = Receipt.from_dict(parsed)
        schema = _schema(contents["schema.yaml"])
    except (ReleaseError, RecursionError) as problem:
        raise ReleaseError(f"'{place}' cannot be opened. {problem}") from None
    stated = (about.epsilon, about.delta, about.publishable)
    if stated != (str(receipt.epsilon), str(receipt.delta), receipt.publishable):
        raise ReleaseError(
            f"'{place}' cannot be opened: datapackage.json and receipt.json state different "
            f"guarantees. {DISTRUST}"
        )
    if about.unreviewed != list(schema.to_review()):
        raise ReleaseError(
            f"'{place}' cannot be opened: datapackage.json and schema.yaml disagree about "
            f"what was reviewed. {DISTRUST}"
        )
    return Manifest(about.method, schema, receipt, about.parameters, about.version)


def _schema(data: bytes) -> Schema:
    """The schema; YAML that refers to itself could grow without bound, and no release contains it."""
    import yaml

    from penstock.schema import Schema

    try:
        text = data.decode("utf-8")
        depth = 0
        for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if isinstance(event, yaml.AliasEvent) or depth > 200:
                raise ReleaseError(f"schema.yaml refers to itself or is nested too deeply. {DISTRUST}")
        return Schema.from_yaml(text)
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


def _save_rows(release: Release, partial: Path) -> pl.DataFrame | None:
    """Synthetic rows as CSV, and as Parquet too when there are many.

    Drawn with seed 0, so that anyone can check that they come from the model: sampling is
    post-processing and needs no secret randomness.
    """
    if not release.can_sample:
        return None
    try:
        rows = release.sample(min(release.size, MOST_ROWS), seed=0)
    except (QueryError, UsageError):
        return None  # the noise is drawn and paid for: what can be saved is saved
    flat(rows).write_csv(partial / "synthetic.csv")
    if rows.height > MANY_ROWS:
        rows.write_parquet(partial / "synthetic.parquet")
    return rows


def flat(rows: pl.DataFrame) -> pl.DataFrame:
    """Lists become JSON text, as Table Schema writes arrays in CSV."""
    import json

    import polars as pl

    nested = [column for column, dtype in rows.schema.items() if dtype.is_nested()]
    texts = [
        pl.Series(
            column,
            [
                None if cell is None else json.dumps(cell, ensure_ascii=False)
                for cell in rows[column].to_list()
            ],
            dtype=pl.String,
        )
        for column in nested
    ]
    return rows.with_columns(texts) if texts else rows


def _contents(release: Release, partial: Path, title: str, rows: pl.DataFrame | None) -> Package:
    receipt = release.receipt
    about = About(
        format=FORMAT,
        version=penstock_version(),
        form=release.form,
        kind=release.kind,
        method=release.method,
        parameters=from_json(to_json(release.parameters).encode(), "parameters"),
        guarantee=receipt.guarantee,
        epsilon=str(receipt.epsilon),
        delta=str(receipt.delta),
        publishable=receipt.publishable,
        unreviewed=list(release.unreviewed),
    )
    # Without a date, two runs with one seed give the same bytes.
    created = datetime.now(UTC).isoformat(timespec="seconds") if receipt.publishable else None
    names = _ordered(path.name for path in partial.iterdir())
    return Package(
        name=slug(title),
        title=title[:1000],
        created=created,
        resources=[_resource(partial, name, release, rows) for name in names],
        penstock=about,
    )


def _ordered(names: Iterable[str]) -> list[str]:
    """The rows come first, because people look there first."""
    return sorted(names, key=lambda name: (not name.startswith("synthetic"), name))


def _resource(partial: Path, name: str, release: Release, rows: pl.DataFrame | None) -> Resource:
    size, digest = fingerprint(partial, name)
    suffix = Path(name).suffix
    is_rows = name.startswith("synthetic.") and rows is not None
    return Resource(
        name=slug(name.replace(".", "-")),
        path=name,
        bytes=size,
        hash=f"sha256:{digest}",
        type="table" if is_rows else None,
        format=suffix.removeprefix("."),
        mediatype=_MEDIA[suffix],
        encoding=None if suffix == ".parquet" else "utf-8",
        title="Synthetic rows" if is_rows else _TITLES.get(name),
        schema_=table_schema(rows, release.schema) if is_rows and rows is not None else None,
    )


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8", newline="\n")
