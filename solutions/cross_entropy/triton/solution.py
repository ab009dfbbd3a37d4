"""Cross-entropy in Triton: a program per row, with a running maximum and sum for each place of a tile."""

import torch
import triton
import triton.language as tl
from torch import nn

TILE = 4096  # 16 logits for each of the 256 threads


@triton.jit
def loss_kernel(logits, targets, losses, vocabulary, tile: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    first = logits + row * vocabulary
    places = tl.arange(0, tile)
    # Each place has a maximum and a sum of its own, so that threads meet once, at the end of the row.
    largest = tl.full((tile,), float("-inf"), tl.float32)
    total = tl.zeros((tile,), tl.float32)
    for start in range(0, vocabulary, tile):
        values = tl.load(first + start + places, mask=start + places < vocabulary, other=float("-inf"))
        now = tl.maximum(largest, values, propagate_nan=tl.PropagateNan.ALL)
        # Two infinities of one sign have no difference; they are equal, so that their powers are one.
        shrink = tl.where(largest == now, 1.0, tl.exp(largest - now))
        total = total * shrink + tl.where(values == now, 1.0, tl.exp(values - now))
        largest = now
    of_all = tl.max(largest, 0)
    shrink = tl.where(largest == of_all, 1.0, tl.exp(largest - of_all))
    # Plus infinity and NaN among the logits make the loss NaN, and so does a row of minus infinities.
    power_sum = tl.sum(tl.where(largest == float("-inf"), 0.0, total * shrink), 0)
    spoilt = tl.sum((largest != largest).to(tl.int32), 0) > 0
    log_sum = of_all + tl.log(power_sum)
    target = tl.load(first + tl.load(targets + row))
    loss = tl.where(spoilt | (tl.abs(of_all) == float("inf")), float("nan"), log_sum - target)
    tl.store(losses + row, loss)


class ModelNew(nn.Module):
    def forward(self, logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        rows, vocabulary = logits.shape
        losses = torch.empty(rows, dtype=torch.float32, device=logits.device)
        loss_kernel[(rows,)](logits, targets, losses, vocabulary, tile=TILE, num_warps=8)
        return losses
