"""Streams of updates, fed and not kept: counters that are private as they stand, at every moment.

`penstock.stream` is the door to this room.
"""
