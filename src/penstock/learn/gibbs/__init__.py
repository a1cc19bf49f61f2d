"""A Gibbs learner: one rule of a public list, drawn so that good ones are likely."""
