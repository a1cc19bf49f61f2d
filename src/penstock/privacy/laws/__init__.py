"""Laws: the distributions that mechanisms draw their outputs from, each with its exact probabilities.

`additive` is noise around numbers, `passing` finds the cells of a huge table that reach a threshold,
`choices` picks one candidate and `tops` several, `coins` flips one for each node of a tree or each person's
answer, `comparisons` are a sparse vector's yeses and noes, `public` chance does not meet the records at all.
Each can be drawn from, with the samplers of `randomness`, and says how likely an output is to a hundred
digits, which is what audits compare between neighbours. A law holds values of the records and no budget: only
mechanisms make one, after they were paid.
"""
