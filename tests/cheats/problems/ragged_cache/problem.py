import torch
import torch.nn as nn

lengths = (3, 70, 1, 26)
width = 96


class Model(nn.Module):
    """Sums of ragged sequences, over what a cache holds of each: inputs are a jagged tensor and a dict with a list."""

    def forward(self, sequences: torch.Tensor, cache: dict) -> torch.Tensor:
        sums = torch.nested.to_padded_tensor(sequences, 0.0).sum(dim=1)
        first, second = cache["layers"]
        return sums * cache["scale"] + torch.maximum(first, second)


def get_inputs():
    sequences = [torch.randn(length, width) for length in lengths]
    layers = [torch.randn(len(lengths), width) for _ in range(2)]
    return [torch.nested.nested_tensor(sequences, layout=torch.jagged), {"layers": layers, "scale": torch.rand(width)}]


def get_init_inputs():
    return []
