// Reference normalisations and softmax: statistics in double over each group of elements, then one affine step.
#include "runtime/ops/normalization.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "runtime/ops/element.h"
#include "runtime/ops/pointwise.h"
#include "runtime/ops/window.h"

namespace ingot {
namespace {

template <class T>
double real(T x) {
  return static_cast<double>(load_element(x));
}

Status need_float(const char* op, std::span<const OpInput> inputs, size_t required) {
  for (size_t i = 0; i < required; ++i)
    if (i >= inputs.size() || !inputs[i].present)
      return bad_operand(op, "inputs: got " + std::to_string(inputs.size()) + ", need " + std::to_string(required));
  const DataType type = inputs[0].dtype;
  if (type != DataType::kF32 && type != DataType::kF16 && type != DataType::kBF16 && type != DataType::kF64)
    return bad_operand(op, "element type: got " + std::string(to_string(type)) + ", need f32, f16, bf16 or f64");
  for (size_t i = 1; i < inputs.size(); ++i)
    if (inputs[i].present && inputs[i].dtype != type)
      return bad_operand(op, "type of input " + std::to_string(i) + ": got " + std::string(to_string(inputs[i].dtype)) +
                                 ", need " + std::string(to_string(type)) + " as input 0");
  return {};
}

Status need_vector(const char* op, const char* name, const OpInput& input, int64_t count) {
  if (input.shape.rank == 1 && input.shape[0] == count) return {};
  return bad_operand(op, std::string(name) + ": got " + to_string(input.shape) + ", need " + std::to_string(count));
}

// An axis that counts from the end when negative; `end` allows axis = rank.
Status resolve_axis(const char* op, int64_t axis, int rank, bool end, int& resolved) {
  const int64_t at = axis < 0 ? axis + rank : axis;
  if (at < 0 || at > (end ? rank : rank - 1))
    return bad_operand(op, "axis: got " + std::to_string(axis) + ", need " + std::to_string(-rank) + " to " +
                               std::to_string(end ? rank : rank - 1));
  resolved = static_cast<int>(at);
  return {};
}

int64_t product(const Shape& shape, int from, int to) {
  int64_t count = 1;
  for (int i = from; i < to; ++i) count *= shape[i];
  return count;
}

struct Statistics {
  double mean = 0, inverse_deviation = 0;
};

// Two passes, so that a large mean does not cancel. `rms` takes the deviation from 0.
template <class T>
Statistics statistics_of(const T* x, int64_t count, double epsilon, bool rms) {
  Statistics s;
  if (!rms) {
    for (int64_t i = 0; i < count; ++i) s.mean += real(x[i]);
    s.mean /= static_cast<double>(count);
  }
  double squares = 0;
  for (int64_t i = 0; i < count; ++i) squares += (real(x[i]) - s.mean) * (real(x[i]) - s.mean);
  s.inverse_deviation = 1 / std::sqrt(squares / static_cast<double>(count) + epsilon);
  return s;
}

template <class F>
Status run_typed(const char* op, DataType type, F&& f) {
  if (with_float_type(type, f)) return {};
  return Status(StatusCode::kUnsupported,
                std::string(op) + ": element type: got " + std::string(to_string(type)) + ", need a float type");
}

// Element counts before, along and after the dims that a softmax sums over.
struct Rows {
  int64_t outer, length, inner;
};
Rows rows_of(const SoftmaxParams& p, const Shape& x) {
  if (x.rank == 0) return {1, 1, 1};
  const int axis = static_cast<int>(p.axis < 0 ? p.axis + x.rank : p.axis);
  if (p.flatten) return {product(x, 0, axis), product(x, axis, x.rank), 1};
  return {product(x, 0, axis), x[axis], product(x, axis + 1, x.rank)};
}

template <class T>
void softmax(const Rows& r, bool log, const T* x, T* y) {
  for (int64_t o = 0; o < r.outer; ++o)
    for (int64_t i = 0; i < r.inner; ++i) {
      const T* row = x + o * r.length * r.inner + i;
      T* out = y + o * r.length * r.inner + i;
      double top = -std::numeric_limits<double>::infinity(), sum = 0;
      for (int64_t k = 0; k < r.length; ++k) top = std::max(top, real(row[k * r.inner]));
      for (int64_t k = 0; k < r.length; ++k) sum += std::exp(real(row[k * r.inner]) - top);
      const double log_sum = std::log(sum);
      for (int64_t k = 0; k < r.length; ++k) {
        const double shifted = real(row[k * r.inner]) - top;
        out[k * r.inner] = store_float<T>(log ? shifted - log_sum : std::exp(shifted) / sum);
      }
    }
}

// Strides of a mask that broadcasts to [B, H, S, T]; 0 where it repeats.
struct MaskStrides {
  int64_t at[4] = {};
};
MaskStrides mask_strides(const Shape& mask) {
  MaskStrides strides;
  int64_t stride = 1;
  for (int d = 3, j = mask.rank - 1; j >= 0 && d >= 0; --d, --j) {
    if (mask[j] != 1) strides.at[d] = stride;
    stride *= mask[j];
  }
  return strides;
}

// softmax(scale·q kᵀ + mask) v row by row. Scores of kBlock keys at a time; when a block raises the maximum, what was
// summed before is scaled down (so no memory of size T is needed). Wide v are done kWide columns at a time.
template <class T>
void attention(const AttentionParams& p, std::span<const ConstTensorRef> inputs, const TensorRef& y) {
  constexpr int64_t kBlock = 256, kWide = 256;
  const Shape &q_shape = inputs[0].type->shape, &v_shape = inputs[2].type->shape;
  const int64_t heads = q_shape[0] * q_shape[1], s_count = q_shape[2], d_count = q_shape[3], t_count = v_shape[2],
                v_count = v_shape[3];
  const int64_t k_step = p.k_transposed ? 1 : d_count, k_inner = p.k_transposed ? t_count : 1;
  const T* mask = inputs.size() > 3 && inputs[3] ? inputs[3].as<T>() : nullptr;
  const MaskStrides strides = mask ? mask_strides(inputs[3].type->shape) : MaskStrides{};
  double scores[kBlock], sums[kWide];
  for (int64_t head = 0; head < heads; ++head)
    for (int64_t s = 0; s < s_count; ++s)
      for (int64_t first = 0; first < v_count; first += kWide) {
        const int64_t width = std::min(kWide, v_count - first);
        const T* q = inputs[0].as<T>() + (head * s_count + s) * d_count;
        const T* k = inputs[1].as<T>() + head * t_count * d_count;
        const T* v = inputs[2].as<T>() + head * t_count * v_count + first;
        const int64_t mask_row =
            head / q_shape[1] * strides.at[0] + head % q_shape[1] * strides.at[1] + s * strides.at[2];
        double top = -std::numeric_limits<double>::infinity(), total = 0;
        std::fill_n(sums, width, 0.0);
        for (int64_t begin = 0; begin < t_count; begin += kBlock) {
          const int64_t count = std::min(kBlock, t_count - begin);
          double block_top = top;
          for (int64_t t = 0; t < count; ++t) {
            const T* key = k + (begin + t) * k_step;
            double dot = 0;
            for (int64_t d = 0; d < d_count; ++d) dot += real(q[d]) * real(key[d * k_inner]);
            scores[t] = dot * p.scale + (mask ? real(mask[mask_row + (begin + t) * strides.at[3]]) : 0.0);
            block_top = std::max(block_top, scores[t]);
          }
          if (block_top > top && total != 0) {
            const double shrink = std::exp(top - block_top);
            total *= shrink;
            for (int64_t j = 0; j < width; ++j) sums[j] *= shrink;
          }
          top = block_top;
          // Keys masked by −∞ from the start weigh nothing; if every key is, the sum stays 0 and the row is NaN.
          if (top == -std::numeric_limits<double>::infinity()) continue;
          for (int64_t t = 0; t < count; ++t) {
            const double weight = std::exp(scores[t] - top);
            total += weight;
            for (int64_t j = 0; j < width; ++j) sums[j] += weight * real(v[(begin + t) * v_count + j]);
          }
        }
        T* out = y.as<T>() + (head * s_count + s) * v_count + first;
        for (int64_t j = 0; j < width; ++j) out[j] = store_float<T>(sums[j] / total);
      }
}

}  // namespace

Status infer_types(const BatchNormParams&, std::span<const OpInput> inputs, std::span<OpOutput> outputs) {
  INGOT_TRY(need_float("batch_norm", inputs, 5));
  const Shape& x = inputs[0].shape;
  if (x.rank < 1) return bad_operand("batch_norm", "rank of input: got scalar, need 1 or more dims");
  const int64_t channels = x.rank > 1 ? x[1] : 1;
  constexpr const char* kNames[] = {"", "scale", "shift", "mean", "variance"};
  for (size_t i = 1; i < 5; ++i) INGOT_TRY(need_vector("batch_norm", kNames[i], inputs[i], channels));
  outputs[0] = {inputs[0].dtype, x};
  return {};
}

Status run_reference(const BatchNormParams& params, std::span<const ConstTensorRef> inputs,
                     std::span<const TensorRef> outputs) {
  const Shape& x = inputs[0].type->shape;
  const int64_t channels = x.rank > 1 ? x[1] : 1, inner = product(x, 2, x.rank);
  return run_typed("batch_norm", inputs[0].type->dtype, [&](auto t) {
    using T = decltype(t);
    for (int64_t plane = 0; plane < x[0] * channels; ++plane) {
      const int64_t c = plane % channels;
      const double factor = real(inputs[1].as<T>()[c]) / std::sqrt(real(inputs[4].as<T>()[c]) + params.epsilon);
      const double mean = real(inputs[3].as<T>()[c]), shift = real(inputs[2].as<T>()[c]);
      for (int64_t i = plane * inner; i < (plane + 1) * inner; ++i)
        outputs[0].as<T>()[i] = store_float<T>((real(inputs[0].as<T>()[i]) - mean) * factor + shift);
    }
  });
}

Status infer_types(const LayerNormParams& params, std::span<const OpInput> inputs, std::span<OpOutput> outputs) {
  const char* op = params.rms ? "rms_norm" : "layer_norm";
  INGOT_TRY(need_float(op, inputs, 2));
  const Shape& x = inputs[0].shape;
  int axis = 0;
  INGOT_TRY(resolve_axis(op, params.axis, x.rank, false, axis));
  const Shape group = Shape::of(x.span().subspan(static_cast<size_t>(axis)));
  for (size_t i = 1; i < inputs.size() && i < 3; ++i)
    if (inputs[i].present && !(inputs[i].shape == group))
      return bad_operand(op, std::string(i == 1 ? "scale" : "bias") + ": got " + to_string(inputs[i].shape) +
                                 ", need " + to_string(group));
  outputs[0] = {inputs[0].dtype, x};
  Shape statistics = x;
  for (int i = axis; i < x.rank; ++i) statistics[i] = 1;
  // Statistics are f32 even for narrower inputs, as ONNX's stash_type asks.
  for (size_t i = 1; i < outputs.size(); ++i)
    outputs[i] = {inputs[0].dtype == DataType::kF64 ? DataType::kF64 : DataType::kF32, statistics};
  return {};
}

Status run_reference(const LayerNormParams& params, std::span<const ConstTensorRef> inputs,
                     std::span<const TensorRef> outputs) {
  const Shape& x = inputs[0].type->shape;
  const int axis = static_cast<int>(params.axis < 0 ? params.axis + x.rank : params.axis);
  const int64_t rows = product(x, 0, axis), length = product(x, axis, x.rank);
  return run_typed(params.rms ? "rms_norm" : "layer_norm", inputs[0].type->dtype, [&](auto t) {
    using T = decltype(t);
    const T* scale = inputs[1].as<T>();
    const T* bias = inputs.size() > 2 && inputs[2] ? inputs[2].as<T>() : nullptr;
    for (int64_t r = 0; r < rows; ++r) {
      const T* row = inputs[0].as<T>() + r * length;
      const Statistics s = statistics_of(row, length, params.epsilon, params.rms);
      for (int64_t i = 0; i < length; ++i)
        outputs[0].as<T>()[r * length + i] = store_float<T>(
            (real(row[i]) - s.mean) * s.inverse_deviation * real(scale[i]) + (bias ? real(bias[i]) : 0.0));
      for (size_t o = 1; o < outputs.size() && o < 3; ++o) {
        if (!outputs[o].type) continue;
        const double value = o == 1 ? s.mean : s.inverse_deviation;
        if (outputs[o].type->dtype == DataType::kF64)
          outputs[o].as<double>()[r] = value;
        else
          outputs[o].as<float>()[r] = static_cast<float>(value);
      }
    }
  });
}

Status infer_types(const InstanceNormParams& params, std::span<const OpInput> inputs, std::span<OpOutput> outputs) {
  const char* op = params.groups > 0 ? "group_norm" : "instance_norm";
  INGOT_TRY(need_float(op, inputs, 3));
  const Shape& x = inputs[0].shape;
  if (x.rank < 2) return bad_operand(op, "rank of input: got " + to_string(x) + ", need 2 or more dims");
  if (params.groups < 0 || (params.groups > 0 && x[1] % params.groups != 0))
    return bad_operand(op, "groups: got " + std::to_string(params.groups) + ", need a divisor of the " +
                               std::to_string(x[1]) + " channels");
  INGOT_TRY(need_vector(op, "scale", inputs[1], x[1]));
  INGOT_TRY(need_vector(op, "bias", inputs[2], x[1]));
  outputs[0] = {inputs[0].dtype, x};
  return {};
}

Status run_reference(const InstanceNormParams& params, std::span<const ConstTensorRef> inputs,
                     std::span<const TensorRef> outputs) {
  const Shape& x = inputs[0].type->shape;
  const int64_t inner = product(x, 2, x.rank), groups = params.groups > 0 ? params.groups : x[1];
  if (x.elements() == 0) return {};
  const int64_t per_group = x[1] / groups, length = per_group * inner;
  return run_typed(params.groups > 0 ? "group_norm" : "instance_norm", inputs[0].type->dtype, [&](auto t) {
    using T = decltype(t);
    for (int64_t g = 0; g < x[0] * groups; ++g) {
      const T* group = inputs[0].as<T>() + g * length;
      const Statistics s = statistics_of(group, length, params.epsilon, false);
      for (int64_t i = 0; i < length; ++i) {
        const int64_t c = g % groups * per_group + i / inner;
        outputs[0].as<T>()[g * length + i] = store_float<T>(
            (real(group[i]) - s.mean) * s.inverse_deviation * real(inputs[1].as<T>()[c]) + real(inputs[2].as<T>()[c]));
      }
    }
  });
}

Status infer_types(const SoftmaxParams& params, std::span<const OpInput> inputs, std::span<OpOutput> outputs) {
  INGOT_TRY(need_float("softmax", inputs, 1));
  const Shape& x = inputs[0].shape;
  int axis = 0;
  if (x.rank > 0) INGOT_TRY(resolve_axis("softmax", params.axis, x.rank, params.flatten, axis));
  outputs[0] = {inputs[0].dtype, x};
  return {};
}

Status run_reference(const SoftmaxParams& params, std::span<const ConstTensorRef> inputs,
                     std::span<const TensorRef> outputs) {
  const Rows rows = rows_of(params, inputs[0].type->shape);
  return run_typed("softmax", inputs[0].type->dtype, [&](auto t) {
    softmax(rows, params.log, inputs[0].as<decltype(t)>(), outputs[0].as<decltype(t)>());
  });
}

Status infer_types(const AttentionParams& params, std::span<const OpInput> inputs, std::span<OpOutput> outputs) {
  const char* op = "attention";
  INGOT_TRY(need_float(op, inputs, 3));
  const Shape &q = inputs[0].shape, &k = inputs[1].shape, &v = inputs[2].shape;
  if (q.rank != 4 || k.rank != 4 || v.rank != 4)
    return bad_operand(op,
                       "ranks: got " + to_string(q) + ", " + to_string(k) + ", " + to_string(v) + ", need 4 dims each");
  const int64_t k_t = k[params.k_transposed ? 3 : 2], k_d = k[params.k_transposed ? 2 : 3];
  if (k[0] != q[0] || k[1] != q[1] || v[0] != q[0] || v[1] != q[1] || k_d != q[3] || k_t != v[2])
    return bad_operand(
        op, "shapes of q, k, v: got " + to_string(q) + ", " + to_string(k) + ", " + to_string(v) +
                (params.k_transposed ? ", need BxHxSxD, BxHxDxT, BxHxTxE" : ", need BxHxSxD, BxHxTxD, BxHxTxE"));
  const Shape scores{q[0], q[1], q[2], k_t};
  Shape both;
  if (inputs.size() > 3 && inputs[3].present &&
      (inputs[3].shape.rank > 4 || !broadcast_shapes(inputs[3].shape, scores, both) || !(both == scores)))
    return bad_operand(
        op, "mask: got " + to_string(inputs[3].shape) + ", need a shape that broadcasts to " + to_string(scores));
  const Shape y{q[0], q[1], q[2], v[3]};
  INGOT_TRY(check_output_size(op, y));
  outputs[0] = {inputs[0].dtype, y};
  return {};
}

Status run_reference(const AttentionParams& params, std::span<const ConstTensorRef> inputs,
                     std::span<const TensorRef> outputs) {
  return run_typed("attention", inputs[0].type->dtype,
                   [&](auto t) { attention<decltype(t)>(params, inputs, outputs[0]); });
}

}  // namespace ingot
