"""Graphs: who is linked with whom, on a public set of nodes."""
