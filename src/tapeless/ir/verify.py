"""The rules of Core, checked: scopes, single binding, types, sizes, effects.

A pass that breaks one gets `InvalidIR` with the statement. `unique=True` adds `ir.unique`.
"""

from __future__ import annotations

from typing import assert_never

from tapeless.core.exceptions import exception_named
from tapeless.core.names import Atom, Var
from tapeless.core.prims import CASTS, OPS
from tapeless.core.types import BOOL, INDEX, Array, Scalar, Type, i64
from tapeless.ir.callees import is_known
from tapeless.ir.effects import is_pure
from tapeless.ir.scopes import AccInfo, Scopes
from tapeless.ir.sizes import Doubt
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

READ_MODES = PROVED + CHECK + WRAP
WRITE_MODES = READ_MODES + IGNORE
REVERSE_KINDS = ("auto", "store", "checkpoint", "recompute", "invert", "each")


def verify(fun: Fun, *, unique: bool = False) -> None:
    """Raise InvalidIR unless `fun` keeps the rules of Core."""
    for doubt in doubts(fun):
        raise doubt.error(fun)
    if unique:
        verify_unique(fun)


def doubts(fun: Fun) -> list[Doubt]:
    """Sizes that must be equal and that neither names nor checks show to be so; everything else
    that breaks a rule is raised."""
    verifier = _Verifier(fun)
    verifier.run()
    return verifier.doubts


class _Verifier(Scopes):
    def run(self) -> None:
        fun = self.top
        self.binds(fun.params)
        self.need(len(set(fun.writes)) == len(fun.writes), "a parameter is in `writes` twice")
        for v in fun.writes:
            self.need(v in fun.params and v.is_array, f"{v} in `writes` is no array parameter")
        self.body(fun.body)

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
            self.uses(body.results, state_types(outs, body.results), "result", body)

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
            types = state_types(params, exp.body.results)
            self.uses(exp.body.results, types, "next state", exp.body)
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
                found = lift(result.type, exp.sizes)
                self.same(found, out.type, f"element result {result}", exp.body)
        return tuple(o.type for o in outs[:count]) + finals

    def acc(self, acc: Acc) -> None:
        info = AccInfo(acc, self.repeats)
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
            self.uses(m.body.results, types, "result of the monoid", m.body)
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
            self.uses(exp.body.results, types, "element", exp.body)
        return types
