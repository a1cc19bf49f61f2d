"""What all studies of classifiers found, as pages of the documentation.

python studies/classification.py --dataset adult-income-0 --budget 1     # and the others, each by itself:
python studies/classification_default.py
python studies/classification_lists.py
python studies/classification_dimensions.py
python studies/classification_race.py
python studies/classification_speed.py
python studies/classification_quality.py
python studies/classification_all.py                                     # writes the pages of what is there
"""

from __future__ import annotations

from collections.abc import Sequence

import classification
import classification_default
import classification_dimensions
import classification_lists
import classification_quality
import classification_race
import classification_speed
from frame import Results, run
from frame.folds import FOLDS, TABLES
from frame.page import Page, listed, wrapped
from frame.results import Summary
from frame.statements import Checked, Verdict, checked, refuted, statement_table, tally

ASKED = """How good are classifiers from private releases of Adult and Bank, do the published sentences about
PrivPfC hold, and what should a user get who wants a classifier?"""

AGAIN = """`python studies/classification.py` (`--full`: ten runs on each of ten folds), and beside it
`studies/classification_default.py`, `studies/classification_lists.py`,
`studies/classification_dimensions.py`, `studies/classification_race.py`, `studies/classification_speed.py`
and `studies/classification_quality.py`; then `studies/classification_all.py` for these pages
([how](../studies.md))."""

BESIDE = """Logistic regression on Adult (income), all in one sitting: {folds} folds, {runs} of each on each.
Both know the same ranges and categories, from the schema. diffprivlib gets numbers divided by their range and
a column of 0 and 1 for each category, so that no row is longer than √14, which it is told as `data_norm`; its
guarantee is for one record *replaced*, with the number of records public, and its noise is floating-point.
Ours is for one record *added or removed*, with exact noise, and pays for the number of records."""

BANK = """Bank stands in for the tables that may not be passed on: errors of trees on {folds} folds, {runs}
of each method on each, means and deviations over folds."""

TIME = """CPU seconds for the {rows:,} records of a training fold of Adult, the least of three runs, with
10,000 grids; reading is opening the CSV file."""

VARIED = """How much less each variation errs than the published list (one choice, all levels, grids of few
columns first), in hundredths of the error of the most frequent label: means over the tables of each half
with their standard errors, {runs} runs of each. *Finest levels* leaves a grid out where one of its columns
could be seen one level finer within the bound on cells; *even levels* has one grid for every set of columns,
refined column after column; a *beam* has grids of every number of columns, of each no more than half of what
there is still room for. *Two choices* chooses again among the grids around the first, for half of the part
each; *by the rule* does so where that costs less than 2 % of the records; with *left-over* the second choice
is paid by half of what the counts of the first grid leave over. The number of records is public here."""

ROWS = """`privpfc` beside learners on 20,000 synthetic rows of a release of all columns
(`penstock.learn.trained_on`): logistic regression, and a decision tree."""

EARLIER = {"0.05": 0.1777, "0.2": 0.1654, "1": 0.1635}
"""Trees on Adult by the published calibration, as the project's specification measured them in 50 runs."""
EARLIER_MARITAL = {"0.05": 0.1201, "0.2": 0.1121, "1": 0.1114}


def race_sentences() -> list[Checked]:
    known = classification_race.kept()
    if known is None:
        return []
    ours, theirs = (
        {epsilon: Summary.of(known["accuracy"][name][epsilon]) for epsilon in classification_race.EPSILONS}
        for name in (classification_race.OURS, classification_race.THEIRS)
    )
    needed = classification_race.NEEDED
    told = "; ".join(
        f"ε = {each}: {ours[each].mean:.4f}, diffprivlib {theirs[each].mean:.4f}" for each in needed
    )
    return [
        Checked(
            "ours",
            "From the release logistic regression on Adult is right for 80 % (ε = 0.1) and 83.5 % (ε = 1).",
            Verdict(all(ours[epsilon].mean >= least for epsilon, least in needed.items()), told),
        )
    ]


def other_sentences() -> list[Checked]:
    """Those of time and of the score, as far as they were measured."""
    found: list[Checked] = []
    speed, quality = classification_speed.kept(), classification_quality.kept()
    if speed is not None:
        found += classification_speed.sentences(speed)
    if quality is not None:
        found += classification_quality.sentences(quality)
    return found


