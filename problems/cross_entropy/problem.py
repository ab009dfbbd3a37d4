"""Cross-entropy over a large vocabulary, a loss per row (torch.nn.functional.cross_entropy, reduction='none')."""

import torch
from torch import nn

rows = 8192
vocabulary = 128256  # of Llama 3 (Grattafiori et al. 2024, arXiv:2407.21783)


class Model(nn.Module):
    """The loss of a row is log(sum(exp(logits))) less the logit of its target."""

    def forward(self, logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        """Map (rows, vocabulary) and (rows,), targets from 0 to vocabulary - 1, to losses (rows,)."""
        return nn.functional.cross_entropy(logits, targets, reduction="none")


def get_inputs() -> list[torch.Tensor]:
    return [torch.randn(rows, vocabulary), torch.randint(vocabulary, (rows,))]


def get_init_inputs() -> list[int]:
    return []
