"""The ledger: the custodian's permanent record of which data paid what for which release.

`entries` are the lines and the balance, `database` keeps them durably, `ledger` is what everybody else uses.
"""
