#pragma once
#include <torch/extension.h>
#include "sim/prelude.h"
