"""What users call: jit and its relatives."""
