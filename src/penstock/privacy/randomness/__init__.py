"""Exact randomness: where the bits come from, and the samplers that turn them into noise.

`generator` is the source of bits; `inversion` decides with as few of them as it takes; `samplers` and
`without_replacement` draw whole arrays; `noise_stream` hands noise out one number at a time. Nothing here
touches data or a budget.
"""
