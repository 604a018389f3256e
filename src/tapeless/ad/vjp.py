"""Reverse mode: cotangents of the results move back to the parameters.

    vjp(f)(x, ȳ) = (f(x), f'(x)ᵀ·ȳ)

A *region* runs its forward sweep, then the return code of its statements in reverse order. What
runs in parallel is entered again: its body becomes a region of the return sweep, so that nothing
of it is kept. What runs in sequence goes backwards in the same region: `ad.tree` keeps what the
return code of a loop or an arm reads.
"""

from __future__ import annotations

from collections.abc import Sequence

from tapeless.ad.again import without_puts
from tapeless.ad.given import Operands, by, meant, placed, refuse_lost
from tapeless.ad.linear_algebra import call_cotangents
from tapeless.ad.partials import row
from tapeless.ad.prepare import for_reverse
from tapeless.ad.sink import sunk
from tapeless.ad.tree import Branched, Inverted, Node, Plain, Repeated, Revolved
from tapeless.ad.turning import Turning
from tapeless.ad.unused import before_choices, unless_unused
from tapeless.analysis.activity import Active, active
from tapeless.core.names import Atom, Var
from tapeless.ir.syntax import (
    Alloc,
    Append,
    Body,
    Call,
    Check,
    Each,
    Fun,
    Given,
    Index,
    Let,
    Prim,
    Put,
    Sort,
    Update,
    View,
)  # fmt: skip
from tapeless.ir.walk import refresh, refresh_fun


def vjp(fun: Fun, wrt: Sequence[int]) -> Fun:
    """The program of values and cotangents: parameters of `fun`, then a cotangent per float result;
    results of `fun`, then a cotangent per parameter in `wrt`."""
    fun = refresh_fun(fun)
    chosen = [fun.params[k] for k in wrt]
    seeds = tuple(
        Var(r.type, f"{r.hint if isinstance(r, Var) else 'y'}_bar") if r.dtype.is_float else None
        for r in fun.body.results
    )
    body = reverse(fun.body, chosen, seeds)
    return Fun(f"{fun.name}_vjp", (*fun.params, *(s for s in seeds if s is not None)), body)


def reverse(body: Body, wrt: Sequence[Var], seeds: Sequence[Atom | None]) -> Body:
    """`body` followed by its return sweep: its results, then the cotangents of `wrt`, free in it.
    `seeds`: a cotangent per result, None where it is zero."""
    body = for_reverse(body)
    body = sunk(body, active(body, wrt, body.results))
    sweeps = Reverse(Active(active(body, wrt, body.results), before_choices(body)))
    with sweeps.b.scope():
        sweeps.region(body, seeds)
        bars = tuple(sweeps.exact(v) for v in wrt)
        return sweeps.b.body((*body.results, *bars))


class Reverse(Turning):
    """Both sweeps of a program."""

    def region(self, body: Body, seeds: Sequence[Atom | None]) -> None:
        """Emit the forward sweep of `body`, then its return sweep."""
        before, self.node = self.node, Node()
        keeps, self.keeps = self.keeps, frozenset()
        root = self.node
        root.grow(body)
        with self.b.scope() as back:
            root.back = back
            for result, seed in zip(body.results, seeds, strict=True):
                self.give_whole(result, seed)
            self.sweep(root)
        self.node = before
        out = self.b.scopes[-1]
        for item in root.items:
            part = Body(tuple(item.frozen()), ())
            is_turned = isinstance(item, Plain) and item.is_turned
            out.extend((part if is_turned else without_puts(part, keeps)).stms)
        out.extend(back)

    def sweep(self, node: Node) -> None:
        """Return code of the statements of `node`, the last one first."""
        for item in reversed(list(node.items)):
            self.b.loc = None
            match item:
                case Plain(Let() as let):
                    self.b.loc = let.loc
                    self.plain(item, let)
                case Repeated(let):
                    self.b.loc = let.loc
                    self.loop(item)
                case Revolved(let):
                    self.b.loc = let.loc
                    self.revolve(item)
                case Inverted(let):
                    self.b.loc = let.loc
                    self.invert(item)
                case Branched(let):
                    self.b.loc = let.loc
                    self.branch(item)

    def plain(self, item: Plain, let: Let) -> None:
        outs, exp = let.outs, let.exp
        match exp:
            case Prim(op, args):
                self.prim(op, args, outs[0])
            case Index(array, at, modes):
                bar = self.take(outs[0])
                if bar is not None:
                    self.give_at(array, self.places(array, at, modes), bar)
            case Update():
                self.update(item, let, exp)
            case Append(array, value, size):
                self.append(outs[0], array, value, size)
            case Each():
                self.each(item, let, exp)
            case Put():
                self.put(exp)
            case Call(Given() as rule, args):
                self.given(outs, rule, args)
            case Call(str() as callee, args):
                self.call(outs, callee, args)
            case Alloc() | Check() | Sort():
                for out in outs:
                    self.take(out)

    def call(self, outs: tuple[Var, ...], callee: str, args: Sequence[Atom | View]) -> None:
        """Cotangents of the operands by the rule of the function."""
        arrays = [o for o in outs if o.is_array]
        if not any(o in self.bars for o in arrays):
            return
        bars = {o: self.bar_or_zero(o) for o in arrays}
        found = call_cotangents(self.b, callee, args, outs, bars, self.value)
        for array, bar in found:
            self.give_whole(array, bar)

    def given(self, outs: tuple[Var, ...], rule: Given, args: Operands) -> None:
        """x̄ += rule(x, ȳ); one for tangents is turned round: it is linear in them.

        x̄ += ∂⟨ȳ, rule(x, ẋ)⟩/∂ẋ"""
        if all(self.bars.get(o) is None for o in outs):
            return
        refuse_lost(rule, args, self.is_active, self.b.loc)
        bars = [self.exact(o) for o in outs]
        names = meant(rule, [a if isinstance(a, View) else self.value(a) for a in args])
        if rule.mode == "pull":
            body = refresh(rule.body, names | dict(zip(rule.seeds, bars, strict=True)))
        else:
            zeros = {dot: self.zeros(dot.type, dot.hint) for dot in rule.seeds}
            body = refresh(reverse(rule.body, rule.seeds, bars), names | zeros)
        results = placed(self.b, body)[-rule.wrt :] if rule.wrt else ()
        for x, bar in zip(by(rule, args), results, strict=True):
            self.give_whole(x, bar)

    def prim(self, op: str, args: tuple[Atom, ...], out: Var) -> None:
        """x̄ᵢ += ∂y/∂xᵢ·ȳ."""
        bar = self.take(out)
        if bar is None:
            return
        guarded = self.active.unused
        for times, arg in zip(row(self.b, op, args, out, self.value), args, strict=True):
            if times is not None and self.is_active(arg):
                part = times(bar)
                self.give(arg, unless_unused(self.b, bar, part) if out in guarded else part)
