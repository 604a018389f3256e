"""Derivatives of one program: forward against differences, reverse against forward, second
derivatives against each other, machine code against the interpreter."""

from __future__ import annotations

import traceback
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from tapeless.ad.jvp import jvp
from tapeless.ad.vjp import vjp
from tapeless.core.types import f32, f64
from tapeless.errors import CompileError
from tapeless.ir.interp import interpret
from tapeless.ir.syntax import Fun
from tapeless.ir.verify import verify
from tapeless.ir.walk import statements
from tapeless.pipeline import optimise
from tests.ad.fuzz.programs import core_program, python_program
from tests.ir.machine import compiled

STEP = 1e-6
ROUNDING = 1e-4  # of a difference quotient, by the size of the value
SOURCES = {"core": core_program, "python": python_program}


class Case:
    """A program with arguments, and random directions and weights."""

    def __init__(self, fun: Fun, args: tuple[Any, ...], seed: int) -> None:
        self.fun, self.args, self.seed = fun, args, seed
        self.rng = np.random.default_rng(seed)
        self.floats = [k for k, p in enumerate(fun.params) if p.dtype is f64]
        self.values = interpret(fun, *args)
        self.count = len(self.values)

    def direction(self) -> list[Any]:
        return [self.rng.standard_normal(np.shape(self.args[k])) for k in self.floats]

    def weights(self) -> list[Any]:
        """A cotangent per float result; single precision takes no part."""
        results = zip(self.fun.body.results, self.values, strict=True)
        return [
            self.rng.standard_normal(np.shape(v)) if r.dtype is f64 else np.zeros(np.shape(v), "f4")
            for r, v in results if r.dtype.is_float
        ]  # fmt: skip

    def doubles(self, fun: Fun, values: Any) -> list[Any]:
        """Values of the float results of `fun` that are f64."""
        kinds = [r.dtype for r in fun.body.results if r.dtype.is_float]
        return [np.asarray(v) for v, d in zip(values, kinds, strict=True) if d is f64]

    def tangents(self, along: list[Any]) -> list[Any]:
        forward = jvp(self.fun, self.floats)
        if self.seed % 4 == 0:
            verify(forward)
        return self.doubles(self.fun, interpret(forward, *self.args, *along)[self.count :])

    def moved(self, along: list[Any], step: float) -> list[Any]:
        args = list(self.args)
        for k, d in zip(self.floats, along, strict=True):
            args[k] = args[k] + step * d
        results = zip(self.fun.body.results, interpret(self.fun, *args), strict=True)
        return [np.asarray(v) for r, v in results if r.dtype is f64]


def inner(a: list[Any], b: list[Any]) -> float:
    return sum(float(np.sum(x * y)) for x, y in zip(a, b, strict=True))


def size(a: list[Any], b: list[Any]) -> float:
    return 1.0 + sum(float(np.sum(np.abs(x * y))) for x, y in zip(a, b, strict=True))


def check_slope(case: Case, along: list[Any], dots: list[Any]) -> None:
    """(f(x + εv) − f(x − εv)) / 2ε ≈ Jv, but at kinks and jumps, where both sides differ."""
    up, here, down = (case.moved(along, s) for s in (STEP, 0.0, -STEP))
    for a, m, b, dot in zip(up, here, down, dots, strict=True):
        assert m.shape == dot.shape
        if a.shape != m.shape or b.shape != m.shape:
            continue
        middle, right, left = (a - b) / (2 * STEP), (a - m) / STEP, (m - b) / STEP
        scale = 1.0 + np.max(np.abs(middle), initial=0.0, where=np.isfinite(middle))
        scale += ROUNDING * np.max(np.abs(m), initial=0.0, where=np.isfinite(m))
        smooth = np.isfinite(middle) & (np.abs(right - left) <= 1e-3 * scale)
        np.testing.assert_allclose(dot[smooth], middle[smooth], rtol=1e-5, atol=1e-5 * scale)


def check_transpose(case: Case, along: list[Any], dots: list[Any], back: Fun) -> None:
    """⟨Jv, w⟩ = ⟨v, Jᵀw⟩."""
    weights = case.weights()
    bars = list(interpret(back, *case.args, *weights)[case.count :])
    weights = case.doubles(case.fun, weights)
    left, right = inner(dots, weights), inner(bars, along)
    if np.isfinite(left):
        assert abs(left - right) <= 1e-11 * size(dots, weights), (left, right)


