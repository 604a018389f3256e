"""Writes docs/examples.md: the programs by which derivatives are measured, from their modules.

`python -m tools.examples_page` writes it; a test says whether it is up to date.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import types
from collections.abc import Iterator
from pathlib import Path

from benchmarks import gradients
from benchmarks.gradients.program import NOT_PROGRAMS, Example

PAGE = Path(__file__).parents[1] / "docs" / "examples.md"
HEAD = """# Examples

Written by `python -m tools.examples_page` from `benchmarks/gradients/`: edit them there.

Ten programs on which systems for derivatives are compared, each as its user writes it, with what
its derivative is and data for it. `make bench-grad` measures them, beside the same programs in JAX
and PyTorch.

Every derivative is checked at a small size, whenever the tests run, against differences of eighth
order of what plain Python computes (`tests/gradients/test_examples.py`), and by `make test-peers`
against the same program in JAX (`benchmarks/gradients/in_jax/`) and in PyTorch (`in_torch/`), which
were written apart from it: they agree to 1e-12 of the greatest number of each array.
"""


def modules() -> Iterator[types.ModuleType]:
    for info in pkgutil.iter_modules(gradients.__path__):
        if info.name not in NOT_PROGRAMS and not info.ispkg:
            yield importlib.import_module(f"{gradients.__name__}.{info.name}")


def page() -> str:
    return "\n".join([HEAD, *map(section, modules())]).rstrip() + "\n"


def section(module: types.ModuleType) -> str:
    title, _, text = (inspect.getdoc(module) or "").partition("\n\n")
    parts = [f"## {' '.join(title.split()).removesuffix('.')}\n", text, ""]
    shown: list[types.FunctionType] = []
    for example in module.EXAMPLES:
        shown += [f for f in functions_of(example) if f not in shown]
    shown.sort(key=lambda f: (f.__module__, f.__code__.co_firstlineno))
    parts += ["```python", "\n\n\n".join(inspect.getsource(f).rstrip() for f in shown), "```", ""]
    for example, call in zip(module.EXAMPLES, calls(module), strict=True):
        names = list(inspect.signature(example.arguments).parameters)[1:]
        small, large = (sizes(names, values) for values in (example.small, example.large))
        wanted = ast.unparse(call.args[2])
        parts.append(
            f"`{example.name}`: the derivative is `{wanted}`. Tested with {small}; measured"
        )
        parts.append(f"with {large}.\n")
    source = inspect.getsource(module.arguments).rstrip()
    parts += ["Data for it:", "", "```python", source, "```", ""]
    return "\n".join(parts)


def functions_of(example: Example) -> list[types.FunctionType]:
    """The program: its functions, and those of its own module that they call."""
    derivative = getattr(example.derivative, "python", None)
    found: list[types.FunctionType] = []
    front = [f for f in (example.primal, derivative) if isinstance(f, types.FunctionType)]
    while front:
        f = front.pop()
        home = inspect.getmodule(f)
        if f in found or home is None or home.__name__.startswith("tapeless.api"):
            continue
        found.append(f)
        named = [getattr(home, name, None) for name in names_in(f.__code__)]
        front += [
            g for g in named if isinstance(g, types.FunctionType) and g.__module__ == home.__name__
        ]
    return found


def names_in(code: types.CodeType) -> Iterator[str]:
    """Every name that the code, and code inside it, mentions."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from names_in(constant)


def calls(module: types.ModuleType) -> list[ast.Call]:
    """How the module makes its examples."""
    return [
        node for node in ast.walk(ast.parse(inspect.getsource(module)))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "Example"
    ]  # fmt: skip


def sizes(names: list[str], values: tuple[object, ...]) -> str:
    pairs = zip(names, values, strict=False)
    return ", ".join(f"{name} = {value:,}" if type(value) is int else f"{name} = {value}"
                     for name, value in pairs)  # fmt: skip


def main() -> None:
    PAGE.write_text(page())


if __name__ == "__main__":
    main()
