"""Input variants: what get_inputs() draws, changed so that a solution which suits one distribution only is found.

A problem's own inputs are often all alike, such as uniform numbers from 0 to 1: there a maximum may start at 0, a mean
of many is always one half, and half precision has room enough. Their structure stays (structure.py). Whether a change
asks too much of the operation is for the reference to say: see fairness.py.
"""

from __future__ import annotations

import dataclasses
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from harness.referee.inputs.changes import few_terms, infinite, nan, signed, spread_of, ties
from harness.referee.inputs.structure import Structure
from harness.workspace.problem import VariantName

MODERATE = 4
"""Up to 2^4 times the drawn scale, and down to that part of it, every solution must bear what the reference bears."""
_FAR = (20, 10)
"""Powers of two beyond that, the first that the reference can bear: half precision ends at 2^16 and 2^-24."""
_SHARES = (2.0**-10, 2.0**-5, 1.0)
"""Of few terms: one to four of a sum over thousands of products; of 32 to 1000; and where terms aren't added up."""
_ASSERTING = ("binary_cross_entropy", "BCELoss", "bernoulli", "multinomial")
"""They abort the device where an input is no probability, and with it the referee's own context."""

_AMBIGUOUS = ("sort", "topk", "median", "kthvalue", "mode", "return_indices", "unique")
"""Where values are equal they may return any of several indices."""

Change = Callable[[torch.Tensor, torch.Generator], torch.Tensor]


@dataclass(frozen=True)
class Variant:
    """One change of the floating inputs, of which each keeps its structure. `words` go before 'inputs' in a sentence;
    `exponent`: the power of two by which they are larger than drawn."""

    name: VariantName
    words: str
    change: Change
    exponent: int = 0
    is_sparse: bool = False
    """Whether most elements are zero."""
    structures: tuple[Structure, ...] = ()
    """Of each input; empty where they have none."""

    @property
    def is_far(self) -> bool:
        return abs(self.exponent) > MODERATE

    def keeping(self, structures: tuple[Structure, ...]) -> Variant:
        """The same change, of inputs with these structures."""
        return dataclasses.replace(self, structures=structures)

    def at_drawn_scale(self) -> Variant | None:
        """The same change but for the scale; None where nothing is left of it."""
        return None if self.name == "rescaled" else _negative(0).keeping(self.structures)

    def apply(self, inputs: Sequence[Any], seed: int) -> list[Any]:
        """The inputs changed, in place where they allow it. They must be the caller's own."""
        uses = Counter(value.untyped_storage().data_ptr() for value in inputs if isinstance(value, torch.Tensor))
        changed = list(inputs)
        for number, value in enumerate(inputs):
            if isinstance(value, torch.Tensor) and value.is_floating_point() and value.numel():
                is_own = _is_dense(value) and uses[value.untyped_storage().data_ptr()] == 1
                own = value if is_own else value.clone(memory_format=torch.contiguous_format)
                generator = torch.Generator(value.device).manual_seed((seed + number) % 2**63)
                structure = self.structures[number] if self.structures else Structure()
                changed[number] = structure.changed(own, _changing(self.change, generator))
        return changed


def _changing(change: Change, generator: torch.Generator) -> Callable[[torch.Tensor], torch.Tensor]:
    return lambda value: change(value, generator)


@dataclass(frozen=True)
class Ladder:
    """Changes of one kind, stronger ones first: of each the first that the reference bears is tried. `far` ones decide
    only where the reference's outputs scale with its inputs; else a moderate one does."""

    moderate: tuple[Variant, ...]
    far: tuple[Variant, ...] = ()

    def keeping(self, structures: tuple[Structure, ...]) -> Ladder:
        return Ladder(*(tuple(one.keeping(structures) for one in these) for these in (self.moderate, self.far)))


def ladders(name: VariantName, rng: random.Random) -> tuple[Ladder, ...]:
    """The variants of a name."""
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
    """The same change of a single row; the others stay as they were drawn."""

    def change(value: torch.Tensor, generator: torch.Generator) -> torch.Tensor:
        value[row : row + 1] = variant.change(value[row : row + 1].clone(), generator)
        return value

    return dataclasses.replace(variant, words=f"partly {variant.words}", change=change)


def endangers_device(source: str) -> str | None:
    """The operation in a problem's source that must not be given other inputs than its own; None where there is
    none."""
    return next((name for name in _ASSERTING if name in source), None)


def is_ambiguous(name: VariantName, source: str, dtypes: Sequence[torch.dtype]) -> bool:
    """Whether the operation's answer to a variant is a matter of taste."""
    has_indices = any(not (dtype.is_floating_point or dtype.is_complex) for dtype in dtypes)
    return name in ("ties", "few_terms") and has_indices and any(word in source for word in _AMBIGUOUS)


def _ladder(scaled: Callable[[int], Variant], sign: int) -> Ladder:
    return Ladder((scaled(sign * MODERATE),), tuple(scaled(sign * exponent) for exponent in _FAR))


def _negative(exponent: int) -> Variant:
    words = f"negative (times 2^{exponent})" if exponent else "negative"
    return Variant("negative", words, lambda value, generator: value.abs_().mul_(-(2.0**exponent)), exponent)


def _rescaled(exponent: int) -> Variant:
    words = f"rescaled (times 2^{exponent})"
    return Variant("rescaled", words, lambda value, generator: value.mul_(2.0**exponent), exponent)


def _shifted(spreads: float) -> Variant:
    return Variant("shifted", "shifted", lambda value, generator: value.add_(spreads * spread_of(value)))


def _few_terms(share: float) -> Variant:
    words = "few terms" if share < 1 else "full mantissas"
    return Variant("few_terms", words, lambda value, generator: few_terms(value, generator, share), is_sparse=share < 1)


_OTHERS = {
    "signed": Variant("signed", "signed", signed),
    "ties": Variant("ties", "few distinct", ties),
    "infinite": Variant("infinite", "infinite", infinite),
    "nan": Variant("nan", "NaN", nan),
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
