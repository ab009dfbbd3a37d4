// Intrinsics on integers.
#include "case.h"

__global__ void bit_operations(const unsigned* in, int* out, int n) {
  int i = threadIdx.x;
  if (i >= n) return;
  unsigned x = in[i];
  unsigned long long wide = (unsigned long long)x * 0x9e3779b97f4a7c15ull;
  int row = 0;
  out[n * row++ + i] = __popc(x);
  out[n * row++ + i] = __clz(int(x));
  out[n * row++ + i] = __ffs(int(x));
  out[n * row++ + i] = int(__brev(x));
  out[n * row++ + i] = __popcll(wide);
  out[n * row++ + i] = __clzll((long long)(wide >> 7));
  out[n * row++ + i] = __ffsll((long long)(wide << 3));
  out[n * row++ + i] = int(__brevll(wide) >> 32);
  out[n * row++ + i] = int(__byte_perm(x, ~x, 0x4162));
  out[n * row++ + i] = int(__funnelshift_l(x, ~x, 13));
  out[n * row++ + i] = int(__funnelshift_r(x, ~x, 37));
  out[n * row++ + i] = int(__funnelshift_lc(x, ~x, 40));
}

CASE(bit_operations) { bit_operations<<<1, 64>>>(buffers.at<unsigned>(0), buffers.at<int>(1), buffers.size(0)); }

__global__ void products(const int* a, const int* b, int* out, int n) {
  int i = threadIdx.x;
  if (i >= n) return;
  int x = a[i], y = b[i], row = 0;
  out[n * row++ + i] = __mulhi(x, y);
  out[n * row++ + i] = int(__umulhi(unsigned(x), unsigned(y)));
  out[n * row++ + i] = __mul24(x, y);
  out[n * row++ + i] = int(__umul24(unsigned(x), unsigned(y)));
  out[n * row++ + i] = int(__mul64hi((long long)x << 20, (long long)y << 20));
  out[n * row++ + i] = __hadd(x, y);
  out[n * row++ + i] = __rhadd(x, y);
  out[n * row++ + i] = int(__uhadd(unsigned(x), unsigned(y)));
  out[n * row++ + i] = int(__sad(x, y, 5u));
  out[n * row++ + i] = int(__usad(unsigned(x), unsigned(y), 5u));
  out[n * row++ + i] = abs(x);
  out[n * row++ + i] = max(x, y) - min(x, 7);
  out[n * row++ + i] = int(max(unsigned(x), 3u));
}

CASE(integer_products) {
  products<<<1, 64>>>(buffers.at<int>(0), buffers.at<int>(1), buffers.at<int>(2), buffers.size(0));
}

__global__ void dot_products(const int* a, const int* b, int* out, int n) {
  int i = threadIdx.x;
  if (i >= n) return;
  out[i] = __dp4a(a[i], b[i], 100);
  out[n + i] = int(__dp4a(unsigned(a[i]), unsigned(b[i]), 100u));
  out[2 * n + i] = __dp2a_lo(a[i], b[i], 100);
  out[3 * n + i] = __dp2a_hi(a[i], b[i], 100);
}

CASE(byte_dot_products) {
  dot_products<<<1, 64>>>(buffers.at<int>(0), buffers.at<int>(1), buffers.at<int>(2), buffers.size(0));
}

__global__ void parts(const unsigned* a, const unsigned* b, unsigned* out, int n) {
  int i = threadIdx.x;
  if (i >= n) return;
  unsigned x = a[i], y = b[i];
  int row = 0;
  out[n * row++ + i] = __vadd4(x, y);
  out[n * row++ + i] = __vsub2(x, y);
  out[n * row++ + i] = __vaddus4(x, y);
  out[n * row++ + i] = __vsubss2(x, y);
  out[n * row++ + i] = __vmaxs4(x, y);
  out[n * row++ + i] = __vminu2(x, y);
  out[n * row++ + i] = __vabsdiffu4(x, y);
  out[n * row++ + i] = __vcmpgtu4(x, y);
  out[n * row++ + i] = __vseteq4(x & 0x0f0f0f0fu, y & 0x0f0f0f0fu);
  out[n * row++ + i] = __vsadu4(x, y);
  out[n * row++ + i] = __vavgu4(x, y);
  out[n * row++ + i] = __vabs4(x);
}

CASE(packed_integers) {
  parts<<<1, 64>>>(buffers.at<unsigned>(0), buffers.at<unsigned>(1), buffers.at<unsigned>(2), buffers.size(0));
}

// Signed overflow, shifts and division as the hardware does them.
__global__ void plain_integers(const int* a, const int* b, int* out, int n) {
  int i = threadIdx.x;
  if (i >= n) return;
  int x = a[i], y = b[i];
  out[i] = x * y;
  out[n + i] = x / (y | 1);
  out[2 * n + i] = x % (y | 1);
  out[3 * n + i] = x >> (y & 31);
  out[4 * n + i] = int((unsigned)x >> (y & 31));
  out[5 * n + i] = x + 0x7fffffff;
}

CASE(plain_integers) {
  plain_integers<<<1, 64>>>(buffers.at<int>(0), buffers.at<int>(1), buffers.at<int>(2), buffers.size(0));
}
