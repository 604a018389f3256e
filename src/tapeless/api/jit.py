"""`jit`: a Python function that runs as machine code."""

from __future__ import annotations

import functools
import inspect
import threading
import types
import weakref
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, overload

from tapeless.api.annotations import declared, declared_arrays, hints_of
from tapeless.api.binding import Binder
from tapeless.api.fast import fast_plan
from tapeless.api.plan import any_sizes
from tapeless.api.program import Layouts, Program
from tapeless.api.results import into
from tapeless.api.settings import Settings, is_disabled, on_switch
from tapeless.api.sizes import made_for
from tapeless.api.store import Compilation, Store
from tapeless.core.names import Loc
from tapeless.errors import ArgumentError, TapelessError
from tapeless.frontend.argtypes import arg_type, plain, static_arg
from tapeless.frontend.signature import ArgType, Signature
from tapeless.runtime.fastcall import FastEntry

_STORES: dict[tuple[types.CodeType, Settings], Store] = {}
_LIVE: weakref.WeakSet[Jitted] = weakref.WeakSet()
_LOCK = threading.Lock()
OWN = str(Path(__file__).parent)  # files that the user did not write
MAX_ENTRIES = 16  # signatures of one function that the fast entry knows


def store_of(code: types.CodeType, settings: Settings) -> Store:
    """Functions with one code object share their programs, whatever their closures hold."""
    with _LOCK:
        return _STORES.setdefault((code, settings), Store(settings))


def _switch_all(disabled: bool) -> None:
    for jitted in list(_LIVE):
        jitted.switch(disabled)


on_switch(_switch_all)


class Jitted:
    """A compiled function. `python` is the function itself, `compilations` what was compiled.

    `f(*args, out=array)` puts the result into an array of the caller."""

    __name__: str
    __qualname__: str

    def __init__(self, function: types.FunctionType, settings: Settings) -> None:
        functools.update_wrapper(self, function)
        self.python = self.__tapeless_python__ = function
        self.settings = settings
        self.bind = Binder(function)
        unknown = set(settings.static_argnames) - set(self.bind.names)
        if unknown:
            raise ValueError(f"jit: {function.__name__} has no parameter {sorted(unknown)[0]!r}")
        self.hints = hints_of(function)
        self.declared = declared(self.hints)
        self.declared_arrays = declared_arrays(self.hints)
        self.store = store_of(function.__code__, settings)
        self.entry: FastEntry | None = None
        self.entered: set[tuple[int, Layouts, int]] = set()
        _LIVE.add(self)

    @property
    def compilations(self) -> tuple[Compilation, ...]:
        """Signature, seconds, whether from the disk cache, and why, of each compilation so far."""
        return tuple(self.store.compilations)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """A call that the fast entry does not know, or not yet."""
        if "out" in kwargs and not self.bind.takes_out:
            return into(kwargs.pop("out"), self(*args, **kwargs), self.__name__)
        if is_disabled():
            return self.python(*args, **kwargs)
        arguments = self.bind(args, kwargs)
        try:
            signature = self.signature(arguments)
            program = self.store.find(self.python, arguments, signature)
            result = program(self.python, arguments)
        except TapelessError as error:
            raise error.with_traceback(None) from None
        if self.bind.is_positional and not kwargs:
            self._enter(program, arguments, signature, len(args))
        return result

    def program(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Program, dict[str, Any]]:
        """The program for a call, and its arguments by name."""
        arguments = self.bind(args, kwargs)
        try:
            return self.store.find(self.python, arguments, self.signature(arguments)), arguments
        except TapelessError as error:
            raise error.with_traceback(None) from None

    def _enter(
        self, program: Program, arguments: dict[str, Any], signature: Signature, count: int
    ) -> None:
        """Let further calls like this one go by the fast entry."""
        layouts = program.layouts(self.python, arguments)
        key = (id(program), layouts, count)
        if key in self.entered or len(self.entered) >= MAX_ENTRIES:
            return
        self.entered.add(key)
        kernel = program.kernels.get(layouts)
        if kernel is None:
            return
        plan = fast_plan(
            program.plan, kernel.type, self.python, signature, count, self.declared_arrays
        )
        with self.store.lock:
            if plan is not None and self.entry is None:
                self.entry = FastEntry(self._fallback)
            last = not made_for(program.plan)
            if plan is not None and self.entry is not None and self.entry.add(kernel, plan, last):
                self.switch(is_disabled())

    def _fallback(self, *args: Any, **kwargs: Any) -> Any:
        return Jitted.__call__(self, *args, **kwargs)

    def switch(self, disabled: bool) -> None:
        """Calls of this object go to the fast entry: the class is this object's own."""
        cls = type(self)
        if self.entry is not None and not disabled:
            cls.__call__ = self.entry.callable  # type: ignore[method-assign]  # the purpose
        elif "__call__" in vars(cls):
            del cls.__call__

    def signature(self, arguments: dict[str, Any]) -> Signature:
        """The types of the arguments, with the declared sizes."""
        fixed = self.settings.static_argnames
        types: dict[str, ArgType] = {}
        for name, value in arguments.items():
            try:
                is_static = name in fixed
                types[name] = static_arg(value) if is_static else arg_type(value, any_sizes)
            except ArgumentError as error:
                error.message = f"'{name}': {error.message}"
                error.loc = None if self.python.__code__.co_filename.startswith(OWN) else self.loc
                raise
        if self.declared:
            types = self.declared(types, arguments, self.loc)
        return tuple(types.items())

    @property
    def loc(self) -> Loc:
        code = self.python.__code__
        return Loc(code.co_filename, code.co_firstlineno, function=code.co_name)

    def __get__(self, owner: Any, cls: type | None = None) -> Any:
        return self if owner is None else types.MethodType(self, owner)

    def __repr__(self) -> str:
        code = self.python.__code__
        return f"<tapeless.jit {self.__qualname__} at {code.co_filename}:{code.co_firstlineno}>"

    def __reduce__(self) -> str:
        return self.__qualname__


