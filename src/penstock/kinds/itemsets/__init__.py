"""Item sets: which items of a public universe a unit has."""
