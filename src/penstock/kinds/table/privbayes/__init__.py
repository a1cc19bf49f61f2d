"""PrivBayes as published: a Bayesian network that is chosen privately, then counted."""
