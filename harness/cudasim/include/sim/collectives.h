// CUB, as far as it works inside a block, and what solutions use of the rest; written from its documentation. The others
// are refused by name (unsupported.py).
#pragma once
#include "sim/cub/device.h"
#include "sim/cub/exchange.h"
#include "sim/cub/operators.h"
#include "sim/cub/reduce.h"
#include "sim/cub/scan.h"
#include "sim/cub/sort.h"