@overload
def jit(
    f: None = None, *, static_argnames: str | Iterable[str] = (), parallel: bool = True,
    fastmath: bool = False, deterministic: bool = False, check: bool | str = True,
    cache: bool = True, target: str = "cpu",
) -> Callable[[Callable[..., Any]], Any]: ...  # fmt: skip
@overload
def jit(
    f: Callable[..., Any], *, static_argnames: str | Iterable[str] = (), parallel: bool = True,
    fastmath: bool = False, deterministic: bool = False, check: bool | str = True,
    cache: bool = True, target: str = "cpu",
) -> Any: ...  # fmt: skip
def jit(
    f: Callable[..., Any] | None = None, *, static_argnames: str | Iterable[str] = (),
    parallel: bool = True, fastmath: bool = False, deterministic: bool = False,
    check: bool | str = True, cache: bool = True, target: str = "cpu",
) -> Any:  # fmt: skip
    """Compile a function to native code at its first call with new argument types.

    New sizes never compile again. `static_argnames`: parameters whose values are compiled in.
    `parallel`: use threads. `fastmath`: floats may be reordered as if they were real numbers.
    `deterministic`: the same bits for any number of threads. `check`: index checks and asserts
    stay in; "overflow" also raises where an integer overflows. `cache`: keep code on disk.
    """
    names = (static_argnames,) if isinstance(static_argnames, str) else tuple(static_argnames)
    settings = Settings(names, parallel, fastmath, deterministic, check, cache, target)
    if f is None:
        return functools.partial(jitted, settings=settings)
    return jitted(f, settings)


def jitted(f: Any, settings: Settings) -> Any:
    """Any callable of the language, compiled."""
    match f:
        case Jitted():
            return jitted(f.python, settings)
        case types.FunctionType():
            made: type[Jitted] = type("Jitted", (Jitted,), {"__module__": Jitted.__module__})
            return made(f, settings)
        case types.MethodType():
            return types.MethodType(jitted(f.__func__, settings), f.__self__)
        case functools.partial():
            return functools.partial(jitted(f.func, settings), *f.args, **f.keywords)
        case staticmethod():
            return staticmethod(jitted(f.__func__, settings))
        case classmethod():
            return classmethod(jitted(f.__func__, settings))
        case property():
            return property(jitted(f.fget, settings), f.fset, f.fdel, f.__doc__)
    call = inspect.getattr_static(type(f), "__call__", None)
    if isinstance(call, types.FunctionType | Jitted):
        return types.MethodType(jitted(plain(call), settings), f)
    kind = "class" if isinstance(f, type) else type(f).__name__
    raise TypeError(
        f"jit takes a Python function, not {getattr(f, '__name__', repr(f))} ({kind}):"
        " its source is what is compiled"
    )
