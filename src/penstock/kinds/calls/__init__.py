"""Calls: who called when and where, all calls of a caller together."""
