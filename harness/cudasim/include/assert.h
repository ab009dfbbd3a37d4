// In device code a failed assertion is a finding. No include guard: assert.h takes effect at each inclusion.
#include_next <assert.h>
#if defined(HARNESS_SIM_DEVICE) && !defined(NDEBUG)
#include "sim/abi.h"
#undef assert
#define assert(condition) ((condition) ? void(0) : sim_trap("assertion failed: " #condition, __FILE__, __LINE__))
#endif
