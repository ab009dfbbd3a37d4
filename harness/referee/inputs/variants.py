"""Input variants: what get_inputs() draws, changed so that a solution which suits one distribution only is found.

A problem's own inputs are often all alike, such as uniform numbers from 0 to 1: there a maximum may start at 0, a mean
of many is always one half, and half precision has room enough. Whether a change asks too much of the operation is for
the reference to say: see fairness.py.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from harness.workspace.problem import VariantName

_SAMPLE = 2**16
"""Elements from which an input's spread is estimated."""
_CHUNK = 2**26
"""Elements for which signs are drawn at a time: a byte for each."""
_EXPONENTS = (20, 10, 4)
"""Powers of two to rescale by, the first that the reference can bear: half precision ends at 2^16 and 2^-24."""
_SPECIAL_SHARE = 1 / 64
_LEAST_SPREAD = 2.0**-1000
"""Of inputs that are told apart: a small part of it is still a double."""
_ASSERTING = ("binary_cross_entropy", "BCELoss", "bernoulli", "multinomial")
"""They abort the device where an input is no probability, and with it the referee's own context."""

_AMBIGUOUS = ("sort", "topk", "median", "kthvalue", "mode", "return_indices", "unique")
"""Where values are equal they may return any of several indices."""

Change = Callable[[torch.Tensor, torch.Generator], torch.Tensor]


@dataclass(frozen=True)
class Variant:
    """One change of the floating inputs. `words` go before 'inputs' in a sentence."""

    name: VariantName
    words: str
    change: Change

    def apply(self, inputs: Sequence[Any], seed: int) -> list[Any]:
        """The inputs changed, in place where they allow it. They must be the caller's own."""
        uses = Counter(value.untyped_storage().data_ptr() for value in inputs if isinstance(value, torch.Tensor))
        changed = list(inputs)
        for number, value in enumerate(inputs):
            if isinstance(value, torch.Tensor) and value.is_floating_point() and value.numel():
                is_own = _is_dense(value) and uses[value.untyped_storage().data_ptr()] == 1
                own = value if is_own else value.clone(memory_format=torch.contiguous_format)
                generator = torch.Generator(value.device).manual_seed((seed + number) % 2**63)
                changed[number] = self.change(own, generator)
        return changed


def rungs(name: VariantName, rng: random.Random) -> list[list[Variant]]:
    """The variants of a name; of each the wilder ones first, then what to try where the reference can't bear those."""
    if name == "rescaled":
        return [[_rescaled(sign * exponent) for exponent in _EXPONENTS] for sign in (1, -1)]
    if name == "negative":  # as drawn, and so large that a maximum which starts at -1000 is found, too
        return [[_OTHERS[name]], [_rescaled_negative(exponent) for exponent in _EXPONENTS]]
    if name == "ties":
        return [[_OTHERS[name], Variant(name, "few distinct (of few bits)", _short_ties)]]
    if name == "shifted":
        spreads = rng.choice((-1, 1)) * rng.uniform(2, 4)
        return [[Variant("shifted", "shifted", lambda value, generator: value.add_(spreads * _spread(value)))]]
    return [[_OTHERS[name]]]


def in_one_row(variant: Variant, row: int) -> Variant:
    """The same change of a single row; the others stay as they were drawn."""

    def change(value: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
        value[row : row + 1] = variant.change(value[row : row + 1].clone(), generator)
        return value

    return Variant(variant.name, f"partly {variant.words}", change)


def endangers_device(source: str) -> str | None:
    """The operation in a problem's source that must not be given other inputs than its own; None where there is
    none."""
    return next((name for name in _ASSERTING if name in source), None)


def is_ambiguous(name: VariantName, source: str, dtypes: Sequence[torch.dtype]) -> bool:
    """Whether the operation's answer to a variant is a matter of taste."""
    has_indices = any(not (dtype.is_floating_point or dtype.is_complex) for dtype in dtypes)
    return name == "ties" and has_indices and any(word in source for word in _AMBIGUOUS)


def _rescaled(exponent: int) -> Variant:
    words = f"rescaled (times 2^{exponent})"
    return Variant("rescaled", words, lambda value, generator: value.mul_(2.0**exponent))


def _rescaled_negative(exponent: int) -> Variant:
    words = f"negative (times 2^{exponent})"
    return Variant("negative", words, lambda value, generator: value.abs_().mul_(-(2.0**exponent)))


def _negative(value: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    return value.abs_().neg_()


def _signed(value: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Either sign for each element. Sums of products then cancel, and what they lost of their terms shows: of numbers
    that are all positive a sum is so large that its tolerance forgives half precision."""
    memory = value.abs_().as_strided((value.numel(),), (1,))
    for part in torch.split(memory, _CHUNK):
        signs = torch.randint(2, part.shape, generator=generator, device=value.device, dtype=torch.int8)
        part.mul_(signs.mul_(2).sub_(1))
    return value


def _ties(value: torch.Tensor, generator: torch.Generator, bits: int | None = None) -> torch.Tensor:
    """Four distinct values within what was drawn: from the least to the largest, or, where `bits` are given, whole
    multiples of a power of two, up to 2^`bits` of which make that range."""
    low, high = (float(bound) for bound in value.aminmax())
    if not _LEAST_SPREAD < high - low < math.inf:
        return value
    least, step = low, (high - low) / 3
    if bits is not None:
        unit = math.ldexp(1.0, math.frexp(high - low)[1] - bits)
        least = math.ceil(low / unit) * unit
        step = (high - least) / 3 // unit * unit
    return value.sub_(low).div_((high - low) / 3).round_().mul_(step).add_(least).clamp_(low, high)


def _short_ties(value: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    """Added one after another, equal values are all rounded the same way, and the errors of a long sum add up, where
    those of random values cancel. Of these, where zero is among them or near, float32 holds any sum of half a million
    (2^24 / 2^5)."""
    return _ties(value, generator, bits=5)


def _infinite(value: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    _sprinkle(value, generator, math.inf)
    return _sprinkle(value, generator, -math.inf)


def _nan(value: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
    return _sprinkle(value, generator, math.nan)


def _sprinkle(value: torch.Tensor, generator: torch.Generator, special: float) -> torch.Tensor:
    """At random places; some may be the same, which costs less than drawing for every element."""
    memory = value.as_strided((value.numel(),), (1,))
    count = max(1, round(value.numel() * _SPECIAL_SHARE))
    places = torch.randint(value.numel(), (count,), generator=generator, device=value.device)
    memory.index_fill_(0, places, special)
    return value


_OTHERS = {
    "negative": Variant("negative", "negative", _negative),
    "signed": Variant("signed", "signed", _signed),
    "ties": Variant("ties", "few distinct", _ties),
    "infinite": Variant("infinite", "infinite", _infinite),
    "nan": Variant("nan", "NaN", _nan),
}


def _is_dense(value: torch.Tensor) -> bool:
    """Whether each element has memory of its own, without gaps."""
    expected = 1
    for stride, size in sorted((stride, size) for stride, size in zip(value.stride(), value.shape, strict=True)):
        if size > 1:
            if stride != expected:
                return False
            expected *= size
    return True


def _spread(value: torch.Tensor) -> float:
    """The standard deviation, estimated from a sample; 1 where all are alike."""
    step = max(1, value.numel() // _SAMPLE)
    spread = float(value.as_strided((value.numel() // step,), (step,)).double().std(correction=0))
    return spread if math.isfinite(spread) and spread > 0 else 1.0
