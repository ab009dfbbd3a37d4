"""Products of float32 for Triton's interpreter, in the precision that a kernel asks for: tf32 by default."""

from __future__ import annotations

from typing import Any

import numpy

_HALF_A_STEP, _DROPPED = 1 << 12, (1 << 13) - 1
"""Tf32 keeps ten of the 23 bits of float32's mantissa."""


def offer_tf32(interpreter: Any) -> None:
    """Replace the interpreter's product, which takes float32 as it is. What a GPU computes as three products in tf32
    comes near to float32, and is left so."""
    multiply, float32 = interpreter.InterpreterBuilder.create_dot, interpreter.tl.float32

    def rounded(value: Any) -> Any:
        is_wide = value.dtype.scalar == float32
        return interpreter.TensorHandle(rounded_to_tf32(value.data), float32) if is_wide else value

    def multiplied(builder: Any, a: Any, b: Any, d: Any, precision: Any, *rest: Any) -> Any:
        if getattr(precision, "name", None) == "TF32":
            a, b = rounded(a), rounded(b)
        return multiply(builder, a, b, d, precision, *rest)

    interpreter.InterpreterBuilder.create_dot = multiplied


def rounded_to_tf32(numbers: Any) -> Any:
    """Round to nearest, ties away from zero, as cvt.rna.tf32.f32 does (PTX ISA 8.7, section 9.7.9)."""
    numbers = numpy.ascontiguousarray(numbers)
    rounded = ((numbers.view(numpy.uint32) + numpy.uint32(_HALF_A_STEP)) & ~numpy.uint32(_DROPPED)).view(numpy.float32)
    return numpy.where(numpy.isnan(numbers), numbers, rounded)