def page() -> Page:
    folds, default, dimensions, lists = (
        run(module.study(), seconds=-1)
        for module in (
            classification,
            classification_default,
            classification_dimensions,
            classification_lists,
        )
    )
    every = [
        *checked(folds, dimensions, lists, default),
        *other_sentences(),
        *race_sentences(),
    ]
    published = [one for one in every if one.number != "ours"]
    own = [one for one in every if one.number == "ours"]
    lead = f"""{tally(published, "statements of the literature")}. {tally(own, "about our own figures")}.
PrivPfC's one choice among complete grids is what classifies best from a private release in most cases, as
published. {better_elsewhere(folds)}
Other lists of grids and a second choice are no better beyond noise: a beam of grids errs much less on a table
of 64 columns, and more on others that are as wide. Learning from synthetic rows does worse on most tables.
So **`privpfc` as it is by default is what to take for a classifier**."""
    return Page(
        "classification",
        "Study: classifiers",
        ASKED,
        [
            lead,
            screen_table(folds),
            "What does not hold, or could not be measured:\n\n"
            + (listed(refuted([one for one in every if one.verdict.holds is not True])) or "- nothing"),
        ],
        AGAIN,
        rests_on(folds, default),
        [
            "## Statements",
            statement_table(every),
            *bank_section(folds),
            *sections(lists),
            "## Synthetic rows",
            wrapped(ROWS),
            classification_default.summary(default),
        ],
        [
            "## Errors on held-out folds: means and standard deviations over the folds that were run",
            "Methods were run on different numbers of folds, and errors differ from fold to fold; statements "
            "compare methods on the folds that all of them were run on.",
            classification.summary(folds),
            runs_table(folds),
            "## Trees on Adult, beside figures that were measured elsewhere in 50 runs",
            screen_table(folds),
            "## Tables to choose by, and to confirm",
            classification_default.summary(default),
            "## Lists of grids",
            classification_lists.summary(lists),
            "## Columns",
            classification_dimensions.summary(dimensions),
        ],
    )


def rests_on(folds: Results, default: Results) -> str:
    few, many = default.runs()
    fewest, most = (
        count([_folds(folds, method, TABLES[:2]) for method in ("diffgen", "pph", "diffpid3", "diffpc45")])
        for count in (min, max)
    )
    return f"""Stratified folds. PrivPfC on Adult: {_most_runs(folds, "adult-income")} runs on each of
{_folds(folds, "privpfc", TABLES[:1])}. The baselines on Adult: 1 run on
{fewest if fewest == most else f"{fewest} to {most}"} folds; all on Bank:
1 run on {_folds(folds, "diffgen", TABLES[2:3])}. PrivPfC's own variations: 1 run on
{_folds(folds, "privpfc, 3-10-87", TABLES)} (the appendix counts them), so that differences of less than 0.01
are noise there. Seeds are fixed, and statements compare methods on the folds that all of them were run on.
The tables to choose by and to confirm: {few if few == many else f"{few} to {many}"} run of each beside
synthetic rows. US and BR of the papers may not be passed on;
Bank stands in for them. PrivLocal, PrivGene, PrivateERM and the functional mechanism are not compared here,
nor is PrivBayes without noise in its structure (`studies/privbayes_error.py` has it)."""


def better_elsewhere(folds: Results) -> str:
    """Where a baseline errs less, on the folds that both were run on."""
    found = []
    for table in TABLES:
        for epsilon in ("0.05", "0.2", "1"):
            for other in classification.OTHERS:
                both = classification.on_the_same_folds(folds, table, ("privpfc", other), epsilon)
                if both is not None and both[1].mean < both[0].mean:
                    told = f"{both[1].mean:.4f} against {both[0].mean:.4f}, {both[0].runs} folds"
                    found.append(f"`{other}` on {table} at ε = {epsilon} ({told})")
    return f"Where a baseline errs less: {'; '.join(found)}." if found else "No baseline errs less anywhere."


