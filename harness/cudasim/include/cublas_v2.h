// cuBLAS's products of matrices, computed by torch's operators: they are the library's work, no kernel of the solution's.
// Signatures, statuses and layout (column-major, leading dimensions) by NVIDIA's cuBLAS Library, 13.0.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cstdint>

typedef enum {
  CUBLAS_STATUS_SUCCESS = 0,
  CUBLAS_STATUS_NOT_INITIALIZED = 1,
  CUBLAS_STATUS_ALLOC_FAILED = 3,
  CUBLAS_STATUS_INVALID_VALUE = 7,
  CUBLAS_STATUS_ARCH_MISMATCH = 8,
  CUBLAS_STATUS_MAPPING_ERROR = 11,
  CUBLAS_STATUS_EXECUTION_FAILED = 13,
  CUBLAS_STATUS_INTERNAL_ERROR = 14,
  CUBLAS_STATUS_NOT_SUPPORTED = 15,
  CUBLAS_STATUS_LICENSE_ERROR = 16
} cublasStatus_t;
typedef enum { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1, CUBLAS_OP_C = 2, CUBLAS_OP_HERMITAN = 2 } cublasOperation_t;
#define CUBLAS_VER_MAJOR 13
#define CUBLAS_VER_MINOR 0
#define CUBLAS_VER_PATCH 0
#define CUBLAS_VERSION (CUBLAS_VER_MAJOR * 10000 + CUBLAS_VER_MINOR * 100 + CUBLAS_VER_PATCH)
typedef enum { CUBLAS_POINTER_MODE_HOST = 0, CUBLAS_POINTER_MODE_DEVICE = 1 } cublasPointerMode_t;
typedef enum { CUBLAS_ATOMICS_NOT_ALLOWED = 0, CUBLAS_ATOMICS_ALLOWED = 1 } cublasAtomicsMode_t;
typedef enum {
  CUBLAS_DEFAULT_MATH = 0,
  CUBLAS_TENSOR_OP_MATH = 1,
  CUBLAS_PEDANTIC_MATH = 2,
  CUBLAS_TF32_TENSOR_OP_MATH = 3,
  CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION = 16
} cublasMath_t;
typedef enum {
  CUBLAS_COMPUTE_16F = 64,
  CUBLAS_COMPUTE_16F_PEDANTIC = 65,
  CUBLAS_COMPUTE_32F = 68,
  CUBLAS_COMPUTE_32F_PEDANTIC = 69,
  CUBLAS_COMPUTE_64F = 70,
  CUBLAS_COMPUTE_64F_PEDANTIC = 71,
  CUBLAS_COMPUTE_32I = 72,
  CUBLAS_COMPUTE_32I_PEDANTIC = 73,
  CUBLAS_COMPUTE_32F_FAST_16F = 74,
  CUBLAS_COMPUTE_32F_FAST_16BF = 75,
  CUBLAS_COMPUTE_32F_FAST_TF32 = 77
} cublasComputeType_t;
typedef enum {
  CUBLAS_GEMM_DFALT = -1,
  CUBLAS_GEMM_DEFAULT = -1,
  CUBLAS_GEMM_ALGO0, CUBLAS_GEMM_ALGO1, CUBLAS_GEMM_ALGO2, CUBLAS_GEMM_ALGO3, CUBLAS_GEMM_ALGO4, CUBLAS_GEMM_ALGO5,
  CUBLAS_GEMM_ALGO6, CUBLAS_GEMM_ALGO7, CUBLAS_GEMM_ALGO8, CUBLAS_GEMM_ALGO9, CUBLAS_GEMM_ALGO10, CUBLAS_GEMM_ALGO11,
  CUBLAS_GEMM_ALGO12, CUBLAS_GEMM_ALGO13, CUBLAS_GEMM_ALGO14, CUBLAS_GEMM_ALGO15, CUBLAS_GEMM_ALGO16,
  CUBLAS_GEMM_ALGO17, CUBLAS_GEMM_ALGO18, CUBLAS_GEMM_ALGO19, CUBLAS_GEMM_ALGO20, CUBLAS_GEMM_ALGO21,
  CUBLAS_GEMM_ALGO22, CUBLAS_GEMM_ALGO23,
  CUBLAS_GEMM_DFALT_TENSOR_OP = 99,
  CUBLAS_GEMM_DEFAULT_TENSOR_OP = 99,
  CUBLAS_GEMM_ALGO0_TENSOR_OP, CUBLAS_GEMM_ALGO1_TENSOR_OP, CUBLAS_GEMM_ALGO2_TENSOR_OP, CUBLAS_GEMM_ALGO3_TENSOR_OP,
  CUBLAS_GEMM_ALGO4_TENSOR_OP, CUBLAS_GEMM_ALGO5_TENSOR_OP, CUBLAS_GEMM_ALGO6_TENSOR_OP, CUBLAS_GEMM_ALGO7_TENSOR_OP,
  CUBLAS_GEMM_ALGO8_TENSOR_OP, CUBLAS_GEMM_ALGO9_TENSOR_OP, CUBLAS_GEMM_ALGO10_TENSOR_OP,
  CUBLAS_GEMM_ALGO11_TENSOR_OP, CUBLAS_GEMM_ALGO12_TENSOR_OP, CUBLAS_GEMM_ALGO13_TENSOR_OP,
  CUBLAS_GEMM_ALGO14_TENSOR_OP, CUBLAS_GEMM_ALGO15_TENSOR_OP
} cublasGemmAlgo_t;
typedef enum cudaDataType_t {
  CUDA_R_32F = 0,
  CUDA_R_64F = 1,
  CUDA_R_16F = 2,
  CUDA_R_8I = 3,
  CUDA_R_32I = 10,
  CUDA_R_16BF = 14
} cudaDataType;

