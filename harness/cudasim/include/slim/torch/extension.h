// Most solutions need torch's tensors and the casters for them, not its modules and optimizers, which take as
// long again to read. The stand-in compilers leave this folder out for a source that names those.
#pragma once
#include <torch/types.h>
#if !defined(HARNESS_SIM_DEVICE)
#include <torch/csrc/Exceptions.h>
#include <torch/csrc/utils/pybind.h>
#endif
