"""Regression by draws from a posterior: pure with bounded coefficients, with a delta without bounds."""
