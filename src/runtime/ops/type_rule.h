// What type rules share: refusals in the project's words, and checked reading of axes and of inputs that give shapes.
// Everything here is safe for hostile values and allocates only to word an error.
#pragma once

#include <algorithm>
#include <array>
#include <string>

#include "runtime/ops/op_io.h"

namespace ingot {

// "<op>: <problem>: got <got>, need <need>"
Status refuse(std::string_view op, std::string_view problem, std::string_view got, std::string_view need,
              StatusCode code = StatusCode::kInvalidModel);

inline bool has_input(std::span<const OpInput> inputs, size_t i) { return i < inputs.size() && inputs[i].present; }
inline bool has_input(std::span<const ConstTensorRef> inputs, size_t i) { return i < inputs.size() && inputs[i]; }

// The number of inputs and outputs, presence of the first `required` inputs, and sane shapes of all that are present.
Status check_arity(std::string_view op, std::span<const OpInput> inputs, size_t required, size_t most,
                   std::span<const OpOutput> outputs, size_t outputs_wanted = 1);

// A dim number counted from either end, as 0 … rank − 1.
Status read_axis(std::string_view op, int64_t axis, int rank, int& result);

// The elements of a short integer tensor. More than `most` elements, a type other than s32/s64 and rank > 1 are refused;
// an unknown value is kUnsupported.
struct IndexList {
  int count = 0;
  std::array<int64_t, 2 * Shape::kMaxRank> values{};
  int64_t operator[](int i) const { return values[static_cast<size_t>(i)]; }
};
Status read_index_list(std::string_view op, std::string_view name, const OpInput& input, int most, IndexList& list);
Status refuse_unknown_value(std::string_view op, std::string_view name);

// Appends a dim; more than Shape::kMaxRank of them is kUnsupported.
Status append_dim(std::string_view op, Shape& shape, int64_t dim);
// Stores the answer after checking that the shape is addressable.
Status set_output(std::string_view op, OpOutput& output, DataType dtype, const Shape& shape);

// For reference code of ops with counted dims: reports the shape of their result. Where it does not fit into the memory that
// the output's type promises, `fits` is false and nothing may be written: the caller sees from the report what it needs.
Status report_shape(std::string_view op, const TensorRef& output, const Shape& shape, bool& fits);

inline OpInput as_input(const ConstTensorRef& tensor) {
  if (!tensor) return {};
  return {tensor.type->dtype, tensor.type->shape, tensor.data, true};
}

// At run time the shape of an output was fixed before; values that now say otherwise are the caller's error. Applies the
// type rule to the operands of a run with one output and at most kMaxInputs inputs.
template <class Params>
Status check_run(std::string_view op, const Params& params, std::span<const ConstTensorRef> inputs,
                 std::span<const TensorRef> outputs) {
  constexpr size_t kMaxInputs = 5;
  std::array<OpInput, kMaxInputs> values;
  for (size_t i = 0; i < inputs.size() && i < kMaxInputs; ++i) values[i] = as_input(inputs[i]);
  OpOutput output;
  INGOT_TRY(infer_types(params, std::span(values).first(std::min(inputs.size(), kMaxInputs)), std::span(&output, 1)));
  if (output.shape == outputs[0].type->shape) return {};
  return refuse(op, "output shape differs from what the inputs give", to_string(outputs[0].type->shape),
                to_string(output.shape), StatusCode::kInvalidArgument);
}

}  // namespace ingot
