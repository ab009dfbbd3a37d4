import threading

import torch
import torch.nn as nn


lock = threading.Lock()


class ModelNew(nn.Module):
    def forward(self, x):
        with lock, lock:
            return x + x
