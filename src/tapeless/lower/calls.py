"""Foreign calls: operands and results as the slots that `Call` of Loop IR fills."""

from __future__ import annotations

from tapeless.core.names import Atom, Var
from tapeless.ir.syntax import Call, Let, View
from tapeless.loop import syntax as loop
from tapeless.loop.syntax import Buf, Row, Value
from tapeless.lower.builder import index
from tapeless.lower.loops import Loops


class Calls(Loops):
    """An array takes a data pointer, then its sizes, then its strides."""

    def call(self, stm: Let, exp: Call) -> None:
        assert isinstance(exp.callee, str), "rules are gone when nothing more is differentiated"
        slots: list[Value] = []
        for arg in exp.args:
            slots += self.operand(arg)
        *results, status = stm.outs
        for out in results:
            assert out.is_array, "foreign functions give arrays and a status"
            place = self.make(out)
            if not self.is_contiguous(place, out):
                place = self.allocate(out)
            slots += self.array_slots(self.view(place, out))
            self.places[out] = place
        self.foreign.setdefault(exp.callee)
        self.emit(loop.Call(exp.callee, tuple(slots), status))
        self.bind(status)

    def operand(self, arg: Atom | View) -> list[Value]:
        if isinstance(arg, View):
            return self.array_slots(self.viewed(arg))
        if isinstance(arg, Var) and arg.is_array:
            return self.array_slots(self.view(self.places[arg], arg))
        return [self.atom(arg)]

    def viewed(self, view: View) -> Buf:
        """The cells of a base array from `at` on along some of its axes."""
        place = self.places[view.array]
        base = place.buf.strides[len(place.prefix) :]
        sizes = self.all(tuple(size for _, size, _ in view.dims))
        strides = tuple(self.op("mul", base[axis], index(step)) for axis, _, step in view.dims)
        out = Buf(place.buf.dtype, sizes, strides, view.array.hint, place.buf.space)
        self.emit(Row(out, place.buf, place.prefix + self.all(view.at)))
        return out

    def array_slots(self, buf: Buf) -> list[Value]:
        return [buf, *buf.shape, *buf.strides]
