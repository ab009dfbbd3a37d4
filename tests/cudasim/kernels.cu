// Kernels for the end-to-end tests: first those that must work, then one for each fault.
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <cooperative_groups.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

namespace kernels {
// A comment with <<<launch>>> and __shared__ and asm("nop") changes nothing.
static const char* text = "neither does kernel<<<1, 2>>>(); or __shared__ float x;";

__global__ void __launch_bounds__(256) add(const float* __restrict__ a, const float* __restrict__ b, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = a[i] + b[i];
}
}  // namespace kernels

torch::Tensor vector_add(torch::Tensor a, torch::Tensor b) {
  TORCH_CHECK(a.is_cuda() && b.is_cuda(), "inputs must be on the GPU");
  const at::cuda::OptionalCUDAGuard guard(device_of(a));
  auto out = torch::empty_like(a);
  const int threads = 256, n = a.numel();
  kernels::add<<<(n + threads - 1) / threads, threads, 0, at::cuda::getCurrentCUDAStream()>>>(
      a.data_ptr<float>(), b.data_ptr<float>(), out.data_ptr<float>(), n);  // a comment at the end
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return out;
}

template <int TILE>
__global__ void tiled_product(const float* a, const float* b, float* c, int n) {
  __shared__ float left[TILE][TILE], right[TILE][TILE + 1];
  int row = blockIdx.y * TILE + threadIdx.y, column = blockIdx.x * TILE + threadIdx.x;
  float sum = 0.0f;
  for (int t = 0; t < (n + TILE - 1) / TILE; ++t) {
    int k = t * TILE;
    left[threadIdx.y][threadIdx.x] = row < n && k + threadIdx.x < n ? a[row * n + k + threadIdx.x] : 0.0f;
    right[threadIdx.y][threadIdx.x] = column < n && k + threadIdx.y < n ? b[(k + threadIdx.y) * n + column] : 0.0f;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < TILE; ++i) sum += left[threadIdx.y][i] * right[i][threadIdx.x];
    __syncthreads();
  }
  if (row < n && column < n) c[row * n + column] = sum;
}

torch::Tensor matmul(torch::Tensor a, torch::Tensor b) {
  int n = a.size(0);
  auto c = torch::empty({n, n}, a.options());
  dim3 block(16, 16), grid((n + 15) / 16, (n + 15) / 16);
  tiled_product<16><<<grid, block>>>(a.data_ptr<float>(), b.data_ptr<float>(), c.data_ptr<float>(), n);
  return c;
}

template <typename scalar_t>
__global__ void reverse_blocks(const scalar_t* in, scalar_t* out) {
  extern __shared__ char raw[];
  scalar_t* kept = reinterpret_cast<scalar_t*>(raw);
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  kept[threadIdx.x] = in[i];
  __syncthreads();
  out[i] = kept[blockDim.x - 1 - threadIdx.x];
}

torch::Tensor reverse(torch::Tensor x) {
  auto out = torch::empty_like(x);
  AT_DISPATCH_FLOATING_TYPES_AND_HALF(x.scalar_type(), "reverse", [&] {
    reverse_blocks<scalar_t><<<x.numel() / 64, 64, 64 * sizeof(scalar_t)>>>(x.data_ptr<scalar_t>(),
                                                                         out.data_ptr<scalar_t>());
  });
  return out;
}

// All threads read what the first one writes, without a barrier between.
__global__ void first_of_all(const float* x, float* out) {
  __shared__ float kept[64];
  int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  kept[thread] = x[thread];
  __syncthreads();
  float first = kept[0];
  kept[thread] = -1;
  __syncthreads();
  out[thread] = first + kept[thread];
}

torch::Tensor racing(torch::Tensor x) {
  auto out = torch::empty_like(x);
  first_of_all<<<1, dim3(8, 4, 2)>>>(x.data_ptr<float>(), out.data_ptr<float>());
  return out;
}

__global__ void position(int* out) {
  int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  out[block * blockDim.x * blockDim.y * blockDim.z + thread] = block * 1000 + thread;
}

torch::Tensor positions() {
  auto out = torch::empty({5 * 3 * 2, 4 * 3 * 2}, torch::dtype(torch::kInt).device(torch::kCUDA));
  position<<<dim3(5, 3, 2), dim3(4, 3, 2)>>>(out.data_ptr<int>());
  return out;
}

