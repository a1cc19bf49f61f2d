"""PrivBayes and confluence as the studies run them, non-private variants, and metrics of networks.

Nothing here runs by itself. The variants that look at the records without paying (`NoPrivacy`,
`BestNetwork`, `BestMarginal`) exist to find out where the error comes from and are no releases.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frame.data import Dataset, load
from frame.tabular import Fit, Outcome, Rows
from penstock.kinds.table.confluence.method import Confluence
from penstock.kinds.table.network.conditionals import added_up, conditional, measure
from penstock.kinds.table.network.encoding import Encoding, EncodingName, encoded
from penstock.kinds.table.network.network import Network
from penstock.kinds.table.network.parents import Pair
from penstock.kinds.table.privbayes.joints import repaired, sources
from penstock.kinds.table.privbayes.method import SIZE_SHARE, PrivBayes
from penstock.kinds.table.privbayes.scores import information
from penstock.kinds.table.privbayes.structure import binary_candidates, general_candidates, marginal, shape
from penstock.kinds.table.privbayes.usefulness import cell_limit, degree
from penstock.privacy.budgets.amounts import exact
from penstock.privacy.budgets.budget import Budget
from penstock.privacy.randomness.generator import Randomness
from penstock.schema import Relation

BUDGETS = ("0.05", "0.1", "0.2", "0.4", "0.8", "1.6")
ALL_BINARY = ("nltcs", "acs")

LARGEST_DEGREE = {"nltcs": 7, "acs": 4}
LARGEST_DEGREE_IN_BITS = {"adult": 2, "br2000": 3}
"""Caps on the degree, for computing time only; the authors' code caps it as well (at 6, 4, 3 and 2)."""

Reals = NDArray[np.float64]


def whole(dataset: Dataset) -> str:
    """The name of the dataset that a training part belongs to."""
    return dataset.name.partition(" ")[0]


@dataclass(frozen=True)
class Journal:
    """The published algorithm: public n, replacement of one record, the sensitivities of the paper.

    `options` are parameters of `PrivBayes`; the caps on the degree are added where a network is binary.
    """

    options: Mapping[str, Any] = field(default_factory=dict)

    def method(self, dataset: Dataset) -> PrivBayes:
        name = whole(dataset)
        caps = LARGEST_DEGREE if name in ALL_BINARY else LARGEST_DEGREE_IN_BITS
        binary = name in ALL_BINARY or self.options.get("encoding") in ("binary", "gray")
        options = {"max_degree": caps[name], **self.options} if binary and name in caps else self.options
        return PrivBayes(preset="journal", **options)

    def __call__(self, dataset: Dataset, epsilon: str, seed: int) -> Outcome:
        return Fit(self.method(dataset))(dataset, epsilon, seed)


def journal(**options: Any) -> Journal:
    return Journal(options)


@dataclass(frozen=True)
class Published:
    """The algorithm of the paper with other parameters; degrees are capped for computing time."""

    preset: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, dataset: Dataset, epsilon: str, seed: int) -> Outcome:
        name = whole(dataset)
        cap = {"max_degree": LARGEST_DEGREE[name]} if name in LARGEST_DEGREE else {}
        relation = Relation.ADD_REMOVE if self.preset == "plain" else Relation.REPLACE
        method: Any = PrivBayes(preset=self.preset, **cap, **self.options)  # type: ignore[arg-type]
        return Fit(method, relation)(dataset, epsilon, seed)


def plain(**options: Any) -> Published:
    """The published algorithm with our proofs and post-processing, n private."""
    return Published("plain", options)


def confluence() -> Fit:
    """Our own method, the default of `penstock release`, with n private."""
    return Fit(Confluence(), Relation.ADD_REMOVE)


def degree_of(name: str, epsilon: str) -> int:
    """The number of parents that `plain` takes on a binary table, but for the noise in n."""
    dataset, recipe = load(name), PrivBayes(preset="plain").recipe()
    share = (1 - SIZE_SHARE) * (1 - recipe.beta) * exact(epsilon)
    return degree(dataset.rows, share, len(dataset.names), recipe.theta, 1, LARGEST_DEGREE[whole(dataset)])


# Without privacy ------------------------------------------------------------------------------------------


@cache
def _known_information(dataset: str, encoding: EncodingName) -> dict[Pair, float]:
    return {}


def informations(dataset: Dataset, encoding: Encoding, pairs: Sequence[Pair]) -> list[float]:
    """The mutual information between child and parents in the records themselves, in bits."""
    known = _known_information(dataset.name, encoding.name)
    new = [pair for pair in dict.fromkeys(pairs) if pair not in known]
    shapes = [shape(encoding.variables, pair) for pair in new]
    counts = dataset.engine.counts([marginal(encoding.variables, pair) for pair in new])
    groups: dict[tuple[int, int], list[int]] = {}
    for place, each in enumerate(shapes):
        groups.setdefault(each, []).append(place)
    for each, places in groups.items():
        stack = np.stack([counts[place] for place in places]).reshape(-1, *each)
        for place, value in zip(places, information(stack), strict=True):
            known[new[place]] = float(value)
    return [known[pair] for pair in pairs]


