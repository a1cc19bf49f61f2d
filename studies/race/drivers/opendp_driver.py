"""OpenDP's contingency tables with the MST or AIM algorithm, or with all pairs, pure epsilon."""

import itertools

import opendp.prelude as dp
import polars as pl
from arguments import arguments

given = arguments()
dp.enable_features("contrib")
if given.method == "pairs":
    pairs = itertools.combinations(given.sizes, 2)
    algorithm = dp.mbi.Fixed(queries=[dp.mbi.Count(by=pair) for pair in pairs])
else:
    algorithm = {"mst": dp.mbi.MST, "aim": dp.mbi.AIM}[given.method]()
epsilon = float(given.epsilon)
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
