// Chains of QuantizeLinear and DequantizeLinear as quantisation-aware training exports them: activations u8 or s8 per tensor,
// weights per channel, biases s32 of the product's scale or float; with scales that differ where they should be equal.
#include <algorithm>
#include <cmath>

#include "e2e/random_generator.h"

namespace ingot::random_graphs {
namespace {

using U = UnaryFunction;
using B = BinaryFunction;

}  // namespace

Generator::Quant Generator::random_quant(bool activation) {
  Quant q;
  q.scale = random_.chance(0.3) ? 0.03125 : random_.real(0.01, 0.05);
  q.dtype = !activation || random_.chance(0.3) ? DataType::kS8 : DataType::kU8;
  q.zero = q.dtype == DataType::kU8 ? static_cast<int>(random_.one_of<int64_t>({128, 120, 0, 64, 255})) : static_cast<int>(random_.one_of<int64_t>({0, 0, -128, 5}));
  return q;
}

Generator::V Generator::quantise(uint32_t x, Quant q, int axis) {
  const Shape of = axis < 0 ? Shape{} : Shape{shape(x)[axis]};
  const uint32_t scale = constant(DataType::kF32, of, [&](size_t i) { return q.scale * (axis < 0 ? 1 : 1 + 0.1 * static_cast<double>(i % 7)); });
  const uint32_t zero = constant(q.dtype, of, [&](size_t) { return q.zero; });
  return op(QuantizeLinearParams{std::max(axis, 0), 0, true}, {x, scale, zero});
}

Generator::V Generator::dequantise(uint32_t x, Quant q, int axis) {
  const Shape of = axis < 0 ? Shape{} : Shape{shape(x)[axis]};
  const uint32_t scale = constant(DataType::kF32, of, [&](size_t i) { return q.scale * (axis < 0 ? 1 : 1 + 0.1 * static_cast<double>(i % 7)); });
  const bool leave_out = q.zero == 0 && random_.chance(0.3);
  return op(DequantizeLinearParams{std::max(axis, 0), 0}, {x, scale, leave_out ? kNone : constant(q.dtype, of, [&](size_t) { return q.zero; })});
}

Generator::V Generator::fake_quantise(uint32_t x) {
  const Quant q = random_quant(true);
  const int axis = spoil() && random_.chance(0.3) && shape(x).rank >= 2 && is_static(x) ? 1 : -1;
  const V integers = quantise(x, q, axis);
  if (!integers) return {};
  if (spoil()) maybe_output(*integers, 0.3);
  Quant read = q;
  if (spoil() && random_.chance(0.3)) read.scale *= 1.5;
  if (spoil() && random_.chance(0.2)) read.zero = q.dtype == DataType::kU8 ? 7 : 1;
  const V y = dequantise(*integers, read, axis);
  if (y && spoil()) maybe_output(*y, 0.3);
  return y;
}

void Generator::add_qdq_layer() {
  const bool conv = random_.chance(0.7);
  const V from = conv ? pick_image() : pick_f32(2, 3);
  if (!from) return;
  const bool already = kind_of(program_.nodes.empty() ? OpParams(IdentityParams{}) : program_.nodes.back().params) == OpKind::kDequantizeLinear;
  const V x = already && random_.chance(0.3) ? from : fake_quantise(*from);
  if (!x) return;
  double input_scale = 0.03;
  for (const ProgramNode& maker : program_.nodes)
    if (maker.outputs[0] == *x && kind_of(maker.params) == OpKind::kDequantizeLinear)
      input_scale = static_cast<double>(*reinterpret_cast<const float*>(program_.values[maker.inputs[1]].constant.data->data()));
  const Shape dims = shape(*x);
  ConvParams params;
  MatMulParams product;
  Shape of;
  int axis = 0;
  if (conv) {
    const auto spatial = static_cast<size_t>(dims.rank - 2);
    const int64_t kernel = random_.one_of<int64_t>({1, 1, 3, 3, 2});
    params.strides.assign(spatial, random_.chance(0.8) ? 1 : 2);
    if (random_.chance(0.7)) params.pads.assign(2 * spatial, kernel / 2);
    params.groups = random_.chance(0.35) ? dims[1] : 1;
    of.rank = dims.rank;
    of.dims.fill(kernel);
    of[0] = params.groups > 1 ? dims[1] : random_.one_of<int64_t>({3, 4, 8, 8, 16, 32});
    of[1] = dims[1] / params.groups;
  } else {
    product.transpose_b = random_.chance(0.4);
    of = product.transpose_b ? Shape{random_.one_of<int64_t>({1, 4, 8, 17}), dims[dims.rank - 1]} : Shape{dims[dims.rank - 1], random_.one_of<int64_t>({1, 4, 8, 17})};
    axis = product.transpose_b ? 0 : 1;
  }
  if (spoil() && random_.chance(0.3)) axis = 1 - axis;
  const bool per_channel = random_.chance(0.75);
  Quant wq{random_.real(0.003, 0.02), 0, DataType::kS8};
  if (random_.chance(0.1)) wq = {wq.scale, 128, DataType::kU8};
  if (spoil() && wq.dtype == DataType::kS8) wq.zero = 3;
  // Weights as stored integers, or as floats behind a Q.
  V w;
  if (random_.chance(0.7)) {
    const uint32_t stored = constant(wq.dtype, of, [&](size_t) { return wq.dtype == DataType::kU8 ? random_.between(0, 255) : random_.between(random_.chance(0.05) ? -128 : -127, 127); });
    w = dequantise(stored, wq, per_channel ? axis : -1);
  } else {
    const V stored = quantise(rounded_floats(of, -1, 1), wq, per_channel ? axis : -1);
    w = stored ? dequantise(*stored, wq, per_channel ? axis : -1) : V();
  }
  if (!w) return;
  const int64_t outputs = conv ? of[0] : product.transpose_b ? of[0] : of[1];
  std::vector<uint32_t> operands = {*x, *w};
  if (random_.chance(0.7)) {
    if (random_.chance(0.5)) {
      // Multiples of the products' scale: that a bias is rounded to it is the contract, and no error.
      operands.push_back(constant(DataType::kF32, Shape{outputs}, [&](size_t i) {
        const double scale = input_scale * wq.scale * (per_channel ? 1 + 0.1 * static_cast<double>(i % 7) : 1);
        return std::nearbyint(random_.real(-1, 1) / scale) * scale;
      }));
      info_.back().exact = false;
    } else {
      const uint32_t stored = constant(DataType::kS32, Shape{outputs}, [&](size_t) { return random_.between(-3000, 3000); });
      const uint32_t scale = constant(DataType::kF32, per_channel ? Shape{outputs} : Shape{}, [&](size_t i) {
        const double scale_of_one = static_cast<double>(static_cast<float>(wq.scale * (per_channel ? 1 + 0.1 * static_cast<double>(i % 7) : 1)));
        return input_scale * scale_of_one * (spoil() && random_.chance(0.1) ? 2 : 1);
      });
      const V bias = op(DequantizeLinearParams{0, 0}, {stored, scale});
      if (bias) operands.push_back(*bias);
    }
  }
  V y = conv ? op(params, operands) : op(product, operands);
  if (!y) return;
  if (spoil()) maybe_output(*y, 0.5);
  const bool sum = random_.chance(0.3);
  if (sum) {
    const V r = pick([&](uint32_t v) { return is_f32(v) && v != *y && shape(v) == shape(*y); });
    const V other = r && random_.chance(0.8) ? fake_quantise(*r) : r;
    if (other) y = either_order(*y, *other, B::kAdd);
  }
  if (y && random_.chance(0.6)) y = unary(*y, random_.one_of({U::kRelu, U::kRelu, U::kClip, U::kSilu, U::kSigmoid, U::kHardSwish, U::kGelu}), 0, 6);
  if (y && !spoil()) (void)fake_quantise(*y);
}

void Generator::add_qdq_math() {
  const V from = pick_f32(1);
  if (!from) return;
  const V x = fake_quantise(*from);
  if (!x) return;
  V y;
  switch (random_.below(4)) {
    case 0: {
      const V other = pick([&](uint32_t v) {
        Shape together;
        return is_f32(v) && broadcast_shapes(shape(*x), shape(v), together);
      });
      const V b = other ? fake_quantise(*other) : V();
      y = b ? either_order(*x, *b, random_.one_of({B::kAdd, B::kAdd, B::kMul, B::kMul, B::kSub, B::kMax})) : V();
      if (y && random_.chance(0.3)) y = unary(*y, random_.one_of({U::kRelu, U::kClip}), -0.5, 2);
      break;
    }
    case 1: y = unary(*x, random_.one_of({U::kSigmoid, U::kSilu, U::kHardSwish, U::kGelu, U::kTanh, U::kRelu, U::kLeakyRelu, U::kExp, U::kAbs, U::kSqrt}), 0.1); break;
    case 2: {
      if (shape(*x).rank < 3) return;
      PoolParams params;
      const auto spatial = static_cast<size_t>(shape(*x).rank - 2);
      params.function = random_.chance(0.8) ? PoolFunction::kAverage : PoolFunction::kMax;
      params.global = random_.chance(0.4);
      if (!params.global) {
        params.kernel.assign(spatial, random_.between(2, 3));
        params.strides.assign(spatial, random_.between(1, 2));
        if (random_.chance(0.5)) params.pads.assign(2 * spatial, 1);
        params.count_include_pad = random_.chance(0.5);
        params.ceil_mode = random_.chance(0.2);
      }
      y = op(params, {*x});
      break;
    }
    default: {
      const int rank = shape(*x).rank;
      std::vector<int64_t> axes = {random_.between(-rank, rank - 1)};
      if (rank == 4 && random_.chance(0.5)) axes = {2, 3};
      y = op(ReduceParams{random_.one_of({ReduceFunction::kMean, ReduceFunction::kMean, ReduceFunction::kSum, ReduceFunction::kMax}), random_.chance(0.7), false}, {*x, integers(axes)});
    }
  }
  if (y && spoil()) maybe_output(*y, 0.5);
  if (y && !spoil()) (void)fake_quantise(*y);
}

// Q → DQ → something that only moves elements → Q → DQ, of equal parameters or nearly.
void Generator::add_qdq_move() {
  const V from = pick_f32(1, 4);
  if (!from) return;
  const Quant q = random_quant(true);
  const V stored = quantise(*from, q);
  V x = stored ? dequantise(*stored, q) : V();
  if (!x) return;
  const Shape dims = shape(*x);
  switch (random_.below(7)) {
    case 0: {
      TransposeParams params;
      for (int i = 0; i < dims.rank; ++i) params.perm.push_back(dims.rank - 1 - i);
      x = op(params, {*x});
      break;
    }
    case 1: x = op(ReshapeParams{}, {*x, integers({-1})}); break;
    case 2: {
      const V other = pick([&](uint32_t v) { return is_f32(v) && shape(v) == dims; });
      if (!other) return;
      Quant second = q;
      if (spoil()) second = random_quant(true);
      const V integers = quantise(*other, second);
      const V y = integers ? dequantise(*integers, second) : V();
      x = y ? op(ConcatParams{dims.rank - 1}, {*x, *y}) : V();
      break;
    }
    case 3: x = op(SliceParams{}, {*x, integers({0}), integers({2}), integers({dims.rank - 1})}); break;
    case 4: {
      if (dims.rank != 4) return;
      PoolParams params;
      params.kernel = {2, 2};
      params.strides = {2, 2};
      if (random_.chance(0.3)) params.pads = {1, 1, 1, 1};
      x = op(params, {*x});
      break;
    }
    case 5: {
      if (dims.rank != 4) return;
      const double factors[] = {1, 1, 2, 2};
      x = op(ResizeParams{}, {*x, kNone, constant(DataType::kF32, Shape{4}, [&](size_t i) { return factors[i]; })});
      break;
    }
    default: {
      if (dims[0] < 2) return;
      const auto parts = node(SplitParams{0}, {*x}, 2);
      if (!parts) return;
      x = (*parts)[1];
    }
  }
  if (!x) return;
  if (spoil()) maybe_output(*x, 0.4);
  Quant after = q;
  if (spoil()) after.scale *= random_.chance(0.5) ? 2 : 1.0001;
  const V back = quantise(*x, after);
  if (back) (void)dequantise(*back, after);
}

}  // namespace ingot::random_graphs
