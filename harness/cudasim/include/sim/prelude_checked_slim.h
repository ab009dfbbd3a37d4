#pragma once
#include "sim/checked.h"
#include "sim/prelude_slim.h"
