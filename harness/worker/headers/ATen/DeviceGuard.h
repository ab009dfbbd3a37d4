// Slim: the guards themselves, without at::device_of() for lists.
#pragma once
#include <ATen/core/Tensor.h>
#include <c10/core/DeviceGuard.h>

namespace at {
inline std::optional<Device> device_of(const Tensor& t) {
  if (t.defined()) {
    return t.device();
  }
  return std::nullopt;
}
}  // namespace at
