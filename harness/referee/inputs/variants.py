"""Input variants: what get_inputs() draws, changed so that a solution which suits one distribution only is found.

A problem's own inputs are often alike, such as uniform numbers from 0 to 1: with these a maximum may start at 0, the
mean of many is always one half, and half precision has enough range. Variants keep the inputs' structure
(structure.py); the reference decides which are fair (fairness.py).
"""

from __future__ import annotations

import dataclasses
import math
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from harness.referee.answers.rows import computable
from harness.referee.inputs.structure import InputStructure
from harness.workspace.problem import VariantName

MODERATE = 4
"""The moderate exponent: between 2^-4 and 2^4 times the drawn scale a solution must bear what the reference bears."""
_FAR = (20, 10)
"""Larger powers of two, of which the first that the reference bears is used: half precision ends at 2^16 and 2^-24."""
_SHARES = (2.0**-10, 2.0**-5, 1.0)
"""Shares of the terms that stay: for sums of thousands of products, of 32 to 1000, and where nothing is added up."""
_ASSERTING = ("binary_cross_entropy", "BCELoss", "bernoulli", "multinomial")
"""Operations that abort the device, and the referee's context with it, where an input is no probability."""

_SAMPLE = 2**16
"""The number of elements from which an input's spread is estimated."""
_CHUNK = 2**24
"""The number of elements for which random bits are drawn at a time."""
_SPECIAL_SHARE = 1 / 64
_TIE_BITS = 5
_LEAST_SPREAD = 2.0**-1000
"""Inputs with less spread are left alone: a small part of it must still be a double."""
_MANTISSA_BITS, _EXPONENT_BITS = 0x007FFFFF, 0x7F800000
_LOWERED = 0b011_0_11111 << 7
"""Bits 8 to 16 behind the point of float32's mantissa. Rounded to nearest or cut off, to the ten bits of half and tf32
or to the seven of bfloat16, such a number loses nearly half a unit. So what the terms of a sum lose adds up, in
proportion, whatever their signs are."""
_BELOW_FLOAT32 = 0.75 * 2.0**-24
"""The part of itself that is added to a double for float32 to lose: below half a unit of mantissas up to 1.25."""

Change = Callable[[torch.Tensor, torch.Generator], torch.Tensor]


@dataclass(frozen=True)
class Variant:
    """One change of the floating inputs, each of which keeps its structure.

    `words` precede 'inputs' in a sentence. `exponent` is the power of two by which inputs are larger than drawn.
    """

    name: VariantName
    words: str
    change: Change
    exponent: int = 0
    is_sparse: bool = False
    """True where the change makes most elements zero."""
    row: int = 0
    """The row that is changed, where it is one alone."""
    structures: tuple[InputStructure, ...] = ()
    """The structure of each input; empty where they have none."""

    @property
    def is_far(self) -> bool:
        return abs(self.exponent) > MODERATE

    def keeping(self, structures: tuple[InputStructure, ...]) -> Variant:
        """The same change for inputs with these structures."""
        return dataclasses.replace(self, structures=structures)

    def at_drawn_scale(self) -> Variant | None:
        """The same change without the scale; None where nothing is left of it."""
        return None if self.name == "rescaled" else _negative(0).keeping(self.structures)

    def apply(self, inputs: Sequence[Any], seed: int) -> list[Any]:
        """Change the inputs, in place where possible: they must be the caller's own."""
        uses = Counter(value.untyped_storage().data_ptr() for value in inputs if isinstance(value, torch.Tensor))
        changed = list(inputs)
        for number, value in enumerate(inputs):
            if isinstance(value, torch.Tensor) and value.is_floating_point() and value.numel():
                is_own = _is_dense(value) and uses[value.untyped_storage().data_ptr()] == 1
                own = value if is_own else value.clone(memory_format=torch.contiguous_format)
                generator = torch.Generator(value.device).manual_seed((seed + number) % 2**63)
                structure = self.structures[number] if self.structures else InputStructure()
                varied = structure.changed(computable(own), _changing(self.change, generator))
                changed[number] = varied.to(value.dtype)
        return changed


