"""Compiles emitted math functions and measures them against mpmath.

Used by tools/math_table.py and by the tests."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import llvmlite.binding as llvm
import mpmath as mp
import numpy as np
from scipy import special

from tapeless.emit.math import FUNCTIONS, define

Array = np.ndarray[Any, Any]
DTYPES = {64: np.float64, 32: np.float32}


def loop_text(name: str, bits: int, width: int) -> str:
    """A module with run(x0, x1, out, n): out[i] = name(x0[i], x1[i])."""
    scalar = {64: "double", 32: "float"}[bits]
    kind = scalar if width == 1 else f"<{width} x {scalar}>"
    align, arity = bits // 8, FUNCTIONS[name]
    loads = "".join(
        f"  %p{i} = getelementptr {scalar}, ptr %x{i}, i64 %i\n"
        f"  %a{i} = load {kind}, ptr %p{i}, align {align}\n"
        for i in range(arity)
    )
    args = ", ".join(f"{kind} %a{i}" for i in range(arity))
    body = (
        "define void @run(ptr noalias %x0, ptr noalias %x1, ptr noalias %out, i64 %n) {\n"
        "entry:\n  br label %loop\nloop:\n  %i = phi i64 [ 0, %entry ], [ %next, %loop ]\n"
        f"{loads}  %y = call {kind} @tp.{name}.f{bits}x{width}({args})\n"
        f"  %q = getelementptr {scalar}, ptr %out, i64 %i\n"
        f"  store {kind} %y, ptr %q, align {align}\n  %next = add i64 %i, {width}\n"
        "  %more = icmp slt i64 %next, %n\n  br i1 %more, label %loop, label %done\n"
        "done:\n  ret void\n}\n"
    )
    return "\n".join([*define(name, bits, width).values(), body])


def optimize(module: llvm.ModuleRef, machine: llvm.TargetMachine, full: bool) -> None:
    """sroa and instcombine, or the whole -O3 pipeline."""
    tuning = llvm.create_pipeline_tuning_options(speed_level=3)
    builder = llvm.create_pass_builder(machine, tuning)
    if full:
        passes = builder.getModulePassManager()
    else:
        passes = llvm.create_new_module_pass_manager()
        passes.add_sroa_pass()
        passes.add_instruction_combine_pass()
    passes.run(module, builder)


class Compiled:
    """One function, compiled for this machine, as a function of numpy arrays."""

    def __init__(self, name: str, bits: int, width: int, full: bool = False) -> None:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        target = llvm.Target.from_default_triple()
        machine = target.create_target_machine(
            cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=3
        )
        module = llvm.parse_assembly(loop_text(name, bits, width))
        module.verify()
        optimize(module, machine, full)
        self.text = str(module)
        self.engine = llvm.create_mcjit_compiler(module, machine)
        self.assembly = machine.emit_assembly(module) if full else ""
        kind = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3, ctypes.c_int64)
        self.run = kind(self.engine.get_function_address("run"))
        self.bits, self.width = bits, width

    def __call__(self, *columns: Array) -> Array:
        size = len(columns[0])
        padded = size + -size % self.width
        inputs = [np.resize(x.astype(DTYPES[self.bits]), padded) for x in columns]
        out = np.empty(padded, DTYPES[self.bits])
        self.run(inputs[0].ctypes.data, inputs[-1].ctypes.data, out.ctypes.data, padded)
        return out[:size]

    def nanoseconds(self, *columns: Array) -> float:
        """The least time an element over many runs."""
        inputs = [np.ascontiguousarray(x.astype(DTYPES[self.bits])) for x in columns]
        out = np.empty_like(inputs[0])
        size = len(out)
        places = inputs[0].ctypes.data, inputs[-1].ctypes.data, out.ctypes.data

        def once(length: int) -> int:
            start = time.perf_counter_ns()
            self.run(*places, length)
            return time.perf_counter_ns() - start

        idle = min(once(0) for _ in range(100))
        return (min(once(size) for _ in range(300)) - idle) / size


# References ------------------------------------------------------------------------------------


def _fmod(x: mp.mpf, y: mp.mpf) -> mp.mpf:
    """The remainder with the sign of x, by exact integers."""
    (a, b), (c, d) = float(x).as_integer_ratio(), float(y).as_integer_ratio()
    if c == 0:
        return mp.nan
    rest = abs(a) * d % (abs(c) * b)
    return mp.sign(x) * mp.ldexp(mp.mpf(rest), -(b * d).bit_length() + 1)


def _lgamma(x: mp.mpf) -> mp.mpf:
    """log|Gamma(x)|."""
    if x > 0:
        return mp.re(mp.loggamma(x))
    sine = mp.sinpi(x)
    return mp.log(mp.pi / abs(x * sine)) - mp.loggamma(-x) if sine else mp.inf


def _tgamma(x: mp.mpf) -> mp.mpf:
    """Gamma(x), by its logarithm far out, where mpmath would take forever."""
    if x > 0:
        return mp.gamma(x) if x < 200 else mp.inf
    sine = mp.sinpi(x)
    if not sine:
        return mp.nan
    return -mp.pi / (x * sine * mp.gamma(-x)) if x > -200 else mp.sign(-sine * x) * mp.mpf(0)


def _trigamma(x: mp.mpf) -> mp.mpf:
    """psi'(x), by its reflection and asymptotic series far out."""
    if x < 0:
        sine = mp.sinpi(x)
        return (mp.pi / sine) ** 2 - _trigamma(1 - x) if sine else mp.inf
    if x < 1e4:
        return mp.psi(1, x)
    series = sum(mp.bernoulli(2 * k) / x ** (2 * k + 1) for k in range(1, 12))
    return 1 / x + 1 / (2 * x * x) + series


