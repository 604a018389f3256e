"""What the compiler made of a function: every stage as text, every decision at its source line."""

from __future__ import annotations

import html
import linecache
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tapeless.api.inspection import Look, header, look
from tapeless.api.kernels import choices
from tapeless.core.names import Atom, Const, Loc, Var
from tapeless.ir.print import show as show_core
from tapeless.ir.syntax import (
    Acc,
    Alloc,
    Append,
    Body,
    Call,
    Check,
    Each,
    Exp,
    Fold,
    For,
    Fun,
    If,
    Index,
    Let,
    Loop,
    Monoid,
    Prim,
    Put,
    Scan,
    Sort,
    Update,
)  # fmt: skip
from tapeless.ir.walk import bodies_of
from tapeless.loop.print import show as show_loops
from tapeless.loop.syntax import SEQ, SIMD, THREADS
from tapeless.lower.desugar import desugar
from tapeless.lower.kernel import lower
from tapeless.lower.own import own
from tapeless.lower.plan import Plans
from tapeless.lower.schedule import schedule
from tapeless.lower.versions import versions
from tapeless.pipeline import llvm
from tapeless.unparse.statements import is_copy

KINDS = {SEQ: "in order", SIMD: "in lanes", THREADS: "on threads"}


@dataclass(frozen=True, slots=True)
class Note:
    """One decision and the place in the user's source that it is about."""

    loc: Loc | None
    text: str


@dataclass(frozen=True, slots=True)
class Explanation:
    """`print` shows the decisions; `stages` has the program at every stage, by name."""

    name: str
    notes: tuple[Note, ...]
    stages: dict[str, str]

    def lines(self) -> Iterator[tuple[str, str, list[str]]]:
        """(place, source line, decisions about it) in the order of the file."""
        by_line: dict[tuple[str, int], list[str]] = {}
        for note in self.notes:
            place = (note.loc.file, note.loc.line) if note.loc else ("", 0)
            known = by_line.setdefault(place, [])
            if note.text not in known:
                known.append(note.text)
        for (file, line), texts in sorted(by_line.items()):
            yield f"{line}" if line else "", linecache.getline(file, line).strip(), texts

    def __str__(self) -> str:
        out = [f"{self.name}: what the compiler decided, by source line"]
        for place, text, notes in self.lines():
            out.append(f"{place:>5}  {text}")
            out += [f"       · {note}" for note in notes]
        if not self.notes:
            out.append("       nothing but scalar arithmetic")
        out.append(f"stages: {', '.join(self.stages)} (explain(…).stages[name])")
        return "\n".join(out)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = []
        for place, text, notes in self.lines():
            items = "".join(f"<li>{html.escape(n)}</li>" for n in notes)
            rows.append(
                f"<tr><td>{place}</td><td style='text-align:left'><code>{html.escape(text)}</code>"
                f"<ul style='margin:0'>{items}</ul></td></tr>"
            )
        stages = "".join(
            f"<details><summary>{html.escape(name)}</summary><pre>{html.escape(text)}</pre></details>"
            for name, text in self.stages.items()
        )
        return f"<b>{html.escape(self.name)}</b><table>{''.join(rows)}</table>{stages}"


def explain(g: Any, *args: Any, **kwargs: Any) -> Explanation:
    """What became parallel, lanes or a library call, what is allocated or copied, which checks
    remain: for the program that g(*args, **kwargs) runs."""
    seen = look(g, args, kwargs)
    return Explanation(seen.function.__qualname__, tuple(decisions(seen)), stages(seen))


def stages(seen: Look) -> dict[str, str]:
    settings = seen.settings
    layouts = seen.layouts
    proc = lower(
        seen.optimised, layouts, parallel=settings.parallel, deterministic=settings.deterministic
    )
    return {
        "core": show_core(seen.traced),
        "optimised": show_core(seen.optimised),
        "loops": show_loops(proc),
        "llvm": llvm(proc, choices(settings)),
    }


def decisions(seen: Look) -> Iterator[Note]:
    twofold = versions(desugar(seen.optimised))
    fun, tests = own(twofold.fun).fun, twofold.tests
    plans = schedule(fun, parallel=seen.settings.parallel, tests=tests)
    return Decisions(Words(fun, header(seen).bindings), plans, tests).of(fun.body, 0)


class Words:
    """Sizes as the user would write them: in terms of arguments."""

    def __init__(self, fun: Fun, bindings: tuple[str, ...]) -> None:
        self.known = dict(zip(fun.params, bindings, strict=True))
        self.meant: dict[Var, Prim] = {}
        self._collect(fun.body)

    def _collect(self, body: Body) -> None:
        for stm in body.stms:
            if isinstance(stm.exp, Prim):
                self.meant[stm.outs[0]] = stm.exp
            for inner in bodies_of(stm.exp):
                self._collect(inner)

    def of(self, atom: Atom | int) -> str:
        if not isinstance(atom, Var):
            return str(atom.value if isinstance(atom, Const) else atom)
        if atom in self.known:
            return self.known[atom]
        match self.meant.get(atom):
            case Prim("max", (size, Const(value=0)) | (Const(value=0), size)):
                return self.of(size)  # a size is not negative
            case Prim("add", (left, Const(value=value)) | (Const(value=value), left)):
                return f"{self.of(left)} {'-' if value < 0 else '+'} {abs(value)}"
            case Prim("add" | "sub" as op, (left, right)):
                return f"{self.of(left)} {'+' if op == 'add' else '-'} {self.factor(right)}"
            case Prim("mul", (left, right)):
                return f"{self.factor(left)} * {self.factor(right)}"
            case Prim("floordiv", (left, right)):
                return f"{self.factor(left)} // {self.factor(right)}"
        return atom.hint

    def factor(self, atom: Atom | int) -> str:
        text = self.of(atom)
        return f"({text})" if " " in text else text

    def box(self, sizes: tuple[Atom, ...]) -> str:
        if len(sizes) == 1:
            return self.of(sizes[0])
        return " × ".join(map(self.factor, sizes)) or "one point"

    def memory(self, var: Var) -> str:
        """Bytes of an array, in terms of its sizes."""
        return " · ".join([str(var.dtype.bytes), *map(self.factor, var.shape)]) + " bytes"


