"""Published ways to count patterns that the ladder is compared with."""
