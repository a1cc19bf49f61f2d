"""Sequences: symbols one after the other."""
