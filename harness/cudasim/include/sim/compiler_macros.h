// nvcc's own macros, for the solution's code alone: torch's headers, read before, have device code behind them that no
// CPU can run. One compilation stands for nvcc's two, and its functions run mostly on the device.
#pragma once
#define __CUDACC__ 1
#define __NVCC__ 1
#define __CUDA_ARCH__ 900
#define __CUDACC_VER_MAJOR__ 13
#define __CUDACC_VER_MINOR__ 0
