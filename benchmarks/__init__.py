"""Speed and memory of compiled programs, side by side with Numba, NumPy and C (`make bench-primal`)."""
