"""Audit: attempts to refute a guarantee by running what made it on neighbouring inputs."""
