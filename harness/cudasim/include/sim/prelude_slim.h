#pragma once
#include <torch/types.h>
#include "sim/prelude.h"
