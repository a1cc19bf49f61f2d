"""What is known before anybody looks: bounds and trade-offs that are computed from public numbers alone.

Nothing here takes a sealed value, spends a budget or reads a record. `channels` says how much a small
mechanism tells about its input, `learning` what a private learner can promise about records it has not seen,
`regression` what a draw of coefficients costs and how far it is from the best, `beliefs` how much an
observer can gain by one release. Whoever computes one of these from records must not show it: a bound that
was evaluated on records is as private as they are, until it is paid for.
"""
