"""Calls: user functions are inlined; the library, intrinsics, forms and builtins have rules."""

from __future__ import annotations

import dataclasses
import functools
import types
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from tapeless.errors import CompileError, SourceError, UnsupportedError
from tapeless.frontend.argtypes import plain
from tapeless.frontend.arrays import cast, elementwise
from tapeless.frontend.attributes import attribute
from tapeless.frontend.builtin_rules import BUILTINS, CONVERTERS, convert_call
from tapeless.frontend.capture import Source, source_of
from tapeless.frontend.construct import as_operand
from tapeless.frontend.form_rules import FORMS
from tapeless.frontend.indexing import new_list, wrap
from tapeless.frontend.inline import inline
from tapeless.frontend.intrinsic_rules import INTRINSICS
from tapeless.frontend.library import LIBRARY
from tapeless.frontend.methods import call_method
from tapeless.frontend.places import numpy_dtype
from tapeless.frontend.rule import Args, Kwargs, check_call, known
from tapeless.frontend.scalars import apply_ufunc, convert, type_key
from tapeless.frontend.signature import Path
from tapeless.frontend.state import Frame
from tapeless.frontend.ufuncs import COMPLEX, REAL
from tapeless.frontend.values import (
    Arr,
    ArrayMethod,
    Cx,
    Fn,
    InstanceObj,
    Known,
    Method,
    Num,
    Partial,
    Ref,
    Staged,
    Super,
    Tup,
    Value,
)  # fmt: skip

if TYPE_CHECKING:
    from tapeless.frontend.tracer import Tracer


def call(t: Tracer, function: Value, args: Args, kwargs: Kwargs) -> Value:
    """function(*args, **kwargs)"""
    match function:
        case Known():
            return _call_known(t, function, args, kwargs)
        case Fn(source, frame, defaults, kw_defaults):
            inner = Frame(source, frame.globals, frame.captured, frame, frame.owner)
            return inline(t, inner, args, kwargs, defaults, kw_defaults)
        case Staged(rule):
            out: Value = rule(t, args, kwargs)
            return out
        case Method(f, owner):
            return call(t, f, (owner, *args), kwargs)
        case Partial(f, first, keywords):
            return call(t, f, (*first, *args), {**keywords, **kwargs})
        case Ref(InstanceObj(cls=cls)) if hasattr(cls, "__call__"):  # noqa: B004  (its instances)
            return call(t, attribute(t, function, "__call__"), args, kwargs)
    raise CompileError(f"{t.describe(function)} is not a function", t.loc)


def _call_known(t: Tracer, function: Known, args: Args, kwargs: Kwargs) -> Value:
    v = plain(function.value)
    if v is super:
        return _super(t, args)
    if isinstance(v, ArrayMethod):
        return call_method(t, v.name, args[0], args[1:], kwargs)
    rule = _rule_of(v)
    if rule is not None:
        if isinstance(v, types.BuiltinFunctionType) or v is enumerate:
            check_call(t, v, args, kwargs)
        return rule(t, args, kwargs)
    key = _library_key(v)
    if key is not None:
        if isinstance(v, np.ufunc) and not hasattr(np, v.__name__):
            args = resolved(t, v, args)
        return call_library(t, key, args, kwargs)
    if getattr(v, "__tapeless_static__", False):
        return _run_static(t, v, args, kwargs)
    if type(v).__name__ == "ElementType":
        return convert_call(t, np.dtype(v.dtype).type, args, kwargs)
    if all(isinstance(a, Known) for a in (*args, *kwargs.values())) and _is_pure(v):
        return _fold_call(t, v, args, kwargs)
    match v:
        case np.ufunc():
            return _call_ufunc(t, v, args, kwargs)
        case types.FunctionType():
            return _call_python(t, v, function.path, args, kwargs)
        case types.MethodType():
            return call(
                t, Known(v.__func__), (t.outside.bound_self(t, v, function.path), *args), kwargs
            )
        case functools.partial():
            return _call_partial(t, v, function.path, args, kwargs)
        case type():
            return _construct(t, v, function.path, args, kwargs)
    raise unsupported(t, v)


