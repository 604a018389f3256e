"""The exceptions that a program may raise, by name: what `Check` says and the runtime raises."""

from __future__ import annotations

import builtins

from numpy.linalg import LinAlgError

OUTSIDE_BUILTINS: dict[str, type[Exception]] = {"LinAlgError": LinAlgError}


def exception_named(name: str) -> type[Exception] | None:
    """The builtin exception (or NumPy's LinAlgError) of this name; None if there is none."""
    found = OUTSIDE_BUILTINS.get(name, getattr(builtins, name, None))
    return found if isinstance(found, type) and issubclass(found, Exception) else None
