"""The programs by which derivatives are measured: `python -m benchmarks.gradients`."""
