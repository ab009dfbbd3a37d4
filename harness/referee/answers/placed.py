"""The device on which a problem's tensors come to lie."""

from __future__ import annotations

from typing import Any

import torch
from torch.overrides import TorchFunctionMode


class Placed(TorchFunctionMode):
    """Context: what the problem's code puts on 'cuda' comes to the referee's device instead.

    Some problems write .cuda() or device="cuda", which must work without a GPU and on meta tensors as well.
    """

    def __init__(self, device: str) -> None:
        super().__init__()
        self._device = device

    def __torch_function__(self, func: Any, kinds: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is torch.Tensor.cuda:
            func, args, kwargs = torch.Tensor.to, (args[0], self._device), {}
        placed = {key: self._replace(value) for key, value in (kwargs or {}).items()}
        if func is torch.randn and self._device == "meta":  # there it makes torch import its compiler: 3.6 s
            func = torch.empty
            placed.pop("generator", None)
        return func(*(self._replace(value) for value in args), **placed)

    def _replace(self, value: Any) -> Any:
        is_cuda = isinstance(value, (str, torch.device)) and str(value).partition(":")[0] == "cuda"
        return torch.device(self._device) if is_cuda else value
