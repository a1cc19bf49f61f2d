"""The gate: budgets, sealed values, exact noise, and the mechanisms that turn sealed into public.

Each sub-room imports only those before it:

1. `unit`: whose presence is protected, and against which change.
2. `randomness`: where random bits come from, and the exact samplers that turn them into noise. Knows no data.
3. `laws`: the distributions that outputs are drawn from, each with its exact probabilities.
4. `seals`: values computed from the records, with how far one unit moves them and the reason why.
5. `budgets`: amounts that are spent once, the till behind them, the receipt, and how losses add up.
6. `mechanisms`: the doors. Each takes a sealed value and a payment, draws from a law around it and gives back
   something public.

`ledger`, the custodian's permanent record, stands beside the mechanisms: it uses units and amounts, and a
budget knows it only as an account to draw from. From the rest of Penstock this room imports `errors` and
`progress`, and nothing else. `tests/privacy/test_rooms.py` holds it to both.
"""
