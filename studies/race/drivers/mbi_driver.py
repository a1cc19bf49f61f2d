"""MST (McKenna, Miklau and Sheldon 2021) on top of mbi's estimation.

The wheel of mbi has no mechanisms, so the mechanism is written here after the paper: a third of rho for noisy
one-way marginals, rare values merged below three deviations; a third to choose a spanning tree of pairs by
how much each pair differs from what the one-way marginals imply; a third to measure those pairs.
"""

import itertools
import logging
import math

import numpy as np
from arguments import arguments, write_rows

logging.disable(logging.WARNING)

from mbi import Domain, estimation  # noqa: E402
from mbi.marginal_loss import LinearMeasurement  # noqa: E402

given = arguments()
rng = np.random.default_rng()
names = list(given.sizes)
codes = np.loadtxt(given.train, delimiter=",", skiprows=1, dtype=np.int64, ndmin=2)
columns = dict(zip(names, codes.T, strict=True))


def counts(sizes: dict[str, int], data: dict[str, np.ndarray], clique: tuple[str, ...]) -> np.ndarray:
    key = np.zeros(len(codes), dtype=np.int64)
    for name in clique:
        key = key * sizes[name] + data[name]
    return np.bincount(key, minlength=math.prod(sizes[name] for name in clique)).astype(float)


def measured(share: float, cliques: list[tuple[str, ...]], sizes: dict, data: dict) -> dict:
    sigma = math.sqrt(len(cliques) / (2 * share))
    found = {}
    for clique in cliques:
        exact = counts(sizes, data, clique)
        found[clique] = exact + rng.normal(scale=sigma, size=exact.size)
    return {"values": found, "sigma": sigma}


third = given.rho / 3
singles = measured(third, [(name,) for name in names], given.sizes, columns)

# Values whose noisy count is below three deviations become one.
merged, sizes, data, ones = {}, {}, {}, []
for name in names:
    noisy = singles["values"][(name,)]
    common = noisy >= 3 * singles["sigma"]
    lookup = np.where(common, np.cumsum(common) - 1, common.sum())
    sizes[name] = int(common.sum()) + (0 if common.all() else 1)
    merged[name] = lookup
    data[name] = lookup[columns[name]]
    values = np.bincount(lookup, weights=noisy, minlength=sizes[name])
    ones.append(LinearMeasurement(values, (name,), stddev=singles["sigma"]))

domain = Domain(names, [sizes[name] for name in names])
start = estimation.MirrorDescent().estimate(domain, ones, iters=500)

# The tree: pairs in rounds of the exponential mechanism, a pair only where it joins two components.
weight = {}
for pair in itertools.combinations(names, 2):
    weight[pair] = np.abs(counts(sizes, data, pair) - np.asarray(start.project(pair).datavector())).sum()
component = {name: name for name in names}
tree = []
epsilon = math.sqrt(8 * third / (len(names) - 1))
while len(tree) < len(names) - 1:
    open_pairs = [pair for pair in weight if component[pair[0]] != component[pair[1]]]
    scores = epsilon / 2 * np.array([weight[pair] for pair in open_pairs])
    chosen = open_pairs[int(np.argmax(scores + rng.gumbel(size=len(scores))))]
    tree.append(chosen)
    old, new = component[chosen[0]], component[chosen[1]]
    component = {name: new if group == old else group for name, group in component.items()}

pairs = measured(third, tree, sizes, data)
both = ones + [LinearMeasurement(v, clique, stddev=pairs["sigma"]) for clique, v in pairs["values"].items()]
model = estimation.MirrorDescent().estimate(domain, both, iters=1000)
synthetic = model.synthetic_data(rows=given.rows)

out = []
for name in names:
    drawn = np.asarray(synthetic.data[name])
    back = [np.flatnonzero(merged[name] == code) for code in range(sizes[name])]
    column = np.empty(len(drawn), dtype=np.int64)
    for code, leaves in enumerate(back):
        where = drawn == code
        column[where] = rng.choice(leaves, size=int(where.sum()))
    out.append(column.tolist())
write_rows(given.out, names, out)