def _changing(change: Change, generator: torch.Generator) -> Callable[[torch.Tensor], torch.Tensor]:
    return lambda value: change(value, generator)


@dataclass(frozen=True)
class Ladder:
    """Changes of one kind, strongest first; the first that the reference bears is tried.

    `far` ones decide only where the reference's outputs scale with its inputs; else a moderate one is tried as well.
    """

    moderate: tuple[Variant, ...]
    far: tuple[Variant, ...] = ()

    def keeping(self, structures: tuple[InputStructure, ...]) -> Ladder:
        """The same ladder for inputs with these structures."""
        return Ladder(*(tuple(one.keeping(structures) for one in these) for these in (self.moderate, self.far)))


def ladders(name: VariantName, rng: random.Random) -> tuple[Ladder, ...]:
    """The ladders of a variant that problem.yaml names."""
    if name == "rescaled":
        return tuple(_ladder(_rescaled, sign) for sign in (1, -1))
    if name == "negative":  # as drawn, and so large that a maximum which starts at -1000 is found, too
        return Ladder((_negative(0),)), _ladder(_negative, 1)
    if name == "shifted":
        spreads = rng.choice((-1, 1)) * rng.uniform(2, 4)
        return (Ladder((_shifted(spreads), _shifted(-spreads))),)
    if name == "few_terms":
        return (Ladder(tuple(_few_terms(share) for share in _SHARES)),)
    return (Ladder((_OTHERS[name],)),)