class Decisions:
    """A walk over the program as it is lowered."""

    def __init__(self, words: Words, plans: Plans, tests: frozenset[Var]) -> None:
        self.words = words
        self.plans = plans
        self.tests = tests

    def of(self, body: Body, depth: int) -> Iterator[Note]:
        for stm in body.stms:
            for text in self.statement(stm, depth):
                yield Note(stm.loc, text)
            inside = depth + isinstance(stm.exp, Each | Fold | Scan | Loop)
            for inner in self.usual(stm.exp):
                yield from self.of(inner, inside)

    def usual(self, exp: Exp) -> tuple[Body, ...]:
        """Its bodies, without what is only for indices out of range."""
        is_test = isinstance(exp, If) and exp.cond in self.tests
        return bodies_of(exp)[:1] if is_test else bodies_of(exp)

    def statement(self, stm: Let, depth: int) -> Iterator[str]:
        exp = stm.exp
        match exp:
            case If(cond) if cond in self.tests:
                yield "indices are checked once, in front of the loop"
            case Each() if is_copy(exp):
                yield f"copies {self.array(stm.outs[0])}: it is needed again later"
            case Each(_, sizes, accs, _):
                yield f"parallel over {self.words.box(sizes)}: {self.plan(exp)}"
                yield from (accumulator(a) for a in accs)
                yield from self.arrays(stm, depth)
            case Fold(_, size, _, _) | Scan(_, size, _, _):
                word = "reduction" if isinstance(exp, Fold) else "scan"
                where = self.words.of(size)
                yield f"{word} over {where} by an operator of its own: {self.plan(exp)}"
                yield from self.arrays(stm, depth)
            case Loop(form, params):
                turns = (
                    f"{self.words.of(form.size)} passes"
                    if isinstance(form, For)
                    else "until its end"
                )
                carried = ", ".join(p.hint for p in params) or "nothing"
                yield f"sequential, {turns}; carries {carried}"
            case Alloc(kind):
                yield f"allocates {self.array(stm.outs[0])}, {kind}"
            case Append(array):
                yield f"appends to {array.hint}, which grows in place"
            case Sort(array):
                yield f"sorts {array.hint} (stable merge sort)"
            case Call(callee):
                yield f"calls {callee}"
            case Check(_, error, message):
                shown = re.sub(r"\{\d+\}", "…", message)
                yield f"checked: {error}{f' ({shown})' if shown else ''}"
            case Index(array, _, modes) | Update(array, _, _, modes):
                yield from index_check(array, modes)
            case Put(targets, _, _, modes):
                yield from index_check(targets[0], modes)

    def plan(self, nest: Each | Fold | Scan) -> str:
        names = [v.hint for v in nest.vars] if isinstance(nest, Each) else [nest.var.hint]
        if isinstance(nest, Fold):
            return f"{names[0]} in order"
        parts = []
        for level in self.plans.of(nest).levels:
            text = f"{names[level.dim]} {KINDS[level.kind]}"
            if level.blocks:
                text = f"blocks of {text}"
            if level.copies:
                text += ", each adding to copies of its own"
            if level.rows > 1:
                text += f", {level.rows} at a time"
            parts.append(text)
        return "; ".join(parts) or "a single pass"

    def array(self, var: Var) -> str:
        return f"{var.hint} ({self.words.memory(var)})"

    def arrays(self, stm: Let, depth: int) -> Iterator[str]:
        """New arrays among the results."""
        if isinstance(stm.exp, Each):
            made = stm.outs[: len(stm.exp.body.results)]
        else:
            made = stm.outs
        for out in made:
            if out.is_array:
                where = " in every pass" if depth else ""
                yield f"makes {self.array(out)}{where}"


def accumulator(acc: Acc) -> str:
    names = ", ".join(v.hint for v in acc.vars)
    if acc.op == "=":
        return f"writes {names} in place, each element at most once"
    op = "an operator of its own" if isinstance(acc.op, Monoid) else acc.op
    where = "elements of an array" if acc.vars[0].is_array else "a register"
    return f"accumulates {names} by {op}, in {where}"


def index_check(array: Var, modes: str) -> Iterator[str]:
    for axis, mode in enumerate(modes):
        if mode in "cw":
            kind = "index" if mode == "c" else "index, which may be negative,"
            yield f"checked: {kind} of axis {axis} of {array.hint}"
        elif mode == "i":
            yield f"ignored where outside: axis {axis} of {array.hint}"
