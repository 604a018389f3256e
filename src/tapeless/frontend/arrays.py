"""Arrays made and filled: generation over a box, element by element operations, assignment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from tapeless.core.names import Atom, Const, Var
from tapeless.core.types import DType, i64
from tapeless.errors import CompileError, SizeError
from tapeless.frontend.places import (
    Indices,
    base_index,
    broadcast_shapes,
    broadcast_view,
    check_writable,
    compose,
    element,
    full_axes,
    meet,
    new_array,
    numpy_dtype,
    put_element,
    read_object,
    write_object,
)  # fmt: skip
from tapeless.frontend.scalars import convert, scalar
from tapeless.frontend.values import (
    Arr,
    ArrayObj,
    Axis,
    Cx,
    Known,
    Num,
    Ref,
    Reshape,
    Scalar,
    Tup,
    Value,
    is_number,
)
from tapeless.ir.build import ONE, ZERO
from tapeless.ir.syntax import Acc, Alloc, Each, Put, Update

if TYPE_CHECKING:
    from tapeless.frontend.tracer import Tracer

Body = Callable[[Indices], Value]


# Generation ---------------------------------------------------------------------------------


def generate(t: Tracer, shape: Indices, body: Body, hint: str = "t", dtype: Any = None) -> Value:
    """The array, or tree of arrays, of `body(i…)` over the box `shape`; elements as `dtype`."""
    if not shape:
        value = body(())
        return value if dtype is None else rank0(t, convert(t, value, dtype))
    vars = tuple(map(t.index_var, index_hints(len(shape))))
    before = dict(t.state.heap)
    with t.construct(), t.b.scope():
        value = body(vars)
        refuse_writes(t, before)
        atoms: list[Atom] = []
        form = _yield_leaves(t, value, atoms, dtype)
        inner = t.b.body(tuple(atoms))
    t.state.heap = before
    outs = list(t.b.let(Each(vars, shape, (), inner), hint))
    return _collect(t, form, outs)


def index_hints(rank: int) -> Sequence[str]:
    return ("i", "j", "k", "l", "m", "n")[:rank] if rank <= 6 else [f"i{d}" for d in range(rank)]


def refuse_writes(t: Tracer, before: dict[Any, Any]) -> None:
    """Iterations of a parallel form are independent: none may change what others see."""
    heap = t.state.heap
    for obj, content in before.items():
        if heap[obj] is not content:
            name = f" '{obj.name}'" if isinstance(obj, ArrayObj) and obj.name else ""
            raise CompileError(
                f"the body of a parallel form writes{name}, which lives outside it", t.loc,
                "write it in a for loop, or work on a copy",
            )  # fmt: skip


def _yield_leaves(t: Tracer, value: Value, atoms: list[Atom], dtype: Any) -> Value:
    """Collects the atoms that an Each returns; gives a skeleton to rebuild the tree."""
    match value:
        case Tup(items, cls):
            return Tup(tuple(_yield_leaves(t, v, atoms, dtype) for v in items), cls)
        case Known(value=tuple() as items):
            return Tup(tuple(_yield_leaves(t, Known(v), atoms, dtype) for v in items))
        case Ref(obj) if isinstance(t.state.heap[obj], tuple):
            return Tup(tuple(_yield_leaves(t, v, atoms, dtype) for v in t.state.heap[obj]))
        case Arr():
            for size in value.shape:
                if not t.is_outer(size):
                    raise CompileError(
                        "the rows have different lengths (a ragged array)",
                        t.loc,
                        "make them equally long, or keep one flat array",
                    )
            if dtype is not None and numpy_dtype(value) != dtype:
                value = cast(t, value, dtype)
            atoms.append(materialise(t, value))
            return value
        case _ if is_number(value):
            x = scalar(t, value) if dtype is None else convert(t, value, dtype)
            atoms.append(pair(t, x) if isinstance(x, Cx) else x.atom)
            return x
    raise CompileError(
        f"{t.describe(value)} cannot be an element of an array", t.loc, "return numbers or arrays"
    )


def pair(t: Tracer, x: Cx) -> Var:
    """The row [re, im] that stands for a complex element."""
    row = t.b.one(Alloc("empty", x.dtype, (Const(2, i64),)), "z")
    row = t.b.one(Update(row, (ZERO,), x.re, "p"), "z")
    return t.b.one(Update(row, (ONE,), x.im, "p"), "z")


def _collect(t: Tracer, form: Value, outs: list[Var]) -> Value:
    match form:
        case Tup(items, cls):
            return Tup(tuple(_collect(t, v, outs) for v in items), cls)
        case Arr():
            return new_array(t, outs.pop(0), form.is_complex)
        case _:
            return new_array(t, outs.pop(0), isinstance(form, Cx))


def copy(t: Tracer, arr: Arr, hint: str = "") -> Arr:
    """A new array with the elements of a view."""
    if not arr.rank:
        return rank0(t, element(t, arr, ()))
    out = generate(t, arr.shape, lambda idx: element(t, arr, idx), hint or arr.obj.name or "t")
    assert isinstance(out, Arr)
    return out


def cast(t: Tracer, arr: Arr, dtype: Any) -> Arr:
    """A new array with the elements as another type."""
    if not arr.rank:
        return rank0(t, convert(t, element(t, arr, ()), dtype))
    out = generate(t, arr.shape, lambda idx: convert(t, element(t, arr, idx), dtype))
    assert isinstance(out, Arr)
    return out


def materialise(t: Tracer, arr: Arr) -> Var:
    """The array as one Core variable: its contents if it is whole, else a copy."""
    if arr.view is None:
        return read_object(t, arr.obj)
    return t.state.array(copy(t, arr).obj)


def elementwise(
    t: Tracer, f: Callable[..., Value], args: Sequence[Value], hint: str = "t"
) -> Value:
    """`f` on the elements of broadcast operands."""
    shape = broadcast_shapes(t, [a.shape for a in args if isinstance(a, Arr)])
    wide = [
        broadcast_view(t, a, shape) if isinstance(a, Arr) and a.shape != shape else a for a in args
    ]

    def body(idx: Indices) -> Value:
        return f(*(element(t, a, idx) if isinstance(a, Arr) else a for a in wide))

    return generate(t, shape, body, hint)


def fill(t: Tracer, shape: Indices, value: Value, dtype: Any) -> Arr:
    """A new array of one value."""
    x = convert(t, value, dtype)
    if not shape:
        return rank0(t, x)
    if isinstance(x, Num) and isinstance(x.atom, Const) and x.atom == Const(0, x.dtype):
        return new_array(t, t.b.one(Alloc("zeros", x.dtype, shape), "zeros"))
    if isinstance(x, Cx) and x.re == x.im == Const(0.0, x.dtype):
        return empty(t, shape, x.dtype, True, "zeros")
    out = generate(t, shape, lambda idx: x)
    assert isinstance(out, Arr)
    return out


def rank0(t: Tracer, x: Scalar) -> Arr:
    """A 0-dimensional array."""
    if isinstance(x, Cx):
        return new_array(t, pair(t, x), is_complex=True)
    cell = t.b.one(Alloc("empty", x.dtype, ()), "cell")
    return new_array(t, t.b.one(Update(cell, (), x.atom, ""), "cell"))


def empty(t: Tracer, shape: Indices, dtype: DType, is_complex: bool, kind: str = "empty") -> Arr:
    sizes = (*shape, Const(2, i64)) if is_complex else shape
    return new_array(t, t.b.one(Alloc(kind, dtype, sizes), "a"), is_complex)


# Assignment ---------------------------------------------------------------------------------


def assign(t: Tracer, target: Arr, value: Value) -> None:
    """target[...] = value, broadcast; the value is read before anything is written."""
    if target.rank == 0:
        put_element(t, target, (), element(t, value, ()) if isinstance(value, Arr) else value)
        return
    if isinstance(value, Arr):
        value = _fitted(t, value, target.shape)
        if value.obj is target.obj:
            value = copy(t, value)
    if _is_whole(target) and not _shifts_type(target, value):
        _replace(t, target, value)
        return
    put_each(t, target, target.shape, lambda idx: idx,
             lambda idx: element(t, value, idx) if isinstance(value, Arr) else value)  # fmt: skip


def _is_whole(target: Arr) -> bool:
    return target.view is None or (
        not isinstance(target.view, Reshape)
        and target.view.inner is None
        and all(
            a.dim == d and a.start == ZERO and a.step == ONE for d, a in enumerate(target.view.axes)
        )
        and target.shape == target.obj.shape
    )


def _shifts_type(target: Arr, value: Value) -> bool:
    return isinstance(value, Arr) and value.is_complex and not target.is_complex


def _replace(t: Tracer, target: Arr, value: Value) -> None:
    """Every element of a whole array is assigned: the old contents do not matter."""
    check_writable(t, target.obj)
    dtype = numpy_dtype(target)
    out = generate(
        t, target.shape, lambda idx: element(t, value, idx) if isinstance(value, Arr) else value,
        target.obj.name or "t", dtype,
    )  # fmt: skip
    assert isinstance(out, Arr)
    write_object(t, target.obj, t.state.heap.pop(out.obj))


def _fitted(t: Tracer, value: Arr, shape: Indices) -> Arr:
    """The value stretched to the target's shape; extra leading dims of size 1 are dropped."""
    while value.rank > len(shape) and value.shape[0] == ONE:
        value = compose(t, value.shape[1:], [Axis(ZERO), *full_axes(value.shape[1:])], value)
    if value.rank > len(shape):
        raise SizeError(
            f"a value of rank {value.rank} does not fit a place of rank {len(shape)}", t.loc
        )
    lead = len(shape) - value.rank
    for have, want in zip(value.shape, shape[lead:], strict=True):
        if have != ONE:
            if have != want:
                t.not_one(have)
            meet(t, have, want, "the shapes of value and place do not agree")
    return broadcast_view(t, value, shape)


