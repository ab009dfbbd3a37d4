// torch's events: the runtime's, made when they are first recorded.
#pragma once
#include <optional>
#include <utility>

#include <c10/cuda/CUDAGuard.h>

namespace c10::cuda {

class CUDAEvent {
 public:
  CUDAEvent(unsigned flags = cudaEventDisableTiming) noexcept : flags_(flags) {}
  CUDAEvent(CUDAEvent&& other) noexcept { swap(other); }
  CUDAEvent& operator=(CUDAEvent&& other) noexcept {
    swap(other);
    return *this;
  }
  ~CUDAEvent() {
    if (event_) cudaEventDestroy(event_);
  }

  operator cudaEvent_t() const { return event_; }
  cudaEvent_t event() const { return event_; }
  bool isCreated() const { return event_ != nullptr; }
  c10::DeviceIndex device_index() const { return isCreated() ? 0 : -1; }
  std::optional<c10::Device> device() const {
    return isCreated() ? std::optional<c10::Device>(CUDAStream().device()) : std::nullopt;
  }

  void record(const CUDAStream& = CUDAStream()) {
    if (!isCreated()) C10_CUDA_CHECK(cudaEventCreateWithFlags(&event_, flags_));
    C10_CUDA_CHECK(cudaEventRecord(event_));
    was_recorded_ = true;
  }
  void recordOnce(const CUDAStream& stream) {
    if (!was_recorded_) record(stream);
  }
  void block(const CUDAStream& stream) {
    if (isCreated()) C10_CUDA_CHECK(cudaStreamWaitEvent(stream, event_));
  }
  bool query() const {
    synchronize();
    return true;
  }
  void synchronize() const {
    if (isCreated()) C10_CUDA_CHECK(cudaEventSynchronize(event_));
  }
  float elapsed_time(const CUDAEvent& end) const {
    TORCH_CHECK(isCreated() && end.isCreated(), "Both events must be recorded before calculating elapsed time.");
    float milliseconds = 0;
    C10_CUDA_CHECK(cudaEventElapsedTime(&milliseconds, event_, end.event_));
    return milliseconds;
  }

 private:
  void swap(CUDAEvent& other) {
    std::swap(flags_, other.flags_);
    std::swap(was_recorded_, other.was_recorded_);
    std::swap(event_, other.event_);
  }

  unsigned flags_ = cudaEventDisableTiming;
  bool was_recorded_ = false;
  cudaEvent_t event_ = nullptr;
};

}  // namespace c10::cuda
