"""The review of a schema: what is still open, and what a custodian can do about it; no page, no terminal."""
