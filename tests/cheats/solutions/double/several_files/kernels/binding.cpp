#include <torch/extension.h>

#include "double.h"

PYBIND11_MODULE(TORCH_EXTENSION_NAME, module) { module.def("twice", &twice); }
