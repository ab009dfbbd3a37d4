// Registers allocator, device guard and hooks for the device type CUDA. torch reads the hooks once, so this
// library has to be there before torch is imported.
#include "torch_device.h"

#include <ATen/detail/CUDAHooksInterface.h>
#include <ATen/CPUGeneratorImpl.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include <cstring>

#include "sim/abi.h"

namespace sim {
namespace {

void free_device_memory(void* pointer) {
  if (pointer) sim_device_free(pointer);
}

struct CudaAllocator final : c10::Allocator {
  c10::DataPtr allocate(size_t nbytes) override {
    check_device_is_well();
    if (!nbytes) return {nullptr, cuda_device};  // as torch's own: kernels ask whether there is a bias
    void* pointer = sim_device_alloc(nbytes);
    TORCH_CHECK_WITH(OutOfMemoryError, pointer, "CUDA out of memory. Tried to allocate ", nbytes, " bytes.");
    return {pointer, pointer, &free_device_memory, cuda_device};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &free_device_memory; }
  void copy_data(void* to, const void* from, size_t nbytes) const override { memcpy(to, from, nbytes); }
};

CudaAllocator allocator;

// The CPU's, where the device can read it as well.
struct PinnedAllocator final : c10::Allocator {
  c10::DataPtr allocate(size_t nbytes) override {
    void* pointer = sim_device_alloc(nbytes);
    TORCH_CHECK(pointer, "can't allocate ", nbytes, " bytes of pinned memory");
    return {pointer, pointer, &free_device_memory, c10::Device(c10::kCPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &free_device_memory; }
  void copy_data(void* to, const void* from, size_t nbytes) const override { memcpy(to, from, nbytes); }
};

PinnedAllocator pinned_allocator;

// Older torch wants some of these noexcept, and all may be.
struct Guard final : c10::impl::DeviceGuardImplInterface {
  static c10::Stream default_stream() { return c10::Stream(c10::Stream::DEFAULT, cuda_device); }

  c10::DeviceType type() const override { return c10::DeviceType::CUDA; }
  c10::Device exchangeDevice(c10::Device) const override { return cuda_device; }
  c10::Device getDevice() const override { return cuda_device; }
  void setDevice(c10::Device) const override {}
  void uncheckedSetDevice(c10::Device) const noexcept override {}
  c10::Stream getStream(c10::Device) const noexcept override { return default_stream(); }
  c10::Stream getDefaultStream(c10::Device) const override { return default_stream(); }
  c10::Stream getNewStream(c10::Device, int) const override { return default_stream(); }
  c10::Stream exchangeStream(c10::Stream stream) const noexcept override { return stream; }
  c10::DeviceIndex deviceCount() const noexcept override { return 1; }
  void record(void**, const c10::Stream&, const c10::DeviceIndex, const c10::EventFlag) const override {}
  void block(void*, const c10::Stream&) const override {}
  bool queryEvent(void*) const override { return true; }
  bool queryStream(const c10::Stream&) const override { return true; }
  void synchronizeEvent(void*) const override { check_device_is_well(); }
  void synchronizeStream(const c10::Stream&) const override { check_device_is_well(); }
  void synchronizeDevice(const c10::DeviceIndex) const override { check_device_is_well(); }
  void recordDataPtrOnStream(const c10::DataPtr&, const c10::Stream&) const override {}
};

C10_REGISTER_GUARD_IMPL(CUDA, Guard)

}  // namespace

// What torch asks of its CUDA half. Random numbers come from the CPU's generator.
struct Hooks final : at::CUDAHooksInterface {
  explicit Hooks(at::CUDAHooksArgs) {}
  void init() const override {}
  bool hasCUDA() const override { return true; }
  // torch 2.6 doesn't ask these two.
  bool isBuilt() const { return true; }
  bool isAvailable() const { return true; }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  int getNumGPUs() const override { return 1; }
  c10::DeviceIndex deviceCount() const override { return 1; }
  c10::DeviceIndex getCurrentDevice() const override { return 0; }
  c10::DeviceIndex current_device() const override { return 0; }
  void setCurrentDevice(c10::DeviceIndex) const override {}
  c10::DeviceIndex exchangeDevice(c10::DeviceIndex) const override { return 0; }
  c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex) const override { return 0; }
  c10::Device getDeviceFromPtr(void*) const override { return cuda_device; }
  c10::Allocator* getCUDADeviceAllocator() const override { return &allocator; }
  c10::Allocator* getPinnedMemoryAllocator() const override { return &pinned_allocator; }
  void deviceSynchronize(c10::DeviceIndex) const override { check_device_is_well(); }
  const at::Generator& getDefaultGenerator(c10::DeviceIndex) const override {
    return at::detail::getDefaultCPUGenerator();
  }
  at::Generator getNewGenerator(c10::DeviceIndex) const override { return at::detail::createCPUGenerator(); }
};

c10::Allocator* cuda_allocator() { return &allocator; }

void check_device_is_well() {
  cudaError_t error = sim_sticky_error();
  TORCH_CHECK(error == cudaSuccess, "CUDA error: ", sim_error_string(error));
}

namespace {
const bool is_registered = [] {
  constexpr uint8_t over_any_other = 100;
  c10::SetAllocator(c10::DeviceType::CUDA, &allocator, over_any_other);
  return true;
}();
}  // namespace

}  // namespace sim

namespace at {
using sim::Hooks;
C10_REGISTER_CLASS(CUDAHooksRegistry, CUDAHooks, Hooks)
}  // namespace at
