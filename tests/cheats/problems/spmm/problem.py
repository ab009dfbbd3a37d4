import torch
import torch.nn as nn

rows, columns, width, stored = 512, 2048, 64, 16


class Model(nn.Module):
    """A sparse matrix (CSR, as many elements in each row) times a dense one."""

    def forward(self, sparse: torch.Tensor, dense: torch.Tensor) -> torch.Tensor:
        return torch.sparse.mm(sparse, dense)


def get_inputs():
    places = torch.rand(rows, columns).topk(stored).indices.sort().values.flatten()
    starts = torch.arange(0, rows * stored + 1, stored)
    sparse = torch.sparse_csr_tensor(starts, places, torch.randn(rows * stored), (rows, columns))
    return [sparse, torch.randn(columns, width)]


def get_init_inputs():
    return []
