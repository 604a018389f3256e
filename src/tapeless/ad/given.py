"""Derivatives that the user gave: a rule's body in place of one that is derived."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tapeless.core.names import Atom, Loc, Var
from tapeless.errors import CompileError
from tapeless.ir.build import Builder
from tapeless.ir.syntax import Body, Given, View
from tapeless.ir.walk import refresh

Operands = tuple[Atom | View, ...]


def by(rule: Given, args: Operands) -> tuple[Atom, ...]:
    """What the rule is a derivative by."""
    return tuple(a for a in args[rule.outs : rule.outs + rule.wrt] if not isinstance(a, View))


def refuse_lost(
    rule: Given, args: Operands, touches: Callable[[Atom], bool], loc: Loc | None
) -> None:
    """Never a zero where a derivative is missing."""
    start = rule.outs + rule.wrt
    for atom in args[start : start + rule.free]:
        if isinstance(atom, Var) and touches(atom):
            raise CompileError(
                f"the rule of {rule.name} says nothing about '{atom.hint}', which {rule.name} takes"
                " from outside and which is differentiated by", loc, "pass it as an argument",
            )  # fmt: skip


def meant(rule: Given, operands: Sequence[Atom | View]) -> dict[Var, Atom]:
    """What the variables of the rule's body stand for."""
    last = operands[len(operands) - len(rule.formal) :]
    pairs = zip(rule.formal, last, strict=True)
    return {var: atom for var, atom in pairs if not isinstance(atom, View)}


def placed(b: Builder, body: Body) -> tuple[Atom, ...]:
    b.scopes[-1].extend(body.stms)
    return body.results


def given_tangents(
    b: Builder, rule: Given, args: Operands, tangent: Callable[[Atom], Atom],
    varies: Callable[[Atom], bool],
) -> Sequence[Atom]:  # fmt: skip
    """ẏ = rule(x, ẋ)."""
    if rule.mode == "pull":
        raise CompileError(
            f"{rule.name} has a rule for reverse mode only (custom_vjp), and this is forward mode",
            b.loc, "give it one by tp.custom_jvp, which serves both, or use tp.grad or tp.jacrev",
        )  # fmt: skip
    refuse_lost(rule, args, varies, b.loc)
    dots = map(tangent, by(rule, args))
    names = meant(rule, args) | dict(zip(rule.seeds, dots, strict=True))
    return placed(b, refresh(rule.body, names))