def _super(t: Tracer, args: Args) -> Value:
    """super(): the class that the running method is defined in, and its first argument."""
    if args:
        cls, instance = args
        return Super(known(t, cls, "the class of super()"), instance)
    frame = t.frame
    while "__class__" not in frame.captured and frame.parent is not None:
        frame = frame.parent
    cell = frame.captured.get("__class__")
    if cell is None:
        raise CompileError("super() outside a method", t.loc)
    first, *_ = frame.source.node.args.args
    return Super(cell.cell_contents, frame.locals[first.arg])


def _rule_of(v: Any) -> Callable[[Tracer, Args, Kwargs], Value] | None:
    try:
        found = BUILTINS.get(v) or INTRINSICS.get(v)
    except TypeError:  # unhashable
        return None
    if found is None and isinstance(v, types.FunctionType):
        found = FORMS.get(f"{v.__module__}.{v.__qualname__}")
    if found is None and isinstance(v, type | np.dtype) and v in CONVERTERS:
        return lambda t, args, kwargs: convert_call(t, v, args, kwargs)
    return found


def _library_key(v: Any) -> Any:
    try:
        if v in LIBRARY:
            return v
    except TypeError:
        return None
    owner = getattr(v, "__self__", None)
    if isinstance(owner, np.ufunc) and ("ufunc", v.__name__) in LIBRARY:
        return v
    return None


INSTEAD = {
    "vectorize": "use tp.vmap(f)(x), or np.array([f(v) for v in x])",
    "apply_along_axis": "use tp.vmap(f)(x), or np.array([f(row) for row in x])",
}


def unsupported(t: Tracer, v: Any) -> CompileError:
    name = getattr(v, "__qualname__", None) or getattr(v, "__name__", str(v))
    module = str(getattr(v, "__module__", "") or "")
    if isinstance(v, np.ufunc):
        module, name = "numpy", v.__name__
    short = {"numpy": "np", "builtins": ""}.get(module, module)
    full = f"{short}.{name}" if short else str(name)
    if name == "print":
        return UnsupportedError(
            "'print' is not supported in compiled code",
            t.loc,
            "call f.python(...) to run the function as plain Python",
        )
    if "random" in module:
        return UnsupportedError(
            f"'{full}' has a hidden state and is not supported",
            t.loc,
            "use tp.random.uniform(seed, counter), or pass the numbers in",
        )
    remedy = INSTEAD.get(str(name), "write it with supported functions, or compute it outside")
    return UnsupportedError(f"'{full}' is not supported", t.loc, remedy)


# The library ----------------------------------------------------------------------------------


def call_library(t: Tracer, key: Any, args: Args, kwargs: Kwargs) -> Value:
    """A function of the library by its key."""
    owner = getattr(key, "__self__", None)
    if isinstance(owner, np.ufunc):
        return call_library(t, ("ufunc", key.__name__), (Known(owner), *args), kwargs)
    function = LIBRARY.get(key)
    if isinstance(function, functools.partial):
        args = (*map(Known, function.args), *args)
        kwargs = {**{k: Known(v) for k, v in function.keywords.items()}, **kwargs}
        function = function.func
    if function is None:
        name = key[1] if isinstance(key, tuple) else getattr(key, "__name__", key)
        raise UnsupportedError(f"'{name}' is not supported", t.loc)
    frame = Frame(source_of(function), function.__globals__, {})
    return inline(t, frame, args, kwargs, tuple(map(Known, function.__defaults__ or ())),
                  _kw_defaults(frame.source, function.__kwdefaults__, Known))  # fmt: skip


def resolved(t: Tracer, ufunc: np.ufunc, args: Args) -> Args:
    """Operands of one of SciPy's ufuncs as the types that it would choose: where Python numbers
    are among them, these are not always NumPy's."""
    if len(args) != ufunc.nin:
        return args
    operands = [as_operand(t, a) for a in args]
    types = [numpy_dtype(a) if isinstance(a, Arr) else type_key(a) for a in operands]
    try:
        chosen = ufunc.resolve_dtypes((*types, *(None,) * ufunc.nout))
    except TypeError:
        raise CompileError(f"{ufunc.__name__} is not defined for {t.describe(operands[0])}",
                           t.loc) from None  # fmt: skip
    return [
        a if chosen[k].kind == "c" or chosen[k] == types[k] else
        cast(t, a, chosen[k]) if isinstance(a, Arr) else convert(t, a, chosen[k])
        for k, a in enumerate(operands)
    ]  # fmt: skip


