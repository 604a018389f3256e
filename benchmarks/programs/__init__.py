"""One file per program. To add one, copy a file and change the mathematics."""
