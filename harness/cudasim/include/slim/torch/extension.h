// Slim: no pybind11, no modules, no optimizers. Of .cu files those that bind have a macro that says so.
#pragma once
#include <torch/types.h>
#include <torch/version.h>
#if !defined(HARNESS_SIM_DEVICE) || defined(HARNESS_SIM_BINDS)
#include <harness/binding.h>
#endif
