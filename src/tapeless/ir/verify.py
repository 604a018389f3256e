"""The rules of Core, checked: scopes, single binding, types, sizes, effects.

A pass that breaks one gets `InvalidIR` with the statement. `unique=True` adds `ir.unique`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import NoReturn, assert_never

from tapeless.core.exceptions import exception_named
from tapeless.core.names import Atom, Var
from tapeless.core.prims import CASTS, OPS
from tapeless.core.types import BOOL, INDEX, Array, Scalar, Type, i64
from tapeless.ir.callees import is_known
from tapeless.ir.effects import is_pure
from tapeless.ir.invalid import InvalidIR
from tapeless.ir.sizes import Sizes
from tapeless.ir.syntax import (
    CHECK,
    IGNORE,
    KNOWN_OPS,
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
from tapeless.ir.types_of import lift, state_types, types_of
from tapeless.ir.unique import verify_unique
from tapeless.ir.walk import type_vars

READ_MODES = PROVED + CHECK + WRAP
WRITE_MODES = READ_MODES + IGNORE
REVERSE_KINDS = ("auto", "store", "checkpoint", "recompute", "invert", "each")


def verify(fun: Fun, *, unique: bool = False) -> None:
    """Raise InvalidIR unless `fun` keeps the rules of Core."""
    _Verifier(fun).run()
    if unique:
        verify_unique(fun)


@dataclass(slots=True)
class _AccInfo:
    """An accumulator in scope: how often it is put to, and under how many loops it was bound."""

    acc: Acc
    repeats: int
    sites: int = 0


class _Verifier:
    def __init__(self, fun: Fun) -> None:
        self.top = fun
        self.stm: Let | None = None
        self.visible: set[Var] = set()
        self.bound: set[Var] = set()
        self.scopes: list[list[Var]] = [[]]
        self.defs: dict[Var, Exp] = {}
        self.accs: dict[Var, _AccInfo] = {}
        self.sizes = Sizes()
        self.repeats = 0  # loops and folds around the current statement

    def run(self) -> None:
        fun = self.top
        self.binds(fun.params)
        self.need(len(set(fun.writes)) == len(fun.writes), "a parameter is in `writes` twice")
        for v in fun.writes:
            self.need(v in fun.params and v.is_array, f"{v} in `writes` is no array parameter")
        self.body(fun.body)

    # complaints
    def fail(self, problem: str) -> NoReturn:
        raise InvalidIR(problem, self.stm, self.top)

    def need(self, holds: bool, problem: str) -> None:
        if not holds:
            self.fail(problem)

    def same(self, found: Type, wanted: Type, what: str) -> None:
        if not self.sizes.same_type(found, wanted):
            self.fail(f"{what} has type {found}, but {wanted} is needed")

    # scopes
    @contextmanager
    def scope(self, *, repeated: bool = False) -> Iterator[None]:
        mark = self.sizes.mark()
        self.scopes.append([])
        self.repeats += repeated
        yield
        self.repeats -= repeated
        for var in self.scopes.pop():
            self.visible.discard(var)
            self.accs.pop(var, None)
        self.sizes.undo(mark)

    def bind(self, var: Var, acc: _AccInfo | None = None) -> None:
        self.need(var not in self.bound, f"{var} is bound twice")
        for size in type_vars(var.type):
            self.need(size in self.visible, f"size {size} of {var} is not in scope")
            self.same(size.type, INDEX, f"size {size} of {var}")
        if isinstance(var.type, Array):
            negative = any(isinstance(s, int) and s < 0 for s in var.type.shape)
            self.need(not negative, f"{var} has a negative size")
        self.bound.add(var)
        self.scopes[-1].append(var)
        if acc is None:
            self.visible.add(var)
        else:
            self.accs[var] = acc

    def binds(self, vars: Sequence[Var]) -> None:
        for var in vars:
            self.bind(var)

    def counter(self, var: Var) -> None:
        self.same(var.type, INDEX, f"index {var}")
        self.bind(var)

    # operands
    def use(self, atom: Atom) -> None:
        if isinstance(atom, Var) and atom not in self.visible:
            self.need(atom not in self.accs, f"accumulator {atom} is used as a value")
            self.fail(f"{atom} is not in scope")

    def uses(self, atoms: Sequence[Atom], wanted: Sequence[Type], what: str) -> None:
        self.need(len(atoms) == len(wanted), f"{len(atoms)} {what}s, but {len(wanted)} are needed")
        for atom, type in zip(atoms, wanted, strict=True):
            self.use(atom)
            self.same(atom.type, type, f"{what} {atom}")

    def indices(self, atoms: Sequence[Atom], what: str = "index") -> None:
        self.uses(atoms, [INDEX] * len(atoms), what)

    def array(self, var: Var) -> Array:
        self.use(var)
        if not isinstance(var.type, Array):
            self.fail(f"{var} is not an array")
        return var.type

    def at(self, at: Sequence[Atom], modes: str, rank: int, legal: str) -> None:
        self.indices(at)
        self.need(len(at) == rank, f"{len(at)} indices, but the rank is {rank}")
        self.need(len(modes) == rank, f"{len(modes)} index modes, but the rank is {rank}")
        self.need(all(m in legal for m in modes), f"index modes {modes!r} are not among {legal!r}")

    # statements
    def body(self, body: Body) -> None:
        for stm in body.stms:
            self.stm = stm
            self.let(stm)
            self.stm = stm
        for atom in body.results:
            self.use(atom)

    def let(self, stm: Let) -> None:
        wanted = self.exp(stm.exp, stm.outs)
        self.stm = stm
        self.need(len(wanted) == len(stm.outs), f"{len(wanted)} results for {len(stm.outs)} names")
        for out, type in zip(stm.outs, wanted, strict=True):
            self.bind(out)
            self.same(out.type, type, str(out))
        if len(stm.outs) == 1 and isinstance(stm.exp, Prim):
            self.defs[stm.outs[0]] = stm.exp
        if isinstance(stm.exp, Check):
            self.sizes.learn(stm.exp.cond, self.defs)

    def exp(self, exp: Exp, outs: tuple[Var, ...]) -> tuple[Type, ...]:
        """Check `exp`; the types that its outputs must have in the scope around it."""
        match exp:
            case If(cond, then, orelse):
                self.uses((cond,), (BOOL,), "condition")
                self.arm(then, outs, cond)
                self.arm(orelse, outs, None)
                return tuple(o.type for o in outs)
            case Iverson(cond, body):
                self.uses((cond,), (BOOL,), "condition")
                self.arm(body, outs, cond)
                self.pure(body, "body of an Iverson")
                return tuple(o.type for o in outs)
            case Loop():
                return self.loop(exp, outs)
            case Each():
                return self.each(exp, outs)
            case Fold():
                return self.fold(exp)
            case Scan(_, size):
                return tuple(lift(t, (size,)) for t in self.fold(exp))
            case Put():
                self.put(exp)
            case Call():
                self.call(exp)
            case _:
                self.flat(exp)
        return types_of(exp)

    def flat(self, exp: Prim | Index | Update | Alloc | Append | Check | Sort) -> None:
        match exp:
            case Prim(op, args):
                self.prim(op, args)
            case Index(array, at, modes):
                self.at(at, modes, self.array(array).rank, READ_MODES)
            case Update(array, at, value, modes):
                type = self.array(array)
                self.at(at, modes, type.rank, WRITE_MODES)
                self.uses((value,), (Scalar(type.dtype),), "value")
            case Alloc(kind, _, shape):
                self.need(kind in ("zeros", "empty"), f"unknown kind {kind!r} of Alloc")
                self.indices(shape, "size")
            case Append(array, value, size):
                type = self.array(array)
                self.need(type.rank > 0, f"{array} has no leading axis")
                row = Array(type.dtype, type.shape[1:]) if type.rank > 1 else Scalar(type.dtype)
                self.uses((value, size), (row, INDEX), "value")
            case Check(cond, error, message, args):
                self.uses((cond,), (BOOL,), "condition")
                self.uses(args, [Scalar(a.dtype) for a in args], "argument")
                self.message(error, message, len(args))
            case Sort(array, at):
                rank = self.array(array).rank
                self.need(rank > 0, f"{array} has no axis to sort")
                self.at(at, PROVED * len(at), rank - 1, PROVED)
            case _:
                assert_never(exp)

    def prim(self, op: str, args: tuple[Atom, ...]) -> None:
        self.need(op in OPS, f"unknown operator {op!r}")
        self.uses(args, [Scalar(a.dtype) for a in args], "operand")
        self.need(len(args) == OPS[op].arity, f"{op} takes {OPS[op].arity} operands")
        values = args[op == "select" :]
        if op == "select":
            self.same(args[0].type, BOOL, "condition of select")
        for a in values:
            self.need(a.dtype.kind in OPS[op].kinds, f"{op} does not take {a.dtype}")
            self.need(op in CASTS or a.dtype == values[0].dtype, f"operands of {op} differ in type")
        wide = op != "from_bits" or args[0].dtype.bits >= 32
        self.need(wide, f"from_bits does not take {args[0].dtype}")

    def message(self, error: str, message: str, count: int) -> None:
        self.need(exception_named(error) is not None, f"{error} is no exception of the language")
        try:
            message.format(*[0] * count)
        except (IndexError, KeyError, ValueError) as problem:
            self.fail(f"message does not fit its arguments: {problem!r}")

    def put(self, exp: Put) -> None:
        info = self.accs.get(exp.targets[0]) if exp.targets else None
        if info is None:
            self.fail("Put to what is no accumulator in scope")
        self.need(info.acc.vars == exp.targets, "Put to a part of an accumulator")
        first = exp.targets[0]
        self.at(exp.at, exp.modes, len(first.shape), WRITE_MODES)
        self.uses(exp.values, [Scalar(v.dtype) for v in exp.targets], "value")
        info.sites += 1
        if info.acc.op not in ("=", "+"):
            self.need(info.sites == 1, f"accumulator {first} has more than one Put")
            self.need(info.repeats == self.repeats, f"Put to {first} under a Loop")

    def call(self, exp: Call) -> None:
        self.need(is_known(exp.callee), f"unknown callee {exp.callee!r}")
        for arg in exp.args:
            if not isinstance(arg, View):
                self.use(arg)
                continue
            rank = self.array(arg.array).rank
            self.at(arg.at, PROVED * len(arg.at), rank, PROVED)
            self.indices([size for _, size, _ in arg.dims], "size")
            self.need(all(0 <= axis < rank for axis, _, _ in arg.dims), "View of a missing axis")

    # constructs with bodies
    def pure(self, body: Body, what: str) -> None:
        self.need(is_pure(body), f"the {what} has an effect")

    def arm(self, body: Body, outs: tuple[Var, ...], cond: Atom | None) -> None:
        """A body whose results become `outs`; types of outs may name earlier outs."""
        stm = self.stm
        with self.scope():
            if cond is not None:
                self.sizes.learn(cond, self.defs)
            self.body(body)
            self.stm = stm
            self.need(len(body.results) == len(outs), "an arm has another number of results")
            self.uses(body.results, state_types(outs, body.results), "result")

    def loop(self, exp: Loop, outs: tuple[Var, ...]) -> tuple[Type, ...]:
        stm, params = self.stm, exp.params
        self.reverse(exp.reverse)
        self.need(len(exp.inits) == len(params), "as many initial values as state variables")
        if isinstance(exp.form, For):
            self.indices((exp.form.size,), "bound")
        self.uses(exp.inits, state_types(params, exp.inits), "initial value")
        with self.scope(repeated=True):
            self.binds(params)
            if isinstance(exp.form, For):
                self.counter(exp.form.var)
            else:
                with self.scope():
                    self.body(exp.form.cond)
                    self.uses(exp.form.cond.results, (BOOL,), "condition")
                self.stm = stm
                self.pure(exp.form.cond, "condition of a While")
            self.body(exp.body)
            self.stm = stm
            self.need(len(exp.body.results) == len(params), "as many results as state variables")
            self.uses(exp.body.results, state_types(params, exp.body.results), "next state")
        self.need(len(outs) == len(params), "as many outputs as state variables")
        return state_types(params, outs)

    def reverse(self, r: Reverse) -> None:
        self.need(r.kind in REVERSE_KINDS, f"unknown strategy {r.kind!r}")
        self.need(r.levels is None or r.levels >= 1, "levels of a Loop must be at least 1")
        self.indices([a for a in (r.slots, r.memory) if a is not None], "option")

    def each(self, exp: Each, outs: tuple[Var, ...]) -> tuple[Type, ...]:
        stm = self.stm
        self.need(len(exp.vars) == len(exp.sizes), "as many sizes as indices")
        self.indices(exp.sizes, "size")
        finals = tuple(v.type for acc in exp.accs for v in acc.vars)
        count = len(exp.body.results)
        self.need(len(outs) == count + len(finals), "outputs are elements and accumulators")
        for acc in exp.accs:
            self.uses(acc.inits, [v.type for v in acc.vars], "initial value")
        with self.scope():
            for var in exp.vars:
                self.counter(var)
            for acc in exp.accs:
                self.acc(acc)
            self.body(exp.body)
            self.stm = stm
            for out, result in zip(outs, exp.body.results, strict=False):
                self.same(lift(result.type, exp.sizes), out.type, f"element result {result}")
        return tuple(o.type for o in outs[:count]) + finals

    def acc(self, acc: Acc) -> None:
        info = _AccInfo(acc, self.repeats)
        if isinstance(acc.op, Monoid):
            elements = self.monoid(acc.op)
            self.need(len(elements) == len(acc.vars), "as many accumulators as monoid components")
            for var, type in zip(acc.vars, elements, strict=True):
                self.same(type, Scalar(var.dtype), f"monoid of {var}")
        else:
            self.need(acc.op in KNOWN_OPS, f"unknown accumulation {acc.op!r}")
            self.need(len(acc.vars) == 1, f"{acc.op!r} accumulates one variable")
            numeric = acc.op == "=" or not acc.vars[0].dtype.is_bool or acc.op in ("min", "max")
            self.need(numeric, f"{acc.op!r} does not take bool")
        for var in acc.vars:
            shape = Array(i64, var.shape)
            self.same(shape, Array(i64, acc.vars[0].shape), f"index space of {var}")
            self.bind(var, info)

    def monoid(self, m: Monoid) -> tuple[Type, ...]:
        """The types of the elements that `m` combines."""
        types = tuple(v.type for v in m.left)
        self.uses(m.neutral, types, "neutral element")
        with self.scope(repeated=True):
            self.binds(m.left)
            self.binds(m.right)
            self.uses(m.right, types, "right operand")
            stm = self.stm
            self.body(m.body)
            self.stm = stm
            self.uses(m.body.results, types, "result of the monoid")
            self.pure(m.body, "body of a monoid")
        return types

    def fold(self, exp: Fold | Scan) -> tuple[Type, ...]:
        stm = self.stm
        self.indices((exp.size,), "size")
        types = self.monoid(exp.monoid)
        with self.scope(repeated=True):
            self.counter(exp.var)
            self.body(exp.body)
            self.stm = stm
            self.uses(exp.body.results, types, "element")
        return types
