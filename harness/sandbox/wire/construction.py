"""Five ways in which both sides make or call a problem's model other than as it is written.

Initialisers of torch.nn.init leave no constants, for problems whose outputs would carry no information. Both sides
construct their modules under them, so what a module derives from its parameters derives from varied ones. A GPU draws
large parameters. Normalisations that keep running statistics take the batch's instead. A training step returns
gradients as well. And layers may have their channels innermost.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.nn import Module, init
from torch.nn.modules.batchnorm import _NormBase

from harness.sandbox.wire.messages import Step
from harness.sandbox.wire.structure import unpack

_LARGE = 2**24
"""The CPU takes a sixth of a second to draw so many numbers, while the GPU waits."""
_FEW = 2**16 + 1
"""A prime, so that no two rows of a matrix are alike, which a constructor may invert."""
_SPREAD = 0.5
"""A constant becomes uniform within this distance, so the sign of a norm's weight stays."""
_DEFAULT_SLOPE = math.sqrt(5)
"""The slope that torch's linear and convolution layers name: each of them leaves a third of the inputs' variance, and a
deep net's output hardly depends on its input. Without it they have He's gain, which keeps a signal's size through a
ReLU (He et al. 2015, arXiv:1502.01852)."""
_CHANNELS_LAST = {4: torch.channels_last, 5: torch.channels_last_3d}
"""Formats by the number of a tensor's dimensions; others have no such layout."""
_FOR_FEWER = "call kernels of your own in forward() and backward() of a torch.autograd.Function"
_FOR_MORE = "name the others in mark_non_differentiable() of the Function's context"


@contextmanager
def varied_initialisers(seed: int) -> Iterator[None]:
    """Let layers that are made meanwhile start with varied parameters. Running statistics stay as they are, and other
    random values are drawn as they would be without it."""
    generator = torch.Generator(device="cpu").manual_seed(seed)
    vary = functools.partial(_fill_around, generator=generator)
    varied: dict[str, Callable[..., Tensor]] = {
        "ones_": lambda tensor: vary(tensor, 1.0),
        "zeros_": lambda tensor: vary(tensor, 0.0),
        "constant_": lambda tensor, val: vary(tensor, val),
        "kaiming_uniform_": functools.partial(_with_gain, init.kaiming_uniform_),
    }
    originals = {name: getattr(init, name) for name in varied}
    for name, function in varied.items():
        setattr(init, name, function)
    try:
        yield
    finally:
        for name, function in originals.items():
            setattr(init, name, function)


@contextmanager
def large_draws_on(device: str | None) -> Iterator[None]:
    """Let `device` draw the numbers of large tensors that are filled at random on the CPU meanwhile. They are others
    than the CPU's: whoever is to have the same constructs under it as well. None: a few are drawn, again and again."""
    before = {name: vars(Tensor).get(name) for name in ("normal_", "uniform_")}
    for name in before:
        setattr(Tensor, name, _drawing_on(device, getattr(Tensor, name)))
    try:
        yield
    finally:
        for name, own in before.items():
            if own is not None:
                setattr(Tensor, name, own)
            elif name in vars(Tensor):
                delattr(Tensor, name)  # it is inherited again


