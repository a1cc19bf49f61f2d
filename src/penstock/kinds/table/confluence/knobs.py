"""The public numbers that decide how confluence spends a budget."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from penstock.kinds.table.confluence.coarsening import SIZES
from penstock.kinds.table.confluence.limits import LIMITS, Limits
from penstock.kinds.table.confluence.whole import MOST_CELLS
from penstock.privacy.mechanisms import choice


@dataclass(frozen=True)
class Knobs:
    """Public numbers that decide how the budget is spent; chosen on half of the tables of `studies/suite.py`.

    All columns are counted in one table of at most `whole_cells` cells where its noise is below `whole` of
    what chance does, over the square of what the noise of its pairs is of that of tables of all pairs, if
    that is above 1; where it is not, and columns depend on each other, up to `whole_most`; and up to
    that where single columns have at most `whole_columns` times the noise that they have by their own tables.
    All pairs are counted in full before anything else where their noise is at most `at_once` times the
    strength of dependence along a tree, and that of all pairs is at least `dense` of it, and `denser` of it
    more for noise as large as that strength; of more than four columns only where that can be told to
    `unclear` of it over their number. Of up to `few` columns where that noise is above `beyond_chance` times
    what chance does, twice as much where all pairs would be counted otherwise, and at most `few_at_once`
    times the strength, and dependence is not so dense, those pairs are counted in full before anything else
    that choices for `distance_choice` of the budget each, or for what tells apart `told_apart` of the
    strength, find worth it by their distances: those of a tree, and `beside_tree` more.
    All pairs are told by one matrix where that has at most `products` of the noise of tables of them, unless
    these tell of three pairs each and the matrix has less than `products_calm` of what chance does (under
    rho such tables are counted wherever they have less than that): before anything else is counted, where its
    noise is at most `products_at_once` times the strength less `doubt` times its own noise, and else wherever
    all pairs are counted. Not so at once where what all pairs depend by, times the square
    of what that is of a tree, is below `sparse_at_once` times that noise: times the groups as for `plane`,
    and less where the budget pays for less than `choosable` choices for each pair of a tree; it is told to
    `told_sparse` of what it would have to reach, and not asked for where that is off by twice as much.
    `size`, `number`, `gap` and `choices` are shares of the budget, `number` that of the dependence, of its
    density and of the largest counts of columns, less where less tells them: the dependence to `plainly`, its
    density to `density`; that of the mean gap is up to `gap_most` times as much where its noise would exceed
    `gap_noise` of the gap along a tree. Bins are counted in groups only where there are too few records even
    if there are `unsure` times the noise of their number. The least views that connect all columns are a tree
    of coarse pairs. `worth` times the expected error of these and of the columns, if they
    got everything, is what the strength of dependence must reach, less `doubt` times its own noise; up to
    `starved` times that error more where the budget pays for fewer choices than a tree has pairs; beyond
    `many` columns, of whose pairs a tree holds few, more by the square root. Where that is above `hopeless`,
    nobody asks. The share of the one-way counts grows with their expected error: it is 1 / (1 + sqrt(balance
    / (2 error))); the views get the rest, and beside them, with the weight `detail`, the one-way counts of
    attributes that no view sees in full, unless these would have more than `again` times the noise that they
    had the first time. There are at most `choices_each` choices for each attribute, fewer where a tree may
    tell everything: 1, and `beyond` times what the mean gap of all pairs, over that along a tree, exceeds
    `treelike` by, over the expected error; and no more than keep the noise of one of them below
    `choice_noise` of all records or `choice_gap` of the mean gap. Where a tree does not tell everything there
    are more, as long as that noise stays below `choice_finely` of all records. Where the mean gap, less its
    own noise, exceeds `any_pair` of the noise that pairs have if as many are counted as there should be
    choices, it may be as large as the mean gap. With `tree` they first connect what is not connected. Where
    the mean gap of all pairs is below `sparse` times that along a tree,
    and under epsilon fewer than `careful` choices for each attribute could be told apart to `choice_finely`,
    these first ones alone get all of `choices`, and those that follow so much more as they would have got of
    it. Under rho what connects is then counted for `first` of what is left before others are chosen. Under
    epsilon there is one for each attribute, and `untold` times what the mean gap exceeds that by which the
    chosen tree would pass on, over the expected error. After that,
    a choice must exceed `luck` times what chance would give the best of all candidates. `caution` is the part
    of its expected noise that a gap must exceed to be counted, beyond what the noise of the one-way counts
    alone would show. What chance does to independent columns counts as a gap: it is in the table, and a count
    tells it where noise is smaller. All pairs are counted where the mean gap exceeds their noise `plane`
    times: times the groups of a column less one (2 at least), over the square of what the mean gap is of that
    along a tree, less by the number of columns, up to `broadest`, over `broad`, under rho `under_rho` of
    that, and `sparsest` at most, or `packed` where a table tells of three pairs or more; under epsilon
    `every` times that where the mean gap is below `sparse` times that along a tree, there are too many
    columns for all triples, and nearly every pair has a table of its own and could be chosen; with fewer
    choices than attributes down to `few_choices`. Under rho columns are counted beside pairs that do not tell
    them, and the noise of a column counts `columns` of what it is in each of its pairs, since it is
    independent of theirs. Pairs with the target of the schema are counted in `aimed` groups each.
    Pairs are looked at with at most `finest` groups of an attribute, with more where the noise of all pairs
    would make a mean distance of no more than `clearly`. Beside all pairs all triples are counted, as fine as
    the noise of either makes no more than `threes` times the distance that chance does. Where the noise of
    all pairs makes no more than `calm` times that distance, `spared` of what is left goes to triples that
    pairs do not tell; where pairs of too many columns for all triples are chosen and connect nearly
    everything, up to half of it, as long as their noise makes no more than `quiet` times that distance.
    `triple_choices` of that part choose triples, at most `triples` for each column, each with a gap of at
    least `triple_caution` times its expected noise. Without `groups` bins are counted in full however noisy
    that is, without `pack` every column and every pair has a table of its own. `even` gives every table the
    same budget instead of what it needs. `studies/privbayes_variants.py` changes one at a time.
    """

    whole: float = 0.8
    whole_most: float = 2.5
    whole_columns: float = 1.5
    at_once: float = 0.8
    dense: float = 0.48
    denser: float = 0.08
    density: float = 0.1
    unclear: float = 1.5
    few: int = 6
    few_at_once: float = 1.1
    beyond_chance: float = 1.5
    distance_choice: Fraction = Fraction(3, 100)
    told_apart: float = 0.1
    beside_tree: int = 2
    products: float = 0.8
    products_calm: float = 0.5
    products_at_once: float = 0.8
    sparse_at_once: float = 0.015
    choosable: float = 3.5
    told_sparse: float = 0.15
    whole_cells: int = MOST_CELLS
    size: Fraction = Fraction(1, 100)
    unsure: float = 1.0
    hopeless: float = 0.25
    number: Fraction = Fraction(1, 25)
    worth: float = 1.0
    starved: float = 1.5
    many: int = 25
    doubt: float = 0.5
    plainly: float = 0.005
    gap: Fraction = Fraction(1, 100)
    gap_noise: float = 0.2
    gap_most: float = 3.0
    balance: float = 0.03
    plane: float = 0.05
    sparsest: float = 100.0
    packed: float = 20.0
    under_rho: float = 0.6
    every: float = 5.0
    broad: int = 16
    broadest: int = 100
    few_choices: float = 0.25
    choices: Fraction = Fraction(1, 10)
    choices_each: float = 4.0
    careful: float = 2.0
    treelike: float = 0.2
    beyond: float = 0.1
    untold: float = 0.5
    choice_noise: float = 0.05
    choice_finely: float = 0.02
    choice_gap: float = 0.25
    any_pair: float = 0.85
    sparse: float = 0.5
    first: Fraction = Fraction(1, 4)
    tree: bool = True
    luck: float = 0.3
    aimed: int = 8
    detail: float = 1.0
    columns: float = 0.8
    again: float = 1.0
    caution: float = 0.5
    finest: int = 32
    clearly: float = 0.01
    threes: float = 0.5
    calm: float = 0.85
    quiet: float = 0.6
    spared: Fraction = Fraction(1, 10)
    triples: float = 0.67
    triple_choices: Fraction = Fraction(1, 8)
    triple_caution: float = 1.0
    sizes: tuple[int, ...] = SIZES
    groups: bool = True
    pack: bool = True
    even: bool = False
    choice: choice.Method = "permute-and-flip"
    limits: Limits = LIMITS


KNOBS = Knobs()
