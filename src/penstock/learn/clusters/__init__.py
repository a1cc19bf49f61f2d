"""Clusters of points: centres found privately, the sizes of clusters, and where new points belong."""
