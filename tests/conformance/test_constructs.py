"""Every construct of the language by example: plain Python = interpreter = machine code."""

from __future__ import annotations

import copy
import inspect
import re
import warnings

import numpy as np
import pytest

import tapeless as tp
from tapeless.errors import CompileError
from tests.conformance import roads
from tests.conformance.constructs import EXAMPLES, Example

SUPPORTED = [e for e in EXAMPLES if not e.refused and not e.expect]
DIFFERENT = [e for e in EXAMPLES if e.expect]
REFUSED = [e for e in EXAMPLES if e.refused]
ERROR_LINES = 8
CASES = [(e, dtype) for e in SUPPORTED for dtype in (e.over or ("",))]


@pytest.mark.parametrize(
    ("example", "dtype"), CASES, ids=[f"{e.name}-{d}" if d else e.name for e, d in CASES]
)
def test_all_roads_agree(example: Example, dtype: str):
    calls = example.calls_over(dtype) if dtype else list(example.calls)
    static = not example.options
    tol = max(example.tol, 1e-5) if dtype in ("f4", "c8") else example.tol
    found = roads.compare(example.function, calls, tol, core=static, **_jit(example))
    assert found is None, str(found)


def _jit(example: Example) -> dict:
    return {"options": example.options}


@pytest.mark.parametrize("example", DIFFERENT, ids=lambda e: e.name)
def test_known_difference(example: Example):
    """Compiled code and the interpreter give what the language says; plain Python something else,
    or the same to rounding."""
    (args,) = example.calls
    program = roads.traced(example.function, args)
    outcomes = [roads.call(tp.jit(example.function), args)]
    outcomes += [
        roads.interpreted(example.function, program, f, args) for _, f in roads.stages(program)
    ]
    for got in outcomes:
        (first, *_) = example.expect
        if isinstance(first, type):
            assert got.error is not None
            assert issubclass(got.error, first)
            continue
        assert got.error is None, got.message
        result = got.result if isinstance(got.result, tuple) else (got.result,)
        assert roads.differ(result, example.expect, example.tol, "result") is None


@pytest.mark.parametrize("example", REFUSED, ids=lambda e: e.name)
def test_refusal_names_line_and_remedy(example: Example):
    (args,) = example.calls
    with pytest.raises(CompileError) as error:
        tp.jit(example.function)(*copy.deepcopy(args))
    text = str(error.value)
    assert example.refused in text
    lines = text.splitlines()
    assert len(lines) <= ERROR_LINES
    where = re.search(r'File "(.*)", line (\d+)', text)
    assert where is not None
    source, first = inspect.getsourcelines(example.function)
    assert where[1] == inspect.getsourcefile(example.function)
    assert first <= int(where[2]) < first + len(source)
    assert any(set(line.strip()) == {"^"} for line in lines)


def test_names_are_unique():
    names = [e.name for e in EXAMPLES]
    assert sorted(set(names)) == sorted(names)


def test_returned_views_are_copies():
    a = np.arange(6.0)
    out = tp.jit(lambda x: x[1:])(a)
    out[0] = 99.0
    assert a[1] == 1.0


def test_there_are_no_warnings():
    x = np.array([1.0, -1.0, 0.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tp.jit(lambda x: np.log(x) + x / 0.0 + np.exp(x * 1e4))(x)