def _drawing_on(device: str | None, draw: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def drawn(tensor: Tensor, *bounds: float, **options: Any) -> Tensor:
        if not tensor.is_cpu or tensor.numel() < _LARGE or options.get("generator") is not None:
            return draw(tensor, *bounds, **options)
        if device is None:
            few = draw(torch.empty(_FEW, dtype=tensor.dtype), *bounds, **options)
            return tensor.copy_(few.repeat(-(-tensor.numel() // _FEW))[: tensor.numel()].view(tensor.shape))
        return tensor.copy_(draw(torch.empty_like(tensor, device=device), *bounds, **options))

    return drawn


def _fill_around(tensor: Tensor, value: float, generator: torch.Generator) -> Tensor:
    drawn = torch.empty(tensor.shape, device="cpu").uniform_(value - _SPREAD, value + _SPREAD, generator=generator)
    with torch.no_grad():
        return tensor.copy_(drawn)


def _with_gain(original: Callable[..., Tensor], tensor: Tensor, a: float = 0, *rest: Any, **options: Any) -> Tensor:
    return original(tensor, 0 if a == _DEFAULT_SLOPE else a, *rest, **options)


def keeping_statistics(model: Module) -> list[_NormBase]:
    """The layers that use kept statistics in eval(), and the batch's in training mode."""
    return [layer for layer in model.modules() if isinstance(layer, _NormBase) and layer.track_running_stats]


def take_batch_statistics(model: Module) -> None:
    """Let these layers take the batch's statistics and leave the kept ones as they are. All else stays in eval(): a
    dropout would be random."""
    for layer in keeping_statistics(model):
        layer.train()
        layer.track_running_stats = False


def has_channels(value: Any) -> bool:
    return isinstance(value, Tensor) and value.dim() in _CHANNELS_LAST


def in_channels_last(value: Any) -> Any:
    """The tensor with its channels innermost, where it is one that has channels."""
    return value.contiguous(memory_format=_CHANNELS_LAST[value.dim()]) if has_channels(value) else value


def training_step(
    model: Callable[..., Any],
    given: Sequence[Any],
    step: Step,
    parameters: Sequence[torch.nn.Parameter],
    end_forward: Callable[[], None] = lambda: None,
) -> tuple[Tensor, ...]:
    """Call a model forward and backward: return its outputs, then the gradients of its floating inputs, then those of
    these parameters, which are the step's; zeros for what isn't used. `end_forward` is called once it has returned.

    Raises: TypeError where the structure is another, or where other outputs have gradients.
    """
    inputs, cotangents = as_leaves(given[: -step.cotangents]), given[-step.cotangents :]
    with torch.enable_grad():
        returned = model(*inputs)
        end_forward()
        structure, outputs = unpack(returned)
        if structure != step.structure or not all(isinstance(one, Tensor) for one in outputs):
            raise TypeError(f"returned a {structure} where the reference returns a {step.structure}")
        reached = [output for output in outputs if output.requires_grad]
        if len(reached) != len(cotangents):
            remedy = _FOR_FEWER if len(reached) < len(cotangents) else _FOR_MORE
            raise TypeError(f"outputs with a gradient: {len(reached)}, Model's: {len(cotangents)}; {remedy}")
        leaves = [value for value in inputs if isinstance(value, Tensor) and value.requires_grad]
        gradients = torch.autograd.grad(reached, [*leaves, *parameters], cotangents, materialize_grads=True)
    return *(output.detach() for output in outputs), *_apart(gradients, given)


def as_leaves(inputs: Sequence[Any]) -> list[Any]:
    """The inputs, of which the floating tensors are to get gradients; float8 has none."""
    return [value.detach().requires_grad_() if is_differentiable(value) else value for value in inputs]


def is_differentiable(value: Any) -> bool:
    """Say whether an input of a training step gets a gradient."""
    return isinstance(value, Tensor) and value.is_floating_point() and value.itemsize > 1


def _apart(gradients: Sequence[Tensor], others: Sequence[Any]) -> Iterator[Tensor]:
    """Gradients in memory of their own: that of a sum is the cotangent itself, and a part of it that of padding."""
    foreign = {_memory(value) for value in others if isinstance(value, Tensor)}
    seen = set()
    for gradient in gradients:
        own = gradient.contiguous()
        own = own.clone() if _memory(own) in foreign or own.data_ptr() in seen else own
        seen.add(own.data_ptr())
        yield own


def _memory(tensor: Tensor) -> int:
    return tensor.untyped_storage().data_ptr() if tensor.layout is torch.strided else 0
