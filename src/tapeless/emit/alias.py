"""Alias metadata: accesses of buffers that never share memory may be exchanged by LLVM."""

from __future__ import annotations

from tapeless.emit.asm import Module

CONTEXT = -1  # the kernel's context, its arguments and results


class Aliasing:
    """One scope per class of buffers (`facts.Memory.root`); an access is in the scope of its class
    and apart from all others, which are known only when everything has been written."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.domain = ""
        self.scopes: dict[int, str] = {}
        self.suffixes: dict[int, str] = {}
        self.apart: dict[int, int] = {}

    def suffix(self, root: int) -> str:
        """What stands behind a load or store of the class."""
        known = self.suffixes.get(root)
        if known is not None:
            return known
        if not self.domain:
            self.domain = self.module.node('distinct !{{self}, !"buffers"}')
        scope = self.module.node("distinct !{{self}, " + self.domain + "}")
        own = self.module.node("!{" + scope + "}")
        others = self.module.node("")
        self.scopes[root] = scope
        self.apart[root] = int(others[1:])
        self.suffixes[root] = f", !alias.scope {own}, !noalias {others}"
        return self.suffixes[root]

    def finish(self) -> None:
        """Write the lists of other classes."""
        for root, number in self.apart.items():
            others = ", ".join(s for r, s in self.scopes.items() if r != root)
            self.module.metadata[number] = "!{" + others + "}"
