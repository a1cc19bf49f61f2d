"""The plug: what data, methods, drafts, evaluations and audits of any kind must offer, as types.

The rest of the house works with these contracts and never with a kind. `penstock.catalogue` says where
everything stands; the functions of `penstock.contracts.plug` load it and check that it keeps its contract.
"""
