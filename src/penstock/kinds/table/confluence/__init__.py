"""Confluence: views counted for what they are worth, merged into one network; our default for tables."""
