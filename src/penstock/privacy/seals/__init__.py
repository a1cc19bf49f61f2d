"""Sealed values: what was computed from the records, and how far one unit moves it."""
