"""Statements of Core as Python of the language. Every array must own its storage (`lower.own`)."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import assert_never

from tapeless.core.names import Atom, Const, Var
from tapeless.core.types import Array, DType
from tapeless.ir.syntax import (
    Acc,
    Alloc,
    Append,
    Body,
    Call,
    Check,
    Each,
    Fold,
    For,
    If,
    Index,
    Iverson,
    Let,
    Loop,
    Monoid,
    Prim,
    Put,
    Reverse,
    Scan,
    Sort,
    Update,
    View,
)  # fmt: skip
from tapeless.ir.walk import atoms_of
from tapeless.unparse.expressions import (
    binary,
    call,
    constant,
    items,
    name,
    number,
    numpy_name,
    subscript,
    text,
)  # fmt: skip
from tapeless.unparse.scope import Scope

_ACC = {"+": ast.Add, "*": ast.Mult}
ZERO_LIKE = {"f": 0.0, "i": 0, "u": 0, "b": False}


class Statements(Scope):
    """Writes statements into `lines`."""

    def body(self, body: Body) -> None:
        for stm in body.stms:
            self.let(stm, body)

    def block(self, body: Body, results: Sequence[str]) -> list[ast.stmt]:
        """The lines of a body whose results are assigned to names."""
        self.lines.append([])
        self.body(body)
        self.assign_all(results, self.atoms(body.results))
        self.settle(reads_only=False)
        return self.lines.pop() or [ast.Pass()]

    def let(self, stm: Let, body: Body) -> None:
        exp = stm.exp
        if isinstance(exp, Prim | Index):
            self.flat(stm, exp, body)
            return
        self.settle(reads_only=True, kept=atoms_of(exp))
        match exp:
            case Update(array, at, value, modes):
                self.store(array, at, modes, self.atom(value))
                self.share(stm.outs[0], array)
            case Alloc(kind, dtype, shape):
                self.assign(self.name(stm.outs[0]), self.new(kind, dtype, shape))
            case Append(array, value, _):
                self.append(array, value)
                self.share(stm.outs[0], array)
            case If(cond, then, orelse):
                self.branch(stm, cond, then, orelse)
            case Iverson(cond, then):
                self.branch(stm, cond, then, None)
            case Loop():
                self.loop(stm, exp)
            case Each():
                self.each(stm, exp)
            case Fold(var, size, monoid, inner):
                self.fold(stm, var, size, monoid, inner, arrays=())
            case Scan(var, size, monoid, inner):
                arrays = [self.made(out) for out in stm.outs]
                self.fold(stm, var, size, monoid, inner, arrays=arrays)
            case Put():
                self.put(exp)
            case Check(cond, error, message, args):
                self.check(cond, error, message, args)
            case Sort(array, at):
                row = subscript(name(self.name(array)), self.atoms(at)) if at else None
                keys = row or name(self.name(array))
                order = call("np.argsort", keys, kind=ast.Constant("stable"))
                self.assign(self.name(stm.outs[0]), order)
            case Call(callee, args):
                assert isinstance(callee, str)
                self.call(stm, callee, args)
            case _:
                assert_never(exp)

    def flat(self, stm: Let, exp: Prim | Index, body: Body) -> None:
        value = self.value(exp)
        if self.may_wait(stm, body):
            self.waiting[stm.outs[0]] = value
        else:
            self.assign(self.name(stm.outs[0]), value[0])

    # memory
    def new(self, kind: str, dtype: DType, shape: Sequence[Atom]) -> ast.expr:
        sizes = items(self.atoms(shape))
        extra = [] if dtype.name == "f64" else [name(numpy_name(dtype))]
        return call(f"np.{kind}", sizes, *extra)

    def made(self, out: Var) -> str:
        """A new array for a result whose cells are all written."""
        shape = [self.size(out, k) for k in range(len(out.shape))]
        self.assign(self.name(out), self.new("empty", out.dtype, shape))
        return self.name(out)

    def store(
        self, array: Var, at: Sequence[Atom], modes: str, value: ast.expr, op: str = "="
    ) -> None:
        """array[at] op= value"""
        if "i" in modes:
            self.store_inside(array, at, modes, value, op)
            return
        cell = subscript(name(self.name(array)), self.at(array, at, modes)) if at else (
            name(self.name(array))
        )  # fmt: skip
        self.combine(cell, value, op)

    def store_inside(
        self, array: Var, at: Sequence[Atom], modes: str, value: ast.expr, op: str
    ) -> None:
        """A store that does nothing out of range."""
        inside: list[ast.expr] = []
        for k, (i, mode) in enumerate(zip(at, modes, strict=True)):
            if mode == "i":
                shown = self.settled(i) if isinstance(i, Var) else self.atom(i)
                ops: list[ast.cmpop] = [ast.LtE(), ast.Lt()]
                inside.append(
                    ast.Compare(ast.Constant(0), ops, [shown, self.atom(self.size(array, k))])
                )
        test = inside[0] if len(inside) == 1 else ast.BoolOp(ast.And(), inside)
        self.lines.append([])
        self.store(array, at, modes.replace("i", "p"), value, op)
        self.emit(ast.If(test, self.lines.pop(), []))

    def combine(self, cell: ast.expr, value: ast.expr, op: str) -> None:
        if op in _ACC:
            self.emit(ast.AugAssign(cell, _ACC[op](), value))  # type: ignore[arg-type]  # a target
        else:
            new = value if op == "=" else call(f"np.{op}imum", cell, value)
            self.emit(ast.Assign([cell], new))

    def append(self, array: Var, value: Atom) -> None:
        row = self.atom(value)
        if isinstance(value.type, Array):
            more: ast.expr = subscript(row, [ast.Constant(None)])
        else:
            more = call("np.array", ast.List([row]))
        old = name(self.name(array))
        joined = call("np.concatenate", ast.Tuple([old, more]))
        self.assign(self.name(array), joined)

    # control
    def branch(self, stm: Let, cond: Atom, then: Body, orelse: Body | None) -> None:
        test = self.atom(cond)
        self.settle(reads_only=False)
        yes, yes_results = self.arm(then)
        no, no_results = self.arm(orelse) if orelse is not None else self.zeros(stm.outs)
        for out, a, b in zip(stm.outs, yes_results, no_results, strict=True):
            if out.is_array and isinstance(a, ast.Name) and ast.unparse(a) == ast.unparse(b):
                self.names[out] = a.id  # written in place, or not at all
        outs = [self.name(o) for o in stm.outs]
        for lines, results in ((yes, yes_results), (no, no_results)):
            self.lines.append(lines)
            self.assign_all(outs, results)
            self.lines.pop()
        if yes or no:
            self.emit(ast.If(test, yes or [ast.Pass()], no))

    def arm(self, body: Body) -> tuple[list[ast.stmt], list[ast.expr]]:
        """Lines and results of a body."""
        self.lines.append([])
        self.body(body)
        results = self.atoms(body.results)
        self.settle(reads_only=False)
        return self.lines.pop(), results

    def zeros(self, outs: tuple[Var, ...]) -> tuple[list[ast.stmt], list[ast.expr]]:
        """What an Iverson gives where its condition is false."""
        made = [
            self.new("zeros", o.dtype, [self.size(o, k) for k in range(len(o.shape))])
            if o.is_array else constant(Const(ZERO_LIKE[o.dtype.kind], o.dtype))
            for o in outs
        ]  # fmt: skip
        return [], made

    def start(self, params: Sequence[Var], inits: Sequence[Atom]) -> list[str]:
        """State takes its first values; arrays move in, they die where they were."""
        pairs = []
        for param, init in zip(params, inits, strict=True):
            if isinstance(init, Var) and init.is_array:
                self.share(param, init)
            else:
                pairs.append((param, self.atom(init)))
        for param, value in pairs:
            self.assign(self.name(param), value)
        return [self.name(p) for p in params]

    def loop(self, stm: Let, exp: Loop) -> None:
        size = self.atom(exp.form.size) if isinstance(exp.form, For) else None
        reverse = self.reverse(exp.reverse)
        state = self.start(exp.params, exp.inits)
        self.settle(reads_only=False)
        if isinstance(exp.form, For):
            assert size is not None
            turns = call("tp.loop", size, **reverse) if reverse else call("range", size)
            if exp.reverse.kind == "each":
                turns = call("tp.each", size)
            index = ast.Name(self.name(exp.form.var))
            self.counters.add(exp.form.var)
            self.emit(ast.For(index, turns, self.block(exp.body, state), []))
        else:
            self.emit(self.while_loop(exp.form.cond, exp.body, state))
        for out, param in zip(stm.outs, exp.params, strict=True):
            self.share(out, param)

    def while_loop(self, cond: Body, body: Body, state: list[str]) -> ast.stmt:
        self.lines.append([])
        self.body(cond)
        test = self.atom(cond.results[0])
        self.settle(reads_only=False)
        before = self.lines.pop()
        inside = self.block(body, state)
        if not before:
            return ast.While(test, inside, [])
        stop = ast.If(ast.UnaryOp(ast.Not(), test), [ast.Break()], [])
        return ast.While(ast.Constant(True), [*before, stop, *inside], [])

    def reverse(self, r: Reverse) -> dict[str, ast.expr]:
        out: dict[str, ast.expr] = {}
        if r.kind != "auto":
            out["reverse"] = ast.Constant(r.kind)
        if r.levels is not None:
            out["levels"] = number(r.levels)
        if r.slots is not None:
            out["slots"] = self.atom(r.slots)
        if r.memory is not None:
            out["memory"] = self.atom(r.memory)
        return out

    # parallel nests
    def each(self, stm: Let, exp: Each) -> None:
        if is_copy(exp):
            source = exp.body.stms[0].exp
            assert isinstance(source, Index)
            copied = ast.Call(ast.Attribute(name(self.name(source.array)), "copy"), [], [])
            self.assign(self.name(stm.outs[0]), copied)
            return
        sizes = self.atoms(exp.sizes)
        count = len(exp.body.results)
        for acc in exp.accs:
            self.start(acc.vars, acc.inits)
        self.settle(reads_only=False)
        arrays = [self.made(out) for out in stm.outs[:count]]
        ordered = any(isinstance(a.op, Monoid) for a in exp.accs)
        self.accs = {**self.accs, **{v: a for a in exp.accs for v in a.vars}}
        at = [name(self.name(v)) for v in exp.vars]
        self.counters.update(exp.vars)
        self.lines.append([])
        self.body(exp.body)
        for array, result in zip(arrays, exp.body.results, strict=True):
            cell = subscript(name(array), at) if at else name(array)
            self.emit(ast.Assign([cell], self.atom(result)))
        self.settle(reads_only=False)
        inside = self.lines.pop() or [ast.Pass()]
        for var, size in zip(reversed(at), reversed(sizes), strict=True):
            turns = call("range" if ordered else "tp.each", size)
            inside = [ast.For(var, turns, inside, [])]
        for line in inside:
            self.emit(line)
        finals = [v for a in exp.accs for v in a.vars]
        for out, final in zip(stm.outs[count:], finals, strict=True):
            self.share(out, final)

    accs: dict[Var, Acc] = {}  # noqa: RUF012  # replaced, never changed

    def put(self, exp: Put) -> None:
        op = self.accs[exp.targets[0]].op
        values = self.atoms(exp.values)
        if not isinstance(op, Monoid):
            self.store(exp.targets[0], exp.at, exp.modes, values[0], op)
            return
        cells = [
            subscript(name(self.name(t)), self.at(t, exp.at, exp.modes)) if exp.at
            else name(self.name(t))
            for t in exp.targets
        ]  # fmt: skip
        self.assign_all([self.name(v) for v in op.left], cells)
        self.assign_all([self.name(v) for v in op.right], values)
        self.body(op.body)
        for cell, result in zip(cells, op.body.results, strict=True):
            self.emit(ast.Assign([cell], self.atom(result)))

    def fold(
        self, stm: Let, var: Var, size: Atom, monoid: Monoid, body: Body, arrays: Sequence[str]
    ) -> None:
        turns = call("range", self.atom(size))
        self.counters.add(var)
        state = self.start(monoid.left, monoid.neutral)
        self.settle(reads_only=False)
        self.lines.append([])
        self.body(body)
        self.assign_all([self.name(v) for v in monoid.right], self.atoms(body.results))
        self.body(monoid.body)
        self.assign_all(state, self.atoms(monoid.body.results))
        self.settle(reads_only=False)
        index = name(self.name(var))
        for array, value in zip(arrays, state, strict=False):
            self.emit(ast.Assign([subscript(name(array), [index])], name(value)))
        self.emit(ast.For(index, turns, self.lines.pop(), []))
        if not arrays:
            for out, left in zip(stm.outs, monoid.left, strict=True):
                self.share(out, left)

    # checks and calls
    def check(self, cond: Atom, error: str, message: str, args: tuple[Atom, ...]) -> None:
        test, words = self.atom(cond), text(message, self.atoms(args))
        if error == "AssertionError":
            self.emit(ast.Assert(test, words if message else None))
            return
        raised = ast.Call(name(error), [words] if message else [], [])
        negated: ast.expr = ast.UnaryOp(ast.Not(), test)
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            negated = test.operand
        self.emit(ast.If(negated, [ast.Raise(raised, None)], []))

    def call(self, stm: Let, callee: str, args: tuple[Atom | View, ...]) -> None:
        operands = [self.view(a) if isinstance(a, View) else self.atom(a) for a in args]
        value = call(f"tp.callee.{callee}", *operands)
        outs = [name(self.name(o)) for o in stm.outs]
        self.emit(ast.Assign([items(outs)], value))

    def view(self, view: View) -> ast.expr:
        """array[i, j:j+n], with axes in the order of the view."""
        at: list[ast.expr] = []
        for axis, start in enumerate(view.at):
            dims = [d for d in view.dims if d[0] == axis]
            first = self.settled(start) if isinstance(start, Var) else self.atom(start)
            if not dims:
                at.append(first)
                continue
            ((_, size, step),) = dims
            length = (
                binary(ast.Mult, self.atom(size), number(step)) if step != 1 else self.atom(size)
            )
            at.append(
                ast.Slice(
                    first, binary(ast.Add, first, length), number(step) if step != 1 else None
                )
            )
        sliced = subscript(name(self.name(view.array)), at)
        order = [d[0] for d in view.dims]
        if order != sorted(order):
            axes = [sorted(order).index(k) for k in order]
            return call("np.transpose", sliced, ast.Tuple([number(k) for k in axes]))
        return sliced


def is_copy(exp: Each) -> bool:
    """Whether a nest does nothing but read a whole array."""
    if exp.accs or len(exp.body.stms) != 1 or len(exp.body.results) != 1:
        return False
    (stm,) = exp.body.stms
    match stm.exp:
        case Index(array, at, _):
            sizes = tuple(Scope.size(array, k) for k in range(len(array.shape)))
            return at == exp.vars and sizes == exp.sizes and exp.body.results == stm.outs
    return False
