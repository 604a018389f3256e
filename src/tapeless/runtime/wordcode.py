"""Functions over words (`runtime/words.py`) become LLVM text."""

from __future__ import annotations

import ast
from ast import FunctionDef
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from tapeless.runtime.wordops import BINARY, COMPARE, DECLARED, OPERATION, PAUSE, READ, WRITE
from tapeless.runtime.words import Extern, Static

_TYPES = {"w": "i64", "i": "i32", "d": "double", "v": "void"}


def translate(modules: Iterable[ModuleType], exports: Iterable[str]) -> str:
    """An LLVM module with all functions of these modules, `exports` visible from outside."""
    parsed = [(module, ast.parse(Path(str(module.__file__)).read_text())) for module in modules]
    natives = {
        node.name: node for _, tree in parsed for node in tree.body if isinstance(node, FunctionDef)
    }
    visible = set(exports)
    externs: dict[str, str] = {}
    statics: dict[str, int] = {}
    bodies = [
        _Function(node, vars(module), natives, externs, statics).text(node.name in visible)
        for module, tree in parsed
        for node in tree.body
        if isinstance(node, FunctionDef)
    ]
    declared = [
        f"declare {_TYPES[signature[0]]} @{symbol}({', '.join(_TYPES[c] for c in signature[1:])})"
        for symbol, signature in sorted(externs.items())
    ]
    declared += [
        f"@{symbol} = global [{words} x i64] zeroinitializer, align 16"
        for symbol, words in sorted(statics.items())
    ]
    return "\n".join([*declared, *DECLARED, "", *bodies])


