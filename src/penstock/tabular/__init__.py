"""Tables: models of the joint distribution of a public set of attributes."""