def greedy(
    dataset: Dataset, encoding: Encoding, epsilon: str, start: int, beta: Fraction, theta: Fraction
) -> list[Pair]:
    """The network of the algorithm with exact choices by mutual information; not private."""
    d, n = len(encoding.variables), dataset.rows
    share = (1 - beta) * exact(epsilon)
    if encoding.binary:
        k = degree(n, share, d, theta, 2, LARGEST_DEGREE.get(whole(dataset)))
        candidates = binary_candidates(encoding.variables, k)
    else:
        candidates = general_candidates(encoding.variables, cell_limit(n, share, d, theta, 2))
    chosen = [Pair(start % d)]
    while len(chosen) < d:
        options = candidates([pair.child for pair in chosen])
        found = informations(dataset, encoding, options)
        chosen.append(options[int(np.argmax(found))])
    return chosen


@dataclass(frozen=True, eq=False)
class Model:
    """What metrics ask of a network that no budget paid for."""

    network: Network
    encoding: Encoding


def rows_of(
    dataset: Dataset,
    encoding: Encoding,
    pairs: Sequence[Pair],
    joints: Callable[[Sequence[Pair]], list[Reals]],
    seed: int,
) -> Rows:
    """Synthetic rows from a network with the given joint tables, clamped as in the paper."""
    tables = [conditional(joint, "uniform") for joint in joints(pairs)]
    network = Network(encoding.variables, tuple(pairs), tuple(tables))
    rng = np.random.default_rng(seed)
    codes, _ = encoding.codes(network.sample(dataset.rows, rng), dataset.rows)
    return Rows(codes, dataset.sizes, Model(network, encoding))


def exact_joints(dataset: Dataset, encoding: Encoding) -> Callable[[Sequence[Pair]], list[Reals]]:
    def joints(pairs: Sequence[Pair]) -> list[Reals]:
        counts = dataset.engine.counts([marginal(encoding.variables, pair) for pair in pairs])
        return [
            table.reshape([encoding.variables[v].sizes[level] for v, level in pair.parts]).astype(float)
            for table, pair in zip(counts, pairs, strict=True)
        ]

    return joints


@dataclass(frozen=True)
class _Variant:
    """What looks at the records without noise, to see what noise costs where; it is not private.

    `private` stands beside what decides a result, and so not in its `repr`.
    """

    beta: Fraction = Fraction(3, 10)
    theta: Fraction = Fraction(4)
    encoding: EncodingName = "hierarchical"
    private: bool = field(default=False, repr=False)

    def __post_init__(self) -> None:
        if self.private:
            raise ValueError("the network or its marginals are looked up in the records: this is not private")

    def _encoding(self, dataset: Dataset) -> Encoding:
        return encoded(self.encoding, dataset.schema.attributes)


@dataclass(frozen=True)
class NoPrivacy(_Variant):
    """Exact choices and exact marginals, under the same limits on the network."""

    def __call__(self, dataset: Dataset, epsilon: str, seed: int) -> Rows:
        encoding = self._encoding(dataset)
        pairs = greedy(dataset, encoding, epsilon, seed, self.beta, self.theta)
        return rows_of(dataset, encoding, pairs, exact_joints(dataset, encoding), seed)


@dataclass(frozen=True)
class BestNetwork(_Variant):
    """Exact choices, noisy marginals with the usual share of the budget."""

    def __call__(self, dataset: Dataset, epsilon: str, seed: int) -> Rows:
        encoding = self._encoding(dataset)
        pairs = greedy(dataset, encoding, epsilon, seed, self.beta, self.theta)
        budget = Budget((1 - self.beta) * exact(epsilon), randomness=Randomness.seeded(seed))

        def joints(chosen: Sequence[Pair]) -> list[Reals]:
            source = sources(encoding.variables, chosen, reuse=encoding.binary)
            counted = sorted(set(source))
            found = measure(
                dataset.table(),
                encoding.variables,
                [chosen[number].parts for number in counted],
                budget.evenly([str(number) for number in counted]),
            )
            tables = {
                number: repaired(one.counts, "clamp") for number, one in zip(counted, found, strict=True)
            }
            return [
                added_up(tables[source[i]], chosen[source[i]].parts, pair.parts, encoding.variables)
                for i, pair in enumerate(chosen)
            ]

        return rows_of(dataset, encoding, pairs, joints, seed)


@dataclass(frozen=True)
class BestMarginal(_Variant):
    """The private network, exact marginals."""

    def __call__(self, dataset: Dataset, epsilon: str, seed: int) -> Rows:
        made = journal(beta=self.beta, theta=self.theta, encoding=self.encoding)
        outcome = made(dataset, epsilon, seed)
        encoding, network = outcome.release.encoding, outcome.release.network
        return rows_of(dataset, encoding, network.pairs, exact_joints(dataset, encoding), seed)


# Metrics of networks --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NetworkQuality:
    """The sum of mutual informations between each child and its parents, in the records themselves."""

    def __call__(self, dataset: Dataset, outcome: Outcome, seed: int) -> float | None:
        release = outcome.release
        if release is None or not hasattr(release, "network"):
            return None
        return float(sum(informations(dataset, release.encoding, list(release.network.pairs))))


def best_known_quality(name: str) -> float:
    """An upper limit of the quality: the sum of entropies of all attributes minus that of the rows."""
    dataset = load(name)
    _, weights = dataset.engine.distinct(dataset.names)
    single = sum(_entropy(counts) for counts in dataset.engine.counts([(n,) for n in dataset.names]))
    return float(single - _entropy(weights))


def _entropy(counts: NDArray[Any]) -> float:
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log2(shares)).sum())
