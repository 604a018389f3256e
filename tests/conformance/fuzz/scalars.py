"""Random scalar expressions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tests.conformance.fuzz.maker import Expr, Maker, Name, Rejected
from tests.conformance.fuzz.quality import ROUGH, Exact, add, join, many, mul, within

COMPARE = ("<", "<=", ">", ">=", "==", "!=")
FLOATS = ("0.5", "2.0", "-1.25", "3.0", "1.0", "-0.75", "0.25")
ROUGH_MATH = (
    "np.sin({})",
    "np.cos({})",
    "math.sin({})",
    "math.cos({})",
    "np.tanh({})",
    "math.tanh({})",
    "np.exp(-abs({}))",
    "math.exp(-abs({}))",
    "np.sqrt(abs({}))",
    "math.sqrt(abs({}))",
    "np.log1p(abs({}))",
    "math.log(1.0 + abs({}))",
    "np.arctan({})",
    "math.atan({})",
    "1.0 / (1.0 + abs({}))",
    "np.hypot({}, 1.0)",
    "math.erf({})",
    "np.cbrt({})",
    "np.log2(1.5 + abs({}))",
    "math.asinh({})",
    "np.expm1(-abs({}))",
    "abs({}) ** 0.5",
    "abs({}) ** 1.5",
    "np.arctan2({}, 2.0)",
)


class Scalars:
    """Makes expressions of a kind wanted, in the scope of a Maker."""

    def __init__(self, maker: Maker) -> None:
        self.m = maker
        self.nested = 0  # inside an index

    # entry points
    def number(self, depth: int, kind: str) -> Expr:
        make = {"i": self.integer, "f": self.real, "b": self.boolean}[kind]
        e = make(depth)
        if kind == "i" and e.q is not None and e.q.m > 24:
            e = Expr(f"({e} % 19)", "i", Exact(0, 5))
        self.m.value(e.text)  # whatever NumPy refuses is rejected
        return replace(e, q=within(e.q, self.m.bits if kind == "f" else 60))

    def agree(self, a: Expr, b: Expr) -> None:
        """Of two values either may be the result: their types must be one."""
        one, two = self.m.value(a.text), self.m.value(b.text)
        weak = a.kind == "f" and float in (type(one), type(two))
        if not weak and np.asarray(one).dtype != np.asarray(two).dtype:
            raise Rejected
        if a.kind == "i" and (type(one) is int) != (type(two) is int):
            raise Rejected  # whether it is weak would depend on values

    def exact(self, depth: int, kind: str) -> Expr:
        """A number that may decide."""
        for _ in range(4):
            e = self.number(depth, kind)
            if e.q is not None:
                return e
        return self.number(0, "i") if kind == "i" else Expr("1.5", "f", Exact(1, 1))

    # leaves
    def element(self, kind: str) -> Expr:
        """An element of an array, at an index in range."""
        array: Name = self.m.pick([a for a in self.m.arrays(kind) if a.dims])
        at = [self.index(array, axis) for axis in range(len(array.dims))]
        return Expr(f"{array.text}[{', '.join(at)}]", array.kind, array.q)

    def index(self, array: Name, axis: int) -> str:
        """An index of an axis: a loop variable over that size, or anything brought into range."""
        m, tag = self.m, array.dims[axis]
        same = [i for i, t in m.indices.items() if t == tag]
        if same and m.chance(0.8):
            i = m.pick(same)
            return m.weighted([(6, i), (1, f"-1 - {i}"), (1, f"{i} - 1")])
        size = m.size(tag, array, axis)
        if m.indices and m.chance(0.6):
            i = m.pick(list(m.indices))
            return m.weighted([(3, f"{i} % {size}"), (1, f"({i} * 2 + 1) % {size}")])
        if self.nested or m.chance(0.5):
            return m.pick(["0", "-1", "1 % " + size])
        self.nested += 1
        try:
            return f"{self.number(1, 'i')} % {size}"
        finally:
            self.nested -= 1

    def leaf(self, kind: str) -> Expr:
        m = self.m
        names = m.with_role("scalar", "index", kind=kind)
        if names and m.chance(0.6):
            n = m.pick(names)
            return Expr(n.text, n.kind, n.q)
        if m.chance(0.7) and not self.nested:
            try:
                return self.element(kind)
            except Rejected:
                pass
        if kind == "i":
            return self.constant()
        if kind == "b":
            return Expr(m.pick(["True", "False"]), "b", Exact(0, 1))
        return Expr(m.pick(FLOATS), "f", Exact(2, 2))

    def constant(self) -> Expr:
        m = self.m
        arrays = m.arrays()
        if arrays and m.chance(0.3):
            a = m.pick(arrays)
            if a.dims:
                axis = m.rng.randrange(len(a.dims))
                return Expr(m.size(a.dims[axis], a, axis), "i", Exact(0, 5))
        return Expr(str(m.rng.randint(0, 5)), "i", Exact(0, 3))

    # numbers
    def real(self, depth: int) -> Expr:
        m = self.m
        if depth <= 0:
            return self.leaf("f")
        form = m.weighted(
            [(3, "leaf"), (6, "add"), (3, "mul"), (1, "neg"), (1, "choose"), (1, "minmax"),
             (2, "rough"), (1, "int"), (1, "mod"), (1.5, "reduce"), (1, "call"), (0.5, "square"),
             (0.5, "half"), (0.4, "divmod"), (0.3, "npmin")]
        )  # fmt: skip
        if form == "leaf":
            return self.leaf("f")
        if form == "reduce":
            return self.reduction("f", depth - 1)
        if form == "call" and m.functions:
            f = m.pick(m.functions)
            args = [self.real(depth - 1) for _ in range(f.arity)]
            return Expr(
                f"{f.text}({', '.join(map(str, args))})", "f", f.quality(*[a.q for a in args])
            )
        a = self.real(depth - 1)
        if form == "add":
            b = self.number(depth - 1, m.pick("ffi"))
            return Expr(f"({a} {m.pick('+-')} {b})", "f", add(a.q, b.q))
        if form == "mul":
            b = self.number(depth - 1, m.pick("ffi"))
            return Expr(f"({a} * {b})", "f", mul(a.q, b.q))
        if form == "neg":
            return Expr(m.pick(["(-{})", "abs({})", "(+{})"]).format(a), "f", a.q)
        if form == "choose":
            b, c = self.real(depth - 1), self.condition(depth - 1)
            self.agree(a, b)
            return Expr(f"({a} if {c} else {b})", "f", join(a.q, b.q))
        if form == "minmax":
            b = self.real(depth - 1)
            self.agree(a, b)
            return Expr(f"{m.pick(['min', 'max'])}({a}, {b})", "f", join(a.q, b.q))
        if form == "npmin":
            b = self.real(depth - 1)
            return Expr(f"np.{m.pick(['minimum', 'maximum'])}({a}, {b})", "f", join(a.q, b.q))
        if form == "rough":
            return Expr(f"({m.pick(ROUGH_MATH).format(a)})", "f", ROUGH)
        if form == "int":
            e = self.integer(depth - 1)
            return Expr(
                m.pick(["float({})", "({} * 0.5)", "({} / 4)", "({} + 0.5)"]).format(e),
                "f",
                e.q and Exact(e.q.g + 2, e.q.m + 1),
            )
        if form == "mod" and a.q is not None:
            return Expr(f"({a} % {m.pick(['2.0', '1.5', '3'])})", "f", Exact(max(a.q.g, 1), 2))
        if form == "divmod" and a.q is not None:
            return Expr(f"({a} // {m.pick(['2.0', '0.5', '3'])})", "f", Exact(0, a.q.m + 1))
        if form == "square":
            return Expr(f"({a} ** 2)", "f", mul(a.q, a.q))
        return Expr(f"({a} * 0.5)", "f", a.q and Exact(a.q.g + 1, a.q.m))

    def integer(self, depth: int) -> Expr:
        m = self.m
        if depth <= 0:
            return self.leaf("i")
        form = m.weighted(
            [
                (4, "leaf"),
                (5, "add"),
                (2, "mul"),
                (1, "div"),
                (1, "mod"),
                (1, "bits"),
                (1, "choose"),
                (1, "minmax"),
                (1, "float"),
                (1.5, "reduce"),
                (0.5, "neg"),
                (0.5, "shift"),
                (0.5, "bool"),
            ]
        )
        if form == "leaf":
            return self.leaf("i")
        if form == "reduce":
            return self.reduction("i", depth - 1)
        if form == "float":
            e = self.exact(depth - 1, "f")
            return Expr(
                m.pick(["int({})", "math.floor({})", "round({})", "math.ceil({})"]).format(e),
                "i",
                e.q and Exact(0, e.q.m + 1),
            )
        if form == "bool":
            return Expr(f"int({self.condition(depth - 1)})", "i", Exact(0, 1))
        a = self.number(depth - 1, "i")
        b = self.number(depth - 1, "i")
        if form == "add":
            return Expr(f"({a} {m.pick('+-')} {b})", "i", add(a.q, b.q))
        if form == "mul":
            return Expr(f"({a} * {b})", "i", mul(a.q, b.q))
        if form == "div":
            return Expr(f"({a} // {m.rng.randint(2, 5)})", "i", a.q)
        if form == "mod":
            return Expr(f"({a} % {m.rng.randint(2, 5)})", "i", Exact(0, 3))
        if form == "bits":
            return Expr(f"({a} {m.pick('&|^')} {b})", "i", add(a.q, b.q))
        if form == "shift":
            s = m.rng.randint(1, 3)
            return Expr(f"({a} {m.pick(['<<', '>>'])} {s})", "i", mul(a.q, Exact(0, s)))
        if form in ("choose", "minmax"):
            self.agree(a, b)
        if form == "choose":
            return Expr(f"({a} if {self.condition(depth - 1)} else {b})", "i", join(a.q, b.q))
        if form == "minmax":
            return Expr(f"{m.pick(['min', 'max'])}({a}, {b})", "i", join(a.q, b.q))
        return Expr(m.pick(["abs({})", "(-{})"]).format(a), "i", a.q)

    # conditions
    def condition(self, depth: int) -> Expr:
        return self.boolean(max(depth, 0))

    def boolean(self, depth: int) -> Expr:
        m = self.m
        form = m.weighted(
            [
                (6, "compare"),
                (1, "chain"),
                (2 * (depth > 0), "logic"),
                (1 * (depth > 0), "not"),
                (1, "leaf"),
                (0.7 * (depth > 0), "some"),
            ]
        )
        kind = m.pick("if")
        if form == "compare":
            a, b = self.exact(depth - 1, kind), self.exact(depth - 1, kind)
            return Expr(f"({a} {m.pick(COMPARE)} {b})", "b", Exact(0, 1))
        if form == "chain":
            a, b, c = (self.exact(depth - 1, kind) for _ in range(3))
            return Expr(
                f"({a} {m.pick(COMPARE[:4])} {b} {m.pick(COMPARE[:4])} {c})", "b", Exact(0, 1)
            )
        if form == "logic":
            a, b = self.boolean(depth - 1), self.boolean(depth - 1)
            return Expr(f"({a} {m.pick(['and', 'or'])} {b})", "b", Exact(0, 1))
        if form == "not":
            return Expr(f"(not {self.boolean(depth - 1)})", "b", Exact(0, 1))
        if form == "some":
            return self.reduction("b", depth - 1)
        return self.leaf("b")

    # reductions
    def reduction(self, kind: str, depth: int) -> Expr:
        m = self.m
        if m.loops >= 2 or m.depth >= 4 or self.nested:
            return self.leaf(kind)
        arrays = [a for a in m.arrays() if a.dims]
        a: Name = m.pick(arrays)
        if kind != "b" and a.kind == kind and m.chance(0.4):
            return self.whole(a)
        return self.generator(kind, depth, a)

    def whole(self, a: Name) -> Expr:
        m = self.m
        form = m.weighted([(4, "sum"), (2, "max"), (1, "dot"), (1, "mean")])
        if form == "sum":
            text = m.pick(["np.sum({})", "{}.sum()"]).format(a.text)
            return Expr(text, a.kind, many(a.q))
        if form == "max":
            return Expr(m.pick(["np.max({})", "{}.min()", "np.min({})", "{}.max()"]).format(a.text),
                        a.kind, a.q)  # fmt: skip
        if form == "dot" and len(a.dims) == 1:
            text = m.pick(["np.dot({0}, {0})", "({0} @ {0})", "np.sum({0} * {0})"]).format(a.text)
            return Expr(text, a.kind, many(mul(a.q, a.q)))
        if a.kind == "f":
            return Expr(f"np.mean({a.text})", "f", ROUGH)
        return Expr(f"{a.text}.sum()", a.kind, many(a.q))

    def generator(self, kind: str, depth: int, a: Name) -> Expr:
        """sum, max, any … of a generator over an array or the range of its axis."""
        m = self.m
        var = m.fresh("i")
        over_array = len(a.dims) == 1 and m.chance(0.4)
        shape = m.value(f"{a.text}.shape")
        if over_array:
            clause = f"for {var} in {a.text}"
            m.bind(Name(var, "scalar", a.kind, a.q, fixed=True))
            m.space[var] = m.value(f"{a.text}[0]")
        else:
            clause = f"for {var} in range({m.size(a.dims[0], a, 0)})"
            m.bind(Name(var, "index", "i", Exact(0, 4), fixed=True))
            m.space[var] = 0
            m.indices[var] = a.dims[0]
        m.loops += 1
        try:
            body = self.boolean(depth) if kind == "b" else self.number(depth, kind)
            only = f" if {self.condition(depth)}" if m.chance(0.35) else ""
        finally:
            m.loops -= 1
            del m.names[var], m.space[var]
            m.indices.pop(var, None)
        if kind == "b":
            return Expr(f"{m.pick(['any', 'all'])}({body} {clause}{only})", "b", Exact(0, 1))
        if not only and shape[0] and m.chance(0.25):
            return Expr(f"{m.pick(['max', 'min'])}({body} {clause})", kind, body.q)
        text = f"sum({body} {clause}{only})"
        # A sum of nothing is the int 0, whatever its elements would have been: give it a type.
        if kind == "f":
            text = m.pick([f"(0.0 + {text})", f"sum(({body} {clause}{only}), 0.0)"])
        elif only or not isinstance(m.value(text), int):
            text = f"(np.int64(0) + {text})"
        return Expr(text, kind, many(body.q, 4))
