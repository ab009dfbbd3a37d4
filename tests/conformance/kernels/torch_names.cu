// What torch's own headers bring: dispatch, accessors, streams, guards, checks.
#include <ATen/AccumulateType.h>
#include <ATen/OpMathType.h>
#include <ATen/cuda/Atomic.cuh>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAMathCompat.h>
#include <c10/cuda/CUDAStream.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <torch/types.h>

#include "case.h"

#define CHECK_CUDA(x) TORCH_CHECK(x.device().is_cuda(), #x " must be a CUDA tensor")
#define CHECK_CONTIGUOUS(x) TORCH_CHECK(x.is_contiguous(), #x " must be contiguous")
#define CHECK_INPUT(x) \
  CHECK_CUDA(x);       \
  CHECK_CONTIGUOUS(x)

static torch::Tensor wrapped(const Buffers& buffers, int index, at::ScalarType type) {
  auto options = torch::TensorOptions().dtype(type).device(torch::kCUDA);
  return torch::from_blob(buffers.data[index], {buffers.numel[index]}, options);
}

template <typename scalar_t>
C10_LAUNCH_BOUNDS_1(256)
__global__ void mean_of_rows(const scalar_t* __restrict__ in, scalar_t* __restrict__ out, int columns) {
  using accumulate_t = at::acc_type<scalar_t, true>;
  accumulate_t sum = 0;
  for (int i = 0; i < columns; i++) sum += static_cast<accumulate_t>(in[threadIdx.x * columns + i]);
  out[threadIdx.x] = static_cast<scalar_t>(sum / columns);
}

static void launch_means(const torch::Tensor& in, torch::Tensor& out) {
  CHECK_INPUT(in);
  const at::cuda::OptionalCUDAGuard guard(device_of(in));
  auto stream = at::cuda::getCurrentCUDAStream();
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, in.scalar_type(), "mean_of_rows", [&] {
    mean_of_rows<scalar_t><<<1, 16, 0, stream>>>(in.data_ptr<scalar_t>(), out.data_ptr<scalar_t>(), 8);
  });
  C10_CUDA_KERNEL_LAUNCH_CHECK();
}

CASE(dispatch_floating_types) {
  at::ScalarType types[] = {at::kFloat, at::kDouble, at::kHalf, at::kBFloat16};
  for (int i = 0; i < 4; i++) {
    torch::Tensor in = wrapped(buffers, i, types[i]), out = wrapped(buffers, i + 4, types[i]);
    launch_means(in, out);
  }
}

template <typename scalar_t>
__global__ void __launch_bounds__(C10_MAX_THREADS_PER_BLOCK(128), C10_MIN_BLOCKS_PER_SM(128, 4)) squared(const scalar_t* in, scalar_t* out, int n) {
  using opmath_t = at::opmath_type<scalar_t>;
  int i = threadIdx.x;
  if (i < n) {
    opmath_t x = in[i];
    out[i] = x * x;
  }
}

CASE(dispatch_all_types) {
  at::ScalarType types[] = {at::kInt, at::kLong, at::kHalf};
  for (int i = 0; i < 3; i++) {
    torch::Tensor in = wrapped(buffers, i, types[i]), out = wrapped(buffers, i + 3, types[i]);
    AT_DISPATCH_ALL_TYPES_AND(at::ScalarType::Half, in.scalar_type(), "squared", ([&] {
      squared<scalar_t><<<1, 32>>>(in.data_ptr<scalar_t>(), out.mutable_data_ptr<scalar_t>(), in.numel());
    }));
    AT_CUDA_CHECK(cudaGetLastError());
  }
}

__global__ void transposed_sums(torch::PackedTensorAccessor32<float, 2, torch::RestrictPtrTraits> in,
                                torch::PackedTensorAccessor64<float, 1> out) {
  int column = threadIdx.x;
  if (column >= in.size(1)) return;
  float sum = 0.0f;
  for (int row = 0; row < in.size(0); row++) sum += in[row][column];
  out[column] = sum + in.stride(0);
}

CASE(packed_accessors) {
  torch::Tensor in = wrapped(buffers, 0, at::kFloat).view({8, 16}), out = wrapped(buffers, 1, at::kFloat);
  transposed_sums<<<1, 32>>>(in.packed_accessor32<float, 2, torch::RestrictPtrTraits>(),
                             out.packed_accessor64<float, 1>());
  C10_CUDA_CHECK(cudaGetLastError());
}

CASE(torch_operators) {
  torch::Tensor in = wrapped(buffers, 0, at::kFloat), out = wrapped(buffers, 1, at::kFloat);
  auto scratch = torch::empty_like(in), zeros = torch::zeros({in.size(0)}, in.options());
  squared<float><<<1, 32>>>(in.data_ptr<float>(), scratch.data_ptr<float>(), in.numel());
  out.copy_((scratch + zeros).clamp_min(0.25).flip({0}).contiguous());
}

CASE(torch_streams) {
  torch::Tensor in = wrapped(buffers, 0, at::kFloat), out = wrapped(buffers, 1, at::kFloat);
  c10::cuda::CUDAGuard guard(in.device());
  at::cuda::CUDAStream stream = at::cuda::getCurrentCUDAStream(in.get_device());
  cudaStream_t raw = stream.stream();
  squared<float><<<dim3(1), dim3(32), 0, raw>>>(in.data_ptr<float>(), out.data_ptr<float>(), in.numel());
  stream.synchronize();
  cudaDeviceProp* properties = at::cuda::getCurrentDeviceProperties();
  TORCH_CHECK(properties->warpSize == 32 && at::cuda::warp_size() == 32);
}

__global__ void gathered(const at::Half* halves, const double* doubles, at::Half* sum, double* total) {
  gpuAtomicAdd(sum, halves[threadIdx.x]);
  gpuAtomicAddNoReturn(total, doubles[threadIdx.x]);
}

CASE(torch_atomics) {
  gathered<<<1, 32>>>(buffers.at<at::Half>(0), buffers.at<double>(1), buffers.at<at::Half>(2), buffers.at<double>(3));
}

__global__ void as_cuda_halves(const at::Half* in, at::BFloat16* out) {
  const __half* raw = reinterpret_cast<const __half*>(in);
  __half sum = __hadd_rn(raw[threadIdx.x], __float2half(1.0f));
  at::Half back = sum;
  out[threadIdx.x] = __float2bfloat16(static_cast<float>(back) * 2.0f);
}

CASE(torch_halves) { as_cuda_halves<<<1, 32>>>(buffers.at<at::Half>(0), buffers.at<at::BFloat16>(1)); }

__global__ void add_if_there(const float* in, const float* bias, float* out) {
  out[threadIdx.x] = in[threadIdx.x] + (bias ? bias[threadIdx.x] : 1.0f);
}

CASE(empty_tensor_has_no_address) {
  torch::Tensor bias = torch::empty({0}, torch::dtype(torch::kFloat).device(torch::kCUDA));
  add_if_there<<<1, 32>>>(buffers.at<float>(0), bias.data_ptr<float>(), buffers.at<float>(1));
}
