"""The parallel forms, sequential loops and random numbers, as plain Python runs them.

What these functions return is what the compiled forms return: they are the meaning, not the speed.
"""

from tapeless.forms import random
from tapeless.forms.brackets import iverson
from tapeless.forms.loops import each, loop
from tapeless.forms.parallel import map, reduce, reduce_by_index, scan, scatter

__all__ = [
    "each", "iverson", "loop", "map", "random", "reduce", "reduce_by_index", "scan", "scatter",
]  # fmt: skip
