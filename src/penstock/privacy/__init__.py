"""The gate: budgets, sealed values, exact noise, and the mechanisms that turn one into the other."""
