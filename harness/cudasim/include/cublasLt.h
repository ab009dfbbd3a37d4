// cuBLASLt's product of matrices with its epilogues, computed like those of cublas_v2.h. Names, values and meanings by
// NVIDIA's cuBLAS Library, 13.0, "Using the cuBLASLt API".
#pragma once
#include <cublas_v2.h>

#include <cstdint>
#include <cstring>

typedef enum {
  CUBLASLT_MATMUL_DESC_COMPUTE_TYPE = 0,
  CUBLASLT_MATMUL_DESC_SCALE_TYPE = 1,
  CUBLASLT_MATMUL_DESC_POINTER_MODE = 2,
  CUBLASLT_MATMUL_DESC_TRANSA = 3,
  CUBLASLT_MATMUL_DESC_TRANSB = 4,
  CUBLASLT_MATMUL_DESC_TRANSC = 5,
  CUBLASLT_MATMUL_DESC_EPILOGUE = 7,
  CUBLASLT_MATMUL_DESC_BIAS_POINTER = 8,
  CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER = 11,
  CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD = 12,
  CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET = 15,
  CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE = 26
} cublasLtMatmulDescAttributes_t;
typedef enum {
  CUBLASLT_MATRIX_LAYOUT_TYPE = 0,
  CUBLASLT_MATRIX_LAYOUT_ORDER = 1,
  CUBLASLT_MATRIX_LAYOUT_ROWS = 2,
  CUBLASLT_MATRIX_LAYOUT_COLS = 3,
  CUBLASLT_MATRIX_LAYOUT_LD = 4,
  CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT = 5,
  CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET = 6
} cublasLtMatrixLayoutAttribute_t;
typedef enum { CUBLASLT_ORDER_COL = 0, CUBLASLT_ORDER_ROW = 1 } cublasLtOrder_t;
typedef enum { CUBLASLT_POINTER_MODE_HOST = 0, CUBLASLT_POINTER_MODE_DEVICE = 1 } cublasLtPointerMode_t;
typedef enum {
  CUBLASLT_EPILOGUE_DEFAULT = 1,
  CUBLASLT_EPILOGUE_RELU = 2,
  CUBLASLT_EPILOGUE_BIAS = 4,
  CUBLASLT_EPILOGUE_RELU_BIAS = 6,
  CUBLASLT_EPILOGUE_GELU = 32,
  CUBLASLT_EPILOGUE_GELU_BIAS = 36,
  CUBLASLT_EPILOGUE_GELU_AUX = 160,
  CUBLASLT_EPILOGUE_GELU_AUX_BIAS = 164
} cublasLtEpilogue_t;
typedef enum {
  CUBLASLT_MATMUL_PREF_SEARCH_MODE = 0,
  CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES = 1,
  CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK = 3,
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES = 5,
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES = 6,
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES = 7,
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES = 8,
  CUBLASLT_MATMUL_PREF_MAX_WAVES_COUNT = 9,
  CUBLASLT_MATMUL_PREF_IMPL_MASK = 12
} cublasLtMatmulPreferenceAttributes_t;

struct sim_lt_layout {
  cudaDataType type;
  uint64_t rows, columns;
  int64_t leading;
  int32_t order, count;
  int64_t apart;

  sim_matrix matrix(const void* base, cublasOperation_t operation) const {
    bool is_turned = operation != CUBLAS_OP_N, lies_in_rows = order == CUBLASLT_ORDER_ROW;
    auto matrix = sim::operand(base, type, is_turned == lies_in_rows ? CUBLAS_OP_N : CUBLAS_OP_T, int64_t(rows),
                               int64_t(columns), leading, apart);
    if (is_turned) std::swap(matrix.rows, matrix.columns);
    return matrix;
  }
};
struct sim_lt_product {
  cublasComputeType_t compute;
  cudaDataType scale;
  int32_t pointers, of_a, of_b, of_c;
  uint32_t epilogue;
  const void* bias;
  void* aux;
  int64_t aux_leading;
  int32_t target, bias_type;
};
typedef struct cublasLtContext {
  int unused;
}* cublasLtHandle_t;
typedef sim_lt_layout cublasLtMatrixLayoutOpaque_t;
typedef sim_lt_layout* cublasLtMatrixLayout_t;
typedef sim_lt_product cublasLtMatmulDescOpaque_t;
typedef sim_lt_product* cublasLtMatmulDesc_t;
typedef struct {
  uint64_t most_bytes;
} cublasLtMatmulPreferenceOpaque_t;
typedef cublasLtMatmulPreferenceOpaque_t* cublasLtMatmulPreference_t;
typedef struct {
  uint64_t data[8];
} cublasLtMatmulAlgo_t;
typedef struct {
  cublasLtMatmulAlgo_t algo;
  size_t workspaceSize;
  cublasStatus_t state;
  float wavesCount;
  int reserved[4];
} cublasLtMatmulHeuristicResult_t;

