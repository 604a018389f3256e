"""The passes in their order: the table of contents of the compiler's middle. Then from Core to
machine code: lowering, LLVM, an object file."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from tapeless.analysis.verify import verify as check
from tapeless.core.names import Atom, Var
from tapeless.core.types import Array
from tapeless.emit.kernel import emit, symbol
from tapeless.emit.needs import needs
from tapeless.emit.target import Target
from tapeless.errors import CompileError
from tapeless.fuse import horizontal, vertical
from tapeless.ir.syntax import Fun
from tapeless.loop.syntax import Proc
from tapeless.loop.verify import verify as check_loops
from tapeless.lower.kernel import lower
from tapeless.raising import (
    alone,
    carry,
    few,
    gather,
    loops,
    marks,
    nests,
    offsets,
    pivots,
    private,
    promote,
    slices,
    waits,
    whiles,
)
from tapeless.raising.races import races
from tapeless.runtime import machine
from tapeless.runtime.abi import ArraySlot, KernelType, ScalarSlot, Site, Slot
from tapeless.runtime.codegen import compile_object
from tapeless.simplify import checks, choices, dead, elements, forward, hoist, known, stores

Pass: TypeAlias = Callable[[Fun], Fun]

TIDY: tuple[Pass, ...] = (forward.run, dead.run)
# Each of the rest gives back the same program if it finds nothing to do.
CLEAN: tuple[Pass, ...] = (checks.run, stores.run, known.run, choices.run, whiles.run)
# These take one level of a nest of loops at a time, so they come around until all is done.
RAISE: tuple[Pass, ...] = (promote.run, pivots.run, loops.run, private.run, nests.run)
FUSE: tuple[Pass, ...] = (
    few.run, elements.run, carry.run, gather.run, offsets.run, vertical.run, horizontal.run,
    hoist.run,
)  # fmt: skip
LAST: tuple[Pass, ...] = (
    alone.run,
    slices.run,
    waits.run,
)  # when nothing else makes a loop parallel
PROMISED: tuple[Pass, ...] = (marks.run,)  # what the program says and nothing shows
ROUNDS = 6  # of each group and of all groups, at most

CHECKED = False  # whether every step is verified, whoever asks: the tests set it


Stages: TypeAlias = Generator[tuple[Pass, Fun], None, Fun]


def stages(fun: Fun) -> Stages:
    """Each pass that changes `fun`, with the program after it."""
    fun = yield from _each(TIDY, fun)
    for _ in range(ROUNDS):
        before = fun
        fun = yield from _tidied(CLEAN, fun)
        for _ in range(ROUNDS):
            last = fun
            fun = yield from _tidied(RAISE, fun)
            if fun is last:
                break
        fun = yield from _tidied(FUSE, fun)
        if fun is before:
            fun = yield from _tidied(LAST, fun)
        if fun is before:
            fun = yield from _tidied(PROMISED, fun)
        if fun is before:
            break
    return fun


def _tidied(passes: Sequence[Pass], fun: Fun) -> Stages:
    new = yield from _each(passes, fun)
    return fun if new is fun else (yield from _each(TIDY, new))


def _each(passes: Sequence[Pass], fun: Fun) -> Stages:
    for step in passes:
        new = step(fun)
        if new is not fun:
            yield step, new
        fun = new
    return fun


def optimise(fun: Fun, verify: bool = False) -> Fun:
    """`fun` after all passes; `verify` checks the rules of Core after each of them."""
    if verify or CHECKED:
        check(fun)
    for _, new in stages(fun):
        if verify or CHECKED:
            check(new)
        fun = new
    refuse_races(fun)
    return fun


def refuse_races(fun: Fun) -> None:
    """Iterations that the program calls independent must be seen to be."""
    for loc, names in races(fun):
        shared = " and ".join(f"'{n}'" for n in names[:2])
        raise CompileError(
            f"the iterations of this tp.each are not independent, as far as can be shown: {shared}"
            " may go from one to another", loc,
            "use range; or write an element once in an iteration, from a variable, and add to"
            " elements that may repeat by += or np.add.at",
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Choices:
    """What may be asked of code generation."""

    parallel: bool = True
    fastmath: bool = False
    deterministic: bool = False


DEFAULT = Choices()


def compile(
    fun: Fun, layouts: Sequence[str], choices: Choices = DEFAULT
) -> tuple[KernelType, bytes]:
    """An optimised program as a kernel for arrays of these layouts, and its object file."""
    proc = lower(fun, layouts, parallel=choices.parallel, deterministic=choices.deterministic)
    if CHECKED:
        check_loops(proc)
    return kernel_type(fun, proc, layouts), compile_object(llvm(proc, choices))


def memory(
    fun: Fun, layouts: Sequence[str], scalars: Mapping[Var, int | float | bool],
    choices: Choices = DEFAULT,
) -> tuple[int, int]:  # fmt: skip
    """Bytes that a call of the kernel of an optimised program takes beside its arguments, on one
    thread, and what they would be without lanes."""
    proc, host = lower(fun, layouts, parallel=choices.parallel), target(choices)
    return needs(proc, host, scalars).total, needs(proc, replace(host, width=1), scalars).total


def llvm(proc: Proc, choices: Choices) -> str:
    """LLVM text of a kernel for this machine."""
    return emit(proc, target(choices))


def target(choices: Choices) -> Target:
    host = machine.host()
    return Target(
        host.triple, host.cpu, host.features, host.vector_bits, host.registers,
        fastmath=choices.fastmath, parallel=choices.parallel,
    )  # fmt: skip


def kernel_type(fun: Fun, proc: Proc, layouts: Sequence[str]) -> KernelType:
    """How the kernel is called (docs/architecture.md, "The kernel ABI")."""
    arrays = iter(layouts)
    params = tuple(
        ArraySlot(p.dtype.name, len(p.shape), next(arrays), p in fun.writes)
        if p.is_array else ScalarSlot(p.dtype.name)
        for p in fun.params
    )  # fmt: skip
    count = len(fun.body.results) - len(fun.writes)
    results = tuple(map(_result, fun.body.results[:count]))
    sites = tuple(
        Site(s.error, s.message, tuple(d.name for d in s.dtypes), s.loc) for s in proc.sites
    )
    return KernelType(symbol(proc), params, results, sites, proc.foreign)


def _result(atom: Atom) -> Slot:
    match atom.type:
        case Array(dtype, shape):
            return ArraySlot(dtype.name, len(shape))
        case scalar:
            return ScalarSlot(scalar.dtype.name)
