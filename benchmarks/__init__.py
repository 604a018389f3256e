"""Speed and memory of compiled programs against Numba, NumPy and C (`make bench-primal`)."""