// d = function(alpha * a * b + beta * c + bias), with a bias for each row; `aux` receives the argument of the function.
struct sim_epilogue {
  enum Function { NONE, RELU, GELU } function;
  sim_matrix bias, aux;  // without a base where there are none
};
extern "C" __attribute__((visibility("default"))) void sim_multiply_into(const sim_matrix* a, const sim_matrix* b,
                                                                        const sim_matrix* c, const sim_matrix* d,
                                                                        int64_t count, double alpha, double beta,
                                                                        cublasComputeType_t compute,
                                                                        const sim_epilogue* epilogue, const char* call);

namespace sim {

template <class T>
cublasStatus_t take(T& field, const void* value, size_t bytes) {
  if (!value || bytes != sizeof(T)) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(static_cast<void*>(&field), value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}
template <class T>
cublasStatus_t make(T** made, T content) {
  *made = new T(content);
  return CUBLAS_STATUS_SUCCESS;
}
template <class T>
cublasStatus_t unmake(T* made) {
  delete made;
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace sim

static inline cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) { return sim::make(handle, cublasLtContext()); }
static inline cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) { return sim::unmake(handle); }
static inline size_t cublasLtGetVersion() { return CUBLAS_VERSION; }
static inline const char* cublasLtGetStatusName(cublasStatus_t status) { return cublasGetStatusName(status); }
static inline const char* cublasLtGetStatusString(cublasStatus_t status) { return cublasGetStatusString(status); }

static inline cublasStatus_t cublasLtMatmulDescInit(cublasLtMatmulDesc_t product, cublasComputeType_t compute,
                                                    cudaDataType scale) {
  *product = {compute, scale, CUBLASLT_POINTER_MODE_HOST, CUBLAS_OP_N, CUBLAS_OP_N, CUBLAS_OP_N,
              CUBLASLT_EPILOGUE_DEFAULT, nullptr, nullptr, 0, 0, -1};
  return CUBLAS_STATUS_SUCCESS;
}
static inline cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* product, cublasComputeType_t compute,
                                                      cudaDataType scale) {
  sim::make(product, sim_lt_product());
  return cublasLtMatmulDescInit(*product, compute, scale);
}
static inline cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t product) { return sim::unmake(product); }
static inline cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t product,
                                                            cublasLtMatmulDescAttributes_t attribute,
                                                            const void* value, size_t bytes) {
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_COMPUTE_TYPE: return sim::take(product->compute, value, bytes);
    case CUBLASLT_MATMUL_DESC_SCALE_TYPE: return sim::take(product->scale, value, bytes);
    case CUBLASLT_MATMUL_DESC_POINTER_MODE: return sim::take(product->pointers, value, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSA: return sim::take(product->of_a, value, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSB: return sim::take(product->of_b, value, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSC: return sim::take(product->of_c, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE: return sim::take(product->epilogue, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER: return sim::take(product->bias, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER: return sim::take(product->aux, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD: return sim::take(product->aux_leading, value, bytes);
    case CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET: return sim::take(product->target, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE: return sim::take(product->bias_type, value, bytes);
  }
  sim_refuse("cuBLASLt (this attribute of a product)");
}

static inline cublasStatus_t cublasLtMatrixLayoutInit(cublasLtMatrixLayout_t layout, cudaDataType type, uint64_t rows,
                                                      uint64_t columns, int64_t leading) {
  *layout = {type, rows, columns, leading, CUBLASLT_ORDER_COL, 1, 0};
  return CUBLAS_STATUS_SUCCESS;
}
static inline cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type,
                                                        uint64_t rows, uint64_t columns, int64_t leading) {
  sim::make(layout, sim_lt_layout());
  return cublasLtMatrixLayoutInit(*layout, type, rows, columns, leading);
}
static inline cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) { return sim::unmake(layout); }
static inline cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                              cublasLtMatrixLayoutAttribute_t attribute,
                                                              const void* value, size_t bytes) {
  switch (attribute) {
    case CUBLASLT_MATRIX_LAYOUT_TYPE: return sim::take(layout->type, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_ORDER: return sim::take(layout->order, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_ROWS: return sim::take(layout->rows, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_COLS: return sim::take(layout->columns, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_LD: return sim::take(layout->leading, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT: return sim::take(layout->count, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET: return sim::take(layout->apart, value, bytes);
  }
  sim_refuse("cuBLASLt (this attribute of a matrix)");
}

static inline cublasStatus_t cublasLtMatmulPreferenceInit(cublasLtMatmulPreference_t preference) {
  *preference = {0};
  return CUBLAS_STATUS_SUCCESS;
}
static inline cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  return sim::make(preference, cublasLtMatmulPreferenceOpaque_t());
}
static inline cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  return sim::unmake(preference);
}
static inline cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                                  cublasLtMatmulPreferenceAttributes_t attribute,
                                                                  const void* value, size_t bytes) {
  bool is_memory = attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES;
  return is_memory ? sim::take(preference->most_bytes, value, bytes) : CUBLAS_STATUS_SUCCESS;
}
static inline cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t,
                                                            cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                                            cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                                            cublasLtMatmulPreference_t, int most,
                                                            cublasLtMatmulHeuristicResult_t* results, int* found) {
  if (most < 1 || !results || !found) return CUBLAS_STATUS_INVALID_VALUE;
  results[0] = {};
  *found = 1;
  return CUBLAS_STATUS_SUCCESS;
}

static inline cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t product, const void* alpha,
                                            const void* a, cublasLtMatrixLayout_t layout_a, const void* b,
                                            cublasLtMatrixLayout_t layout_b, const void* beta, const void* c,
                                            cublasLtMatrixLayout_t layout_c, void* d, cublasLtMatrixLayout_t layout_d,
                                            const cublasLtMatmulAlgo_t*, void*, size_t, cudaStream_t) {
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!product || !alpha || !beta || !a || !b || !d || !layout_a || !layout_b || !layout_c || !layout_d)
    return CUBLAS_STATUS_INVALID_VALUE;
  sim::Compute compute(product->compute);
  uint32_t epilogue = product->epilogue;
  bool has_bias = epilogue & CUBLASLT_EPILOGUE_BIAS, has_aux = epilogue & 128;
  uint32_t function = epilogue & ~uint32_t(CUBLASLT_EPILOGUE_BIAS | 128 | CUBLASLT_EPILOGUE_DEFAULT);
  bool is_known = function == 0 || function == CUBLASLT_EPILOGUE_RELU || function == CUBLASLT_EPILOGUE_GELU;
  if (!is_known || (has_aux && function != CUBLASLT_EPILOGUE_GELU)) sim_refuse("cuBLASLt (this epilogue)");
  if (product->pointers != CUBLASLT_POINTER_MODE_HOST) sim_refuse("cuBLASLt (factors on the device)");
  if (product->of_c != CUBLAS_OP_N) sim_refuse("cuBLASLt (a transposed C)");
  for (auto layout : {layout_a, layout_b, layout_c, layout_d})
    if (layout->order != CUBLASLT_ORDER_COL && layout->order != CUBLASLT_ORDER_ROW) sim_refuse("cuBLASLt (this order)");
  if (has_bias && layout_d->order != CUBLASLT_ORDER_COL) sim_refuse("cuBLASLt (a bias in this order)");
  if (layout_a->type != layout_b->type || !compute.takes(layout_a->type, layout_d->type) ||
      layout_c->type != layout_d->type || (compute.type != CUBLAS_COMPUTE_32F && product->scale == CUDA_R_32F &&
                                          (compute.type == CUBLAS_COMPUTE_16F || compute.type == CUBLAS_COMPUTE_32I)))
    sim_refuse("cuBLASLt (these types together)");
  sim_matrix of_a = layout_a->matrix(a, cublasOperation_t(product->of_a));
  sim_matrix of_b = layout_b->matrix(b, cublasOperation_t(product->of_b));
  sim_matrix of_c = layout_c->matrix(c ? c : d, CUBLAS_OP_N), of_d = layout_d->matrix(d, CUBLAS_OP_N);
  bool fits = of_a.columns == of_b.rows && of_d.rows == of_a.rows && of_d.columns == of_b.columns &&
              of_c.rows == of_d.rows && of_c.columns == of_d.columns && layout_a->count == layout_d->count &&
              layout_b->count == layout_d->count && layout_c->count == layout_d->count;
  double factor = compute.scalar(beta);
  bool is_whole = (!has_bias || product->bias) && (!has_aux || product->aux) && (c || !factor);
  if (!fits || !is_whole) return CUBLAS_STATUS_INVALID_VALUE;
  if (!of_d.rows || !of_d.columns || !layout_d->count) return CUBLAS_STATUS_SUCCESS;
  int type = product->bias_type < 0 ? int(layout_d->type) : product->bias_type;
  sim_epilogue after = {function == 0                        ? sim_epilogue::NONE
                        : function == CUBLASLT_EPILOGUE_RELU ? sim_epilogue::RELU
                                                             : sim_epilogue::GELU,
                        {has_bias ? const_cast<void*>(product->bias) : nullptr, type, of_d.rows, 1, 1, 1, 0},
                        {has_aux ? product->aux : nullptr, layout_d->type, of_d.rows, of_d.columns, 1,
                         product->aux_leading, of_d.rows * of_d.columns}};
  sim_multiply_into(&of_a, &of_b, &of_c, &of_d, layout_d->count, compute.scalar(alpha), factor,
                    cublasComputeType_t(compute.type), &after, "cublasLtMatmul");
  return CUBLAS_STATUS_SUCCESS;
}
