// Slim: every ATen/ops/*.h names it and none that is used here needs it.
#pragma once
#include <ATen/core/Tensor.h>