__constant__ float weights[3];

__global__ void smooth(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n - 2) return;
  out[i] = weights[0] * in[i] + weights[1] * in[i + 1] + weights[2] * in[i + 2];
}

torch::Tensor convolve(torch::Tensor x) {
  float host[3] = {1.0f, 2.0f, 4.0f};
  C10_CUDA_CHECK(cudaMemcpyToSymbol(weights, host, sizeof host));
  auto out = torch::zeros({x.numel() - 2}, x.options());
  smooth<<<(x.numel() + 31) / 32, 32>>>(x.data_ptr<float>(), out.data_ptr<float>(), x.numel());
  return out;
}

__inline__ __device__ float warp_sum(float value) {
  for (int offset = warpSize / 2; offset > 0; offset /= 2) value += __shfl_down_sync(0xffffffff, value, offset);
  return value;
}

__global__ void sum_all(const float* in, float* out, int* counted, int n) {
  __shared__ float partial[32];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float value = warp_sum(i < n ? in[i] : 0.0f);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
  int present = __syncthreads_count(i < n);
  if (threadIdx.x < 32) {
    value = threadIdx.x < blockDim.x / 32 ? partial[threadIdx.x] : 0.0f;
    value = warp_sum(value);
    unsigned voters = __ballot_sync(0xffffffffu, threadIdx.x < 4);
    if (threadIdx.x == 0) {
      atomicAdd(out, value);
      atomicAdd(counted, present);
      if (voters != 15u) __trap();
    }
  }
}

std::vector<torch::Tensor> reduce(torch::Tensor x) {
  auto out = torch::zeros({1}, x.options());
  auto counted = torch::zeros({1}, x.options().dtype(torch::kInt));
  int n = x.numel();
  sum_all<<<(n + 127) / 128, 128>>>(x.data_ptr<float>(), out.data_ptr<float>(), counted.data_ptr<int>(), n);
  return {out, counted};
}

__global__ void scale4(const float4* in, float4* out, int n, float by) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float4 v = in[i];
    out[i] = make_float4(v.x * by, v.y * by, v.z * by, v.w * by);
  }
}

torch::Tensor scale(torch::Tensor x, double by) {
  auto out = torch::empty_like(x);
  int n = x.numel() / 4;
  scale4<<<(n + 63) / 64, 64>>>(reinterpret_cast<const float4*>(x.data_ptr<float>()),
                                reinterpret_cast<float4*>(out.data_ptr<float>()), n, (float)by);
  return out;
}

__global__ void half_fma(const __half* a, const __nv_bfloat16* b, __half2* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    __half product = __float2half(__half2float(a[i]) * __bfloat162float(b[i]));
    out[i] = __halves2half2(product, __hadd(product, __float2half(1.0f)));
  }
}

torch::Tensor halves(torch::Tensor a, torch::Tensor b) {
  auto out = torch::empty({a.numel(), 2}, a.options());
  half_fma<<<1, 64>>>(reinterpret_cast<const __half*>(a.data_ptr<at::Half>()),
                      reinterpret_cast<const __nv_bfloat16*>(b.data_ptr<at::BFloat16>()),
                      reinterpret_cast<__half2*>(out.data_ptr<at::Half>()), a.numel());
  return out;
}

__global__ void dynamic_sum(const float* in, float* out, int n) {
  extern __shared__ float cache[];
  for (int i = threadIdx.x; i < n; i += blockDim.x) cache[i] = in[i];
  __syncthreads();
  if (threadIdx.x == 0) {
    float sum = 0.0f;
    for (int i = 0; i < n; ++i) sum += cache[i];
    *out = sum;
  }
}

torch::Tensor big_shared(torch::Tensor x, bool opts_in, bool checks) {
  int nbytes = x.numel() * sizeof(float);
  auto out = torch::empty({}, x.options());
  if (opts_in) cudaFuncSetAttribute(dynamic_sum, cudaFuncAttributeMaxDynamicSharedMemorySize, nbytes);
  dynamic_sum<<<1, 128, nbytes>>>(x.data_ptr<float>(), out.data_ptr<float>(), x.numel());
  if (checks) C10_CUDA_KERNEL_LAUNCH_CHECK();
  return out;
}

