"""Sample and aggregate: any analysis on disjoint blocks of the records, and noisy means of what it found."""
