"""Loop IR to LLVM text: one module with one symbol, by the kernel ABI of docs/architecture.md."""

from __future__ import annotations

import re

from tapeless.core.names import Const, Var
from tapeless.emit.alias import Aliasing
from tapeless.emit.asm import Module
from tapeless.emit.facts import Memory
from tapeless.emit.function import Unit
from tapeless.emit.statements import Emitter
from tapeless.emit.target import Target
from tapeless.emit.values import ZERO, Ptr
from tapeless.loop.syntax import Buf, Proc

HEADER = "define i32 @{name}(ptr noalias %ctx, ptr noalias %args, ptr noalias %results) nounwind"


def emit(proc: Proc, target: Target) -> str:
    """An LLVM module that defines `symbol(proc)`."""
    module = Module()
    unit = Unit(proc, target, module, Memory(proc), Aliasing(module))
    name = symbol(proc)
    kernel = Kernel(unit, HEADER.format(name=name))
    kernel.write()
    module.define(name, kernel.a.text())
    unit.aliasing.finish()
    return module.text(target.triple)


def symbol(proc: Proc) -> str:
    """The name of the kernel in its module: no function of C has it, whatever the user's has."""
    return "kernel." + re.sub(r"[^A-Za-z0-9_]", "_", proc.name)


class Kernel(Emitter):
    """The function that is called from outside."""

    def write(self) -> None:
        for k, param in enumerate(self.unit.proc.params):
            where = self.slot("%args", k)
            if isinstance(param, Buf):
                base = self.a.let(f"load ptr, ptr {where}, align 8{self.context_alias}")
                root = self.unit.memory.root(param)
                self.env[param] = Ptr(base, ZERO, 1, False, root)
            else:
                self.bind(param, self.load_slot(where, param.dtype))
        self.block(self.unit.proc.body)
        self.write_results()
        self.a.do("ret i32 0")

    def write_results(self) -> None:
        """Scalars in one slot each; arrays as their data and sizes."""
        position = 0
        for result in self.unit.proc.results:
            words = []
            if isinstance(result, Var | Const):
                words.append(f"i64 {self.to_slot(self.val(result))}")
            else:
                words.append(f"ptr {self.ptr(result).base}")
                words += [f"i64 {self.scalar(size)}" for size in result.shape]
            for word in words:
                where = self.slot("%results", position)
                self.a.do(f"store {word}, ptr {where}, align 8{self.context_alias}")
                position += 1
