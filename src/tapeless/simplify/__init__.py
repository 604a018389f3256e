"""Core to Core: laws, common subexpressions, dead code, hoisting, bounds."""
