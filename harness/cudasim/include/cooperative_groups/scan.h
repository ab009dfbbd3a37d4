// Prefix sums, and other operations', over the lanes of a group.
#pragma once
#include <cooperative_groups/reduce.h>

#if defined(HARNESS_SIM_DEVICE)
namespace cooperative_groups {

template <class Group, class T, class Operation>
T inclusive_scan(const Group& group, T value, Operation&& operation, SIM_CALLER) {
  T values[32];
  unsigned left = sim::collect(group.lanes_mask(), value, values, "inclusive_scan", file, line);
  left &= (2u << sim::lane()) - 1;
  T result = values[__builtin_ctz(left)];
  for (left &= left - 1; left; left &= left - 1) result = operation(result, values[__builtin_ctz(left)]);
  return result;
}
template <class Group, class T>
T inclusive_scan(const Group& group, T value, SIM_CALLER) {
  return inclusive_scan(group, value, plus<T>(), file, line);
}
// The first lane gets T().
template <class Group, class T, class Operation>
T exclusive_scan(const Group& group, T value, Operation&& operation, SIM_CALLER) {
  T values[32], result = T();
  unsigned left = sim::collect(group.lanes_mask(), value, values, "exclusive_scan", file, line);
  left &= (1u << sim::lane()) - 1;
  if (!left) return result;
  result = values[__builtin_ctz(left)];
  for (left &= left - 1; left; left &= left - 1) result = operation(result, values[__builtin_ctz(left)]);
  return result;
}
template <class Group, class T>
T exclusive_scan(const Group& group, T value, SIM_CALLER) {
  return exclusive_scan(group, value, plus<T>(), file, line);
}

}  // namespace cooperative_groups
#endif
