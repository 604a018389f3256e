"""Derivatives as program transformations, Core to Core."""
