"""A small builder that writes LLVM IR text from expressions which read like mathematics.

`Ops(name, bits, width)` is one function under construction.  Its values are `Float`, `Int` and
`Mask`, each `width` lanes wide (width 1: plain scalars), with the Python operators one expects;
Python numbers are broadcast.  Nothing here depends on a target: the text is valid on any CPU.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tapeless.emit.math.blocks import spread
from tapeless.emit.math.values import FORMATS, Float, Int, Mask, Number

ATTRIBUTES = "nounwind willreturn memory(none)"
BLOCK = 8  # lanes of a function of which one copy serves all widths

# Definitions of inner functions by symbol: equal symbols have equal texts.
_FINISHED: dict[str, dict[str, str]] = {}


class Ops:
    """One LLVM function under construction, and the definitions it has needed so far."""

    def __init__(self, name: str, bits: int, width: int, arity: int) -> None:
        self.name, self.format, self.bits, self.width = name, FORMATS[bits], bits, width
        self.symbol = f"tp.{name}.f{bits}x{width}"
        self.float_type = self.type(self.format.llvm)
        self.int_type = self.type(f"i{bits}")
        self.mask_type = self.type("i1")
        self.suffix = f"v{width}f{bits}" if width > 1 else f"f{bits}"
        self.args = [Float(self, f"%x{i}") for i in range(arity)]
        self.definitions: dict[str, str] = {}
        self.lines: list[str] = []
        self.block = "entry"
        self._known: dict[str, str] = {}
        self._count = 0

    # Text ------------------------------------------------------------------------------------

    def type(self, scalar: str) -> str:
        """The type of `width` lanes of `scalar`."""
        return scalar if self.width == 1 else f"<{self.width} x {scalar}>"

    def splat(self, scalar: str, text: str) -> str:
        """The constant that holds `text` in every lane."""
        return text if self.width == 1 else f"splat ({scalar} {text})"

    def emit(self, instruction: str) -> str:
        """The name of the value of `instruction`, written once however often it is asked for."""
        if instruction not in self._known:
            self._known[instruction] = self._append(instruction)
        return self._known[instruction]

    def _append(self, instruction: str) -> str:
        self._count += 1
        self.lines.append(f"  %v{self._count} = {instruction}")
        return f"%v{self._count}"

    def _label(self, stem: str) -> str:
        self._count += 1
        return f"{stem}{self._count}"

    def _start(self, label: str) -> None:
        self.lines.append(f"{label}:")
        self.block = label

    def finish(self, result: Float, attributes: str = ATTRIBUTES) -> dict[str, str]:
        """All definitions of this function, which returns `result`; its own comes last."""
        args = ", ".join(f"{self.float_type} {arg.ref}" for arg in self.args)
        head = f"define internal {self.float_type} @{self.symbol}({args}) unnamed_addr {attributes}"
        body = "\n".join(["entry:", *self.lines, f"  ret {self.float_type} {result.ref}"])
        return {**self.definitions, self.symbol: f"{head} {{\n{body}\n}}\n"}

    # Constants, conversions ------------------------------------------------------------------

    def number(self, value: Float | Number) -> Float:
        """`value`, a Python number broadcast to all lanes."""
        if isinstance(value, Float):
            return value
        bits = FORMATS[64].encode(self.format.round(value))
        return Float(self, self.splat(self.format.llvm, f"0x{bits:016X}"))

    def integer(self, value: Int | int) -> Int:
        """`value`, a Python integer broadcast to all lanes."""
        if isinstance(value, Int):
            return value
        value = (value + (1 << (self.bits - 1))) % (1 << self.bits) - (1 << (self.bits - 1))
        return Int(self, self.splat(f"i{self.bits}", str(value)))

    def bits_of(self, x: Float) -> Int:
        """The bit pattern of x."""
        return Int(self, self.emit(f"bitcast {self.float_type} {x.ref} to {self.int_type}"))

    def from_bits(self, n: Int) -> Float:
        """The number whose bit pattern is n."""
        return Float(self, self.emit(f"bitcast {self.int_type} {n.ref} to {self.float_type}"))

    def power_of_two(self, n: Int) -> Float:
        """2^(n - bias), for the low exponent bits of n."""
        return self.from_bits(n << self.format.mantissa)

    def small_int(self, n: Int) -> Float:
        """An unsigned n < 2^mantissa as a number: (2^mantissa + n) - 2^mantissa, in bits."""
        shift = 2.0**self.format.mantissa
        return self.from_bits(n | self.format.encode(shift)) - shift

    # Operations ------------------------------------------------------------------------------

    def call(self, intrinsic: str, *args: Float) -> Float:
        """The value of an LLVM intrinsic of floats."""
        operands = ", ".join(f"{self.float_type} {arg.ref}" for arg in args)
        text = f"call {self.float_type} @llvm.{intrinsic}.{self.suffix}({operands})"
        return Float(self, self.emit(text))

    def fma(self, a: Float | Number, b: Float | Number, c: Float | Number) -> Float:
        """a b + c, rounded once."""
        return self.call("fma", self.number(a), self.number(b), self.number(c))

    def sqrt(self, x: Float) -> Float:
        """The square root, correctly rounded."""
        return self.call("sqrt", x)

    def rint(self, x: Float) -> Float:
        """x rounded to the nearest integer, ties to even."""
        return self.call("rint", x)

    def trunc(self, x: Float) -> Float:
        """x rounded toward zero."""
        return self.call("trunc", x)

    def floor(self, x: Float) -> Float:
        """x rounded down."""
        return self.call("floor", x)

    def copysign(self, magnitude: Float | Number, sign: Float) -> Float:
        """|magnitude| with the sign of `sign`."""
        return self.call("copysign", self.number(magnitude), sign)

    def select(self, mask: Mask, yes: Float | Number, no: Float | Number) -> Float:
        """`yes` in the lanes of the mask, `no` elsewhere."""
        a, b = self.number(yes).ref, self.number(no).ref
        kinds = f"{self.mask_type} {mask.ref}, {self.float_type} {a}, {self.float_type} {b}"
        return Float(self, self.emit(f"select {kinds}"))

    def select_int(self, mask: Mask, yes: Int | int, no: Int | int) -> Int:
        """`yes` in the lanes of the mask, `no` elsewhere."""
        a, b = self.integer(yes).ref, self.integer(no).ref
        kinds = f"{self.mask_type} {mask.ref}, {self.int_type} {a}, {self.int_type} {b}"
        return Int(self, self.emit(f"select {kinds}"))

    def min(self, x: Float, y: Float | Number) -> Float:
        """y where y < x, else x (so a nan in x stays)."""
        return self.select(self.number(y) < x, y, x)

    def max(self, x: Float, y: Float | Number) -> Float:
        """y where y > x, else x (so a nan in x stays)."""
        return self.select(self.number(y) > x, y, x)

    def poly(self, x: Float, coefficients: Sequence[Float | Number]) -> Float:
        """c0 + c1 x + c2 x^2 + ..., by Horner's rule on the even and on the odd powers.

        The two halves run side by side; only c0 + x (c1 + ...) is rounded at full size."""
        if len(coefficients) < 6:
            return self.horner(x, coefficients)
        square = x * x
        even = self.horner(square, coefficients[2::2])
        odd = self.horner(square, coefficients[1::2])
        return self.fma(square, even, self.fma(x, odd, coefficients[0]))

    def horner(self, x: Float, coefficients: Sequence[Float | Number]) -> Float:
        """c0 + x (c1 + x (c2 + ...))."""
        total = self.number(coefficients[-1])
        for c in reversed(coefficients[:-1]):
            total = self.fma(total, x, c)
        return total

    # Memory, control flow --------------------------------------------------------------------

    def table(self, name: str, values: Sequence[float], index: Int) -> Float:
        """values[index]; the index of every lane must lie inside the table."""
        scalar, f = self.format.llvm, self.format
        symbol = f"tp.table.{name}.f{self.bits}"
        cells = ", ".join(f"{scalar} 0x{FORMATS[64].encode(f.round(v)):016X}" for v in values)
        kind = f"[{len(values)} x {scalar}]"
        self.definitions[symbol] = f"@{symbol} = internal unnamed_addr constant {kind} [{cells}]\n"
        where = f"getelementptr inbounds {kind}, ptr @{symbol}, i64 0, {self.int_type} {index.ref}"
        if self.width == 1:
            return Float(self, self.emit(f"load {scalar}, ptr {self.emit(where)}"))
        pointers = f"<{self.width} x ptr> align {self.bits // 8} {self.emit(where)}"
        mask = f"{self.mask_type} {self.splat('i1', 'true')}"
        callee = f"@llvm.masked.gather.{self.suffix}.v{self.width}p0"
        rest = f"{mask}, {self.float_type} poison"
        return Float(self, self.emit(f"call {self.float_type} {callee}({pointers}, {rest})"))

    def function(
        self, name: str, body: Callable[..., Float], *args: Float, bits: int = 0, lanes: int = 0,
        cold: bool = False,
    ) -> Float:  # fmt: skip
        """body(o, *args) as a function of its own, `lanes` wide (as this one, unless given)."""
        inner = Ops(name, bits or self.bits, lanes or self.width, len(args))
        if inner.symbol not in _FINISHED:
            attributes = "noinline cold " * cold + ATTRIBUTES
            _FINISHED[inner.symbol] = inner.finish(body(inner, *inner.args), attributes)
        self.definitions.update(_FINISHED[inner.symbol])
        write = self._append if cold else self.emit

        def call(*refs: str) -> str:
            operands = ", ".join(f"{inner.float_type} {ref}" for ref in refs)
            return write(f"call {inner.float_type} @{inner.symbol}({operands})")

        refs = [arg.ref for arg in args]
        scalar = inner.format.llvm
        return Float(self, spread(write, call, scalar, refs, self.width, inner.width))

    def widened(self, name: str, body: Callable[..., Float], *args: Float, lanes: int = 0) -> Float:
        """body(o, *args) by way of 64-bit floats."""
        double = self.type("double")
        wide = [
            Float(self, self.emit(f"fpext {self.float_type} {x.ref} to {double}")) for x in args
        ]
        value = self.function(name, body, *wide, bits=64, lanes=lanes)
        return Float(self, self.emit(f"fptrunc {double} {value.ref} to {self.float_type}"))

    def any(self, mask: Mask) -> str:
        """Whether the mask holds in any lane, a scalar."""
        if self.width == 1:
            return mask.ref
        callee = f"@llvm.vector.reduce.or.v{self.width}i1"
        return self.emit(f"call i1 {callee}({self.mask_type} {mask.ref})")

    def rarely(self, mask: Mask, slow: Callable[..., Float], fast: Float, *args: Float) -> Float:
        """`fast`, but slow(o, *args) in the lanes of the mask.

        The slow function stands out of line, BLOCK lanes wide so that all widths share one copy,
        and is called only when some lane needs it."""
        rare, join, before = self._label("rare"), self._label("join"), self.block
        self.lines.append(f"  br i1 {self.any(mask)}, label %{rare}, label %{join}")
        self._start(rare)
        name = f"{self.name}.{slow.__name__.strip('_')}"
        value = self.function(name, slow, *args, lanes=BLOCK, cold=True)
        kinds = f"{self.mask_type} {mask.ref}, {self.float_type} {value.ref}"
        merged = self._append(f"select {kinds}, {self.float_type} {fast.ref}")
        self.lines.append(f"  br label %{join}")
        self._start(join)
        arms = f"[ {fast.ref}, %{before} ], [ {merged}, %{rare} ]"
        return Float(self, self._append(f"phi {self.float_type} {arms}"))

    def repeat(
        self, body: Callable[[Float], Float], start: Float, proceed: Callable[[Float], Mask]
    ) -> Float:
        """x = start; while proceed(x) holds in any lane: x = body(x)."""
        head, loop, done, before = (*map(self._label, ("head", "loop", "done")), self.block)
        self.lines.append(f"  br label %{head}")
        self._start(head)
        phi = len(self.lines)
        x = Float(self, self._append("phi"))
        known = dict(self._known)
        test = self.any(proceed(x))
        self.lines.append(f"  br i1 {test}, label %{loop}, label %{done}")
        self._start(loop)
        after = body(x)
        arms = f"[ {start.ref}, %{before} ], [ {after.ref}, %{self.block} ]"
        self.lines[phi] = f"  {x.ref} = phi {self.float_type} {arms}"
        self.lines.append(f"  br label %{head}")
        self._known = known
        self._start(done)
        return x
