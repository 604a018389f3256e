"""What is known about a program of Core: facts, dependences, extents; the walk that uses them."""
