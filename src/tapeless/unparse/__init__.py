"""Core as Python of the language."""
