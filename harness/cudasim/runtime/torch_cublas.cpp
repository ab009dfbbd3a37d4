// Products of matrices for cuBLAS's functions (include/cublas_v2.h), by torch's operators on the fake device.
#include <ATen/ops/addmm.h>
#include <ATen/ops/baddbmm.h>
#include <ATen/ops/matmul.h>

#include "cublas_v2.h"
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

// Whole numbers of eight bits add up to those of 32.
at::ScalarType computed_in(at::ScalarType of_a, at::ScalarType of_c) {
  return of_a == at::kChar ? (of_c == at::kInt ? at::kInt : at::kFloat) : of_c == at::kDouble ? at::kDouble : at::kFloat;
}

}  // namespace
}  // namespace sim

extern "C" __attribute__((visibility("default"))) void sim_multiply(const sim_matrix* a, const sim_matrix* b,
                                                                   const sim_matrix* c, int64_t count, double alpha,
                                                                   double beta, const char* call) {
  sim::check_device_is_well();
  if (sim_is_capturing()) sim_refuse_in_capture("cuBLAS");
  for (const sim_matrix* matrix : {a, b, c})
    if (!sim_accepts_range(matrix->base, size_t(sim::nbytes_of(*matrix, count)), call)) return;
  at::NoGradGuard no_grad;
  at::Tensor left = sim::tensor_of(*a, count), right = sim::tensor_of(*b, count), result = sim::tensor_of(*c, count);
  bool is_uniform = left.scalar_type() == result.scalar_type() && right.scalar_type() == result.scalar_type();
  if (is_uniform && count == 1) {
    result[0].addmm_(left[0], right[0], beta, alpha);
  } else if (is_uniform) {
    result.baddbmm_(left, right, beta, alpha);
  } else {
    at::ScalarType wide = sim::computed_in(left.scalar_type(), result.scalar_type());
    at::Tensor product = at::matmul(left.to(wide), right.to(wide)).mul_(alpha);
    if (beta != 0) product.add_(result.to(wide), beta);
    result.copy_(product);
  }
}
