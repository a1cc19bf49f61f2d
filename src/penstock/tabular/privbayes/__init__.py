"""PrivBayes: synthetic tables from a private Bayesian network, one file for each step of the paper."""
