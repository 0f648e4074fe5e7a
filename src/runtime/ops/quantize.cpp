// QuantizeLinear and DequantizeLinear: scale and zero point per tensor, per index of an axis, or per block along it.
#include "runtime/ops/quantize.h"

#include <string>

#include "runtime/ops/element.h"
#include "runtime/ops/small_float.h"
#include "runtime/ops/window.h"

namespace ingot {
namespace {

bool is_scale_type(DataType type) {
  return type == DataType::kF32 || type == DataType::kF16 || type == DataType::kBF16;
}

// Reads an element of a tensor that holds scales or unquantised values.
float real_at(DataType type, const void* data, int64_t i) {
  float x = 0;
  if (with_float_type(type,
                      [&](auto t) { x = static_cast<float>(load_element(static_cast<const decltype(t)*>(data)[i])); }))
    return x;
  with_integer_type(type, [&](auto t) { x = static_cast<float>(static_cast<const decltype(t)*>(data)[i]); });
  return x;
}
int32_t integer_at(DataType type, const void* data, int64_t i) {
  int32_t q = 0;
  with_integer_type(type, [&](auto t) { q = static_cast<int32_t>(static_cast<const decltype(t)*>(data)[i]); });
  return q;
}

// Where the scale of each element stands: element (outer, a, inner) of [outer, axis, inner] uses `index(...)`.
struct Grid {
  int64_t outer = 1, axis = 1, inner = 1, block = 1, blocks = 1;
  bool per_tensor = true, blocked = false;
  int64_t index(int64_t o, int64_t a, int64_t i) const {
    return per_tensor ? 0 : blocked ? (o * blocks + a / block) * inner + i : a;
  }
};

Grid grid_of(const Shape& x, int64_t axis, int64_t block_size, int64_t scale_count) {
  Grid g;
  if (axis < 0) axis += x.rank;
  if (scale_count == 1 && block_size == 0) {
    g.inner = x.elements();
    return g;
  }
  g.per_tensor = false;
  for (int d = 0; d < x.rank; ++d) (d < axis ? g.outer : d == axis ? g.axis : g.inner) *= x[d];
  if (block_size > 0) {
    g.blocked = true;
    g.block = block_size;
    g.blocks = (g.axis + block_size - 1) / block_size;
  }
  return g;
}

// Scales and zero points of a run: from the inputs, or from the QuantParams of the quantised side.
struct Parameters {
  ConstTensorRef scale, zero_point;
  const QuantParams* quant = nullptr;
  Grid grid;
  float scale_at(int64_t i) const {
    return quant ? quant->scales[static_cast<size_t>(i)] : real_at(scale.type->dtype, scale.data, i);
  }
  int32_t zero_at(int64_t i) const {
    if (quant)
      return quant->zero_points.empty()
                 ? 0
                 : quant->zero_points[quant->zero_points.size() == 1 ? 0 : static_cast<size_t>(i)];
    return zero_point ? integer_at(zero_point.type->dtype, zero_point.data, i) : 0;
  }
};

template <class P>
Status parameters_of(const char* op, const P& p, const Shape& shape, std::span<const ConstTensorRef> inputs,
                     const TensorType& quantized, Parameters& out) {
  if (inputs.size() > 1 && inputs[1]) {
    out.scale = inputs[1];
    if (inputs.size() > 2) out.zero_point = inputs[2];
    out.grid = grid_of(shape, p.axis, p.block_size, out.scale.type->shape.elements());
    return {};
  }
  if (!quantized.quant || quantized.quant->scales.empty())
    return Status(StatusCode::kInvalidArgument,
                  std::string(op) + ": scale: got none, need a scale input or a quantised type");
  out.quant = &*quantized.quant;
  out.grid =
      grid_of(shape, out.quant->axis < 0 ? 0 : out.quant->axis, 0, static_cast<int64_t>(out.quant->scales.size()));
  return {};
}

// Calls each(element, scale index).
template <class Each>
void for_each_element(const Grid& g, Each&& each) {
  int64_t at = 0;
  for (int64_t o = 0; o < g.outer; ++o)
    for (int64_t a = 0; a < g.axis; ++a)
      for (int64_t i = 0; i < g.inner; ++i) each(at++, g.index(o, a, i));
}

template <class P>
Status check_scale(const char* op, const P& p, std::span<const OpInput> inputs) {
  if (inputs.empty() || !inputs[0].present) return bad_operand(op, "input: got none, need x");
  if (inputs.size() < 2 || !inputs[1].present) return {};
  const Shape &x = inputs[0].shape, &s = inputs[1].shape;
  if (!is_scale_type(inputs[1].dtype))
    return bad_operand(op, "type of scale: got " + std::string(to_string(inputs[1].dtype)) + ", need f32, f16 or bf16");
  if (inputs.size() > 2 && inputs[2].present && inputs[2].shape.elements() != s.elements())
    return bad_operand(op,
                       "zero point: got " + to_string(inputs[2].shape) + ", need " + to_string(s) + " as the scale");
  if (s.elements() == 1 && p.block_size == 0) return {};  // axis is ignored
  const int64_t axis = p.axis < 0 ? p.axis + x.rank : p.axis;
  if (axis < 0 || axis >= x.rank)
    return bad_operand(op, "axis: got " + std::to_string(p.axis) + ", need " + std::to_string(-x.rank) + " to " +
                               std::to_string(x.rank - 1));
  const int at = static_cast<int>(axis);
  if (p.block_size < 0) return bad_operand(op, "block_size: got " + std::to_string(p.block_size) + ", need 0 or more");
  Shape need = Shape{x[at]};
  if (p.block_size > 0) {
    need = x;
    need[at] = x[at] / p.block_size + (x[at] % p.block_size != 0);
  }
  if (!(s == need))
    return bad_operand(op, "scale: got " + to_string(s) + ", need " + to_string(need) +
                               (p.block_size > 0 ? " (blocks)" : " or one value"));
  return {};
}

}  // namespace

QuantRange quant_range(DataType type) {
  switch (type) {
    case DataType::kU8:
      return {0, 255};
    case DataType::kS8:
      return {-128, 127};
    case DataType::kU16:
      return {0, 65535};
    case DataType::kS16:
      return {-32768, 32767};
    case DataType::kU4:
      return {0, 15};
    case DataType::kS4:
      return {-8, 7};
    case DataType::kU2:
      return {0, 3};
    case DataType::kS2:
      return {-2, 1};
    case DataType::kS32:
      return {INT32_MIN, INT32_MAX};
    default:
      return {0, 0};
  }
}

Status infer_types(const QuantizeLinearParams& params, std::span<const OpInput> inputs, std::span<OpOutput> outputs) {
  INGOT_TRY(check_scale("quantize_linear", params, inputs));
  outputs[0] = {inputs.size() > 2 && inputs[2].present ? inputs[2].dtype : DataType::kU8, inputs[0].shape};
  if (quant_range(outputs[0].dtype).hi == 0 && !is_small_float(outputs[0].dtype))
    return Status(StatusCode::kUnsupported, "quantize_linear: type of zero point: got " +
                                                std::string(to_string(outputs[0].dtype)) +
                                                ", need an integer type of at most 32 bits or a float of at most 8");
  return {};
}

Status run_reference(const QuantizeLinearParams& params, std::span<const ConstTensorRef> inputs,
                     std::span<const TensorRef> outputs) {
  const TensorType &x = *inputs[0].type, &y = *outputs[0].type;
  Parameters p;
  INGOT_TRY(parameters_of("quantize_linear", params, x.shape, inputs, y, p));
  const QuantRange range = quant_range(y.dtype);
  // A quantised input is requantised: dequantise by its own parameters first.
  const bool again = is_quantized(x);
  if (is_per_channel(x))
    return Status(StatusCode::kUnsupported, "quantize_linear: input scales: got " + to_string(x) + ", need one for the tensor");
  if (is_small_float(y.dtype)) {  // x / s, rounded once; its zero point can only be 0
    for_each_element(p.grid, [&](int64_t i, int64_t s) {
      outputs[0].as<uint8_t>()[i] = real_to_small_float(y.dtype, static_cast<double>(real_at(x.dtype, inputs[0].data, i) / p.scale_at(s)), params.saturate);
    });
    return {};
  }
  const bool ran = with_integer_type(y.dtype, [&](auto t) {
    using Q = decltype(t);
    for_each_element(p.grid, [&](int64_t i, int64_t s) {
      const float v = again ? dequantize_value(integer_at(x.dtype, inputs[0].data, i), scale_of(x), zero_point_of(x))
                            : real_at(x.dtype, inputs[0].data, i);
      outputs[0].as<Q>()[i] = static_cast<Q>(quantize_value(
          v, p.scale_at(s), p.zero_at(s), static_cast<int32_t>(range.lo), static_cast<int32_t>(range.hi)));
    });
  });
  if (ran) return {};
  return Status(StatusCode::kUnsupported, "quantize_linear: output: got " + to_string(y) + ", need an integer type");
}

Status infer_types(const DequantizeLinearParams& params, std::span<const OpInput> inputs, std::span<OpOutput> outputs) {
  INGOT_TRY(check_scale("dequantize_linear", params, inputs));
  if (quant_range(inputs[0].dtype).hi == 0 && !is_small_float(inputs[0].dtype))
    return Status(StatusCode::kUnsupported, "dequantize_linear: input: got " + std::string(to_string(inputs[0].dtype)) +
                                                ", need an integer type of at most 32 bits or a float of at most 8");
  outputs[0] = {inputs.size() > 1 && inputs[1].present ? inputs[1].dtype : DataType::kF32, inputs[0].shape};
  return {};
}

Status run_reference(const DequantizeLinearParams& params, std::span<const ConstTensorRef> inputs,
                     std::span<const TensorRef> outputs) {
  const TensorType &x = *inputs[0].type, &y = *outputs[0].type;
  Parameters p;
  INGOT_TRY(parameters_of("dequantize_linear", params, x.shape, inputs, x, p));
  const bool ran = with_float_type(y.dtype, [&](auto t) {
    using T = decltype(t);
    if (is_small_float(x.dtype)) {
      for_each_element(p.grid, [&](int64_t i, int64_t s) {
        outputs[0].as<T>()[i] = store_float<T>(static_cast<float>(small_float_to_real(x.dtype, inputs[0].as<uint8_t>()[i])) * p.scale_at(s));
      });
      return;
    }
    for_each_element(p.grid, [&](int64_t i, int64_t s) {
      const float v = dequantize_value(integer_at(x.dtype, inputs[0].data, i), p.scale_at(s), p.zero_at(s));
      outputs[0].as<T>()[i] = store_float<T>(v);
    });
  });
  if (ran) return {};
  return Status(StatusCode::kUnsupported, "dequantize_linear: output: got " + to_string(y) + ", need a float type");
}

}  // namespace ingot
