"""Published ways to release item sets, to compare with."""
