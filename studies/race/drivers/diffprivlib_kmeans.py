"""diffprivlib's KMeans on columns between 0 and 1: the centres of every run, as JSON."""

import argparse
import csv
import json
import time

import diffprivlib
import numpy as np
import sklearn
from diffprivlib.models import KMeans

parser = argparse.ArgumentParser()
parser.add_argument("points", help="CSV of numbers between 0 and 1")
parser.add_argument("out", help="JSON to write")
parser.add_argument("--epsilon", type=float, required=True)
parser.add_argument("--k", type=int, required=True)
parser.add_argument("--runs", type=int, required=True)
given = parser.parse_args()
with open(given.points) as file:
    rows = np.array(list(csv.reader(file))[1:], dtype=float)
bounds = (np.zeros(rows.shape[1]), np.ones(rows.shape[1]))
centres, seconds = [], []
for seed in range(given.runs):
    begun = time.process_time()
    model = KMeans(n_clusters=given.k, epsilon=given.epsilon, bounds=bounds, random_state=seed).fit(rows)
    seconds.append(time.process_time() - begun)
    centres.append(model.cluster_centers_.tolist())
versions = {"diffprivlib": diffprivlib.__version__, "scikit-learn": sklearn.__version__}
with open(given.out, "w") as file:
    json.dump({"centres": centres, "seconds": seconds, "versions": versions}, file)
