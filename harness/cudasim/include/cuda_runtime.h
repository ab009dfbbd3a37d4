// CUDA for a C++ compiler: the language's words, the device functions and the runtime API.
#pragma once
#include <cfloat>
#include <climits>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <math.h>
#include <type_traits>

#include "sim/abi.h"
#include "sim/qualifiers.h"
#include "sim/rounding.h"
#include "sim/vector_types.h"
#if defined(HARNESS_SIM_DEVICE)
#include "sim/atomics.h"
#include "sim/conversions.h"
#include "sim/intrinsics.h"
#include "sim/launch.h"
#include "sim/math.h"
#include "sim/sync.h"
#include "sim/video.h"
#endif
#include "sim/runtime_api.h"
#include "sim/launch_functions.h"
