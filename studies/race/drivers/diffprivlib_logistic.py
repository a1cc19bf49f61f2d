"""diffprivlib's private logistic regression on folds that were prepared for it.

Reads `fold-<number>.npz` (x, y, x_test, y_test) from a folder and writes one JSON line for each run: fold,
epsilon, and the share of the test part that is answered rightly. `norm` is a public bound of the length of a
row.
"""

import argparse
import json
import sys
import warnings
from pathlib import Path

import numpy as np
from diffprivlib.models import LogisticRegression

parser = argparse.ArgumentParser()
parser.add_argument("folder", type=Path)
parser.add_argument("--norm", type=float, required=True)
parser.add_argument("--epsilon", action="append", required=True)
parser.add_argument("--runs", type=int, required=True)
given = parser.parse_args()

warnings.filterwarnings("ignore", module="sklearn")
for path in sorted(given.folder.glob("fold-*.npz")):
    fold = np.load(path)
    for epsilon in given.epsilon:
        for run in range(given.runs):
            model = LogisticRegression(epsilon=float(epsilon), data_norm=given.norm, max_iter=500)
            model.fit(fold["x"], fold["y"])
            right = float((model.predict(fold["x_test"]) == fold["y_test"]).mean())
            print(json.dumps({"fold": path.stem, "epsilon": epsilon, "run": run, "accuracy": right}))
            sys.stdout.flush()
