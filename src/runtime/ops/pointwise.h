// Element-wise ops: functions of one value, of two with broadcasting, select, and casts.
// Quantised (u8/s8 with QuantParams): Unary and Binary follow docs/numerics.md; a u8/s8 → u8/s8 Unary is a 256-entry table.
#pragma once

#include <string_view>

#include "runtime/ops/fields.h"
#include "runtime/ops/op_io.h"
#include "runtime/ops/pointwise_functions.h"

namespace ingot {

std::string_view to_string(UnaryFunction function);  // "relu", "hard_swish" …

// What is applied to a result before it is stored.
struct Activation {
  UnaryFunction function = UnaryFunction::kIdentity;
  double alpha = 0, beta = 0;
  bool operator==(const Activation&) const = default;
};
// The definition of f(t) in float32: a fixed sequence of IEEE operations (runtime/ops/exact_math.h), the same in every kernel.
// Functions of UnaryFunction that are no activations are answered too, some of them by libm.
float apply_activation(const Activation& activation, float x);
// The same function in double by libm, for f64 tensors; not bound to any sequence.
double apply_activation_f64(const Activation& activation, double x);
// Whether the function may be fused behind another op: the first group of the list.
constexpr bool is_activation(UnaryFunction function) { return function <= UnaryFunction::kQuickGelu; }
// Whether the function is a clamp only (identity, relu, clip), so that it folds into the saturation of an integer result.
bool is_clamp(UnaryFunction function);

struct UnaryParams {
  UnaryFunction function = UnaryFunction::kIdentity;
  double alpha = 0, beta = 0;
  INGOT_FIELDS(function, alpha, beta)
};

std::string_view to_string(BinaryFunction function);
bool is_comparison(BinaryFunction function);  // result is bool

// y = act(a ∘ b), numpy broadcasting.
struct BinaryParams {
  BinaryFunction function = BinaryFunction::kAdd;
  Activation activation;
  INGOT_FIELDS(function, activation.function, activation.alpha, activation.beta)
};

struct WhereParams { INGOT_FIELDS() };  // condition (bool), x, y
struct CastParams {
  int64_t to = 0;  // DataType
  bool saturate = true;
  INGOT_FIELDS(to, saturate)
};
struct BitCastParams {  // the same bytes as another element type of the same size
  int64_t to = 0;       // DataType
  INGOT_FIELDS(to)
};

// A quantised Unary (u8/s8 → u8/s8) as a table over the input's byte: dequantise, function, quantise.
void fill_unary_table(const UnaryParams& params, const TensorType& input, const TensorType& output, std::span<uint8_t, 256> table);

// Shape of a ∘ b by numpy's rule; false when they don't broadcast.
bool broadcast_shapes(const Shape& a, const Shape& b, Shape& out);

Status infer_types(const UnaryParams&, std::span<const OpInput>, std::span<OpOutput>);
Status run_reference(const UnaryParams&, std::span<const ConstTensorRef>, std::span<const TensorRef>);
Status infer_types(const BinaryParams&, std::span<const OpInput>, std::span<OpOutput>);
Status run_reference(const BinaryParams&, std::span<const ConstTensorRef>, std::span<const TensorRef>);
Status infer_types(const WhereParams&, std::span<const OpInput>, std::span<OpOutput>);
Status run_reference(const WhereParams&, std::span<const ConstTensorRef>, std::span<const TensorRef>);
Status infer_types(const CastParams&, std::span<const OpInput>, std::span<OpOutput>);
Status run_reference(const CastParams&, std::span<const ConstTensorRef>, std::span<const TensorRef>);
Status infer_types(const BitCastParams&, std::span<const OpInput>, std::span<OpOutput>);
Status run_reference(const BitCastParams&, std::span<const ConstTensorRef>, std::span<const TensorRef>);

}  // namespace ingot
