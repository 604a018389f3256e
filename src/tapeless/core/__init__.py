"""Element types, names and scalar operators: what every layer above shares."""
