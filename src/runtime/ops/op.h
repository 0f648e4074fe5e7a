// OpKind and OpParams: the closed set of ops, from ops.inc. The kind is the index of the variant, so the two cannot disagree.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "runtime/ops/along_axis.h"
#include "runtime/ops/control_flow.h"
#include "runtime/ops/conv.h"
#include "runtime/ops/counted.h"
#include "runtime/ops/data_movement.h"
#include "runtime/ops/deform_conv.h"
#include "runtime/ops/determinant.h"
#include "runtime/ops/gather.h"
#include "runtime/ops/linear_attention.h"
#include "runtime/ops/matmul.h"
#include "runtime/ops/non_max_suppression.h"
#include "runtime/ops/normalization.h"
#include "runtime/ops/op_io.h"
#include "runtime/ops/pointwise.h"
#include "runtime/ops/pointwise_chain.h"
#include "runtime/ops/pool.h"
#include "runtime/ops/quantize.h"
#include "runtime/ops/recurrent.h"
#include "runtime/ops/reduce.h"
#include "runtime/ops/resize.h"
#include "runtime/ops/roi_pool.h"
#include "runtime/ops/sampling.h"
#include "runtime/ops/scatter.h"
#include "runtime/ops/unfold.h"

namespace ingot {

enum class OpKind : uint16_t {
#define INGOT_OP(name) k##name,
#include "runtime/ops/ops.inc"
#undef INGOT_OP
  kCount
};
struct NoOpParams {};  // closes the generated list; never a node's op
using OpParams = std::variant<
#define INGOT_OP(name) name##Params,
#include "runtime/ops/ops.inc"
#undef INGOT_OP
    NoOpParams>;

inline OpKind kind_of(const OpParams& params) { return static_cast<OpKind>(params.index()); }
std::string_view to_string(OpKind kind);  // "Conv"
std::optional<OpKind> parse_op_kind(std::string_view name);
OpParams default_params(OpKind kind);

// One field of an op's parameters by name, for text and file formats.
using FieldValue = std::variant<int64_t, double, std::string, std::vector<int64_t>, std::vector<double>>;
struct Field {
  std::string name;
  FieldValue value;
  bool operator==(const Field&) const = default;
};
std::vector<Field> fields_of(const OpParams& params);  // all fields, in order
// Sets fields by name on default parameters; unknown names and wrong types are errors.
Expected<OpParams> params_from_fields(OpKind kind, std::span<const Field> fields);
std::string to_string(const OpParams& params);  // "{strides=[1,1], groups=1}"; default values are left out
bool equal(const OpParams& a, const OpParams& b);
uint64_t hash_of(const OpParams& params);  // stable across runs and machines

Status infer_types(const OpParams& params, std::span<const OpInput> inputs, std::span<OpOutput> outputs);
Status run_reference(const OpParams& params, std::span<const ConstTensorRef> inputs, std::span<const TensorRef> outputs);
// Whether the op only relabels its input's bytes (Reshape, Flatten, Squeeze, Unsqueeze, Identity).
bool is_alias_op(OpKind kind);

// Ops that own bodies. Their rules take what the bodies make; see ops/control_flow.h for each of these four.
bool is_control_flow(OpKind kind);
size_t body_count(OpKind kind);
Status check_body_arity(const OpParams& params, size_t inputs, size_t outputs, size_t body_inputs, size_t body_outputs);
Status infer_body_inputs(const OpParams& params, std::span<const OpInput> inputs, std::span<OpInput> body_inputs);
Status infer_types(const OpParams& params, std::span<const OpInput> inputs, std::span<const std::span<const OpOutput>> bodies,
                   std::span<OpOutput> outputs);

}  // namespace ingot
