// The type rule at the largest shapes gives the bounds; asked again at smaller ones it shows which dims follow the data.
#include "runtime/ops/shape_bounds.h"

#include <algorithm>
#include <vector>

#include "runtime/ops/type_rule.h"

namespace ingot {
namespace {

using Inputs = std::span<const BoundedInput>;
using Outputs = std::span<BoundedOutput>;

bool is_late(const Shape& shape, uint32_t late, int dim) { return dim < shape.rank && (late >> dim & 1) != 0; }

// Bounds of the elements of a short list of integers; not known where they are not.
struct RangeList {
  int count = 0;
  bool known = false;
  std::array<int64_t, 2 * Shape::kMaxRank> least{}, most{};
  bool exact(int i) const { return known && least[static_cast<size_t>(i)] == most[static_cast<size_t>(i)]; }
  bool all_exact() const {
    for (int i = 0; i < count; ++i)
      if (!exact(i)) return false;
    return known || count == 0;
  }
};

// Fails where the input is no such list at all, as the type rule does.
Status read_ranges(std::string_view op, std::string_view name, Inputs inputs, size_t index, RangeList& list) {
  list = {};
  if (index >= inputs.size() || !inputs[index].input.present) return {};
  OpInput input = inputs[index].input;
  if (input.dtype != DataType::kS64 && input.dtype != DataType::kS32) return refuse(op, "type of " + std::string(name), to_string(input.dtype), "s64");
  const int64_t count = input.shape.elements();
  if (count < 0 || count > static_cast<int64_t>(list.least.size())) return refuse(op, "elements of " + std::string(name), std::to_string(count), "16 or fewer");
  list.count = static_cast<int>(count);
  const void *least = inputs[index].least, *most = inputs[index].most;
  if (input.data) least = most = input.data;
  list.known = (least && most) || count == 0;
  for (int i = 0; list.known && i < list.count; ++i) {
    input.data = least;
    list.least[static_cast<size_t>(i)] = read_index(input, i);
    input.data = most;
    list.most[static_cast<size_t>(i)] = read_index(input, i);
  }
  return {};
}

void set_late(BoundedOutput& output, DataType dtype, const Shape& shape, uint32_t late) {
  output.dtype = dtype;
  output.shape = shape;
  output.late = late & ((1u << shape.rank) - 1);
}

// What a rule says of a case: concrete shapes, values where they are known.
struct Asked {
  std::vector<OpInput> inputs;
  std::vector<OpOutput> outputs;
  Status ask(const OpParams& params) { return infer_types(params, inputs, outputs); }
};

// Inputs whose values a rule may read at their largest, since its dims grow with them.
bool grows_with_value(const OpParams& params, size_t input) {
  switch (kind_of(params)) {
    case OpKind::kConstantOfShape: return true;
    case OpKind::kTile: case OpKind::kPad: case OpKind::kOneHot: return input == 1;
    case OpKind::kResize: return input >= 2 && std::get<ResizeParams>(params).aspect == ResizeAspect::kStretch;
    case OpKind::kNonMaxSuppression: return input == 2;
    default: return false;
  }
}

// The rule at the largest shapes; then which dims change or go when the late ones are smaller. A rule that fails at the
// smaller ones says nothing, and where it fails at all of them, every dim counts as late.
Status ask_at_largest(const OpParams& params, Inputs inputs, Outputs outputs) {
  Asked largest;
  bool inexact = false;
  for (size_t i = 0; i < inputs.size(); ++i) {
    OpInput input = inputs[i].input;
    if (!input.data && inputs[i].most && grows_with_value(params, i)) input.data = inputs[i].most, inexact = true;
    largest.inputs.push_back(input);
  }
  largest.outputs.resize(outputs.size());
  INGOT_TRY(largest.ask(params));
  std::vector<uint32_t> changes(outputs.size(), 0);
  bool answered = false, any_late = inexact;
  for (const BoundedInput& input : inputs) any_late = any_late || input.late != 0;
  for (int sample = 0; any_late && sample < 5; ++sample) {
    Asked smaller = largest;
    for (size_t i = 0; i < inputs.size(); ++i) {
      Shape& shape = smaller.inputs[i].shape;
      for (int d = 0; d < shape.rank; ++d) {
        if (!(inputs[i].late >> d & 1)) continue;
        const int64_t sizes[] = {shape[d], std::max<int64_t>(shape[d] - 1, 0), (shape[d] + 1) / 2, std::min<int64_t>(shape[d], 1), 0};
        shape[d] = sizes[sample];
      }
      if (largest.inputs[i].data != inputs[i].input.data) smaller.inputs[i].data = sample == 1 ? inputs[i].most : inputs[i].least;
    }
    if (!smaller.ask(params).ok()) {
      if (inexact && sample == 0) break;  // the least values are no values that it can have
      continue;
    }
    const bool is_same = sample == 0 && !inexact;  // only then nothing was changed
    answered = answered || !is_same;
    for (size_t k = 0; k < outputs.size(); ++k) {
      if (smaller.outputs[k].shape.rank != largest.outputs[k].shape.rank)
        return refuse(to_string(kind_of(params)), "rank of the result depends on data", std::to_string(smaller.outputs[k].shape.rank),
                      std::to_string(largest.outputs[k].shape.rank), StatusCode::kUnsupported);
      for (int d = 0; d < largest.outputs[k].shape.rank; ++d)
        if (smaller.outputs[k].shape[d] != largest.outputs[k].shape[d]) changes[k] |= 1u << d;
    }
  }
  for (size_t k = 0; k < outputs.size(); ++k)
    set_late(outputs[k], largest.outputs[k].dtype, largest.outputs[k].shape,
             largest.outputs[k].counted | (!any_late ? 0 : answered ? changes[k] : ~0u));
  return {};
}

// Dims that values give, where those are not known exactly: ConstantOfShape, Tile, Pad, Resize, OneHot with no bound.
Status without_bound(const OpParams& params, Inputs inputs, Outputs outputs) {
  const OpInput& x = inputs[0].input;
  Shape shape;
  uint32_t late = ~0u;
  DataType dtype = x.dtype;
  switch (kind_of(params)) {
    case OpKind::kConstantOfShape: {
      const int64_t rank = x.shape.elements();
      if (rank > Shape::kMaxRank) return refuse("constant_of_shape", "rank of the result", std::to_string(rank), "at most 8", StatusCode::kUnsupported);
      shape.rank = static_cast<int>(rank);
      for (int i = 0; i < shape.rank; ++i) shape[i] = Shape::kDynamic;
      const int64_t given = std::get<ConstantOfShapeParams>(params).dtype;
      if (given < 0 || given >= kDataTypeCount) return refuse("constant_of_shape", "element type", std::to_string(given), "a known one");
      dtype = static_cast<DataType>(given);
      break;
    }
    case OpKind::kRange: shape = {Shape::kDynamic}; break;
    case OpKind::kTile: case OpKind::kPad: case OpKind::kResize:
      shape = x.shape;
      for (int i = 0; i < shape.rank; ++i) shape[i] = Shape::kDynamic;
      break;
    case OpKind::kOneHot: {
      if (inputs.size() < 3) return refuse("one_hot", "number of inputs", std::to_string(inputs.size()), "3");
      int axis = 0;
      INGOT_TRY(read_axis("one_hot", std::get<OneHotParams>(params).axis, x.shape.rank + 1, axis));
      late = 1u << axis;
      for (int i = 0; i <= x.shape.rank; ++i) {
        const int from = i - (i > axis);
        INGOT_TRY(append_dim("one_hot", shape, i == axis ? Shape::kDynamic : x.shape[from]));
        if (i != axis && is_late(x.shape, inputs[0].late, from)) late |= 1u << i;
      }
      dtype = inputs[2].input.dtype;
      break;
    }
    default: return Status(StatusCode::kInternal, "shape bounds: no such case");
  }
  set_late(outputs[0], dtype, shape, late);
  return {};
}

Status bound_reshape(const ReshapeParams& params, Inputs inputs, Outputs outputs) {
  constexpr std::string_view kOp = "reshape";
  RangeList wanted;
  INGOT_TRY(read_ranges(kOp, "shape", inputs, 1, wanted));
  const Shape& from = inputs[0].input.shape;
  const int64_t elements = from.elements();
  Shape to;
  uint32_t late = 0;
  int64_t rows = 1;  // elements for each index of the dims that are not known
  int open = -1, open_count = 0;
  for (int i = 0; i < wanted.count; ++i) {
    const auto at = static_cast<size_t>(i);
    int64_t dim = wanted.known ? wanted.most[at] : -1;
    const bool exact = wanted.exact(i);
    bool follows = !exact;
    if (exact && dim == 0 && !params.allowzero) {
      if (i >= from.rank) return refuse(kOp, "dim 0 copies from an input dim that is not there", "dim " + std::to_string(i), "less than rank " + std::to_string(from.rank));
      dim = from[i];
      follows = is_late(from, inputs[0].late, i);
    } else if (!exact && wanted.known && wanted.least[at] >= 0) {
      dim = std::min(dim, elements);
    } else if (!exact || dim < 0) {
      if (exact && dim < -1) return refuse(kOp, "negative dim", std::to_string(dim), "-1 or more");
      dim = -1;
    }
    INGOT_TRY(append_dim(kOp, to, dim));
    if (dim < 0) open = i, ++open_count;
    else if (!follows && dim > 0 && __builtin_mul_overflow(rows, dim, &rows)) rows = INT64_MAX;
    if (follows || dim < 0) late |= 1u << i;
  }
  if (open_count == 1) to[open] = elements / rows;
  else if (open_count > 1)
    for (int i = 0; i < to.rank; ++i)
      if (to[i] < 0) to[i] = Shape::kDynamic;
  set_late(outputs[0], inputs[0].input.dtype, to, late);
  return {};
}

Status bound_expand(Inputs inputs, Outputs outputs) {
  constexpr std::string_view kOp = "expand";
  RangeList wanted;
  INGOT_TRY(read_ranges(kOp, "shape", inputs, 1, wanted));
  const Shape& from = inputs[0].input.shape;
  const int rank = std::max(from.rank, wanted.count);
  Shape to;
  uint32_t late = 0;
  for (int i = 0; i < rank; ++i) {
    const int a = i - (rank - from.rank), b = i - (rank - wanted.count);
    const int64_t have = a < 0 ? 1 : from[a];
    const bool have_late = a >= 0 && is_late(from, inputs[0].late, a);
    const bool want_exact = b < 0 || wanted.exact(b);
    const int64_t want = b < 0 ? 1 : wanted.known ? wanted.most[static_cast<size_t>(b)] : Shape::kDynamic;
    int64_t dim = have;
    bool follows = have_late;
    if (want_exact && want != 1) {
      dim = want, follows = false;
      if (!have_late && have != 1 && have != want)
        return refuse(kOp, "dim " + std::to_string(i) + " does not broadcast", std::to_string(have), "1 or " + std::to_string(want));
    } else if (!want_exact && (have == 1 || have_late)) {
      dim = want == Shape::kDynamic ? want : std::max(have, want);
      follows = true;
    }
    if (dim < 0 && dim != Shape::kDynamic) return refuse(kOp, "negative dim in shape", std::to_string(dim), "0 or more");
    INGOT_TRY(append_dim(kOp, to, dim));
    if (follows) late |= 1u << i;
  }
  set_late(outputs[0], inputs[0].input.dtype, to, late);
  return {};
}

Status bound_range(const OpParams& params, Inputs inputs, Outputs outputs) {
  Asked largest;
  largest.outputs.resize(1);
  for (const BoundedInput& input : inputs) {
    largest.inputs.push_back(input.input);
    if (!input.input.data && !(input.least && input.most)) return without_bound(params, inputs, outputs);
  }
  // Most elements from the first start to the last limit, or the other way round where the steps go down.
  if (inputs.size() != 3 || !inputs[2].input.data) return without_bound(params, inputs, outputs);
  OpInput step = inputs[2].input;
  const bool up = step.dtype == DataType::kF32   ? *static_cast<const float*>(step.data) > 0
                  : step.dtype == DataType::kF64 ? *static_cast<const double*>(step.data) > 0
                                                 : read_index(step, 0) > 0;
  if (!largest.inputs[0].data) largest.inputs[0].data = up ? inputs[0].least : inputs[0].most;
  if (!largest.inputs[1].data) largest.inputs[1].data = up ? inputs[1].most : inputs[1].least;
  INGOT_TRY(largest.ask(params));
  set_late(outputs[0], largest.outputs[0].dtype, largest.outputs[0].shape, 1);
  return {};
}

Status bound_split(const SplitParams& params, Inputs inputs, Outputs outputs) {
  const Shape& from = inputs[0].input.shape;
  int axis = 0;
  INGOT_TRY(read_axis("split", params.axis, from.rank, axis));
  const auto parts = static_cast<int64_t>(outputs.size());
  const bool given = inputs.size() > 1 && inputs[1].input.present;
  RangeList sizes;
  if (given && inputs[1].input.shape.elements() != parts)
    return refuse("split", "number of sizes", std::to_string(inputs[1].input.shape.elements()), std::to_string(parts));
  if (given && parts <= static_cast<int64_t>(sizes.least.size())) INGOT_TRY(read_ranges("split", "sizes", inputs, 1, sizes));
  for (int64_t i = 0; i < parts; ++i) {
    Shape to = from;
    const auto at = static_cast<int>(i);
    bool follows = true;
    if (!given) {
      to[axis] = (from[axis] + parts - 1) / parts;
    } else if (sizes.known) {
      follows = !sizes.exact(at);
      to[axis] = std::clamp<int64_t>(sizes.most[static_cast<size_t>(i)], 0, from[axis]);
    }
    set_late(outputs[static_cast<size_t>(i)], inputs[0].input.dtype, to, (inputs[0].late & ~(1u << axis)) | (follows ? 1u << axis : 0));
  }
  return {};
}

Status bound_topk(const TopKParams& params, Inputs inputs, Outputs outputs) {
  const Shape& from = inputs[0].input.shape;
  int axis = 0;
  INGOT_TRY(read_axis("topk", params.axis, from.rank, axis));
  if (outputs.size() != 2) return refuse("topk", "number of outputs", std::to_string(outputs.size()), "2");
  RangeList k;
  INGOT_TRY(read_ranges("topk", "k", inputs, 1, k));
  if (k.count != 1) return refuse("topk", "elements of k", std::to_string(k.count), "1");
  Shape to = from;
  if (k.known) to[axis] = std::clamp<int64_t>(k.most[0], 0, from[axis]);
  const uint32_t late = (inputs[0].late & ~(1u << axis)) | (k.exact(0) ? 0 : 1u << axis);
  set_late(outputs[0], inputs[0].input.dtype, to, late);
  set_late(outputs[1], DataType::kS64, to, late);
  return {};
}

// The most elements that a slice of a dim of at most `dim` can keep. The count is piecewise linear in the dim, with corners
// where a bound meets an end of it.
int64_t most_kept(int64_t dim, bool is_late, int64_t start, int64_t end, int64_t step) {
  const int64_t one[] = {start}, other[] = {end}, third[] = {0}, fourth[] = {step};
  const auto list = [](const int64_t* value) { return OpInput{DataType::kS64, Shape{1}, value, true}; };
  int64_t most = 0;
  std::vector<int64_t> dims = {dim};
  for (int64_t corner : {start, end})
    for (int64_t d : {-1, 0, 1})
      if (is_late && corner >= -dim && corner <= dim)
        if (const int64_t size = (corner < 0 ? -corner : corner) + d; size >= 0 && size <= dim) dims.push_back(size);
  for (int64_t size : dims) {
    const OpInput inputs[] = {{DataType::kS8, Shape{size}, nullptr, true}, list(one), list(other), list(third), list(fourth)};
    OpOutput output;
    if (infer_types(SliceParams{}, inputs, {&output, 1}).ok()) most = std::max(most, output.shape[0]);
  }
  return most;
}

Status bound_slice(Inputs inputs, Outputs outputs) {
  constexpr std::string_view kOp = "slice";
  RangeList starts, ends, axes, steps;
  INGOT_TRY(read_ranges(kOp, "starts", inputs, 1, starts));
  INGOT_TRY(read_ranges(kOp, "ends", inputs, 2, ends));
  INGOT_TRY(read_ranges(kOp, "axes", inputs, 3, axes));
  INGOT_TRY(read_ranges(kOp, "steps", inputs, 4, steps));
  const bool has_axes = inputs.size() > 3 && inputs[3].input.present, has_steps = inputs.size() > 4 && inputs[4].input.present;
  if (ends.count != starts.count || (has_axes && axes.count != starts.count) || (has_steps && steps.count != starts.count))
    return refuse(kOp, "number of ends, axes or steps", "another than of starts", std::to_string(starts.count));
  Shape to = inputs[0].input.shape;
  uint32_t late = inputs[0].late;
  if (starts.count > to.rank) return refuse(kOp, "number of starts", std::to_string(starts.count), "at most rank " + std::to_string(to.rank));
  if (has_axes && !axes.all_exact()) {
    set_late(outputs[0], inputs[0].input.dtype, to, ~0u);
    return {};
  }
  for (int i = 0; i < starts.count; ++i) {
    const auto at = static_cast<size_t>(i);
    int axis = i;
    if (has_axes) INGOT_TRY(read_axis(kOp, axes.most[at], to.rank, axis));
    const int64_t dim = to[axis];
    const bool dim_late = is_late(to, inputs[0].late, axis);
    const bool step_exact = !has_steps || steps.exact(i);
    const int64_t step = has_steps && step_exact ? steps.most[at] : 1;
    if (step == 0) return refuse(kOp, "step", "0", "any other number");
    const auto one_sign = [at](const RangeList& list) { return list.known && (list.least[at] >= 0 || list.most[at] < 0); };
    if (step_exact && one_sign(starts) && one_sign(ends)) {
      to[axis] = most_kept(dim, dim_late, step > 0 ? starts.least[at] : starts.most[at], step > 0 ? ends.most[at] : ends.least[at], step);
    } else if (step_exact && dim > 0) {
      const uint64_t stride = step < 0 ? uint64_t{0} - static_cast<uint64_t>(step) : static_cast<uint64_t>(step);
      to[axis] = static_cast<int64_t>((static_cast<uint64_t>(dim) - 1) / stride) + 1;
    }
    if (!step_exact || !starts.exact(i) || !ends.exact(i)) late |= 1u << axis;
  }
  set_late(outputs[0], inputs[0].input.dtype, to, late);
  return {};
}

// Dims that must be 1 are, whatever their bound.
Status bound_squeeze(const OpParams& params, Inputs inputs, Outputs outputs) {
  std::vector<BoundedInput> narrowed(inputs.begin(), inputs.end());
  if (inputs.size() < 2 || !inputs[1].input.present) {
    if (inputs[0].late != 0)
      return refuse("squeeze", "rank of the result depends on data", "no axes", "axes that are constant", StatusCode::kUnsupported);
    return ask_at_largest(params, inputs, outputs);
  }
  RangeList axes;
  INGOT_TRY(read_ranges("squeeze", "axes", inputs, 1, axes));
  if (!axes.all_exact()) return refuse_unknown_value("squeeze", "axes");
  Shape& shape = narrowed[0].input.shape;
  for (int i = 0; i < axes.count; ++i) {
    int axis = 0;
    INGOT_TRY(read_axis("squeeze", axes.most[static_cast<size_t>(i)], shape.rank, axis));
    if (!is_late(shape, narrowed[0].late, axis)) continue;
    shape[axis] = 1;
    narrowed[0].late &= ~(1u << axis);
  }
  return ask_at_largest(params, narrowed, outputs);
}

Status bound(const OpParams& params, Inputs inputs, Outputs outputs) {
  const auto unknown = [&](size_t i) { return i < inputs.size() && inputs[i].input.present && !inputs[i].input.data && inputs[i].input.shape.elements() != 0; };
  const auto unbounded = [&](size_t i) { return unknown(i) && !inputs[i].most; };
  bool follows_data = false;
  for (size_t i = 0; i < inputs.size(); ++i) follows_data = follows_data || inputs[i].late != 0 || (i > 0 && unknown(i));
  const OpKind kind = kind_of(params);
  if (!follows_data && kind != OpKind::kConstantOfShape && kind != OpKind::kRange) return ask_at_largest(params, inputs, outputs);
  switch (kind) {
    case OpKind::kReshape: {
      INGOT_TRY(bound_reshape(std::get<ReshapeParams>(params), inputs, outputs));
      // A dim of -1 may be the same at all sizes, and so known.
      std::vector<BoundedOutput> asked(1);
      if (unknown(1) || !ask_at_largest(params, inputs, asked).ok()) return {};
      for (int d = 0; d < asked[0].shape.rank; ++d) {
        outputs[0].shape[d] = asked[0].shape[d];
        if (!(asked[0].late >> d & 1)) outputs[0].late &= ~(1u << d);
      }
      return {};
    }
    case OpKind::kExpand: return bound_expand(inputs, outputs);
    case OpKind::kRange: return bound_range(params, inputs, outputs);
    case OpKind::kSplit: return bound_split(std::get<SplitParams>(params), inputs, outputs);
    case OpKind::kTopK: return bound_topk(std::get<TopKParams>(params), inputs, outputs);
    case OpKind::kSlice: return bound_slice(inputs, outputs);
    case OpKind::kSqueeze: return bound_squeeze(params, inputs, outputs);
    case OpKind::kConstantOfShape: return unbounded(0) ? without_bound(params, inputs, outputs) : ask_at_largest(params, inputs, outputs);
    case OpKind::kTile: case OpKind::kPad: case OpKind::kOneHot:
      return unbounded(1) ? without_bound(params, inputs, outputs) : ask_at_largest(params, inputs, outputs);
    case OpKind::kResize: {
      const bool stretches = std::get<ResizeParams>(params).aspect == ResizeAspect::kStretch;
      const bool open = unbounded(2) || unbounded(3) || (!stretches && (unknown(3) || inputs[0].late != 0));
      return open ? without_bound(params, inputs, outputs) : ask_at_largest(params, inputs, outputs);
    }
    default: return ask_at_largest(params, inputs, outputs);
  }
}

}  // namespace

Status infer_bounds(const OpParams& params, std::span<const BoundedInput> inputs, std::span<BoundedOutput> outputs) {
  Asked known;
  known.outputs.resize(outputs.size());
  bool any_late = false;
  for (const BoundedInput& input : inputs) {
    known.inputs.push_back(input.input);
    any_late = any_late || input.late != 0;
  }
  if (!any_late) {
    const Status status = known.ask(params);
    if (status.ok()) {
      for (size_t k = 0; k < outputs.size(); ++k) set_late(outputs[k], known.outputs[k].dtype, known.outputs[k].shape, known.outputs[k].counted);
      // A tighter bound may follow from bounds of the values.
      if (std::all_of(known.outputs.begin(), known.outputs.end(), [](const OpOutput& output) { return output.counted == 0; })) return {};
    } else if (status.code() != StatusCode::kUnsupported || inputs.empty()) {
      return known.ask(params);
    }
  }
  Status status = bound(params, inputs, outputs);
  if (status.ok()) {
    for (const BoundedOutput& output : outputs)
      for (int d = 0; d < output.shape.rank; ++d)
        if (output.shape[d] < 0 && !(output.shape[d] == Shape::kDynamic && is_late(output.shape, output.late, d)))
          return Status(StatusCode::kInvalidModel, "shape of the result: got " + to_string(output.shape) + ", need no negative dim");
    return {};
  }
  if (!any_late) return status;
  return Status(StatusCode::kUnsupported, std::string(status.message()) + "; dims that depend on data count with their upper bounds, which limits can make fit");
}

}  // namespace ingot
