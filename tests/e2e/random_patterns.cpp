// What passes look for, in the spellings of several exporters; every so often one thing is off: a value that is read twice or
// is an output, a constant that is computed, another axis, another number.
#include <algorithm>
#include <cmath>

#include "e2e/random_generator.h"

namespace ingot::random_graphs {
namespace {

using U = UnaryFunction;
using B = BinaryFunction;

}  // namespace

// Conv, ConvTranspose or MatMul with constant weights, or weights that only look constant.
Generator::V Generator::layer_core() {
  const bool conv = random_.chance(0.65);
  const V x = conv ? pick_image() : pick_f32(2, 4);
  if (!x) return {};
  const Shape dims = shape(*x);
  const auto weights = [&](Shape of, double reach) {
    if (random_.chance(0.06)) return input(DataType::kF32, std::vector<Shape>(program_.probes, of), -1, 1);
    const uint32_t w = rounded_floats(of, -reach, reach);
    if (!spoil() || !random_.chance(0.3)) return w;
    // Computed from a constant: folds, or is read by another too.
    const V computed = random_.chance(0.5) ? unary(w, U::kTanh) : op(IdentityParams{}, {w});
    return computed.value_or(w);
  };
  if (conv) {
    const auto spatial = static_cast<size_t>(dims.rank - 2);
    const int64_t channels = dims[1];
    std::vector<int64_t> kernel, strides, dilations, pads;
    for (size_t i = 0; i < spatial; ++i) {
      kernel.push_back(random_.one_of<int64_t>({1, 1, 2, 3, 3, 5}));
      strides.push_back(random_.chance(0.7) ? 1 : 2);
      dilations.push_back(random_.chance(0.85) ? 1 : 2);
    }
    const auto pad_some = [&] {
      if (random_.chance(0.3)) return;
      for (size_t i = 0; i < 2 * spatial; ++i) pads.push_back(random_.chance(0.75) ? (kernel[i % spatial] - 1) / 2 : random_.between(0, 2));
    };
    Shape of;
    of.rank = dims.rank;
    for (size_t i = 0; i < spatial; ++i) of[static_cast<int>(i) + 2] = kernel[i];
    if (random_.chance(0.2)) {
      ConvTransposeParams params;
      const bool once = random_.chance(0.5);  // kernel = stride
      params.groups = channels % 2 == 0 && random_.chance(0.2) ? 2 : 1;
      for (size_t i = 0; i < spatial; ++i) {
        if (once) kernel[i] = 2, of[static_cast<int>(i) + 2] = 2;
        params.strides.push_back(once ? 2 : strides[i]);
      }
      if (!once) pad_some();
      params.pads = pads;
      of[0] = channels;
      of[1] = random_.one_of<int64_t>({1, 2, 4, 8});
      std::vector<uint32_t> operands = {*x, weights(of, 0.7)};
      if (random_.chance(0.6)) operands.push_back(rounded_floats(Shape{of[1] * params.groups}, -1, 1));
      return op(params, operands);
    }
    ConvParams params;
    params.strides = strides;
    if (random_.chance(0.5)) params.dilations = dilations;
    if (random_.chance(0.12)) params.auto_pad = random_.one_of({AutoPad::kSameUpper, AutoPad::kSameLower, AutoPad::kValid});
    else pad_some();
    params.pads = pads;
    params.groups = random_.chance(0.25) ? channels : channels % 2 == 0 && random_.chance(0.15) ? 2 : 1;
    of[0] = params.groups == channels ? channels * (random_.chance(0.8) ? 1 : 2) : random_.one_of<int64_t>({2, 4, 6, 8, 8, 16, 32}) * (params.groups > 1 ? params.groups / 2 : 1);
    of[1] = channels / params.groups;
    std::vector<uint32_t> operands = {*x, weights(of, 1.5 / std::sqrt(static_cast<double>(of[1]) * 4))};
    if (random_.chance(0.6)) operands.push_back(rounded_floats(Shape{of[0]}, -1, 1));
    return op(params, operands);
  }
  MatMulParams params;
  const int64_t depth = dims[dims.rank - 1], columns = random_.one_of<int64_t>({1, 3, 4, 8, 16, 17, 32});
  params.transpose_b = random_.chance(0.3);
  if (random_.chance(0.1)) params.alpha = 0.5;
  Shape of = params.transpose_b ? Shape{columns, depth} : Shape{depth, columns};
  if (dims.rank == 3 && random_.chance(0.15) && is_static(*x)) of = params.transpose_b ? Shape{dims[0], columns, depth} : Shape{dims[0], depth, columns};
  std::vector<uint32_t> operands = {*x, weights(of, 1.5 / std::sqrt(static_cast<double>(depth)))};
  if (random_.chance(0.4)) operands.push_back(rounded_floats(Shape{columns}, -1, 1));
  return op(params, operands);
}

// One thing behind a layer; `axis` is that of its channels.
Generator::V Generator::decorate(uint32_t y, int axis) {
  const int channel_axis = spoil() ? static_cast<int>(random_.below(shape(y).rank)) : axis;
  switch (random_.below(9)) {
    case 0: {
      if (shape(y).rank < 2) return y;
      const Shape channels{shape(y)[1]};
      return op(BatchNormParams{1e-3}, {y, rounded_floats(channels, 0.5, 1.5), rounded_floats(channels, -1, 1), rounded_floats(channels, -1, 1), rounded_floats(channels, 0.3, 2)});
    }
    case 1: return either_order(y, channel_constant(y, channel_axis, 0.5, 1.5), B::kMul);
    case 2: return random_.chance(0.9) ? binary(y, channel_constant(y, channel_axis, 0.5, 2), B::kDiv) : binary(channel_constant(y, channel_axis, 0.5, 2), y, B::kDiv);
    case 3: return either_order(y, channel_constant(y, channel_axis, -1, 1), B::kAdd);
    case 4: return random_.chance(0.6) ? binary(y, channel_constant(y, channel_axis, -1, 1), B::kSub) : binary(channel_constant(y, channel_axis, -1, 1), y, B::kSub);
    case 5: {
      const V r = pick([&](uint32_t v) { return is_f32(v) && v != y && shape(v) == shape(y); });
      return r ? either_order(y, *r, B::kAdd) : V(y);
    }
    case 6: return unary(y, U::kClip, random_.chance(0.5) ? 0 : -1, random_.one_of({1.0, 6.0}));
    default: return unary(y, random_.one_of({U::kRelu, U::kRelu, U::kSilu, U::kSigmoid, U::kGelu, U::kHardSwish, U::kTanh, U::kLeakyRelu}), 0.1);
  }
}

void Generator::add_layer() {
  V y = layer_core();
  if (!y) return;
  const bool matmul = kind_of(program_.nodes.back().params) == OpKind::kMatMul;
  for (int64_t more = random_.below(5); more > 0 && y; --more) {
    if (spoil()) maybe_output(*y, 0.4);
    if (spoil()) (void)unary(*y, U::kSigmoid);  // another reader
    const int axis = matmul ? shape(*y).rank - 1 : 1;
    if (shape(*y).rank <= axis || axis < 0) return;
    y = decorate(*y, axis);
  }
}

// x → layer → … → layer, plus x; sometimes both ways pass a layer.
void Generator::add_residual_block() {
  const V x = pick_image();
  if (!x || shape(*x).rank != 4) return;
  const int64_t channels = shape(*x)[1];
  const auto same_size = [&](uint32_t v, int64_t kernel) {
    ConvParams params;
    params.strides = {1, 1};
    params.pads = {kernel / 2, kernel / 2, kernel / 2, kernel / 2};
    std::vector<uint32_t> operands = {v, rounded_floats(Shape{channels, channels, kernel, kernel}, -0.5, 0.5)};
    if (random_.chance(0.6)) operands.push_back(rounded_floats(Shape{channels}, -1, 1));
    return op(params, operands);
  };
  V y = same_size(*x, random_.one_of<int64_t>({1, 3}));
  if (y && random_.chance(0.5)) y = unary(*y, random_.one_of({U::kRelu, U::kSilu}));
  if (y && random_.chance(0.5)) y = same_size(*y, random_.one_of<int64_t>({1, 3}));
  if (!y) return;
  if (spoil()) maybe_output(*y, 0.5);
  V shortcut = random_.chance(0.3) ? same_size(*x, 1) : x;
  if (shortcut && spoil()) shortcut = y;  // y + y
  if (!shortcut) return;
  V sum = either_order(*y, *shortcut, spoil() ? B::kSub : B::kAdd);
  if (sum && random_.chance(0.3)) sum = either_order(*sum, *x, B::kAdd);
  if (sum && random_.chance(0.7)) (void)unary(*sum, random_.one_of({U::kRelu, U::kHardSwish, U::kClip}), 0, 6);
}

void Generator::add_activation_composite() {
  const V from = pick_f32();
  if (!from) return;
  const uint32_t x = *from;
  const auto c = [&](double number) { return scalar(spoil() && random_.chance(0.5) ? number * 1.25 : number, static_cast<int>(random_.below(random_.chance(0.1) ? 3 : 2))); };
  V y;
  const auto clamp = [&](uint32_t v, double low, double high) {
    if (random_.chance(0.6)) return unary(v, U::kClip, low, high);
    const V least = either_order(v, c(low), B::kMax);
    return least ? either_order(*least, c(high), B::kMin) : V();
  };
  const auto finish_gelu = [&](V e) {
    const V a = e ? either_order(*e, c(1), B::kAdd) : V();
    if (!a) return;
    if (spoil()) maybe_output(*a, 0.5);
    const int64_t form = random_.below(3);
    const V m = form == 0 ? either_order(x, *a, B::kMul) : form == 1 ? either_order(x, c(0.5), B::kMul) : either_order(*a, c(0.5), B::kMul);
    if (m) (void)either_order(*m, form == 0 ? c(0.5) : form == 1 ? *a : x, B::kMul);
  };
  switch (random_.below(10)) {
    case 0: {  // GELU by erf
      const V h = random_.chance(0.5) ? binary(x, c(std::sqrt(2.0)), B::kDiv) : either_order(x, c(std::sqrt(0.5)), B::kMul);
      finish_gelu(h ? unary(*h, U::kErf) : V());
      return;
    }
    case 1: {  // GELU by tanh
      const V cube = random_.chance(0.5) ? binary(x, c(3), B::kPow) : [&] {
        const V square = binary(x, x, B::kMul);
        return square ? either_order(*square, x, B::kMul) : V();
      }();
      const V term = cube ? either_order(*cube, c(0.044715), B::kMul) : V();
      const V sum = term ? either_order(x, *term, B::kAdd) : V();
      const V scaled = sum ? either_order(*sum, c(0.7978845608028654), B::kMul) : V();
      finish_gelu(scaled ? unary(*scaled, U::kTanh) : V());
      return;
    }
    case 2: {  // SiLU, quick GELU
      const V in = random_.chance(0.4) ? either_order(x, c(1.702), B::kMul) : V(x);
      y = in ? unary(*in, U::kSigmoid) : V();
      if (y && spoil()) maybe_output(*y, 0.7);
      if (y) (void)either_order(x, *y, B::kMul);
      return;
    }
    case 3: {  // hard sigmoid, hard swish
      const V shifted = either_order(x, c(3), B::kAdd);
      const V limited = shifted ? clamp(*shifted, 0, 6) : V();
      const bool swish_first = random_.chance(0.4);
      y = limited && swish_first ? either_order(x, *limited, B::kMul) : limited;
      y = y ? random_.chance(0.5) ? binary(*y, c(6), B::kDiv) : either_order(*y, c(1.0 / 6), B::kMul) : V();
      if (y && !swish_first && random_.chance(0.6)) (void)either_order(x, *y, B::kMul);
      return;
    }
    case 4:
      y = unary(x, U::kExp);
      y = y ? either_order(*y, c(1), B::kAdd) : V();
      y = y ? unary(*y, U::kLog) : V();
      if (y && random_.chance(0.6)) y = unary(*y, U::kTanh);
      if (y) (void)either_order(x, *y, B::kMul);
      return;
    case 5:
      y = unary(x, U::kSoftplus);
      y = y ? unary(*y, U::kTanh) : V();
      if (y) (void)either_order(x, *y, B::kMul);
      return;
    case 6: {
      const double low = random_.real(-1, 1);
      y = clamp(x, low, low + random_.real(-0.3, 2));
      if (y) y = clamp(*y, random_.real(-1, 1), random_.real(0, 2));
      return;
    }
    case 7:
      y = unary(x, U::kRelu);
      if (y) (void)unary(*y, random_.one_of({U::kRelu, U::kClip, U::kLeakyRelu, U::kAbs}), 0.5, 2);
      return;
    case 8: (void)unary(x, U::kClip, 0, random_.chance(0.5) ? 3.5e38 : 1e30); return;
    default: (void)unary(x, U::kHardSigmoid, random_.chance(0.5) ? 1.0 / 6 : 0.2, 0.5);
  }
}

void Generator::add_layer_norm() {
  const V from = pick_f32(1, 4);
  if (!from) return;
  const uint32_t x = *from;
  const int rank = shape(x).rank;
  std::vector<int64_t> axes = {random_.chance(0.5) ? -1 : rank - 1};
  if (rank > 1 && random_.chance(0.2)) axes = {rank - 2, rank - 1};
  if (rank > 1 && spoil()) axes = {0};
  const auto mean = [&](uint32_t v) {
    std::vector<int64_t> own = axes;
    if (spoil() && random_.chance(0.3)) own = {random_.between(-rank, rank - 1)};
    return op(ReduceParams{ReduceFunction::kMean, !(spoil() && random_.chance(0.3)), false}, {v, integers(own)});
  };
  V d = x;
  const bool rms = random_.chance(0.3);
  if (!rms) {
    const V average = mean(x);
    if (!average) return;
    if (spoil()) maybe_output(*average, 0.5);
    d = binary(x, *average, B::kSub);
  }
  if (!d) return;
  const V square = random_.chance(0.5) ? binary(*d, scalar(2), B::kPow) : binary(*d, *d, B::kMul);
  const V variance = square ? mean(*square) : V();
  const V with_epsilon = variance ? either_order(*variance, scalar(spoil() ? 0.5 : 0.01), B::kAdd) : V();
  if (!with_epsilon) return;
  const int64_t form = random_.below(4);
  const V root = form == 3 ? V() : unary(*with_epsilon, U::kSqrt);
  V y;
  if (form == 0 && root) y = binary(*d, *root, B::kDiv);
  if (form == 1 && root) if (const V r = unary(*root, U::kReciprocal)) y = either_order(*d, *r, B::kMul);
  if (form == 2 && root) if (const V r = binary(scalar(1), *root, B::kDiv)) y = either_order(*d, *r, B::kMul);
  if (form == 3) if (const V r = binary(*with_epsilon, scalar(-0.5), B::kPow)) y = either_order(*d, *r, B::kMul);
  if (!y) return;
  if (spoil()) maybe_output(*y, 0.6);
  if (random_.chance(0.7)) y = either_order(*y, channel_constant(*y, shape(*y).rank - 1, 0.5, 1.5), B::kMul);
  if (y && random_.chance(0.7)) (void)either_order(*y, channel_constant(*y, shape(*y).rank - 1, -1, 1), B::kAdd);
}

void Generator::add_attention() {
  const V x = pick([&](uint32_t v) { return is_f32(v) && shape(v).rank == 4 && shape(v).elements() > 0 && shape(v).elements() < 2000; });
  if (!x) return;
  const Shape dims = shape(*x);
  const auto projected = [&] {
    if (random_.chance(0.3)) return x;
    return op(MatMulParams{}, {*x, rounded_floats(Shape{dims[3], spoil() ? 8 : dims[3]}, -0.7, 0.7)});
  };
  V q = projected();
  const V k = projected(), v = projected();
  if (!q || !k || !v) return;
  const bool scale_first = random_.chance(0.4);
  if (scale_first) q = random_.chance(0.5) ? either_order(*q, scalar(0.35), B::kMul) : binary(*q, scalar(2.8), B::kDiv);
  MatMulParams product;
  V scores;
  if (random_.chance(0.4)) {
    product.transpose_b = true;
    scores = q ? op(product, {*q, *k}) : V();
  } else {
    const V turned = op(TransposeParams{{0, 1, 3, 2}}, {*k});
    scores = q && turned ? op(product, {*q, *turned}) : V();
  }
  if (scores && !scale_first) scores = random_.chance(0.5) ? either_order(*scores, scalar(0.35), B::kMul) : binary(*scores, scalar(2.8), B::kDiv);
  if (scores && random_.chance(0.5)) scores = either_order(*scores, broadcast_constant(*scores), B::kAdd);
  const V p = scores ? op(SoftmaxParams{spoil() ? 2 : random_.chance(0.5) ? -1 : 3, false, false}, {*scores}) : V();
  if (!p) return;
  if (spoil()) maybe_output(*p, 0.6);
  (void)op(MatMulParams{}, {*p, *v});
}

void Generator::add_pad_then_window() {
  const V x = pick_image();
  if (!x) return;
  const int rank = shape(*x).rank;
  const auto spatial = static_cast<size_t>(rank - 2);
  std::vector<int64_t> pads(static_cast<size_t>(rank) * 2, 0);
  for (size_t i = 0; i < spatial; ++i) {
    pads[i + 2] = random_.between(0, 2);
    pads[static_cast<size_t>(rank) + i + 2] = random_.between(0, 2);
  }
  if (spoil()) pads[1] = 1;
  std::vector<uint32_t> operands = {*x, integers(pads)};
  if (random_.chance(0.5)) operands.push_back(scalar(spoil() ? 1 : 0));
  const V padded = op(PadParams{spoil() ? PadMode::kEdge : PadMode::kConstant}, operands);
  if (!padded) return;
  if (spoil()) maybe_output(*padded, 0.5);
  if (random_.chance(0.5)) {
    PoolParams params;
    params.function = random_.chance(0.7) ? PoolFunction::kAverage : PoolFunction::kMax;
    params.kernel.assign(spatial, random_.between(2, 3));
    params.strides.assign(spatial, random_.between(1, 2));
    if (random_.chance(0.4)) params.pads.assign(2 * spatial, 1);
    params.ceil_mode = random_.chance(0.2);
    params.count_include_pad = random_.chance(0.5);
    (void)op(params, {*padded});
    return;
  }
  ConvParams params;
  params.strides.assign(spatial, random_.between(1, 2));
  if (random_.chance(0.4)) params.pads.assign(2 * spatial, 1);
  Shape of;
  of.rank = rank;
  of.dims.fill(3);
  of[0] = random_.one_of<int64_t>({4, 8});
  of[1] = shape(*padded)[1];
  const V y = op(params, {*padded, rounded_floats(of, -0.5, 0.5)});
  if (y && random_.chance(0.5)) (void)unary(*y, U::kRelu);
}

// (x·s + t) in front of a layer.
void Generator::add_affine_then_layer() {
  V y = pick_f32(2, 4);
  if (!y) return;
  const bool conv = shape(*y).rank >= 3 && random_.chance(0.6);
  const int axis = spoil() ? 0 : conv ? 1 : shape(*y).rank - 1;
  const auto step = [&] {
    if (!y) return;
    const uint32_t factor = channel_constant(*y, axis, 0.4, 2), term = channel_constant(*y, axis, -1, 1);
    switch (random_.below(4)) {
      case 0: y = binary(*y, factor, B::kDiv); break;
      case 1: y = random_.chance(0.8) ? binary(*y, term, B::kSub) : binary(term, *y, B::kSub); break;
      case 2: y = either_order(*y, term, B::kAdd); break;
      default: y = either_order(*y, factor, B::kMul);
    }
    if (y && spoil()) maybe_output(*y, 0.5);
  };
  for (int64_t more = random_.between(1, 3); more > 0; --more) step();
  if (!y) return;
  const Shape dims = shape(*y);
  if (!conv) {
    (void)op(MatMulParams{}, {*y, rounded_floats(Shape{dims[dims.rank - 1], 8}, -0.5, 0.5)});
    return;
  }
  ConvParams params;
  const auto spatial = static_cast<size_t>(dims.rank - 2);
  params.strides.assign(spatial, 1);
  if (random_.chance(0.6)) params.pads.assign(2 * spatial, 1);
  params.groups = random_.chance(0.2) ? dims[1] : 1;
  Shape of;
  of.rank = dims.rank;
  of.dims.fill(3);
  of[0] = params.groups > 1 ? dims[1] : 8;
  of[1] = dims[1] / params.groups;
  (void)op(params, {*y, rounded_floats(of, -0.5, 0.5)});
}

// A node once more, exactly or nearly: with a copy of a constant, or with its operands exchanged.
void Generator::add_again() {
  if (program_.nodes.empty()) return;
  const ProgramNode old = random_.pick(program_.nodes);
  std::vector<uint32_t> inputs = old.inputs;
  if (inputs.size() == 2 && random_.chance(0.2)) std::swap(inputs[0], inputs[1]);
  for (uint32_t& in : inputs)
    if (in != kNone && program_.values[in].source == ProgramValue::Source::kConstant && random_.chance(0.5)) {
      const Tensor tensor = program_.values[in].constant;
      const bool exact = info_[in].exact;
      in = program_.add_constant(tensor);
      Info info;
      info.data.assign(program_.probes, tensor);
      info.known = info.is_constant = true;
      info.exact = exact;
      info_.push_back(std::move(info));
    }
  const auto again = node(old.params, inputs, old.outputs.size());
  if (!again || !random_.chance(0.5)) return;
  const uint32_t a = old.outputs[0], b = (*again)[0];
  if (is_f32(a)) (void)either_order(a, b, random_.one_of({B::kAdd, B::kMul, B::kSub}));
}

// Shapes taken apart and put together again, as exporters do for Reshape, Expand, Slice and Resize.
void Generator::add_shape_arithmetic() {
  const V x = pick([&](uint32_t v) { return shape(v).rank >= 1 && shape(v).rank <= 5 && shape(v).elements() > 0; });
  if (!x) return;
  const int rank = shape(*x).rank;
  const V sizes = op(ShapeParams{}, {*x});
  if (!sizes) return;
  const auto dim = [&](int64_t i, bool as_vector) -> V {
    const uint32_t place = constant(DataType::kS64, as_vector ? Shape{1} : Shape{}, [&](size_t) { return static_cast<double>(random_.chance(0.3) ? i - rank : i); });
    if (as_vector && random_.chance(0.5)) return op(SliceParams{}, {*sizes, integers({i}), integers({i + 1}), integers({0})});
    return op(GatherParams{0}, {*sizes, place});
  };
  const auto as_vector = [&](V scalar_dim) { return scalar_dim ? op(UnsqueezeParams{}, {*scalar_dim, integers({0})}) : V(); };
  switch (random_.below(5)) {
    case 0: {  // [d0, -1] or [d0·d1, …]
      V first = random_.chance(0.5) ? dim(0, true) : as_vector(dim(0, false));
      if (first && rank >= 2 && random_.chance(0.4)) if (const V second = dim(1, true)) first = binary(*first, *second, B::kMul);
      const V to = first ? op(ConcatParams{0}, {*first, integers({-1})}) : V();
      if (to) (void)op(ReshapeParams{}, {*x, *to});
      return;
    }
    case 1: {  // every dim by itself, in another order of work
      std::vector<uint32_t> parts;
      for (int i = 0; i < rank; ++i) {
        const V part = random_.chance(0.6) ? as_vector(dim(i, false)) : dim(i, true);
        if (!part) return;
        parts.push_back(*part);
      }
      const V to = op(ConcatParams{0}, parts);
      if (to && random_.chance(0.7)) (void)op(ReshapeParams{}, {*x, *to});
      else if (to && is_f32(*x)) (void)op(ExpandParams{}, {scalar(1.5), *to});
      return;
    }
    case 2: {  // half of a dim
      const V whole = dim(rank - 1, true);
      const V half = whole ? binary(*whole, integers({2}), B::kDiv) : V();
      if (!half) return;
      if (random_.chance(0.5)) (void)op(SliceParams{}, {*x, integers({0}), *half, integers({rank - 1})});
      else (void)op(SliceParams{}, {*x, *half, integers({INT64_MAX}), integers({rank - 1})});
      return;
    }
    case 3: {
      const V made = op(ConstantOfShapeParams{static_cast<int64_t>(DataType::kF32), 1.25, 0}, {*sizes});
      if (made && is_f32(*x)) (void)binary(*x, *made, random_.one_of({B::kAdd, B::kMul}));
      return;
    }
    default: {
      const V count = dim(random_.below(rank), false);
      if (!count) return;
      const auto number = [&](double n) { return constant(DataType::kS64, Shape{}, [n](size_t) { return n; }); };
      const V steps = op(RangeParams{}, {number(0), *count, number(1)});
      if (!steps) return;
      const V as_float = op(CastParams{static_cast<int64_t>(DataType::kF32), true}, {*steps});
      if (as_float && is_f32(*x)) (void)either_order(*x, *as_float, B::kAdd);
    }
  }
}

// Nodes that change nothing, or seem so.
void Generator::add_identity_chain() {
  V x = pick([&](uint32_t v) { return shape(v).rank >= 1 && shape(v).rank <= 5; });
  for (int64_t more = random_.between(1, 3); more > 0 && x; --more) {
    const Shape dims = shape(*x);
    switch (random_.below(9)) {
      case 0: x = op(IdentityParams{}, {*x}); break;
      case 1: x = op(CastParams{static_cast<int64_t>(dtype(*x)), true}, {*x}); break;
      case 2: x = op(ConcatParams{random_.below(dims.rank)}, {*x}); break;
      case 3: x = op(SliceParams{}, {*x, integers({0}), integers({spoil() ? -1 : INT64_MAX}), integers({random_.below(dims.rank)})}); break;
      case 4: x = op(PadParams{PadMode::kConstant}, {*x, integers(std::vector<int64_t>(static_cast<size_t>(dims.rank) * 2, 0))}); break;
      case 5: x = op(TileParams{}, {*x, integers(std::vector<int64_t>(static_cast<size_t>(dims.rank), 1))}); break;
      case 6: x = op(ExpandParams{}, {*x, integers(std::vector<int64_t>(static_cast<size_t>(random_.between(1, dims.rank)), 1))}); break;
      case 7: if (is_f32(*x)) x = random_.chance(0.5) ? binary(*x, scalar(1), random_.one_of({B::kMul, B::kDiv})) : binary(*x, scalar(0), random_.one_of({B::kAdd, B::kSub})); break;
      default: x = op(SplitParams{random_.below(dims.rank)}, {*x});
    }
    if (x) maybe_output(*x, 0.15);
  }
}

}  // namespace ingot::random_graphs
