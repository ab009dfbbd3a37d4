// Slim: torch::empty() and its like are at::empty() here; they differ where a gradient is asked for.
#pragma once
#include <ATen/Functions.h>
