// Reference Determinant: LU elimination with the largest pivot of the column, in double, on a copy on the stack.
#include "runtime/ops/determinant.h"

#include <cmath>
#include <utility>

#include "runtime/ops/element.h"
#include "runtime/ops/type_rule.h"

namespace ingot {
namespace {

constexpr std::string_view kOp = "determinant";
constexpr int64_t kMaxSize = 128;  // 128 KiB of stack

double determinant(double* a, int64_t n) {
  double result = 1;
  for (int64_t c = 0; c < n; ++c) {
    int64_t pivot = c;
    for (int64_t r = c + 1; r < n; ++r)
      if (std::fabs(a[r * n + c]) > std::fabs(a[pivot * n + c])) pivot = r;
    if (a[pivot * n + c] == 0) return 0;
    if (pivot != c) {
      result = -result;
      for (int64_t k = c; k < n; ++k) std::swap(a[c * n + k], a[pivot * n + k]);
    }
    result *= a[c * n + c];
    for (int64_t r = c + 1; r < n; ++r) {
      const double factor = a[r * n + c] / a[c * n + c];
      for (int64_t k = c; k < n; ++k) a[r * n + k] -= factor * a[c * n + k];
    }
  }
  return result;
}

}  // namespace

Status infer_types(const DeterminantParams&, std::span<const OpInput> inputs, std::span<OpOutput> outputs) {
  INGOT_TRY(check_arity(kOp, inputs, 1, 1, outputs));
  const Shape& x = inputs[0].shape;
  if (!with_float_type(inputs[0].dtype, [](auto) {}))
    return refuse(kOp, "element type", to_string(inputs[0].dtype), "a float", StatusCode::kUnsupported);
  if (x.rank < 2 || x[x.rank - 1] != x[x.rank - 2]) return refuse(kOp, "shape of input", to_string(x), "square matrices");
  if (x[x.rank - 1] > kMaxSize)
    return refuse(kOp, "size of the matrices", std::to_string(x[x.rank - 1]), "at most " + std::to_string(kMaxSize), StatusCode::kUnsupported);
  return set_output(kOp, outputs[0], inputs[0].dtype, Shape::of(x.span().first(static_cast<size_t>(x.rank - 2))));
}

Status run_reference(const DeterminantParams& params, std::span<const ConstTensorRef> inputs, std::span<const TensorRef> outputs) {
  INGOT_TRY(check_run(kOp, params, inputs, outputs));
  const Shape& x = inputs[0].type->shape;
  const int64_t n = x[x.rank - 1], count = outputs[0].type->shape.elements();
  double matrix[kMaxSize * kMaxSize];
  with_float_type(inputs[0].type->dtype, [&]<class T>(T) {
    for (int64_t i = 0; i < count; ++i) {
      for (int64_t k = 0; k < n * n; ++k) matrix[k] = static_cast<double>(load_element(inputs[0].as<T>()[i * n * n + k]));
      outputs[0].as<T>()[i] = store_float<T>(determinant(matrix, n));
    }
  });
  return {};
}

}  // namespace ingot
