"""The reader of the text form that `ir.print` writes; errors name the line.

Statements need no separators: each is recognised by its first token. Names are bound once in the
whole text, so that one dictionary serves; scopes are the verifier's business.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from tapeless.core.names import Atom, Const, Var
from tapeless.core.prims import OPS
from tapeless.core.types import DTYPES, INDEX, Array, DType, Scalar, Type
from tapeless.ir.print import ACC_MARKS, KEYWORDS, MODE_MARKS, base_name
from tapeless.ir.syntax import (
    PROVED,
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
    While,
)  # fmt: skip
from tapeless.ir.tokens import Tokens

_MODES = {mark: mode for mode, mark in MODE_MARKS.items() if mark}
_ACC_OPS = {mark: op for op, mark in ACC_MARKS.items()}
_INFIX = {op.symbol: op.name for op in OPS.values() if op.symbol}


def parse(text: str) -> Fun:
    """The program that `text` denotes."""
    reader = _Reader(text)
    fun = reader.fun()
    reader.end()
    return fun


class _Reader(Tokens):
    """Recursive descent; one method per construct of the grammar."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.vars: dict[str, Var] = {}

    # leaves
    def function_name(self) -> str:
        return str(json.loads(self.take().text)) if self.next.kind == "string" else self.word()

    def dtype(self) -> DType:
        name = self.word()
        if name not in DTYPES:
            raise self.error(f"{name!r} is not an element type")
        return DTYPES[name]

    def var(self) -> Var:
        name = self.word()
        if name not in self.vars:
            raise self.error(f"unknown variable {name!r}")
        return self.vars[name]

    def atom(self) -> Atom:
        if self.next.kind == "number":
            return self.number()
        if self.sees("true", "false"):
            return Const(self.take().text == "true", DTYPES["bool"])
        return self.var()

    def number(self) -> Const:
        text, _, suffix = self.take().text.partition(":")
        real = any(mark in text for mark in (".", "e", "E", "inf", "nan"))
        dtype = DTYPES[suffix] if suffix else DTYPES["f64" if real else "i64"]
        if real and not dtype.is_float:
            raise self.error(f"{text} is not of type {dtype}")
        return Const(float(text) if real else int(text), dtype)

    def atoms(self, close: str) -> tuple[Atom, ...]:
        return self.list(self.atom, close)

    def indices(self) -> tuple[tuple[Atom, ...], str]:
        """Index atoms with their mode marks, after the opening bracket."""
        modes: list[str] = []

        def one() -> Atom:
            atom = self.atom()
            modes.append(_MODES[self.take().text] if self.sees(*_MODES) else PROVED)
            return atom

        at = self.list(one, "]")
        return at, "".join(modes)

    def type(self) -> Type:
        dtype = self.dtype()
        if not self.accept("["):
            return Scalar(dtype)
        return Array(dtype, self.list(self.size, "]"))

    def size(self) -> int | Var:
        return self.integer() if self.next.kind == "number" else self.var()

    # binders
    def bind(self, name: str, type: Type) -> Var:
        if name in KEYWORDS:
            raise self.error(f"{name!r} is a keyword")
        if name in self.vars:
            raise self.error(f"{name!r} is bound twice")
        self.vars[name] = Var(type, base_name(name))
        return self.vars[name]

    def binder(self) -> Var:
        name = self.word()
        self.expect(":")
        return self.bind(name, self.type())

    def binders(self) -> tuple[Var, ...]:
        self.expect("(")
        return self.list(self.binder, ")")

    def counter(self) -> tuple[Var, Atom]:
        """i < n: a new i64 variable and its bound."""
        name = self.word()
        self.expect("<")
        return self.bind(name, INDEX), self.atom()

    # programs
    def fun(self) -> Fun:
        self.expect("fun")
        name = self.function_name()
        writes: list[Var] = []

        def param() -> Var:
            written = self.accept("*")
            var = self.binder()
            writes.extend([var] * written)
            return var

        self.expect("(")
        params = self.list(param, ")")
        return Fun(name, params, self.body(), tuple(writes))

    def body(self) -> Body:
        self.expect("{")
        stms: list[Let] = []
        while not self.accept("return"):
            stms.append(self.let())
        return Body(tuple(stms), self.atoms("}"))

    def let(self) -> Let:
        if self.next.kind == "name" and self.after == ":":
            outs = [self.binder()]
            while self.accept(","):
                outs.append(self.binder())
            self.expect("=")
            return Let(tuple(outs), self.exp())
        return Let((), self.exp())

    def exp(self) -> Exp:
        word = self.next.text if self.next.kind == "name" else ""
        constructs: dict[str, Callable[[], Exp]] = {
            "if": self.if_, "iverson": self.iverson, "loop": self.loop, "each": self.each,
            "fold": self.fold, "scan": self.fold, "zeros": self.alloc, "empty": self.alloc,
            "append": self.append, "put": self.put, "check": self.check, "sort": self.sort,
            "call": self.call,
        }  # fmt: skip
        if word in constructs:
            return constructs[word]()
        if word and self.after == "(":
            op = self.take().text
            self.expect("(")
            return Prim(op, self.atoms(")"))
        return self.infix_or_index()

    def infix_or_index(self) -> Exp:
        left = self.atom()
        if isinstance(left, Var) and self.accept("["):
            return Index(left, *self.indices())
        if isinstance(left, Var) and self.accept("with"):
            self.expect("[")
            at, modes = self.indices()
            self.expect("=")
            return Update(left, at, self.atom(), modes)
        if self.next.text in _INFIX and self.next.kind == "symbol":
            return Prim(_INFIX[self.take().text], (left, self.atom()))
        raise self.error(f"expected an operator, found {self.next.text!r}")

    # constructs
    def alloc(self) -> Exp:
        kind, dtype = self.word(), self.dtype()
        self.expect("[")
        return Alloc(kind, dtype, self.atoms("]"))

    def append(self) -> Exp:
        self.word()
        self.expect("(")
        array = self.var()
        self.expect(",")
        value, size = self.atoms(")")
        return Append(array, value, size)

    def if_(self) -> Exp:
        self.word()
        cond, then = self.atom(), self.body()
        self.expect("else")
        return If(cond, then, self.body())

    def iverson(self) -> Exp:
        self.word()
        return Iverson(self.atom(), self.body())

    def loop(self) -> Exp:
        self.word()

        def state() -> tuple[Var, Atom]:
            param = self.binder()
            self.expect("=")
            return param, self.atom()

        self.expect("(")
        pairs = self.list(state, ")")
        params, inits = tuple(p for p, _ in pairs), tuple(i for _, i in pairs)
        reverse = self.reverse() if self.accept("reverse") else Reverse()
        if self.accept("for"):
            form: For | While = For(*self.counter())
        else:
            self.expect("while")
            form = While(self.body())
            self.expect("do")
        return Loop(form, params, inits, self.body(), reverse)

    def reverse(self) -> Reverse:
        kind = self.word()
        options: dict[str, Atom] = {}

        def option() -> None:
            name = self.word()
            if name not in ("levels", "slots", "memory"):
                raise self.error(f"{name!r} is not an option of reverse")
            self.expect("=")
            options[name] = self.atom()

        self.expect("(")
        self.list(option, ")")
        levels = options.get("levels")
        number = int(levels.value) if isinstance(levels, Const) else None
        return Reverse(kind, number, options.get("slots"), options.get("memory"))

    def each(self) -> Exp:
        self.word()
        self.expect("(")
        space = self.list(self.counter, ")")
        accs: list[Acc] = []
        if self.accept("with"):
            self.expect("(")
            while not self.accept(")"):
                accs.append(self.acc())
                self.accept(",")
        vars, sizes = tuple(v for v, _ in space), tuple(s for _, s in space)
        return Each(vars, sizes, tuple(accs), self.body())

    def acc(self) -> Acc:
        if not self.sees("("):
            var = self.binder()
            if not self.sees(*_ACC_OPS):
                raise self.error(f"expected an accumulation, found {self.next.text!r}")
            op = _ACC_OPS[self.take().text]
            return Acc((var,), (self.atom(),), op)
        vars = self.binders()
        self.expect("=")
        self.expect("(")
        inits = self.atoms(")")
        self.expect("by")
        return Acc(vars, inits, self.monoid())

    def monoid(self) -> Monoid:
        self.expect("op")
        left, right = self.binders(), self.binders()
        self.expect("neutral")
        self.expect("(")
        neutral = self.atoms(")")
        commutative = self.accept("commutative")
        return Monoid(left, right, self.body(), neutral, commutative)

    def fold(self) -> Exp:
        kind = Fold if self.word() == "fold" else Scan
        var, size = self.counter()
        self.expect("by")
        monoid = self.monoid()
        self.expect("of")
        return kind(var, size, monoid, self.body())

    def put(self) -> Exp:
        self.word()
        targets = self.list(self.var, ")") if self.accept("(") else (self.var(),)
        at, modes = self.indices() if self.accept("[") else ((), "")
        self.expect("<-")
        values = [self.atom()]
        while self.accept(","):
            values.append(self.atom())
        return Put(targets, at, tuple(values), modes)

    def check(self) -> Exp:
        self.word()
        cond = self.atom()
        self.expect("else")
        error = self.word()
        self.expect("(")
        if self.next.kind != "string":
            raise self.error("expected a message in double quotes")
        message = str(json.loads(self.take().text))
        self.accept(",")
        return Check(cond, error, message, self.atoms(")"))

    def sort(self) -> Exp:
        self.word()
        array = self.var()
        return Sort(array, self.atoms("]") if self.accept("[") else ())

    def call(self) -> Exp:
        self.word()
        name = self.function_name()
        self.expect("(")
        return Call(name, self.list(self.operand, ")"))

    def operand(self) -> Atom | View:
        atom = self.atom()
        if not (isinstance(atom, Var) and self.accept("[")):
            return atom
        return View(atom, self.atoms("|"), self.list(self.dim, "]"))

    def dim(self) -> tuple[int, Atom, int]:
        axis = self.integer()
        self.expect(":")
        size = self.atom()
        return axis, size, self.integer() if self.accept("*") else 1
