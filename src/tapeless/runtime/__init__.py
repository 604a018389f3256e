"""Machine code, calls, workspaces, threads and the disk cache."""
