// Operators that move elements or speak about shapes: Reshape … Resize, Gather, Constant, Identity.
#include "builder/onnx/shared_attributes.h"

#include <algorithm>

#include "builder/onnx/text.h"

namespace ingot {
namespace {

// Axes, sizes and the like: an attribute up to some opset, an input since. kNone if absent.
ValueId attribute_or_input(NodeImporter& node, std::string_view attribute, size_t input, int64_t input_since) {
  if (node.version() >= input_since) return node.input(input);
  return node.has_attribute(attribute) ? node.integers_constant(attribute, node.integers(attribute)) : kNone;
}

void expect_present(NodeImporter& node, ValueId id, std::string_view what) {
  if (id == kNone) node.invalid(std::string(what) + " is missing");
}

// Indices of type s32 where the op wants s64.
ValueId as_s64(NodeImporter& node, ValueId id) {
  if (id == kNone || !node.ok() || node.dtype(id) != DataType::kS32) return id;
  return node.add(CastParams{static_cast<int64_t>(DataType::kS64), true}, {id});
}

}  // namespace

void import_identity(NodeImporter& node) { node.alias(node.required(0)); }

// At inference nothing is dropped.
void import_dropout(NodeImporter& node) {
  node.ignore({"ratio", "seed", "is_test", "consumed_inputs"});
  node.ignore_input(1);
  const ValueId x = node.required(0);
  if (node.version() >= 12 && node.input(2) != kNone && node.constant_scalar(node.input(2)) != 0.0 &&
      node.constant_scalar(node.input(1)) != 0.0)
    return node.unsupported("training is not supported: got input 'training_mode' that is not constant false; export the model for inference");
  node.alias(x);
  if (!node.has_output(1)) return;
  ConstantOfShapeParams everything;
  everything.dtype = static_cast<int64_t>(node.version() < 10 ? node.dtype(x) : DataType::kBool);
  everything.value = 1;
  everything.integer_value = 1;
  node.alias(node.add(everything, {node.add(ShapeParams{}, {x})}), 1);
}

void import_reshape(NodeImporter& node) {
  const bool allowzero = node.flag("allowzero", false);
  node.result(ReshapeParams{allowzero}, {node.required(0), node.required(1)});
}

void import_flatten(NodeImporter& node) { node.result(FlattenParams{node.integer("axis", 1)}, {node.required(0)}); }

void import_squeeze(NodeImporter& node) {
  node.result(SqueezeParams{}, {node.required(0), attribute_or_input(node, "axes", 1, 13)});
}

void import_unsqueeze(NodeImporter& node) {
  const ValueId x = node.required(0), axes = attribute_or_input(node, "axes", 1, 13);
  expect_present(node, axes, "axes");
  node.result(UnsqueezeParams{}, {x, axes});
}

void import_transpose(NodeImporter& node) { node.result(TransposeParams{node.integers("perm")}, {node.required(0)}); }

void import_concat(NodeImporter& node) {
  if (!node.has_attribute("axis")) node.invalid("attribute 'axis' is missing");
  const int64_t axis = node.integer("axis", 0);
  node.result(ConcatParams{axis}, node.all_inputs());
}

void import_split(NodeImporter& node) {
  const ValueId x = node.required(0);
  int64_t axis = node.integer("axis", 0);
  const ValueId sizes = attribute_or_input(node, "split", 1, 13);
  const auto count = static_cast<int64_t>(node.output_count());
  const int64_t parts = node.version() >= 18 ? node.integer("num_outputs", count) : count;
  if (!node.ok()) return;
  if (sizes != kNone && node.has_attribute("num_outputs")) return node.invalid("has both 'num_outputs' and sizes: need one");
  if (parts != count || count < 1)
    return node.invalid("wrong number of outputs: got " + std::to_string(count) + ", need " + std::to_string(parts));
  axis = node.axis(axis, node.rank(x));
  if (!node.ok()) return;
  // Only since opset 18 may the last part be smaller.
  const int64_t size = node.type(x).shape[static_cast<int>(axis)];
  if (sizes == kNone && node.version() < 18 && size >= 0 && size % count != 0)
    return node.invalid("dim cannot be split into equal parts: got " + std::to_string(size) + ", need a multiple of " +
                        std::to_string(count));
  // All parts are made, used or not.
  const std::vector<ValueId> made = node.add_all(SplitParams{axis}, {x, sizes}, static_cast<size_t>(count));
  for (size_t i = 0; i < made.size(); ++i) node.alias(made[i], i);
}

void import_slice(NodeImporter& node) {
  const ValueId x = node.required(0);
  if (node.version() >= 10) {
    const ValueId starts = node.required(1), ends = node.required(2);
    return node.result(SliceParams{}, {x, as_s64(node, starts), as_s64(node, ends), as_s64(node, node.input(3)),
                                       as_s64(node, node.input(4))});
  }
  if (!node.has_attribute("starts") || !node.has_attribute("ends")) return node.invalid("attributes 'starts' and 'ends' are needed");
  const ValueId starts = attribute_or_input(node, "starts", 0, INT64_MAX), ends = attribute_or_input(node, "ends", 0, INT64_MAX);
  node.result(SliceParams{}, {x, starts, ends, attribute_or_input(node, "axes", 0, INT64_MAX)});
}

void import_pad(NodeImporter& node) {
  const ValueId x = node.required(0);
  PadParams params;
  params.mode = static_cast<PadMode>(node.choice("mode", "constant", {"constant", "reflect", "edge", "wrap"}));
  if (node.version() >= 11) return node.result(params, {x, node.required(1), node.input(2), as_s64(node, node.input(3))});
  if (!node.has_attribute("pads")) return node.invalid("attribute 'pads' is missing");
  const ValueId pads = node.integers_constant("pads", node.integers("pads"));
  const double value = node.number("value", 0);
  node.result(params, {x, pads, value == 0 ? kNone : node.scalar_constant("value", node.dtype(x), value)});
}

void import_expand(NodeImporter& node) { node.result(ExpandParams{}, {node.required(0), node.required(1)}); }
void import_tile(NodeImporter& node) { node.result(TileParams{}, {node.required(0), node.required(1)}); }
void import_range(NodeImporter& node) {
  node.result(RangeParams{}, {node.required(0), node.required(1), node.required(2)});
}

void import_depth_to_space(NodeImporter& node) {
  DepthToSpaceParams params;
  params.block = node.integer("blocksize", 0);
  params.crd = node.choice("mode", "DCR", {"DCR", "CRD"}) == 1;
  if (params.block < 1) node.invalid("attribute 'blocksize' is wrong: got " + std::to_string(params.block) + ", need ≥ 1");
  node.result(params, {node.required(0)});
}

void import_space_to_depth(NodeImporter& node) {
  const int64_t block = node.integer("blocksize", 0);
  if (block < 1) node.invalid("attribute 'blocksize' is wrong: got " + std::to_string(block) + ", need ≥ 1");
  const bool crd = node.choice("mode", "DCR", {"DCR", "CRD"}) == 1;
  const ValueId x = node.required(0);
  if (!node.ok()) return;
  if (!crd) return node.result(SpaceToDepthParams{block}, {x});
  // Depth-column-row puts the place in the block before the channel; the channel comes first here.
  const Shape& shape = node.type(x).shape;
  if (shape.rank != 4 || shape[1] < 0) return node.unsupported("mode CRD needs an input of rank 4 with a known number of channels");
  const int64_t channels = shape[1];
  const ValueId blocks = node.add(SpaceToDepthParams{block}, {x});
  const Shape& deep = node.type(blocks).shape;
  if (node.ok() && !deep.is_static()) return node.unsupported("mode CRD needs dims that do not vary");
  if (!node.ok()) return;
  const int64_t n = deep[0], h = deep[2], w = deep[3];
  const ValueId apart = node.reshape(blocks, {n, block * block, channels, h, w});
  const ValueId swapped = node.add(TransposeParams{{0, 2, 1, 3, 4}}, {apart});
  node.result(ReshapeParams{}, {swapped, node.integers_constant("dims", {n, channels * block * block, h, w})});
}

void import_shape(NodeImporter& node) {
  const int64_t start = node.integer("start", 0), end = node.integer("end", INT64_MAX);
  node.result(ShapeParams{start, end}, {node.required(0)});
}

void import_size(NodeImporter& node) {
  const ValueId dims = node.add(ShapeParams{}, {node.required(0)});
  node.result(ReduceParams{ReduceFunction::kProd, false, false}, {dims});
}

void import_gather(NodeImporter& node) {
  const int64_t axis = node.integer("axis", 0);
  node.result(GatherParams{axis}, {node.required(0), node.required(1)});
}

void import_gather_elements(NodeImporter& node) {
  const int64_t axis = node.integer("axis", 0);
  node.result(GatherElementsParams{axis}, {node.required(0), node.required(1)});
}

void import_constant_of_shape(NodeImporter& node) {
  ConstantOfShapeParams params;
  params.dtype = static_cast<int64_t>(DataType::kF32);
  const ValueId shape = node.required(0);
  if (const auto* value = node.attribute("value"); value && node.ok()) {
    auto content = read_tensor(value->t(), {}, "attribute 'value'");
    if (!content.ok()) return node.fail(content.status().code(), std::string(content.status().message()));
    if (content->type.shape.elements() != 1)
      return node.invalid("attribute 'value' has a wrong shape: got " + to_string(content->type.shape) + ", need one element");
    const ElementNumber number = element_number(content->type.dtype, content->bytes.data());
    params.dtype = static_cast<int64_t>(content->type.dtype);
    params.value = number.real;
    params.integer_value = number.integer;
  }
  node.result(params, {shape});
}

void import_constant(NodeImporter& node) {
  TensorContent content;
  const auto give = [&](DataType dtype, Shape shape, auto values) {
    using T = typename decltype(values)::value_type;
    content = {TensorType{dtype, shape, Layout::kLinear, {}}, to_blob(std::span<const T>(values))};
  };
  const auto read = [&](Expected<TensorContent> result) {
    if (result.ok()) content = *std::move(result);
    else node.fail(result.status().code(), std::string(result.status().message()));
  };
  int forms = 0;
  for (const char* form : {"value", "sparse_value", "value_float", "value_floats", "value_int", "value_ints", "value_string",
                           "value_strings"})
    forms += node.has_attribute(form);
  if (forms != 1) return node.invalid("needs exactly one value attribute: got " + std::to_string(forms));
  if (node.has_attribute("value_string") || node.has_attribute("value_strings"))
    return node.unsupported("strings are not supported");
  if (const auto* value = node.attribute("value")) {
    read(read_tensor(value->t(), node.source(), "attribute 'value'"));
  } else if (const auto* sparse = node.attribute("sparse_value")) {
    read(read_sparse_tensor(sparse->sparse_tensor(), node.source(), "attribute 'sparse_value'"));
  } else if (node.has_attribute("value_float")) {
    give(DataType::kF32, {}, std::vector<float>{static_cast<float>(node.number("value_float", 0))});
  } else if (node.has_attribute("value_int")) {
    give(DataType::kS64, {}, std::vector<int64_t>{node.integer("value_int", 0)});
  } else if (node.has_attribute("value_ints")) {
    const std::vector<int64_t> values = node.integers("value_ints");
    give(DataType::kS64, {static_cast<int64_t>(values.size())}, values);
  } else {
    const std::vector<double> numbers = node.numbers("value_floats");
    give(DataType::kF32, {static_cast<int64_t>(numbers.size())}, std::vector<float>(numbers.begin(), numbers.end()));
  }
  node.result_constant(std::move(content));
}

// Upsample, and Resize before opset 11, map asymmetrically and round down.
void import_upsample(NodeImporter& node) {
  ResizeParams params;
  params.mode = node.choice("mode", "nearest", {"nearest", "linear", "bilinear"}) == 0 ? ResizeMode::kNearest : ResizeMode::kLinear;
  params.coordinates = ResizeCoordinates::kAsymmetric;
  params.nearest = ResizeNearest::kFloor;
  const ValueId x = node.required(0);
  ValueId scales = node.input(1);
  if (node.op_type() == "Upsample" && node.version() < 9) {
    std::vector<double> given = node.numbers("scales");
    if (node.version() < 7 && node.has_attribute("height_scale") && node.has_attribute("width_scale"))
      given = {1, 1, node.number("height_scale", 1), node.number("width_scale", 1)};
    const std::vector<float> values(given.begin(), given.end());
    scales = values.empty() ? kNone : node.floats_constant("scales", values);
  }
  expect_present(node, scales, "scales");
  node.result(params, {x, kNone, scales});
}

void import_resize(NodeImporter& node) {
  if (node.version() < 11) return import_upsample(node);
  ResizeParams params;
  params.mode = static_cast<ResizeMode>(node.choice("mode", "nearest", {"nearest", "linear", "cubic"}));
  params.coordinates = static_cast<ResizeCoordinates>(
      node.choice("coordinate_transformation_mode", "half_pixel",
                  {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric",
                   "tf_half_pixel_for_nn", "tf_crop_and_resize"}));
  params.nearest = static_cast<ResizeNearest>(
      node.choice("nearest_mode", "round_prefer_floor", {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}));
  params.aspect = static_cast<ResizeAspect>(
      node.choice("keep_aspect_ratio_policy", "stretch", {"stretch", "not_larger", "not_smaller"}));
  params.cubic_coefficient = node.number("cubic_coeff_a", -0.75);
  params.extrapolation_value = node.number("extrapolation_value", 0);
  params.exclude_outside = node.flag("exclude_outside", false);
  params.antialias = node.flag("antialias", false);
  params.axes = node.integers("axes");
  const ValueId x = node.required(0);
  // An empty tensor stands for "left out"; the region counts in one mode only.
  const auto present = [&](size_t i) { return node.is_empty(node.input(i)) ? kNone : node.input(i); };
  node.ignore_input(1);
  const ValueId roi = params.coordinates == ResizeCoordinates::kTfCropAndResize ? present(1) : kNone;
  const ValueId scales = present(2), sizes = present(3);
  if ((scales == kNone) == (sizes == kNone)) node.invalid("needs scales or sizes: got both or none");
  node.result(params, {x, roi, scales, sizes});
}

}  // namespace ingot
