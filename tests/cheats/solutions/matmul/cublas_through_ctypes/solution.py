import ctypes

import torch
import torch.nn as nn


def cublas():
    with open("/proc/self/maps") as maps:
        return ctypes.CDLL(next(line.split()[-1] for line in maps if "libcublas.so" in line))


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        torch.ones(2, 2, device="cuda") @ torch.ones(2, 2, device="cuda")  # has torch load the library
        self.library, self.handle = cublas(), ctypes.c_void_p()
        self.library.cublasCreate_v2(ctypes.byref(self.handle))

    def forward(self, a, b):
        (m, k), n = a.shape, b.shape[1]
        c = torch.empty(m, n, device=a.device)
        one, zero = ctypes.c_float(1), ctypes.c_float(0)
        a_, b_, c_ = (ctypes.c_void_p(tensor.data_ptr()) for tensor in (a, b, c))
        self.library.cublasSetStream_v2(self.handle, ctypes.c_void_p(torch.cuda.current_stream().cuda_stream))
        self.library.cublasSgemm_v2(  # in its order of memory: the transposed of b times the transposed of a
            self.handle, 0, 0, n, m, k, ctypes.byref(one), b_, n, a_, k, ctypes.byref(zero), c_, n
        )
        return c
