import ctypes
import os
import time

import torch
import torch.nn as nn

PR_SET_NAME = 15  # by which the test knows it


class ModelNew(nn.Module):
    def forward(self, x):
        if os.fork():
            os._exit(0)
        ctypes.CDLL(None).prctl(PR_SET_NAME, b"orphaned fork")
        time.sleep(100_000)