template <typename T, int THREADS>
__global__ void dynamic_total(const T* in, T* out, int n) {
  extern __shared__ T kept[];
  for (int i = threadIdx.x; i < n; i += THREADS) kept[i] = in[i];
  __syncthreads();
  if (threadIdx.x == 0) {
    *out = 0;
    for (int i = 0; i < n; ++i) *out += kept[i];
  }
}

#define TOTAL_OF(type) dynamic_total<type, 64>

torch::Tensor big_shared_template(torch::Tensor x) {
  int nbytes = x.numel() * sizeof(float);
  auto out = torch::empty({}, x.options());
  C10_CUDA_CHECK(cudaFuncSetAttribute((const void*)TOTAL_OF(float),
                                      cudaFuncAttributeMaxDynamicSharedMemorySize, nbytes));
  TOTAL_OF(float)<<<1, 64, nbytes>>>(x.data_ptr<float>(), out.data_ptr<float>(), x.numel());
  C10_CUDA_KERNEL_LAUNCH_CHECK();
  return out;
}

// ---- 8-bit floats.

template <class Narrow, class Pair, class Four>
__global__ void through_eight_bits(const float* in, float* out, unsigned char* bits) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  Narrow one(in[i]);
  bits[i] = one.__x;
  out[i] = float(one);
  auto two = static_cast<float2>(Pair(float2{in[i], -in[i]}));
  auto four = static_cast<float4>(Four(float4{in[i], 1.0f, -2.0f, in[i]}));
  bool is_whole = two.x == out[i] && two.y == -out[i] && four.x == two.x && four.y == 1 && four.z == -2 && four.w == two.x;
  if (!is_whole && !isnan(in[i])) out[i] = -1000.0f;
}

std::vector<torch::Tensor> eight_bits(torch::Tensor x, bool is_e4m3) {
  auto out = torch::empty_like(x), bits = torch::empty_like(x, torch::kUInt8);
  auto kernel = is_e4m3 ? through_eight_bits<__nv_fp8_e4m3, __nv_fp8x2_e4m3, __nv_fp8x4_e4m3>
                        : through_eight_bits<__nv_fp8_e5m2, __nv_fp8x2_e5m2, __nv_fp8x4_e5m2>;
  kernel<<<x.numel() / 32, 32>>>(x.data_ptr<float>(), out.data_ptr<float>(), bits.data_ptr<unsigned char>());
  return {out, bits};
}

__global__ void half_of_eight_bits(const __nv_fp8_storage_t* in, float* out, __nv_fp8_storage_t* back, bool is_e4m3) {
  auto kind = is_e4m3 ? __NV_E4M3 : __NV_E5M2;
  __half_raw half = __nv_cvt_fp8_to_halfraw(in[threadIdx.x], kind);
  out[threadIdx.x] = __half2float(half);
  back[threadIdx.x] = __nv_cvt_halfraw_to_fp8(half, __NV_NOSAT, kind);
}

std::vector<torch::Tensor> all_eight_bits(torch::Tensor x, bool is_e4m3) {
  auto out = torch::empty(x.sizes(), x.options().dtype(torch::kFloat)), back = torch::empty_like(x);
  half_of_eight_bits<<<1, 256>>>(x.data_ptr<unsigned char>(), out.data_ptr<float>(), back.data_ptr<unsigned char>(), is_e4m3);
  return {out, back};
}

// What a copy that nobody waited for has left, and what it leaves in the end.
__global__ void copy_behind(const float* in, float* out) {
  __shared__ float kept[32];
  unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(kept + threadIdx.x));
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(in + threadIdx.x));
  asm volatile("cp.async.commit_group;");
  out[threadIdx.x] = kept[threadIdx.x];
  asm volatile("cp.async.wait_group 0;" ::: "memory");
  out[threadIdx.x + 32] = kept[threadIdx.x];
}

torch::Tensor copies_behind(torch::Tensor x) {
  auto out = torch::zeros({64}, x.options());
  copy_behind<<<1, 32>>>(x.data_ptr<float>(), out.data_ptr<float>());
  return out;
}

