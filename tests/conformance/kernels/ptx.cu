// Inline PTX.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_pipeline.h>

#include "case.h"

#define LOAD_MATRICES_X4(a, b, c, d, address)                                                \
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];\n"          \
               : "=r"(a), "=r"(b), "=r"(c), "=r"(d)                                          \
               : "r"(address))

__device__ unsigned in_window(const void* pointer) { return static_cast<unsigned>(__cvta_generic_to_shared(pointer)); }

__device__ void copy16(void* to, const void* from) {
  asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], %2;\n" ::"r"(in_window(to)), "l"(from), "n"(16));
}

// out = a b, for a of 16 x 16 and b of 16 x 8, both by rows.
template <class T>
__global__ void product(const T* a, const T* b, float* out) {
  __shared__ alignas(16) T left[16 * 16], right[16 * 8];
  int lane = threadIdx.x;
  copy16(left + 8 * lane, a + 8 * lane);
  if (lane < 16) copy16(right + 8 * lane, b + 8 * lane);
  asm volatile("cp.async.commit_group;\n" ::);
  asm volatile("cp.async.wait_group %0;\n" ::"n"(0));
  __syncthreads();
  unsigned x[4], y[2];
  float sum[4] = {1, 1, 1, 1};
  LOAD_MATRICES_X4(x[0], x[1], x[2], x[3], in_window(left + lane % 16 * 16 + lane / 16 * 8));
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
               : "=r"(y[0]), "=r"(y[1])
               : "r"(in_window(right + lane % 16 * 8)));
  if constexpr (sizeof(T) == 2 && std::is_same<T, __half>::value)
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};\n"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
  else
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%10, %11, %12, %13};\n"
        : "=f"(sum[0]), "=f"(sum[1]), "=f"(sum[2]), "=f"(sum[3])
        : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]), "f"(sum[0]), "f"(sum[1]), "f"(sum[2]),
          "f"(sum[3]));
  for (int i = 0; i < 4; i++) out[(lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2] = sum[i];
}
CASE(ptx_product_half) { product<<<1, 32>>>(buffers.at<__half>(0), buffers.at<__half>(1), buffers.at<float>(2)); }
CASE(ptx_product_bfloat16) {
  product<<<1, 32>>>(buffers.at<__nv_bfloat16>(0), buffers.at<__nv_bfloat16>(1), buffers.at<float>(2));
}

__global__ void half_sums(const unsigned* a, const unsigned* b, const unsigned* c, unsigned* out) {
  int group = threadIdx.x / 4, place = threadIdx.x % 4;  // rows of a have 8 registers, columns of b 8, rows of c 4
  unsigned d[2];
  asm("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3,%4,%5}, {%6,%7}, {%8,%9};"
      : "=r"(d[0]), "=r"(d[1])
      : "r"(a[group * 8 + place]), "r"(a[(group + 8) * 8 + place]), "r"(a[group * 8 + place + 4]),
        "r"(a[(group + 8) * 8 + place + 4]), "r"(b[group * 8 + place]), "r"(b[group * 8 + place + 4]),
        "r"(c[group * 4 + place]), "r"(c[(group + 8) * 4 + place]));
  out[group * 4 + place] = d[0];
  out[(group + 8) * 4 + place] = d[1];
}
CASE(ptx_product_half_sums) {
  half_sums<<<1, 32>>>(buffers.at<unsigned>(0), buffers.at<unsigned>(1), buffers.at<unsigned>(2),
                       buffers.at<unsigned>(3));
}

__global__ void ptx_tf32(const float* a, const float* b, float* out) {
  int group = threadIdx.x / 4, place = threadIdx.x % 4;
  unsigned x[4], y[2];
  for (int i = 0; i < 4; i++)
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(x[i]) : "f"(a[(group + i % 2 * 8) * 8 + place + i / 2 * 4]));
  for (int i = 0; i < 2; i++) asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(y[i]) : "f"(b[(place + i * 4) * 8 + group]));
  float d[4];
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%10,%10,%10,%10};"
      : "=f"(d[0]), "=f"(d[1]), "=f"(d[2]), "=f"(d[3])
      : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]), "f"(0.0f));
  for (int i = 0; i < 4; i++) out[(group + i / 2 * 8) * 8 + place * 2 + i % 2] = d[i];
}
CASE(ptx_product_tf32) { ptx_tf32<<<1, 32>>>(buffers.at<float>(0), buffers.at<float>(1), buffers.at<float>(2)); }