def _kw_defaults(
    source: Source, found: Mapping[str, Any] | None, make: Callable[[Any], Value]
) -> tuple[Value | None, ...]:
    known = found or {}
    return tuple(
        make(known[a.arg]) if a.arg in known else None for a in source.node.args.kwonlyargs
    )


def _call_ufunc(t: Tracer, ufunc: np.ufunc, args: Args, kwargs: Kwargs) -> Value:
    name = ufunc.__name__
    if (name not in REAL and name not in COMPLEX) or ufunc.nout != 1:
        raise unsupported(t, ufunc)
    if kwargs or len(args) > ufunc.nin:
        if len(args) > ufunc.nin + ufunc.nout:
            raise CompileError(f"np.{name} takes {ufunc.nin} operands", t.loc)
        if len(args) > ufunc.nin:
            kwargs = {**kwargs, "out": args[ufunc.nin]}
        return call_library(t, ("ufunc", "call"), (Known(ufunc), *args[: ufunc.nin]), kwargs)
    if len(args) < ufunc.nin:
        raise CompileError(f"np.{name} takes {ufunc.nin} operands, {len(args)} were given", t.loc)
    operands = [as_operand(t, a) for a in args]
    return strong(elementwise(t, lambda *xs: apply_ufunc(t, ufunc, xs), operands))


def strong(value: Value) -> Value:
    """NumPy's functions give NumPy's numbers."""
    if isinstance(value, Num) and value.weak:
        return Num(value.atom)
    if isinstance(value, Cx) and value.weak:
        return Cx(value.re, value.im)
    return value


# Functions of Python --------------------------------------------------------------------------


def _call_python(
    t: Tracer, f: types.FunctionType, path: Path | None, args: Args, kwargs: Kwargs
) -> Value:
    try:
        source = source_of(f)
    except SourceError as error:
        if str(f.__module__).partition(".")[0] in ("numpy", "scipy"):
            raise unsupported(t, f) from None
        raise SourceError(error.message, t.loc, error.remedy) from None
    if str(f.__module__).partition(".")[0] in ("numpy", "scipy", "math", "functools"):
        raise unsupported(t, f)
    cells = dict(zip(f.__code__.co_freevars, f.__closure__ or (), strict=True))
    frame = Frame(source, f.__globals__, cells, None, path)
    t.codes[f.__code__] = None

    def default(value: Any, step: str, key: Any) -> Value:
        if path is None or frame.is_library:
            return Known(value)
        return t.outside.value(t, value, path.attr(step).item(key))

    defaults = tuple(default(d, "__defaults__", k) for k, d in enumerate(f.__defaults__ or ()))
    known = f.__kwdefaults__ or {}
    kw = tuple(
        default(known[a.arg], "__kwdefaults__", a.arg) if a.arg in known else None
        for a in source.node.args.kwonlyargs
    )
    return inline(t, frame, args, kwargs, defaults, kw)


def _call_partial(
    t: Tracer, v: functools.partial[Any], path: Path | None, args: Args, kwargs: Kwargs
) -> Value:
    def part(value: Any, step: str, key: Any) -> Value:
        if path is None:
            return Known(value)
        return t.outside.value(t, value, path.attr(step).item(key))

    inner = Known(v.func, None if path is None else path.attr("func"))
    first = [part(a, "args", k) for k, a in enumerate(v.args)]
    keywords = {k: part(a, "keywords", k) for k, a in v.keywords.items()}
    return call(t, inner, (*first, *args), {**keywords, **kwargs})


# Classes --------------------------------------------------------------------------------------


