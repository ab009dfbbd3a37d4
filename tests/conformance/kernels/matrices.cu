// Warp matrix functions.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

#include "case.h"

using namespace nvcuda;

template <typename T, typename Sum>
__global__ void product(const T* a, const T* b, Sum* out) {
  constexpr int k = 32;
  wmma::fragment<wmma::matrix_a, 16, 16, 16, T, wmma::row_major> left;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, T, wmma::col_major> right;
  wmma::fragment<wmma::accumulator, 16, 16, 16, Sum> sum;
  wmma::fill_fragment(sum, Sum(0.0f));
  for (int i = 0; i < k; i += 16) {
    wmma::load_matrix_sync(left, a + i, k);
    wmma::load_matrix_sync(right, b + i, k);
    wmma::mma_sync(sum, left, right, sum);
  }
  wmma::store_matrix_sync(out, sum, 16, wmma::mem_row_major);
}

CASE(wmma_half) { product<__half, float><<<1, 32>>>(buffers.at<__half>(0), buffers.at<__half>(1), buffers.at<float>(2)); }
CASE(wmma_bfloat16) {
  product<__nv_bfloat16, float><<<1, 32>>>(buffers.at<__nv_bfloat16>(0), buffers.at<__nv_bfloat16>(1),
                                          buffers.at<float>(2));
}

__global__ void half_sums(const __half* a, const __half* b, const __half* c, __half* out) {
  wmma::fragment<wmma::matrix_a, 32, 8, 16, half, wmma::col_major> left;
  wmma::fragment<wmma::matrix_b, 32, 8, 16, half, wmma::row_major> right;
  wmma::fragment<wmma::accumulator, 32, 8, 16, half> sum, start;
  wmma::load_matrix_sync(left, a, 32);
  wmma::load_matrix_sync(right, b, 8);
  wmma::load_matrix_sync(start, c, 32, wmma::mem_col_major);
  for (int i = 0; i < start.num_elements; i++) start.x[i] = __hadd_rn(start.x[i], start.x[i]);
  wmma::mma_sync(sum, left, right, start);
  wmma::store_matrix_sync(out, sum, 8, wmma::mem_row_major);
}

CASE(wmma_half_sums) {
  half_sums<<<1, 32>>>(buffers.at<__half>(0), buffers.at<__half>(1), buffers.at<__half>(2), buffers.at<__half>(3));
}

__global__ void tf32_product(const float* a, const float* b, float* out) {
  using namespace wmma;
  fragment<matrix_a, 16, 16, 8, precision::tf32, row_major> left;
  fragment<matrix_b, 16, 16, 8, precision::tf32, row_major> right;
  fragment<accumulator, 16, 16, 8, float> sum;
  fill_fragment(sum, 1.0f);
  load_matrix_sync(left, a, 8);
  load_matrix_sync(right, b, 16);
  for (int i = 0; i < left.num_elements; i++) left.x[i] = __float_to_tf32(left.x[i]);
  for (int i = 0; i < right.num_elements; i++) right.x[i] = __float_to_tf32(right.x[i]);
  mma_sync(sum, left, right, sum);
  __shared__ float staged[256];
  store_matrix_sync(staged, sum, 16, mem_row_major);
  __syncwarp();
  for (int i = threadIdx.x; i < 256; i += 32) out[i] = staged[i];
  fill_fragment(sum, 0.0f);
  store_matrix_sync(staged, sum, 16, mem_row_major);  // waits until every lane has read
}

CASE(wmma_tf32) { tf32_product<<<1, 32>>>(buffers.at<float>(0), buffers.at<float>(1), buffers.at<float>(2)); }
