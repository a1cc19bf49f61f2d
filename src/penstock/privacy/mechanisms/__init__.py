"""Mechanisms: the only doors from sealed to public. Each checks its arguments, pays, and opens one seal.

`noise` adds it to numbers, `choice` picks candidates, `sparse` (with `sparse_design`, `sparse_answers`,
`sparse_errors`, `thresholds` and `retraversal`) answers streams of threshold questions, `splitting` and
`growth` are PrivTree, `chains` pay for records that are sorted into finer and finer parts, `ladder`, `smooth`
and `noisy_local` tell numbers that move far in few datasets, `response` randomises people's own answers,
`lattice` puts real numbers on whole steps first. What they draw, they draw from a law
(`penstock.privacy.laws`): audits can say how likely it was.
"""
