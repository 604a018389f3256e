"""Core to Core: sequential loops become parallel nests, folds and closed forms."""
