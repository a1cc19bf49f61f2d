"""Budgets, the till behind them, receipts, and the rules by which losses add up."""
