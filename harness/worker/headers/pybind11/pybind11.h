// Slim: what PYBIND11_MODULE needs for functions.
#pragma once
#include <harness/binding.h>