def bank_section(folds: Results) -> list[str]:
    """Trees on Bank, on the folds that all methods were run on."""
    methods = ("privpfc", *classification.OTHERS, "majority-label")
    budgets = ("0.05", "1")
    found = {
        epsilon: classification.on_the_same_folds(folds, "bank-deposit", methods, epsilon)
        for epsilon in budgets
    }
    known = {epsilon: means for epsilon, means in found.items() if means is not None}
    if not known:
        return []
    lines = [
        f"| error of a tree | {' | '.join(f'ε = {each}' for each in known)} |",
        "|---|" + "--:|" * len(known),
    ]
    for place, method in enumerate(methods):
        told = [f"{means[place].mean:.4f} ± {means[place].deviation:.4f}" for means in known.values()]
        lines.append(f"| {method} | {' | '.join(told)} |")
    many = {means[0].runs for means in known.values()}
    said = BANK.format(folds=" and ".join(map(str, sorted(many))), runs="one run")
    return ["## Bank", wrapped(said), "\n".join(lines)]


def _folds(folds: Results, method: str, tables: Sequence[str]) -> int:
    """On how many folds a method was run, where it was most."""
    return max(
        sum((f"{table}-{number}", method, epsilon, "error tree") in folds for number in range(FOLDS))
        for table in tables
        for epsilon in classification.BUDGETS
    )


def _most_runs(folds: Results, table: str) -> int:
    """How often PrivPfC was run on a fold of a table, at most."""
    found = [
        folds.get(f"{table}-{number}", "privpfc", epsilon, "error tree")
        for number in range(FOLDS)
        for epsilon in classification.BUDGETS
    ]
    return max((one.runs for one in found if one is not None), default=0)


def screen_table(folds: Results) -> str:
    """Trees on Adult: our figures, those measured before, and the most frequent label."""
    budgets = ("0.05", "0.2", "1")
    lines = [f"| error of a tree | {' | '.join(f'ε = {each}' for each in budgets)} |", "|---|--:|--:|--:|"]
    for table, words, earlier in (
        ("adult-income", "Adult, income", EARLIER),
        ("adult-marital", "Adult, marital status (three labels)", EARLIER_MARITAL),
    ):
        ours = [classification.over_folds(folds, table, "privpfc", each, "tree") for each in budgets]
        shown = ["" if one is None else f"{one.mean:.4f} ± {one.deviation:.4f}" for one in ours]
        lines.append(f"| {words}: `privpfc` | {' | '.join(shown)} |")
        before = " | ".join(f"{earlier[each]:.4f}" for each in budgets)
        lines.append(f"| {words}: published calibration, elsewhere | {before} |")
    return "\n".join(lines)


def runs_table(folds: Results) -> str:
    """How many runs stand behind each method, over folds, by table and budget."""
    lines = [
        f"| runs | {' | '.join(classification.BUDGETS)} |",
        "|---|" + "--:|" * len(classification.BUDGETS),
    ]
    for table in TABLES:
        for method in classification.METHODS:
            counts = [_runs(folds, table, method, epsilon) for epsilon in classification.BUDGETS]
            if any(counts):
                lines.append(f"| {table}, {method} | {' | '.join(str(one or '') for one in counts)} |")
    return "\n".join(lines)


def _runs(folds: Results, table: str, method: str, epsilon: str) -> int:
    found = [folds.get(f"{table}-{number}", method, epsilon, "error tree") for number in range(FOLDS)]
    return sum(one.runs for one in found if one is not None)


def sections(lists: Results) -> Sequence[str]:
    """The race, time, and what was varied."""
    found: list[str] = []
    race, speed = classification_race.kept(), classification_speed.kept()
    if race is not None:
        found += [
            "## Beside diffprivlib",
            wrapped(BESIDE.format(folds=race["folds"], runs=f"{race['runs']} run{'s' * (race['runs'] > 1)}")),
            classification_race.table(race),
        ]
    if speed is not None:
        found += [
            "## Time",
            wrapped(TIME.format(**speed)),
            classification_speed.table_of_seconds(speed),
        ]
    found += [
        "## What was varied",
        wrapped(VARIED.format(runs=" to ".join(map(str, lists.runs())))),
        classification_lists.gains(lists),
    ]
    return found


if __name__ == "__main__":
    page().write()
