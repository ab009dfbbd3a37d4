"""Normalisations that keep running statistics, and how both sides of a case take the batch's instead."""

from __future__ import annotations

from torch.nn import Module
from torch.nn.modules.batchnorm import _NormBase


def keeping_statistics(model: Module) -> list[_NormBase]:
    """The layers that use kept statistics in eval(), and the batch's in training mode."""
    return [layer for layer in model.modules() if isinstance(layer, _NormBase) and layer.track_running_stats]


def take_batch_statistics(model: Module) -> None:
    """Let these layers take the batch's statistics and leave the kept ones as they are. All else stays in eval(): a
    dropout would be random."""
    for layer in keeping_statistics(model):
        layer.train()
        layer.track_running_stats = False
