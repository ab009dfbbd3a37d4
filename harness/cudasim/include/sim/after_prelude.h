// What the prelude can't hold ready, since torch defines __CUDA_NO_HALF_OPERATORS__ and its kin and many solutions
// take that back.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include "sim/compiler_macros.h"
