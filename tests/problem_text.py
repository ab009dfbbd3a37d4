"""Texts of problem.py, of which a test says only what it is about."""

from __future__ import annotations

import textwrap


def problem_text(
    forward: str,
    inputs: str = "torch.rand(8, 300)",
    init: str = "",
    *,
    constants: str = "",
    given: str = "x",
    arguments: str = "",
) -> str:
    """A problem whose forward() takes `given` and returns `forward`, an expression, or ends with a return of its own.
    `init`: lines of the constructor, which takes the constants named by `arguments`."""
    body = forward if "return" in forward else f"return {forward}"
    return f"""\
import torch
from torch import nn
{constants}
class Model(nn.Module):
    def __init__(self, {arguments}):
        super().__init__()
{textwrap.indent(init, " " * 8)}
    def forward(self, {given}):
{textwrap.indent(body, " " * 8)}
def get_inputs():
    return [{inputs}]
def get_init_inputs():
    return [{arguments}]
"""