typedef struct cublasContext {
  cudaStream_t stream;
  cublasMath_t math;
  cublasPointerMode_t pointers;
  cublasAtomicsMode_t atomics;
}* cublasHandle_t;

// Matrices as they lie: an element's place is base + row * rows_apart + column * columns_apart, counted in elements.
struct sim_matrix {
  void* base;
  int type;  // a cudaDataType
  int64_t rows, columns, rows_apart, columns_apart, apart;
};
// c = alpha * a * b + beta * c, so many times. Of floats `compute` says how they are rounded first.
extern "C" __attribute__((visibility("default"))) void sim_multiply(const sim_matrix* a, const sim_matrix* b,
                                                                   const sim_matrix* c, int64_t count, double alpha,
                                                                   double beta, cublasComputeType_t compute,
                                                                   const char* call);

namespace sim {

inline sim_matrix operand(const void* base, cudaDataType type, cublasOperation_t operation, int64_t rows,
                          int64_t columns, int64_t leading, int64_t apart) {
  bool is_turned = operation != CUBLAS_OP_N;
  return {const_cast<void*>(base), type, rows, columns, is_turned ? leading : 1, is_turned ? 1 : leading, apart};
}

// Older sources give a type of data.
struct Compute {
  int type;
  Compute(cublasComputeType_t given) : type(given & ~1) {  // those that are pedantic compute as the others
    if (given == CUBLAS_COMPUTE_32F_FAST_16BF || given == CUBLAS_COMPUTE_32F_FAST_TF32) type = given;
  }
  Compute(cudaDataType given)
      : type(given == CUDA_R_16F   ? CUBLAS_COMPUTE_16F
             : given == CUDA_R_64F ? CUBLAS_COMPUTE_64F
             : given == CUDA_R_32I ? CUBLAS_COMPUTE_32I
                                   : CUBLAS_COMPUTE_32F) {}

