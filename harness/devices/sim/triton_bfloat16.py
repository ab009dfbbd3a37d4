"""Arithmetic on bfloat16 for Triton's interpreter.

The interpreter keeps such numbers as integers and calculates with their bits. Here operations calculate in float32 and
round to the nearest, ties to even, as a GPU does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

_OPERATIONS = ("unary_op", "binary_op", "ternary_op", "create_fma", "create_rsqrt", "create_erf")


def offer_bfloat16(interpreter: Any) -> None:
    """Replace the interpreter's operations, conversions, products, reductions and scans."""
    language, handle_of = interpreter.tl, interpreter.TensorHandle
    bfloat16, float32 = language.bfloat16, language.float32
    builder = interpreter.InterpreterBuilder
    convert, multiply, change = builder.cast_impl, builder.create_dot, builder.create_atomic_rmw

    def is_narrow(value: Any) -> bool:
        return isinstance(value, handle_of) and value.dtype.scalar == bfloat16

    def widened(value: Any) -> Any:
        return handle_of(wide(value.data), float32) if is_narrow(value) else value

    def narrowed(value: Any) -> Any:
        return handle_of(narrow(value.data), bfloat16)

    def in_float32(operation: Callable[..., Any]) -> Callable[..., Any]:
        def calculated(builder: Any, *operands: Any) -> Any:
            found = operation(builder, *map(widened, operands))
            is_number = found.data.dtype == numpy.float32  # and not what a comparison gives
            return narrowed(found) if is_number and any(map(is_narrow, operands)) else found

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
        """Triton's own ways to combine are arrays' at once; a stranger's goes through the operations above."""

        def applied(operation: Any, values: Sequence[Any]) -> Any:
            of_triton = operation.combine_fn.fn.__module__ == language.standard.__name__
            if not (of_triton and any(is_narrow(value.handle) for value in values)):
                return apply(operation, values)
            found = apply(operation, tuple(retyped(value, widened(value.handle)) for value in values))
            found = list(found) if isinstance(found, (list, tuple)) else [found]
            pairs = zip(found, values, strict=False)
            return [retyped(one, narrowed(one.handle)) if is_narrow(value.handle) else one for one, value in pairs]

        return applied

    def retyped(value: Any, handle: Any) -> Any:
        """The same block, or number, of another handle's type."""
        kind = handle.dtype.scalar
        return language.tensor(handle, language.block_type(kind, list(value.shape)) if value.type.is_block() else kind)

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
