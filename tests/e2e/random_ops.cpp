// Single ops with random parameters, odd ones included. A call that its type rule refuses is simply not added.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "e2e/random_generator.h"

namespace ingot::random_graphs {
namespace {

using U = UnaryFunction;
using B = BinaryFunction;

}  // namespace

void Generator::add_unary() {
  const V x = pick_f32();
  if (!x) return;
  switch (random_.below(12)) {
    case 0: (void)unary(*x, random_.one_of({U::kFloor, U::kCeil, U::kRound, U::kSign})); return;
    case 1: {
      const double low = random_.real(-2, 1);
      (void)unary(*x, U::kClip, random_.chance(0.2) ? 0 : low, random_.chance(0.2) ? 6 : low + random_.real(0, 3));
      return;
    }
    case 2: (void)unary(*x, U::kLeakyRelu, random_.one_of({0.01, 0.25, -0.5, 1.5})); return;
    case 3: (void)unary(*x, random_.one_of({U::kElu, U::kCelu}), random_.one_of({1.0, 0.5, 2.0})); return;
    case 4: (void)unary(*x, U::kHardSigmoid, random_.one_of({0.2, 1.0 / 6}), 0.5); return;
    case 5: (void)unary(*x, U::kQuickGelu, 1.702); return;
    case 6: (void)unary(*x, U::kSelu, 1.6732632423543772, 1.0507009873554805); return;
    case 7:
      (void)unary(*x, random_.one_of({U::kSqrt, U::kLog, U::kReciprocal, U::kExp, U::kErf, U::kSin, U::kCos, U::kAtan, U::kAsinh, U::kSinh}));
      return;
    case 8: (void)unary(*x, random_.one_of({U::kRelu, U::kIdentity, U::kAbs, U::kNeg})); return;
    default:
      (void)unary(*x, random_.one_of({U::kSigmoid, U::kTanh, U::kSilu, U::kGelu, U::kGeluTanh, U::kHardSwish, U::kSoftplus, U::kSoftsign,
                                      U::kMish, U::kRelu}));
  }
}

void Generator::add_binary() {
  const V x = pick_f32();
  if (!x) return;
  const B function = random_.one_of({B::kAdd, B::kAdd, B::kAdd, B::kSub, B::kSub, B::kMul, B::kMul, B::kMul, B::kDiv, B::kMin, B::kMax, B::kPow});
  if (function == B::kPow) {
    (void)binary(*x, scalar(random_.one_of({2.0, 3.0, 0.5, 1.0, -1.0}), static_cast<int>(random_.below(2))), B::kPow);
    return;
  }
  if (random_.chance(0.08)) {  // a slope for each channel, or one
    (void)binary(*x, random_.chance(0.5) ? scalar(0.25) : broadcast_constant(*x), B::kPRelu);
    return;
  }
  if (random_.chance(0.08)) {  // neutral, or nearly
    const double number = function == B::kAdd || function == B::kSub ? 0 : 1;
    (void)either_order(*x, constant(DataType::kF32, shape(broadcast_constant(*x)), [&](size_t) { return spoil() ? number + 1 : number; }), function);
    return;
  }
  if (random_.chance(0.45)) {
    (void)either_order(*x, broadcast_constant(*x), function);
    return;
  }
  const V y = pick([&](uint32_t v) {
    Shape together;
    return is_f32(v) && broadcast_shapes(shape(*x), shape(v), together);
  });
  if (y) (void)either_order(*x, *y, function);
}

void Generator::add_where_or_cast() {
  const V x = pick_f32();
  if (!x) return;
  if (random_.chance(0.3)) {
    const V to = op(CastParams{static_cast<int64_t>(random_.one_of({DataType::kF64, DataType::kF32, DataType::kS32, DataType::kS64, DataType::kBool})), true}, {*x});
    if (to && random_.chance(0.8)) (void)op(CastParams{static_cast<int64_t>(DataType::kF32), true}, {*to});
    return;
  }
  V condition;
  if (random_.chance(0.5)) condition = op(BinaryParams{random_.one_of({B::kLess, B::kGreater, B::kLessOrEqual, B::kEqual}), {}}, {*x, broadcast_constant(*x)});
  if (!condition) {
    const Shape dims = shape(broadcast_constant(*x));
    condition = constant(DataType::kBool, dims, [&](size_t) { return static_cast<double>(random_.below(2)); });
  }
  if (random_.chance(0.15)) condition = unary(*condition, U::kNot);
  const V y = random_.chance(0.5) ? V(broadcast_constant(*x)) : pick([&](uint32_t v) {
    Shape together;
    return is_f32(v) && broadcast_shapes(shape(*x), shape(v), together);
  });
  if (condition && y) (void)op(WhereParams{}, random_.chance(0.5) ? std::vector<uint32_t>{*condition, *x, *y} : std::vector<uint32_t>{*condition, *y, *x});
}

void Generator::add_reduce() {
  const V x = pick_f32(1);
  if (!x) return;
  using R = ReduceFunction;
  ReduceParams params;
  params.function = random_.one_of({R::kMean, R::kMean, R::kSum, R::kMax, R::kMin, R::kL1, R::kL2, R::kSumSquare, R::kLogSumExp, R::kProd});
  params.keepdims = random_.chance(0.7);
  std::vector<uint32_t> operands = {*x};
  if (random_.chance(0.9)) {
    std::vector<int64_t> axes;
    const int rank = shape(*x).rank;
    for (int i = 0; i < rank; ++i)
      if (random_.chance(0.4)) axes.push_back(random_.chance(0.5) ? i : i - rank);
    if (axes.empty()) axes.push_back(random_.chance(0.5) ? -1 : rank - 1);
    operands.push_back(integers(axes));
  }
  (void)op(params, operands);
}

void Generator::add_arg_or_top() {
  const V x = pick([&](uint32_t v) { return is_f32(v) && shape(v).rank > 0 && info_[v].exact; });
  if (!x) return;
  const int64_t axis = random_.below(shape(*x).rank);
  if (random_.chance(0.5)) {
    (void)op(ArgReduceParams{random_.chance(0.5), random_.chance(0.5), random_.chance(0.3), axis}, {*x});
    return;
  }
  (void)node(TopKParams{axis, random_.chance(0.5)}, {*x, integers({random_.between(1, 3)})}, 2);
}

void Generator::add_softmax_or_norm() {
  const V x = pick_f32(1);
  if (!x) return;
  const Shape dims = shape(*x);
  switch (random_.below(5)) {
    case 0:
    case 1: (void)op(SoftmaxParams{random_.between(-dims.rank, dims.rank - 1), random_.chance(0.25), random_.chance(0.2)}, {*x}); return;
    case 2: {
      const int64_t axis = random_.between(-std::min(dims.rank, 2), -1);
      Shape normalised = Shape::of(dims.span().subspan(static_cast<size_t>(dims.rank + axis)));
      std::vector<uint32_t> operands = {*x, rounded_floats(normalised, 0.5, 1.5)};
      if (random_.chance(0.7)) operands.push_back(rounded_floats(normalised, -1, 1));
      (void)op(LayerNormParams{axis, 1e-2, random_.chance(0.3)}, operands);
      return;
    }
    default: {
      if (dims.rank < 2) return;
      const Shape channels{dims[1]};
      std::vector<uint32_t> operands = {*x, rounded_floats(channels, 0.5, 1.5), rounded_floats(channels, -1, 1)};
      if (random_.chance(0.5)) {
        (void)op(InstanceNormParams{1e-2, dims[1] % 2 == 0 && random_.chance(0.5) ? 2 : 0}, operands);
        return;
      }
      operands.push_back(rounded_floats(channels, -1, 1));
      operands.push_back(rounded_floats(channels, 0.2, 2));
      (void)op(BatchNormParams{1e-3}, operands);
    }
  }
}

void Generator::add_pool() {
  const V x = pick_image();
  if (!x) return;
  const auto dims = static_cast<size_t>(shape(*x).rank - 2);
  PoolParams params;
  params.function = random_.one_of({PoolFunction::kMax, PoolFunction::kMax, PoolFunction::kAverage, PoolFunction::kAverage, PoolFunction::kLp});
  params.global = random_.chance(0.2);
  if (!params.global) {
    for (size_t i = 0; i < dims; ++i) params.kernel.push_back(random_.between(1, 3));
    for (size_t i = 0; i < dims && random_.chance(0.9); ++i) params.strides.push_back(random_.between(1, 3));
    if (params.strides.size() != dims) params.strides.clear();
    if (random_.chance(0.5))
      for (size_t i = 0; i < 2 * dims; ++i) params.pads.push_back(random_.below(params.kernel[i % dims]));
    else if (random_.chance(0.3)) params.auto_pad = random_.one_of({AutoPad::kSameUpper, AutoPad::kSameLower, AutoPad::kValid});
    if (random_.chance(0.1))
      for (size_t i = 0; i < dims; ++i) params.dilations.push_back(random_.between(1, 2));
    params.ceil_mode = random_.chance(0.25);
    params.count_include_pad = random_.chance(0.4);
  }
  const bool places = params.function == PoolFunction::kMax && !params.global && random_.chance(0.1) && info_[*x].exact;
  (void)node(params, {*x}, places ? 2 : 1);
}

void Generator::add_transpose() {
  const V x = pick([&](uint32_t v) { return shape(v).rank >= 1 && shape(v).rank <= 5; });
  if (!x) return;
  const auto random_perm = [&](int rank) {
    TransposeParams params;
    params.perm.resize(static_cast<size_t>(rank));
    std::iota(params.perm.begin(), params.perm.end(), 0);
    if (random_.chance(0.4) && rank >= 3) {  // between NCHW and NHWC
      const bool forth = random_.chance(0.5);
      std::rotate(params.perm.begin() + 1, forth ? params.perm.begin() + 2 : params.perm.end() - 1, params.perm.end());
    } else if (!random_.chance(0.1)) {
      for (size_t i = params.perm.size(); i > 1; --i) std::swap(params.perm[i - 1], params.perm[static_cast<size_t>(random_.below(static_cast<int64_t>(i)))]);
    }
    if (random_.chance(0.1)) params.perm.clear();
    return params;
  };
  const TransposeParams first = random_perm(shape(*x).rank);
  V y = op(first, {*x});
  if (!y || random_.chance(0.4)) return;
  if (random_.chance(0.3)) y = unary(*y, U::kRelu);
  maybe_output(*y, 0.1);
  if (!y) return;
  TransposeParams back;
  if (random_.chance(0.7) && !first.perm.empty()) {
    back.perm.resize(first.perm.size());
    for (size_t i = 0; i < first.perm.size(); ++i) back.perm[static_cast<size_t>(first.perm[i])] = static_cast<int64_t>(i);
  } else {
    back = random_perm(shape(*y).rank);
  }
  (void)op(back, {*y});
}

void Generator::add_reshape() {
  const V x = pick([&](uint32_t v) { return shape(v).elements() > 0; });
  if (!x) return;
  const Shape dims = shape(*x);
  switch (random_.below(5)) {
    case 0: (void)op(FlattenParams{random_.between(-dims.rank, dims.rank)}, {*x}); return;
    case 1: {
      const int rank = dims.rank + 1;
      if (rank > 7) return;
      const V y = op(UnsqueezeParams{}, {*x, integers({random_.between(-rank, rank - 1)})});
      if (y && random_.chance(0.5)) (void)op(SqueezeParams{}, {*y, integers({random_.between(-rank, rank - 1)})});
      return;
    }
    case 2: (void)op(SqueezeParams{}, {*x}); return;
    default: {
      std::vector<int64_t> to;
      for (int i = 0; i < dims.rank; ++i) {
        if (i > 0 && random_.chance(0.4)) to.back() *= dims[i];
        else if (dims[i] % 2 == 0 && random_.chance(0.3)) to.push_back(2), to.push_back(dims[i] / 2);
        else to.push_back(dims[i]);
      }
      if (to.size() > 6) return;
      // A dim that varies cannot be named.
      if (!to.empty() && (!is_static(*x) || random_.chance(0.3))) {
        to[static_cast<size_t>(random_.below(static_cast<int64_t>(to.size())))] = -1;
        if (!is_static(*x) && random_.chance(0.5) && dims.rank > 0) to[0] = to[0] == -1 ? -1 : 0;
      }
      const V y = op(ReshapeParams{}, {*x, integers(to)});
      if (y && random_.chance(0.4)) {
        maybe_output(*y, 0.1);
        std::vector<int64_t> back;
        for (int64_t dim : dims.span()) back.push_back(dim);
        if (!back.empty() && (!is_static(*x) || random_.chance(0.3))) back[0] = -1;
        (void)op(ReshapeParams{}, {*y, integers(back)});
      }
    }
  }
}

void Generator::add_concat_or_split() {
  const V x = pick([&](uint32_t v) { return shape(v).rank >= 1; });
  if (!x) return;
  const int64_t axis = random_.below(shape(*x).rank);
  const int64_t written = random_.chance(0.3) ? axis - shape(*x).rank : axis;
  if (random_.chance(0.45)) {
    std::vector<uint32_t> operands = {*x};
    for (int64_t more = random_.below(3); more > 0; --more) {
      const V y = pick([&](uint32_t v) {
        if (dtype(v) != dtype(*x) || shape(v).rank != shape(*x).rank) return false;
        for (int i = 0; i < shape(v).rank; ++i)
          if (i != axis && shape(v)[i] != shape(*x)[i]) return false;
        return true;
      });
      if (y) operands.push_back(*y);
    }
    if (is_f32(*x) && random_.chance(0.15) && is_static(*x)) operands.push_back(floats(shape(*x)));
    (void)op(ConcatParams{written}, operands);
    return;
  }
  const int64_t whole = shape(*x)[static_cast<int>(axis)];
  if (whole < 2) return;
  const int64_t parts = random_.between(1, std::min<int64_t>(whole, 3));
  std::vector<uint32_t> operands = {*x};
  if (random_.chance(0.5)) {
    std::vector<int64_t> sizes(static_cast<size_t>(parts), 1);
    for (int64_t rest = whole - parts; rest > 0; --rest) ++sizes[static_cast<size_t>(random_.below(parts))];
    operands.push_back(integers(sizes));
  }
  const auto made = node(SplitParams{written}, operands, static_cast<size_t>(parts));
  if (made && made->size() > 1 && random_.chance(0.3)) {
    std::vector<uint32_t> again(made->begin(), made->end());
    if (random_.chance(0.3)) std::reverse(again.begin(), again.end());
    (void)op(ConcatParams{axis}, again);
  }
}

void Generator::add_slice_or_pad() {
  const V x = pick([&](uint32_t v) { return shape(v).rank >= 1 && shape(v).elements() > 0; });
  if (!x) return;
  const Shape dims = shape(*x);
  const int axis = static_cast<int>(random_.below(dims.rank));
  if (random_.chance(0.6)) {
    std::vector<int64_t> starts, ends, axes, steps;
    for (int i = 0; i < dims.rank; ++i) {
      if (i != axis && !random_.chance(0.2)) continue;
      const bool backwards = random_.chance(0.15);
      starts.push_back(backwards ? random_.one_of<int64_t>({-1, INT64_MAX}) : random_.between(-2, dims[i] - 1));
      ends.push_back(backwards ? INT64_MIN : random_.one_of<int64_t>({INT64_MAX, dims[i], -1, dims[i] - 1}));
      if (random_.chance(0.2)) starts.back() = backwards ? starts.back() : 0, ends.back() = backwards ? ends.back() : INT64_MAX;
      axes.push_back(random_.chance(0.3) ? i - dims.rank : i);
      steps.push_back((backwards ? -1 : 1) * random_.one_of<int64_t>({1, 1, 2, 3}));
    }
    const V y = op(SliceParams{}, {*x, integers(starts), integers(ends), integers(axes), random_.chance(0.5) ? integers(steps) : kNone});
    if (y && random_.chance(0.2)) (void)op(SliceParams{}, {*y, integers({0}), integers({1}), integers({axis})});
    return;
  }
  PadParams params{random_.one_of({PadMode::kConstant, PadMode::kConstant, PadMode::kReflect, PadMode::kEdge, PadMode::kWrap})};
  std::vector<int64_t> pads(static_cast<size_t>(dims.rank) * 2, 0);
  for (size_t i = 0; i < pads.size(); ++i)
    if (random_.chance(0.4)) pads[i] = random_.between(random_.chance(0.1) ? -1 : 0, 2);
  std::vector<uint32_t> operands = {*x, integers(pads)};
  if (params.mode == PadMode::kConstant && is_f32(*x) && random_.chance(0.4)) operands.push_back(scalar(random_.chance(0.5) ? 0 : 1.5));
  (void)op(params, operands);
}

void Generator::add_expand_or_tile() {
  const V x = pick([&](uint32_t v) { return shape(v).elements() < 500 && shape(v).rank <= 5; });
  if (!x) return;
  const Shape dims = shape(*x);
  std::vector<int64_t> numbers;
  if (random_.chance(0.5)) {
    if (random_.chance(0.3)) numbers.push_back(random_.between(1, 2));
    for (int64_t dim : dims.span()) numbers.push_back(dim == 1 && random_.chance(0.7) ? random_.between(1, 4) : 1);
    (void)op(ExpandParams{}, {*x, integers(numbers)});
  } else {
    for (int i = 0; i < dims.rank; ++i) numbers.push_back(random_.chance(0.6) ? 1 : random_.between(1, 3));
    (void)op(TileParams{}, {*x, integers(numbers)});
  }
}

void Generator::add_gather_or_scatter() {
  const V x = pick([&](uint32_t v) { return shape(v).rank >= 1 && shape(v).elements() > 0; });
  if (!x) return;
  Shape dims = info_[*x].data[0].type.shape;  // the smallest
  const int64_t axis = random_.below(dims.rank), size = dims[static_cast<int>(axis)];
  const auto indices = [&](Shape of, int64_t below) {
    const bool small = random_.chance(0.3);
    return constant(small ? DataType::kS32 : DataType::kS64, of, [&, below](size_t) { return static_cast<double>(random_.between(random_.chance(0.2) ? -below : 0, below - 1)); });
  };
  switch (random_.below(6)) {
    case 0:
    case 1: {
      V places;
      if (random_.chance(0.5)) places = pick([&](uint32_t v) { return (dtype(v) == DataType::kS64 || dtype(v) == DataType::kS32) && shape(v).rank <= 2; });
      if (!places) places = indices(random_.one_of<Shape>({Shape{}, Shape{1}, Shape{3}, Shape{2, 2}}), size);
      (void)op(GatherParams{random_.chance(0.3) ? axis - dims.rank : axis}, {*x, *places});
      return;
    }
    case 2: {
      if (!is_static(*x)) return;
      dims[static_cast<int>(axis)] = random_.between(1, 3);
      (void)op(GatherElementsParams{axis}, {*x, indices(dims, size)});
      return;
    }
    case 3: (void)op(GatherNDParams{0}, {*x, indices(Shape{2, 1}, dims[0])}); return;
    case 4: {
      if (!is_static(*x) || !is_f32(*x)) return;
      dims[static_cast<int>(axis)] = random_.between(1, 3);
      const auto kind = random_.one_of({ScatterReduction::kReplace, ScatterReduction::kAdd, ScatterReduction::kMax});
      (void)op(ScatterElementsParams{axis, kind}, {*x, indices(dims, size), floats(dims)});
      return;
    }
    default: {
      if (!is_static(*x) || !is_f32(*x)) return;
      Shape updates = dims;
      updates[0] = 2;
      (void)op(ScatterNDParams{random_.one_of({ScatterReduction::kReplace, ScatterReduction::kAdd})}, {*x, indices(Shape{2, 1}, dims[0]), floats(updates)});
    }
  }
}

void Generator::add_resize_or_depth() {
  const V x = pick_image();
  if (!x || shape(*x).rank != 4) return;
  const Shape dims = shape(*x);
  const int64_t block = random_.between(1, 2);
  switch (random_.below(6)) {
    case 0: (void)op(DepthToSpaceParams{block, random_.chance(0.5)}, {*x}); return;
    case 1: (void)op(SpaceToDepthParams{block}, {*x}); return;
    default: {
      ResizeParams params;
      params.mode = random_.one_of({ResizeMode::kNearest, ResizeMode::kNearest, ResizeMode::kLinear, ResizeMode::kCubic});
      using C = ResizeCoordinates;
      params.coordinates = random_.one_of({C::kHalfPixel, C::kAsymmetric, C::kAlignCorners, C::kPytorchHalfPixel, C::kHalfPixelSymmetric});
      params.nearest = random_.one_of({ResizeNearest::kRoundPreferFloor, ResizeNearest::kFloor, ResizeNearest::kCeil, ResizeNearest::kRoundPreferCeil});
      params.exclude_outside = params.mode == ResizeMode::kCubic && random_.chance(0.3);
      params.antialias = params.mode != ResizeMode::kNearest && random_.chance(0.2);
      std::vector<uint32_t> operands = {*x, kNone};
      if (random_.chance(0.6)) {
        const double h = random_.one_of({1.0, 2.0, 2.0, 0.5, 1.5, 3.0}), w = random_.chance(0.7) ? h : random_.one_of({1.0, 2.0, 0.75});
        const double factors[] = {1, 1, h, w};
        operands.push_back(constant(DataType::kF32, Shape{4}, [&](size_t i) { return factors[i]; }));
      } else {
        if (!is_static(*x)) params.axes = {2, 3};
        operands.push_back(kNone);
        std::vector<int64_t> sizes = {random_.between(1, 12), random_.between(1, 12)};
        if (params.axes.empty()) sizes.insert(sizes.begin(), {dims[0], dims[1]});
        operands.push_back(integers(sizes));
      }
      (void)op(params, operands);
    }
  }
}

void Generator::add_integers() {
  const V x = pick([&](uint32_t v) { return dtype(v) == DataType::kS64 || dtype(v) == DataType::kS32; });
  if (!x) return;
  const DataType type = dtype(*x);
  if (random_.chance(0.3)) {
    (void)op(CastParams{static_cast<int64_t>(random_.one_of({DataType::kF32, DataType::kF32, DataType::kS32, DataType::kS64, DataType::kBool})), true}, {*x});
    return;
  }
  if (random_.chance(0.15)) {
    (void)op(ReduceParams{random_.one_of({ReduceFunction::kSum, ReduceFunction::kMax, ReduceFunction::kProd}), random_.chance(0.5), false}, {*x});
    return;
  }
  const V other = random_.chance(0.4) ? pick([&](uint32_t v) {
    Shape together;
    return dtype(v) == type && broadcast_shapes(shape(*x), shape(v), together);
  }) : V();
  const B function = random_.one_of({B::kAdd, B::kSub, B::kMul, B::kMin, B::kMax, B::kEqual, B::kLess, B::kDiv, B::kMod});
  // A computed size that is the same at every probe by chance is more than an engine promises to notice.
  if (info_[*x].known && (function == B::kMod || function == B::kEqual)) return;
  const int64_t least = function == B::kDiv || function == B::kMod ? 1 : -2;
  const Shape dims = random_.chance(0.5) || !is_static(*x) ? Shape{} : shape(*x);
  // A computed divisor may be 0.
  const uint32_t operand = other && least < 1 ? *other : constant(type, dims, [&](size_t) { return static_cast<double>(random_.between(least, 3)); });
  (void)binary(*x, operand, function);
}

void Generator::add_sequence_op() {
  const V x = pick_f32(2);
  if (!x) return;
  const Shape dims = info_[*x].data[0].type.shape;
  switch (random_.below(4)) {
    case 0: {
      const uint32_t axis = constant(DataType::kS64, Shape{}, [&](size_t) { return static_cast<double>(random_.below(dims.rank)); });
      (void)op(CumulateParams{false, random_.chance(0.3), random_.chance(0.3)}, {*x, axis});
      return;
    }
    case 1: (void)op(TriluParams{random_.chance(0.5)}, {*x, random_.chance(0.5) ? constant(DataType::kS64, Shape{}, [&](size_t) { return static_cast<double>(random_.between(-2, 2)); }) : kNone}); return;
    case 2: {
      if (!is_static(*x)) return;
      const std::vector<int64_t> lengths = [&] {
        std::vector<int64_t> made;
        for (int64_t i = 0; i < dims[1]; ++i) made.push_back(random_.between(0, dims[0]));
        return made;
      }();
      (void)op(ReverseSequenceParams{1, 0}, {*x, integers(lengths)});
      return;
    }
    default: {
      const V places = pick([&](uint32_t v) { return dtype(v) == DataType::kS64 && shape(v).rank <= 2; });
      if (!places) return;
      const uint32_t values = floats(Shape{2});
      (void)op(OneHotParams{random_.chance(0.5) ? -1 : 0}, {*places, constant(DataType::kS64, Shape{}, [](size_t) { return 4; }), values});
    }
  }
}

void Generator::add_recurrent_or_sampling() {
  const V x = pick([&](uint32_t v) { return is_f32(v) && (shape(v).rank == 3 || shape(v).rank == 4) && shape(v).elements() > 0; });
  if (!x) return;
  const Shape dims = shape(*x);
  if (dims.rank == 3) {
    RecurrentParams params;
    params.cell = random_.one_of({RecurrentCell::kLstm, RecurrentCell::kGru, RecurrentCell::kRnn});
    params.direction = random_.one_of({RecurrentDirection::kForward, RecurrentDirection::kReverse, RecurrentDirection::kBidirectional});
    using A = RecurrentActivation;
    const std::vector<A> functions = params.cell == RecurrentCell::kRnn   ? std::vector<A>{A::kTanh}
                                     : params.cell == RecurrentCell::kGru ? std::vector<A>{A::kSigmoid, A::kTanh}
                                                                          : std::vector<A>{A::kSigmoid, A::kTanh, A::kTanh};
    const int64_t directions = recurrent_directions(params.direction), gates = recurrent_gates(params.cell), hidden = 4;
    for (int64_t d = 0; d < directions; ++d)
      for (A function : functions) params.activations.push_back(static_cast<int64_t>(function)), params.alphas.push_back(0), params.betas.push_back(0);
    std::vector<uint32_t> operands = {*x, rounded_floats(Shape{directions, gates * hidden, dims[2]}, -1, 1), rounded_floats(Shape{directions, gates * hidden, hidden}, -1, 1)};
    if (random_.chance(0.6)) operands.push_back(rounded_floats(Shape{directions, 2 * gates * hidden}, -1, 1));
    (void)node(params, operands, params.cell == RecurrentCell::kLstm ? 3 : 2);
    return;
  }
  const uint32_t grid = floats(Shape{dims[0], 3, 2, 2}, -1.2, 1.2);
  (void)op(GridSampleParams{random_.one_of({GridSampleMode::kLinear, GridSampleMode::kCubic}), random_.one_of({GridSamplePadding::kZeros, GridSamplePadding::kBorder}), random_.chance(0.5)},
           {*x, grid});
}

}  // namespace ingot::random_graphs
