"""The staged rule of each intrinsic: what `intrinsics.py` says, on values of the compiler."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from tapeless.core.names import Atom, Const
from tapeless.core.types import Array, i64
from tapeless.errors import CompileError, UnsupportedError
from tapeless.frontend import arrays, intrinsics, places
from tapeless.frontend.accumulate import best_over, put_over, reduce_over
from tapeless.frontend.attributes import part, sizes_tuple
from tapeless.frontend.builtin_rules import dtype_argument
from tapeless.frontend.class_rules import class_of
from tapeless.frontend.construct import array_of, as_array, as_operand, element_at, shape_atoms
from tapeless.frontend.folds import fold_over, scan_over
from tapeless.frontend.iteration import iterate
from tapeless.frontend.places import Indices
from tapeless.frontend.rule import known, simple
from tapeless.frontend.scalars import convert, index_atom, resolve_type, scalar, truth, type_key
from tapeless.frontend.values import (
    Arr,
    Axis,
    Cx,
    Fn,
    Known,
    Method,
    Num,
    Partial,
    Tup,
    Value,
    is_number,
    weak_int,
)  # fmt: skip
from tapeless.ir.build import ONE, ZERO
from tapeless.ir.syntax import Call, Sort
from tapeless.ir.syntax import View as Operand

if TYPE_CHECKING:
    from tapeless.frontend.tracer import Tracer

NONE = Known(None)


# What is known at compile time ------------------------------------------------------------------


def _rank(t: Tracer, x: Value) -> Value:
    x = as_operand(t, x)
    return Known(x.rank if isinstance(x, Arr) else 0)


def dtype_of(t: Tracer, x: Value) -> np.dtype[Any]:
    x = as_operand(t, x)
    if isinstance(x, Arr):
        return places.numpy_dtype(x)
    key = type_key(x)
    return np.dtype({int: "i8", float: "f8", complex: "c16"}[key]) if isinstance(key, type) else key


def _result_type(t: Tracer, *xs: Value) -> Value:
    return Known(resolve_type(t, [x if _is_type(x) else as_operand(t, x) for x in xs]))


def _is_type(x: Value) -> bool:
    return isinstance(x, Known) and isinstance(x.value, np.dtype | type)


def _is_list(t: Tracer, x: Value) -> Value:
    return Known(issubclass(class_of(t, x), list | tuple))


def _is_function(t: Tracer, x: Value) -> Value:
    return Known(
        isinstance(x, Fn | Method | Partial) or (isinstance(x, Known) and callable(x.value))
    )


def _is_complex(t: Tracer, x: Value) -> Value:
    x = as_operand(t, x)
    if isinstance(x, Arr):
        return Known(x.is_complex)
    return Known(isinstance(scalar(t, x), Cx))


def _is_static(t: Tracer, x: Value) -> Value:
    try:
        known(t, x, "")
    except CompileError:
        return Known(False)
    return Known(True)


def _static(t: Tracer, x: Value, what: Value = Known("this argument")) -> Value:
    if isinstance(x, Known):
        return x
    return Known(known(t, x, known(t, what, "a name")))


def _is_one(t: Tracer, size: Value) -> Value:
    return Known(isinstance(size, Known) and size.value == 1)


def _fail(t: Tracer, message: Value, remedy: Value = Known("")) -> NoReturn:
    raise CompileError(known(t, message, "a message"), t.loc, known(t, remedy, "a remedy"))


def _unsupported(t: Tracer, message: Value, remedy: Value = Known("")) -> NoReturn:
    raise UnsupportedError(known(t, message, "a message"), t.loc, known(t, remedy, "a remedy"))


# Numbers ----------------------------------------------------------------------------------------


def _cast(t: Tracer, x: Value, dtype: Value) -> Value:
    target = dtype_argument(t, dtype)
    assert target is not None
    x = as_operand(t, x)
    if isinstance(x, Arr):
        if places.numpy_dtype(x) == target:
            return arrays.copy(t, x)
        return arrays.cast(t, x, target)
    if isinstance(scalar(t, x), Cx) and target.kind != "c":
        raise CompileError(f"a complex number cannot become {target}", t.loc, "take .real or abs()")
    if isinstance(x, Known) and isinstance(x.value, int | float | bool):
        return _cast_known(x.value, target)
    if isinstance(x, Num) and x.dtype.is_int:
        x = Num(x.atom)  # like `astype`, it wraps
    return convert(t, x, target)


def _cast_known(value: Any, target: np.dtype[Any]) -> Value:
    with np.errstate(all="ignore"):
        return Known(np.asarray(value).astype(target)[()])


def _select(t: Tracer, condition: Value, a: Value, b: Value) -> Value:
    c = truth(t, arrays.scalar_value(t, condition))
    x, y = arrays.scalar_value(t, a), arrays.scalar_value(t, b)
    dtype = resolve_type(t, (x, y))
    p, q = convert(t, x, dtype), convert(t, y, dtype)
    weak = _weak(x) and _weak(y)
    atom = (
        Const(bool(c.value), t.b.prim("eq", ZERO, ZERO).dtype) if isinstance(c, Known) else c.atom
    )
    if isinstance(p, Cx) and isinstance(q, Cx):
        return Cx(t.b.prim("select", atom, p.re, q.re), t.b.prim("select", atom, p.im, q.im), weak)
    assert isinstance(p, Num) and isinstance(q, Num)
    return Num(t.b.prim("select", atom, p.atom, q.atom), weak)


def _weak(x: Value) -> bool:
    return (
        not isinstance(x.value, np.generic) if isinstance(x, Known) else getattr(x, "weak", False)
    )


def _prim(t: Tracer, name: Value, *args: Value) -> Value:
    xs = [scalar(t, arrays.scalar_value(t, a)) for a in args]
    return Num(t.b.prim(known(t, name, "an operator"), *(x.atom for x in xs if isinstance(x, Num))))


def _make_complex(t: Tracer, re: Value, im: Value) -> Value:
    x, y = arrays.scalar_value(t, re), arrays.scalar_value(t, im)
    if isinstance(x, Known) and isinstance(y, Known):
        return Known(intrinsics.make_complex(x.value, y.value))
    dtype = np.result_type(resolve_type(t, (x, y)), np.complex64)
    real = np.dtype("f4" if dtype.itemsize == 8 else "f8")
    p, q = convert(t, x, real), convert(t, y, real)
    assert isinstance(p, Num) and isinstance(q, Num)
    return Cx(p.atom, q.atom)


# Arrays -----------------------------------------------------------------------------------------


def _as_array(t: Tracer, x: Value, dtype: Value = NONE) -> Value:
    return as_array(t, x, dtype_argument(t, dtype))


def _element(t: Tracer, x: Value, idx: Value) -> Value:
    items = iterate(t, idx)
    assert isinstance(items, list)
    return element_at(t, x, tuple(index_atom(t, i) for i in items))


def _build(t: Tracer, shape: Value, f: Value, dtype: Value = NONE) -> Value:
    target = dtype_argument(t, dtype)
    sizes = shape_atoms(t, shape)

    def body(idx: Indices) -> Value:
        return t.call(f, *map(weak_int, idx))

    if sizes:
        return arrays.generate(t, sizes, body, dtype=target)
    value = body(())
    if isinstance(value, Tup):
        return Tup(tuple(as_array(t, v, target) for v in value.items), value.cls)
    return as_array(t, value, target)


def _elementwise(t: Tracer, f: Value, *xs: Value) -> Value:
    return arrays.elementwise(t, lambda *es: t.call(f, *es), [as_operand(t, x) for x in xs])


def _zeros(t: Tracer, shape: Value, dtype: Value = Known(float)) -> Value:
    return _alloc(t, shape, dtype, "zeros")


def _empty(t: Tracer, shape: Value, dtype: Value = Known(float)) -> Value:
    return _alloc(t, shape, dtype, "empty")


def _alloc(t: Tracer, shape: Value, dtype: Value, kind: str) -> Value:
    target = dtype_argument(t, dtype)
    assert target is not None
    sizes = shape_atoms(t, shape)
    if not sizes:
        return arrays.rank0(t, convert(t, Known(0), target))
    element = convert(t, Known(0), target)
    return arrays.empty(t, sizes, element.dtype, isinstance(element, Cx), kind)


def _full(t: Tracer, shape: Value, value: Value, dtype: Value = NONE) -> Value:
    target = dtype_argument(t, dtype)
    x = arrays.scalar_value(t, value)
    return arrays.fill(t, shape_atoms(t, shape), x, dtype_of(t, x) if target is None else target)


def _copy(t: Tracer, x: Value) -> Value:
    return array_of(t, x, None)


def _reshape(t: Tracer, x: Value, shape: Value) -> Value:
    return places.reshape(t, as_array(t, x), shape_atoms(t, shape))


def _transpose(t: Tracer, x: Value, order: Value) -> Value:
    return places.transpose(
        t, as_array(t, x), [int(k) for k in known(t, order, "the order of the axes")]
    )


def _broadcast_to(t: Tracer, x: Value, shape: Value) -> Value:
    arr, sizes = as_array(t, x), shape_atoms(t, shape)
    if arr.rank > len(sizes):
        raise CompileError(
            f"an array of rank {arr.rank} cannot be broadcast to rank {len(sizes)}", t.loc
        )
    for have, want in zip(arr.shape, sizes[len(sizes) - arr.rank :], strict=True):
        if have != ONE:
            if have != want:
                t.not_one(have)
            places.meet(t, have, want, "the array does not fit the shape it is broadcast to")
    return places.broadcast_view(t, arr, sizes)


def _broadcast_shapes(t: Tracer, *shapes: Value) -> Value:
    return sizes_tuple(places.broadcast_shapes(t, [shape_atoms(t, s) for s in shapes]))


def _diagonal(t: Tracer, x: Value, offset: Value = Known(0)) -> Value:
    arr, k = as_array(t, x), int(known(t, offset, "the offset of a diagonal"))
    rows, columns = arr.shape[-2:]
    p = t.b.prim
    down, right = Const(max(-k, 0), i64), Const(max(k, 0), i64)
    size = p("min", p("sub", rows, down), p("sub", columns, right))
    if not t.is_nonnegative(size):
        size = size if k == 0 else p("max", size, ZERO)
        t.nonnegative.add(size)
    lead = arr.rank - 2
    axes = [*(Axis(ZERO, d) for d in range(lead)), Axis(down, lead), Axis(right, lead)]
    return places.compose(t, (*arr.shape[:lead], size), axes, arr)


def _real(t: Tracer, x: Value) -> Value:
    return _part(t, x, "real")


def _imag(t: Tracer, x: Value) -> Value:
    return _part(t, x, "imag")


def _part(t: Tracer, x: Value, name: str) -> Value:
    x = as_operand(t, x)
    if isinstance(x, Arr):
        return x if name == "real" and not x.is_complex else part(t, x, name)
    s = scalar(t, x)
    if isinstance(s, Cx):
        return Num(s.re if name == "real" else s.im, s.weak)
    return x if name == "real" else Num(Const(0, s.dtype), s.weak)


def _sort_order(t: Tracer, x: Value) -> Value:
    arr = as_array(t, x)
    return places.new_array(t, t.b.one(Sort(arrays.materialise(t, arr), ()), "order"))


def _same_size(
    t: Tracer, a: Value, b: Value, message: Value = Known("the sizes do not agree")
) -> Value:
    size = places.meet(t, index_atom(t, a), index_atom(t, b), known(t, message, "a message"))
    return Known(int(size.value)) if isinstance(size, Const) else weak_int(size)


def _foreign(t: Tracer, callee: Value, message: Value, *args: Value) -> Value:
    """Operands are numbers, and arrays with their layout: no copy is made of a strided view."""
    operands = [_operand(t, a) for a in args]
    outs = t.b.let(Call(known(t, callee, "a callee"), tuple(operands)), "r")
    t.b.check(t.b.prim("eq", outs[-1], ZERO), "LinAlgError" if "linalg" in known(
        t, callee, "a callee") else "ValueError", known(t, message, "a message"))  # fmt: skip
    values = [places.new_array(t, o) if isinstance(o.type, Array) else Num(o) for o in outs[:-1]]
    return values[0] if len(values) == 1 else Tup(tuple(values))


def _operand(t: Tracer, value: Value) -> Atom | Operand:
    value = as_operand(t, value)
    if not isinstance(value, Arr):
        x = scalar(t, value)
        if isinstance(x, Cx):
            raise UnsupportedError("complex numbers are not passed to this function", t.loc)
        return x.atom
    if value.is_complex:
        raise UnsupportedError("complex arrays are not passed to this function", t.loc)
    return arrays.materialise(t, value)


# Loops ------------------------------------------------------------------------------------------


def _over(rule: Callable[..., Value]) -> Callable[..., Value]:
    def staged(t: Tracer, op: Value, shape: Value, *rest: Value) -> Value:
        return rule(t, known(t, op, "an operator"), shape_atoms(t, shape), *rest)

    return staged


def _put_over(
    t: Tracer, op: Value, target: Value, shape: Value, where: Value, value: Value,
    mode: Value = Known("check"), when: Value = NONE,
) -> Value:  # fmt: skip
    assert isinstance(target, Arr)
    put_over(t, known(t, op, "an operator"), target, shape_atoms(t, shape), where, value,
             known(t, mode, "a mode"), when)  # fmt: skip
    return NONE


def _best_over(t: Tracer, op: Value, size: Value, f: Value) -> Value:
    (n,) = shape_atoms(t, size)
    return best_over(t, known(t, op, "an operator"), n, lambda i: t.call(f, i))


def _fold_over(t: Tracer, op: Value, size: Value, f: Value, neutral: Value) -> Value:
    return fold_over(t, op, shape_atoms(t, size)[0], f, neutral)


def _scan_over(t: Tracer, op: Value, size: Value, f: Value, neutral: Value) -> Value:
    return scan_over(t, op, shape_atoms(t, size)[0], f, neutral)


_RULES: dict[Any, Callable[..., Value]] = {
    intrinsics.rank: _rank, intrinsics.dtype_of: lambda t, x: Known(dtype_of(t, x)),
    intrinsics.result_type: _result_type,
    intrinsics.is_array: lambda t, x: Known(isinstance(x, Arr)),
    intrinsics.is_number: lambda t, x: Known(is_number(x)), intrinsics.is_list: _is_list,
    intrinsics.is_function: _is_function, intrinsics.is_complex: _is_complex,
    intrinsics.is_static: _is_static, intrinsics.static: _static, intrinsics.is_one: _is_one,
    intrinsics.fail: _fail, intrinsics.unsupported: _unsupported, intrinsics.cast: _cast,
    intrinsics.select: _select, intrinsics.prim: _prim, intrinsics.make_complex: _make_complex,
    intrinsics.as_array: _as_array, intrinsics.as_operand: as_operand, intrinsics.element: _element,
    intrinsics.build: _build, intrinsics.elementwise: _elementwise,
    intrinsics.reduce_over: _over(reduce_over), intrinsics.best_over: _best_over,
    intrinsics.scan_over: _scan_over, intrinsics.fold_over: _fold_over,
    intrinsics.put_over: _put_over, intrinsics.zeros: _zeros, intrinsics.empty: _empty,
    intrinsics.full: _full, intrinsics.copy: _copy, intrinsics.reshape: _reshape,
    intrinsics.transpose: _transpose, intrinsics.broadcast_to: _broadcast_to,
    intrinsics.broadcast_shapes: _broadcast_shapes, intrinsics.diagonal: _diagonal,
    intrinsics.real: _real, intrinsics.imag: _imag, intrinsics.sort_order: _sort_order,
    intrinsics.same_size: _same_size, intrinsics.foreign: _foreign,
}  # fmt: skip
INTRINSICS = {function: simple(rule) for function, rule in _RULES.items()}
INTRINSICS[np.result_type] = simple(_result_type)
