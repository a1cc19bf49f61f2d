"""The kinds of data, one room each: what belongs to one lives together, and no kind knows another."""
