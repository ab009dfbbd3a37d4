// What came with compute capability 9.0: barriers that count arrivals, copies in bulk, products of four warps.
#include <cuda_fp16.h>

#include <type_traits>

#include "case.h"

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 900  // elsewhere the cases are skipped

static __device__ unsigned in_window(const void* pointer) { return static_cast<unsigned>(__cvta_generic_to_shared(pointer)); }

static __device__ void begin(uint64_t* barrier, unsigned arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;\nfence.mbarrier_init.release.cluster;" ::"r"(in_window(barrier)),
               "r"(arrivals));
}

static __device__ void arrive(uint64_t* barrier) {
  asm volatile("{\n.reg .b64 state;\nmbarrier.arrive.shared::cta.b64 state, [%0];\n}" ::"r"(in_window(barrier)) : "memory");
}

static __device__ void arrive_and_expect(uint64_t* barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(in_window(barrier)), "r"(bytes) : "memory");
}

static __device__ void wait(uint64_t* barrier, unsigned parity) {
  asm volatile(
      "{\n"
      ".reg .pred passed;\n"
      "again_%=:\n"
      "mbarrier.try_wait.parity.shared::cta.b64 passed, [%0], %1;\n"
      "@passed bra done_%=;\n"
      "bra.uni again_%=;\n"
      "done_%=:\n"
      "}" ::"r"(in_window(barrier)), "r"(parity)
      : "memory");
}

static __device__ void load(void* to, const void* from, unsigned bytes, uint64_t* barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   in_window(to)),
               "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(in_window(barrier))
               : "memory");
}

// One warp fetches tiles of 64 into two places in turn; the other adds its lane and writes them back in bulk.
constexpr int tile = 64, places = 2;

__global__ void ring(const int* in, int* out, int tiles) {
  __shared__ alignas(16) int fetched[places][tile], changed[tile];
  __shared__ uint64_t full[places], empty[places];
  if (threadIdx.x == 0)
    for (int i = 0; i < places; i++) {
      begin(full + i, 1);
      begin(empty + i, 32);
    }
  __syncthreads();
  unsigned leads;
  asm volatile("{\n.reg .pred p;\nelect.sync _|p, 0xffffffff;\nselp.u32 %0, 1, 0, p;\n}" : "=r"(leads));
  for (int i = 0; i < tiles; i++) {
    int place = i % places, round = i / places;
    if (threadIdx.x < 32) {
      if (!leads) continue;
      wait(empty + place, (round & 1) ^ 1);
      arrive_and_expect(full + place, sizeof fetched[0]);
      load(fetched[place], in + i * tile, sizeof fetched[0], full + place);
      continue;
    }
    wait(full + place, round & 1);
    for (int j = threadIdx.x % 32; j < tile; j += 32) changed[j] = fetched[place][j] + j;
    arrive(empty + place);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncwarp();
    if (leads) {
      asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;\ncp.async.bulk.commit_group;" ::"l"(
                       __cvta_generic_to_global(out + i * tile)),
                   "r"(in_window(changed)), "r"(unsigned(sizeof changed))
                   : "memory");
      asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
    }
    __syncwarp();
  }
}
CASE(hopper_ring) { ring<<<1, 64>>>(buffers.at<int>(0), buffers.at<int>(1), buffers.size(0) / tile); }

// Warps take turns with one place: two named barriers say whose it is.
__global__ void by_turns(const int* in, int* out, int turns) {
  __shared__ int place[32];
  int lane = threadIdx.x % 32;
  for (int i = 0; i < turns; i++) {
    if (threadIdx.x < 32) {
      if (i) asm volatile("bar.sync 2, 64;" ::: "memory");
      place[lane] = in[i * 32 + lane];
      asm volatile("bar.arrive 1, 64;" ::: "memory");
    } else {
      asm volatile("barrier.sync.aligned 1, %0;" ::"n"(64) : "memory");
      out[i * 32 + lane] = place[31 - lane];
      if (i + 1 < turns) asm volatile("bar.arrive 2, 64;" ::: "memory");
    }
  }
}
CASE(hopper_named_barriers) { by_turns<<<1, 64>>>(buffers.at<int>(0), buffers.at<int>(1), buffers.size(0) / 32); }

// out = a b' + 1 for 64 rows of a and 16 of b, each of 32 bytes, in cores of 8 rows of 16 bytes.
static __device__ unsigned long long describe(const void* first, int rows) {
  return (in_window(first) >> 4) | (unsigned long long)(rows) << 16 | 8ull << 32;
}

template <class T>
static __device__ void stage(T* staged, const T* from, int rows) {
  constexpr int unit = 16 / sizeof(T);
  for (int i = threadIdx.x; i < rows * 2 * unit; i += blockDim.x) {
    int row = i / (2 * unit), k = i % (2 * unit);
    staged[(k / unit * rows + row) * unit + k % unit] = from[i];
  }
}