def _inverse(
    f: Callable[[mp.mpf], mp.mpf],
    slope: Callable[[mp.mpf], mp.mpf],
    start: Callable[[float], float],
) -> Callable[[mp.mpf], mp.mpf]:
    """The inverse of f by Newton's method from a double-precision start."""

    def inverse(y: mp.mpf) -> mp.mpf:
        x = mp.mpf(start(float(y)))
        if not mp.isfinite(x) or x == 0:
            return x
        for _ in range(2):
            x -= (f(x) - y) / slope(x)
        return x

    return inverse


@cache
def references() -> dict[str, Callable[..., mp.mpf]]:
    """The mpmath function of each name."""
    erfinv = _inverse(mp.erf, lambda x: 2 / mp.sqrt(mp.pi) * mp.exp(-x * x), special.erfinv)
    ndtri = _inverse(
        lambda x: mp.erfc(-x / mp.sqrt(2)) / 2, mp.npdf, lambda p: float(special.ndtri(p))
    )
    two, three = mp.mpf(2), mp.mpf(3)
    table: dict[str, Callable[..., mp.mpf]] = {
        name: getattr(mp, name)
        for name in "exp log sin cos tan tanh sinh cosh asinh acosh atanh log1p expm1 asin acos "
        "atan atan2 hypot erf".split()
    }
    return table | {
        "exp2": lambda x: two**x, "log2": lambda x: mp.log(x) / mp.log(2), "log10": mp.log10,
        "erfc": lambda x: mp.erfc(x) if abs(x) < 100 else mp.mpf(0 if x > 0 else 2),
        "pow": mp.power, "fmod": _fmod,
        "cbrt": lambda x: mp.sign(x) * abs(x) ** (1 / three),
        "lgamma": _lgamma, "tgamma": _tgamma, "digamma": mp.digamma,
        "trigamma": _trigamma, "erfinv": erfinv, "ndtri": ndtri,
        "i0": lambda x: mp.besseli(0, x), "i1": lambda x: mp.besseli(1, x),
        "j0": lambda x: mp.besselj(0, x), "j1": lambda x: mp.besselj(1, x),
    }  # fmt: skip


def exact(name: str, point: Iterable[float]) -> mp.mpf:
    """The value at a point to 30 digits or so; nan outside the domain."""
    args = [mp.mpf(float(x)) for x in point]
    if any(map(mp.isnan, args)):
        return mp.nan
    f = references()[name]
    with mp.workdps(60):
        try:
            value = f(*args)
        except (ValueError, ZeroDivisionError):
            return mp.nan
        return mp.nan if isinstance(value, mp.mpc) and value.imag else mp.re(value)


def ulps(got: float, value: mp.mpf, bits: int, floor: float = 0.0) -> float:
    """|got - value| in units of the last place of the value (of `floor`, where that is larger);
    inf where only one is nan."""
    digits, least, limit = (53, -1074, 1024) if bits == 64 else (24, -149, 128)
    if mp.isnan(value) or np.isnan(got):
        return 0.0 if mp.isnan(value) and np.isnan(got) else float("inf")
    top = mp.ldexp(1 - mp.ldexp(1, -digits - 1), limit)
    if abs(value) >= top:
        value = mp.sign(value) * mp.ldexp(1, limit)
        if np.isinf(got):
            return 0.0 if got * value > 0 else float("inf")
    elif np.isinf(got):
        got = (
            float(np.sign(got)) * 2.0**1023 * 2.0 if bits == 64 else float(np.sign(got)) * 2.0**128
        )
        if np.isinf(got):
            return float(abs((mp.sign(got) * mp.ldexp(1, 1024) - value) / mp.ldexp(1, 971)))
    if value == 0 and not floor:
        return float(abs(mp.mpf(float(got))) / mp.ldexp(1, least))
    exponent = max(mp.frexp(max(abs(value), floor))[1] - digits, least)
    return float(abs(mp.mpf(float(got)) - value) / mp.ldexp(1, exponent))
