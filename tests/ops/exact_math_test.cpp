// The activation functions against double-precision libm over dense sweeps: ulp bounds, limits, NaN.
#include "runtime/ops/exact_math.h"
#include "runtime/ops/pointwise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "runtime/ops/half.h"

namespace ingot {
namespace {

using exact::Scalar;
constexpr float kInf = std::numeric_limits<float>::infinity();

double ulp_of(double x) {
  const float f = static_cast<float>(std::fabs(x));
  if (f < 0x1p-126f) return 0x1p-149;
  return std::ldexp(1.0, std::ilogb(f) - 23);
}

// Worst error in ulps of the true value, or of `floor` where the value is smaller, over [lo, hi].
double worst_error(float lo, float hi, const std::function<float(float)>& f, const std::function<double(double)>& truth,
                   double floor = 0) {
  double worst = 0;
  const int steps = 400000;
  for (int i = 0; i <= steps; ++i) {
    const float x = lo + (hi - lo) * (static_cast<float>(i) / static_cast<float>(steps));
    const double want = truth(static_cast<double>(x)), got = static_cast<double>(f(x));
    const double error = std::fabs(got - want) / ulp_of(std::max(std::fabs(want), floor));
    if (!(error <= worst)) worst = error;
  }
  return worst;
}
double worst_small(const std::function<float(float)>& f, const std::function<double(double)>& truth) {
  double worst = 0;
  for (int e = -120; e <= 0; ++e)
    for (int i = 0; i < 64; ++i)
      for (float sign : {-1.0f, 1.0f}) {
        const float x = sign * std::ldexp(1.0f + static_cast<float>(i) / 64, e);
        const double want = truth(static_cast<double>(x));
        worst = std::max(worst, std::fabs(static_cast<double>(f(x)) - want) / ulp_of(want));
      }
  return worst;
}

float run(UnaryFunction f, float x, double alpha = 0, double beta = 0) { return apply_activation({f, alpha, beta}, x); }
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

TEST(ExactMath, ExpIsWithinTwoUlp) {
  EXPECT_LE(worst_error(-87.0f, 88.7f, exact::exp<Scalar>, [](double x) { return std::exp(x); }), 1.5);
  EXPECT_LE(worst_error(-1.0f, 1.0f, exact::exp<Scalar>, [](double x) { return std::exp(x); }), 1.5);
  EXPECT_LE(worst_error(-103.0f, -87.0f, exact::exp<Scalar>, [](double x) { return std::exp(x); }), 1.5);  // subnormal
  EXPECT_EQ(exact::exp<Scalar>(0.0f), 1.0f);
  EXPECT_EQ(exact::exp<Scalar>(88.73f), kInf);
  EXPECT_EQ(exact::exp<Scalar>(kInf), kInf);
  EXPECT_EQ(exact::exp<Scalar>(-104.5f), 0.0f);
  EXPECT_EQ(exact::exp<Scalar>(-kInf), 0.0f);
}

TEST(ExactMath, TanhSigmoidErfAreWithinAFewUlp) {
  const auto sig = [](float x) { return run(UnaryFunction::kSigmoid, x); };
  EXPECT_LE(worst_error(-87.0f, 20.0f, sig, sigmoid), 3.0);
  EXPECT_LE(worst_error(-10.0f, 10.0f, exact::tanh<Scalar>, [](double x) { return std::tanh(x); }), 3.0);
  EXPECT_LE(worst_small(exact::tanh<Scalar>, [](double x) { return std::tanh(x); }), 2.0);
  EXPECT_LE(worst_error(-5.0f, 5.0f, exact::erf<Scalar>, [](double x) { return std::erf(x); }), 3.0);
  EXPECT_LE(worst_small(exact::erf<Scalar>, [](double x) { return std::erf(x); }), 2.0);
  for (float s : {-1.0f, 1.0f}) {
    EXPECT_EQ(exact::tanh<Scalar>(s * 20), s);
    EXPECT_EQ(exact::tanh<Scalar>(s * kInf), s);
    EXPECT_EQ(exact::erf<Scalar>(s * 4.5f), s);
    EXPECT_EQ(exact::erf<Scalar>(s * kInf), s);
  }
  EXPECT_EQ(sig(kInf), 1.0f);
  EXPECT_EQ(sig(-kInf), 0.0f);
}

TEST(ExactMath, OtherFunctionsAreClose) {
  const auto f = [](UnaryFunction function, double alpha = 0, double beta = 0) {
    return [=](float x) { return run(function, x, alpha, beta); };
  };
  EXPECT_LE(worst_error(-80.0f, 80.0f, f(UnaryFunction::kSilu), [](double x) { return x * sigmoid(x); }), 4.0);
  EXPECT_LE(worst_error(
                -40.0f, 40.0f, f(UnaryFunction::kQuickGelu, 1.702),
                [](double x) { return x * sigmoid(double(1.702f) * x); }, 1e-3),
            8.0);
  // erf itself is good to a few ulp; 1 + erf loses them where it nears 0, so the bound there is absolute.
  EXPECT_LE(
      worst_error(
          -6.0f, 6.0f, f(UnaryFunction::kGelu), [](double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); }, 1.0),
      4.0);
  EXPECT_LE(worst_error(
                -8.0f, 8.0f, f(UnaryFunction::kGeluTanh),
                [](double x) { return x * sigmoid(2 * std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)); }, 1e-2),
            12.0);
  EXPECT_LE(worst_error(-25.0f, 3.0f, f(UnaryFunction::kElu, 1.0), [](double x) { return x < 0 ? std::expm1(x) : x; }),
            2.0);
  EXPECT_LE(worst_small(f(UnaryFunction::kElu, 1.0), [](double x) { return x < 0 ? std::expm1(x) : x; }), 2.0);
  EXPECT_LE(worst_error(-25.0f, 3.0f, f(UnaryFunction::kSelu, 1.6732632, 1.0507010),
                        [](double x) { return double(1.0507010f) * (x < 0 ? double(1.6732632f) * std::expm1(x) : x); }),
            4.0);
  EXPECT_LE(worst_error(-25.0f, 3.0f, f(UnaryFunction::kCelu, 2.0),
                        [](double x) { return x < 0 ? 2 * std::expm1(x / 2) : x; }),
            2.0);
  EXPECT_LE(worst_error(-80.0f, 80.0f, f(UnaryFunction::kSoftplus),
                        [](double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x))); }),
            3.0);
  EXPECT_LE(worst_error(-80.0f, 80.0f, f(UnaryFunction::kMish),
                        [](double x) { return x * std::tanh(std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x)))); }),
            5.0);
  EXPECT_LE(worst_error(-50.0f, 50.0f, f(UnaryFunction::kSoftsign), [](double x) { return x / (1 + std::fabs(x)); }),
            2.0);
  EXPECT_LE(worst_error(
                -5.0f, 5.0f, f(UnaryFunction::kHardSwish),
                [](double x) { return x * std::min(1.0, std::max(0.0, x / 6 + 0.5)); }, 0.1),
            8.0);
  EXPECT_LE(worst_error(
                -5.0f, 5.0f, f(UnaryFunction::kHardSigmoid, 0.2, 0.5),
                [](double x) { return std::min(1.0, std::max(0.0, double(0.2f) * x + 0.5)); }, 0.1),
            1.0);
}

