"""Budgets: amounts of privacy loss that are spent once, and the proof of what was paid.

From the ground up: `accounting` has the rules by which losses add up, `amounts` reads and writes numbers
exactly, `charges` is the tree of what was paid, `tight_total` asks Google's accountants about it, `receipt`
goes with a release, `till` is what the parts of a budget share, and `budget` is what methods hold.
"""
