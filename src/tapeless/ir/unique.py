from __future__ import annotations

from tapeless.ir.syntax import Fun


def verify_unique(fun: Fun) -> None: ...
