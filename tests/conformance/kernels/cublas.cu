// cuBLAS's products of matrices, which lie column by column.
#include <ATen/cuda/CUDAContext.h>
#include <cublasLt.h>
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

struct Layout {
  cublasLtMatrixLayout_t layout;
  Layout(cudaDataType type, int rows, int columns, int leading, int count = 1, int64_t apart = 0,
         cublasLtOrder_t order = CUBLASLT_ORDER_COL) {
    cublasLtMatrixLayoutCreate(&layout, type, rows, columns, leading);
    cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count);
    cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &apart, sizeof apart);
    cublasLtMatrixLayoutSetAttribute(layout, CUBLASLT_MATRIX_LAYOUT_ORDER, &order, sizeof order);
  }
  ~Layout() { cublasLtMatrixLayoutDestroy(layout); }
  operator cublasLtMatrixLayout_t() const { return layout; }
};

struct Product {
  cublasLtMatmulDesc_t product;
  Product(cublasLtEpilogue_t epilogue, const void* bias = nullptr, void* aux = nullptr, int64_t aux_leading = 0) {
    cublasLtMatmulDescCreate(&product, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
    if (bias) set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
    if (aux) set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, aux);
    if (aux) set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, aux_leading);
  }
  ~Product() { cublasLtMatmulDescDestroy(product); }
  template <class T>
  cublasStatus_t set(cublasLtMatmulDescAttributes_t attribute, T value) {
    return cublasLtMatmulDescSetAttribute(product, attribute, &value, sizeof value);
  }
  int run(float alpha, const void* a, const Layout& of_a, const void* b, const Layout& of_b, float beta, const void* c,
          const Layout& of_c, void* d, const Layout& of_d) {
    cublasLtHandle_t handle = at::cuda::getCurrentCUDABlasLtHandle();
    cublasLtMatmulPreference_t preference;
    cublasLtMatmulPreferenceCreate(&preference);
    size_t none = 0;
    cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &none, sizeof none);
    cublasLtMatmulHeuristicResult_t best;
    int found = 0;
    cublasStatus_t status =
        cublasLtMatmulAlgoGetHeuristic(handle, product, of_a, of_b, of_c, of_d, preference, 1, &best, &found);
    cublasLtMatmulPreferenceDestroy(preference);
    if (status != CUBLAS_STATUS_SUCCESS || !found) return 100 + status;
    return cublasLtMatmul(handle, product, &alpha, a, of_a, b, of_b, &beta, c, of_c, d, of_d, &best.algo, nullptr, 0,
                          at::cuda::getCurrentCUDAStream());
  }
};

static const int BIG = 16;

CASE(cublas_lt) {
  float *a = buffers.at<float>(0), *b = buffers.at<float>(1), *bias = buffers.at<float>(2);
  Layout square(CUDA_R_32F, BIG, BIG, BIG), twice(CUDA_R_32F, BIG, BIG, BIG, 2, BIG * BIG);
  int statuses[4] = {};
  Product plain(CUBLASLT_EPILOGUE_DEFAULT);
  plain.set(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T);
  statuses[0] = plain.run(2, a, twice, b, twice, 1, buffers.at<float>(3), twice, buffers.at<float>(3), twice);
  statuses[1] = Product(CUBLASLT_EPILOGUE_RELU_BIAS, bias)
                    .run(1, a, square, b, square, 1, b, square, buffers.at<float>(4), square);
  Layout rows(CUDA_R_32F, BIG, BIG, BIG, 1, 0, CUBLASLT_ORDER_ROW);
  statuses[2] = Product(CUBLASLT_EPILOGUE_DEFAULT)
                    .run(1, a, rows, b, rows, 0, buffers.at<float>(5), rows, buffers.at<float>(5), rows);
  statuses[3] = Product(CUBLASLT_EPILOGUE_BIAS, bias).set(CUBLASLT_MATMUL_DESC_EPILOGUE, char(1));
  cudaMemcpy(buffers.at<int>(6), statuses, sizeof statuses, cudaMemcpyHostToDevice);
}

CASE(cublas_lt_gelu) {
  __half *a = buffers.at<__half>(0), *b = buffers.at<__half>(1), *bias = buffers.at<__half>(2);
  Layout square(CUDA_R_16F, BIG, BIG, BIG);
  int status = Product(CUBLASLT_EPILOGUE_GELU_AUX_BIAS, bias, buffers.at<__half>(4), BIG)
                   .run(0.125f, a, square, b, square, 0, buffers.at<__half>(3), square, buffers.at<__half>(3), square);
  cudaMemcpy(buffers.at<int>(5), &status, sizeof status, cudaMemcpyHostToDevice);
}
