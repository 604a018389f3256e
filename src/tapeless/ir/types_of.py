"""The one place that knows the type of an expression; builder and verifier both ask here."""

from __future__ import annotations

from tapeless.core.names import Atom, Const, Var
from tapeless.core.prims import OPS
from tapeless.core.types import INDEX, Array, Scalar, Size, Type
from tapeless.ir.callees import callee_of
from tapeless.ir.syntax import (
    Alloc,
    Append,
    Body,
    Call,
    Check,
    Each,
    Exp,
    Fold,
    If,
    Index,
    Iverson,
    Loop,
    Prim,
    Put,
    Scan,
    Sort,
    Update,
)  # fmt: skip


def size_of(atom: Atom) -> Size:
    """An atom as a size of a type."""
    return int(atom.value) if isinstance(atom, Const) else atom


def atom_of(size: Size) -> Atom:
    """A size of a type as an atom."""
    return Const(size, INDEX.dtype) if isinstance(size, int) else size


def lift(type: Type, sizes: tuple[Atom, ...]) -> Array:
    """An array of `type` over the box of `sizes`."""
    lead = tuple(size_of(s) for s in sizes)
    return Array(type.dtype, lead + (type.shape if isinstance(type, Array) else ()))


def result_types(body: Body) -> tuple[Type, ...]:
    return tuple(r.type for r in body.results)


def types_of(exp: Exp) -> tuple[Type, ...]:
    """Types of the results of `exp`."""
    match exp:
        case Prim(op, args):
            return (Scalar(OPS[op].result_type([a.dtype for a in args])),)
        case Index(array):
            return (Scalar(array.dtype),)
        case Update(array):
            return (array.type,)
        case Alloc(_, dtype, shape):
            return (Array(dtype, tuple(size_of(s) for s in shape)),)
        case Append(array, _, size):
            return (Array(array.dtype, (size_of(size), *array.shape[1:])),)
        case If(_, then):
            return result_types(then)
        case Iverson(_, body):
            return result_types(body)
        case Loop():
            return loop_types(exp)
        case Each(_, sizes, accs, body):
            arrays = tuple(lift(t, sizes) for t in result_types(body))
            return arrays + tuple(v.type for a in accs for v in a.vars)
        case Fold(_, _, monoid, _):
            return result_types(monoid.body)
        case Scan(_, size, monoid, _):
            return tuple(lift(t, (size,)) for t in result_types(monoid.body))
        case Put() | Check():
            return ()
        case Sort(array):
            return (Array(INDEX.dtype, array.shape[-1:]),)
        case Call(callee, args):
            return callee_of(callee).result_types(args)


def loop_types(loop: Loop) -> tuple[Type, ...]:
    """Types of a loop's final state, up to renaming of sizes that are state themselves.

    A size that is an earlier state variable is left as that variable: the binder of the results
    puts its own earlier result there (`state_types`).
    """
    return tuple(p.type for p in loop.params)


def state_types(params: tuple[Var, ...], now: tuple[Atom, ...]) -> tuple[Type, ...]:
    """Types of loop state when its variables are `now`: sizes that are state are replaced."""
    current = dict(zip(params, now, strict=True))

    def sized(type: Type) -> Type:
        if not isinstance(type, Array):
            return type
        sizes = (current.get(s, s) if isinstance(s, Var) else s for s in type.shape)
        return Array(type.dtype, tuple(s if isinstance(s, int) else size_of(s) for s in sizes))

    return tuple(sized(p.type) for p in params)
