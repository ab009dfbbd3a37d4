// Launches, and what a kernel may be given.
#include "case.h"

template <typename T, int kScale>
__global__ void __launch_bounds__(128) scaled(const T* __restrict__ in, T* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i] * T(kScale);
}

CASE(launch_template) {
  int n = buffers.size(0);
  cudaStream_t stream;
  cudaStreamCreate(&stream);
  const int threads = 128;
  scaled<int, (3 > 2 ? 5 : 7)><<<(n + threads - 1) / threads, dim3(threads), 0, stream>>>(
      buffers.at<int>(0), /* in place of a temporary */ buffers.at<int>(1), n);
  cudaStreamSynchronize(stream);
  cudaStreamDestroy(stream);
}

__global__ void positions(int* out) {
  int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  out[block * blockDim.x * blockDim.y * blockDim.z + thread] = block * 1000 + thread;
}

CASE(launch_three_dimensions) {
  positions<<<dim3(5, 3, 2), dim3(4, 3, 2)>>>(buffers.at<int>(0));
}

struct AddConstant {
  int constant;
  __host__ __device__ int operator()(int x) const { return x + constant; }
};

template <typename Function>
__global__ void map(const int* in, int* out, int n, Function function) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) out[i] = function(in[i]);
}

CASE(functor_argument) {
  map<<<2, 32>>>(buffers.at<int>(0), buffers.at<int>(1), buffers.size(0), AddConstant{42});
}

CASE(lambda_argument) {
  int factor = 3;
  auto function = [=] __device__(int x) { return x * factor - 1; };
  map<<<2, 32>>>(buffers.at<int>(0), buffers.at<int>(1), buffers.size(0), function);
}

CASE(host_device_lambda) {
  int bias = 9;
  auto function = [bias] __host__ __device__(int x) { return (x ^ bias) + bias; };
  map<<<1, 64>>>(buffers.at<int>(0), buffers.at<int>(1), buffers.size(0), function);
}

struct Table {
  int values[16];
};

__global__ void look_up(const __grid_constant__ Table table, const int* in, int* out, int n) {
  int i = threadIdx.x;
  if (i < n) out[i] = table.values[in[i] & 15];
}

CASE(struct_argument) {
  Table table;
  for (int i = 0; i < 16; i++) table.values[i] = i * i;
  look_up<<<1, 128>>>(table, buffers.at<int>(0), buffers.at<int>(1), buffers.size(0));
}

__global__ void add(const int* a, int b, int* out) { out[threadIdx.x] = a[threadIdx.x] + b; }
__global__ void subtract(const int* a, int b, int* out) { out[threadIdx.x] = a[threadIdx.x] - b; }

CASE(kernel_pointer) {
  void (*kernels[])(const int*, int, int*) = {add, subtract};
  for (int i = 0; i < 2; i++)
    kernels[i]<<<1, 32>>>(buffers.at<int>(0), 7, buffers.at<int>(1) + 32 * i);
}

#define LAUNCH(kernel, blocks, ...)            \
  do {                                         \
    kernel<<<(blocks), 32, 0, 0>>>(__VA_ARGS__); \
  } while (0)

CASE(launch_in_macro) { LAUNCH(add, 1, buffers.at<int>(0), 11, buffers.at<int>(1)); }

__device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

__global__ void fibonacci_numbers(int* out) { out[threadIdx.x] = fibonacci(threadIdx.x); }

__device__ __forceinline__ int gauss(int n) { return n < 1 ? 0 : n + gauss(n - 1); }
__device__ __forceinline__ int larger(int a, int b) { return a < b ? b : a; }

template <int (*kCombine)(int, int), class Other>
__device__ int combined(int a, int b, Other other) {
  int (*const functions[])(int, int) = {kCombine, other};
  return functions[a % 2](a, b);
}

__global__ void forced(const int* in, int* out) {
  out[threadIdx.x] = combined<larger>(in[threadIdx.x], gauss(threadIdx.x % 7), larger);
}

CASE(forced_inline) { forced<<<1, 32>>>(buffers.at<int>(0), buffers.at<int>(1)); }

template <class T>
__global__ void shifted(const T* in, const T* shift, T* out, const int* none) {
  out[threadIdx.x] = in[threadIdx.x] + (shift ? shift[0] : T(3)) + (none ? 100 : 0);
}

CASE(null_argument) {
  shifted<int><<<1, 32>>>(buffers.at<int>(0), NULL, buffers.at<int>(1), /* none */ NULL);
}

CASE(recursion) { fibonacci_numbers<<<1, 16>>>(buffers.at<int>(0)); }

template <typename T>
struct Twice {
  static __device__ __forceinline__ T of(T x) { return x + x; }
};

namespace nested {
template <typename T>
__global__ void twice(T* out) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  out[threadIdx.x] = Twice<T>::of(T(threadIdx.x));
#else
  out[threadIdx.x] = T(-1);
#endif
}
}  // namespace nested

CASE(architecture_macro) { nested::twice<double><<<1, 32>>>(buffers.at<double>(0)); }

__global__ void many_blocks(unsigned long long* out) {
  if (threadIdx.x == 0 && blockIdx.x == gridDim.x - 1) out[0] = (unsigned long long)blockIdx.x * blockDim.x;
}

CASE(many_blocks) { many_blocks<<<70000, 32>>>(buffers.at<unsigned long long>(0)); }