__global__ void byte_product(const int* a, const int* b, int* out) {  // rows of a and columns of b have 8 registers
  int group = threadIdx.x / 4, place = threadIdx.x % 4;
  int d[4] = {};
  asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
      : "r"(a[group * 8 + place]), "r"(a[(group + 8) * 8 + place]), "r"(a[group * 8 + place + 4]),
        "r"(a[(group + 8) * 8 + place + 4]), "r"(b[group * 8 + place]), "r"(b[group * 8 + place + 4]));
  for (int i = 0; i < 4; i++) out[(group + i / 2 * 8) * 8 + place * 2 + i % 2] = d[i];
}
CASE(ptx_product_bytes) { byte_product<<<1, 32>>>(buffers.at<int>(0), buffers.at<int>(1), buffers.at<int>(2)); }

// Two groups of copies, of which the second ends later; 8 of 16 bytes of it are zeros.
__global__ void copies(const int* in, int* out) {
  __shared__ alignas(16) int first[4], second[4];
  if (threadIdx.x == 0) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(in_window(first)), "l"(in));
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(in_window(first + 2)), "l"(in + 2));
    asm volatile("cp.async.commit_group;");
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(in_window(second)), "l"(in + 4), "r"(8));
    asm volatile("cp.async.commit_group;");
    asm volatile("cp.async.wait_group 1;" ::: "memory");
    for (int i = 0; i < 4; i++) out[i] = first[i];
    asm volatile("cp.async.wait_all;" ::: "memory");
    for (int i = 0; i < 4; i++) out[4 + i] = second[i];
  }
}
CASE(ptx_copies) { copies<<<1, 32>>>(buffers.at<int>(0), buffers.at<int>(1)); }

__global__ void piped(const int* in, int* out) {
  __shared__ alignas(16) int first[4], second[4];
  if (threadIdx.x == 0) {
    __pipeline_memcpy_async(first, in, 8);
    __pipeline_memcpy_async(first + 2, in + 2, 8);
    __pipeline_commit();
    __pipeline_memcpy_async(second, in + 4, 16, 8);
    __pipeline_commit();
    __pipeline_wait_prior(1);
    for (int i = 0; i < 4; i++) out[i] = first[i];
    __pipeline_wait_prior(0);
    for (int i = 0; i < 4; i++) out[4 + i] = second[i];
  }
}
CASE(pipeline_copies) { piped<<<1, 32>>>(buffers.at<int>(0), buffers.at<int>(1)); }

__global__ void transposed(const unsigned short* in, unsigned short* out) {  // 8 x 8
  __shared__ alignas(16) unsigned short tile[64];
  unsigned halves;
  asm("mov.b32 %0, {%1, %2};" : "=r"(halves) : "h"(in[2 * threadIdx.x]), "h"(in[2 * threadIdx.x + 1]));
  asm volatile("stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%0], {%1};" ::"r"(in_window(tile + threadIdx.x % 8 * 8)),
               "r"(halves));
  __syncthreads();
  for (int i = 0; i < 2; i++) out[2 * threadIdx.x + i] = tile[2 * threadIdx.x + i];
}
CASE(ptx_stores_matrix) { transposed<<<1, 32>>>(buffers.at<unsigned short>(0), buffers.at<unsigned short>(1)); }

__global__ void memory(const int* __restrict__ in, int* out, unsigned* __restrict__ sum) {
  int v[4];
  unsigned long long policy, place;
  unsigned window;
  __shared__ int kept[32];
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  asm volatile("ld.global.nc.L1::no_allocate.L2::cache_hint.v4.s32 {%0, %1, %2, %3}, [%4], %5;"
               : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
               : "l"(in + 4 * threadIdx.x), "l"(policy));
  asm("{ .reg .u64 t; cvta.to.shared.u64 t, %1; cvt.u32.u64 %0, t; }" : "=r"(window) : "l"(kept + threadIdx.x));
  asm volatile("st.shared.u32 [%0], %1;" ::"r"(window), "r"(v[3]) : "memory");
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(v[3]) : "r"(window));
  asm("cvta.to.global.u64 %0, %1;" : "=l"(place) : "l"(out + 4 * threadIdx.x));
  asm volatile("st.global.cs.v2.u32 [%0], {%1, %2};" ::"l"(place), "r"(v[0]), "r"(v[1]));
  asm volatile("st.global.v2.u32 [%0+8], {%1, %2};" ::"l"(place), "r"(v[2]), "r"(v[3]));
  unsigned before;
  asm volatile("prefetch.global.L2 [%0];" ::"l"(in));
  asm volatile("atom.add.acq_rel.gpu.global.u32 %0, [%1], %2;" : "=r"(before) : "l"(&sum[0]), "r"(1) : "memory");
  asm volatile("red.global.max.u32 [%0], %1;" ::"l"(sum + 1), "r"(before) : "memory");
}
CASE(ptx_memory) { memory<<<1, 32>>>(buffers.at<int>(0), buffers.at<int>(1), buffers.at<unsigned>(2)); }

