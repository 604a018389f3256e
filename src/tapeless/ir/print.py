"""Text of Core. `ir.parse` reads it back: parse(show(f)) is f up to the identity of variables.

Names are hints numbered in the order in which the text binds them, so that the same program
always prints the same text. Source locations are left out.

    fun axpy(n: i64, a: f64, x: f64[n], *y: f64[n]) {
      z: f64[n] = each (i < n) with (out: f64[n] = y) {
        x_i: f64 = x[i]
        t: f64 = a * x_i
        y_i: f64 = y[i]
        s: f64 = t + y_i
        put out[i] <- s
        return
      }
      return z
    }
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import assert_never

from tapeless.core.names import Atom, Const, Var
from tapeless.core.prims import OPS
from tapeless.core.types import DTYPES, Array, Type
from tapeless.ir.syntax import (
    CHECK,
    IGNORE,
    PROVED,
    WRAP,
    Acc,
    Alloc,
    Append,
    Body,
    Call,
    Check,
    Each,
    Exp,
    Fold,
    For,
    Fun,
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

KEYWORDS = frozenset(
    "fun return with zeros empty append if else iverson loop for while do reverse each fold scan "
    "of op neutral commutative put check sort call view by true false nan inf min max".split()
) | frozenset(DTYPES)
MODE_MARKS = {PROVED: "", CHECK: "?", WRAP: "~", IGNORE: "!"}
ACC_MARKS = {"=": "=", "+": "+=", "*": "*=", "min": "min=", "max": "max="}


def show(x: Fun | Body | Let | Exp) -> str:
    """The text of a program or of a part of one (whose free variables print without type)."""
    printer = _Printer()
    match x:
        case Fun():
            printer.fun(x)
        case Body():
            printer.statements(x)
        case Let():
            printer.let(x)
        case _:
            printer.exp("", x)
    return "\n".join(printer.lines)


def base_name(hint: str) -> str:
    """The hint as an identifier of the text form, without a number of its own."""
    name = re.sub(r"(_[0-9]+)+$", "", re.sub(r"\W", "_", hint)) or "t"
    if name[0].isdigit() or not name.isidentifier():
        name = "v" + re.sub(r"[^A-Za-z0-9_]", "_", name)
    return name + "_" if name in KEYWORDS else name


def quoted(name: str) -> str:
    """A name of a function: bare if it looks like one, else as a string."""
    bare = re.fullmatch(r"[^\W\d][\w.]*", name) and name not in KEYWORDS
    return name if bare else json.dumps(name, ensure_ascii=False)


def show_const(c: Const) -> str:
    if c.dtype.is_bool:
        return "true" if c.value else "false"
    plain = c.dtype.name in ("i64", "f64")
    return repr(c.value) if plain else f"{c.value!r}:{c.dtype.name}"


class _Printer:
    """Lines of text so far, the names given, and how deep we are."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.names: dict[Var, str] = {}
        self.counts: dict[str, int] = {}
        self.depth = 0

    # leaves
    def name(self, var: Var) -> str:
        if var not in self.names:
            base = base_name(var.hint)
            count = self.counts.get(base, 0)
            self.counts[base] = count + 1
            self.names[var] = f"{base}_{count}" if count else base
        return self.names[var]

    def atom(self, atom: Atom) -> str:
        return show_const(atom) if isinstance(atom, Const) else self.name(atom)

    def atoms(self, atoms: Iterable[Atom]) -> str:
        return ", ".join(map(self.atom, atoms))

    def type(self, type: Type) -> str:
        if isinstance(type, Array):
            sizes = (str(s) if isinstance(s, int) else self.name(s) for s in type.shape)
            return f"{type.dtype.name}[{', '.join(sizes)}]"
        return type.dtype.name

    def binder(self, var: Var) -> str:
        return f"{self.name(var)}: {self.type(var.type)}"

    def binders(self, vars: Iterable[Var]) -> str:
        return ", ".join(map(self.binder, vars))

    def at(self, at: tuple[Atom, ...], modes: str) -> str:
        return ", ".join(
            self.atom(a) + MODE_MARKS.get(m, f"<{m}>")
            for a, m in zip(at, modes.ljust(len(at)), strict=False)
        )

    # lines
    def line(self, text: str) -> None:
        self.lines.append("  " * self.depth + text)

    def fun(self, fun: Fun) -> None:
        params = ", ".join("*" * (p in fun.writes) + self.binder(p) for p in fun.params)
        self.line(f"fun {quoted(fun.name)}({params}) {{")
        self.block(fun.body)
        self.line("}")

    def block(self, body: Body) -> None:
        self.depth += 1
        self.statements(body)
        self.depth -= 1

    def statements(self, body: Body) -> None:
        for stm in body.stms:
            self.let(stm)
        self.line(f"return {self.atoms(body.results)}".rstrip())

    def let(self, stm: Let) -> None:
        self.exp(f"{self.binders(stm.outs)} = " if stm.outs else "", stm.exp)

    def exp(self, outs: str, exp: Exp) -> None:
        """The lines of `exp`; `outs` opens the first."""
        match exp:
            case If(cond, then, orelse):
                self.line(f"{outs}if {self.atom(cond)} {{")
                self.block(then)
                self.line("} else {")
                self.last_block(orelse)
            case Iverson(cond, body):
                self.line(f"{outs}iverson {self.atom(cond)} {{")
                self.last_block(body)
            case Loop():
                self.loop(outs, exp)
            case Each():
                self.each(outs, exp)
            case Fold(var, size, monoid, body) | Scan(var, size, monoid, body):
                word = "fold" if isinstance(exp, Fold) else "scan"
                head = f"{outs}{word} {self.name(var)} < {self.atom(size)} by "
                self.monoid(head, monoid, "} of {")
                self.last_block(body)
            case _:
                self.line(outs + self.flat(exp))

    def last_block(self, body: Body) -> None:
        self.block(body)
        self.line("}")

    def loop(self, outs: str, exp: Loop) -> None:
        pairs = zip(exp.params, exp.inits, strict=True)
        state = ", ".join(f"{self.binder(p)} = {self.atom(i)}" for p, i in pairs)
        head = f"{outs}loop ({state}) {self.reverse(exp.reverse)}"
        if isinstance(exp.form, For):
            self.line(f"{head}for {self.name(exp.form.var)} < {self.atom(exp.form.size)} {{")
        else:
            self.line(f"{head}while {{")
            self.block(exp.form.cond)
            self.line("} do {")
        self.last_block(exp.body)

    def reverse(self, r: Reverse) -> str:
        levels = f"levels={r.levels}" if r.levels is not None else ""
        slots = f"slots={self.atom(r.slots)}" if r.slots is not None else ""
        memory = f"memory={self.atom(r.memory)}" if r.memory is not None else ""
        options = ", ".join(filter(None, (levels, slots, memory)))
        if not options and r.kind == "auto":
            return ""
        return f"reverse {r.kind}({options}) "

    def each(self, outs: str, exp: Each) -> None:
        space = ", ".join(
            f"{self.name(v)} < {self.atom(s)}" for v, s in zip(exp.vars, exp.sizes, strict=True)
        )
        head = f"{outs}each ({space})"
        if any(isinstance(a.op, Monoid) for a in exp.accs):
            self.line(f"{head} with (")
            self.depth += 1
            for acc in exp.accs:
                self.acc(acc)
            self.depth -= 1
            self.line(") {")
        else:
            accs = ", ".join(self.known_acc(a) for a in exp.accs)
            self.line(f"{head} with ({accs}) {{" if accs else f"{head} {{")
        self.last_block(exp.body)

    def acc(self, acc: Acc) -> None:
        if isinstance(acc.op, Monoid):
            head = f"({self.binders(acc.vars)}) = ({self.atoms(acc.inits)}) by "
            self.monoid(head, acc.op, "}")
        else:
            self.line(self.known_acc(acc))

    def known_acc(self, acc: Acc) -> str:
        assert isinstance(acc.op, str)
        mark = ACC_MARKS.get(acc.op, f"<{acc.op}>")
        return f"{self.binders(acc.vars)} {mark} {self.atoms(acc.inits)}"

    def monoid(self, head: str, m: Monoid, close: str) -> None:
        commutative = " commutative" if m.commutative else ""
        self.line(
            f"{head}op ({self.binders(m.left)}) ({self.binders(m.right)}) "
            f"neutral ({self.atoms(m.neutral)}){commutative} {{"
        )
        self.block(m.body)
        self.line(close)

    def flat(self, exp: Exp) -> str:
        """Text of an expression without bodies."""
        match exp:
            case Prim(op, args):
                return self.prim(op, args)
            case Index(array, at, modes):
                return f"{self.name(array)}[{self.at(at, modes)}]"
            case Update(array, at, value, modes):
                return f"{self.name(array)} with [{self.at(at, modes)}] = {self.atom(value)}"
            case Alloc(kind, dtype, shape):
                return f"{kind} {dtype.name}[{self.atoms(shape)}]"
            case Append(array, value, size):
                return f"append({self.name(array)}, {self.atom(value)}, {self.atom(size)})"
            case Put(targets, at, values, modes):
                names = ", ".join(map(self.name, targets))
                names = names if len(targets) == 1 else f"({names})"
                cell = f"[{self.at(at, modes)}]" if at else ""
                return f"put {names}{cell} <- {self.atoms(values)}"
            case Check(cond, error, message, args):
                text = json.dumps(message, ensure_ascii=False)
                rest = "".join(f", {self.atom(a)}" for a in args)
                return f"check {self.atom(cond)} else {error}({text}{rest})"
            case Sort(array, at):
                return f"sort {self.name(array)}" + (f"[{self.atoms(at)}]" if at else "")
            case Call(callee, args):
                shown = callee if isinstance(callee, str) else callee.name
                return f"call {quoted(shown)}({', '.join(map(self.operand, args))})"
            case If() | Iverson() | Loop() | Each() | Fold() | Scan():
                raise AssertionError("has bodies")
        assert_never(exp)

    def prim(self, op: str, args: tuple[Atom, ...]) -> str:
        symbol = OPS[op].symbol if op in OPS else ""
        if symbol and len(args) == 2:
            return f"{self.atom(args[0])} {symbol} {self.atom(args[1])}"
        return f"{op}({self.atoms(args)})"

    def operand(self, arg: Atom | View) -> str:
        if not isinstance(arg, View):
            return self.atom(arg)
        dims = ", ".join(
            f"{axis}: {self.atom(size)}" + (f" * {step}" if step != 1 else "")
            for axis, size, step in arg.dims
        )
        return f"{self.name(arg.array)}[{self.atoms(arg.at)} | {dims}]"