// ---- Faults.

__global__ void load_behind(const float* in, float* out) {
  float value;
  asm volatile("ld.global.nc.f32 %0, [%1];" : "=f"(value) : "l"(in + 1000));
  out[0] = value;
}

void asm_out_of_bounds(torch::Tensor x) { load_behind<<<1, 1>>>(x.data_ptr<float>(), x.data_ptr<float>()); }

__global__ void copy_from_behind(const float* in, float* out) {
  __shared__ alignas(16) float kept[4];
  unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(kept));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(in + 1000));
  asm volatile("cp.async.wait_all;" ::: "memory");
  out[0] = kept[0];
}

__global__ void load_rows(float* out, unsigned offset) {
  __shared__ alignas(16) unsigned short tile[64];
  tile[threadIdx.x] = tile[threadIdx.x + 32] = threadIdx.x;
  __syncwarp();
  unsigned row = static_cast<unsigned>(__cvta_generic_to_shared(tile)) + threadIdx.x % 8 * 16 + offset, got;
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(got) : "r"(row));
  out[threadIdx.x] = got;
}

void matrix_rows(torch::Tensor x, int64_t offset) { load_rows<<<1, 32>>>(x.data_ptr<float>(), offset); }

void copy_out_of_bounds(torch::Tensor x) { copy_from_behind<<<1, 1>>>(x.data_ptr<float>(), x.data_ptr<float>()); }

__global__ void write_behind(float* out, int at) {
  out[at] = 1.0f;
}

std::vector<torch::Tensor> library_in_tf32(torch::Tensor x) {
  int n = int(x.numel());
  float one = 1, none = 0, *data = x.data_ptr<float>();
  cublasHandle_t handle;
  cublasCreate(&handle);
  std::vector<torch::Tensor> products;
  for (cublasMath_t mode : {CUBLAS_DEFAULT_MATH, CUBLAS_TF32_TENSOR_OP_MATH}) {
    torch::Tensor product = torch::empty({n, n}, x.options());
    cublasSetMathMode(handle, mode);
    cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, 1, &one, data, n, data, 1, &none, product.data_ptr<float>(), n);
    products.push_back(product);
  }
  cublasDestroy(handle);
  return products;
}

void library_behind(torch::Tensor x) {
  int n = int(x.numel());
  float one = 1, *data = x.data_ptr<float>();
  cublasSgemv(at::cuda::getCurrentCUDABlasHandle(), CUBLAS_OP_N, n, 2, &one, data, n, data, 1, &one, data, 1);
}

void out_of_bounds(torch::Tensor x, int64_t at) { write_behind<<<1, 1>>>(x.data_ptr<float>(), (int)at); }

__global__ void sum_fours(const float* x, float* y, int n) {
  const float4* fours = (const float4*)(x + 1);
  float sum = 0.0f;
  for (int i = threadIdx.x; i < n; i += 32) {
    float4 four = fours[i];
    sum += four.x + four.y + four.z + four.w;
  }
  for (int o = 16; o; o >>= 1) sum += __shfl_xor_sync(~0u, sum, o);
  if (threadIdx.x == 0) y[blockIdx.x] = sum;
}

void misaligned_above(torch::Tensor x) { sum_fours<<<1, 32>>>(x.data_ptr<float>(), x.data_ptr<float>(), 32); }

void too_many_threads(torch::Tensor x) { write_behind<<<1, 2048>>>(x.data_ptr<float>(), 0); }

template <int most>
__global__ void __launch_bounds__(most, 2) bounded(float* out) {
  out[threadIdx.x] = 7.0f;
}

void too_many_for_its_bounds(torch::Tensor x) { bounded<128><<<1, dim3(8, 24)>>>(x.data_ptr<float>()); }

torch::Tensor too_many_for_its_bounds_handled(torch::Tensor x) {
  bounded<128><<<2, 129>>>(x.data_ptr<float>());
  if (cudaGetLastError() != cudaSuccess) bounded<3><<<1, 3>>>(x.data_ptr<float>());
  return x;
}

bool too_many_threads_handled(torch::Tensor x) {
  write_behind<<<1, 2048>>>(x.data_ptr<float>(), 0);
  if (cudaGetLastError() == cudaSuccess) return false;
  write_behind<<<1, 32>>>(x.data_ptr<float>(), 0);
  return cudaGetLastError() == cudaSuccess;
}

