// Conv and ConvTranspose against loops that index the definition directly, and the quantised epilogues against the
// formulas of docs/numerics.md spelled out again.
#include <algorithm>
#include <cmath>

#include "op_runner.h"
#include "runtime/ops/requantize.h"
#include "runtime/ops/window.h"

namespace ingot {
namespace {

struct Geometry {
  const char* name;
  Shape x, w;
  ConvParams params;
};

ConvParams conv(std::vector<int64_t> strides = {}, std::vector<int64_t> pads = {}, std::vector<int64_t> dilations = {},
                int64_t groups = 1, AutoPad auto_pad = AutoPad::kNotSet) {
  ConvParams p;
  p.strides = std::move(strides);
  p.pads = std::move(pads);
  p.dilations = std::move(dilations);
  p.groups = groups;
  p.auto_pad = auto_pad;
  return p;
}

std::vector<Geometry> geometries() {
  return {
      {"1x1", {1, 5, 4, 6}, {7, 5, 1, 1}, conv()},
      {"1x1 stride 2", {2, 3, 5, 5}, {4, 3, 1, 1}, conv({2, 2})},
      {"1x1 stride 2, padded to the same size", {1, 2, 3, 3}, {2, 2, 1, 1}, conv({2, 2}, {0, 0, 2, 2})},
      {"1x1 with padding", {1, 2, 3, 3}, {2, 2, 1, 1}, conv({1, 1}, {1, 0, 0, 2})},
      {"3x3 same", {2, 3, 7, 5}, {4, 3, 3, 3}, conv({1, 1}, {1, 1, 1, 1})},
      {"asymmetric", {1, 2, 6, 9}, {3, 2, 3, 2}, conv({2, 3}, {0, 1, 2, 0})},
      {"dilated", {1, 2, 9, 9}, {2, 2, 3, 3}, conv({1, 2}, {2, 2, 2, 2}, {2, 3})},
      {"groups", {7, 6, 5, 5}, {4, 3, 3, 3}, conv({1, 1}, {1, 1, 1, 1}, {}, 2)},
      {"depthwise, multiplier 2", {1, 3, 6, 6}, {6, 1, 3, 3}, conv({2, 2}, {1, 1, 1, 1}, {}, 3)},
      {"same upper", {1, 1, 5, 6}, {1, 1, 2, 4}, conv({2, 2}, {}, {}, 1, AutoPad::kSameUpper)},
      {"same lower, dilated", {1, 1, 5, 6}, {1, 1, 2, 4}, conv({1, 2}, {}, {1, 2}, 1, AutoPad::kSameLower)},
      {"valid", {1, 2, 5, 6}, {2, 2, 2, 2}, conv({2, 2}, {}, {}, 1, AutoPad::kValid)},
      {"1d", {2, 3, 11}, {4, 3, 5}, conv({2}, {2, 1})},
      {"3d", {1, 2, 3, 4, 5}, {3, 2, 2, 3, 2}, conv({1, 2, 1}, {1, 0, 1, 0, 1, 1})},
      {"window inside the padding", {1, 1, 2, 2}, {1, 1, 2, 2}, conv({1, 1}, {3, 3, 3, 3})},
      {"row longer than one stretch", {1, 1, 1, 1100}, {2, 1, 1, 3}, conv({1, 1}, {0, 1, 0, 1})},
      {"batch 0", {0, 3, 5, 5}, {4, 3, 3, 3}, conv()},
      {"no outputs", {1, 3, 5, 5}, {0, 3, 3, 3}, conv()},
      {"no inputs", {1, 0, 5, 5}, {2, 0, 3, 3}, conv()},
  };
}

// Position of dims in three spatial dims, leading ones filled with `fill`.
std::array<int64_t, 3> three(const Shape& s, int64_t fill) {
  std::array<int64_t, 3> r{fill, fill, fill};
  for (int i = 2; i < s.rank; ++i) r[static_cast<size_t>(3 - s.rank + i)] = s[i];
  return r;
}

// The definition, term by term; value(x index or −1 in padding, w index) is one product.
template <class Sum, class Product>
std::vector<Sum> direct_conv(const Geometry& g, const Shape& y, Product&& product) {
  const auto x = three(g.x, 1), w = three(g.w, 1), o = three(y, 1);
  const int n = g.x.rank - 2;
  std::array<int64_t, 3> stride{1, 1, 1}, dilation{1, 1, 1}, pad{0, 0, 0};
  for (int i = 0; i < n; ++i) {
    const size_t at = static_cast<size_t>(3 - n + i);
    stride[at] = attribute(g.params.strides, i, 1);
    dilation[at] = attribute(g.params.dilations, i, 1);
    pad[at] = conv_pads(g.params, i, n, g.x[i + 2], g.w[i + 2]).begin;
  }
  const int64_t groups = g.params.groups, per_group = g.w[1];
  std::vector<Sum> sums;
  for (int64_t b = 0; b < y[0]; ++b)
    for (int64_t oc = 0; oc < y[1]; ++oc)
      for (int64_t p = 0; p < o[0] * o[1] * o[2]; ++p) {
        const std::array<int64_t, 3> at{p / (o[1] * o[2]), p / o[2] % o[1], p % o[2]};
        Sum sum{};
        for (int64_t c = 0; c < per_group; ++c)
          for (int64_t k = 0; k < w[0] * w[1] * w[2]; ++k) {
            const std::array<int64_t, 3> tap{k / (w[1] * w[2]), k / w[2] % w[1], k % w[2]};
            int64_t index = (b * g.x[1] + oc / (y[1] / groups) * per_group + c);
            bool inside = true;
            for (size_t i = 0; i < 3; ++i) {
              const int64_t position = at[i] * stride[i] - pad[i] + tap[i] * dilation[i];
              inside = inside && position >= 0 && position < x[i];
              index = index * x[i] + position;
            }
            if (inside) sum += product(index, (oc * per_group + c) * w[0] * w[1] * w[2] + k, oc);
          }
        sums.push_back(sum);
      }
  return sums;
}

TEST(Conv, FloatEqualsTheDefinition) {
  TestRandom random(1);
  for (const Geometry& g : geometries()) {
    SCOPED_TRACE(g.name);
    const TestTensor x = random.reals(g.x), w = random.reals(g.w), b = random.reals({g.w[0]});
    const TestTensor y = run_op(g.params, {x, w, b});
    const auto xs = x.values<float>(), ws = w.values<float>(), bs = b.values<float>(), ys = y.values<float>();
    const auto want = direct_conv<double>(g, y.type.shape, [&](int64_t i, int64_t j, int64_t) {
      return static_cast<double>(xs[static_cast<size_t>(i)]) * static_cast<double>(ws[static_cast<size_t>(j)]);
    });
    ASSERT_EQ(ys.size(), want.size());
    const int64_t plane = y.type.shape.elements() ? y.type.shape.elements() / y.type.shape[0] / y.type.shape[1] : 1;
    for (size_t i = 0; i < ys.size(); ++i) {
      const size_t channel = static_cast<size_t>(static_cast<int64_t>(i) / plane % y.type.shape[1]);
      ASSERT_NEAR(static_cast<double>(ys[i]), want[i] + static_cast<double>(bs[channel]), 1e-5) << i;
    }
  }
}

template <class X, class W>
void integer_accumulators() {
  TestRandom random(2);
  for (const Geometry& g : geometries()) {
    SCOPED_TRACE(g.name);
    QuantParams per_channel{{}, {}, 0, false};
    for (int64_t o = 0; o < g.w[0]; ++o) {
      per_channel.scales.push_back(random.real(0.001f, 0.1f));
      per_channel.zero_points.push_back(static_cast<int32_t>(random.range(-3, 3)));
    }
    const int64_t x_lo = std::numeric_limits<X>::min(), x_hi = std::numeric_limits<X>::max();
    const TestTensor x = random.integers<X>(g.x, x_lo, x_hi, quant(0.02f, std::is_signed_v<X> ? -7 : 131));
    const TestTensor w =
        random.integers<W>(g.w, std::numeric_limits<W>::min(), std::numeric_limits<W>::max(), per_channel);
    const TestTensor b = random.integers<int32_t>({g.w[0]}, -10000, 10000);
    const TestTensor y = run_op(g.params, {x, w, b}, TensorType{DataType::kS32, {}, Layout::kLinear, {}});
    const auto xs = x.values<X>();
    const auto ws = w.values<W>();
    const auto bs = b.values<int32_t>(), ys = y.values<int32_t>();
    auto want = direct_conv<int64_t>(g, y.type.shape, [&](int64_t i, int64_t j, int64_t o) {
      return static_cast<int64_t>(xs[static_cast<size_t>(i)] - x.type.quant->zero_points[0]) *
             (ws[static_cast<size_t>(j)] - per_channel.zero_points[static_cast<size_t>(o)]);
    });
    ASSERT_EQ(ys.size(), want.size());
    const int64_t plane = ys.empty() ? 1 : y.type.shape.elements() / y.type.shape[0] / y.type.shape[1];
    for (size_t i = 0; i < ys.size(); ++i) {
      want[i] += bs[static_cast<size_t>(static_cast<int64_t>(i) / plane % y.type.shape[1])];
      ASSERT_EQ(ys[i], want[i]) << i;
    }
  }
}
TEST(Conv, IntegerAccumulatorsEqualTheDefinition) {
  integer_accumulators<uint8_t, int8_t>();
  integer_accumulators<int8_t, int8_t>();
  integer_accumulators<uint8_t, uint8_t>();
  integer_accumulators<int8_t, uint8_t>();
}

// The epilogues, from the accumulators: every combination of output, residual and activation.
TEST(Conv, QuantisedEpiloguesFollowTheContract) {
  TestRandom random(3);
  const Shape xs{2, 3, 4, 5}, ws{4, 3, 3, 3}, ys{2, 4, 4, 5};
  const ConvParams base = conv({1, 1}, {1, 1, 1, 1});
  const QuantParams per_channel{{0.011f, 0.007f, 0.02f, 0.0043f}, {0, 0, 0, 0}, 0, false};
  const float s_x = 0.037f;
  const TestTensor x = random.integers<uint8_t>(xs, 0, 255, quant(s_x, 113));
  const TestTensor w = random.integers<int8_t>(ws, -127, 127, per_channel);
  const TestTensor b = random.integers<int32_t>({4}, -3000, 3000);
  const auto acc = run_op(base, {x, w, b}, TensorType{DataType::kS32, {}, Layout::kLinear, {}}).values<int32_t>();
  const float s_r = 0.11f, s_y = 0.21f;
  const TestTensor residuals[] = {absent(), random.integers<uint8_t>(ys, 0, 255, quant(s_r, 90)),
                                  random.integers<int8_t>(ys, -128, 127, quant(s_r, -4)), random.reals(ys, -5, 5)};
  const Activation activations[] = {{},
                                    {UnaryFunction::kRelu, 0, 0},
                                    {UnaryFunction::kClip, 0, 6},
                                    {UnaryFunction::kClip, -2.5, 3.1},
                                    {UnaryFunction::kHardSwish, 0, 0},
                                    {UnaryFunction::kSilu, 0, 0},
                                    {UnaryFunction::kGelu, 0, 0},
                                    {UnaryFunction::kSigmoid, 0, 0},
                                    {UnaryFunction::kLeakyRelu, 0.1, 0},
                                    {UnaryFunction::kTanh, 0, 0}};
  for (const Activation& f : activations)
    for (int r = 0; r < 4; ++r)
      for (int out = 0; out < 3; ++out) {  // u8, s8, f32
        SCOPED_TRACE(std::string(to_string(f.function)) + " residual " + std::to_string(r) + " output " +
                     std::to_string(out));
        ConvParams p = base;
        p.activation = f;
        const int32_t z_y = out == 0 ? 77 : -20, lo = out == 0 ? 0 : -128, hi = out == 0 ? 255 : 127;
        const TensorType type = out == 0   ? quantized<uint8_t>(s_y, z_y)
                                : out == 1 ? quantized<int8_t>(s_y, z_y)
                                           : TensorType{};
        const TestTensor y = run_op(p, {x, w, b, residuals[r]}, type);
        const bool curved = f.function != UnaryFunction::kIdentity && f.function != UnaryFunction::kRelu &&
                            f.function != UnaryFunction::kClip;
        const float cut_lo = f.function == UnaryFunction::kRelu   ? 0.0f
                             : f.function == UnaryFunction::kClip ? static_cast<float>(f.alpha)
                                                                  : -1e30f;
        const float cut_hi = f.function == UnaryFunction::kClip ? static_cast<float>(f.beta) : 1e30f;
        for (size_t i = 0; i < acc.size(); ++i) {
          const double s_w = static_cast<double>(per_channel.scales[i / 20 % 4]);
          const int32_t q = r == 1   ? residuals[1].values<uint8_t>()[i] - 90
                            : r == 2 ? residuals[2].values<int8_t>()[i] + 4
                                     : 0;
          const float real_residual = r == 3 ? residuals[3].values<float>()[i] : 0.0f;
          if (out < 2 && !curved && r < 3) {
            const float m = static_cast<float>(static_cast<double>(s_x) * s_w / static_cast<double>(s_y));
            float v = static_cast<float>(acc[i]) * m;
            if (r > 0)
              v = std::fma(static_cast<float>(q),
                           static_cast<float>(static_cast<double>(s_r) / static_cast<double>(s_y)), v);
            const double cut_lo_q = std::nearbyint(static_cast<double>(cut_lo / s_y)) + z_y,
                         cut_hi_q = std::nearbyint(static_cast<double>(cut_hi / s_y)) + z_y;
            double want = std::nearbyint(static_cast<double>(v)) + z_y;
            want = std::min(std::max({want, static_cast<double>(lo), cut_lo_q}),
                            std::min(static_cast<double>(hi), cut_hi_q));
            ASSERT_EQ(out == 0 ? y.values<uint8_t>()[i] : y.values<int8_t>()[i], want) << i;
            continue;
          }
          float t = static_cast<float>(acc[i]) * static_cast<float>(static_cast<double>(s_x) * s_w);
          if (r == 1 || r == 2) t = std::fma(static_cast<float>(q), s_r, t);
          if (r == 3) t = t + real_residual;
          t = curved ? apply_activation(f, t) : std::min(std::max(t, cut_lo), cut_hi);
          if (out == 2) {
            ASSERT_EQ(y.values<float>()[i], t) << i;
          } else {
            const double want =
                std::min(std::max(std::nearbyint(static_cast<double>(t / s_y)) + z_y, static_cast<double>(lo)),
                         static_cast<double>(hi));
            ASSERT_EQ(out == 0 ? y.values<uint8_t>()[i] : y.values<int8_t>()[i], want) << i;
          }
        }
      }
}

TEST(Conv, RoundsHalfToEvenAndSaturates) {
  // One tap of weight 1; s_x = s_w = 1, s_y = 2: halves are ties.
  const TestTensor x = tensor<uint8_t>({1, 1, 6}, {0, 1, 3, 5, 6, 255}, quant(1, 0)),
                   w = tensor<int8_t>({1, 1, 1}, {1}, quant(1, 0));
  EXPECT_EQ(run_op(ConvParams{}, {x, w}, quantized<uint8_t>(2, 0)).values<uint8_t>(),
            (std::vector<uint8_t>{0, 0, 2, 2, 3, 128}));
  EXPECT_EQ(run_op(ConvParams{}, {x, w}, quantized<int8_t>(1, -100)).values<int8_t>(),
            (std::vector<int8_t>{-100, -99, -97, -95, -94, 127}));
  EXPECT_EQ(run_op(ConvParams{}, {x, w}, quantized<uint8_t>(1, 250)).values<uint8_t>(),
            (std::vector<uint8_t>{250, 251, 253, 255, 255, 255}));
}

TEST(Conv, FusesResidualAndActivationInFloat) {
  const TestTensor x = tensor<float>({1, 1, 3}, {1, -2, 3}), w = tensor<float>({1, 1, 1}, {2}),
                   b = tensor<float>({1}, {1});
  const TestTensor r = tensor<float>({1, 1, 3}, {0.5f, 0.5f, -100});
  ConvParams p;
  p.activation.function = UnaryFunction::kRelu;
  EXPECT_EQ(run_op(p, {x, w, b, r}).values<float>(), (std::vector<float>{3.5f, 0, 0}));
  EXPECT_EQ(run_op(p, {x, w, absent(), r}).values<float>(), (std::vector<float>{2.5f, 0, 0}));
}

TEST(Conv, RefusesInWords) {
  TestRandom random(4);
  const auto refuse = [&](const Shape& x, const Shape& w, const ConvParams& p, std::optional<Shape> bias = {}) {
    std::vector<TestTensor> inputs{random.reals(x), random.reals(w)};
    if (bias) inputs.push_back(random.reals(*bias));
    return refusal(p, inputs);
  };
  EXPECT_EQ(refuse({1, 3, 8, 8}, {8, 4, 3, 3}, conv()),
            "conv: input has 3 channels: got 3, need 4 (weights 8x4x3x3 × groups 1)");
  EXPECT_EQ(refuse({1, 4, 8, 8}, {9, 2, 3, 3}, conv({}, {}, {}, 2)),
            "conv: output channels not a multiple of groups: got 9, need a multiple of 2");
  EXPECT_EQ(refuse({1, 4, 8, 8}, {8, 4, 3, 3}, conv({}, {}, {}, 0)), "conv: groups: got 0, need 1 or more");
  EXPECT_EQ(refuse({1, 4, 8}, {8, 4, 3, 3}, conv()), "conv: rank of weights: got 4, need 3 as the input");
  EXPECT_EQ(refuse({4, 8}, {8, 4}, conv()), "conv: rank of input: got 4x8, need 3 to 5 dims");
  EXPECT_EQ(refuse({1, 4, 8, 8}, {8, 4, 3, 3}, conv({0, 1})),
            "conv: strides out of range: got 0, need 1 to 2147483647");
  EXPECT_EQ(refuse({1, 4, 8, 8}, {8, 4, 3, 3}, conv({}, {-1, 0, 0, 0})),
            "conv: pads out of range: got -1, need 0 to 2147483647");
  EXPECT_EQ(refuse({1, 4, 8, 8}, {8, 4, 3, 3}, conv({1})), "conv: length of strides: got 1, need 2");
  EXPECT_EQ(refuse({1, 4, 2, 8}, {8, 4, 3, 3}, conv()),
            "conv: spatial dim 0 smaller than the window: got 2 + padding 0, need 3");
  EXPECT_EQ(refuse({1, 4, 8, 8}, {8, 4, 3, 3}, conv(), Shape{4}), "conv: bias: got 4, need 8");
  EXPECT_NE(refuse({1, 1, 4, 4}, {1, 1, 1, 1}, conv({}, {INT32_MAX, INT32_MAX, INT32_MAX, INT32_MAX})), "");
  EXPECT_NE(refusal(conv(), {random.reals({1, 1, 4})}), "");
  std::vector<TestTensor> with_residual{random.reals({1, 1, 4}), random.reals({2, 1, 1}), absent(),
                                        random.reals({1, 1, 4})};
  EXPECT_EQ(refusal(conv(), with_residual), "conv: residual: got 1x1x4, need 1x2x4");
}

TEST(Conv, RefusesOutputsWithoutMeaning) {
  const TestTensor x = tensor<uint8_t>({1, 1, 1}, {1}, quant(1, 0)), w = tensor<int8_t>({1, 1, 1}, {1}, quant(1, 0));
  const TensorType types[] = {{DataType::kU8, {1, 1, 1}, Layout::kLinear, {}},
                              {DataType::kS64, {1, 1, 1}, Layout::kLinear, {}}};
  int64_t y = 0;
  const ConstTensorRef inputs[] = {{&x.type, x.bytes.data()}, {&w.type, w.bytes.data()}};
  for (const TensorType& type : types) {
    const TensorRef output{&type, &y};
    EXPECT_EQ(run_reference(ConvParams{}, inputs, std::span(&output, 1)).code(), StatusCode::kUnsupported);
  }
}

// y += x·w scattered from each input position: the definition of the transpose.
TEST(ConvTranspose, EqualsScattering) {
  struct Case {
    Shape x, w;
    int64_t stride, dilation, pad_begin, pad_end, extra, groups;
  };
  TestRandom random(5);
  for (const Case& c : {Case{{2, 3, 5}, {3, 4, 3}, 1, 1, 0, 0, 0, 1}, Case{{1, 4, 6}, {4, 2, 4}, 2, 1, 1, 2, 0, 2},
                        Case{{1, 2, 4}, {2, 3, 3}, 3, 2, 0, 1, 2, 1}, Case{{1, 1, 1}, {1, 1, 1}, 4, 1, 0, 0, 3, 1},
                        Case{{0, 2, 4}, {2, 3, 3}, 1, 1, 0, 0, 0, 1}, Case{{1, 1, 700}, {1, 1, 4}, 2, 1, 1, 1, 0, 1}}) {
    ConvTransposeParams p;
    p.strides = {c.stride};
    p.dilations = {c.dilation};
    p.pads = {c.pad_begin, c.pad_end};
    p.output_padding = {c.extra};
    p.groups = c.groups;
    const TestTensor x = random.reals(c.x), w = random.reals(c.w);
    const TestTensor y = run_op(p, {x, w});
    const int64_t length = (c.x[2] - 1) * c.stride + (c.w[2] - 1) * c.dilation + 1 + c.extra - c.pad_begin - c.pad_end;
    ASSERT_EQ(y.type.shape, (Shape{c.x[0], c.w[1] * c.groups, length}));
    std::vector<double> want(static_cast<size_t>(y.type.shape.elements()));
    const auto xs = x.values<float>(), ws = w.values<float>(), ys = y.values<float>();
    for (int64_t n = 0; n < c.x[0]; ++n)
      for (int64_t ic = 0; ic < c.x[1]; ++ic)
        for (int64_t i = 0; i < c.x[2]; ++i)
          for (int64_t j = 0; j < c.w[1]; ++j)
            for (int64_t k = 0; k < c.w[2]; ++k) {
              const int64_t o = i * c.stride + k * c.dilation - c.pad_begin,
                            channel = ic / (c.x[1] / c.groups) * c.w[1] + j;
              if (o < 0 || o >= length) continue;
              want[static_cast<size_t>((n * y.type.shape[1] + channel) * length + o)] +=
                  static_cast<double>(xs[static_cast<size_t>((n * c.x[1] + ic) * c.x[2] + i)]) *
                  static_cast<double>(ws[static_cast<size_t>((ic * c.w[1] + j) * c.w[2] + k)]);
            }
    for (size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(static_cast<double>(ys[i]), want[i], 1e-5) << i;
  }
}

TEST(ConvTranspose, OutputShapeAndSamePads) {
  const TestTensor x = tensor<float>({1, 1, 2}, {1, 2}), w = tensor<float>({1, 1, 3}, {1, 10, 100});
  ConvTransposeParams p;
  p.strides = {2};  // full output: 1 10 102 20 200
  EXPECT_EQ(run_op(p, {x, w}).values<float>(), (std::vector<float>{1, 10, 102, 20, 200}));
  p.output_shape = {4};  // the odd one is cut in front unless SAME_UPPER
  EXPECT_EQ(run_op(p, {x, w}).values<float>(), (std::vector<float>{10, 102, 20, 200}));
  p.auto_pad = AutoPad::kSameUpper;
  EXPECT_EQ(run_op(p, {x, w}).values<float>(), (std::vector<float>{1, 10, 102, 20}));
  p.output_shape = {};
  EXPECT_EQ(run_op(p, {x, w}).values<float>(), (std::vector<float>{1, 10, 102, 20}));
  p.auto_pad = AutoPad::kSameLower;
  EXPECT_EQ(run_op(p, {x, w}).values<float>(), (std::vector<float>{10, 102, 20, 200}));
  p.pads = {9, 9};
  p.auto_pad = AutoPad::kNotSet;
  EXPECT_EQ(refusal(p, {x, w}), "conv_transpose: output size of spatial dim 0: got -13, need 1 or more");
  EXPECT_EQ(refusal(ConvTransposeParams{}, {x, tensor<float>({2, 1, 1}, {1, 2})}),
            "conv_transpose: input has 1 channels: got 1, need 2 (weights 2x1x1 × groups 1)");
}

TEST(ConvTranspose, Quantised) {
  const TestTensor x = tensor<uint8_t>({1, 1, 2}, {12, 9}, quant(0.5f, 10));
  const TestTensor w = tensor<int8_t>({1, 2, 2}, {3, -4, 5, 6}, QuantParams{{1, 0.25f}, {0, 0}, 1, false});
  ConvTransposeParams p;
  // x − z = {2, −1}: channel 0 accumulates 6, −8−3, 4; channel 1: 10, 12−5, −6.
  EXPECT_EQ(run_op(p, {x, w}, TensorType{DataType::kS32, {}, Layout::kLinear, {}}).values<int32_t>(),
            (std::vector<int32_t>{6, -11, 4, 10, 7, -6}));
  EXPECT_EQ(run_op(p, {x, w}, TensorType{}).values<float>(), (std::vector<float>{3, -5.5f, 2, 1.25f, 0.875f, -0.75f}));
}

// Scales per channel: each channel is what a convolution with that channel's scales gives.
TEST(Conv, ChannelScalesAreThoseOfEachChannel) {
  TestRandom random(5);
  const Shape shape{2, 3, 5, 6};
  const QuantParams weights{{0.011f, 0.007f, 0.02f}, {0, 0, 0}, 0, false}, input{{0.03f, 0.002f, 0.1f}, {0, 200, 128}, 1, false},
      output{{0.2f, 0.01f, 0.5f}, {0, 255, 90}, 1, false};
  const Activation activations[] = {{}, {UnaryFunction::kRelu, 0, 0}, {UnaryFunction::kClip, -0.3, 2}, {UnaryFunction::kSilu, 0, 0}};
  for (const bool depthwise : {true, false})
    for (const bool with_residual : {false, true})
      for (const Activation& f : activations) {
        ConvParams p = conv({1, 1}, {1, 1, 1, 1}, {}, depthwise ? 3 : 1);
        p.activation = f;
        TestTensor x = random.integers<uint8_t>(shape, 0, 255, depthwise ? input : quant(0.03f, 100));
        const TestTensor w = random.integers<int8_t>({3, depthwise ? 1 : 3, 3, 3}, -127, 127, weights);
        const TestTensor b = random.integers<int32_t>({3}, -3000, 3000);
        const TestTensor residual = with_residual ? random.integers<int8_t>(shape, -128, 127, quant(0.11f, -4)) : absent();
        const TestTensor y = run_op(p, {x, w, b, residual}, TensorType{DataType::kU8, {}, Layout::kLinear, output});
        const auto got = y.values<uint8_t>();
        std::vector<int> seen(256);
        for (size_t c = 0; c < 3; ++c) {
          if (depthwise) x.type.quant = quant(input.scales[c], input.zero_points[c]);
          const auto want = run_op(p, {x, w, b, residual}, quantized<uint8_t>(output.scales[c], output.zero_points[c])).values<uint8_t>();
          for (size_t i = 0; i < want.size(); ++i)
            if (i / 30 % 3 == c) {
              ASSERT_EQ(got[i], want[i]) << "element " << i;
              ++seen[got[i]];
            }
        }
        EXPECT_GT(std::count_if(seen.begin(), seen.end(), [](int n) { return n > 0; }), 8);  // clip leaves the fewest
      }
}
TEST(Conv, ChannelScalesOfTheInputAreForDepthwiseAlone) {
  TestRandom random(6);
  const QuantParams by_channel{{0.1f, 0.2f}, {3, 4}, 1, false};
  const TestTensor x = random.integers<uint8_t>({1, 2, 3, 3}, 0, 255, by_channel);
  const TestTensor w = random.integers<int8_t>({2, 2, 1, 1}, -127, 127, quant(0.1f, 0));
  const TensorType y{DataType::kU8, {1, 2, 3, 3}, Layout::kLinear, quant(0.1f, 0)};
  std::vector<std::byte> bytes(18);
  const ConstTensorRef in[] = {{&x.type, x.bytes.data()}, {&w.type, w.bytes.data()}};
  const TensorRef out[] = {{&y, bytes.data()}};
  EXPECT_NE(run_reference(conv(), in, out).message().find("if depthwise"), std::string_view::npos);
}

}  // namespace
}  // namespace ingot
