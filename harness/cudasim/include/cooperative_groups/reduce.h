// Reductions over the lanes of a group.
#pragma once
#include <cooperative_groups.h>

#if defined(HARNESS_SIM_DEVICE)
namespace cooperative_groups {

#define SIM_GROUP_OPERATION(name, expression)                \
  template <class T>                                         \
  struct name {                                              \
    T operator()(T a, T b) const { return expression; }      \
  };
SIM_GROUP_OPERATION(plus, a + b)
SIM_GROUP_OPERATION(less, b < a ? b : a)
SIM_GROUP_OPERATION(greater, a < b ? b : a)
SIM_GROUP_OPERATION(bit_and, a& b)
SIM_GROUP_OPERATION(bit_or, a | b)
SIM_GROUP_OPERATION(bit_xor, a ^ b)
#undef SIM_GROUP_OPERATION

// In the order of ranks; the hardware's order is its own.
template <class Group, class T, class Operation>
T reduce(const Group& group, T value, Operation&& operation, SIM_CALLER) {
  T values[32];
  unsigned left = sim::collect(group.lanes_mask(), value, values, "cooperative_groups::reduce", file, line);
  T result = values[__builtin_ctz(left)];
  for (left &= left - 1; left; left &= left - 1) result = operation(result, values[__builtin_ctz(left)]);
  return result;
}

}  // namespace cooperative_groups
#endif
