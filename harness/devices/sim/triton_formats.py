"""Arithmetic in the formats that Triton's interpreter hasn't: bfloat16, float8, and tf32 for products of float32.

The interpreter keeps numbers of bfloat16 as integers and calculates with their bits, and for float8 it loses the carry
of a mantissa that is rounded up. Here operations calculate in float32 and round to the nearest, ties to even, as a GPU
does; products of float32 take the precision that a kernel asks for, tf32 by default.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any  # Triton has no types

import numpy

from harness.devices.sim.triton_libdevice import not_traced

_OPERATIONS = ("unary_op", "binary_op", "ternary_op", "create_fma", "create_rsqrt", "create_erf")
_DROPPED = (1 << 13) - 1
"""Tf32 keeps ten of the 23 bits of float32's mantissa."""


def offer_formats(interpreter: Any) -> None:
    """Replace what the interpreter does with numbers in these formats."""
    _offer_bfloat16(interpreter)
    _offer_float8(interpreter)
    _offer_tf32(interpreter)


def _offer_bfloat16(interpreter: Any) -> None:
    """Replace the interpreter's operations, conversions, products, reductions and scans."""
    language, handle_of = interpreter.tl, interpreter.TensorHandle
    bfloat16, float32 = language.bfloat16, language.float32
    builder = interpreter.InterpreterBuilder
    convert, multiply, change = builder.cast_impl, builder.create_dot, builder.create_atomic_rmw

    def is_narrow(value: Any) -> bool:
        return isinstance(value, handle_of) and value.dtype.scalar == bfloat16

    def widened(value: Any) -> Any:
        return handle_of(_wide(value.data), float32) if is_narrow(value) else value

    def narrowed(value: Any) -> Any:
        return handle_of(_narrow(value.data), bfloat16)

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


def _offer_float8(interpreter: Any) -> None:
    """Replace conversions to float8, which round to the nearest, ties to even, and saturate (cvt.rn.satfinite, PTX ISA
    8.7, section 9.7.9), and those from it. Rounding toward zero stays the interpreter's."""
    import torch

    language, builder = interpreter.tl, interpreter.InterpreterBuilder
    convert, toward_zero = builder.create_fp_to_fp, interpreter._ir.ROUNDING_MODE.RTZ
    kinds = {language.float8e4nv: torch.float8_e4m3fn, language.float8e5: torch.float8_e5m2}

    def numbers_of(value: Any) -> Any:
        kind = value.dtype.scalar
        if kind in kinds:
            return torch.from_numpy(numpy.ascontiguousarray(value.data)).view(kinds[kind]).float().numpy()
        return _wide(value.data) if kind == language.bfloat16 else value.data.astype(numpy.float32)

    def of_kind(numbers: Any, kind: Any) -> Any:
        if kind in kinds:
            most = torch.finfo(kinds[kind]).max
            return torch.from_numpy(numbers).clamp(-most, most).to(kinds[kind]).view(torch.uint8).numpy()
        return _narrow(numbers) if kind == language.bfloat16 else numbers.astype(interpreter._get_np_dtype(kind))

    def converted(builder: Any, source: Any, kind: Any, rounding: Any) -> Any:
        if rounding == toward_zero or not {source.dtype.scalar, kind.scalar} & set(kinds):
            return convert(builder, source, kind, rounding)
        with not_traced():
            return interpreter.TensorHandle(of_kind(numbers_of(source), kind.scalar), kind.scalar)

    builder.create_fp_to_fp = converted


def _offer_tf32(interpreter: Any) -> None:
    """Replace the interpreter's product, which takes float32 as it is. What a GPU computes as three products in tf32
    comes near to float32, and is left so."""
    multiply, float32 = interpreter.InterpreterBuilder.create_dot, interpreter.tl.float32

    def cut(value: Any) -> Any:
        is_wide = value.dtype.scalar == float32
        return interpreter.TensorHandle(_cut_to_tf32(value.data), float32) if is_wide else value

    def multiplied(builder: Any, a: Any, b: Any, d: Any, precision: Any, *rest: Any) -> Any:
        if getattr(precision, "name", None) == "TF32":
            a, b = cut(a), cut(b)
        return multiply(builder, a, b, d, precision, *rest)

    interpreter.InterpreterBuilder.create_dot = multiplied


def _wide(bits: Any) -> Any:
    """The float32 numbers that these bits of bfloat16 stand for."""
    return (bits.astype(numpy.uint32) << 16).view(numpy.float32)


def _narrow(numbers: Any) -> Any:
    """The bits of the bfloat16 numbers nearest to float32 numbers."""
    bits = numpy.ascontiguousarray(numbers).view(numpy.uint32)
    rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
    return numpy.where(numpy.isnan(numbers), 0x7FC0, rounded).astype(numpy.uint16)


def _cut_to_tf32(numbers: Any) -> Any:
    """Drop the bits that tensor cores don't read: Triton rounds nothing before them."""
    numbers = numpy.ascontiguousarray(numbers)
    cut = (numbers.view(numpy.uint32) & ~numpy.uint32(_DROPPED)).view(numpy.float32)
    return numpy.where(numpy.isnan(numbers), numbers, cut)