__global__ void arithmetic(const unsigned* in, unsigned* out) {
  unsigned x = in[threadIdx.x], y = in[threadIdx.x + 32], lane, r[8];
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  asm("lop3.b32 %0, %1, %2, %3, 0xca;" : "=r"(r[0]) : "r"(x), "r"(y), "r"(0x0f0f0f0f));
  asm("prmt.b32 %0, %1, %2, 0x5410;" : "=r"(r[1]) : "r"(x), "r"(y));
  asm("{\n\t.reg .pred p;\n\tsetp.lt.u32 p, %1, %2;\n\tselp.b32 %0, %1, %2, p;\n\t}" : "=r"(r[2]) : "r"(x), "r"(y));
  asm("mad.lo.u32 %0, %1, 3, %2;" : "=r"(r[3]) : "r"(x), "r"(y));
  asm("shl.b32 %0, %1, %2;" : "=r"(r[4]) : "r"(x), "r"(lane + 8));
  r[5] = 7;
  asm("{ .reg .pred p; setp.eq.s32 p, %1, 3; @p mov.u32 %0, 1; @!p add.u32 %0, %0, 2; }" : "+r"(r[5]) : "r"(lane));
  asm("min.s32 %0, %1, %2;" : "=r"(r[6]) : "r"(x), "r"(y));
  asm("xor.b32 %0, %1, %2;" : "=r"(r[7]) : "r"(x), "r"(y));
  for (int i = 0; i < 8; i++) out[i * 32 + threadIdx.x] = r[i];
}
CASE(ptx_arithmetic) { arithmetic<<<1, 32>>>(buffers.at<unsigned>(0), buffers.at<unsigned>(1)); }

__global__ void floats(const float* in, float* out) {
  float x = in[threadIdx.x], r[4];
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r[0]) : "f"(x));
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r[1]) : "f"(x));
  asm("fma.rn.f32 %0, %1, %1, 0f3F800000;" : "=f"(r[2]) : "f"(x));
  asm("max.f32 %0, %1, %2;" : "=f"(r[3]) : "f"(x), "f"(0.0f));
  for (int i = 0; i < 4; i++) out[i * 32 + threadIdx.x] = r[i];
}
CASE(ptx_floats) { floats<<<1, 32>>>(buffers.at<float>(0), buffers.at<float>(1)); }

__global__ void narrowed(const float* in, unsigned* out) {
  unsigned r[2];
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r[0]) : "f"(in[threadIdx.x]), "f"(in[threadIdx.x + 32]));
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r[1]) : "f"(in[threadIdx.x]), "f"(in[threadIdx.x + 32]));
  for (int i = 0; i < 2; i++) out[i * 32 + threadIdx.x] = r[i];
}
CASE(ptx_narrowed) { narrowed<<<1, 32>>>(buffers.at<float>(0), buffers.at<unsigned>(1)); }

__global__ void hyperbolic(const float* in, float* out) {
  asm("tanh.approx.f32 %0, %1;" : "=f"(out[threadIdx.x]) : "f"(in[threadIdx.x]));
}
CASE(ptx_tanh) { hyperbolic<<<1, 32>>>(buffers.at<float>(0), buffers.at<float>(1)); }

__global__ void signed_numbers(const int* in, int* out) {
  int x = in[threadIdx.x], r[6];
  asm("shr.s32 %0, %1, %2;" : "=r"(r[0]) : "r"(x), "r"(threadIdx.x + 8));
  asm("shr.u32 %0, %1, 4;" : "=r"(r[1]) : "r"(x));
  asm("max.s32 %0, %1, -5;" : "=r"(r[2]) : "r"(x));
  asm("mad.lo.s32 %0, %1, %1, %1;" : "=r"(r[3]) : "r"(x));
  asm("{ .reg .s64 t; cvt.s64.s32 t, %1; shr.s64 t, t, 32; cvt.u32.s64 %0, t; }" : "=r"(r[4]) : "r"(x));
  asm("{ .reg .pred p; setp.ge.s32 p, %1, 0; selp.s32 %0, %1, -1, p; }" : "=r"(r[5]) : "r"(x));
  for (int i = 0; i < 6; i++) out[i * 32 + threadIdx.x] = r[i];
}
CASE(ptx_signed) { signed_numbers<<<1, 32>>>(buffers.at<int>(0), buffers.at<int>(1)); }

__global__ void double_product(const double* a, const double* b, double* out) {  // 8 x 4 by rows, 4 x 8 by columns
  int group = threadIdx.x / 4, place = threadIdx.x % 4;
  double d[2] = {1, 2};
  asm("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
      : "+d"(d[0]), "+d"(d[1])
      : "d"(a[group * 4 + place]), "d"(b[group * 4 + place]));
  for (int i = 0; i < 2; i++) out[group * 8 + place * 2 + i] = d[i];
}
CASE(ptx_product_doubles) {
  double_product<<<1, 32>>>(buffers.at<double>(0), buffers.at<double>(1), buffers.at<double>(2));
}

