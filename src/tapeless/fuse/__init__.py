"""Core to Core: producers into consumers, neighbours into one nest."""
