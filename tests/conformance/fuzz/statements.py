"""Random statements."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np

from tests.conformance.fuzz.arrays import Arrays
from tests.conformance.fuzz.maker import RETURN, Expr, Maker, Name, Rejected, kind_of, snapshot
from tests.conformance.fuzz.quality import (
    CARRIED,
    CARRIED_INT,
    CARRIED_SINGLE,
    ROUGH,
    STEPS,
    Exact,
    Quality,
    add,
    join,
    many,
    mul,
)  # fmt: skip
from tests.conformance.fuzz.scalars import COMPARE, Scalars

INDENT = "    "
TRIES = 6


class Statements:
    """Adds statements to a Maker; each is tried out, and dropped where Python refuses it."""

    def __init__(self, maker: Maker) -> None:
        self.m = maker
        self.s = Scalars(maker)
        self.a = Arrays(maker, self.s)

    def some(self, count: int) -> None:
        """Up to `count` statements."""
        for _ in range(count):
            self.one()

    def one(self) -> bool:
        return any(self.attempt(self.choice()) for _ in range(TRIES))

    def attempt(self, make: Callable[[], None]) -> bool:
        """Add one statement; nothing is changed where that cannot be."""
        m = self.m
        names, indices, loops = dict(m.names), dict(m.indices), m.loops
        lines, space = list(m.lines), snapshot(m.space)
        try:
            make()
        except Rejected:
            m.names, m.indices, m.loops, m.lines, m.space = names, indices, loops, lines, space
            return False
        return True

    def choice(self) -> Callable[[], None]:
        m = self.m
        inside, deep = bool(m.depth), m.depth >= 3
        table = [
            (1 if inside else 3, self.new_scalar),
            (0.7 if inside else 4, self.new_array),
            (3 if inside else 1, self.assign),
            (5 if inside else 2, self.augment),
            (5, self.write_cell),
            (1.5, self.write_slice),
            (1, self.write_whole),
            (0.3 if inside else 1.5, self.bind_view),
            (0 if deep else 2 if inside else 4, self.for_loop),
            (0 if deep else 0.7 if inside else 1.2, self.while_loop),
            (0 if deep else 2, self.if_),
            (0.7, self.swap),
            (0.2 if inside else 0.7, self.unpack),
            (0.5, self.by_arms),
            (0 if inside else 1, self.appended),
            (0 if deep else 0.7, self.each_loop),
            (0.5, self.write_by_index),
            (0.2, self.check),
            (0.3, self.walrus),
            (0.4, self.complex_),
        ]
        return m.weighted(table)

    # values
    def declared(self, text: str, e: Expr, q: Quality | None = None) -> Name:
        """A name for what `e` turned out to be."""
        value = self.m.space[text]
        rank = np.ndim(value)
        kind = kind_of(value)
        dims = e.dims if len(e.dims) == rank else tuple(f"{text}.{k}" for k in range(rank))
        # u8 with i8 is f8, and what a negative float is as u8 depends on the machine
        wide = np.asarray(value).dtype == np.uint64
        return Name(text, "array" if rank else "scalar", kind, e.q, dims, fixed=wide, readonly=wide)

    def new_scalar(self) -> None:
        m = self.m
        name = m.fresh("s")
        kind = m.pick("iffb" if m.depth else "iff")
        e = self.s.number(3, kind)
        m.emit(f"{name} = {strip(e.text)}")
        m.bind(self.declared(name, e))

    def new_array(self) -> None:
        m = self.m
        name = m.fresh("a")
        e = self.a.array(2, m.pick(["i", "f", "f", "if"]))
        value = m.value(e.text)
        shared = any(
            np.shares_memory(value, v) for v in m.space.values() if isinstance(v, np.ndarray)
        )
        text = f"{self.a.bracket(e)}.copy()" if shared else strip(e.text)
        m.emit(f"{name} = {text}")
        value = m.space[name]
        if not isinstance(value, np.ndarray) or value.ndim == 0 or value.size > 400:
            raise Rejected
        m.bind(self.declared(name, e))

    def bind_view(self) -> None:
        """A name for a part of an array: reads and writes go to the array."""
        m = self.m
        a = m.pick([x for x in m.arrays("if") if x.dims])
        name = m.fresh("v")
        form = m.weighted([(4, "slice"), (1, "whole"), (1.5, "T")])
        if form == "slice":
            parts, dims = self.a.slices(a)
            text = f"{a.text}[{', '.join(parts)}]"
        else:
            text, dims = (a.text, a.dims) if form == "whole" else (f"{a.text}.T", a.dims[::-1])
        m.emit(f"{name} = {text}")
        if not isinstance(m.space[name], np.ndarray) or m.space[name].ndim == 0:
            raise Rejected
        # What is written through either name must keep to what both promise.
        m.bind(Name(name, "view", a.kind, a.q, dims, fixed=True, readonly=True))
        m.names[a.text] = replace(a, readonly=True)
        if m.depth == 0 and not a.readonly and m.chance(0.7):
            m.names[a.text] = replace(a, q=self.budget(a), readonly=False)
            m.names[name] = replace(m.names[name], q=self.budget(a), readonly=False)

    def budget(self, n: Name) -> Quality:
        if n.q is None:
            return None
        return CARRIED_INT if n.kind == "i" else CARRIED_SINGLE if self.m.single else CARRIED

    def fits(self, value: Quality, target: Name) -> bool:
        """Whether `value` may be stored where `target` is, in any order and number of times."""
        if target.q is None:
            return True
        if value is None or target.kind == "b":
            return target.kind == "b" and value is not None
        return value.g <= target.q.g and value.m < target.q.m

    def fit(self, target: Name, *, times: int = 0, kind: str | None = None) -> Expr:
        """A scalar that may be stored into `target`, or added to it up to 2**times times."""
        for _ in range(TRIES):
            e = self.s.number(self.m.rng.randint(0, 3), kind or target.kind)
            if self.fits(many(e.q, times), target):
                return e
        raise Rejected

    def targets(self, role: str, kind: str = "if") -> list[Name]:
        return [n for n in self.m.with_role(role, kind=kind) if not n.fixed]

    # assignments
    def same_type(self, text: str, run: Callable[[], None]) -> None:
        """Run what assigns `text`; its type must stay."""
        before = type(self.m.space[text]), np.shape(self.m.space[text])
        dtype = np.asarray(self.m.space[text]).dtype
        run()
        after = type(self.m.space[text]), np.shape(self.m.space[text])
        if before != after or np.asarray(self.m.space[text]).dtype != dtype:
            raise Rejected

    def assign(self) -> None:
        m = self.m
        n = m.pick(self.targets("scalar"))
        e = self.fit(n) if m.depth else self.s.number(2, n.kind)
        self.same_type(n.text, lambda: m.emit(f"{n.text} = {strip(e.text)}"))
        if not m.depth:
            m.widen(n.text, e.q)

    def augment(self) -> None:
        m = self.m
        n = m.pick(self.targets("scalar"))
        if m.depth:
            form = m.weighted([(6, "+="), (2, "-="), (2 * (n.q is None), "*= 0.5"), (1, "max")])
            if form == "max":
                e = self.fit(n)
                run = f"{n.text} = {m.pick(['max', 'min'])}({n.text}, {e})"
            elif form == "*= 0.5":
                run = f"{n.text} *= {m.pick(['0.5', '-0.75', '0.9'])}"
            else:
                run = f"{n.text} {form} {strip(self.fit(n, times=STEPS).text)}"
            self.same_type(n.text, lambda: m.emit(run))
            return
        e = self.s.number(2, n.kind)
        op, f = m.pick([("+=", add), ("-=", add), ("*=", mul)])
        self.same_type(n.text, lambda: m.emit(f"{n.text} {op} {strip(e.text)}"))
        q = f(n.q, e.q)
        if q is not None and q.g + q.m > (m.bits if n.kind == "f" else 40):
            if n.kind == "i":
                raise Rejected
            q = None
        m.widen(n.text, q)

    def swap(self) -> None:
        m = self.m
        scalars = self.targets("scalar")
        a = m.pick(scalars)
        b = m.pick([x for x in scalars if x.text != a.text and x.kind == a.kind])
        if m.depth and a.q != b.q:
            raise Rejected
        line = f"{a.text}, {b.text} = {b.text}, {a.text}"
        self.same_type(a.text, lambda: self.same_type(b.text, lambda: m.emit(line)))
        m.widen(a.text, join(a.q, b.q))
        m.widen(b.text, join(a.q, b.q))

    def unpack(self) -> None:
        m = self.m
        names = [m.fresh("s") for _ in range(m.rng.randint(2, 3))]
        values = [self.s.number(2, m.pick("iff")) for _ in names]
        m.emit(f"{', '.join(names)} = {', '.join(map(str, values))}")
        for name, e in zip(names, values, strict=True):
            m.bind(self.declared(name, e))

    def walrus(self) -> None:
        m = self.m
        name, other = m.fresh("s"), m.fresh("s")
        e = self.s.number(1, "f")
        m.emit(f"{other} = ({name} := {e}) * 2.0 + {name}")
        m.bind(self.declared(name, e))
        m.bind(self.declared(other, Expr("", "f", add(add(e.q, e.q), e.q))))

    def complex_(self) -> None:
        m = self.m
        a, b = self.s.number(1, "f"), self.s.number(1, "f")
        name, other = m.fresh("c"), m.fresh("s")
        q = add(mul(a.q, a.q), mul(b.q, b.q))
        form, q = m.pick(
            [
                ("({0} * {0}).real", q),
                ("abs({0})", ROUGH),
                ("({0} * {0}.conjugate()).real", q),
                ("({0} + 2.0).imag", b.q),
                ("({0} * 1j).real", b.q),
            ]
        )
        m.emit(f"{name} = complex({a}, {b})", f"{other} = {form.format(name)}")
        m.bind(self.declared(other, Expr("", "f", q)))

    def by_arms(self) -> None:
        """A name that both arms of an if give."""
        m = self.m
        name = m.fresh("s")
        kind = m.pick("if")
        c, a, b = self.s.condition(2), self.s.number(2, kind), self.s.number(2, kind)
        if type(m.value(a.text)) is not type(m.value(b.text)):
            raise Rejected
        m.emit(f"if {strip(c.text)}:", f"{INDENT}{name} = {strip(a.text)}", "else:",
               f"{INDENT}{name} = {strip(b.text)}")  # fmt: skip
        m.bind(self.declared(name, Expr("", kind, join(a.q, b.q))))

    # writes
    def writable(self) -> list[Name]:
        return [
            n for n in self.m.with_role("array", "view", kind="if") if not n.readonly and n.dims
        ]

    def write_cell(self) -> None:
        m = self.m
        n = m.pick(self.writable())
        at = ", ".join(self.s.index(n, axis) for axis in range(len(n.dims)))
        form = m.weighted([(5, "="), (4, "+="), (1, "-="), (1 * (n.q is None), "*=")])
        e = self.fit(n, times=0 if form == "=" else STEPS) if n.q else self.s.number(2, n.kind)
        if form == "*=":
            e = Expr("0.5" if n.kind == "f" else "2", n.kind, None)
            if n.kind == "i":
                raise Rejected
        m.emit(f"{n.text}[{at}] {form} {strip(e.text)}")

    def write_slice(self) -> None:
        m = self.m
        n = m.pick(self.writable())
        parts, dims = self.a.slices(n)
        if "None" in parts:
            raise Rejected
        form = m.pick(["=", "=", "+=", "-="])
        like = [a for a in m.arrays("if") if a.dims == dims and dims and self.fits(many(a.q), n)]
        if like and m.chance(0.6):
            e = self.a.named(m.pick(like))
        else:
            e = self.fit(n, times=0 if form == "=" else STEPS)
        m.emit(f"{n.text}[{', '.join(parts)}] {form} {strip(e.text)}")

    def write_whole(self) -> None:
        m = self.m
        n = m.pick(self.writable())
        form = m.pick(["{}[:] = {}", "{} += {}", "{} -= {}", "{}[...] = {}"])
        if n.role == "view" and "[" not in form:
            raise Rejected
        like = [a for a in m.arrays("if") if a.dims == n.dims and self.fits(many(a.q), n)]
        e = self.a.named(m.pick(like)) if like and m.chance(0.6) else self.fit(n, times=STEPS)
        m.emit(form.format(n.text, strip(e.text)))

    def write_by_index(self) -> None:
        m = self.m
        n = m.pick([w for w in self.writable() if len(w.dims) == 1])
        e = self.fit(n, times=STEPS)
        form = m.pick(["mask", "mask", "add.at"])
        if form == "mask" and n.q is not None:
            mask = f"{n.text} {m.pick(COMPARE)} {self.s.exact(0, n.kind)}"
            m.emit(f"{n.text}[{mask}] {m.pick(['=', '+='])} {strip(e.text)}")
            return
        i = m.pick([x for x in m.arrays("i", 1) if x.q is not None])
        m.emit(f"np.add.at({n.text}, {i.text} % {m.size(n.dims[0], n, 0)}, {strip(e.text)})")

    # control
    @contextmanager
    def body(self, carry: bool) -> Iterator[list[str]]:
        """What is added inside goes to a body of its own, run on a copy of the values of now."""
        m = self.m
        lines, m.lines = m.lines, []
        names, space = dict(m.names), snapshot(m.space)
        if not m.depth:
            m.outside = list(m.names)
        m.depth += 1
        if carry:
            self.carry()
        inner: list[str] = []
        try:
            yield inner
            inner += m.lines or ["pass"]
        finally:
            m.depth -= 1
            widened = {t: n.q for t, n in m.names.items() if t in names and n.q != names[t].q}
            m.lines, m.names, m.space = lines, names, space
            for text, q in widened.items():
                m.names[text] = replace(names[text], q=q)

    def carry(self) -> None:
        """Decide which names the loop changes: they get room to grow; the others are fixed."""
        m = self.m
        for text, n in list(m.names.items()):
            if n.fixed and n.role != "view":
                continue
            room = self.budget(n) if n.role in ("scalar", "array", "view") else n.q
            fits = n.q is None or n.kind == "b" or (
                room is not None and n.q.g <= room.g and n.q.m < room.m)  # fmt: skip
            if n.role == "view" or (n.role == "array" and n.readonly):
                m.names[text] = replace(n, readonly=True) if n.q != room else n
            elif fits and m.chance(0.6):
                m.names[text] = replace(n, q=n.q if n.kind == "b" else room)
            else:
                m.names[text] = replace(n, fixed=True, readonly=True)

    def close(self, head: list[str], inner: list[str], tail: list[str] | None = None) -> None:
        self.m.emit(*head, *(INDENT + line for line in inner), *(tail or []))

    def for_loop(self) -> None:
        m = self.m
        if m.loops >= 3:
            raise Rejected
        a = m.pick([x for x in m.arrays("if") if x.dims])
        form = m.weighted(
            [
                (6, "range"),
                (1, "bounds"),
                (1, "step"),
                (1.5, "array"),
                (1, "enumerate"),
                (1, "zip"),
                (0.5, "tuple"),
                (0.5, "down"),
            ]
        )
        i, v, w = m.fresh("i"), m.fresh("x"), m.fresh("y")
        size = m.size(a.dims[0], a, 0)
        head = {
            "range": f"for {i} in range({size}):",
            "bounds": f"for {i} in range(1, {size} - 1):",
            "step": f"for {i} in range(0, {size}, 2):",
            "down": f"for {i} in range({size} - 1, -1, -1):",
            "array": f"for {v} in {a.text}:",
            "enumerate": f"for {i}, {v} in enumerate({a.text}):",
            "zip": f"for {v}, {w} in zip({a.text}, {a.text}):",
            "tuple": f"for {v} in (0.5, 2.0, -1.0):",
        }[form]
        m.loops += 1
        old = dict(m.indices)
        if form in ("array", "enumerate", "zip"):
            m.names[a.text] = replace(
                a, readonly=True, fixed=True
            )  # not written while iterated over
        with self.body(carry=True) as inner:
            if form in ("range", "bounds", "step", "down", "enumerate"):
                m.bind(Name(i, "index", "i", Exact(0, 4), fixed=True))
                m.space[i] = 1 if form == "bounds" else 0
                m.indices[i] = a.dims[0]
            if form in ("array", "enumerate", "zip"):
                for name in (v, w) if form == "zip" else (v,):
                    role = "scalar" if len(a.dims) == 1 else "view"
                    m.bind(Name(name, role, a.kind, a.q, a.dims[1:], fixed=True, readonly=True))
                    m.space[name] = m.value(f"{a.text}[0]")
            if form == "tuple":
                m.bind(Name(v, "scalar", "f", Exact(1, 2), fixed=True))
                m.space[v] = 0.5
            self.leave()
            self.some(m.rng.randint(1, 2))
            self.leave()
        m.indices = old
        m.loops -= 1
        tail = []
        if m.chance(0.08):
            tail = self.else_()
        if form in ("array", "enumerate", "zip"):
            m.names[a.text] = replace(a, q=m.names[a.text].q)
        self.close([head], inner, tail)

    def leave(self) -> None:
        """Sometimes a way out of the pass, here."""
        m = self.m
        if m.chance(0.15):
            way = m.pick(["break", "continue", "break", "continue", "return"])
            if way == "return":
                way = RETURN
                m.result = m.result or m.choose_result()
            m.emit(f"if {strip(self.s.condition(1).text)}:", INDENT + way)

    def else_(self) -> list[str]:
        with self.body(carry=True) as inner:
            self.some(1)
        return ["else:", *(INDENT + line for line in inner)]

    def while_loop(self) -> None:
        m = self.m
        if m.loops >= 2:
            raise Rejected
        k = m.fresh("w")
        a = m.pick([x for x in m.arrays("if") if x.dims])
        m.emit(f"{k} = 0")
        m.bind(Name(k, "scalar", "i", Exact(0, 5), fixed=True))
        bound = m.pick([m.size(a.dims[0], a, 0), "3", "6"])
        m.loops += 1
        with self.body(carry=True) as inner:
            extra = ""
            if m.chance(0.4):
                extra = f" and {self.s.condition(1)}"
            m.emit(f"{k} += 1")
            self.leave()
            self.some(m.rng.randint(1, 2))
            self.leave()
        m.loops -= 1
        self.close([f"while {k} < {bound}{extra}:"], inner)

    def if_(self) -> None:
        m = self.m
        carry = m.depth == 0
        arms = []
        heads = [f"if {strip(self.s.condition(2).text)}:"]
        if m.chance(0.3):
            heads.append(f"elif {strip(self.s.condition(1).text)}:")
        if m.chance(0.6):
            heads.append("else:")
        for _ in heads:
            with self.body(carry=carry) as inner:
                self.some(m.rng.randint(1, 2))
            arms.append(inner)
        lines = [
            text
            for h, arm in zip(heads, arms, strict=True)
            for text in (h, *(INDENT + t for t in arm))
        ]
        m.emit(*lines)

    def each_loop(self) -> None:
        """Independent iterations: each writes its own cell, or adds."""
        m = self.m
        n = m.pick([w for w in self.writable() if len(w.dims) == 1 and w.role == "array"])
        i = m.fresh("i")
        m.loops += 1
        with self.body(carry=False) as inner:
            m.bind(Name(i, "index", "i", Exact(0, 4), fixed=True))
            m.space[i] = 0
            m.indices[i] = n.dims[0]
            hidden = m.names.pop(n.text)
            for text, other in list(m.names.items()):
                if other.role == "view":
                    del m.names[text]
                else:
                    m.names[text] = replace(other, fixed=True, readonly=True)
            e = self.fit(hidden)
            m.names[n.text] = hidden
            m.emit(f"{n.text}[{i}] = {strip(e.text)}")
        m.loops -= 1
        m.indices.pop(i, None)
        self.close([f"for {i} in tp.each({m.size(n.dims[0], n, 0)}):"], inner)

    def appended(self) -> None:
        """A list that a loop fills, one element per pass or under a condition."""
        m = self.m
        a = m.pick([x for x in m.arrays("if", 1)])
        out, i, name = m.fresh("out"), m.fresh("i"), m.fresh("a")
        m.loops += 1
        with self.body(carry=False):
            m.bind(Name(i, "index", "i", Exact(0, 4), fixed=True))
            m.space[i] = 0
            m.indices[i] = a.dims[0]
            kind = m.pick("iff")
            e = self.s.number(2, kind)
            only = self.s.condition(1) if m.chance(0.5) else None
        m.loops -= 1
        m.indices.pop(i, None)
        append = [f"{out}.append({strip(e.text)})"]
        if only is not None:
            append = [f"if {strip(only.text)}:", INDENT + append[0]]
        lines = [
            f"{out} = []",
            f"for {i} in range({m.size(a.dims[0], a, 0)}):",
            *(INDENT + t for t in append),
        ]
        m.emit(
            *lines, f"{name} = np.array({out})" if only is None else f"{name} = float(len({out}))"
        )
        tag = (a.dims[0],) if only is None else ()
        q = e.q if only is None else Exact(0, 5)
        m.bind(self.declared(name, Expr("", kind, q, tag)))
        if only is not None:
            total = m.fresh("s")
            m.emit(f"{total} = 0.0 + sum({out})" if kind == "f" else f"{total} = int(sum({out}))")
            m.bind(self.declared(total, Expr("", kind, many(e.q, 4))))

    def check(self) -> None:
        m = self.m
        c = self.s.condition(1)
        if m.depth:
            raise Rejected
        if m.chance(0.5):
            m.emit(f"assert {strip(c.text)}")
        else:
            m.emit(f"if not {c}:", f"{INDENT}raise ValueError('no')")


def strip(text: str) -> str:
    """Without parentheses around the whole."""
    if not (text.startswith("(") and text.endswith(")")):
        return text
    depth = 0
    for k, c in enumerate(text):
        depth += {"(": 1, ")": -1}.get(c, 0)
        if depth == 0 and k < len(text) - 1:
            return text
    return text if "," in text or ":=" in text else text[1:-1]
