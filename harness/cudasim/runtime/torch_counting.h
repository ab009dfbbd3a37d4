// How much work torch's operators are given.
#pragma once
#include <ATen/core/function_schema.h>
#include <ATen/core/ivalue.h>
#include <c10/util/ArrayRef.h>

#include <string>

namespace sim {

// Of all tensors among an operator's arguments, but for those that it writes its results to (`out=`); a complex number is
// two.
int64_t elements_of(const c10::FunctionSchema& schema, c10::ArrayRef<c10::IValue> arguments);

// Whether it is torch's, as they were before any code of a solution ran; of others what they call counts.
bool is_of_torch(const std::string& operator_name);

// While it lives this thread's operators on the host's tensors count for nothing: they stand for one of the device.
class Uncounted {
 public:
  explicit Uncounted(bool is_on = true);
  ~Uncounted();
  Uncounted(const Uncounted&) = delete;
  Uncounted& operator=(const Uncounted&) = delete;

 private:
  const bool was_on_;
};

}  // namespace sim
