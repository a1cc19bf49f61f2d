"""An estimator that processes of their own can import: it hangs on some blocks, and dies on others."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator


class Stubborn(BaseEstimator):  # type: ignore[misc]  # untyped library
    """The mean of the rows; a block with a large one never ends, one with a small one ends the process.

    It answers 0 once it has seen another block before, and makes a file when it hangs.
    """

    seen: ClassVar[list[int]] = []

    def __init__(self, hanging: str = "") -> None:
        self.hanging = hanging

    def fit(self, X: NDArray[np.float64], y: Any = None) -> Stubborn:  # noqa: N803
        if len(X) and X.max() > 5:
            Path(self.hanging).touch()
            signal.pause()
        if len(X) and X.min() < -5:
            os.kill(os.getpid(), signal.SIGKILL)
        Stubborn.seen.append(len(X))
        self.mean_ = np.array([X.mean() if len(Stubborn.seen) == 1 else 0.0])
        return self