  bool takes(cudaDataType ab, cudaDataType c) const {
    switch (type) {
      case CUBLAS_COMPUTE_16F: return ab == CUDA_R_16F && c == CUDA_R_16F;
      case CUBLAS_COMPUTE_64F: return ab == CUDA_R_64F && c == CUDA_R_64F;
      case CUBLAS_COMPUTE_32I: return ab == CUDA_R_8I && c == CUDA_R_32I;
      case CUBLAS_COMPUTE_32F:
        return c == CUDA_R_32F ? ab != CUDA_R_64F && ab != CUDA_R_32I : ab == c && (c == CUDA_R_16F || c == CUDA_R_16BF);
      default: return ab == CUDA_R_32F && c == CUDA_R_32F;
    }
  }
  double scalar(const void* value) const {
    if (type == CUBLAS_COMPUTE_16F) return __half2float(*static_cast<const __half*>(value));
    if (type == CUBLAS_COMPUTE_64F) return *static_cast<const double*>(value);
    if (type == CUBLAS_COMPUTE_32I) return *static_cast<const int32_t*>(value);
    return *static_cast<const float*>(value);
  }
  // What the handle's mode makes of it, for floats.
  cublasComputeType_t in(cublasMath_t mode) const {
    bool is_plain = type == CUBLAS_COMPUTE_32F;
    if (is_plain && mode == CUBLAS_TENSOR_OP_MATH) return CUBLAS_COMPUTE_32F_FAST_16F;
    if (is_plain && mode == CUBLAS_TF32_TENSOR_OP_MATH) return CUBLAS_COMPUTE_32F_FAST_TF32;
    return cublasComputeType_t(type);
  }
};

struct Product {
  cublasOperation_t of_a, of_b;
  int64_t m, n, k;
  const void* a;
  cudaDataType type_a;
  int64_t lda, a_apart;
  const void* b;
  cudaDataType type_b;
  int64_t ldb, b_apart;
  void* c;
  cudaDataType type_c;
  int64_t ldc, c_apart, count;
};

inline cublasStatus_t multiply(cublasHandle_t handle, const Product& of, const void* alpha, const void* beta,
                               Compute compute, const char* call) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!alpha || !beta) return CUBLAS_STATUS_INVALID_VALUE;
  auto at_least = [](int64_t rows) { return rows > 1 ? rows : 1; };
  bool fits = of.lda >= at_least(of.of_a == CUBLAS_OP_N ? of.m : of.k) &&
              of.ldb >= at_least(of.of_b == CUBLAS_OP_N ? of.k : of.n) && of.ldc >= at_least(of.m);
  if (of.m < 0 || of.n < 0 || of.k < 0 || of.count < 0 || !fits) return CUBLAS_STATUS_INVALID_VALUE;
  if (of.type_a != of.type_b || !compute.takes(of.type_a, of.type_c)) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (!of.m || !of.n || !of.count) return CUBLAS_STATUS_SUCCESS;
  sim_matrix a = operand(of.a, of.type_a, of.of_a, of.m, of.k, of.lda, of.a_apart);
  sim_matrix b = operand(of.b, of.type_b, of.of_b, of.k, of.n, of.ldb, of.b_apart);
  sim_matrix c = operand(of.c, of.type_c, CUBLAS_OP_N, of.m, of.n, of.ldc, of.c_apart);
  sim_multiply(&a, &b, &c, of.count, compute.scalar(alpha), compute.scalar(beta), compute.in(handle->math), call);
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace sim

static inline cublasStatus_t cublasCreate(cublasHandle_t* handle) {
  *handle = new cublasContext();
  return CUBLAS_STATUS_SUCCESS;
}
static inline cublasStatus_t cublasDestroy(cublasHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}
static inline cublasStatus_t cublasGetVersion(cublasHandle_t, int* version) {
  *version = 130000;
  return CUBLAS_STATUS_SUCCESS;
}
static inline cublasStatus_t cublasSetWorkspace(cublasHandle_t, void*, size_t) { return CUBLAS_STATUS_SUCCESS; }
static inline const char* cublasGetStatusName(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS: return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED: return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_INVALID_VALUE: return "CUBLAS_STATUS_INVALID_VALUE";
    default: return "CUBLAS_STATUS_EXECUTION_FAILED";
  }
}
static inline const char* cublasGetStatusString(cublasStatus_t status) { return cublasGetStatusName(status); }

#define SIM_CUBLAS_FIELD(name, type, field) \
  static inline cublasStatus_t cublasSet##name(cublasHandle_t handle, type value) { \
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED; \
    handle->field = value; \
    return CUBLAS_STATUS_SUCCESS; \
  } \
  static inline cublasStatus_t cublasGet##name(cublasHandle_t handle, type* value) { \
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED; \
    *value = handle->field; \
    return CUBLAS_STATUS_SUCCESS; \
  }
SIM_CUBLAS_FIELD(Stream, cudaStream_t, stream)
SIM_CUBLAS_FIELD(MathMode, cublasMath_t, math)
SIM_CUBLAS_FIELD(PointerMode, cublasPointerMode_t, pointers)
SIM_CUBLAS_FIELD(AtomicsMode, cublasAtomicsMode_t, atomics)
#undef SIM_CUBLAS_FIELD

#define SIM_CUBLAS_GEMM(letter, T, type) \
  static inline cublasStatus_t cublas##letter##gemmStridedBatched( \
      cublasHandle_t handle, cublasOperation_t of_a, cublasOperation_t of_b, int m, int n, int k, const T* alpha, \
      const T* a, int lda, long long a_apart, const T* b, int ldb, long long b_apart, const T* beta, T* c, int ldc, \
      long long c_apart, int count) { \
    return sim::multiply(handle, \
                         {of_a, of_b, m, n, k, a, type, lda, a_apart, b, type, ldb, b_apart, c, type, ldc, c_apart, count}, \
                         alpha, beta, type, "cublas" #letter "gemm"); \
  } \
  static inline cublasStatus_t cublas##letter##gemm( \
      cublasHandle_t handle, cublasOperation_t of_a, cublasOperation_t of_b, int m, int n, int k, const T* alpha, \
      const T* a, int lda, const T* b, int ldb, const T* beta, T* c, int ldc) { \
    return cublas##letter##gemmStridedBatched(handle, of_a, of_b, m, n, k, alpha, a, lda, 0, b, ldb, 0, beta, c, ldc, 0, \
                                              1); \
  }
