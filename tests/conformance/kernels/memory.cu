// Memory spaces, vector types and copies.
#include "case.h"
#include "transpose.cuh"

__constant__ float coefficients[4];
__constant__ int offset_constant = 5;
__device__ int counter;
__device__ float table[8] = {1, 2, 4, 8, 16, 32, 64, 128};

__global__ void polynomial(const int* in, int* out, int n) {
  int i = threadIdx.x;
  if (i < n) {
    int sum = offset_constant;
    for (int k = 0; k < 4; k++) sum += int(coefficients[k]) * in[i] * (k + 1);
    out[i] = sum;
  }
}

CASE(constant_memory) {
  float host[4] = {1, 2, 3, 4};
  cudaMemcpyToSymbol(coefficients, host, sizeof host);
  float last = 10;
  cudaMemcpyToSymbol(coefficients, &last, sizeof last, 3 * sizeof(float));
  polynomial<<<1, 64>>>(buffers.at<int>(0), buffers.at<int>(1), buffers.size(0));
}

__global__ void count_and_look_up(float* out) {
  atomicAdd(&counter, 1);
  out[threadIdx.x] = table[threadIdx.x & 7];
}

CASE(device_globals) {
  int zero = 0;
  cudaMemcpyToSymbol(counter, &zero, sizeof zero);
  count_and_look_up<<<2, 32>>>(buffers.at<float>(0));
  int counted;
  cudaMemcpyFromSymbol(&counted, counter, sizeof counted);
  void* address;
  cudaGetSymbolAddress(&address, counter);
  cudaMemcpy(buffers.at<int>(1), address, sizeof(int), cudaMemcpyDeviceToDevice);
  cudaMemcpy(buffers.at<int>(1) + 1, &counted, sizeof(int), cudaMemcpyHostToDevice);
}

CASE(static_shared) {
  launch_transposed(buffers.at<float>(0), buffers.at<float>(1), 50);
}

template <typename T>
__global__ void reversed(const T* in, T* out) {
  extern __shared__ __align__(sizeof(double)) unsigned char raw[];
  T* kept = reinterpret_cast<T*>(raw);
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  kept[threadIdx.x] = in[i];
  __syncthreads();
  out[i] = kept[blockDim.x - 1 - threadIdx.x];
}

CASE(templated_dynamic_shared) {
  reversed<float><<<2, 64, 64 * sizeof(float)>>>(buffers.at<float>(0), buffers.at<float>(2));
  reversed<double><<<2, 64, 64 * sizeof(double)>>>(buffers.at<double>(1), buffers.at<double>(3));
}

template <typename T>
struct SharedMemory {
  __device__ operator T*() {
    extern __shared__ int shared_words[];
    return reinterpret_cast<T*>(shared_words);
  }
};

__global__ void sum_with_wrapper(const int* in, int* out) {
  int* kept = SharedMemory<int>();
  kept[threadIdx.x] = in[threadIdx.x];
  for (unsigned half = blockDim.x / 2; half > 0; half >>= 1) {
    __syncthreads();
    if (threadIdx.x < half) kept[threadIdx.x] += kept[threadIdx.x + half];
  }
  if (threadIdx.x == 0) *out = kept[0];
}

CASE(shared_memory_wrapper) {
  sum_with_wrapper<<<1, 128, 128 * sizeof(int)>>>(buffers.at<int>(0), buffers.at<int>(1));
}

// Rows whose number the launch decides.
__global__ void turned(const int* in, int* out) {
  extern __shared__ int rows[][8 + 1];
  int row = threadIdx.x / 8, column = threadIdx.x % 8;
  rows[row][column] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = rows[column][row];
}
CASE(dynamic_rows) { turned<<<1, 64, 8 * 9 * sizeof(int)>>>(buffers.at<int>(0), buffers.at<int>(1)); }

extern __shared__ float file_scope[];

