"""Tables: records in columns."""
