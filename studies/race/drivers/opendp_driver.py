"""OpenDP's contingency tables with the MST or AIM algorithm, or with all pairs, pure epsilon."""

import itertools
import math
from fractions import Fraction

import opendp.prelude as dp
import polars as pl
from arguments import arguments


def fitting(epsilon: float, choices: int) -> float:
    """The largest epsilon, at most 1e-12 below the given one, at which MST does not stop half-way.

    At most others it finds its own budget too small by a rounding (their issue 2789): it adds up
    `choices` equal parts, rounded upwards, and compares with the whole.
    """
    below = -math.inf
    for _ in range(4096):
        whole = math.nextafter(math.nextafter(epsilon - epsilon * 0.5, below), below)
        choosing = math.nextafter(math.nextafter(whole - whole * 0.9, below), below)
        part = math.nextafter(choosing / choices, below)
        total = 0.0
        for _ in range(choices):
            exact = Fraction(total) + Fraction(part)
            total = float(exact)
            total = total if Fraction(total) >= exact else math.nextafter(total, math.inf)
        if total <= choosing:
            return epsilon
        epsilon = math.nextafter(epsilon, below)
    return epsilon


given = arguments()
dp.enable_features("contrib")
if given.method == "pairs":
    pairs = itertools.combinations(given.sizes, 2)
    algorithm = dp.mbi.Fixed(queries=[dp.mbi.Count(by=pair) for pair in pairs])
else:
    algorithm = {"mst": dp.mbi.MST, "aim": dp.mbi.AIM}[given.method]()
epsilon = float(given.epsilon)
if given.method == "mst":
    epsilon = fitting(epsilon, len(given.sizes) - 1)
context = dp.Context.compositor(
    data=pl.scan_csv(given.train),
    privacy_unit=dp.unit_of(contributions=1),
    privacy_loss=dp.loss_of(epsilon=epsilon),
)
table = (
    context.query(epsilon=epsilon)
    .contingency_table(
        keys={name: list(range(size)) for name, size in given.sizes.items()},
        cuts={},
        algorithm=algorithm,
    )
    .release()
)
synthetic = table.synthesize(rows=given.rows)
frame = synthetic if isinstance(synthetic, pl.DataFrame) else pl.DataFrame(synthetic)
frame.select(list(given.sizes)).write_csv(given.out)
