// Copies by the threads of a group, asynchronous where addresses and size are multiples of 4, as CUDA's own header has them.
#pragma once
#include <cooperative_groups.h>
#include <cuda_pipeline.h>

#if defined(HARNESS_SIM_DEVICE)
namespace cooperative_groups {

template <class Group, class T>
void memcpy_async(const Group& group, T* __restrict__ to, const T* __restrict__ from, size_t nbytes, SIM_CALLER) {
  size_t alignment = reinterpret_cast<uintptr_t>(to) | reinterpret_cast<uintptr_t>(from) | nbytes | 16;
  size_t size = alignment & -alignment;
  auto* target = reinterpret_cast<char*>(to);
  auto* source = reinterpret_cast<const char*>(from);
  for (size_t at = group.thread_rank() * size; at < nbytes; at += group.size() * size)
    if (size >= 4) __pipeline_memcpy_async(target + at, source + at, size, 0, file, line);
    else for (size_t i = at; i < at + size; i++) target[i] = source[i];
  __pipeline_commit();
}
// By elements: as many as both have.
template <class Group, class T>
void memcpy_async(const Group& group, T* __restrict__ to, size_t room, const T* __restrict__ from, size_t count,
                  SIM_CALLER) {
  memcpy_async(group, to, from, (room < count ? room : count) * sizeof(T), file, line);
}
template <unsigned pending, class Group>
void wait_prior(const Group& group, SIM_CALLER) {
  __pipeline_wait_prior(pending);
  group.sync(file, line);
}
template <class Group>
void wait(const Group& group, SIM_CALLER) {
  wait_prior<0>(group, file, line);
}

}  // namespace cooperative_groups
#endif
