// The fake CUDA device, as torch's CPU build sees it.
#pragma once
#include <ATen/core/Tensor.h>
#include <c10/core/Allocator.h>

namespace sim {

inline const c10::Device cuda_device(c10::DeviceType::CUDA, 0);

c10::Allocator* cuda_allocator();

// Raises what torch would once a kernel has faulted: nothing works after that.
void check_device_is_well();

}  // namespace sim
