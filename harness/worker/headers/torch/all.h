// Slim: no pybind11, no modules, no optimizers.
#pragma once
#include <torch/types.h>
#include <torch/version.h>
