"""Codebooks: what is published about a dataset already, read into a schema and confirmed by its source."""
