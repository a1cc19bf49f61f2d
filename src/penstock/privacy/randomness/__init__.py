"""Exact randomness: where the bits come from, and the samplers that turn them into noise."""
