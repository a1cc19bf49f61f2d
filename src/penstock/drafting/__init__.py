"""Drafts: proposals for a schema, read off the data and marked for review, or found privately and paid."""
