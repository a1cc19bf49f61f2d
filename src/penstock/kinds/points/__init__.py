"""Points: records with coordinates in a public box."""
