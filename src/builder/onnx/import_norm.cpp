// Normalisations, softmax, and reductions.
#include "builder/onnx/shared_attributes.h"

#include <algorithm>
#include <unordered_map>

namespace ingot {
namespace {

const std::unordered_map<std::string_view, ReduceFunction>& reduce_functions() {
  using F = ReduceFunction;
  static const std::unordered_map<std::string_view, ReduceFunction> table = {
      {"ReduceSum", F::kSum}, {"ReduceMean", F::kMean}, {"ReduceMax", F::kMax}, {"ReduceMin", F::kMin}, {"ReduceProd", F::kProd},
      {"ReduceL1", F::kL1}, {"ReduceL2", F::kL2}, {"ReduceLogSum", F::kLogSum}, {"ReduceLogSumExp", F::kLogSumExp},
      {"ReduceSumSquare", F::kSumSquare}};
  return table;
}

void check_stash_type(NodeImporter& node) {
  if (const int64_t stash = node.integer("stash_type", 1); stash != 1)
    node.unsupported("attribute 'stash_type' is not supported: got " + std::to_string(stash) + ", need 1 (float)");
}

// training_mode: mean and variance are those of the batch; outputs 1 and 2 move the given ones towards them.
void batch_norm_of_batch(NodeImporter& node, const BatchNormParams& params, double momentum) {
  const ValueId x = node.required(0), scale = node.required(1), shift = node.required(2);
  for (size_t i : {3, 4}) node.required(i);
  if (!node.ok()) return;
  const DataType dtype = node.dtype(x);
  std::vector<int64_t> axes = {0};
  for (int i = 2; i < node.rank(x); ++i) axes.push_back(i);
  const ValueId mean = node.reduce(ReduceFunction::kMean, x, axes, true), centred = node.binary(BinaryFunction::kSub, x, mean);
  const ValueId variance = node.reduce(ReduceFunction::kMean, node.binary(BinaryFunction::kMul, centred, centred), axes, false);
  const ValueId flat_mean = node.reshape(mean, {-1});
  node.alias(node.add(params, {x, node.cast(scale, dtype), node.cast(shift, dtype), flat_mean, variance}));
  const auto moved = [&](size_t input, ValueId now) {
    const ValueId before = node.required(input);
    if (!node.ok()) return kNone;
    const DataType type = node.dtype(before);
    const ValueId old_part = node.binary(BinaryFunction::kMul, before, node.scalar_constant("momentum", type, momentum));
    const ValueId new_part = node.binary(BinaryFunction::kMul, node.cast(now, type), node.scalar_constant("momentum", type, 1 - momentum));
    return node.binary(BinaryFunction::kAdd, old_part, new_part);
  };
  if (node.has_output(1)) node.alias(moved(3, flat_mean), 1);
  if (node.has_output(2)) node.alias(moved(4, variance), 2);
}

}  // namespace

void import_batch_norm(NodeImporter& node) {
  BatchNormParams params;
  params.epsilon = node.number("epsilon", 1e-5f);
  node.ignore({"momentum", "consumed_inputs", "is_test"});
  const bool spatial = node.version() >= 9 || node.flag("spatial", true);
  const bool training = node.version() >= 14 && node.flag("training_mode", false);
  if (training) return batch_norm_of_batch(node, params, node.number("momentum", 0.9f));
  for (size_t i = 1; i < node.output_count(); ++i)
    if (node.has_output(i)) return node.unsupported("outputs of training are not supported; export the model for inference");
  std::vector<ValueId> inputs;
  for (size_t i = 0; i < 5; ++i) inputs.push_back(node.required(i));
  if (!node.ok()) return;
  // Scale and statistics may be of wider types than the picture.
  const DataType type = node.dtype(inputs[0]);
  const bool mixed = std::any_of(inputs.begin(), inputs.end(), [&](ValueId input) { return node.dtype(input) != type; });
  if (mixed)
    for (ValueId& input : inputs) input = node.cast(input, DataType::kF32);
  if (spatial) return node.alias(mixed ? node.cast(node.add(params, inputs), type) : node.add(params, inputs));
  // Before opset 9 each element of a picture may have statistics of its own: scale, shift, mean, variance [C, d…].
  const ValueId epsilon = node.scalar_constant("epsilon", node.dtype(inputs[0]), params.epsilon);
  const ValueId deviation = node.unary(UnaryFunction::kSqrt, node.binary(BinaryFunction::kAdd, inputs[4], epsilon));
  const ValueId normalised = node.binary(BinaryFunction::kDiv, node.binary(BinaryFunction::kSub, inputs[0], inputs[3]), deviation);
  node.alias(node.binary(BinaryFunction::kAdd, node.binary(BinaryFunction::kMul, normalised, inputs[1]), inputs[2]));
}

void import_layer_norm(NodeImporter& node) {
  LayerNormParams params;
  params.axis = node.integer("axis", -1);
  params.epsilon = node.number("epsilon", 1e-5f);
  params.rms = node.op_type() != "LayerNormalization";
  check_stash_type(node);
  const ValueId x = node.required(0);
  ValueId scale = node.required(1), bias = node.input(2);
  if (!node.ok()) return;
  // The op wants scale and bias in the shape of what is normalised; ONNX lets them broadcast to it.
  const int axis = static_cast<int>(node.axis(params.axis, node.rank(x)));
  const auto widened = [&](ValueId value) {
    if (value == kNone || !node.ok()) return value;
    const Shape &whole = node.type(x).shape, &shape = node.type(value).shape;
    bool fits = shape.rank == whole.rank - axis;
    for (int i = 0; fits && i < shape.rank; ++i) fits = shape[i] != 1 || whole[axis + i] == 1;
    return fits ? value : node.add(ExpandParams{}, {value, node.dims_of(x, axis, whole.rank)});
  };
  scale = widened(scale);
  bias = widened(bias);
  if (!node.ok()) return;
  if (node.dtype(x) != DataType::kF64) return node.result(params, {x, scale, bias});
  const std::vector<ValueId> outputs = node.add_all(params, {x, scale, bias}, std::max<size_t>(node.output_count(), 1));
  for (size_t i = 0; i < node.output_count() && node.ok(); ++i)  // statistics of doubles are stored as floats
    if (node.has_output(i)) node.alias(i == 0 ? outputs[0] : node.cast(outputs[i], DataType::kF32), i);
}

void import_instance_norm(NodeImporter& node) {
  InstanceNormParams params;
  params.epsilon = node.number("epsilon", 1e-5f);
  node.ignore({"consumed_inputs"});
  node.result(params, {node.required(0), node.required(1), node.required(2)});
}

void import_group_norm(NodeImporter& node) {
  InstanceNormParams params;
  params.epsilon = node.number("epsilon", 1e-5f);
  params.groups = node.integer("num_groups", 0);
  check_stash_type(node);
  const ValueId x = node.required(0);
  ValueId scale = node.required(1), bias = node.required(2);
  if (!node.ok()) return;
  if (params.groups < 1)
    return node.invalid("attribute 'num_groups' is wrong: got " + std::to_string(params.groups) + ", need ≥ 1");
  if (node.version() < 21) {  // one scale for each group, repeated for the group's channels
    const int64_t channels = node.rank(x) > 1 ? node.type(x).shape[1] : 0;
    if (channels < 1 || channels % params.groups != 0)
      return node.invalid("groups do not divide the channels: got " + std::to_string(channels) + " channels, " +
                          std::to_string(params.groups) + " groups");
    const auto repeat = [&](ValueId per_group) {
      const ValueId column = node.add(ReshapeParams{}, {per_group, node.integers_constant("column", {params.groups, 1})});
      const ValueId wide =
          node.add(ExpandParams{}, {column, node.integers_constant("wide", {params.groups, channels / params.groups})});
      return node.add(ReshapeParams{}, {wide, node.integers_constant("channels", {channels})});
    };
    scale = repeat(scale);
    bias = repeat(bias);
  }
  node.result(params, {x, scale, bias});
}

// Before opset 13 all dims from `axis` on are taken together.
void import_softmax(NodeImporter& node) {
  SoftmaxParams params;
  params.log = node.op_type() == "LogSoftmax";
  const ValueId x = node.required(0);
  const bool flatten = node.version() < 13;
  int64_t axis = node.integer("axis", flatten ? 1 : -1);
  if (!node.ok()) return;
  const int rank = node.rank(x);
  if (flatten && rank == 1 && axis == 1) axis = 0;  // the default on a vector
  params.axis = node.axis(axis, rank);
  params.flatten = flatten && params.axis != rank - 1;
  node.result(params, {x});
}

void import_reduce(NodeImporter& node) {
  ReduceParams params;
  params.function = reduce_functions().at(node.op_type());
  params.keepdims = node.flag("keepdims", true);
  const ValueId x = node.required(0);
  const int64_t axes_as_input = params.function == ReduceFunction::kSum ? 13 : 18;
  ValueId axes = kNone;
  if (node.version() >= axes_as_input) {
    params.noop_with_empty_axes = node.flag("noop_with_empty_axes", false);
    axes = node.input(1);
    if (axes != kNone && node.type(axes).shape == Shape{0}) axes = kNone;  // as if left out
  } else if (const std::vector<int64_t> given = node.integers("axes"); !given.empty()) {
    axes = node.integers_constant("axes", given);
  }
  node.result(params, {x, axes});
}

void import_arg_reduce(NodeImporter& node) {
  ArgReduceParams params;
  params.largest = node.op_type() == "ArgMax";
  params.keepdims = node.flag("keepdims", true);
  params.axis = node.integer("axis", 0);
  params.select_last_index = node.flag("select_last_index", false);
  node.result(params, {node.required(0)});
}

// x / ‖x‖ along one axis, 0 where ‖x‖ is.
void import_lp_normalization(NodeImporter& node) {
  const int64_t axis = node.integer("axis", -1), p = node.integer("p", 2);
  const ValueId x = node.required(0);
  if (p != 1 && p != 2) node.invalid("attribute 'p' is wrong: got " + std::to_string(p) + ", need 1 or 2");
  const ReduceParams norm{p == 1 ? ReduceFunction::kL1 : ReduceFunction::kL2, true, false};
  const ValueId length = node.add(norm, {x, node.integers_constant("axes", {axis})});
  // Zeros stay zeros: no length is less than the smallest number of the type but 0 itself.
  const DataType type = node.dtype(x);
  const double least = type == DataType::kF64 ? 0x1p-1074 : type == DataType::kF16 ? 0x1p-24 : type == DataType::kBF16 ? 0x1p-133 : 0x1p-149;
  const ValueId divisor = node.binary(BinaryFunction::kMax, length, node.scalar_constant("least", type, least));
  node.result(BinaryParams{BinaryFunction::kDiv, {}}, {x, divisor});
}

// (x − mean) / (σ + 1e-9) over some axes.
void import_mean_variance_normalization(NodeImporter& node) {
  const ValueId x = node.required(0);
  std::vector<int64_t> given = node.integers("axes");
  if (given.empty()) given = {0, 2, 3};
  if (!node.ok()) return;
  const ValueId axes = node.integers_constant("axes", given);
  const ReduceParams mean{ReduceFunction::kMean, true, false};
  const ValueId centred = node.binary(BinaryFunction::kSub, x, node.add(mean, {x, axes}));
  const ValueId variance = node.add(mean, {node.binary(BinaryFunction::kMul, centred, centred), axes});
  const ValueId sigma = node.unary(UnaryFunction::kSqrt, variance);
  const ValueId divisor = node.binary(BinaryFunction::kAdd, sigma, node.scalar_constant("epsilon", node.dtype(x), 1e-9));
  node.result(BinaryParams{BinaryFunction::kDiv, {}}, {centred, divisor});
}

}  // namespace ingot
