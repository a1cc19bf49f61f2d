"""Published ways to cluster privately, to be compared with."""
