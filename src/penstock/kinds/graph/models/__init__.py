"""Models of graphs that are fitted to a few released numbers and drawn from. No records are seen here."""
