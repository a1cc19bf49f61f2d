"""Bayesian networks of noisy tables: what confluence and privbayes share."""
