"""Points in a public box: grids and trees with noisy counts."""
