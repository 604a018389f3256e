"""Memory for buffers, copies of whole buffers, and calls of foreign functions."""

from __future__ import annotations

from abc import abstractmethod

from tapeless.core.names import Atom, Const, Var
from tapeless.core.types import INDEX, Scalar, i64
from tapeless.emit import operators
from tapeless.emit.rare import CACHE_LINE, FOREIGN
from tapeless.emit.rows import Rows
from tapeless.emit.values import ZERO, Ptr
from tapeless.loop.syntax import (
    LOCAL,
    SEQ,
    Alloc,
    Block,
    Buf,
    Call,
    Copy,
    For,
    Load,
    Row,
    Store,
)

STACK_BYTES = 4096  # a buffer of known size up to this lies on the stack ...
STACK_TOTAL = 1 << 17  # ... while all of a function's together have no more than this
ONE = Const(1, i64)


class Storage(Rows):
    """Allocation, copying and foreign calls."""

    @abstractmethod
    def block(self, block: Block) -> None:
        """Emit the statements of a block."""

    def allocate(self, stm: Alloc) -> None:
        buf = stm.buf
        lanes = self.width if buf.space == LOCAL else 1
        sizes = [self.most(size) for size in buf.shape]
        size = self.bytes_for(sizes, buf.dtype.bytes * lanes)
        known = int(size) if size.isdigit() else None
        if stm.result is not None:
            base = self.result_memory(size)
        elif known is not None and self.may_be_on_stack(buf, known):
            self.stack_bytes += known
            base = self.a.alloca(f"[{max(known, 1)} x i8]", CACHE_LINE)
        else:
            base = self.arena(size)
        if stm.zero:
            self.a.do(
                f"call void @llvm.memset.p0.i64(ptr align {CACHE_LINE} {base}, i8 0, "
                f"i64 {size}, i1 false)"
            )
        self.env[buf] = Ptr(base, ZERO, lanes, False, self.unit.memory.root(buf))

    def may_be_on_stack(self, buf: Buf, size: int) -> bool:
        """A buffer that a loop passes on may not: each turn of the loop needs another one."""
        if size > STACK_BYTES or self.stack_bytes + size > STACK_TOTAL:
            return False
        return not self.levels or not self.unit.memory.is_kept(buf)

    def most(self, size: Atom) -> str:
        """A size as a scalar: where lanes differ, that of the longest."""
        value = self.val(size)
        if value.is_uniform:
            return value.text
        at_least = self.vec(value)
        zero = self.vec(ZERO)
        top = operators.intrinsic(self.a, "smax", (at_least, zero), i64, self.width)
        return self.folded("max", top, i64, self.width)

    # copies
    def copy(self, stm: Copy) -> None:
        """A stretch of memory where both lie contiguous in their last axes, a loop nest around it.

        Lanes' own buffers are copied in all lanes, also in those that do not ask for it: where a
        pointer moves it moves for all of them."""
        dst, src = stm.dst, stm.src
        if self.width > 1:
            own = dst.space == LOCAL and src.space == LOCAL
            with self.masked(None if own else self.mask):
                self.block(self._nest(dst, src, len(dst.shape)))
            return
        joined = min(self.contiguous_axes(dst), self.contiguous_axes(src))
        if joined == len(dst.shape):
            self._move(dst, src)
        else:
            self.block(self._nest(dst, src, len(dst.shape) - joined))

    def _nest(self, dst: Buf, src: Buf, axes: int) -> Block:
        """Loops over the leading axes around a copy of the rest."""
        at = tuple(Var(INDEX, "c") for _ in range(axes))
        if axes == len(dst.shape):
            value = Var(Scalar(src.dtype), "x")
            body = Block((Load(value, src, at), Store(dst, at, value)))
        else:
            rows = [Buf(b.dtype, b.shape[axes:], b.strides[axes:], b.hint) for b in (dst, src)]
            body = Block((Row(rows[0], dst, at), Row(rows[1], src, at), Copy(*rows)))
        for index, size in zip(reversed(at), reversed(dst.shape[:axes]), strict=True):
            body = Block((For((), index, Const(0, i64), size, SEQ, (), (), body),))
        return body

    def contiguous_axes(self, buf: Buf) -> int:
        """How many of the last axes lie behind one another without gaps."""
        expected: tuple[Atom, Atom] = (ONE, ONE)
        for count, (size, stride) in enumerate(
            zip(reversed(buf.shape), reversed(buf.strides), strict=True)
        ):
            if not self.is_product(stride, *expected):
                return count
            expected = (size, stride)
        return len(buf.shape)

    def is_product(self, atom: Atom, x: Atom, y: Atom) -> bool:
        if isinstance(x, Const) and isinstance(y, Const):
            return atom == Const(int(x.value) * int(y.value), i64)
        if ONE in (x, y):
            return atom == (y if x == ONE else x)
        return isinstance(atom, Var) and self.factors.get(atom) in ((x, y), (y, x))

    def _move(self, dst: Buf, src: Buf) -> None:
        """All elements at once: both are contiguous."""
        size = self.bytes_for([self.scalar(s) for s in dst.shape], dst.dtype.bytes)
        align = dst.dtype.bytes
        self.a.do(
            f"call void @llvm.memcpy.p0.p0.i64(ptr align {align} {self.ptr(dst).base}, "
            f"ptr align {align} {self.ptr(src).base}, i64 {size}, i1 false)"
        )

    # foreign functions
    def call(self, stm: Call) -> None:
        """A foreign function, with its operands in slots on the stack."""
        assert self.width == 1, "a loop that calls foreign functions has no lanes"
        slots = self.a.alloca(f"[{max(len(stm.args), 1)} x i64]", 8)
        for k, arg in enumerate(stm.args):
            where = self.slot(slots, k)
            if isinstance(arg, Buf):
                self.a.do(f"store ptr {self.ptr(arg).base}, ptr {where}, align 8")
            else:
                self.a.do(f"store i64 {self.to_slot(self.val(arg))}, ptr {where}, align 8")
        number = self.unit.proc.foreign.index(stm.callee)
        table = self.get(FOREIGN, "ptr")
        entry = self.slot(table, number)
        function = self.a.let(f"load ptr, ptr {entry}, align 8")
        self.bind(stm.out, self.a.let(f"call i64 {function}(ptr {slots})"))
