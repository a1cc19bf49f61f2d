"""diffprivlib's linear models on prepared arrays: one line of JSON with what each of them got right.

Run in an environment of its own: ``python diffprivlib_driver.py arrays.npz``. Labels are scored by accuracy,
numbers by R squared after they were moved into the declared bounds, as ours are; a fit that fails is told
with its reason.
"""

from __future__ import annotations

import json
import sys
import warnings
from typing import Any

import numpy as np


def fitted(task: str, arrays: Any, epsilon: float, seed: int) -> float:
    from diffprivlib.models import LinearRegression, LogisticRegression

    x, y = arrays["x"], arrays["y"]
    if task == "labels":
        norm = float(arrays["norm"])
        model = LogisticRegression(epsilon=epsilon, data_norm=norm, max_iter=1000, random_state=seed)
    else:
        low, high = arrays["low"], arrays["high"]
        between = (float(arrays["y_low"]), float(arrays["y_high"]))
        model = LinearRegression(epsilon=epsilon, bounds_X=(low, high), bounds_y=between, random_state=seed)
    model.fit(x, y)
    if task == "labels":
        return float(model.score(arrays["ask"], arrays["truth"]))
    said, true = np.clip(model.predict(arrays["ask"]), *between), arrays["truth"]
    return float(1 - ((said - true) ** 2).mean() / true.var())


def main() -> None:
    warnings.simplefilter("ignore")
    arrays = np.load(sys.argv[1])
    task = str(arrays["task"])
    found = []
    for epsilon in arrays["epsilons"].tolist():
        try:
            found.append({"epsilon": epsilon, "value": fitted(task, arrays, epsilon, int(arrays["seed"]))})
        except Exception as problem:
            found.append({"epsilon": epsilon, "failed": f"{type(problem).__name__}: {problem}"[:200]})
    print(json.dumps(found))


if __name__ == "__main__":
    main()
