// Slim: no pybind11, no modules, no optimizers.
#pragma once
#include <torch/types.h>
#include <torch/version.h>
#ifdef __CUDACC__
#include <harness/binding_in_cuda.h>  // generated: empty, unless a CUDA source binds
#else
#include <harness/binding.h>
#endif