__global__ void largest(const float* in, float* out) {
  float x = in[threadIdx.x], r[2];
  asm("max.f32 %0, %1, %2;" : "=f"(r[0]) : "f"(x), "f"(0.25f));
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(r[1]) : "f"(x), "f"(0.25f));
  for (int i = 0; i < 2; i++) out[i * 32 + threadIdx.x] = r[i];
}
CASE(ptx_largest) { largest<<<1, 32>>>(buffers.at<float>(0), buffers.at<float>(1)); }

// Registers of equal names in blocks of their own; a NaN is neither equal to anything nor unequal to it.
__global__ void compared(const float* in, int* out) {
  float x = in[threadIdx.x];
  int r[3] = {};
  asm("{ .reg .pred p; setp.ne.f32 p, %2, 0f3F000000; selp.s32 %0, 1, 0, p; }\n\t"
      "{ .reg .pred p; setp.le.f32 p, %2, 0f3F000000; selp.s32 %1, 1, 0, p; }"
      : "=r"(r[0]), "=r"(r[1])
      : "f"(x));
  asm("prmt.b32 %0, %1, 0, 0x80a8;" : "=r"(r[2]) : "r"(__float_as_int(x)));
  for (int i = 0; i < 3; i++) out[i * 32 + threadIdx.x] = r[i];
}
CASE(ptx_compared) { compared<<<1, 32>>>(buffers.at<float>(0), buffers.at<int>(1)); }

__global__ void wide(const int* x, const int* y, unsigned* out) {  // rows of 32
  int i = threadIdx.x;
  unsigned a = x[i], b = y[i];
  unsigned long long product, sum;
  long long of_signed;
  asm("mul.hi.u32 %0, %1, %2;" : "=r"(out[i]) : "r"(a), "r"(b));
  asm("mul.hi.s32 %0, %1, %2;" : "=r"(out[32 + i]) : "r"(a), "r"(b));
  asm("mul.wide.u32 %0, %1, %2;" : "=l"(product) : "r"(a), "r"(b));
  asm("mul.wide.s32 %0, %1, %2;" : "=l"(of_signed) : "r"(a), "r"(b));
  asm("mad.wide.u32 %0, %1, %2, %3;" : "=l"(sum) : "r"(a), "r"(b), "l"(1ull << 40));
  out[64 + i] = product >> 16;
  out[96 + i] = of_signed >> 32;
  out[128 + i] = sum >> 32;
  asm("popc.b32 %0, %1;" : "=r"(out[160 + i]) : "r"(a));
  asm("clz.b32 %0, %1;" : "=r"(out[192 + i]) : "r"(a));
  asm("brev.b32 %0, %1;" : "=r"(out[224 + i]) : "r"(a));
  asm("not.b32 %0, %1;" : "=r"(out[256 + i]) : "r"(a));
  asm("{\n.reg .b64 pair;\nmov.b64 pair, {%1, %2};\nadd.u64 %0, pair, %3;\n}" : "=l"(sum) : "r"(a), "r"(b), "l"(1ull));
  out[288 + i] = sum >> 32;
}
CASE(ptx_wide) { wide<<<1, 32>>>(buffers.at<int>(0), buffers.at<int>(1), buffers.at<unsigned>(2)); }

__global__ void of_halves(const unsigned* x, const unsigned* y, unsigned* out) {  // rows of 32
  int i = threadIdx.x;
  unsigned short sum;
  asm("mul.f16x2 %0, %1, %2;" : "=r"(out[i]) : "r"(x[i]), "r"(y[i]));
  asm("fma.rn.f16x2 %0, %1, %2, %2;" : "=r"(out[32 + i]) : "r"(x[i]), "r"(y[i]));
  asm("sub.f16 %0, %1, %2;" : "=h"(sum) : "h"((unsigned short)x[i]), "h"((unsigned short)y[i]));
  out[64 + i] = sum;
}
CASE(ptx_halves) { of_halves<<<1, 32>>>(buffers.at<unsigned>(0), buffers.at<unsigned>(1), buffers.at<unsigned>(2)); }

__global__ void negative(const float* x, float* out) {
  int i = threadIdx.x;
  asm("{\n.reg .f32 %%size;\nabs.f32 %%size, %1;\nneg.f32 %0, %%size;\n}" : "=f"(out[i]) : "f"(x[i]));
}
CASE(ptx_negative) { negative<<<1, 32>>>(buffers.at<float>(0), buffers.at<float>(1)); }