__global__ void wait_for_each_other() {
  if (threadIdx.x < 16)
    __syncwarp();
  else
    __syncthreads();
}

void deadlock() { wait_for_each_other<<<1, 32>>>(); }

// The first waits for the default stream, as that does for it.
void own_streams() {
  cudaStream_t blocking, other;
  cudaStreamCreate(&blocking);
  cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
  at::cuda::getStreamFromPool();
}

__global__ void leave_early(float* out, int n) {
  __shared__ float kept[64];
  if (threadIdx.x >= n) return;
  kept[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = kept[n - 1 - threadIdx.x];
}

void early_exit(torch::Tensor out) { leave_early<<<1, 64>>>(out.data_ptr<float>(), out.numel()); }

__global__ void forget_to_fill(float* out) {
  __shared__ float kept[32];
  if (threadIdx.x < 16) kept[threadIdx.x] = 1.0f;
  __syncthreads();
  out[blockIdx.x * 32 + threadIdx.x] = kept[threadIdx.x];
}

void uninitialised_shared(torch::Tensor out) { forget_to_fill<<<out.numel() / 32, 32>>>(out.data_ptr<float>()); }

__global__ void run_over(float* out) {
  extern __shared__ float kept[];
  kept[threadIdx.x + 2048] = 1.0f;
  out[0] = kept[0];
}

void shared_overrun(torch::Tensor out) { run_over<<<1, 32, 128>>>(out.data_ptr<float>()); }

__global__ void check_sign(const float* in) { assert(in[threadIdx.x] >= 0.0f); }

void device_assert(torch::Tensor x) { check_sign<<<1, 4>>>(x.data_ptr<float>()); }

__global__ void divide(int* out, int by) { out[0] = 7 / by; }

void divide_by_zero(torch::Tensor x) { divide<<<1, 1>>>(x.data_ptr<int>(), 0); }

__global__ void recurse(float* out, int depth) {
  volatile float local[20000];
  local[depth % 1024] = depth;
  if (depth > 0) recurse(out, depth - 1);
  out[0] += local[depth % 1024];
}

void deep_stack(torch::Tensor x) { recurse<<<1, 1>>>(x.data_ptr<float>(), 1000); }

__global__ void shuffle_from_nobody(int* out) {
  if (threadIdx.x < 16) out[threadIdx.x] = __shfl_sync(0x0000ffffu, (int)threadIdx.x, 20);
}

void inactive_lane(torch::Tensor x) { shuffle_from_nobody<<<1, 32>>>(x.data_ptr<int>()); }

template <typename Index>
__global__ void average_pairs(const float* in, float* out, Index n) {
  Index i = Index(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) out[i] = (in[2 * i] + in[2 * i + 1]) / 2;
}

torch::Tensor pool(torch::Tensor x, bool wide) {
  auto out = torch::empty({x.numel() / 2}, x.options());
  int64_t blocks = (out.numel() + 255) / 256;
  if (wide)
    average_pairs<int64_t><<<blocks, 256>>>(x.data_ptr<float>(), out.data_ptr<float>(), out.numel());
  else
    average_pairs<int><<<blocks, 256>>>(x.data_ptr<float>(), out.data_ptr<float>(), out.numel());
  return out;
}

__global__ void leaf(int* out) { out[0] = 1; }

__host__ __device__ void start_leaf(int* out) { leaf<<<1, 1>>>(out); }

__global__ void parent(int* out) { start_leaf(out); }

void nested_launch(torch::Tensor out) { parent<<<2, 32>>>(out.data_ptr<int>()); }

// So many dependent steps a thread, which no compiler leaves out.
__global__ void count_down(float* out, int64_t steps) {
  float value = threadIdx.x;
  for (int64_t i = 0; i < steps; i++) value = value * 0.5f + 1.0f;
  out[blockIdx.x] = value;
}

torch::Tensor long_work(torch::Tensor x, int64_t blocks, int64_t steps) {
  auto out = torch::zeros({blocks}, x.options());
  count_down<<<blocks, 32>>>(out.data_ptr<float>(), steps);
  if (cudaGetLastError() != cudaSuccess) exit(1);
  return out;
}

// As where the first blocks wait for a processor.
__global__ void count_down_first(float* out, int64_t steps) {
  float value = threadIdx.x;
  for (int64_t i = 0; i < steps && blockIdx.x < 8; i++) value = value * 0.5f + 1.0f;
  out[blockIdx.x] = value;
}

torch::Tensor long_first_blocks(torch::Tensor x, int64_t blocks, int64_t steps) {
  auto out = torch::zeros({blocks}, x.options());
  count_down_first<<<blocks, 32>>>(out.data_ptr<float>(), steps);
  return out;
}

// What an extension may do while a graph is captured.
__global__ void twice(const float* x, float* y) { y[threadIdx.x] = 2 * x[threadIdx.x]; }

// Each block reads what the next one wrote, which a grid that isn't cooperative can't wait for.
__global__ void twice_of_all(const float* x, float* y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
  y[i] = x[i];
  cooperative_groups::this_grid().sync();
  const float other = y[(i + blockDim.x) % n];
  cooperative_groups::this_grid().sync();
  y[i] += other;
}

static cudaError_t by_function(const float* from, float* to, int n, cudaStream_t stream, const std::string& what) {
  void* arguments[] = {&from, &to};
  const void* address = (const void*)twice;
  cudaLaunchConfig_t config = {};
  config.gridDim = 1;
  config.blockDim = n;
  config.stream = stream;
  if (what == "cudaLaunchKernel") return cudaLaunchKernel(twice, 1, n, arguments, 0, stream);
  if (what == "cudaLaunchKernel by address") return cudaLaunchKernel(address, 1, n, arguments, 0, stream);
  if (what == "cudaLaunchKernelEx") return cudaLaunchKernelEx(&config, twice, from, to);
  if (what == "cudaLaunchKernelExC") return cudaLaunchKernelExC(&config, address, arguments);
  return cudaLaunchCooperativeKernel(twice_of_all, 2, n / 2, arguments, 0, stream);
}

int64_t on_a_stream(torch::Tensor x, torch::Tensor y, std::string what) {
  float *from = x.data_ptr<float>(), *to = y.data_ptr<float>();
  cudaStream_t stream = at::cuda::getCurrentCUDAStream();
  const int n = x.numel();
  void* memory = nullptr;
  if (what == "kernel") twice<<<1, n, 0, stream>>>(from, to);
  if (what == "kernel by a variable's name") {
    auto kernel = twice;
    kernel<<<1, n, 0, stream>>>(from, to);
  }
  if (what == "kernel on the default stream") twice<<<1, n>>>(from, to);
  if (what == "kernel on torch's default stream") twice<<<1, n, 0, at::cuda::getDefaultCUDAStream()>>>(from, to);
  if (what == "kernel past the end") twice<<<1, n, 0, stream>>>(from + 1, to);
  if (what.rfind("cudaLaunchKernel", 0) == 0 || what == "cudaLaunchCooperativeKernel")
    return by_function(from, to, n, stream, what);
  if (what == "copy") return cudaMemcpyAsync(to, from, n * sizeof(float), cudaMemcpyDeviceToDevice, stream);
  if (what == "fill") return cudaMemsetAsync(to, 0, n * sizeof(float), stream);
  if (what == "cudaDeviceSynchronize") return cudaDeviceSynchronize();
  if (what == "cudaStreamSynchronize") return cudaStreamSynchronize(stream);
  if (what == "cudaMalloc") return cudaMalloc(&memory, n);
  if (what == "cudaMallocAsync") return cudaMallocAsync(&memory, n, stream);
  if (what == "cudaLaunchHostFunc") return cudaLaunchHostFunc(stream, [](void*) {}, nullptr);
  return cudaGetLastError();
}

// What the list's values are kept in has ended its life by the second line; compilers for a GPU leave it in place.
torch::Tensor shape_from_a_list(torch::Tensor x) {
  torch::IntArrayRef shape;
  int rows = x.size(0), columns = x.size(1);
  if (x.dim() == 2) shape = {columns, 2 * rows};
  auto options = torch::dtype(torch::kFloat).device(x.device());
  return torch::zeros(shape, options);
}
