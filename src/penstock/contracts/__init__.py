"""The plug: what data and methods of any kind must offer, as types.

The rest of the house works with these contracts and never with a kind; the contracts of drafts, evaluations
and audits stand in their harnesses (`KindDraft`, `Evaluator`, `Audits`). `penstock.catalogue` says where
everything is; `penstock.contracts.plug` loads methods and data and checks that they keep their contract.
"""
