"""Random statements of whole constructs: tuples as state, closures, rows, slices, masks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tests.conformance.fuzz.maker import Expr, Function, Rejected, kind_of
from tests.conformance.fuzz.quality import ROUGH, Exact, add, join, many, mul
from tests.conformance.fuzz.statements import INDENT, Statements, strip

NARROW = {"int8": 7, "int16": 15, "int32": 31, "uint8": 8, "uint16": 16, "uint32": 32}
SHIFTED = (("1:", ":-1"), (":-1", "1:"), ("2:", ":-2"), ("::-1", ":"), (":", "::-1"))


class Extras(Statements):
    """Statements, and those of this module."""

    def choice(self) -> Callable[[], None]:
        m = self.m
        if m.chance(0.8):
            return super().choice()
        top = not m.depth
        return m.weighted(  # type: ignore[no-any-return]
            [(2, self.shifted), (1, self.mask), (1, self.least), (1, self.reduced),
             (1, self.nested_sum), (2 * top, self.tuple_state), (1.5 * top, self.closure),
             (2 * top, self.rows),
             (1 * top, self.complex_array), (1.5 * top, self.narrow), (1 * top, self.until)]
        )  # fmt: skip

    def scalar_of(self, text: str, kind: str, q: object) -> None:
        """A new scalar with this value."""
        m = self.m
        name = m.fresh("s")
        m.emit(f"{name} = {text}")
        m.bind(self.declared(name, Expr("", kind, q)))  # type: ignore[arg-type]

    # arrays onto themselves
    def shifted(self) -> None:
        """Overlapping parts: the right-hand side is read before anything is written."""
        m = self.m
        n = m.pick([w for w in self.writable() if len(w.dims) == 1])
        left, right = m.pick(SHIFTED)
        form = m.pick(["=", "=", "+=", "-="])
        if form != "=" and (m.loops or not self.fits(add(n.q, n.q), replace(n, q=self.budget(n)))):
            raise Rejected
        m.emit(f"{n.text}[{left}] {form} {n.text}[{right}]")
        if form != "=":
            m.widen(n.text, add(n.q, n.q))

    def mask(self) -> None:
        """A mask in a reduction or a write."""
        m = self.m
        a = m.pick([x for x in m.arrays("if") if x.dims and x.q is not None])
        limit = self.s.exact(0, a.kind)
        cond = f"{a.text} {m.pick(['>', '<=', '!=', '=='])} {limit}"
        text, kind, q = m.pick([
            (f"{a.text}[{cond}].sum()", a.kind, many(a.q)),
            (f"np.count_nonzero({cond})", "i", Exact(0, 7)),
            (f"np.sum({cond})", "i", Exact(0, 7)),
            (f"bool(np.any({cond}))", "b", Exact(0, 1)),
            (f"bool(({cond}).all())", "b", Exact(0, 1)),
            (f"np.sum(np.where({cond}, {a.text}, 0))", a.kind, many(a.q)),
            (f"np.sum({a.text}, where={cond})", a.kind, many(a.q)),
        ])  # fmt: skip
        self.scalar_of(text, kind, q)

    def least(self) -> None:
        """Where the least or greatest element is."""
        m = self.m
        a = m.pick([x for x in m.arrays("if") if x.dims and x.q is not None])
        self.scalar_of(f"int(np.{m.pick(['argmin', 'argmax'])}({a.text}))", "i", Exact(0, 7))

    def reduced(self) -> None:
        """tp.reduce by operators of several kinds."""
        m = self.m
        a = m.pick([x for x in m.arrays("if", 1) if x.q is not None])
        if m.space[a.text].dtype.kind == "u":
            raise Rejected
        zero, low = ("0.0", "-1000.0") if a.kind == "f" else ("0", "-1000")
        text, q = m.pick([
            (f"tp.reduce(operator.add, {a.text}, {zero})", many(a.q)),
            (f"tp.reduce(lambda v, w: v + w, {a.text}, {zero})", many(a.q)),
            (f"tp.reduce(lambda v, w: v if v > w else w, {a.text}, {low})",
             join(a.q, Exact(0, 10))),
        ])  # fmt: skip
        if m.space[a.text].dtype.itemsize < 4:
            raise Rejected
        self.scalar_of(text, a.kind, q)

    def nested_sum(self) -> None:
        """A sum over two counters with a condition."""
        m = self.m
        a = m.pick([x for x in m.arrays("f", 2)])
        i, j = m.fresh("i"), m.fresh("j")
        cond = m.pick([f"{i} != {j}", f"({i} + {j}) % 2 == 0", f"{j} > {i}"])
        text = (f"0.0 + sum({a.text}[{i}, {j}] * 0.5 for {i} in range({a.text}.shape[0])"
                f" for {j} in range({a.text}.shape[1]) if {cond})")  # fmt: skip
        self.scalar_of(text, "f", many(mul(a.q, Exact(1, 0))))

    # constructs
    def tuple_state(self) -> None:
        """A tuple that travels through a loop."""
        m = self.m
        a = m.pick([x for x in m.arrays("f", 1)])
        t, i = m.fresh("t"), m.fresh("i")
        first, second = self.s.number(1, "f"), self.s.number(1, "f")
        cond = self.s.condition(1)
        step = m.pick([
            f"{t} = ({t}[1], {t}[0] + {a.text}[{i}])",
            f"{t} = ({t}[0] + {a.text}[{i}], {t}[0])",
            f"{t} = ({t}[1] * 0.5, {t}[0]) if {cond} else {t}",
        ])  # fmt: skip
        names = m.fresh("s"), m.fresh("s")
        m.emit(
            f"{t} = ({first}, {second})", f"for {i} in range(len({a.text})):", INDENT + step,
            f"{names[0]}, {names[1]} = {t}",
        )  # fmt: skip
        for name in names:
            if kind_of(m.space[name]) != "f":
                raise Rejected
            m.bind(self.declared(name, Expr("", "f", ROUGH)))

    def closure(self) -> None:
        """A function inside, that reads names of the function around it."""
        m = self.m
        held = m.pick([n for n in m.with_role("scalar", kind="f")])
        name = m.fresh("g")
        a = m.pick([x for x in m.arrays("f", 1)])
        if held.q is None or a.q is None:
            raise Rejected
        body, q = m.pick([
            (f"v * 0.5 + {held.text}", lambda v: add(v, held.q)),
            (f"v + {a.text}[0]", lambda v: add(v, a.q)),
            (f"v - {held.text} * {a.text}[-1]", lambda v: add(v, mul(held.q, a.q))),
        ])  # fmt: skip
        if m.chance(0.5):
            m.emit(f"{name} = lambda v: {body}")
        else:
            m.emit(f"def {name}(v):", f"{INDENT}if v > 100.0:", f"{INDENT * 2}return v",
                   f"{INDENT}return {body}")  # fmt: skip
        m.functions.append(Function(name, 1, lambda v: None if v is None else many(q(v), 1)))

    def rows(self) -> None:
        """A loop over rows, each bound to a name and written through it."""
        m = self.m
        a = m.pick([w for w in self.writable() if len(w.dims) == 2 and w.kind == "f"])
        i, row = m.fresh("i"), m.fresh("r")
        e = self.fit(replace(a, q=self.budget(a)))
        head = m.pick([
            f"for {i} in range({a.text}.shape[0]):\n{INDENT}{row} = {a.text}[{i}]",
            f"for {row} in {a.text}:",
            f"for {i} in range({a.text}.shape[0]):\n{INDENT}{row} = {a.text}[{i}, :]",
        ])  # fmt: skip
        write = m.pick([f"{row}[0] = {e}", f"{row}[:] = {e}", f"{row} += 0.25", f"{row}[1:] -= 0.5",
                        f"{row}[-1] += {row}[0]"])  # fmt: skip
        if a.q is None and m.chance(0.5):
            write = f"{row} *= 0.5"
        m.emit(*head.split("\n"), INDENT + write)
        m.widen(a.text, None if a.q is None or e.q is None else add(a.q, join(e.q, a.q)))

    def complex_array(self) -> None:
        m = self.m
        a = m.pick([x for x in m.arrays("f", 1)])
        name, out = m.fresh("c"), m.fresh("a")
        form = m.pick(["({0} * {0}).real", "np.abs({0})", "({0} + 1.0).imag", "np.conj({0}).imag",
                       "({0} * 1j).real", "np.exp({0} * 0.1).real"])  # fmt: skip
        m.emit(f"{name} = {a.text} + 1j * {a.text}[::-1]", f"{out} = {form.format(name)} + 0.0")
        m.bind(self.declared(out, Expr("", "f", ROUGH, a.dims)))

    def narrow(self) -> None:
        """Arithmetic that wraps in narrow integer types."""
        m = self.m
        a = m.pick([x for x in m.arrays("i") if x.dims])
        dtype = m.pick(sorted(NARROW))
        name = m.fresh("a")
        form = m.pick(["{a}.astype(np.{t})", "({a} * 37).astype(np.{t})",
                       "{a}.astype(np.{t}) + 100",
                       "{a}.astype(np.{t}) * np.{t}(11)", "-{a}.astype(np.{t})"])  # fmt: skip
        m.emit(f"{name} = {form.format(a=a.text, t=dtype)}")
        value = m.space[name]
        wide = Exact(0, 8 * value.dtype.itemsize)
        m.bind(replace(self.declared(name, Expr("", "i", wide, a.dims)), readonly=True, fixed=True))

    def until(self) -> None:
        """A while loop that ends by a value, with work in it."""
        m = self.m
        a = m.pick([x for x in m.arrays("f", 1) if x.q is not None])
        k, s = m.fresh("w"), m.fresh("s")
        m.emit(
            f"{k} = 0", f"{s} = {strip(self.s.number(1, 'f').text)} + 0.0",
            f"while {k} < len({a.text}):", f"{INDENT}if {a.text}[{k}] > 2.0:",
            INDENT * 2 + m.pick(["break", f"{k} += 2", f"{s} -= 1.0"]),
            f"{INDENT}{s} += {a.text}[{k} % len({a.text})]", f"{INDENT}{k} += 1",
        )  # fmt: skip
        m.bind(self.declared(k, Expr("", "i", Exact(0, 12))))
        m.bind(self.declared(s, Expr("", "f", ROUGH)))
