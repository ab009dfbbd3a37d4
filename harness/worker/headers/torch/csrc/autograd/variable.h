// Slim: without the machinery of gradients.
#pragma once
#include <ATen/core/Tensor.h>
