"""Random array expressions."""

from __future__ import annotations

from tests.conformance.fuzz.maker import Expr, Maker, Name, Rejected
from tests.conformance.fuzz.quality import LEAF, ROUGH, Exact, Quality, add, join, many, mul, within
from tests.conformance.fuzz.scalars import COMPARE, Scalars

ROUGH_MAPS = (
    "np.sin({})", "np.cos({})", "np.exp(-np.abs({}))", "np.tanh({})", "np.sqrt(np.abs({}))",
    "np.log1p(np.abs({}))", "1.0 / (1.0 + np.abs({}))", "np.arctan({})", "np.hypot({}, 1.0)",
    "np.logaddexp({}, 0.5)", "np.cbrt({})", "np.exp2(-np.abs({}))",
)  # fmt: skip


class Arrays:
    """Makes array expressions in the scope of a Maker."""

    def __init__(self, maker: Maker, scalars: Scalars) -> None:
        self.m = maker
        self.s = scalars

    def operand(self, kind: str = "if", rank: int | None = None) -> Name:
        return self.m.pick([a for a in self.m.arrays(kind, rank) if a.dims])

    def named(self, a: Name) -> Expr:
        return Expr(a.text, a.kind, a.q, a.dims)

    def array(self, depth: int, kind: str = "if") -> Expr:
        """Any array; its shape is whatever comes out."""
        m = self.m
        e = m.weighted(
            [(5, self.elementwise), (2, self.cut), (1.5, self.moved), (1.5, self.reduced),
             (1.5, self.scanned), (1, self.joined), (1, self.created), (1, self.product),
             (2.5, self.comprehension), (1, self.outer), (1, self.chosen), (1, self.form),
             (0.7, self.sorted), (0.7, self.gathered)]
        )(depth, kind)  # fmt: skip
        return Expr(e.text, e.kind, within(e.q, m.bits if e.kind == "f" else 60), e.dims)

    # elementwise
    def same_shape(self, like: Expr, depth: int) -> Expr:
        """Something that combines with `like`: of its dims, or a scalar, or a row of it."""
        m = self.m
        fit = [a for a in m.arrays("if") if a.dims and a.dims == like.dims[-len(a.dims) :]]
        if fit and m.chance(0.6):
            return self.named(m.pick(fit))
        if len(like.dims) >= 2 and m.chance(0.3):
            columns = [a for a in m.arrays("if", 1) if a.dims == like.dims[-2:-1]]
            if columns:
                c = m.pick(columns)
                return Expr(f"{c.text}[:, None]", c.kind, c.q, ())
        return self.s.number(min(depth, 1), m.pick("iff"))

    def elementwise(self, depth: int, kind: str) -> Expr:
        m = self.m
        a = self.named(self.operand(kind)) if depth <= 0 else self.sub(depth - 1, kind)
        form = m.weighted([(4, "add"), (3, "mul"), (1, "one"), (2, "rough"), (1, "minmax"),
                           (1, "clip"), (1, "cast"), (0.5, "square"), (0.6, "mod")])  # fmt: skip
        if form in ("add", "mul", "minmax"):
            b = self.same_shape(a, depth)
            q = {"add": add, "mul": mul, "minmax": join}[form](a.q, b.q)
            text = {
                "add": f"({a} {m.pick('+-')} {b})",
                "mul": f"({a} * {b})",
                "minmax": f"np.{m.pick(['maximum', 'minimum'])}({a}, {b})",
            }[form]
            joined = "f" if "f" in (a.kind, b.kind) else "i"
            return Expr(text, joined, q, a.dims)
        if form == "rough":
            return Expr(f"({m.pick(ROUGH_MAPS).format(a)})", "f", ROUGH, a.dims)
        if form == "clip":
            low, high = ("-1.0", "2.5") if a.kind == "f" else ("1", "4")
            return Expr(
                f"np.clip({a}, {low}, {high})", a.kind, a.q and join(a.q, Exact(1, 2)), a.dims
            )
        if form == "cast":
            if a.kind == "i":
                return Expr(f"{self.bracket(a)}.astype(np.float64)", "f", a.q, a.dims)
            return Expr(f"np.floor({a})", "f", a.q and Exact(0, a.q.m + 1), a.dims)
        if form == "square":
            return Expr(f"({a} ** 2)", a.kind, mul(a.q, a.q), a.dims)
        if form == "mod" and a.q is not None:
            by = "1.5" if a.kind == "f" else "3"
            return Expr(f"({a} % {by})", a.kind, Exact(a.q.g + 1, 2), a.dims)
        return Expr(m.pick(["(-{})", "abs({})", "np.abs({})"]).format(a), a.kind, a.q, a.dims)

    def sub(self, depth: int, kind: str) -> Expr:
        if self.m.chance(0.5):
            return self.named(self.operand(kind))
        return self.m.pick([self.elementwise, self.cut, self.moved])(depth, kind)

    def bracket(self, e: Expr) -> str:
        return e.text if e.text.isidentifier() or e.text.startswith("(") else f"({e})"

    def chosen(self, depth: int, kind: str) -> Expr:
        m = self.m
        a = self.named(self.operand(kind))
        if a.q is None:
            raise Rejected
        b = self.same_shape(a, depth)
        limit = self.s.exact(0, a.kind)
        other = "f" if "f" in (a.kind, b.kind) else "i"
        text = f"np.where({a} {m.pick(COMPARE)} {limit}, {a}, {b})"
        return Expr(text, other, join(a.q, b.q), a.dims)

    # shapes
    def cut(self, depth: int, kind: str) -> Expr:
        """A slice or an axis less."""
        a = self.operand(kind)
        parts, dims = self.slices(a)
        return Expr(f"{a.text}[{', '.join(parts)}]", a.kind, a.q, dims)

    def slices(self, a: Name) -> tuple[list[str], tuple[str, ...]]:
        m = self.m
        parts: list[str] = []
        dims: list[str] = []
        for axis, tag in enumerate(a.dims):
            form = m.weighted(
                [(3, ":"), (4, "range"), (1.2 * (len(a.dims) > 1), "index"), (0.3, "new")]
            )
            if form == "index":
                parts.append(self.s.index(a, axis))
                continue
            if form == "new":
                parts.append("None")
                dims.append("1")
            if form == "range":
                text = m.pick(["1:", ":-1", "::2", "::-1", "1:-1", "2:", ":2", "-2:", "1::2", ":3",
                               "-3:-1", "::-2", "3:1:-1"])  # fmt: skip
                parts.append(text)
                dims.append(f"{tag}[{text}]")
            else:
                parts.append(":")
                dims.append(tag)
        if parts and parts[-1] == ":" and m.chance(0.3):
            parts.pop()
        return parts or [":"], tuple(dims)

    def moved(self, depth: int, kind: str) -> Expr:
        m = self.m
        a = self.operand(kind)
        rank = len(a.dims)
        forms = [("np.flip({}, 0)", a.dims), ("{}.ravel()", ("*".join(a.dims),)),
                 ("{}.reshape(-1)", ("*".join(a.dims),)), ("{}.copy()", a.dims),
                 ("np.roll({}, 1, 0)", a.dims), ("{}[None]", ("1", *a.dims))]  # fmt: skip
        if rank == 1:
            forms += [("np.roll({}, 2)", a.dims), ("{}[:, None]", (*a.dims, "1")),
                      ("np.diff({})", (f"{a.dims[0]}-1",)), ("{}[::-1]", a.dims)]  # fmt: skip
        if rank == 2:
            forms += [("{}.T", a.dims[::-1]), ("np.transpose({})", a.dims[::-1]),
                      ("np.triu({})", a.dims), ("np.tril({}, -1)", a.dims)]  # fmt: skip
        if rank == 3:
            forms += [("np.swapaxes({}, 0, 2)", a.dims[::-1]),
                      ("{}.transpose(1, 2, 0)", (a.dims[1], a.dims[2], a.dims[0]))]  # fmt: skip
        text, dims = m.pick(forms)
        return Expr(text.format(a.text), a.kind, a.q, dims)

    def joined(self, depth: int, kind: str) -> Expr:
        m = self.m
        a = self.operand(kind)
        same = [b for b in m.arrays(a.kind, len(a.dims)) if b.dims == a.dims]
        b = m.pick(same)
        q = join(a.q, b.q)
        if m.chance(0.5):
            return Expr(f"np.stack(({a.text}, {b.text}))", a.kind, q, ("2", *a.dims))
        dims = (f"{a.dims[0]}+{b.dims[0]}", *a.dims[1:])
        return Expr(f"np.concatenate(({a.text}, {b.text}))", a.kind, q, dims)

    def created(self, depth: int, kind: str) -> Expr:
        m = self.m
        a = self.operand()
        n = m.size(a.dims[0], a, 0)
        kind = m.pick("if")
        dims = (a.dims[0],)
        if kind == "i":
            return Expr(
                m.pick(
                    [
                        "np.arange({})",
                        "np.arange(1, {} + 1)",
                        "np.zeros({}, dtype=np.int64)",
                        "np.ones({}, np.int64)",
                    ]
                ).format(n),
                "i",
                Exact(0, 5),
                dims,
            )
        text = m.pick(
            [
                "np.zeros({n})",
                "np.ones({n})",
                "np.full({n}, 1.5)",
                "np.zeros_like({a}, dtype=np.float64)",
                "np.arange({n}) * 0.5",
                "np.linspace(0.0, 4.0, {n})",
            ]
        ).format(n=n, a=a.text)
        full = a.dims if "like" in text else dims
        return Expr(text, "f", ROUGH if "linspace" in text else LEAF, full)

    # reductions and scans
    def reduced(self, depth: int, kind: str) -> Expr:
        m = self.m
        a = self.operand(kind)
        if len(a.dims) < 2:
            raise Rejected
        axis = m.rng.randrange(-1, len(a.dims))
        real = axis % len(a.dims)
        keep = m.chance(0.25)
        rest = a.dims[:real] + (("1",) if keep else ()) + a.dims[real + 1 :]
        tail = f"axis={axis}{', keepdims=True' if keep else ''}"
        op, q = m.pick(
            [
                ("np.sum({}, {})", many(a.q)),
                ("{}.sum({})", many(a.q)),
                ("np.max({}, {})", a.q),
                ("{}.min({})", a.q),
                ("np.mean({}, {})", ROUGH),
            ]
        )
        return Expr(op.format(a.text, tail), "f" if "mean" in op else a.kind, q, rest)

    def scanned(self, depth: int, kind: str) -> Expr:
        m = self.m
        a = self.operand(kind, 1)
        text, q = m.pick([("np.cumsum({})", many(a.q)), ("{}.cumsum()", many(a.q)),
                          ("np.maximum.accumulate({})", a.q), ("np.minimum.accumulate({})", a.q),
                          ("tp.scan(operator.add, {}, 0)", many(a.q))])  # fmt: skip
        return Expr(text.format(a.text), a.kind, q, a.dims)

    def sorted(self, depth: int, kind: str) -> Expr:
        m = self.m
        a = self.operand(kind)
        if a.q is not None and m.chance(0.4) and len(a.dims) == 1:
            return Expr(f"np.argsort({a.text}, kind='stable')", "i", Exact(0, 5), a.dims)
        return Expr(f"np.sort({a.text})", a.kind, a.q, a.dims)

    def gathered(self, depth: int, kind: str) -> Expr:
        m = self.m
        a = self.operand(kind)
        places = [i for i in m.arrays("i", 1) if i.q is not None]
        i = m.pick(places)
        at = f"{i.text} % {m.size(a.dims[0], a, 0)}"
        text = m.pick([f"{a.text}[{at}]", f"np.take({a.text}, {at}, axis=0)"])
        return Expr(text, a.kind, a.q, (i.dims[0], *a.dims[1:]))

    # products
    def product(self, depth: int, kind: str) -> Expr:
        m = self.m
        a = self.operand(kind, 2)
        q: Quality
        fit = [b for b in m.arrays("if") if b.dims and (b.dims[0] == a.dims[1]) and len(b.dims) < 3]
        if fit:
            b = m.pick(fit)
            q = many(mul(a.q, b.q), 4)
            joined = "f" if "f" in (a.kind, b.kind) else "i"
            text = m.pick(["({} @ {})", "np.dot({}, {})", "np.matmul({}, {})"]).format(
                a.text, b.text
            )
            return Expr(text, joined, q, (a.dims[0], *b.dims[1:]))
        return Expr(
            f"({a.text} @ {a.text}.T)", a.kind, many(mul(a.q, a.q), 4), (a.dims[0], a.dims[0])
        )

    def outer(self, depth: int, kind: str) -> Expr:
        m = self.m
        a, b = self.operand(kind, 1), self.operand(kind, 1)
        joined = "f" if "f" in (a.kind, b.kind) else "i"
        dims = (a.dims[0], b.dims[0])
        form = m.pick(["np.outer({}, {})", "({}[:, None] * {}[None, :])", "({}[:, None] - {})",
                       "np.einsum('i,j->ij', {}, {})"])  # fmt: skip
        q = add(a.q, b.q) if "-" in form and "->" not in form else mul(a.q, b.q)
        return Expr(form.format(a.text, b.text), joined, q, dims)

    # parallel forms
    def comprehension(self, depth: int, kind: str) -> Expr:
        m = self.m
        if m.loops >= 2:
            raise Rejected
        a = self.operand()
        var = m.fresh("i")
        m.bind(Name(var, "index", "i", Exact(0, 4), fixed=True))
        m.space[var] = 0
        m.indices[var] = a.dims[0]
        m.loops += 1
        want = m.pick("iff")
        try:
            if m.loops == 1 and m.chance(0.3) and a.dims[0] != "n":  # no rows have no length
                inner = self.comprehension_row(depth, want)
            else:
                inner = self.s.number(2, want)
        finally:
            m.loops -= 1
            del m.names[var], m.space[var], m.indices[var]
        body = f"[{inner} for {var} in range({m.size(a.dims[0], a, 0)})]"
        return Expr(f"np.array({body})", want, inner.q, (a.dims[0], *inner.dims))

    def comprehension_row(self, depth: int, kind: str) -> Expr:
        m = self.m
        a = self.operand()
        var = m.fresh("j")
        m.bind(Name(var, "index", "i", Exact(0, 4), fixed=True))
        m.space[var] = 0
        m.indices[var] = a.dims[0]
        m.loops += 1
        try:
            e = self.s.number(1, kind)
        finally:
            m.loops -= 1
            del m.names[var], m.space[var], m.indices[var]
        text = f"[{e} for {var} in range({m.size(a.dims[0], a, 0)})]"
        return Expr(text, kind, e.q, (a.dims[0],))

    def form(self, depth: int, kind: str) -> Expr:
        """tp.map, tp.scan with an operator, tp.scatter, tp.reduce_by_index."""
        m = self.m
        a = self.operand(kind, 1)
        same = [b for b in m.arrays("if", 1) if b.dims == a.dims]
        b = m.pick(same)
        joined = "f" if "f" in (a.kind, b.kind) else "i"
        choice = m.pick(["map", "map2", "scan", "scatter", "by_index"])
        if choice == "map":
            text = m.pick(["tp.map(lambda v: v * 2 + 1, {})", "tp.map(lambda v: v - v * v, {})",
                           "tp.map(lambda v: v if v > 1 else -v, {})"])  # fmt: skip
            if a.q is None:
                raise Rejected
            return Expr(text.format(a.text), a.kind, mul(a.q, add(a.q, a.q)), a.dims)
        if choice == "map2":
            text = f"tp.map(lambda v, w: v * w + v, {a.text}, {b.text})"
            return Expr(text, joined, add(mul(a.q, b.q), a.q), a.dims)
        if choice == "scan":
            if m.space[a.text].dtype.kind == "u":  # no number is below all of them
                raise Rejected
            neutral = "-100.0" if a.kind == "f" else "-100"
            text = f"tp.scan(lambda v, w: max(v, w), {a.text}, {neutral})"
            return Expr(text, a.kind, join(a.q, Exact(0, 7)), a.dims)
        i = m.pick([x for x in m.arrays("i", 1) if x.q is not None and x.dims == a.dims])
        if choice == "scatter":
            text = f"tp.scatter({b.text}, {i.text}, {b.text})"
            return Expr(text, b.kind, b.q, b.dims)
        return Expr(f"tp.reduce_by_index({b.text}, {i.text}, {b.text})", b.kind, many(b.q), b.dims)
