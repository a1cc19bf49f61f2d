"""The race: Penstock and what a user would pick instead, on the same table and budget."""
