"""Linear predictors: a sum of one number for each column, learned privately; labels and numbers."""
