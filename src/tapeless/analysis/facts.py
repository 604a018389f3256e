"""What is known about integers at a place of the program: affine values, bounds, conditions.

Every i64 variable has an exact value as a polynomial over symbols (counters, sizes, values read
from memory). Facts are polynomials known to be ≥ 0, each filed under its newest symbol; a goal
p ≥ 0 is proved by eliminating its newest symbol v with a fact about v, as in Fourier and Motzkin:

    p = c·v + r, c ≥ 0, k·v + s ≥ 0, k > 0   ⇒   p ≥ 0 follows from k·r - c·s ≥ 0

Arithmetic wraps in the program, not here: a sum is taken apart only if bounds show that it does
not wrap. Sizes of arrays and trip counts are taken to be below 2⁵⁶, which no machine counts to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from tapeless.analysis import poly
from tapeless.analysis.operators import MAX, MIN, value_of
from tapeless.analysis.poly import Poly
from tapeless.core.names import Atom, Const, Var
from tapeless.core.types import INDEX, Array, Size, i64
from tapeless.ir.syntax import Exp, Prim

LARGEST = 1 << 56  # of sizes and counters
FUEL = 150  # steps of one proof


class Facts:
    """Facts of the current scope; `mark` and `undo` bracket what holds only in part of it."""

    def __init__(self) -> None:
        self.values: dict[Var, Poly] = {}
        self.vars: list[Var | None] = []  # the variable of each symbol
        self.low: list[int] = []
        self.high: list[int] = []
        self.born: list[tuple[int, int]] = []
        self.facts: list[list[Poly]] = []
        self.own: list[int] = []  # how many of a symbol's facts hold always
        self.cases: dict[int, tuple[tuple[Poly, Poly], ...]] = {}  # (value, ≥ 0 in that case)
        self.defs: dict[Var, Exp] = {}
        self.known: dict[Var, bool] = {}
        self.trail: list[tuple[int, int] | Var] = []  # (symbol, what changed) or a known condition
        self.bounds: list[tuple[int, int]] = []
        self.fuel = 0

    # scopes
    def mark(self) -> int:
        return len(self.trail)

    def undo(self, mark: int) -> None:
        """Forget what was learnt since `mark`."""
        while len(self.trail) > mark:
            last = self.trail.pop()
            if isinstance(last, Var):
                del self.known[last]
                continue
            v, facts = last
            del self.facts[v][facts:]
            self.low[v], self.high[v] = self.bounds.pop()

    @contextmanager
    def scope(self) -> Iterator[None]:
        mark = self.mark()
        yield
        self.undo(mark)

    def since(self, mark: int) -> tuple[Poly, ...]:
        """The facts learnt since `mark`."""
        return tuple(self.facts[t[0]][t[1]] for t in self.trail[mark:] if not isinstance(t, Var))

    def twins(self, base: int, count: int) -> Callable[[Poly], Poly]:
        """New symbols for those from `base` up to `count`, with what always holds of them; gives
        the renaming."""
        offset = len(self.vars) - base

        def twin(v: int) -> int:
            return v + offset if base <= v < count else v

        def rename(p: Poly) -> Poly:
            if poly.newest(p) < base:
                return p
            return {tuple(sorted(map(twin, m))): c for m, c in p.items()}

        for v in range(base, count):
            self.new_symbol(None, *self.born[v])
        for v in range(base, count):
            for fact in self.facts[v][: self.own[v]]:
                self.always(v + offset, rename(fact))
            if v in self.cases:
                self.cases[v + offset] = tuple((rename(a), rename(b)) for a, b in self.cases[v])
        return rename

    # values
    def new_symbol(self, var: Var | None, low: int = MIN, high: int = MAX) -> int:
        self.vars.append(var)
        self.low.append(low)
        self.high.append(high)
        self.born.append((low, high))
        self.facts.append([])
        self.own.append(0)
        return len(self.vars) - 1

    def symbol_of(self, counter: Var) -> int:
        """The symbol of a counter that is in scope."""
        return poly.newest(self.values[counter])

    def always(self, v: int, p: Poly) -> None:
        """p ≥ 0 holds wherever symbol v is in scope (said when v is born)."""
        self.facts[v].append(p)
        self.own[v] += 1

    def ranges(self, v: int, low: int, high: int) -> None:
        """low ≤ v ≤ high wherever symbol v is in scope (said when v is born)."""
        self.low[v], self.high[v] = self.born[v] = (low, high)

    def value(self, atom: Atom | Size) -> Poly:
        """The exact value of an i64 atom or size."""
        if isinstance(atom, Const):
            return poly.constant(int(atom.value))
        if isinstance(atom, int):
            return poly.constant(atom)
        known = self.values.get(atom)
        if known is None:
            known = self.values[atom] = poly.symbol(self.new_symbol(atom))
        return known

    def lowest(self, p: Poly) -> int:
        """A lower bound of p from the ranges of its symbols alone."""
        total = 0
        for m, c in p.items():
            if len(m) == 1:
                total += c * (self.low if c > 0 else self.high)[m[0]]
            else:
                total += min(self._ends(m, c)) if m else c
        return total

    def highest(self, p: Poly) -> int:
        return -self.lowest({m: -c for m, c in p.items()})

    def _ends(self, monomial: poly.Monomial, c: int) -> tuple[int, int]:
        low = high = c
        for v in monomial:
            a, b = self.low[v], self.high[v]
            ends = (low * a, low * b, high * a, high * b)
            low, high = min(ends), max(ends)
        return low, high

    def fits(self, p: Poly) -> bool:
        """Whether p surely does not wrap; products of sizes and counters are taken not to."""
        if any(len(m) > 1 for m in p):
            return all(self.low[v] >= -LARGEST and self.high[v] <= LARGEST for m in p for v in m)
        return self.lowest(p) >= MIN and self.highest(p) <= MAX

    # binding
    def params(self, vars: Sequence[Var]) -> None:
        """Variables of unknown value; sizes of arrays among them are sizes."""
        for var in vars:
            if var.type == INDEX:
                self.values[var] = poly.symbol(self.new_symbol(var))
        for var in vars:
            self.array(var)

    def array(self, var: Var) -> None:
        """An array exists: its sizes are not negative."""
        if isinstance(var.type, Array):
            for size in var.type.shape:
                if isinstance(size, Var):
                    value = self.value(size)
                    if self.lowest(value) < 0:
                        self.require(value)
                    if self.highest(value) > LARGEST:
                        self.require(poly.shift(poly.scale(value, -1), LARGEST))

    def counter(self, var: Var, size: Atom) -> None:
        """0 ≤ var < size, inside the loop; so the loop runs at least once there."""
        self.runs(size)
        n = self.value(size)
        v = self.new_symbol(var, 0, max(min(self.highest(n), LARGEST) - 1, 0))
        self.values[var] = poly.symbol(v)
        self.always(v, poly.sub(poly.shift(n, -1), poly.symbol(v)))

    def runs(self, size: Atom) -> None:
        """Take it that size ≥ 1; max(a, 0) is then a."""
        self.require(poly.shift(self.value(size), -1))
        match self.defs.get(size) if isinstance(size, Var) else None:
            case Prim("max", (a, Const(value=0))) | Prim("max", (Const(value=0), a)):
                self.require(poly.sub(self.value(a), self.value(size)))
                self.require(poly.shift(self.value(a), -1))
            case _:
                pass

    def bind(self, var: Var, exp: Exp) -> None:
        """`var` is the one result of `exp`. A second walk over a statement binds it anew."""
        self.defs[var] = exp
        if var.type == INDEX:
            if isinstance(exp, Prim):
                self.values[var] = value_of(self, var, exp.op, exp.args)
            else:
                self.values[var] = poly.symbol(self.new_symbol(var))
        elif var.is_array:
            self.array(var)

    # learning
    def require(self, p: Poly) -> None:
        """Take it that p ≥ 0."""
        v = poly.newest(p)
        if v < 0:
            return
        self.trail.append((v, len(self.facts[v])))
        self.bounds.append((self.low[v], self.high[v]))
        self.facts[v].append(p)
        own = (v,)
        k = p.get(own, 0)
        if k in (1, -1) and sum(v in m for m in p) == 1:
            rest = {m: -c for m, c in p.items() if m != own}
            if k == 1:
                self.low[v] = max(self.low[v], self.lowest(rest))
            else:
                self.high[v] = min(self.high[v], -self.lowest(rest))

    def learn(self, cond: Atom, truth: bool = True) -> None:
        """Take it that `cond` is `truth`."""
        if not isinstance(cond, Var) or cond in self.known:
            return
        self.known[cond] = truth
        self.trail.append(cond)
        match self.defs.get(cond):
            case Prim("and", (a, b)) if truth:
                self.learn(a)
                self.learn(b)
            case Prim("or", (a, b)) if not truth:
                self.learn(a, False)
                self.learn(b, False)
            case Prim("not", (a,)):
                self.learn(a, not truth)
            case Prim("eq" | "ne" | "lt" | "le" as op, (a, b)) if a.dtype is i64:
                self._compare(op, poly.sub(self.value(b), self.value(a)), truth)
            case _:
                pass

    def _compare(self, op: str, gap: Poly, truth: bool) -> None:
        if op in ("lt", "le"):
            strict = (op == "lt") == truth
            p = gap if truth else poly.scale(gap, -1)
            self.require(poly.shift(p, -1) if strict else p)
        elif (op == "eq") == truth:
            self.require(gap)
            self.require(poly.scale(gap, -1))
        elif self.prove(gap):
            self.require(poly.shift(gap, -1))
        elif self.prove(poly.scale(gap, -1)):
            self.require(poly.shift(poly.scale(gap, -1), -1))

    def in_range(self, i: Atom, size: Size) -> None:
        """Take it that 0 ≤ i < size."""
        at = self.value(i)
        self.require(at)
        self.require(poly.sub(poly.shift(self.value(size), -1), at))

    # asking
    def decide(self, cond: Atom) -> bool | None:
        """The truth of a condition, if it is known here."""
        if isinstance(cond, Const):
            return bool(cond.value)
        if cond in self.known:
            return self.known[cond]
        match self.defs.get(cond):
            case Prim(op, args):
                return self.decide_prim(op, args)
            case _:
                return None

    def decide_prim(self, op: str, args: tuple[Atom, ...]) -> bool | None:
        match op, args:
            case "and" | "or", (a, b) if a.dtype.is_bool:
                absorbing = op == "or"
                left, right = self.decide(a), self.decide(b)
                if absorbing in (left, right):
                    return absorbing
                return None if left is None or right is None else not absorbing
            case "not", (a,) if a.dtype.is_bool:
                inner = self.decide(a)
                return None if inner is None else not inner
            case "eq" | "ne" | "lt" | "le", (a, b) if a.dtype is i64:
                return self._decide_gap(op, poly.sub(self.value(b), self.value(a)))
            case _:
                return None

    def _decide_gap(self, op: str, gap: Poly) -> bool | None:
        """The truth of a `op` b for b - a = gap."""
        back = poly.scale(gap, -1)
        if op == "lt":
            return True if self.prove(poly.shift(gap, -1)) else False if self.prove(back) else None
        if op == "le":
            return True if self.prove(gap) else False if self.prove(poly.shift(back, -1)) else None
        equal = None
        if not gap or (self.prove(gap) and self.prove(back)):
            equal = True
        elif self.prove(poly.shift(gap, -1)) or self.prove(poly.shift(back, -1)):
            equal = False
        return equal if equal is None or op == "eq" else not equal

    def nonnegative(self, atom: Atom | Size) -> bool:
        return self.prove(self.value(atom))

    def below(self, a: Atom | Size, b: Atom | Size) -> bool:
        """a < b"""
        return self.prove(poly.shift(poly.sub(self.value(b), self.value(a)), -1))

    def same(self, a: Atom | Size, b: Atom | Size) -> bool:
        return a == b or self._decide_gap("eq", poly.sub(self.value(b), self.value(a))) is True

    def prove(self, p: Poly) -> bool:
        """Whether p ≥ 0 follows from what is known."""
        if self.lowest(p) >= 0:
            return True
        self.fuel = FUEL
        return self._prove(p, 12)

    def _prove(self, p: Poly, depth: int) -> bool:
        if self.lowest(p) >= 0:
            return True
        self.fuel -= 1
        v = poly.newest(p)
        if v < 0 or depth == 0 or self.fuel <= 0:
            return False
        parts = poly.split(p, v)
        if parts is None:
            return False
        c, rest = parts
        sign = self._sign(c, depth)
        if sign == 0:
            return False
        for fact in self.facts[v]:
            k = fact.get((v,), 0)
            if k * sign <= 0 or sum(v in m for m in fact) != 1:
                continue
            goal = poly.combine(p, abs(k), poly.multiply(c, fact), -sign)
            if self._prove(goal, depth - 1):
                return True
        return self._by_range(v, c, rest, sign, depth) or self._by_cases(p, v, depth)

    def _sign(self, c: Poly, depth: int) -> int:
        """1 if c ≥ 0, -1 if c ≤ 0, 0 if neither is known."""
        number = poly.constant_of(c)
        if number is not None:
            return 1 if number > 0 else -1
        if self._prove(c, depth - 1):
            return 1
        return -1 if self._prove(poly.scale(c, -1), depth - 1) else 0

    def _by_range(self, v: int, c: Poly, rest: Poly, sign: int, depth: int) -> bool:
        end = self.low[v] if sign > 0 else self.high[v]
        if not -LARGEST < end < LARGEST:
            return False
        return self._prove(poly.combine(rest, 1, c, end), depth - 1)

    def _by_cases(self, p: Poly, v: int, depth: int) -> bool:
        cases = self.cases.get(v)
        if cases is None or depth < 4:
            return False
        return all(self._in_case(p, v, value, given, depth) for value, given in cases)

    def _in_case(self, p: Poly, v: int, value: Poly, given: Poly, depth: int) -> bool:
        """p ≥ 0 where symbol v is `value` and `given` ≥ 0; vacuous if that cannot be."""
        for fact in (given, *(poly.replace(f, v, value) for f in self.facts[v])):
            number = poly.constant_of(fact)
            if number is not None and number < 0:
                return True
        with self.scope():
            self.require(given)
            return self._prove(poly.replace(p, v, value), depth - 3)
