// CUB, as far as it works inside a block; written from its documentation. What is private to it, or works on the whole
// device, is refused by name (unsupported.py).
#pragma once
#include "sim/cub/exchange.h"
#include "sim/cub/operators.h"
#include "sim/cub/reduce.h"
#include "sim/cub/scan.h"
#include "sim/cub/sort.h"