__global__ void shift_by_one(const float* in, float* out) {
  file_scope[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = file_scope[(threadIdx.x + 1) % blockDim.x];
}

CASE(file_scope_shared) {
  shift_by_one<<<1, 96, 96 * sizeof(float)>>>(buffers.at<float>(0), buffers.at<float>(1));
}

__global__ void big_shared(const float* in, float* out, int n) {
  extern __shared__ float kept[];
  for (int i = threadIdx.x; i < n; i += blockDim.x) kept[i] = in[i];
  __syncthreads();
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[i] = kept[n - 1 - i];
}

CASE(opted_in_shared) {
  int nbytes = buffers.size(0) * sizeof(float);
  cudaFuncSetAttribute(big_shared, cudaFuncAttributeMaxDynamicSharedMemorySize, nbytes);
  big_shared<<<1, 256, nbytes>>>(buffers.at<float>(0), buffers.at<float>(1), buffers.size(0));
}

struct Pair {
  int key;
  float value;
};

__global__ void shared_struct(const int* in, int* out) {
  __shared__ Pair pairs[32];
  __shared__ int least, *where;
  __shared__ union {
    int words[32];
    unsigned char bytes[128];
  } both;
  pairs[threadIdx.x] = Pair{in[threadIdx.x], 0.5f};
  both.words[threadIdx.x] = 0x01020304;
  if (threadIdx.x == 0) {
    least = in[0];
    where = &least;
  }
  __syncthreads();
  atomicMin(where, pairs[31 - threadIdx.x].key);
  __syncthreads();
  out[threadIdx.x] = least * 10 + both.bytes[threadIdx.x];
}

CASE(shared_structs) { shared_struct<<<1, 32>>>(buffers.at<int>(0), buffers.at<int>(1)); }

__global__ void vector_loads(const float* floats, const int* ints, const double* doubles, const unsigned char* bytes,
                             float* out) {
  int i = threadIdx.x;
  float4 a = reinterpret_cast<const float4*>(floats)[i];
  int4 b = *reinterpret_cast<const int4*>(ints + 4 * i);
  double2 c = ((const double2*)doubles)[i];
  uchar4 d = reinterpret_cast<const uchar4*>(bytes)[i];
  reinterpret_cast<float4*>(out)[i] =
      make_float4(a.x + b.y, a.y + float(c.x), a.z + d.w, a.w + float(c.y) + b.w + d.x);
}

CASE(vector_loads) {
  vector_loads<<<1, 32>>>(buffers.at<float>(0), buffers.at<int>(1), buffers.at<double>(2),
                          buffers.at<unsigned char>(3), buffers.at<float>(4));
}

__global__ void sizes_of_vectors(int* out) {
  int i = 0;
  out[i++] = sizeof(char3) * 100 + alignof(char3);
  out[i++] = sizeof(uchar4) * 100 + alignof(uchar4);
  out[i++] = sizeof(short2) * 100 + alignof(short2);
  out[i++] = sizeof(ushort4) * 100 + alignof(ushort4);
  out[i++] = sizeof(int3) * 100 + alignof(int3);
  out[i++] = sizeof(uint4) * 100 + alignof(uint4);
  out[i++] = sizeof(longlong2) * 100 + alignof(longlong2);
  out[i++] = sizeof(float2) * 100 + alignof(float2);
  out[i++] = sizeof(float3) * 100 + alignof(float3);
  out[i++] = sizeof(double2) * 100 + alignof(double2);
  out[i++] = sizeof(dim3) * 100 + alignof(dim3);
}

CASE(vector_sizes) { sizes_of_vectors<<<1, 1>>>(buffers.at<int>(0)); }

__global__ void cached(const float* in, float* out, int n) {
  int i = threadIdx.x;
  if (i >= n) return;
  float sum = __ldg(in + i) + __ldcg(&in[i]) + __ldca(&in[i]);
  __stcs(out + i, sum + __ldcs(&in[i]));
  __stwt(out + n + i, __ldlu(&in[i]) + __ldcv(&in[i]));
  float4 v = __ldg(reinterpret_cast<const float4*>(in));
  __stcg(out + 2 * n + i, v.w);
}

CASE(cached_loads) { cached<<<1, 64>>>(buffers.at<float>(0), buffers.at<float>(1), buffers.size(0)); }

CASE(copies) {
  int *scratch, *host = new int[64];
  cudaMalloc(&scratch, 64 * sizeof(int));
  cudaMemset(scratch, 0xff, 64 * sizeof(int));
  cudaMemcpy(host, buffers.at<int>(0), 32 * sizeof(int), cudaMemcpyDeviceToHost);
  for (int i = 0; i < 32; i++) host[i] += 1;
  cudaMemcpyAsync(scratch, host, 32 * sizeof(int), cudaMemcpyHostToDevice, 0);
  cudaMemcpy(buffers.at<int>(1), scratch, 64 * sizeof(int), cudaMemcpyDefault);
  cudaFree(scratch);
  delete[] host;
}

CASE(strided_copies) {
  cudaStream_t stream;
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  unsigned char* rows;
  cudaMallocAsync(&rows, 8 * 16, stream);
  cudaMemsetAsync(rows, 7, 8 * 16, stream);
  cudaMemcpy2DAsync(rows + 2, 16, buffers.at<unsigned char>(0), 8, 8, 8, cudaMemcpyDeviceToDevice, stream);
  cudaMemcpyAsync(buffers.at<unsigned char>(1), rows, 8 * 16, cudaMemcpyDeviceToDevice, stream);
  cudaFreeAsync(rows, stream);
  cudaStreamSynchronize(stream);
  cudaStreamDestroy(stream);
}

__global__ void increment(int* values) { values[threadIdx.x]++; }

CASE(host_and_managed_memory) {
  int *pinned, *managed;
  cudaHostAlloc(&pinned, 32 * sizeof(int), cudaHostAllocDefault);
  cudaMallocManaged(&managed, 32 * sizeof(int));
  for (int i = 0; i < 32; i++) pinned[i] = managed[i] = i;
  increment<<<1, 32>>>(managed);
  cudaDeviceSynchronize();
  for (int i = 0; i < 32; i++) pinned[i] += managed[i];
  cudaMemcpy(buffers.at<int>(0), pinned, 32 * sizeof(int), cudaMemcpyHostToDevice);
  cudaFreeHost(pinned);
  cudaFree(managed);
}
