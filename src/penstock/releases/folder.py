"""Releases as folders of plain files: JSON, YAML, CSV, Parquet and one HTML page.

    datapackage.json   table of contents with size and SHA-256 of every other file
    receipt.json       every charge, and the guarantee in words
    schema.yaml        what was public before anyone looked
    model.json         the model, with its tables in model-*.parquet
    synthetic.csv      synthetic rows, `sample(seed=0)` as it was then, up to a million; many also as Parquet
    report.html        the public report

Saving is atomic; `penstock.releases.loading` reads a folder back. The model is written before all that
can be made from it again, so that a paid model survives whatever happens to the rest.
"""

from __future__ import annotations

import json
import shlex
import warnings
from collections.abc import Iterable
from contextlib import nullcontext, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from penstock import catalogue
from penstock.errors import PenstockError, PenstockWarning, QueryError, ReleaseError, UsageError
from penstock.lifetime import undisturbed
from penstock.progress import progress
from penstock.releases.disk import fingerprint, force_to_disk, hidden_folder, whole_file, whole_folder
from penstock.releases.formats import FORMAT
from penstock.releases.kept import keep, meant_for, state_folder
from penstock.releases.model import Model
from penstock.releases.package import (
    About,
    Package,
    Resource,
    file_name,
    from_json,
    penstock_version,
    slug,
    table_schema,
    to_json,
)
from penstock.releases.paths import absolute
from penstock.releases.published import Published

if TYPE_CHECKING:
    import polars as pl

    from penstock.schema import Schema

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


def save(release: Published, folder: str | Path, *, overwrite: bool = False) -> Path:
    """Write the release to a folder: all of it, or nothing (see `Release.save`)."""
    return _save(release, folder, overwrite=overwrite, keeping=False)


def save_keeping(release: Published, folder: str | Path) -> Path:
    """Write a release whose noise was drawn just now: whatever goes wrong, its model is kept.

    The model comes first, undisturbed; what can be made from it again comes after. Where the destination
    refuses it, it is kept in the state folder. The message says how to finish it.
    """
    target = absolute(folder)
    try:
        return _save(release, folder, overwrite=False, keeping=True)
    except BaseException as problem:
        if _is_there(release, target) or not (meant_for(target) or _kept_elsewhere(release, target)):
            raise
        how = f"Its model is kept; finish it with 'penstock recover {shlex.quote(str(folder))}'."
        if isinstance(problem, PenstockError):
            raise type(problem)(f"{problem} {how}") from None
        warnings.warn(f"'{folder}' is not finished. {how}", PenstockWarning, stacklevel=2)
        raise


def _is_there(release: Published, target: Path) -> bool:
    """Whether this very release has its place: whatever went wrong came after that."""
    try:
        return (target / "receipt.json").read_text(encoding="utf-8") == to_json(release.receipt.to_dict())
    except (OSError, ValueError):
        return False


def _save(release: Published, folder: str | Path, *, overwrite: bool, keeping: bool) -> Path:
    from penstock.releases import public_report  # and pages with it, which no fit needs

    _refuse_unregistered(release)
    title = Path(folder).name or "release"
    target = absolute(folder)
    model = release.model()
    files = 5 + len(model.tables)
    with whole_folder(folder, overwrite=overwrite) as partial, progress("writing the release", files) as step:
        with undisturbed() if keeping else nullcontext():
            _save_model(release, model, partial)
            if keeping:
                _keep(release, partial, title, target)
        step(3 + len(model.tables))
        rows = _save_rows(release, partial)
        step(1)
        _write(partial / "report.html", public_report.report(release, title=title))
        step(1)
        contents = _contents(release, partial, title, rows).to_json()
        if not keeping:
            _write(partial / "datapackage.json", contents)
        else:  # there is one that lists the model alone, and one of the two must always be there
            with whole_file(partial / "datapackage.json") as exchanged:
                _write(exchanged, contents)
    return Path(folder)


def _refuse_unregistered(release: Published) -> None:
    if catalogue.form(release.form).where != f"{type(release).__module__}:{type(release).__qualname__}":
        raise ReleaseError(
            f"The form '{release.form}' is registered for another class than {type(release).__name__}."
        )


def _save_model(release: Published, model: Model, partial: Path) -> None:
    _write(partial / "receipt.json", to_json(release.receipt.to_dict()))
    # A draft's remarks tell the custodian what was read off the records; they are no public facts.
    _write(partial / "schema.yaml", release.schema.with_remarks({}).to_yaml())
    _write(partial / "model.json", to_json(model.json))
    for name, table in model.tables.items():
        table.write_parquet(partial / file_name(name))


def _keep(release: Published, partial: Path, title: str, target: Path) -> None:
    """Make what is there a release that can be loaded, durable, and say that it is one."""
    _write(partial / "datapackage.json", _contents(release, partial, title, None).to_json())
    force_to_disk(partial)
    keep(partial, target, release.receipt.ledger)


def _kept_elsewhere(release: Published, target: Path) -> bool:
    """Try to keep the model in the state folder; whether that worked."""
    import polars as pl

    with suppress(OSError, PenstockError, pl.exceptions.PolarsError), undisturbed():
        place = state_folder()
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        with hidden_folder(place / target.name) as partial:
            _save_model(release, release.model(), partial)
            _keep(release, partial, target.name, target)
        return True
    return False


def _save_rows(release: Published, partial: Path) -> pl.DataFrame | None:
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
    flat(rows, release.schema).write_csv(partial / "synthetic.csv")
    if rows.height > MANY_ROWS:
        rows.write_parquet(partial / "synthetic.parquet")
    return rows


def flat(rows: pl.DataFrame, schema: Schema) -> pl.DataFrame:
    """Rows as a CSV file holds them: lists are JSON text, as Table Schema writes arrays, times have whole
    seconds, and missing values are the text that the schema declares first.
    """
    import polars as pl

    rows = schema.marked(
        rows.with_columns(pl.col(pl.Datetime).dt.strftime("%Y-%m-%dT%H:%M:%S")), as_text=True
    )
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


def _contents(release: Published, partial: Path, title: str, rows: pl.DataFrame | None) -> Package:
    receipt = release.receipt
    about = About(
        format=FORMAT,
        version=penstock_version(),
        form=release.form,
        kind=release.kind,
        answer=release.answer,
        method=release.method,
        parameters=from_json(to_json(release.parameters).encode(), "parameters"),
        guarantee=receipt.guarantee,
        epsilon=str(receipt.epsilon),
        delta=str(receipt.delta),
        publishable=release.publishable,
        unreviewed=list(release.unreviewed),
    )
    # Without a date, two runs with one seed give the same bytes.
    created = datetime.now(UTC).isoformat(timespec="seconds") if receipt.publishable else None
    names = _ordered(path.name for path in partial.iterdir() if path.name != "datapackage.json")
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


def _resource(partial: Path, name: str, release: Published, rows: pl.DataFrame | None) -> Resource:
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
