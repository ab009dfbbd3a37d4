// Products of matrices for the functions of cuBLAS and cuBLASLt (include/cublas_v2.h, cublasLt.h), by torch's operators
// on the fake device.
#include <ATen/ops/baddbmm.h>
#include <ATen/ops/gelu.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include "cublasLt.h"
#include "torch_device.h"

namespace sim {
namespace {

at::ScalarType scalar_type(int type) {
  switch (type) {
    case CUDA_R_32F: return at::kFloat;
    case CUDA_R_64F: return at::kDouble;
    case CUDA_R_16F: return at::kHalf;
    case CUDA_R_16BF: return at::kBFloat16;
    case CUDA_R_8I: return at::kChar;
    case CUDA_R_32I: return at::kInt;
    default: sim_refuse("cuBLAS (this data type)");
  }
}

int64_t nbytes_of(const sim_matrix& matrix, int64_t count) {
  if (!matrix.rows || !matrix.columns) return 0;
  int64_t last = (matrix.rows - 1) * matrix.rows_apart + (matrix.columns - 1) * matrix.columns_apart +
                 (count - 1) * matrix.apart;
  return (last + 1) * int64_t(c10::elementSize(scalar_type(matrix.type)));
}

at::Tensor tensor_of(const sim_matrix& matrix, int64_t count) {
  c10::Storage storage(c10::Storage::use_byte_size_t(), nbytes_of(matrix, count), c10::DataPtr(matrix.base, cuda_device),
                       nullptr, false);
  auto tensor = at::detail::make_tensor<c10::TensorImpl>(
      std::move(storage), c10::DispatchKeySet(c10::DispatchKey::CUDA), c10::scalarTypeToTypeMeta(scalar_type(matrix.type)));
  int64_t sizes[] = {count, matrix.rows, matrix.columns};
  int64_t strides[] = {matrix.apart, matrix.rows_apart, matrix.columns_apart};
  tensor.unsafeGetTensorImpl()->set_sizes_and_strides(c10::IntArrayRef(sizes), c10::IntArrayRef(strides));
  return tensor;
}

// Floats as tensor cores take them.
at::Tensor as_multiplied(const at::Tensor& floats, cublasComputeType_t compute) {
  if (floats.scalar_type() != at::kFloat) return floats;
  if (compute == CUBLAS_COMPUTE_32F_FAST_16F) return floats.to(at::kHalf).to(at::kFloat);
  if (compute == CUBLAS_COMPUTE_32F_FAST_16BF) return floats.to(at::kBFloat16).to(at::kFloat);
  if (compute != CUBLAS_COMPUTE_32F_FAST_TF32) return floats;
  constexpr int cut = 13, half = 1 << (cut - 1);  // of 23 bits of a fraction 10 stay
  return floats.contiguous().view(at::kInt).add(half).bitwise_and(-(1 << cut)).view(at::kFloat);
}

at::Scalar number(double value, bool is_whole) { return is_whole ? at::Scalar(int64_t(value)) : at::Scalar(value); }

}  // namespace
}  // namespace sim

extern "C" __attribute__((visibility("default"))) void sim_multiply_into(const sim_matrix* a, const sim_matrix* b,
                                                                        const sim_matrix* c, const sim_matrix* d,
                                                                        int64_t count, double alpha, double beta,
                                                                        cublasComputeType_t compute,
                                                                        const sim_epilogue* epilogue, const char* call) {
  sim::check_device_is_well();
  if (sim_is_capturing()) sim_refuse_in_capture("cuBLAS");
  const sim_matrix &bias = epilogue->bias, &aux = epilogue->aux;
  for (const sim_matrix* matrix : {a, b, d, beta ? c : d, bias.base ? &bias : d, aux.base ? &aux : d})
    if (!sim_accepts_range(matrix->base, size_t(sim::nbytes_of(*matrix, matrix == &bias ? 1 : count)), call)) return;
  at::NoGradGuard no_grad;
  c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  at::Tensor result = sim::tensor_of(*d, count);
  bool is_last = !bias.base && !aux.base && epilogue->function == sim_epilogue::NONE;
  at::ScalarType type = is_last ? result.scalar_type() : at::promoteTypes(result.scalar_type(), at::kFloat);
  at::Tensor left = sim::as_multiplied(sim::tensor_of(*a, count), compute).to(type);
  at::Tensor right = sim::as_multiplied(sim::tensor_of(*b, count), compute).to(type);
  bool is_whole = type == at::kInt;
  at::Tensor value = at::baddbmm(sim::tensor_of(beta ? *c : *d, count).to(type), left, right,
                                 sim::number(beta, is_whole), sim::number(alpha, is_whole));
  if (bias.base) value.add_(sim::tensor_of(bias, 1));
  if (aux.base) sim::tensor_of(aux, count).copy_(value);
  if (epilogue->function == sim_epilogue::RELU) value.relu_();
  if (epilogue->function == sim_epilogue::GELU) value = at::gelu(value, "tanh");
  result.copy_(value);
}

extern "C" __attribute__((visibility("default"))) void sim_multiply(const sim_matrix* a, const sim_matrix* b,
                                                                   const sim_matrix* c, int64_t count, double alpha,
                                                                   double beta, cublasComputeType_t compute,
                                                                   const char* call) {
  sim_epilogue none = {};
  sim_multiply_into(a, b, c, c, count, alpha, beta, compute, &none, call);
}
