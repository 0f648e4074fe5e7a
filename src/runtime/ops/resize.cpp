// Resize: type rule and sampling (resize.h has the formulas).
#include "runtime/ops/resize.h"

#include <cmath>
#include <cstring>

#include "runtime/ops/element.h"
#include "runtime/ops/quantize.h"
#include "runtime/ops/resize_coordinates.h"
#include "runtime/ops/small_float.h"
#include "runtime/ops/strided_copy.h"

namespace ingot {
namespace {

constexpr std::string_view kOp = "resize";

// Taps whose first weights are kept.
class Taps {
 public:
  void set(const ResizeFilter& filter, const ResizeDim& dim, int64_t i) {
    taps_.set(filter, dim, i);
    for (int64_t k = taps_.first; k <= taps_.last && k - taps_.first < kCached; ++k)
      cache_[static_cast<size_t>(k - taps_.first)] = taps_.weight(k);
  }
  bool outside() const { return taps_.outside; }
  int64_t first() const { return taps_.first; }
  int64_t last() const { return taps_.last; }
  int64_t source(int64_t k) const { return taps_.source(k); }
  float weight(int64_t k) const { return k - taps_.first < kCached ? cache_[static_cast<size_t>(k - taps_.first)] : taps_.weight(k); }

 private:
  static constexpr int64_t kCached = 16;
  ResizeTaps taps_;
  std::array<float, kCached> cache_{};
};

// Σ_a w(a) · (Σ_b w(b) · x[a, b]) over the dims d … rank − 1.
template <class C, class Load>
C weigh(const std::array<Taps, Shape::kMaxRank>& taps, const Strides& strides, int rank, int d, int64_t offset,
        const Load& load) {
  if (d == rank) return load(offset);
  const Taps& here = taps[static_cast<size_t>(d)];
  const int64_t stride = strides[static_cast<size_t>(d)];
  if (here.first() == here.last()) return weigh<C>(taps, strides, rank, d + 1, offset + here.first() * stride, load);
  C sum = 0;
  for (int64_t k = here.first(); k <= here.last(); ++k) {
    const float w = here.weight(k);
    if (w != 0)
      sum += static_cast<C>(w) * weigh<C>(taps, strides, rank, d + 1, offset + here.source(k) * stride, load);
  }
  return sum;
}

// Calls store(i, value) for each output element, with load(offset) giving input elements as C.
template <class C, class Load, class Store>
void interpolate(const ResizeParams& params, const ResizePlan& plan, const Strides& strides, const Load& load,
                 const Store& store) {
  if (plan.shape.elements() == 0) return;
  const int rank = plan.rank;
  if (rank == 0) return store(0, load(0));
  const ResizeFilter filter = filter_of(params);
  std::array<Taps, Shape::kMaxRank> taps;
  std::array<int64_t, Shape::kMaxRank> index{};
  const auto last = static_cast<size_t>(rank - 1);
  int outer_outside = 0;
  const auto move = [&](int d) {
    const auto at = static_cast<size_t>(d);
    taps[at].set(filter, plan.dims[at], index[at]);
  };
  for (int d = 0; d + 1 < rank; ++d) move(d);
  int64_t i = 0;
  while (true) {
    outer_outside = 0;
    for (int d = 0; d + 1 < rank; ++d) outer_outside += taps[static_cast<size_t>(d)].outside();
    for (index[last] = 0; index[last] < plan.shape[rank - 1]; ++index[last], ++i) {
      move(rank - 1);
      if (outer_outside > 0 || taps[last].outside()) store(i, static_cast<C>(params.extrapolation_value));
      else store(i, weigh<C>(taps, strides, rank, 0, 0, load));
    }
    int d = rank - 2;
    for (; d >= 0; --d) {
      const bool carry = ++index[static_cast<size_t>(d)] == plan.shape[d];
      if (carry) index[static_cast<size_t>(d)] = 0;
      move(d);
      if (!carry) break;
    }
    if (d < 0) return;
  }
}

// Input offset behind each output index of a dim, in elements; −1 for the extrapolation value.
int64_t nearest_offset(const ResizeParams& params, const ResizeDim& dim, int64_t i, int64_t stride) {
  if (!dim.listed) return i * stride;
  float position = 0;
  if (!resize_position(params.coordinates, dim, i, position)) return -1;
  return nearest_index(params.nearest, dim, position) * stride;
}

void sample_nearest(const ResizeParams& params, const ResizePlan& plan, const Strides& strides, size_t bytes,
                    const std::byte* outside, const std::byte* in, std::byte* out) {
  if (plan.shape.elements() == 0) return;
  if (plan.rank == 0) {
    std::memcpy(out, in, bytes);
    return;
  }
  std::array<int64_t, Shape::kMaxRank> index{};
  const int rank = plan.rank;
  const ResizeDim& inner = plan.dims[static_cast<size_t>(rank - 1)];
  while (true) {
    int64_t row = 0;
    for (int d = 0; d + 1 < rank && row >= 0; ++d) {
      const auto at = static_cast<size_t>(d);
      const int64_t offset = nearest_offset(params, plan.dims[at], index[at], strides[at]);
      row = offset < 0 ? -1 : row + offset;
    }
    for (int64_t i = 0; i < inner.out; ++i, out += bytes) {
      const int64_t offset = row < 0 ? -1 : nearest_offset(params, inner, i, 1);
      std::memcpy(out, offset < 0 ? outside : in + static_cast<size_t>(row + offset) * bytes, bytes);
    }
    int d = rank - 2;
    for (; d >= 0; --d) {
      if (++index[static_cast<size_t>(d)] < plan.shape[d]) break;
      index[static_cast<size_t>(d)] = 0;
    }
    if (d < 0) return;
  }
}

Status refuse_type(DataType type) {
  return refuse(kOp, "element type", to_string(type), "a number", StatusCode::kUnsupported);
}

// Integers lose their fraction, as a Cast would have it, and saturate.
template <class T, class C>
T store_plain(C y) {
  if constexpr (std::is_integral_v<T>) return saturate_cast<T>(__builtin_trunc(static_cast<double>(y)));
  else return store_float<T>(y);
}
template <class T>
T store_quantised(float y, const TensorType& type) {
  return static_cast<T>(quantize_value(y, scale_of(type), zero_point_of(type), std::numeric_limits<T>::min(),
                                       std::numeric_limits<T>::max()));
}

// The extrapolation value as an element.
Status outside_element(const ResizeParams& params, const TensorType& type, std::array<std::byte, 8>& element) {
  element.fill(std::byte{0});
  if (params.coordinates != ResizeCoordinates::kTfCropAndResize) return {};
  const auto store = [&]<class T>(T) {
    T value{};
    if constexpr (sizeof(T) == 1) {
      value = is_quantized(type) ? store_quantised<T>(static_cast<float>(params.extrapolation_value), type)
                                 : store_plain<T>(params.extrapolation_value);
    } else {
      value = store_plain<T>(params.extrapolation_value);
    }
    std::memcpy(element.data(), &value, sizeof value);
  };
  if (with_float_type(type.dtype, store) || with_integer_type(type.dtype, store)) return {};
  if (type.dtype != DataType::kBool) return refuse_type(type.dtype);
  element[0] = static_cast<std::byte>(params.extrapolation_value != 0);
  return {};
}

template <class T>
void interpolate_quantised(const ResizeParams& params, const ResizePlan& plan, const Strides& strides,
                           const ConstTensorRef& x, const TensorRef& y) {
  const float scale = scale_of(*x.type);
  const int32_t zero_point = zero_point_of(*x.type);
  interpolate<float>(
      params, plan, strides, [&](int64_t at) { return dequantize_value(x.as<T>()[at], scale, zero_point); },
      [&](int64_t i, float value) { y.as<T>()[i] = store_quantised<T>(value, *y.type); });
}

bool in_range(const ResizeParams& p) {
  return p.mode >= ResizeMode::kNearest && p.mode <= ResizeMode::kCubic &&
         p.coordinates >= ResizeCoordinates::kHalfPixel && p.coordinates <= ResizeCoordinates::kTfCropAndResize &&
         p.nearest >= ResizeNearest::kRoundPreferFloor && p.nearest <= ResizeNearest::kCeil &&
         p.aspect >= ResizeAspect::kStretch && p.aspect <= ResizeAspect::kNotSmaller;
}

}  // namespace

Status infer_types(const ResizeParams& params, std::span<const OpInput> inputs, std::span<OpOutput> outputs) {
  INGOT_TRY(check_arity(kOp, inputs, 1, 4, outputs));
  if (!in_range(params)) return refuse(kOp, "mode, coordinates, nearest or aspect", "an unknown number", "a known one");
  const DataType type = inputs[0].dtype;
  if (params.mode != ResizeMode::kNearest &&
      (type == DataType::kBool || is_small_float(type)))
    return refuse_type(type);
  ResizePlan plan;
  INGOT_TRY(make_resize_plan(params, inputs, false, plan));
  return set_output(kOp, outputs[0], type, plan.shape);
}

Status run_reference(const ResizeParams& params, std::span<const ConstTensorRef> inputs,
                     std::span<const TensorRef> outputs) {
  INGOT_TRY(check_run(kOp, params, inputs, outputs));
  std::array<OpInput, 4> values;
  for (size_t i = 0; i < inputs.size(); ++i) values[i] = as_input(inputs[i]);
  ResizePlan plan;
  INGOT_TRY(make_resize_plan(params, std::span(values).first(inputs.size()), true, plan));
  const TensorType &from = *inputs[0].type, &to = *outputs[0].type;
  if (from.dtype != to.dtype)
    return refuse(kOp, "type of the output", to_string(to.dtype), to_string(from.dtype), StatusCode::kInvalidArgument);
  const Strides strides = row_major_strides(from.shape);
  if (params.mode == ResizeMode::kNearest) {
    std::array<std::byte, 8> element;
    INGOT_TRY(outside_element(params, to, element));
    sample_nearest(params, plan, strides, element_bytes(from.dtype), element.data(), inputs[0].as<std::byte>(),
                   outputs[0].as<std::byte>());
    return {};
  }
  if (from.quant || to.quant) {
    const auto has_one_scale = [](const TensorType& type) { return is_quantized(type) && type.quant->scales.size() == 1; };
    if (!has_one_scale(from) || !has_one_scale(to))
      return refuse(kOp, "quantised interpolation", to_string(from), "u8 or s8 tensors with one scale each",
                    StatusCode::kUnsupported);
    if (from.dtype == DataType::kU8) interpolate_quantised<uint8_t>(params, plan, strides, inputs[0], outputs[0]);
    else interpolate_quantised<int8_t>(params, plan, strides, inputs[0], outputs[0]);
    return {};
  }
  const auto sample = [&]<class T>(T) {
    using C = std::conditional_t<std::is_same_v<T, double>, double, float>;
    const T* in = inputs[0].as<T>();
    T* out = outputs[0].as<T>();
    interpolate<C>(params, plan, strides, [&](int64_t at) { return static_cast<C>(load_element(in[at])); },
                   [&](int64_t i, C y) { out[i] = store_plain<T>(y); });
  };
  if (with_float_type(from.dtype, sample) || with_integer_type(from.dtype, sample)) return {};
  return refuse_type(from.dtype);
}

}  // namespace ingot
