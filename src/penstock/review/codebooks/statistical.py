"""Value labels of Stata and SPSS files: their description is read, and not one of their records."""

from __future__ import annotations

from pathlib import Path

from penstock.errors import UsageError
from penstock.review.codebooks.entry import Entry, text_of


def read(path: Path) -> list[Entry]:
    """The labelled variables of a .dta, .sav or .zsav file."""
    try:
        import pyreadstat
    except ModuleNotFoundError:
        raise UsageError(
            "Stata and SPSS files are read with pyreadstat; install it with "
            "'pip install penstock[codebooks]'."
        ) from None
    reader = pyreadstat.read_dta if path.suffix.lower() == ".dta" else pyreadstat.read_sav
    try:
        _, meta = reader(str(path), metadataonly=True)
    except Exception as problem:  # the reader's own errors have no common class
        raise UsageError(f"'{path}' cannot be read as a {path.suffix} file: {problem}.") from None
    labels = meta.variable_value_labels
    missing = meta.missing_ranges
    found = []
    for name, title in zip(meta.column_names, meta.column_labels, strict=True):
        lost = {
            text_of(span["lo"])
            for span in missing.get(name, ())
            if span["lo"] == span["hi"]  # a range of missing values has no single sign
        }
        values = {text_of(code): str(label) for code, label in labels.get(name, {}).items()}
        found.append(
            Entry(
                name=name,
                title=title or "",
                values={code: label for code, label in values.items() if code not in lost},
                signs=tuple(sorted(lost)),
            )
        )
    return found
