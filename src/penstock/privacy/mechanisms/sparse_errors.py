"""How far public estimates are off, as queries for a sparse vector."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.errors import UsageError
from penstock.privacy.seals.sealed import Sealed, form_of
from penstock.privacy.seals.sensitivity import Sensitivity


def error_queries(answers: Sealed[NDArray[Any]], estimates: Any) -> Sealed[NDArray[Any]]:
    """How far public estimates are off: |estimate - answer|, sealed, to be asked of a sparse vector.

    The noise of the sparse vector then comes outside the absolute value, where the theorem covers it. An
    error moves by no more than its answer does, but as answers rise errors may fall or rise: never monotone.
    """
    guesses = np.asarray(estimates)
    form = form_of(answers)
    if guesses.dtype.kind not in "iuf" or not np.all(np.isfinite(guesses)):
        raise UsageError("Estimates are public finite numbers, one for all answers or one for each.")
    try:
        np.broadcast_to(guesses, form.shape)
    except ValueError:
        raise UsageError(
            f"There are {guesses.size} estimates for {form.size} answers; give one for each."
        ) from None
    moves = answers.sensitivity

    def off(whole: NDArray[Any]) -> NDArray[Any]:
        if np.asarray(whole).dtype.kind == "f" or guesses.dtype.kind == "f":
            distance: NDArray[np.float64] = np.abs(np.asarray(whole, dtype=np.float64) - guesses)
            return distance
        exact_errors = np.abs(np.asarray(whole).astype(object) - guesses.astype(object))
        largest = int(np.iinfo(np.int64).max)
        held: NDArray[np.int64] = np.minimum(exact_errors, largest).astype(np.int64)
        return held

    return answers.claim(
        off,
        Sensitivity(moves.l1, moves.linf, moves.l2_squared),
        dtype=np.float64 if "f" in (form_of(answers).kind, guesses.dtype.kind) else np.int64,
        because="the distance from a fixed number moves by no more than the number does",
    )