def put_each(
    t: Tracer, target: Arr, box: Indices, where: Callable[[Indices], Indices], value: Body,
    op: str = "=", modes: str | None = None, keep: Callable[[Indices], Atom] | None = None,
) -> None:  # fmt: skip
    """For every index of `box`: combine a value into the target at `where(index)`."""
    check_writable(t, target.obj)
    before = read_object(t, target.obj)
    vars = tuple(map(t.index_var, index_hints(len(box))))
    acc = t.fresh(before.type, before.hint)
    heap = dict(t.state.heap)
    with t.construct(), t.b.scope():
        if keep is None:
            _put(t, target, acc, where(vars), value(vars), modes)
        else:
            cond = keep(vars)
            with t.b.scope():
                _put(t, target, acc, where(vars), value(vars), modes)
                then = t.b.body(())
            t.emit_if(cond, then)
        refuse_writes(t, heap)
        body = t.b.body(())
    t.state.heap = heap
    out = t.b.one(Each(vars, box, (Acc((acc,), (before,), op),), body), before.hint)
    write_object(t, target.obj, out)


def _put(t: Tracer, target: Arr, acc: Var, idx: Indices, value: Value, modes: str | None) -> None:
    at, modes = base_index(t, target, idx, "p" * len(idx) if modes is None else modes)
    x = convert(t, value, numpy_dtype(target))
    if isinstance(x, Cx):
        t.b.run(Put((acc,), (*at, ZERO), (x.re,), modes + "p"))
        t.b.run(Put((acc,), (*at, ONE), (x.im,), modes + "p"))
    else:
        t.b.run(Put((acc,), at, (x.atom,), modes))


def scalar_value(t: Tracer, value: Value) -> Value:
    """A 0-dimensional array as the number in it."""
    return element(t, value, ()) if isinstance(value, Arr) and value.rank == 0 else value