SIM_CUBLAS_GEMM(S, float, CUDA_R_32F)
SIM_CUBLAS_GEMM(D, double, CUDA_R_64F)
SIM_CUBLAS_GEMM(H, __half, CUDA_R_16F)
#undef SIM_CUBLAS_GEMM

static inline cublasStatus_t cublasGemmStridedBatchedEx(
    cublasHandle_t handle, cublasOperation_t of_a, cublasOperation_t of_b, int m, int n, int k, const void* alpha,
    const void* a, cudaDataType type_a, int lda, long long a_apart, const void* b, cudaDataType type_b, int ldb,
    long long b_apart, const void* beta, void* c, cudaDataType type_c, int ldc, long long c_apart, int count,
    sim::Compute compute, cublasGemmAlgo_t) {
  return sim::multiply(
      handle,
      {of_a, of_b, m, n, k, a, type_a, lda, a_apart, b, type_b, ldb, b_apart, c, type_c, ldc, c_apart, count},
      alpha, beta, compute, "cublasGemmEx");
}
static inline cublasStatus_t cublasGemmEx(cublasHandle_t handle, cublasOperation_t of_a, cublasOperation_t of_b, int m,
                                          int n, int k, const void* alpha, const void* a, cudaDataType type_a, int lda,
                                          const void* b, cudaDataType type_b, int ldb, const void* beta, void* c,
                                          cudaDataType type_c, int ldc, sim::Compute compute,
                                          cublasGemmAlgo_t algorithm) {
  return cublasGemmStridedBatchedEx(handle, of_a, of_b, m, n, k, alpha, a, type_a, lda, 0, b, type_b, ldb, 0, beta, c,
                                    type_c, ldc, 0, 1, compute, algorithm);
}

// y = alpha * op(A) * x + beta * y, of a matrix with m rows and n columns; steps between elements may not be negative here.
#define SIM_CUBLAS_GEMV(letter, T, type) \
  static inline cublasStatus_t cublas##letter##gemv(cublasHandle_t handle, cublasOperation_t operation, int m, int n, \
                                                    const T* alpha, const T* a, int lda, const T* x, int step_x, \
                                                    const T* beta, T* y, int step_y) { \
    if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED; \
    if (m < 0 || n < 0 || lda < (m > 1 ? m : 1) || !step_x || !step_y) return CUBLAS_STATUS_INVALID_VALUE; \
    if (step_x < 0 || step_y < 0) sim_refuse("cuBLAS (a negative increment)"); \
    if (!m || !n) return CUBLAS_STATUS_SUCCESS; \
    bool is_turned = operation != CUBLAS_OP_N; \
    int64_t rows = is_turned ? n : m, columns = is_turned ? m : n; \
    sim_matrix matrix = sim::operand(a, type, operation, rows, columns, lda, 0); \
    sim_matrix vector = {const_cast<T*>(x), type, columns, 1, step_x, 1, 0}, result = {y, type, rows, 1, step_y, 1, 0}; \
    sim_multiply(&matrix, &vector, &result, 1, *alpha, *beta, CUBLAS_COMPUTE_32F, "cublas" #letter "gemv"); \
    return CUBLAS_STATUS_SUCCESS; \
  }
SIM_CUBLAS_GEMV(S, float, CUDA_R_32F)
SIM_CUBLAS_GEMV(D, double, CUDA_R_64F)
#undef SIM_CUBLAS_GEMV

#define cublasCreate_v2 cublasCreate
#define cublasDestroy_v2 cublasDestroy
#define cublasGetPointerMode_v2 cublasGetPointerMode
#define cublasGetStream_v2 cublasGetStream
#define cublasGetVersion_v2 cublasGetVersion
#define cublasSetPointerMode_v2 cublasSetPointerMode
#define cublasSetStream_v2 cublasSetStream
#define cublasSetWorkspace_v2 cublasSetWorkspace
#define cublasSgemm_v2 cublasSgemm
#define cublasDgemm_v2 cublasDgemm
#define cublasSgemv_v2 cublasSgemv
#define cublasDgemv_v2 cublasDgemv
