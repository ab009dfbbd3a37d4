// cuBLAS's products of matrices, which lie column by column.
#include <ATen/cuda/CUDAContext.h>
#include <cublas_v2.h>
#include <cuda_fp16.h>

#include "case.h"

static const int M = 6, N = 5, K = 8;

struct Handle {
  cublasHandle_t handle;
  Handle() { cublasCreate(&handle); }
  ~Handle() { cublasDestroy(handle); }
  operator cublasHandle_t() const { return handle; }
};

CASE(cublas_sgemm) {
  Handle handle;
  cublasSetStream(handle, at::cuda::getCurrentCUDAStream());
  cublasSetMathMode(handle, CUBLAS_DEFAULT_MATH);
  float one = 1, two = 2, none = 0;
  float *a = buffers.at<float>(0), *b = buffers.at<float>(1);
  cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, M, N, K, &two, a, M, b, K, &one, buffers.at<float>(2), M);
  cublasSgemm(at::cuda::getCurrentCUDABlasHandle(), CUBLAS_OP_T, CUBLAS_OP_T, M, N, K, &one, a, K, b, N, &none,
              buffers.at<float>(3), M + 1);
  int* found = buffers.at<int>(4);
  int statuses[] = {cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, M, N, K, &one, a, M - 1, b, K, &none, a, M),
                    cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, M, N, 0, &one, a, M, b, 1, &one, a, M)};
  cudaMemcpy(found, statuses, sizeof statuses, cudaMemcpyHostToDevice);
}

CASE(cublas_batches) {
  Handle handle;
  double one = 1, none = 0;
  cublasDgemmStridedBatched(handle, CUBLAS_OP_N, CUBLAS_OP_T, M, N, K, &one, buffers.at<double>(0), M, M * K,
                            buffers.at<double>(1), N, N * K, &none, buffers.at<double>(2), M, M * N, 3);
}

CASE(cublas_gemm_ex) {
  Handle handle;
  float half = 0.5f, one = 1;
  cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, M, N, K, &half, buffers.at<__half>(0), CUDA_R_16F, M,
               buffers.at<__half>(1), CUDA_R_16F, K, &one, buffers.at<float>(2), CUDA_R_32F, M, CUBLAS_COMPUTE_32F,
               CUBLAS_GEMM_DEFAULT);
  __half whole = __float2half(1.0f), none = __float2half(0.0f);
  cublasHgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, M, N, K, &whole, buffers.at<__half>(0), M, buffers.at<__half>(1), K,
              &none, buffers.at<__half>(3), M);
}

CASE(cublas_gemv) {
  Handle handle;
  float one = 1, two = 2;
  const float *a = buffers.at<float>(0), *x = buffers.at<float>(1);
  cublasSgemv(handle, CUBLAS_OP_N, M, K, &one, a, M, x, 1, &two, buffers.at<float>(2), 1);
  cublasSgemv(handle, CUBLAS_OP_T, M, K, &one, a, M, x, 2, &two, buffers.at<float>(3), 3);
}

CASE(cublas_bytes) {
  Handle handle;
  int one = 1, none = 0;
  const int8_t *a = buffers.at<int8_t>(0), *b = buffers.at<int8_t>(1);
  cublasGemmEx(handle, CUBLAS_OP_T, CUBLAS_OP_N, 8, 4, 16, &one, a, CUDA_R_8I, 16, b, CUDA_R_8I, 16, &none,
               buffers.at<int>(2), CUDA_R_32I, 8, CUBLAS_COMPUTE_32I, CUBLAS_GEMM_DEFAULT);
}