def _construct(t: Tracer, cls: type, home: Path | None, args: Args, kwargs: Kwargs) -> Value:
    if issubclass(cls, tuple) and hasattr(cls, "_fields"):
        new = cls.__new__
        names = cls._fields
        given = dict(zip(names, args, strict=False)) | kwargs
        defaults = getattr(cls, "_field_defaults", {})
        missing = [n for n in names if n not in given and n not in defaults]
        if missing or len(given) > len(names) or len(args) > len(names) or not callable(new):
            raise CompileError(f"{cls.__name__}() takes the fields {', '.join(names)}", t.loc)
        return Tup(tuple(given.get(n, Known(defaults.get(n))) for n in names), cls)
    if dataclasses.is_dataclass(cls):
        return construct_dataclass(t, cls, home, args, kwargs)
    if cls.__module__.partition(".")[0] in ("numpy", "scipy"):
        raise unsupported(t, cls)
    if issubclass(cls, str | bytes):
        raise UnsupportedError(
            "a text of values known at run time cannot be made in compiled code", t.loc,
            "return the numbers; raise and assert take f-strings of them",
        )  # fmt: skip
    raise UnsupportedError(
        f"an object of class {cls.__name__} cannot be made in compiled code",
        t.loc,
        "use a dataclass or a NamedTuple",
    )


def construct_dataclass(
    t: Tracer, cls: type, home: Path | None, args: Args, kwargs: Kwargs
) -> Value:
    fields = [f for f in dataclasses.fields(cls) if f.init]
    given: dict[str, Value] = dict(zip((f.name for f in fields), args, strict=False))
    if len(args) > len(fields) or not set(kwargs) <= {f.name for f in fields} - set(given):
        raise CompileError(
            f"{cls.__name__}() takes the fields {', '.join(f.name for f in fields)}", t.loc
        )
    given.update(kwargs)
    for f in dataclasses.fields(cls):
        if f.name in given:
            continue
        if f.default is not dataclasses.MISSING:
            given[f.name] = Known(f.default)
        elif f.default_factory is not dataclasses.MISSING:
            given[f.name] = call(t, Known(f.default_factory), (), {})
        elif f.init:
            raise CompileError(f"{cls.__name__}() needs the field '{f.name}'", t.loc)
    order = [f.name for f in dataclasses.fields(cls) if f.name in given]
    obj = InstanceObj(cls, home=home)
    t.state.heap[obj] = {name: given[name] for name in order}
    made = Ref(obj)
    if hasattr(cls, "__post_init__"):
        call(t, attribute(t, made, "__post_init__"), (), {})
    return made


def _run_static(t: Tracer, f: Callable[..., Any], args: Args, kwargs: Kwargs) -> Value:
    """A function of the library that the compiler runs: on values of compile time."""
    name = getattr(f, "__name__", "a function").replace("_", " ").strip()
    plain_args = [known(t, a, f"an argument ({name})") for a in args]
    keywords = {k: known(t, v, f"'{k}'") for k, v in kwargs.items()}
    try:
        return wrap(t, f(*plain_args, **keywords))
    except CompileError as error:
        error.loc = error.loc or t.loc
        raise


# Compile time ---------------------------------------------------------------------------------

PURE = (np.finfo, np.iinfo, np.promote_types, np.result_type, np.issubdtype, np.can_cast)
PURE_OWNERS = (str, bytes, int, float, complex, bool, tuple, frozenset, range, np.dtype)


def _is_pure(v: Any) -> bool:
    """Methods of immutable values, and a fixed list of functions without effects."""
    owner = getattr(v, "__self__", None)
    if isinstance(owner, PURE_OWNERS):
        return True
    if any(v is f for f in PURE):
        return True
    return getattr(v, "__module__", None) in ("math", "operator", "_operator")


def _fold_call(t: Tracer, v: Any, args: Args, kwargs: Kwargs) -> Value:
    try:
        out = v(*(a.value for a in args if isinstance(a, Known)),
                **{k: a.value for k, a in kwargs.items() if isinstance(a, Known)})  # fmt: skip
    except (TypeError, ValueError, ArithmeticError, LookupError) as error:
        raise CompileError(f"{type(error).__name__}: {error}", t.loc) from None
    if isinstance(out, list):
        return new_list(t, tuple(map(Known, out)))
    return Known(out)
