"""The LLVM text that one process makes of many programs: `python -m tests.conformance.texts SEED`
prints a digest of each.

What programs are made of is equal only to itself, and so hashed by its address: sets of it have
the order in which memory happened to be given out. Another seed hashes by another number.
"""

from __future__ import annotations

import hashlib
import json
import sys
import warnings
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, NoReturn

import tapeless as tp
from tapeless import pipeline
from tapeless.core import names
from tapeless.frontend import values
from tapeless.loop import syntax
from tests.ad.torture import all_programs
from tests.conformance.kernels import KERNELS
from tests.conformance.test_kernels import arguments

Call = tuple[Callable[..., Any], tuple[Any, ...]]


class Text(Exception):
    """LLVM text, in place of the machine code that it would become."""


def answer(text: str, *_: object) -> NoReturn:
    raise Text(text)


def text_of(call: Call) -> str:
    function, args = call
    try:
        function(*args)
    except Text as found:
        return str(found)
    raise AssertionError(f"{function.__name__}: nothing was compiled")


def hashed_by(seed: int, *modules: ModuleType) -> None:
    """The classes of these modules that are hashed by address mix it with `seed`."""

    def mixed(self: object) -> int:
        return (id(self) >> 4) * 2654435761 * seed >> 7 & 0xFFFFFFF

    for module in modules:
        for cls in vars(module).values():
            own = isinstance(cls, type) and cls.__module__ == module.__name__
            if own and cls.__hash__ is object.__hash__:
                cls.__hash__ = mixed


def calls() -> Iterator[tuple[str, Call]]:
    """Kernels and their gradients, then what is differentiated elsewhere."""
    for kernel in KERNELS:
        args = arguments(kernel, 7)
        yield kernel.name, (tp.jit(kernel.function, cache=False), args)
    for program in all_programs():
        gradient = tp.grad(tp.jit(program.run, cache=False), argnums=program.wrt)
        yield program.name, (gradient, program.fresh())


def main() -> None:
    warnings.simplefilter("ignore")
    hashed_by(int(sys.argv[1]), names, values, syntax)
    pipeline.compile_object = answer
    texts = {name: text_of(call) for name, call in calls()}
    print(json.dumps({n: hashlib.sha256(t.encode()).hexdigest() for n, t in texts.items()}))


if __name__ == "__main__":
    main()
