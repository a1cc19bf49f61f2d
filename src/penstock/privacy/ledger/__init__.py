"""The custodian's permanent book: which data paid what for which release."""