def check_second(case: Case, back: Fun) -> None:
    """⟨Hu, v⟩ = ⟨u, Hv⟩: Hu by forward over reverse, Hv by reverse over reverse."""
    weights, u, v = case.weights(), case.direction(), case.direction()
    over, twice = jvp(back, case.floats), vjp(back, case.floats)
    if case.seed % 4 == 0:
        verify(over)
        verify(twice)
    count, ahead = len(back.body.results), len(weights)
    hu = list(interpret(over, *case.args, *weights, *u)[count + ahead :])
    zeros = [np.zeros_like(w) for w in weights]
    hv = list(interpret(twice, *case.args, *weights, *zeros, *v)[count:])
    left, right = inner(hu, v), inner(hv, u)
    if np.isfinite((left, right)).all():
        assert abs(left - right) <= 1e-10 * (size(hu, v) + size(hv, u)), (left, right)


def check_machine(case: Case, back: Fun) -> None:
    """Machine code gives the cotangents that the interpreter gives."""
    weights = case.weights()
    wanted = interpret(back, *case.args, *weights)
    for got, want in zip(compiled(back)(*case.args, *weights), wanted, strict=True):
        scale = 1.0 + np.max(np.abs(want), initial=0.0, where=np.isfinite(want))
        single = np.asarray(want).dtype == np.float32
        tol = 1e-4 if single else 1e-10
        np.testing.assert_allclose(got, want, rtol=tol, atol=tol * scale)


# Verdicts ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Verdict:
    """`kind`: ok, raises (the program itself), single (it rounds), refused (a CompileError), wrong
    or crash."""

    kind: str
    check: str = ""
    problem: str = ""

    @property
    def failed(self) -> bool:
        return self.kind in ("wrong", "crash")


def case_of(source: str, seed: int) -> Case | Verdict:
    """The program of a seed at its arguments, if it can be run, in double precision."""
    try:
        case = Case(*SOURCES[source](seed), seed)
    except CompileError as error:
        return Verdict("refused", "trace", error.message)
    except Exception as error:  # noqa: BLE001  # whatever the program raises
        return Verdict("raises", "program", f"{type(error).__name__}: {error}")
    outs = (o for stm in statements(case.fun.body) for o in stm.outs)
    if source == "python" and any(o.dtype is f32 for o in outs):
        return Verdict("single", "program", "rounds to single precision")
    return case


def judge(source: str, seed: int, *, machine: bool = False) -> Verdict:
    """All checks of one program; what is made without the passes, and how well formed all is, for
    every fourth one."""
    warnings.simplefilter("ignore")
    case = case_of(source, seed)
    if isinstance(case, Verdict):
        return case
    if not case.floats or not any(r.dtype is f64 for r in case.fun.body.results):
        return Verdict("ok")
    stage = "forward"
    with np.errstate(all="ignore"):
        try:
            along = case.direction()
            dots = case.tangents(along)
            check_slope(case, along, dots)
            stage = "reverse"
            if seed % 4 == 0:
                back = vjp(case.fun, case.floats)
                verify(back)
                check_transpose(case, along, dots, back)
            stage = "optimised"
            back = optimise(vjp(optimise(case.fun), case.floats), verify=seed % 8 == 0)
            check_transpose(case, along, dots, back)
            stage = "second"
            check_second(case, back)
            stage = "machine"
            if machine:
                check_machine(case, back)
        except CompileError as error:
            return Verdict("refused", stage, error.message)
        except AssertionError as error:
            if error.__traceback__ is not None and _is_ours(error):
                return Verdict("wrong", stage, str(error)[:600])
            return Verdict("crash", stage, _where(error))
        except Exception as error:  # noqa: BLE001  # a crash of the compiler is a finding
            return Verdict("crash", stage, _where(error))
    return Verdict("ok")


def _is_ours(error: BaseException) -> bool:
    """Whether a check failed, and not an assertion of the compiler."""
    frames = traceback.extract_tb(error.__traceback__)
    return not any("/tapeless/" in f.filename for f in frames)


def _where(error: BaseException) -> str:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{frame.filename.rsplit('/tapeless/', 1)[-1]}:{frame.lineno}"
    return f"{type(error).__name__} at {place}: {str(error)[:400]}"
