// TopK: a heap of the k best so far, its worst at the root, kept as places in the second output; taking the root off again
// and again leaves the places sorted.
#include "runtime/ops/along_axis.h"
#include "runtime/ops/element.h"
#include "runtime/ops/small_float.h"
#include "runtime/ops/type_rule.h"

#include <utility>

namespace ingot {
namespace {

constexpr std::string_view kOp = "topk";

// The elements of one sequence: x[i · stride], places[i · stride].
template <class T>
struct Lane {
  const T* x;
  int64_t* places;
  int64_t stride;
  bool largest;

  Arithmetic<T> value(int64_t i) const { return load_element(x[i * stride]); }
  int64_t& place(int64_t i) const { return places[i * stride]; }
  // Whether element a comes before element b. NaN is larger than every number; equals keep their order.
  bool before(int64_t a, int64_t b) const {
    const auto p = value(a), q = value(b);
    const bool p_nan = p != p, q_nan = q != q;
    if (p_nan != q_nan) return p_nan == largest;
    if (p_nan || p == q) return a < b;
    return largest ? p > q : p < q;
  }
  // Restores the heap of `count` places below `root`: no place comes after its parent.
  void sift(int64_t root, int64_t count) const {
    while (2 * root + 1 < count) {
      int64_t child = 2 * root + 1;
      if (child + 1 < count && before(place(child), place(child + 1))) ++child;
      if (!before(place(root), place(child))) return;
      std::swap(place(root), place(child));
      root = child;
    }
  }
};

template <class T>
void select(const Lane<T>& lane, int64_t n, int64_t k, T* y) {
  for (int64_t i = 0; i < k; ++i) lane.place(i) = i;
  for (int64_t i = k / 2; i-- > 0;) lane.sift(i, k);
  for (int64_t i = k; i < n; ++i) {
    if (!lane.before(i, lane.place(0))) continue;
    lane.place(0) = i;
    lane.sift(0, k);
  }
  for (int64_t left = k - 1; left > 0; --left) {
    std::swap(lane.place(0), lane.place(left));
    lane.sift(0, left);
  }
  for (int64_t i = 0; i < k; ++i) y[i * lane.stride] = lane.x[lane.place(i) * lane.stride];
}

}  // namespace

Status infer_types(const TopKParams& params, std::span<const OpInput> inputs, std::span<OpOutput> outputs) {
  INGOT_TRY(check_arity(kOp, inputs, 2, 2, outputs, 2));
  const DataType type = inputs[0].dtype;
  if (type == DataType::kBool || is_small_float(type))
    return refuse(kOp, "element type", to_string(type), "a number", StatusCode::kUnsupported);
  int axis = 0;
  INGOT_TRY(read_axis(kOp, params.axis, inputs[0].shape.rank, axis));
  IndexList k;
  INGOT_TRY(read_index_list(kOp, "k", inputs[1], 1, k));
  if (k.count != 1) return refuse(kOp, "elements of k", std::to_string(k.count), "1");
  Shape to = inputs[0].shape;
  if (k[0] < 0 || k[0] > to[axis])
    return refuse(kOp, "k", std::to_string(k[0]), "0 to " + std::to_string(to[axis]) + ", the size of dim " + std::to_string(axis));
  to[axis] = k[0];
  INGOT_TRY(set_output(kOp, outputs[0], type, to));
  return set_output(kOp, outputs[1], DataType::kS64, to);
}

Status run_reference(const TopKParams& params, std::span<const ConstTensorRef> inputs, std::span<const TensorRef> outputs) {
  const Shape& from = inputs[0].type->shape;
  int axis = 0;
  INGOT_TRY(read_axis(kOp, params.axis, from.rank, axis));
  if (outputs.size() != 2 || !outputs[0].type || !outputs[1].type)
    return refuse(kOp, "outputs", "one left out", "both", StatusCode::kInvalidArgument);
  std::array<OpInput, 2> known = {as_input(inputs[0]), as_input(inputs[1])};
  std::array<OpOutput, 2> types;
  INGOT_TRY(infer_types(params, known, types));
  if (!(types[0].shape == outputs[0].type->shape))
    return refuse(kOp, "output shape differs from what the inputs give", to_string(outputs[0].type->shape),
                  to_string(types[0].shape), StatusCode::kInvalidArgument);
  const int64_t n = from[axis], k = types[0].shape[axis];
  int64_t outer = 1, inner = 1;
  for (int i = 0; i < axis; ++i) outer *= from[i];
  for (int i = axis + 1; i < from.rank; ++i) inner *= from[i];
  if (k == 0) return {};
  const auto run = [&]<class T>(T) {
    for (int64_t o = 0; o < outer; ++o)
      for (int64_t i = 0; i < inner; ++i) {
        const Lane<T> lane{inputs[0].as<T>() + o * n * inner + i, outputs[1].as<int64_t>() + o * k * inner + i, inner,
                           params.largest};
        select(lane, n, k, outputs[0].as<T>() + o * k * inner + i);
      }
  };
  if (!with_float_type(inputs[0].type->dtype, run)) with_integer_type(inputs[0].type->dtype, run);
  return {};
}

}  // namespace ingot
