"""Classification: a noisy histogram or tree from which classifiers are made; PrivPfC and its competitors."""
