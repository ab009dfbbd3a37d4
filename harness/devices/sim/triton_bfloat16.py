"""Arithmetic on bfloat16 for Triton's interpreter, which keeps such numbers as integers and calculates with their bits:
in float32 instead, rounded to the nearest and to even, as on a GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

_OPERATIONS = ("unary_op", "binary_op", "ternary_op", "create_fma", "create_rsqrt", "create_erf")


def offer_bfloat16(interpreter: Any) -> None:
    """Replace the interpreter's operations, conversions, products, reductions and scans by such that know bfloat16."""
    bfloat16, float32, handle_of = interpreter.tl.bfloat16, interpreter.tl.float32, interpreter.TensorHandle
    builder = interpreter.InterpreterBuilder
    convert, multiply, change = builder.cast_impl, builder.create_dot, builder.create_atomic_rmw

    def is_narrow(value: Any) -> bool:
        """False for comparisons, which have the dtype of what they compare, whatever their data are."""
        return isinstance(value, handle_of) and value.dtype.scalar == bfloat16 and value.data.dtype == numpy.uint16

    def widened(value: Any) -> Any:
        return handle_of(wide(value.data), float32) if is_narrow(value) else value

    def narrowed(value: Any) -> Any:
        return handle_of(narrow(value.data) if value.data.dtype == numpy.float32 else value.data, bfloat16)

    def in_float32(operation: Callable[..., Any]) -> Callable[..., Any]:
        def calculated(builder: Any, *operands: Any) -> Any:
            found = operation(builder, *map(widened, operands))
            return narrowed(found) if any(map(is_narrow, operands)) else found

        return calculated

    def converted(builder: Any, source: Any, kind: Any) -> Any:
        if kind.scalar == bfloat16:
            return narrowed(convert(builder, widened(source), float32))
        return convert(builder, widened(source), kind)

    def changed(builder: Any, operation: Any, pointer: Any, value: Any, *rest: Any) -> Any:
        if is_narrow(value):
            raise NotImplementedError("atomic operations on bfloat16")
        return change(builder, operation, pointer, value, *rest)

    def gathered(apply: Callable[..., Any]) -> Callable[..., Any]:
        def applied(operation: Any, values: Sequence[Any]) -> list[Any]:
            given = [widened(value.handle) for value in values]
            wide_ones = [
                operation.to_tensor(handle.data, float32) if is_narrow(value.handle) else value
                for handle, value in zip(given, values, strict=True)
            ]
            found = apply(operation, tuple(wide_ones))
            found = list(found) if isinstance(found, (list, tuple)) else [found]
            for place, (one, value) in enumerate(zip(found, values, strict=False)):
                if is_narrow(value.handle):
                    found[place] = operation.to_tensor(narrow(one.handle.data), bfloat16)
            return found

        return applied

    for name in _OPERATIONS:
        setattr(builder, name, in_float32(getattr(builder, name)))
    builder.cast_impl, builder.create_atomic_rmw = converted, changed
    builder.create_dot = lambda self, a, b, *rest: multiply(self, widened(a), widened(b), *rest)
    for kind in (interpreter.ReduceOps, interpreter.ScanOps):
        kind.apply_impl = gathered(kind.apply_impl)


def wide(bits: Any) -> Any:
    """The float32 numbers that these bits of bfloat16 stand for."""
    return (bits.astype(numpy.uint32) << 16).view(numpy.float32)


def narrow(numbers: Any) -> Any:
    """The bits of the bfloat16 numbers nearest to float32 numbers."""
    bits = numpy.ascontiguousarray(numbers).view(numpy.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    return numpy.where(numpy.isnan(numbers), 0x7FC0, rounded).astype(numpy.uint16)
