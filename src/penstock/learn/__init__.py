"""Analyses of existing kinds of data: the answer to one question instead of a model of the records."""
