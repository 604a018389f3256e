"""The error of a program that breaks a rule of Core: always a bug of ours, never the user's."""

from __future__ import annotations

from tapeless.ir.print import show
from tapeless.ir.syntax import Fun, Let

CONTEXT_LINES = 12


class InvalidIR(Exception):
    """A rule of Core is broken; the message shows the statement and the program."""

    def __init__(self, problem: str, stm: Let | None, fun: Fun) -> None:
        self.problem = problem
        where = f" ({stm.loc})" if stm is not None and stm.loc is not None else ""
        parts = [f"{problem}{where}"]
        if stm is not None:
            lines = show(stm).splitlines()
            more = ["..."] if len(lines) > CONTEXT_LINES else []
            parts.append("in the statement\n  " + "\n  ".join(lines[:CONTEXT_LINES] + more))
        parts.append(f"of\n{show(fun)}")
        super().__init__("\n".join(parts))
