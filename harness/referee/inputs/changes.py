"""Changes of a tensor in place: of its signs, its values' distance, their bits."""

from __future__ import annotations

import math

import torch

_SAMPLE = 2**16
"""Elements from which an input's spread is estimated."""
_CHUNK = 2**24
"""Elements for which random bits are drawn at a time."""
_SPECIAL_SHARE = 1 / 64
_BITS = 5
_LEAST_SPREAD = 2.0**-1000
"""Of inputs that are told apart: a small part of it is still a double."""
_MANTISSA, _EXPONENT = 0x007FFFFF, 0x7F800000
_LOWERED = 0b011_0_11111 << 7
"""Bits 8 to 16 behind the point of float32's mantissa. Rounded to nearest or cut off, to the ten bits of half and tf32
or to the seven of bfloat16, such a number loses nearly half a unit. So what the terms of a sum lose adds up, in
proportion, whatever their signs are."""
_BELOW_FLOAT32 = 0.75 * 2.0**-24
"""What is added to a double, as a part of it, for float32 to lose: below half a unit of mantissas up to 1.25."""


def signed(value: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Either sign for each element. Sums of products then cancel, and what they lost of their terms shows: of numbers
    that are all positive a sum is so large that its tolerance forgives half precision."""
    memory = value.abs_().as_strided((value.numel(),), (1,))
    for part in torch.split(memory, _CHUNK):
        signs = torch.randint(2, part.shape, generator=generator, device=value.device, dtype=torch.int8)
        part.mul_(signs.mul_(2).sub_(1))
    return value


def ties(value: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Four distinct values within what was drawn: whole multiples of a power of two, up to 2^5 of which make its range.

    Added one after another, equal values are all rounded the same way, and the errors of a long sum add up, where
    those of random values cancel. Of these, where zero is among them or near, float32 holds any sum of half a million
    (2^24 / 2^5).
    """
    low, high = (float(bound) for bound in value.aminmax())
    if not _LEAST_SPREAD < high - low < math.inf:
        return value
    unit = math.ldexp(1.0, math.frexp(high - low)[1] - _BITS)
    least = math.ceil(low / unit) * unit
    step = (high - least) / 3 // unit * unit
    return value.sub_(low).div_((high - low) / 3).round_().mul_(step).add_(least).clamp_(low, high)


def infinite(value: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    _sprinkle(value, generator, math.inf)
    return _sprinkle(value, generator, -math.inf)


def nan(value: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    return _sprinkle(value, generator, math.nan)


def _sprinkle(value: torch.Tensor, generator: torch.Generator, special: float) -> torch.Tensor:
    """At random places; some may be the same, which costs less than drawing for every element."""
    memory = value.as_strided((value.numel(),), (1,))
    count = max(1, round(value.numel() * _SPECIAL_SHARE))
    places = torch.randint(value.numel(), (count,), generator=generator, device=value.device)
    memory.index_fill_(0, places, special)
    return value


def few_terms(value: torch.Tensor, generator: torch.Generator, share: float) -> torch.Tensor:
    """A `share` of the elements, the others zero; of those that stay the sign and nearly the size, but with mantissas
    that lose 2^-12 of their value, all in one direction, where they are rounded to ten bits.

    A few such terms leave a sum in float32 nearly exact in any order, so that what lower precision has lost shows.
    """
    memory = value.as_strided((value.numel(),), (1,))
    for part in torch.split(memory, _CHUNK):
        drawn = torch.randint(2**15, part.shape, generator=generator, device=value.device, dtype=torch.int16)
        if value.dtype in (torch.float32, torch.float64):
            part.copy_(_of_full_mantissas(part, generator))
        part.mul_(drawn < share * 2**15)
    return value


def _of_full_mantissas(value: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Mantissas between 1 and 1.25, no larger than the value."""
    bits = value.float().view(torch.int32)
    mantissa = torch.randint(2**5, bits.shape, generator=generator, device=bits.device, dtype=torch.int32) << 16
    mantissa |= torch.randint(2**6, bits.shape, generator=generator, device=bits.device, dtype=torch.int32) << 1
    mantissa |= _LOWERED | 1
    lower = ((bits & _MANTISSA) < mantissa).int() << 23
    made = ((bits & ~_MANTISSA) | mantissa) - lower
    made = torch.where((bits & _EXPONENT) > 1 << 23, made, 0).view(torch.float32)
    return made.double() * (1 + _BELOW_FLOAT32) if value.dtype is torch.float64 else made


def spread_of(value: torch.Tensor) -> float:
    """The standard deviation, estimated from a sample; 1 where all are alike."""
    step = max(1, value.numel() // _SAMPLE)
    spread = float(value.as_strided((value.numel() // step,), (step,)).double().std(correction=0))
    return spread if math.isfinite(spread) and spread > 0 else 1.0
