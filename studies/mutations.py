"""Mutants of methods and mechanisms, as data: what is wrong, where, and who must notice."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """One wrong line. `check` is 'replay' with methods, or 'tests' with what pytest is to run."""

    what: str
    file: str
    old: str
    new: str
    check: str
    of: tuple[str, ...]

    @property
    def room(self) -> str:
        return self.file.rpartition("/")[0]


LAWS = ("tests/privacy/laws/test_laws.py",)
NOISE = "privacy/mechanisms/noise.py"
CHOICE = "privacy/mechanisms/choice.py"
TABLE, POINTS = "kinds/table/data.py", "kinds/points/data.py"
SEQUENCES, ITEMSETS = "kinds/sequences/data.py", "kinds/itemsets/data.py"
GRAPH = "kinds/graph/data.py"


def replay(what: str, file: str, old: str, new: str, *methods: str) -> Mutant:
    return Mutant(what, file, old, new, "replay", methods)


def tests(what: str, file: str, old: str, new: str, *nodes: str) -> Mutant:
    return Mutant(what, file, old, new, "tests", nodes)


MUTANTS: tuple[Mutant, ...] = (
    # Mechanisms --------------------------------------------------------------------------------------
    replay(
        "Laplace noise of half the scale",
        NOISE,
        "    return sealed.sensitivity.l1 / exact(epsilon, derived=True)\n",
        "    return sealed.sensitivity.l1 / exact(epsilon, derived=True) / 2\n",
        "independent",
    ),
    replay(
        "Laplace noise scaled by the largest coordinate, not by all",
        NOISE,
        "    return sealed.sensitivity.l1 / exact(epsilon, derived=True)\n",
        "    return sealed.sensitivity.linf / exact(epsilon, derived=True)\n",
        "laplace-marginals",
    ),
    replay(
        "Laplace noise drawn around a count that is clamped at the raw value 1",
        NOISE,
        "source.draw(LaplaceAround(value, scale))",
        "source.draw(LaplaceAround(value, scale * (1 + int(value.sum() == 0))))",
        "uniform",
    ),
    replay(
        "zero counts get no noise",
        NOISE,
        "    return _whole(sealed, held(source.draw(LaplaceAround(value, scale))))\n",
        "    told = held(source.draw(LaplaceAround(value, scale)))\n"
        "    return _whole(sealed, np.where(value == 0, 0, told))\n",
        "contingency",
    ),
    replay(
        "negative noisy counts are replaced by the raw ones",
        NOISE,
        "    return _whole(sealed, held(source.draw(LaplaceAround(value, scale))))\n",
        "    told = held(source.draw(LaplaceAround(value, scale)))\n"
        "    return _whole(sealed, np.where(told < 0, value, told))\n",
        "contingency",
    ),
    replay(
        "bits for noise are taken past the seam",
        NOISE,
        "    return _whole(sealed, held(source.draw(LaplaceAround(value, scale))))\n",
        "    return _whole(sealed, held(LaplaceAround(value, scale).draw(source)))\n",
        "independent",
    ),
    replay(
        "a choice at the monotone price where scores move apart",
        "privacy/seals/sensitivity.py",
        "        natural = self.linf if self.monotone else min(2 * self.linf, self.l1)\n",
        "        natural = self.linf\n",
        "mwem",
        "privbayes",
    ),
    replay(
        "the best of several is paid once and chosen several times",
        CHOICE,
        "    rate = plan.rate(epsilon / many)\n",
        "    rate = plan.rate(epsilon)\n",
        "select-items",
    ),
    replay(
        "gaps of scores are squared",
        CHOICE,
        "    return np.where(scores <= top, gaps, np.uint64(0))\n",
        "    return np.where(scores <= top, gaps * gaps, np.uint64(0))\n",
        "top-strings",
        "select-items",
    ),
    tests(
        "PrivTree without a bias against depth",
        "privacy/mechanisms/splitting.py",
        "* inverse - depth * slope\n",
        "* inverse\n",
        "tests/privacy/mechanisms/test_splitting.py",
        "tests/audit/test_privtree_loss.py",
    ),
    tests(
        "PrivTree without a floor under the biased score",
        "privacy/mechanisms/splitting.py",
        "        clamped: Integers = np.maximum(biased, -slope)\n",
        "        clamped: Integers = biased\n",
        "tests/privacy/mechanisms/test_splitting.py",
        "tests/audit/test_privtree_loss.py",
    ),
    replay(
        "PrivTree's constant forgotten",
        "privacy/mechanisms/splitting.py",
        "        factor = noise_constant(slope, constant) + (1 if relation is Relation.REPLACE else 0)\n",
        "        factor = Fraction(1)\n",
        "privtree",
        "privtree-sequences",
    ),
    replay(
        "a sparse vector without noise for its second yes",
        "privacy/mechanisms/sparse_design.py",
        "        return self.sensitivity * (1 if self.monotone else 2) * self.c / self.queries\n",
        "        return self.sensitivity * (1 if self.monotone else 2) / self.queries / 8\n",
        "select-items",
        "select-categories",
    ),
    replay(
        "a sparse vector whose threshold has next to no noise",
        "privacy/mechanisms/sparse_design.py",
        "        return self.sensitivity * (self.c if self.redraw else 1) / self.threshold\n",
        "        return self.sensitivity * (self.c if self.redraw else 1) / self.threshold / 50\n",
        "select-items",
    ),
    tests(
        "randomised response twice as honest as was paid for",
        "privacy/mechanisms/response.py",
        "    return source.draw(Told(truth, size, strength))\n",
        "    return source.draw(Told(truth, size, 2 * strength))\n",
        "tests/privacy/mechanisms/test_response.py",
    ),
    tests(
        "rounding to the lattice is not paid for",
        NOISE,
        "    scale = (l1 / step + size) / epsilon\n",
        "    scale = (l1 / step) / epsilon\n",
        "tests/privacy/mechanisms/test_noise.py",
    ),
    tests(
        "Gaussian noise of half the variance",
        "privacy/budgets/accounting.py",
        "    return l2_squared / (2 * rho)\n",
        "    return l2_squared / (4 * rho)\n",
        "tests/privacy/mechanisms/test_noise.py",
        "tests/privacy/budgets",
    ),
    tests(
        "the stability histogram names values below its threshold",
        "privacy/laws/naming.py",
        "if count >= self.least}",
        "if count >= self.least - 1}",
        "tests/privacy/laws/test_laws.py",
        "tests/drafting/test_private_drafts.py",
    ),
    tests(
        "the stability histogram's threshold forgets the user's other records",
        "drafting/bounds.py",
        "    most = max(epsilon, ln_up(Fraction(records)) + rate)\n",
        "    most = epsilon / 2\n",
        "tests/drafting/test_private_drafts.py",
    ),
    # Laws and samplers: enumeration -------------------------------------------------------------------
    tests(
        "permute-and-flip's law forgets the other heads",
        "privacy/laws/choices.py",
        "            mean = mean + chance / Between.of(1 + number)\n",
        "            mean = mean + chance\n",
        *LAWS,
    ),
    tests(
        "one-shot's law forgets the orders inside a cell",
        "privacy/laws/tops.py",
        "share / Between.of(factorial(more))",
        "share",
        *LAWS,
    ),
    tests(
        "the sparse vector's law puts its cut one step off",
        "privacy/laws/comparisons.py",
        "            exponent = Fraction(shortfall if high else 1 - shortfall)\n",
        "            exponent = Fraction(shortfall if high else -shortfall)\n",
        *LAWS,
    ),
    tests(
        "the Gaussian's normaliser forgets a tail",
        "privacy/laws/additive.py",
        "        total = total + Between.of(2) * (",
        "        total = total + Between.of(1) * (",
        *LAWS,
    ),
    tests(
        "discrete Laplace noise from one geometric variable",
        "privacy/randomness/samplers.py",
        "    difference: Integers = pairs[:count] - pairs[count:]\n",
        "    difference: Integers = pairs[:count]\n",
        "tests/privacy/randomness/test_samplers.py",
    ),
    tests(
        "exponential weights rounded down",
        "privacy/randomness/samplers.py",
        "        cells = (cells * table[left % base] + ((1 << bits) - 1)) >> bits\n",
        "        cells = (cells * table[left % base]) >> bits\n",
        "tests/privacy/randomness/test_samplers.py",
        "tests/privacy/mechanisms/test_choice.py",
    ),
    # Tables ------------------------------------------------------------------------------------------
    replay(
        "a marginal's sensitivity forgets the user's other records",
        TABLE,
        "records * marginals, linf=records, l2_squared=records**2 * marginals, monotone=True\n",
        "marginals, linf=1, l2_squared=marginals, monotone=True\n",
        "independent",
    ),
    replay(
        "replacing a record counts as one move",
        TABLE,
        "        return Sensitivity.of(2 * records * marginals, linf=records,",
        "        return Sensitivity.of(records * marginals, linf=records,",
        "independent",
    ),
    replay(
        "shares of the budget by the raw size",
        "kinds/table/confluence/method.py",
        "        n = self.n = self._size()\n",
        "        n = self.n = 1 + 400 * self.table.size()._Sealed__value[0]\n",
        "confluence",
    ),
    replay(
        "gaps of pairs stated at half of their sensitivity",
        "kinds/table/confluence/gaps.py",
        "        return Sensitivity.scores(moves, candidates=len(self.candidates))\n",
        "        return Sensitivity.scores(Fraction(moves) / 4, candidates=len(self.candidates))\n",
        "confluence",
    ),
    replay(
        "the strength of dependence moves like a gap from a public table",
        "kinds/table/confluence/dependence.py",
        "_MOVES = 4\n",
        "_MOVES = Fraction(1, 4)\n",
        "confluence",
    ),
    replay(
        "choices paid in rho with a range whose square is 16 times the rho, and not 8 times",
        "privacy/budgets/accounting.py",
        "    return Fraction(isqrt(8 * rho.numerator * digits**2 // rho.denominator), digits)\n",
        "    return Fraction(isqrt(16 * rho.numerator * digits**2 // rho.denominator), digits)\n",
        "confluence",
    ),
    replay(
        "the mean of all gaps stated like one of them",
        "kinds/table/confluence/gaps.py",
        "        moves = Sensitivity.of(self.sensitivity.linf * len(self.sets))\n",
        "        moves = Sensitivity.of(self.sensitivity.linf)\n",
        "confluence",
    ),
    replay(
        "MWEM's errors in the unit of one record",
        "kinds/table/baselines/mwem.py",
        "            Sensitivity.scores(STEPS * counts.sensitivity.linf, believed.size),\n",
        "            Sensitivity.scores(counts.sensitivity.linf, believed.size),\n",
        "mwem",
    ),
    replay(
        "Fourier coefficients at the sensitivity of one",
        "kinds/table/baselines/fourier.py",
        "        Sensitivity.of(moves * count, linf=moves, l2_squared=moves**2 * count),\n",
        "        Sensitivity.of(moves, linf=moves, l2_squared=moves**2),\n",
        "fourier-marginals",
    ),
    replay(
        "marginals end to end at the sensitivity of one",
        "privacy/seals/sealed.py",
        "        sum((part.sensitivity.l1 for part in parts), Fraction(0)),\n",
        "        max(part.sensitivity.l1 for part in parts),\n",
        "laplace-marginals",
    ),
    tests(
        "scores of networks stated at a quarter of their sensitivity",
        "kinds/table/privbayes/sensitivity.py",
        "        largest_change(name, relation, binary=binary, n=n, records=records, bound=bound),\n",
        "        largest_change(name, relation, binary=binary, n=n, records=records, bound=bound) / 4,\n",
        "tests/kinds/table/privbayes/test_sensitivity.py",
        "tests/kinds/table/privbayes/test_structure.py",
    ),
    replay(
        "the first attribute of a network is drawn past the seam",
        "kinds/table/privbayes/structure.py",
        "coins.draw(AnyBelow(len(firsts)))",
        "coins.below(len(firsts))",
        "privbayes",
    ),
    replay(
        "the total of a contingency table is the raw one",
        "kinds/table/baselines/contingency.py",
        "        total = float(values.sum()) if",
        "        total = float(table.size()._Sealed__value[0]) if",
        "contingency",
    ),
    # Points ------------------------------------------------------------------------------------------
    replay(
        "points of a user count as one",
        POINTS,
        "        return Sensitivity.of(records, linf=records, l2_squared=records**2, monotone=True)\n",
        "        return Sensitivity.of(1, monotone=True)\n",
        "privtree",
        "uniform-grid",
    ),
    replay(
        "wavelet coefficients at the sensitivity of one level",
        "kinds/points/baselines/privelet.py",
        "        moves = prod(1 + levels for _ in chosen)\n",
        "        moves = 1\n",
        "privelet",
    ),
    replay(
        "the grids of a hierarchy are told as they are",
        "kinds/points/baselines/hierarchy.py",
        "noise.counts(points.histogram(sides), pay=pay)",
        "(noise.counts(points.histogram(sides), pay=pay) * 0 + points.histogram(sides)._Sealed__value)",
        "hierarchy",
    ),
    replay(
        "DAWA's costs with half of the noise",
        "kinds/points/baselines/dawa.py",
        "        return (4 * size - 2) * self.scale\n",
        "        return (4 * size - 2) * self.scale / 2\n",
        "dawa",
    ),
    replay(
        "no noise on the costs of single cells, as in software in circulation",
        "kinds/points/baselines/dawa.py",
        "        return (4 * size - 2) * self.scale\n",
        "        return (4 * size - 4 + Fraction(1, 100)) * self.scale\n",
        "dawa",
    ),
    replay(
        "PrivTree paid for one point where a user has several",
        "kinds/points/privtree.py",
        "            paths=points.schema.unit.records,\n",
        "            paths=1,\n",
        "privtree",
    ),
    # Sequences ---------------------------------------------------------------------------------------
    replay(
        "a sequence touches one path",
        SEQUENCES,
        "        return self.longest * self.schema.unit.records\n",
        "        return self.schema.unit.records\n",
        "privtree-sequences",
        "top-strings",
    ),
    tests(
        "what is left for a string is not passed on",
        "kinds/sequences/exploration.py",
        "        left = tuple(before - amount for before, amount in zip(self.left, amounts, strict=True))\n",
        "        left = self.left\n",
        "tests/kinds/sequences/test_baselines.py",
    ),
    replay(
        "histograms of strings with noise for one place",
        "kinds/sequences/exploration.py",
        "LaplaceAround(counts[rows], self.places / amount)",
        "LaplaceAround(counts[rows], 1 / amount)",
        "n-gram",
    ),
    replay(
        "gaps between events at the sensitivity of one",
        SEQUENCES,
        "Sensitivity.of(self.most_gaps, monotone=True)",
        "Sensitivity.of(1, monotone=True)",
        "privtree-sequences",
    ),
    replay(
        "first events of a user's cases count as one",
        SEQUENCES,
        "starts(self._timed()),\n            Sensitivity.of(self.schema.unit.records, monotone=True)",
        "starts(self._timed()),\n            Sensitivity.of(1, monotone=True)",
        "privtree-sequences",
    ),
    replay(
        "lengths of a user's sequences count as one",
        SEQUENCES,
        "binned(lengths, self.longest, counts),\n            Sensitivity.of(self.schema.unit.records",
        "binned(lengths, self.longest, counts),\n            Sensitivity.of(1",
        "privtree-sequences",
    ),
    replay(
        "the choice of a length at the sensitivity of the numerator",
        SEQUENCES,
        "step = max(share.numerator, share.denominator - share.numerator)",
        "step = min(share.numerator, share.denominator - share.numerator)",
        "privtree-sequences",
    ),
    # Item sets and selection ----------------------------------------------------------------------------
    replay(
        "baskets are not cut to their largest size",
        ITEMSETS,
        "        most = size if largest is None else min(size, largest * self.schema.unit.records)\n",
        "        most = 1\n",
        "select-items",
    ),
    replay(
        "sets of a user count as one",
        ITEMSETS,
        "return Sensitivity.of(self.schema.unit.records, monotone=True)",
        "return Sensitivity.of(1, monotone=True)",
        "set-histogram",
        "diffpart",
    ),
    replay(
        "an edge changes one degree",
        GRAPH,
        "Sensitivity.of(2 * self.together, linf=self.together, monotone=True)",
        "Sensitivity.of(self.together, linf=self.together, monotone=True)",
        "degree-sequence",
    ),
    replay(
        "an edge is in as many copies of a pattern as in a graph of one node less",
        GRAPH,
        "pattern.limit(self.n) * self.together",
        "pattern.limit(self.n - 1) * self.together",
        "laplace-counts",
    ),
    replay(
        "edges that are protected together count as one",
        GRAPH,
        "        return self.schema.unit.records\n",
        "        return 1\n",
        "ladder",
        "degree-sequence",
    ),
    replay(
        "the selected are counted at the price of one",
        "learn/selection/select.py",
        "Sensitivity.of(min(moves.l1, len(chosen) * moves.linf), linf=each, monotone=moves.monotone)",
        "Sensitivity.of(moves.linf / 2, monotone=moves.monotone)",
        "select-items",
    ),
    # Budgets, seals and engines ---------------------------------------------------------------------------
    tests(
        "a part may be spent twice",
        "privacy/budgets/budget.py",
        "            self._closed = True\n            return randomness.charged(charge)\n",
        "            return randomness.charged(charge)\n",
        "tests/privacy/budgets",
    ),
    tests(
        "disjoint parts are paid for under replace",
        "privacy/budgets/budget.py",
        "            if self._disjoint and used is not Relation.ADD_REMOVE:\n",
        "            if False:\n",
        "tests/privacy/budgets",
    ),
    tests(
        "scores of lengths wrap around at a quantile with a long decimal",
        SEQUENCES,
        "exact = not_longer if share.denominator <= _IN_WORDS else not_longer.astype(object)",
        "exact = not_longer",
        "tests/privacy/test_ends_of_ranges.py",
    ),
    tests(
        "records of a user are sampled by their place in the file",
        "engine/bound.py",
        '    return Users(written.rank("dense").to_numpy().astype(np.uint32) - np.uint32(1), written)\n',
        "    return Users(np.arange(len(written), dtype=np.uint32), written)\n",
        "tests/engine/test_bound.py",
    ),
)