class _Function:
    """One function on its way to LLVM text. Locals are stack slots, which LLVM makes registers."""

    def __init__(
        self,
        node: FunctionDef,
        scope: Mapping[str, Any],
        natives: Mapping[str, FunctionDef],
        externs: dict[str, str],
        statics: dict[str, int],
    ) -> None:
        self.node = node
        self.scope = scope
        self.natives = natives
        self.externs = externs
        self.statics = statics
        self.lines: list[str] = []
        self.entry: list[str] = []
        self.slots: set[str] = set()
        self.count = 0
        self.open = True
        self.loops: list[tuple[str, str]] = []  # labels of `continue` and `break`

    def text(self, visible: bool) -> str:
        node = self.node
        kinds = [self.kind_of(arg.annotation) for arg in node.args.args]
        result = self.kind_of(node.returns)
        self.result = result
        for arg, kind in zip(node.args.args, kinds, strict=True):
            self.assign(arg.arg, self.widen(f"%{arg.arg}", kind))
        self.block(node.body)
        if self.open:
            self.emit("ret void" if result == "v" else f"ret {_TYPES[result]} 0")
        params = ", ".join(
            f"{_TYPES[kind]} %{arg.arg}" for arg, kind in zip(node.args.args, kinds, strict=True)
        )
        linkage = "" if visible else "internal "
        head = f"define {linkage}{_TYPES[result]} @{node.name}({params}) nounwind {{"
        return "\n".join([head, *self.entry, *self.lines, "}", ""])

    def kind_of(self, annotation: ast.expr | None) -> str:
        match annotation:
            case ast.Name("I32"):
                return "i"
            case ast.Constant(None):
                return "v"
        return "w"

    # Statements ---------------------------------------------------------------------------------

    def emit(self, line: str) -> None:
        self.lines.append("  " + line)

    def fresh(self, hint: str = "t") -> str:
        self.count += 1
        return f"%{hint}.{self.count}"

    def value_of(self, instruction: str) -> str:
        name = self.fresh()
        self.emit(f"{name} = {instruction}")
        return name

    def label(self, hint: str) -> str:
        self.count += 1
        return f"{hint}.{self.count}"

    def start(self, label: str) -> None:
        """Begin a block; what was open before falls into it."""
        if self.open:
            self.emit(f"br label %{label}")
        self.lines.append(f"{label}:")
        self.open = True

    def jump(self, label: str) -> None:
        if self.open:
            self.emit(f"br label %{label}")
        self.open = False

    def assign(self, name: str, value: str) -> None:
        if name not in self.slots:
            self.slots.add(name)
            self.entry.append(f"  %{name}.slot = alloca i64")
        self.emit(f"store i64 {value}, ptr %{name}.slot")

    def block(self, statements: Iterable[ast.stmt]) -> None:
        for statement in statements:
            if not self.open:
                return
            self.statement(statement)

    def statement(self, node: ast.stmt) -> None:
        match node:
            case ast.Expr(ast.Constant()):
                pass
            case ast.Expr(value):
                self.value(value)
            case ast.Assign([ast.Name(name)], value):
                self.assign(name, self.value(value))
            case ast.AugAssign(ast.Name(name) as target, op, value):
                read = ast.Name(target.id, ast.Load())
                self.assign(name, self.value(ast.BinOp(read, op, value)))
            case ast.If():
                self.branch(node)
            case ast.While():
                self.loop(node)
            case ast.For():
                self.count_loop(node)
            case ast.Break():
                self.jump(self.loops[-1][1])
            case ast.Continue():
                self.jump(self.loops[-1][0])
            case ast.Return(value):
                self.leave(value)
            case _:
                self.refuse(node)

    def leave(self, value: ast.expr | None) -> None:
        if self.result == "v":
            self.emit("ret void")
        else:
            assert value is not None
            word = self.narrow(self.value(value), self.result)
            self.emit(f"ret {_TYPES[self.result]} {word}")
        self.open = False

    def branch(self, node: ast.If) -> None:
        then, orelse, after = self.label("then"), self.label("else"), self.label("after")
        self.test(node.test, then, orelse)
        self.start(then)
        self.block(node.body)
        self.jump(after)
        self.start(orelse)
        self.block(node.orelse)
        self.jump(after)
        self.start(after)

    def loop(self, node: ast.While) -> None:
        head, body, after = self.label("head"), self.label("body"), self.label("after")
        self.start(head)
        self.test(node.test, body, after)
        self.start(body)
        self.loops.append((head, after))
        self.block(node.body)
        self.loops.pop()
        self.jump(head)
        self.start(after)

    def count_loop(self, node: ast.For) -> None:
        match node:
            case ast.For(ast.Name(name), ast.Call(ast.Name("range"), [*bounds])):
                first, last = [ast.Constant(0), *bounds][-2:]
            case _:
                self.refuse(node)
        head, body, step = self.label("head"), self.label("body"), self.label("step")
        after = self.label("after")
        self.assign(name, self.value(first))
        limit = self.value(last)
        self.start(head)
        below = self.value_of(f"icmp slt i64 {self.read(name)}, {limit}")
        self.split(below, body, after)
        self.start(body)
        self.loops.append((step, after))
        self.block(node.body)
        self.loops.pop()
        self.start(step)
        self.assign(name, self.value_of(f"add i64 {self.read(name)}, 1"))
        self.jump(head)
        self.start(after)

    # Conditions ---------------------------------------------------------------------------------

    def split(self, bit: str, yes: str, no: str) -> None:
        self.emit(f"br i1 {bit}, label %{yes}, label %{no}")
        self.open = False

    def test(self, node: ast.expr, yes: str, no: str) -> None:
        """Jump to one of the labels."""
        match node:
            case ast.BoolOp(op, values):
                for value in values[:-1]:
                    further = self.label("and" if isinstance(op, ast.And) else "or")
                    if isinstance(op, ast.And):
                        self.test(value, further, no)
                    else:
                        self.test(value, yes, further)
                    self.start(further)
                self.test(values[-1], yes, no)
            case ast.UnaryOp(ast.Not(), operand):
                self.test(operand, no, yes)
            case ast.Compare(left, [op], [right]):
                self.split(self.comparison(left, op, right), yes, no)
            case _:
                self.split(self.value_of(f"icmp ne i64 {self.value(node)}, 0"), yes, no)

    def comparison(self, left: ast.expr, op: ast.cmpop, right: ast.expr) -> str:
        a, b = self.value(left), self.value(right)
        return self.value_of(f"icmp {COMPARE[type(op)]} i64 {a}, {b}")

    # Expressions --------------------------------------------------------------------------------

    def read(self, name: str) -> str:
        return self.value_of(f"load i64, ptr %{name}.slot")

    def value(self, node: ast.expr) -> str:
        match node:
            case ast.Constant(int() as number):
                return str(int(number))
            case ast.Name(name) if name in self.slots:
                return self.read(name)
            case ast.Name(name) if isinstance(self.scope.get(name), int):
                return str(int(self.scope[name]))
            case ast.BinOp(left, op, right) if type(op) in BINARY:
                a, b = self.value(left), self.value(right)
                return self.value_of(f"{BINARY[type(op)]} i64 {a}, {b}")
            case ast.UnaryOp(ast.USub(), operand):
                return self.value_of(f"sub i64 0, {self.value(operand)}")
            case ast.UnaryOp(ast.Invert(), operand):
                return self.value_of(f"xor i64 {self.value(operand)}, -1")
            case ast.Compare(left, [op], [right]):
                return self.value_of(f"zext i1 {self.comparison(left, op, right)} to i64")
            case ast.IfExp():
                return self.choice(node)
            case ast.Call(ast.Name(name), args):
                return self.call(name, args, node)
        self.refuse(node)

    def choice(self, node: ast.IfExp) -> str:
        name = self.label("choice")
        then, orelse = ast.copy_location(ast.If(node.test, [], []), node), ast.Name(name)
        then.body = [ast.Assign([orelse], node.body)]
        then.orelse = [ast.Assign([orelse], node.orelse)]
        self.branch(then)
        return self.read(name)

    def pointer(self, address: str, offset: str, scale: int) -> str:
        base = self.value_of(f"inttoptr i64 {address} to ptr")
        return self.value_of(f"getelementptr i8, ptr {base}, i64 {self.times(offset, scale)}")

    def times(self, value: str, scale: int) -> str:
        if value.lstrip("-").isdigit():
            return str(int(value) * scale)
        return value if scale == 1 else self.value_of(f"mul i64 {value}, {scale}")

    def call(self, name: str, args: list[ast.expr], node: ast.expr) -> str:
        known = self.scope.get(name)
        if name in self.natives:
            callee = self.natives[name]
            signature = self.kind_of(callee.returns) + "".join(
                self.kind_of(arg.annotation) for arg in callee.args.args
            )
            return self.invoke(signature, f"@{name}", [self.value(arg) for arg in args])
        if isinstance(known, Extern):
            self.externs[known.symbol] = known.signature
            return self.invoke(
                known.signature, f"@{known.symbol}", [self.value(arg) for arg in args]
            )
        match name, args:
            case "indirect", [ast.Constant(str() as signature), function, *rest]:
                pointer = self.value_of(f"inttoptr i64 {self.value(function)} to ptr")
                return self.invoke(signature, pointer, [self.value(arg) for arg in rest])
            case "address_of", [ast.Name(target)]:
                return self.address(target, node)
            case "local", [ast.Constant(int() as words)]:
                slot = self.fresh("array")
                self.entry.append(f"  {slot} = alloca [{words} x i64], align 16")
                return self.value_of(f"ptrtoint ptr {slot} to i64")
        return self.memory(name, [self.value(arg) for arg in args], node)

    def address(self, target: str, node: ast.expr) -> str:
        known = self.scope.get(target)
        if isinstance(known, Extern):
            self.externs[known.symbol] = known.signature
            return self.value_of(f"ptrtoint ptr @{known.symbol} to i64")
        if isinstance(known, Static):
            self.statics[known.symbol] = known.words
            return self.value_of(f"ptrtoint ptr @{known.symbol} to i64")
        if target in self.natives:
            return self.value_of(f"ptrtoint ptr @{target} to i64")
        self.refuse(node)

    def memory(self, name: str, args: list[str], node: ast.expr) -> str:
        match name, args:
            case _, [base, slot, *values] if name in READ:
                at = self.pointer(base, slot, 8)
                return self.value_of(READ[name].format(at, *values))
            case _, [base, slot, value] if name in WRITE:
                self.emit(WRITE[name].format(self.pointer(base, slot, 8), value))
                return "0"
            case "load_i32" | "load_u8", [base, offset]:
                type, extend = ("i32", "sext") if name == "load_i32" else ("i8", "zext")
                part = self.value_of(f"load {type}, ptr {self.pointer(base, offset, 1)}")
                return self.value_of(f"{extend} {type} {part} to i64")
            case "replace", [base, slot, old, new]:
                at, orders = self.pointer(base, slot, 8), "acq_rel monotonic"
                pair = self.value_of(f"cmpxchg ptr {at}, i64 {old}, i64 {new} {orders}")
                done = self.value_of(f"extractvalue {{i64, i1}} {pair}, 1")
                return self.value_of(f"zext i1 {done} to i64")
            case "relax", []:
                self.emit(f'call void asm sideeffect "{PAUSE}", "~{{memory}}"()')
                return "0"
            case _, operands if name in OPERATION:
                return self.value_of(OPERATION[name].format(*operands))
        self.refuse(node)

    # Calls --------------------------------------------------------------------------------------

    def widen(self, value: str, kind: str) -> str:
        match kind:
            case "i":
                return self.value_of(f"sext i32 {value} to i64")
            case "d":
                return self.value_of(f"bitcast double {value} to i64")
        return value

    def narrow(self, value: str, kind: str) -> str:
        match kind:
            case "i":
                return self.value_of(f"trunc i64 {value} to i32")
            case "d":
                return self.value_of(f"bitcast i64 {value} to double")
        return value

    def invoke(self, signature: str, callee: str, args: list[str]) -> str:
        assert len(args) == len(signature) - 1, f"{callee} in {self.node.name}"
        given = ", ".join(
            f"{_TYPES[kind]} {self.narrow(arg, kind)}"
            for kind, arg in zip(signature[1:], args, strict=True)
        )
        call = f"call {_TYPES[signature[0]]} {callee}({given})"
        if signature[0] == "v":
            self.emit(call)
            return "0"
        return self.widen(self.value_of(call), signature[0])

    def refuse(self, node: ast.AST) -> NoReturn:
        raise TypeError(f"{self.node.name}: not a word expression: {ast.unparse(node)}")
