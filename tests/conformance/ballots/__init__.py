"""A made-up kind of data, ballots, with one method: what adding a kind takes, and that it takes no more.

This package is what would be `kinds/ballots/`; `entry.py` is its entry in the catalogue. Nothing else in the
house knows of it, and yet it can be drafted, released, saved, loaded, asked, evaluated and audited.
"""
