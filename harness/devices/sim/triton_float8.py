"""Conversions of float8 for Triton's interpreter, which loses the carry of a mantissa that is rounded up."""

from __future__ import annotations

from typing import Any  # Triton has no types

import numpy

from harness.devices.sim.triton_bfloat16 import narrow, wide
from harness.devices.sim.triton_libdevice import not_traced


def offer_float8(interpreter: Any) -> None:
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
        return wide(value.data) if kind == language.bfloat16 else value.data.astype(numpy.float32)

    def of_kind(numbers: Any, kind: Any) -> Any:
        if kind in kinds:
            most = torch.finfo(kinds[kind]).max
            return torch.from_numpy(numbers).clamp(-most, most).to(kinds[kind]).view(torch.uint8).numpy()
        return narrow(numbers) if kind == language.bfloat16 else numbers.astype(interpreter._get_np_dtype(kind))

    def converted(builder: Any, source: Any, kind: Any, rounding: Any) -> Any:
        if rounding == toward_zero or not {source.dtype.scalar, kind.scalar} & set(kinds):
            return convert(builder, source, kind, rounding)
        with not_traced():
            return interpreter.TensorHandle(of_kind(numbers_of(source), kind.scalar), kind.scalar)

    builder.create_fp_to_fp = converted