def in_one_row(variant: Variant, row: int) -> Variant:
    """The same change for a single row; other rows stay as drawn."""

    def change(value: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
        value[row : row + 1] = variant.change(value[row : row + 1].clone(), generator)
        return value

    return dataclasses.replace(variant, words=f"partly {variant.words}", change=change, row=row)


def endangers_device(source: str) -> str | None:
    """The operation in a problem's source that must not get other inputs than its own; None where there is none."""
    return next((name for name in _ASSERTING if name in source), None)


def _ladder(scaled: Callable[[int], Variant], sign: int) -> Ladder:
    return Ladder((scaled(sign * MODERATE),), tuple(scaled(sign * exponent) for exponent in _FAR))


def _negative(exponent: int) -> Variant:
    words = f"negative (times 2^{exponent})" if exponent else "negative"
    return Variant("negative", words, lambda value, generator: value.abs_().mul_(-(2.0**exponent)), exponent)


def _rescaled(exponent: int) -> Variant:
    words = f"rescaled (times 2^{exponent})"
    return Variant("rescaled", words, lambda value, generator: value.mul_(2.0**exponent), exponent)


def _shifted(spreads: float) -> Variant:
    return Variant("shifted", "shifted", lambda value, generator: value.add_(spreads * _spread_of(value)))


def _few_terms(share: float) -> Variant:
    words = "few terms" if share < 1 else "full mantissas"
    return Variant(
        "few_terms", words, lambda value, generator: _make_few_terms(value, generator, share), is_sparse=share < 1
    )


def _is_dense(value: torch.Tensor) -> bool:
    """Say whether each element has its own memory, without gaps."""
    expected = 1
    for stride, size in sorted((stride, size) for stride, size in zip(value.stride(), value.shape, strict=True)):
        if size > 1:
            if stride != expected:
                return False
            expected *= size
    return True


def _make_signed(value: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Give each element a random sign. Sums of products then cancel, and rounding errors of their terms show: a sum of
    positive numbers is so large that its tolerance forgives half precision."""
    memory = value.abs_().as_strided((value.numel(),), (1,))
    for part in torch.split(memory, _CHUNK):
        signs = torch.randint(2, part.shape, generator=generator, device=value.device, dtype=torch.int8)
        part.mul_(signs.mul_(2).sub_(1))
    return value


def _make_ties(value: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Leave four distinct values within the drawn range: whole multiples of a power of two, at most 2^5 of a range.

    Equal values are all rounded the same way, so that the errors of a long sum add up, while those of random values
    cancel. With values near zero float32 holds any sum of half a million of them exactly (2^24 / 2^5).
    """
    low, high = (float(bound) for bound in value.aminmax())
    if not _LEAST_SPREAD < high - low < math.inf:
        return value
    unit = math.ldexp(1.0, math.frexp(high - low)[1] - _TIE_BITS)
    least = math.ceil(low / unit) * unit
    step = (high - least) / 3 // unit * unit
    return value.sub_(low).div_((high - low) / 3).round_().mul_(step).add_(least).clamp_(low, high)


def _make_infinite(value: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Infinities at random places, and one item of the first dimension all minus infinity: a maximum over nothing else
    shows what it starts from."""
    _sprinkle(value, generator, math.inf)
    _sprinkle(value, generator, -math.inf)
    axis = next((axis for axis, size in enumerate(value.shape) if size > 1), None)
    if axis is not None:
        place = torch.randint(value.shape[axis], (), generator=generator, device=value.device)
        value.select(axis, int(place)).fill_(-math.inf)
    return value


def _sprinkle(value: torch.Tensor, generator: torch.Generator, special: float) -> torch.Tensor:
    """Write a special value at random places, which may coincide: drawing for every element would cost more."""
    memory = value.as_strided((value.numel(),), (1,))
    count = max(1, round(value.numel() * _SPECIAL_SHARE))
    places = torch.randint(value.numel(), (count,), generator=generator, device=value.device)
    memory.index_fill_(0, places, special)
    return value


def _make_few_terms(value: torch.Tensor, generator: torch.Generator, share: float) -> torch.Tensor:
    """Keep one of every 1 / `share` elements that lie side by side, and set the others to zero: no row of twice as many
    is left without. Those that stay keep their sign and nearly their size, but have mantissas that lose 2^-12 of their
    value, all in one direction, when rounded to ten bits.

    A sum of a few such terms is nearly exact in float32 in any order, so that the loss of a lower precision shows. The
    first and the last element stay, as large as any near them: who leaves one out, or takes it twice, is seen.
    """
    memory, every = value.as_strided((value.numel(),), (1,)), round(1 / share)
    parts = torch.split(memory, _CHUNK) if value.numel() else ()
    for part in parts:
        groups = (math.ceil(part.numel() / every), 1)
        drawn = torch.randint(every, groups, generator=generator, device=value.device, dtype=torch.int16)
        stays = (drawn == torch.arange(every, device=value.device)).flatten()[: part.numel()]
        for place in (place for place, end in ((0, parts[0]), (-1, parts[-1])) if part is end):
            part[place], stays[place] = part[part.abs().argmax()], True
        if value.dtype in (torch.float32, torch.float64):
            part.copy_(_of_full_mantissas(part, generator))
        part.mul_(stays)
    return value


def _of_full_mantissas(value: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Give values mantissas between 1 and 1.25 without enlarging them."""
    bits = value.float().view(torch.int32)
    mantissa = torch.randint(2**5, bits.shape, generator=generator, device=bits.device, dtype=torch.int32) << 16
    mantissa |= torch.randint(2**6, bits.shape, generator=generator, device=bits.device, dtype=torch.int32) << 1
    mantissa |= _LOWERED | 1
    lower = ((bits & _MANTISSA_BITS) < mantissa).int() << 23
    made = ((bits & ~_MANTISSA_BITS) | mantissa) - lower
    made = torch.where((bits & _EXPONENT_BITS) > 1 << 23, made, 0).view(torch.float32)
    return made.double() * (1 + _BELOW_FLOAT32) if value.dtype is torch.float64 else made


def _spread_of(value: torch.Tensor) -> float:
    """Estimate the standard deviation from a sample; 1 where all values are alike."""
    step = max(1, value.numel() // _SAMPLE)
    spread = float(value.as_strided((value.numel() // step,), (step,)).double().std(correction=0))
    return spread if math.isfinite(spread) and spread > 0 else 1.0


_OTHERS = {
    "signed": Variant("signed", "signed", _make_signed),
    "ties": Variant("ties", "few distinct", _make_ties),
    "infinite": Variant("infinite", "infinite", _make_infinite),
    "nan": Variant("nan", "NaN", lambda value, generator: _sprinkle(value, generator, math.nan)),
}