TEST(ExactMath, PiecewiseFunctions) {
  EXPECT_EQ(run(UnaryFunction::kIdentity, -3.5f), -3.5f);
  EXPECT_EQ(run(UnaryFunction::kRelu, -3.5f), 0.0f);
  EXPECT_EQ(run(UnaryFunction::kRelu, 3.5f), 3.5f);
  EXPECT_EQ(run(UnaryFunction::kClip, 7.0f, 0, 6), 6.0f);
  EXPECT_EQ(run(UnaryFunction::kClip, -7.0f, -1, 6), -1.0f);
  EXPECT_EQ(run(UnaryFunction::kClip, 0.0f, 5, 2), 2.0f);  // min > max gives max
  EXPECT_EQ(run(UnaryFunction::kLeakyRelu, -2.0f, 0.25), -0.5f);
  EXPECT_EQ(run(UnaryFunction::kThresholdedRelu, 1.0f, 1.0), 0.0f);
  EXPECT_EQ(run(UnaryFunction::kThresholdedRelu, 1.5f, 1.0), 1.5f);
  EXPECT_EQ(run(UnaryFunction::kHardSwish, -3.0f), 0.0f);
  EXPECT_EQ(run(UnaryFunction::kHardSwish, 3.0f), 3.0f);
}

TEST(ExactMath, LimitsAndNaN) {
  for (int i = 0; i <= static_cast<int>(UnaryFunction::kQuickGelu); ++i) {
    const auto function = static_cast<UnaryFunction>(i);
    SCOPED_TRACE(std::string(to_string(function)));
    const double alpha = function == UnaryFunction::kClip ? -1 : 1, beta = 1;
    const float nan = std::numeric_limits<float>::quiet_NaN();
    EXPECT_EQ(std::isnan(run(function, nan, alpha, beta)), function != UnaryFunction::kThresholdedRelu);
    for (float x : {-kInf, kInf, -3e38f, 3e38f, -1e-45f, 1e-45f, -0.0f})
      EXPECT_FALSE(std::isnan(run(function, x, alpha, beta))) << x;
    EXPECT_EQ(run(function, 0.0f, alpha, beta), static_cast<float>(apply_activation_f64({function, alpha, beta}, 0.0)));
    for (float x = -8; x <= 8; x += 0.375f) {
      const double want = apply_activation_f64({function, alpha, beta}, static_cast<double>(x));
      EXPECT_NEAR(static_cast<double>(run(function, x, alpha, beta)), want, 2e-6 * std::max(1.0, std::fabs(want))) << x;
    }
  }
  for (UnaryFunction function : {UnaryFunction::kSilu, UnaryFunction::kGelu, UnaryFunction::kGeluTanh,
                                 UnaryFunction::kMish, UnaryFunction::kHardSwish})
    EXPECT_EQ(run(function, -kInf), 0.0f) << to_string(function);
}

