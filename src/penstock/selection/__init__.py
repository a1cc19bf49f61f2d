"""Choosing few among many: the most frequent items, or those above a threshold."""
