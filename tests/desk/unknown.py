"""A file that nobody has described: 24 columns of made-up patients, with all that makes drafts ask."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl


def unknown(path: Path, rows: int = 600) -> Path:
    """Write 24 columns as a hospital might hand them over: missing values, spikes, rare categories."""
    rng = np.random.default_rng(24)
    wards = rng.choice(["north", "south", "east", "west", "annex"], rows, p=[0.3, 0.3, 0.2, 0.195, 0.005])
    age = np.clip(rng.normal(52, 19, rows), 0, 97).astype(int)
    columns: dict[str, object] = {
        "ward": wards,
        "age": age,
        "sex": rng.choice(["f", "m"], rows),
        "admitted": [f"2025-{month:02d}-{day:02d}" for month, day in rng.integers(1, 28, (rows, 2)) % 12 + 1],
        "nights": rng.poisson(3, rows),
        "weight": np.round(rng.normal(74, 12, rows), 1),
        "height": np.round(rng.normal(171, 9, rows)).astype(int),
        "smoker": rng.choice(["yes", "no", "?"], rows, p=[0.2, 0.7, 0.1]),
        "insured": rng.choice(["true", "false"], rows),
        "cost": np.round(np.exp(rng.normal(7, 1, rows)), 2),
        "referral": rng.choice(["doctor", "emergency", "self", "transfer"], rows),
        "triage": rng.integers(1, 6, rows),
        "temperature": np.round(rng.normal(36.9, 0.6, rows), 1),
        "systolic": rng.normal(128, 16, rows).astype(int),
        "diastolic": rng.normal(80, 10, rows).astype(int),
        "pulse": rng.normal(74, 11, rows).astype(int),
        "allergy": rng.choice(["none", "pollen", "nuts", "latex"], rows),
        "children": np.where(rng.random(rows) < 0.1, -9, rng.poisson(1.2, rows)),
        "income": np.where(rng.random(rows) < 0.15, 0, rng.integers(800, 9000, rows)),
        "education": rng.choice(["primary", "secondary", "tertiary"], rows),
        "married": rng.choice(["yes", "no"], rows),
        "surgery": rng.choice(["no", "minor", "major"], rows, p=[0.7, 0.2, 0.1]),
        "outcome": rng.choice(["home", "care", "died"], rows, p=[0.85, 0.12, 0.03]),
        "satisfaction": rng.integers(0, 11, rows),
    }
    assert len(columns) == 24
    pl.DataFrame({name: pl.Series(name, list(values)) for name, values in columns.items()}).write_csv(path)  # type: ignore[call-overload]
    return path