TEST(HalfFloats, EveryF16SurvivesTheRoundTrip) {
  for (uint32_t h = 0; h < 65536; ++h) {
    const float x = f16_to_f32(static_cast<uint16_t>(h));
    if (std::isnan(x)) {
      EXPECT_TRUE(std::isnan(f16_to_f32(f32_to_f16(x))));
      continue;
    }
    EXPECT_EQ(f32_to_f16(x), h);
    // Half way to the next value up rounds to even, a little beside it to the nearer one.
    if ((h & 0x7fff) >= 0x7bff) continue;
    const float next = f16_to_f32(static_cast<uint16_t>(h + 1)), middle = (x + next) / 2;
    EXPECT_EQ(f32_to_f16(middle), h & 1 ? h + 1 : h);
    EXPECT_EQ(f32_to_f16(std::nextafter(middle, x)), h);
    EXPECT_EQ(f32_to_f16(std::nextafter(middle, next)), h + 1);
    EXPECT_EQ(f32_to_f16(f64_to_f32_odd(std::nextafter(static_cast<double>(middle), static_cast<double>(next)))),
              h + 1);
  }
  EXPECT_EQ(f32_to_f16(65519.9f), 0x7bff);
  EXPECT_EQ(f32_to_f16(65520.0f), 0x7c00);
  EXPECT_EQ(f32_to_bf16(1.00390625f), 0x3f80);  // 1 + 2^−8: half way, to even
  EXPECT_EQ(f32_to_bf16(1.01171875f), 0x3f82);
  EXPECT_EQ(f32_to_bf16(-kInf), 0xff80);
  EXPECT_TRUE(std::isnan(bf16_to_f32(f32_to_bf16(std::numeric_limits<float>::quiet_NaN()))));
}

}  // namespace
}  // namespace ingot
