"""Loop IR as text, for people: one statement a line, blocks indented."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tapeless.core.names import Const, Var
from tapeless.core.prims import OPS
from tapeless.loop.syntax import (
    LOCAL,
    Alloc,
    AnyLane,
    Block,
    Buf,
    Call,
    Check,
    Combine,
    Copy,
    For,
    If,
    Load,
    Name,
    Op,
    Proc,
    Reduce,
    Row,
    Scope,
    Stm,
    Store,
    Team,
    Value,
    While,
)  # fmt: skip


def show(proc: Proc) -> str:
    """The text of a kernel."""
    printer = _Printer()
    params = ", ".join(printer.binder(p) for p in proc.params)
    lines = [f"proc {proc.name}({params}) {{"]
    lines += printer.block(proc.body)
    lines.append(f"  return {printer.values(proc.results)}".rstrip())
    lines.append("}")
    for k, site in enumerate(proc.sites):
        lines.append(f"site {k}: {site.error} {site.message!r} at {site.loc or '?'}")
    return "\n".join(lines) + "\n"


class _Printer:
    """Gives every name a text of its own."""

    def __init__(self) -> None:
        self.names: dict[Name, str] = {}
        self.taken: dict[str, int] = {}

    def name(self, name: Name) -> str:
        known = self.names.get(name)
        if known is None:
            count = self.taken.get(name.hint, 0)
            self.taken[name.hint] = count + 1
            known = self.names[name] = name.hint if count == 0 else f"{name.hint}.{count}"
        return known

    def value(self, value: Value) -> str:
        if not isinstance(value, Const):
            return self.name(value)
        text = str(value.value).lower() if value.dtype.is_bool else str(value.value)
        return text if value.dtype.name in ("i64", "f64", "bool") else f"{text}:{value.dtype}"

    def values(self, values: Sequence[Value]) -> str:
        return ", ".join(map(self.value, values))

    def binder(self, name: Name) -> str:
        if isinstance(name, Var):
            return f"{self.name(name)}: {name.dtype}"
        space = " local" if name.space == LOCAL else ""
        shape, strides = self.values(name.shape), self.values(name.strides)
        return f"{self.name(name)}: {name.dtype}[{shape} | {strides}]{space}"

    def cell(self, buf: Buf, at: Sequence[Value]) -> str:
        return f"{self.name(buf)}[{self.values(at)}]"

    def block(self, block: Block, *, results: str = "") -> list[str]:
        lines = [f"  {line}" for stm in block.stms for line in self.stm(stm)]
        if results and block.results:
            lines.append(f"  {results} {self.values(block.results)}")
        return lines

    def stm(self, stm: Stm) -> Iterator[str]:
        match stm:
            case Op(out, op, args, loose):
                symbol = OPS[op].symbol
                text = (
                    f" {symbol} ".join(map(self.value, args)) if symbol and len(args) == 2 else ""
                )
                text = text or f"{op}({self.values(args)})"
                yield f"{self.binder(out)} = {text}{'  ~' if loose else ''}"
            case AnyLane(out, cond):
                yield f"{self.binder(out)} = any lane {self.value(cond)}"
            case Team(out):
                yield f"{self.binder(out)} = team"
            case Load(out, buf, at):
                yield f"{self.binder(out)} = {self.cell(buf, at)}"
            case Store(buf, at, value):
                yield f"{self.cell(buf, at)} = {self.value(value)}"
            case Combine(op, buf, at, value):
                yield f"{self.cell(buf, at)} {op}= {self.value(value)}"
            case Alloc(buf, zero, result):
                kind = "zeros" if zero else "empty"
                place = "" if result is None else f" as result {result}"
                yield f"{self.binder(buf)} = {kind}{place}"
            case Row(out, buf, at):
                yield f"{self.binder(out)} = row {self.cell(buf, at)}"
            case Copy(dst, src):
                yield f"copy {self.name(dst)} <- {self.name(src)}"
            case Check(cond, site, args):
                yield f"check {self.value(cond)} else site {site} ({self.values(args)})"
            case Call(callee, args, out):
                yield f"{self.binder(out)} = call {callee}({self.values(args)})"
            case _:
                yield from self.nested(stm)

    def nested(self, stm: Scope | For | While | If) -> Iterator[str]:
        outs = ", ".join(map(self.binder, stm.outs))
        outs = f"{outs} = " if outs else ""
        match stm:
            case Scope(_, body):
                yield f"{outs}scope {{"
                yield from self.block(body, results="yield")
            case For(_, var, start, stop, kind, params, inits, body, reduces, work):
                state = self.state(params, inits)
                after = "".join(f" {self.reduce(r)}" for r in reduces)
                after += f" work {self.value(work)}" if work is not None else ""
                bounds = f"{self.name(var)} in {self.value(start)}:{self.value(stop)}"
                yield f"{outs}for {kind} {bounds}{state}{after} {{"
                yield from self.block(body, results="next")
            case While(_, params, inits, cond, body):
                yield f"{outs}while{self.state(params, inits)} {{"
                yield from self.block(cond, results="holds")
                yield "} do {"
                yield from self.block(body, results="next")
            case If(_, cond, then, orelse):
                yield f"{outs}if {self.value(cond)} {{"
                yield from self.block(then, results="yield")
                if orelse.stms or orelse.results:
                    yield "} else {"
                    yield from self.block(orelse, results="yield")
        yield "}"

    def state(self, params: Sequence[Name], inits: Sequence[Value]) -> str:
        pairs = zip(params, inits, strict=False)
        text = ", ".join(f"{self.binder(p)} = {self.value(i)}" for p, i in pairs)
        return f" with ({text})" if text else ""

    def reduce(self, reduce: Reduce) -> str:
        positions = ", ".join(map(str, reduce.params))
        ordered = " in order" if reduce.ordered else ""
        return f"reduce({positions}) by {reduce.op or 'op'}{ordered}"
