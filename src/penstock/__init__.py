"""Release sensitive data under differential privacy."""
