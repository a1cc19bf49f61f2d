"""PrivBayes as published: a Bayesian network learned privately, then counted."""
