"""What the kernels should compute, by plain torch on the CPU: rounding to any format, integers of 32 bits."""

from __future__ import annotations

from typing import Literal

import torch

Rounding = Literal["rn", "rz", "rd", "ru"]
ROUNDINGS: tuple[Rounding, ...] = ("rn", "rz", "rd", "ru")

_FORMATS = {torch.float16: (10, -14), torch.bfloat16: (7, -126), torch.float32: (23, -126)}
_MODES = {"rn": torch.round, "rz": torch.trunc, "rd": torch.floor, "ru": torch.ceil}


def rounded(value: torch.Tensor, dtype: torch.dtype, mode: Rounding = "rn") -> torch.Tensor:
    """`value` (float64, within the range of `dtype`) rounded once."""
    fraction_bits, least_exponent = _FORMATS[dtype]
    exponent = (torch.frexp(value.double()).exponent - 1).clamp(min=least_exponent)
    unit = torch.ldexp(torch.ones_like(value, dtype=torch.float64), exponent - fraction_bits)
    return (_MODES[mode](value.double() / unit) * unit).to(dtype)


def int32(value: torch.Tensor) -> torch.Tensor:
    """The low 32 bits, as a signed number."""
    return ((value + 2**31) % 2**32 - 2**31).to(torch.int32)


def unsigned(value: torch.Tensor) -> torch.Tensor:
    """32 bits read as an unsigned number."""
    return value.long() % 2**32


def signed_fields(word: torch.Tensor, bits: int) -> torch.Tensor:
    """The words' parts of `bits` bits as signed numbers, in a new last dimension."""
    parts = fields(word, bits)
    return torch.where(parts >= 2 ** (bits - 1), parts - 2**bits, parts)


def fields(word: torch.Tensor, bits: int) -> torch.Tensor:
    """The words' parts of `bits` bits, in a new last dimension."""
    shifts = torch.arange(0, 32, bits)
    return unsigned(word).unsqueeze(-1) >> shifts & (2**bits - 1)


def packed(parts: torch.Tensor, bits: int) -> torch.Tensor:
    """The other way: words of the low bits of `parts`."""
    shifts = torch.arange(0, 32, bits)
    return int32(((parts % 2**bits) << shifts).sum(-1))
