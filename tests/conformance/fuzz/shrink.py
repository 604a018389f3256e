"""Makes a failing program small: statements and parts of expressions are dropped while it fails."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator

BLOCKS = ("body", "orelse")
PLAIN = (ast.Constant, ast.Name)


def shrink(source: str, fails: Callable[[str], bool], budget: int = 400) -> str:
    """The smallest version of `source` found for which `fails` is still true."""
    best = source
    again = True
    while again and budget > 0:
        again = False
        for candidate in candidates(ast.parse(best)):
            budget -= 1
            if budget <= 0:
                break
            if len(candidate) < len(best) and fails(candidate):
                best, again = candidate, True
                break
    return best


def candidates(tree: ast.Module) -> Iterator[str]:
    """Smaller programs, the most promising ones first."""
    for path in list(blocks(tree)):
        size = len(at(tree, path))
        for count in sorted({max(size // 2, 1), 1}, reverse=True):
            for start in range(size - 1, -1, -1):
                yield from changed(tree, path, lambda b, s=start, c=count: drop(b, s, c))  # type: ignore[misc]
        for k in range(size):
            yield from changed(tree, path, lambda b, k=k: unwrap(b, k))  # type: ignore[misc]
    yield from smaller_expressions(tree)


Path = tuple[tuple[int, str], ...]


def blocks(tree: ast.Module) -> Iterator[list[int | str]]:
    """Where the bodies of a program are: paths of steps from the module."""

    def visit(node: ast.AST, path: list[int | str]) -> Iterator[list[int | str]]:
        for name in BLOCKS:
            body = getattr(node, name, None)
            if isinstance(body, list) and body:
                if not isinstance(node, ast.Module):
                    yield [*path, name]
                for k, child in enumerate(body):
                    yield from visit(child, [*path, name, k])

    return visit(tree, [])


def at(tree: ast.Module, path: list[int | str]) -> list[ast.stmt]:
    node: object = tree
    for step in path:
        node = node[step] if isinstance(step, int) else getattr(node, step)  # type: ignore[index]
    return node  # type: ignore[return-value]


def changed(
    tree: ast.Module, path: list[int | str], change: Callable[[list[ast.stmt]], bool]
) -> Iterator[str]:
    new = copy.deepcopy(tree)
    body = at(new, path)
    if change(body):
        if not body and path[-1] == "body":
            body.append(ast.Pass())
        yield ast.unparse(ast.fix_missing_locations(new)) + "\n"


def drop(body: list[ast.stmt], start: int, count: int) -> bool:
    gone = body[start : start + count]
    if any(isinstance(s, ast.Return | ast.Pass) for s in gone):
        return False
    del body[start : start + count]
    return True


def unwrap(body: list[ast.stmt], k: int) -> bool:
    """A compound statement's body in its place."""
    stm = body[k]
    if not isinstance(stm, ast.If | ast.For | ast.While):
        return False
    body[k : k + 1] = stm.body
    return True


def smaller_expressions(tree: ast.Module) -> Iterator[str]:
    """Programs with one expression replaced by a part of it, or by a constant."""
    count = sum(isinstance(n, ast.expr) for n in ast.walk(tree))
    for k in range(count):
        for choice in range(4):
            new = copy.deepcopy(tree)
            if _Replace(k, choice).apply(new):
                yield ast.unparse(ast.fix_missing_locations(new)) + "\n"


class _Replace(ast.NodeTransformer):
    """Replaces the k-th expression by its `choice`-th part."""

    def __init__(self, k: int, choice: int) -> None:
        self.k, self.choice, self.done = k, choice, False

    def apply(self, tree: ast.Module) -> bool:
        self.visit(tree)
        return self.done

    def visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.expr):
            self.k -= 1
            if self.k == -1:
                parts = [n for n in ast.iter_child_nodes(node) if isinstance(n, ast.expr)]
                if (
                    isinstance(node, ast.Tuple)
                    and len(node.elts) > 1
                    and self.choice < len(node.elts)
                ):
                    self.done = True
                    kept = [e for i, e in enumerate(node.elts) if i != self.choice]
                    return ast.Tuple(kept, node.ctx)
                if isinstance(node, PLAIN) or isinstance(getattr(node, "ctx", None), ast.Store):
                    return node
                parts.append(ast.Constant(1))
                if self.choice < len(parts):
                    self.done = True
                    return parts[self.choice]
        return self.generic_visit(node)
