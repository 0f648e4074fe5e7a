// The rounding rule, QuantizeLinear and DequantizeLinear.
#include "runtime/ops/quantize.h"

#include <cmath>
#include <limits>

#include "op_runner.h"
#include "runtime/ops/requantize.h"

namespace ingot {
namespace {

template <class T>
using List = std::vector<T>;

TEST(Quantize, RoundsHalfToEvenSaturatesAndMapsNaNToZeroPoint) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(quantize_value(0.5f, 1, 10, 0, 255), 10);
  EXPECT_EQ(quantize_value(1.5f, 1, 10, 0, 255), 12);
  EXPECT_EQ(quantize_value(-2.5f, 1, 10, 0, 255), 8);
  EXPECT_EQ(quantize_value(1e30f, 1, 10, 0, 255), 255);
  EXPECT_EQ(quantize_value(-inf, 1, 10, 0, 255), 0);
  EXPECT_EQ(quantize_value(nan, 1, 10, 0, 255), 10);
  EXPECT_EQ(round_clamp(3e9f, 0, INT32_MIN, INT32_MAX), INT32_MAX);
  EXPECT_EQ(round_clamp(-3e9f, -5, INT32_MIN, INT32_MAX), INT32_MIN);
  EXPECT_EQ(round_clamp(inf, INT32_MAX, INT32_MIN, INT32_MAX), INT32_MAX);
  // A division, not a product with 1/s: 5 / 0.1f is exactly 50, while 5 · (1/0.1f) need not be.
  EXPECT_EQ(quantize_value(0.35f, 0.1f, 0, 0, 255), static_cast<int32_t>(std::nearbyint(0.35f / 0.1f)));
}

TEST(Quantize, Multipliers) {
  EXPECT_EQ(multiplier(0.1f, 0.2f, 0.3f),
            static_cast<float>(static_cast<double>(0.1f) * static_cast<double>(0.2f) / static_cast<double>(0.3f)));
  const float scales[] = {0.5f, 0.25f};
  float out[2];
  fill_multipliers(2, scales, 4, 1, out);
  EXPECT_EQ(out[0], 0.25f);
  EXPECT_EQ(out[1], 0.125f);
  fill_multipliers(2, std::span(scales, 1), 1, 3, out);
  EXPECT_EQ(out[0], 3.0f);
  EXPECT_EQ(out[1], 3.0f);
  const ClampBounds relu6 = clamp_bounds({UnaryFunction::kClip, 0, 6}, DataType::kU8, 0.05f, 10);
  EXPECT_EQ(relu6.lo, 10);
  EXPECT_EQ(relu6.hi, 130);
  const ClampBounds relu = clamp_bounds({UnaryFunction::kRelu, 0, 0}, DataType::kS8, 0.05f, -128);
  EXPECT_EQ(relu.lo, -128);
  EXPECT_EQ(relu.hi, 127);
}

TEST(Quantize, PerTensorTypes) {
  const TestTensor x = tensor<float>({5}, {-300, -1, 0.5f, 1.5f, 70000}), s = tensor<float>({}, {1});
  EXPECT_EQ(run_op(QuantizeLinearParams{}, {x, s}).values<uint8_t>(), (List<uint8_t>{0, 0, 0, 2, 255}));
  EXPECT_EQ(run_op(QuantizeLinearParams{}, {x, s, tensor<int8_t>({}, {3})}).values<int8_t>(),
            (List<int8_t>{-128, 2, 3, 5, 127}));
  EXPECT_EQ(run_op(QuantizeLinearParams{}, {x, s, tensor<uint16_t>({}, {1})}).values<uint16_t>(),
            (List<uint16_t>{0, 0, 1, 3, 65535}));
  EXPECT_EQ(run_op(QuantizeLinearParams{}, {x, s, tensor<int16_t>({}, {0})}).values<int16_t>(),
            (List<int16_t>{-300, -1, 0, 2, 32767}));
  TestTensor zero = tensor<int8_t>({}, {1});
  zero.type.dtype = DataType::kS4;
  EXPECT_EQ(run_op(QuantizeLinearParams{}, {x, s, zero}).values<int8_t>(), (List<int8_t>{-8, 0, 1, 3, 7}));
  EXPECT_EQ(run_op(QuantizeLinearParams{}, {tensor<float>({0}, {}), s}).values<uint8_t>(), (List<uint8_t>{}));
}

TEST(Quantize, PerAxisAndBlocked) {
  const TestTensor x = tensor<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  QuantizeLinearParams p;
  p.axis = 0;
  EXPECT_EQ(run_op(p, {x, tensor<float>({2}, {1, 2}), tensor<uint8_t>({2}, {0, 10})}).values<uint8_t>(),
            (List<uint8_t>{1, 2, 3, 12, 12, 13}));
  p.axis = -1;
  EXPECT_EQ(run_op(p, {x, tensor<float>({3}, {1, 2, 3})}).values<uint8_t>(), (List<uint8_t>{1, 1, 1, 4, 2, 2}));
  p.block_size = 2;  // blocks of columns {0, 1} and {2}
  EXPECT_EQ(run_op(p, {x, tensor<float>({2, 2}, {1, 3, 2, 6})}).values<uint8_t>(), (List<uint8_t>{1, 2, 1, 2, 2, 1}));
  DequantizeLinearParams d;
  d.axis = 0;
  EXPECT_EQ(
      run_op(d, {tensor<int8_t>({2, 2}, {1, 2, 3, -4}), tensor<float>({2}, {0.5f, 2}), tensor<int8_t>({2}, {1, -1})})
          .values<float>(),
      (List<float>{0, 0.5f, 8, -6}));
  d.block_size = 1;
  EXPECT_EQ(run_op(d, {tensor<uint8_t>({2, 1}, {1, 2}), tensor<float>({2, 1}, {0.5f, 2})}).values<float>(),
            (List<float>{0.5f, 4}));
  p = {};
  p.axis = 2;
  EXPECT_EQ(refusal(p, {x, tensor<float>({3}, {1, 2, 3})}), "quantize_linear: axis: got 2, need -2 to 1");
  EXPECT_TRUE(refusal(p, {x, tensor<float>({1}, {1})}).empty());  // a scale of one value ignores axis
  p.axis = 1;
  EXPECT_EQ(refusal(p, {x, tensor<float>({2}, {1, 2})}), "quantize_linear: scale: got 2, need 3 or one value");
  EXPECT_NE(refusal(p, {x, tensor<float>({3}, {1, 2, 3}), tensor<uint8_t>({1}, {1})}), "");
}

TEST(Quantize, ParametersOfTheType) {
  const QuantParams channels{{0.5f, 2}, {1, 0}, 1, false};
  const TestTensor x = tensor<float>({1, 2, 2}, {1, 2, 3, 5});
  const TestTensor q = run_op(QuantizeLinearParams{}, {x}, TensorType{DataType::kU8, {}, Layout::kLinear, channels});
  EXPECT_EQ(q.values<uint8_t>(), (List<uint8_t>{3, 5, 2, 2}));
  EXPECT_EQ(run_op(DequantizeLinearParams{}, {q}).values<float>(), (List<float>{1, 2, 4, 4}));
  const TestTensor bias = tensor<int32_t>({2}, {-3, 4}, QuantParams{{0.5f, 2}, {0, 0}, 0, false});
  EXPECT_EQ(run_op(DequantizeLinearParams{}, {bias}).values<float>(), (List<float>{-1.5f, 8}));
  // Quantised to quantised: through the real value.
  EXPECT_EQ(run_op(QuantizeLinearParams{}, {tensor<uint8_t>({3}, {10, 12, 255}, quant(0.5f, 10))},
                   quantized<int8_t>(0.25f, -1))
                .values<int8_t>(),
            (List<int8_t>{-1, 3, 127}));
}

TEST(Quantize, RoundTripOfEveryByte) {
  for (float scale : {1e-6f, 0.0173f, 0.1f, 3.7f, 1e8f})
    for (int32_t z = 0; z < 256; z += 51)
      for (int32_t q = 0; q < 256; ++q)
        ASSERT_EQ(quantize_value(dequantize_value(q, scale, z), scale, z, 0, 255), q) << scale << ' ' << z;
}

}  // namespace
}  // namespace ingot
