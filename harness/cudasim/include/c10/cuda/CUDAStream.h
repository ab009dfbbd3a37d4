// torch's streams: there is one, the default, and a handle for the current one while it is captured.
#pragma once
#include <c10/core/Stream.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAFunctions.h>

namespace c10::cuda {

class CUDAStream {
 public:
  explicit CUDAStream(c10::Stream stream = c10::Stream(c10::Stream::DEFAULT, c10::Device(c10::DeviceType::CUDA, 0)))
      : stream_(stream) {}
  operator cudaStream_t() const { return static_cast<cudaStream_t>(is_default_ ? nullptr : sim_current_stream()); }
  operator c10::Stream() const { return stream_; }
  cudaStream_t stream() const { return *this; }
  c10::Stream unwrap() const { return stream_; }
  c10::Device device() const { return stream_.device(); }
  c10::DeviceIndex device_index() const { return 0; }
  c10::StreamId id() const { return 0; }
  bool query() const { return true; }
  void synchronize() const { C10_CUDA_CHECK(cudaDeviceSynchronize()); }

  static CUDAStream of_default() {
    CUDAStream stream;
    stream.is_default_ = true;
    return stream;
  }

 private:
  c10::Stream stream_;
  bool is_default_ = false;
};

inline CUDAStream getCurrentCUDAStream(c10::DeviceIndex = -1) { return CUDAStream(); }
inline CUDAStream getDefaultCUDAStream(c10::DeviceIndex = -1) { return CUDAStream::of_default(); }
inline CUDAStream getStreamFromPool(bool = false, c10::DeviceIndex = -1) {
  sim_note_stream("getStreamFromPool()");
  return CUDAStream();
}
inline CUDAStream getStreamFromExternal(cudaStream_t, c10::DeviceIndex) { return CUDAStream(); }
inline void setCurrentCUDAStream(CUDAStream) {}

}  // namespace c10::cuda

namespace at::cuda {
using c10::cuda::CUDAStream;
using c10::cuda::getCurrentCUDAStream;
using c10::cuda::getDefaultCUDAStream;
using c10::cuda::getStreamFromExternal;
using c10::cuda::getStreamFromPool;
using c10::cuda::setCurrentCUDAStream;
}  // namespace at::cuda
