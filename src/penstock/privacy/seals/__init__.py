"""Sealed values: what was computed from the records, how far one unit moves it, and why.

`sensitivity` is the bound, `sealed` the value that carries it and its reason. All births of sealed values
take `because=`; all openings call `open_seal`.
"""
