"""LLVM instructions of the operations on words; {0}, {1} stand for the operands."""

from __future__ import annotations

import ast
import platform

BINARY = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.BitAnd: "and", ast.BitOr: "or",
    ast.BitXor: "xor", ast.LShift: "shl", ast.RShift: "ashr",
}  # fmt: skip
COMPARE = {
    ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "slt", ast.LtE: "sle", ast.Gt: "sgt", ast.GtE: "sge",
}  # fmt: skip
# Accesses of the word at {0}: some have a result, some none.
READ = {
    "load": "load i64, ptr {0}",
    "see": "load atomic i64, ptr {0} acquire, align 8",
    "exchange": "atomicrmw xchg ptr {0}, i64 {1} acq_rel",
    "add_atomically": "atomicrmw add ptr {0}, i64 {1} acq_rel",
}
WRITE = {
    "store": "store i64 {1}, ptr {0}",
    "publish": "store atomic i64 {1}, ptr {0} release, align 8",
}
OPERATION = {
    "divide": "sdiv i64 {0}, {1}",
    "remainder": "srem i64 {0}, {1}",
    "leading_zeros": "call i64 @llvm.ctlz.i64(i64 {0}, i1 false)",
    "min": "call i64 @llvm.smin.i64(i64 {0}, i64 {1})",
    "max": "call i64 @llvm.smax.i64(i64 {0}, i64 {1})",
}
DECLARED = (
    "declare i64 @llvm.ctlz.i64(i64, i1)",
    "declare i64 @llvm.smin.i64(i64, i64)",
    "declare i64 @llvm.smax.i64(i64, i64)",
)
# What a processor does in a loop that waits.
_MACHINES = {"x86_64": "pause", "AMD64": "pause", "aarch64": "yield", "arm64": "yield"}
PAUSE = _MACHINES.get(platform.machine(), "")
