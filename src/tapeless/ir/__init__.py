"""Core: the typed, functional, pointful language that every pass reads and writes."""
