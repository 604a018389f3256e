"""The language by examples: every line of its definition has one here, with what plain Python says.

The table in docs/language.md is made of them by tools/language_table.py.
"""

from tests.conformance.constructs import (
    arrays,
    combinations,
    containers,
    differences,
    functions,
    idioms,
    indexing,
    kinds,
    libraries,
    parallel,
    places,
    refused,
    sizes,
    statements,
    values,
)  # fmt: skip
from tests.conformance.constructs.registry import ALL, EXAMPLES, FLOATS, REAL, Example

__all__ = [
    "ALL", "EXAMPLES", "FLOATS", "REAL", "Example", "arrays", "combinations", "containers",
    "differences", "functions", "idioms", "indexing", "kinds", "libraries", "parallel", "places",
    "refused", "sizes", "statements", "values",
]  # fmt: skip