#define SUMS "{%0, %1, %2, %3, %4, %5, %6, %7}"
#define OF_SUMS(kind) kind(d[0]), kind(d[1]), kind(d[2]), kind(d[3]), kind(d[4]), kind(d[5]), kind(d[6]), kind(d[7])
#define MULTIPLY(shape, kind, rest)                                                                       \
  asm volatile("wgmma.mma_async.sync.aligned." shape " " SUMS ", %8, %9, 1, 1, 1" rest ";" : OF_SUMS(kind) \
               : "l"(a), "l"(b))

template <class Sum>
static __device__ void finish(const Sum (&d)[8], Sum* out) {
  asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
  int row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4, column = threadIdx.x % 4 * 2;
  for (int i = 0; i < 8; i++) out[(row + i / 2 % 2 * 8) * 16 + column + i / 4 * 8 + i % 2] = d[i];
}

template <class T, class Sum>
__global__ void group_product(const T* from_a, const T* from_b, Sum* out) {
  constexpr int row = 32 / sizeof(T);
  __shared__ alignas(128) T left[64 * row], right[16 * row];
  stage(left, from_a, 64);
  stage(right, from_b, 16);
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  Sum d[8] = {1, 1, 1, 1, 1, 1, 1, 1};
  unsigned long long a = describe(left, 64), b = describe(right, 16);
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  if constexpr (sizeof(T) == 1 && std::is_same<Sum, float>::value)
    MULTIPLY("m64n16k32.f32.e5m2.e4m3", "+f", "");
  else if constexpr (sizeof(T) == 4) MULTIPLY("m64n16k8.f32.tf32.tf32", "+f", "");
  else if constexpr (sizeof(T) == 2) MULTIPLY("m64n16k16.f32.f16.f16", "+f", ", 0, 0");
  else
    asm volatile("wgmma.mma_async.sync.aligned.m64n16k32.s32.s8.s8 " SUMS ", %8, %9, 1;" : OF_SUMS("+r") : "l"(a), "l"(b));
  finish(d, out);
}
CASE(hopper_product_tf32) {
  group_product<<<1, 128>>>(buffers.at<float>(0), buffers.at<float>(1), buffers.at<float>(2));
}
CASE(hopper_product_half) {
  group_product<<<1, 128>>>(buffers.at<__half>(0), buffers.at<__half>(1), buffers.at<float>(2));
}
CASE(hopper_product_float8) {
  group_product<<<1, 128>>>(buffers.at<signed char>(0), buffers.at<signed char>(1), buffers.at<float>(2));
}
CASE(hopper_product_bytes) {
  group_product<<<1, 128>>>(buffers.at<signed char>(0), buffers.at<signed char>(1), buffers.at<int>(2));
}

__global__ void warp_float8(const unsigned* a, const unsigned* b, float* out) {  // 16 x 32, and 32 x 8 by columns
  int group = threadIdx.x / 4, place = threadIdx.x % 4;
  float d[4] = {};
  asm("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[group * 8 + place]), "r"(a[(group + 8) * 8 + place]), "r"(a[group * 8 + place + 4]),
        "r"(a[(group + 8) * 8 + place + 4]), "r"(b[group * 8 + place]), "r"(b[group * 8 + place + 4]));
  for (int i = 0; i < 4; i++) out[(group + i / 2 * 8) * 8 + place * 2 + i % 2] = d[i];
  __syncwarp();
  asm volatile("red.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(out + 4 * threadIdx.x), "f"(1.0f), "f"(2.0f),
               "f"(3.0f), "f"(4.0f)
               : "memory");
}
CASE(hopper_warp_float8) {
  warp_float8<<<1, 32>>>(buffers.at<unsigned>(0), buffers.at<unsigned>(1), buffers.at<float>(2));
}

// The same with rows of a in registers, and without what the sums were.
__global__ void from_registers(const unsigned* a, const __half* from_b, float* out) {
  __shared__ alignas(128) __half right[16 * 16];
  stage(right, from_b, 16);
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  int row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4, k = threadIdx.x % 4;
  float d[8];
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  asm volatile("{\n.reg .pred adds;\nsetp.ne.b32 adds, %13, 0;\nwgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 " SUMS
               ", {%8, %9, %10, %11}, %12, adds, 1, 1, 0;\n}"
               : OF_SUMS("=f")
               : "r"(a[row * 8 + k]), "r"(a[(row + 8) * 8 + k]), "r"(a[row * 8 + k + 4]), "r"(a[(row + 8) * 8 + k + 4]),
                 "l"(describe(right, 16)), "r"(0));
  finish(d, out);
}
CASE(hopper_product_of_registers) {
  from_registers<<<1, 128>>>(buffers.at<unsigned>(0), buffers.at<__half>(1), buffers.at<float>(2));
}

#endif
