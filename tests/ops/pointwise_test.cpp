// Unary, Binary, Where and Cast: edge cases of every type, broadcasting, and the quantised formulas.
#include <cmath>
#include <limits>

#include "op_runner.h"
#include "runtime/ops/half.h"
#include "runtime/ops/quantize.h"

namespace ingot {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();

BinaryParams binary(BinaryFunction f, Activation activation = {}) { return {f, activation}; }

template <class T>
std::vector<T> apply(BinaryFunction f, const std::vector<T>& a, const std::vector<T>& b) {
  const int64_t n = static_cast<int64_t>(a.size());
  return run_op(binary(f), {tensor<T>({n}, a), tensor<T>({n}, b)}).template values<T>();
}
template <class T>
using List = std::vector<T>;

template <class T>
void signed_edges() {
  const T low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
  EXPECT_EQ(apply<T>(BinaryFunction::kDiv, {7, -7, 7, -7, low, low, 5, low}, {2, 2, -2, -2, -1, 1, 0, 0}),
            (List<T>{3, -3, -3, 3, low, low, 0, 0}));
  EXPECT_EQ(apply<T>(BinaryFunction::kMod, {7, -7, 7, -7, low, 5, 6, low}, {3, 3, -3, -3, -1, 0, 3, high}),
            (List<T>{1, 2, -2, -1, 0, 0, 0, static_cast<T>(high - 1)}));
  EXPECT_EQ(apply<T>(BinaryFunction::kFmod, {7, -7, 7, -7, low, 5}, {3, 3, -3, -3, -1, 0}),
            (List<T>{1, -1, 1, -1, 0, 0}));
  EXPECT_EQ(apply<T>(BinaryFunction::kAdd, {high, low}, {1, -1}), (List<T>{low, high}));
  EXPECT_EQ(apply<T>(BinaryFunction::kSub, {low, 3}, {1, 5}), (List<T>{high, -2}));
  EXPECT_EQ(apply<T>(BinaryFunction::kMul, {low, 3, high}, {-1, -5, 2}), (List<T>{low, -15, -2}));
  EXPECT_EQ(apply<T>(BinaryFunction::kMin, {low, 3}, {high, -5}), (List<T>{low, -5}));
  EXPECT_EQ(apply<T>(BinaryFunction::kPRelu, {-4, 4}, {3, 3}), (List<T>{-12, 4}));
  EXPECT_EQ(apply<T>(BinaryFunction::kPow, {3, -2, 2, 1, -1, 0, -1}, {3, 3, -1, -5, -3, 0, -4}),
            (List<T>{27, -8, 0, 1, -1, 1, 1}));
  EXPECT_EQ(run_op(UnaryParams{UnaryFunction::kAbs}, {tensor<T>({3}, {low, -3, high})}).template values<T>(),
            (List<T>{low, 3, high}));
  EXPECT_EQ(run_op(UnaryParams{UnaryFunction::kNeg}, {tensor<T>({2}, {low, 3})}).template values<T>(),
            (List<T>{low, -3}));
  EXPECT_EQ(run_op(UnaryParams{UnaryFunction::kSign}, {tensor<T>({3}, {low, 0, 3})}).template values<T>(),
            (List<T>{-1, 0, 1}));
  EXPECT_EQ(run_op(UnaryParams{UnaryFunction::kRelu}, {tensor<T>({2}, {low, 3})}).template values<T>(),
            (List<T>{0, 3}));
  EXPECT_EQ(run_op(UnaryParams{UnaryFunction::kClip, -2, 1e30}, {tensor<T>({3}, {low, 3, high})}).template values<T>(),
            (List<T>{-2, 3, high}));
  EXPECT_EQ(run_op(UnaryParams{UnaryFunction::kClip, 5, 2}, {tensor<T>({3}, {low, 3, high})}).template values<T>(),
            (List<T>{2, 2, 2}));
  EXPECT_EQ(run_op(UnaryParams{UnaryFunction::kBitwiseNot}, {tensor<T>({2}, {0, 5})}).template values<T>(),
            (List<T>{-1, -6}));
}
TEST(Pointwise, SignedIntegersNeverTrap) {
  signed_edges<int8_t>();
  signed_edges<int16_t>();
  signed_edges<int32_t>();
  signed_edges<int64_t>();
}

template <class T>
void unsigned_edges() {
  const T high = std::numeric_limits<T>::max();
  const T bits = sizeof(T) * 8;
  EXPECT_EQ(apply<T>(BinaryFunction::kDiv, {7, high, 5}, {2, high, 0}), (List<T>{3, 1, 0}));
  EXPECT_EQ(apply<T>(BinaryFunction::kMod, {7, high, 5}, {4, high, 0}), (List<T>{3, 0, 0}));
  EXPECT_EQ(apply<T>(BinaryFunction::kSub, {3}, {5}), (List<T>{static_cast<T>(high - 1)}));
  EXPECT_EQ(apply<T>(BinaryFunction::kShiftLeft, {3, 3, 3}, {1, bits, high}), (List<T>{6, 0, 0}));
  EXPECT_EQ(apply<T>(BinaryFunction::kShiftRight, {high, 6, 3}, {static_cast<T>(bits - 1), 1, bits}),
            (List<T>{1, 3, 0}));
  EXPECT_EQ(apply<T>(BinaryFunction::kBitwiseAnd, {6}, {3}), (List<T>{2}));
  EXPECT_EQ(apply<T>(BinaryFunction::kBitwiseOr, {6}, {3}), (List<T>{7}));
  EXPECT_EQ(apply<T>(BinaryFunction::kBitwiseXor, {6}, {3}), (List<T>{5}));
}
TEST(Pointwise, UnsignedIntegersNeverTrap) {
  unsigned_edges<uint8_t>();
  unsigned_edges<uint16_t>();
  unsigned_edges<uint32_t>();
  unsigned_edges<uint64_t>();
}

TEST(Pointwise, FloatEdges) {
  const auto nan_at = [](const List<float>& v, size_t i) { return std::isnan(v[i]); };
  const auto least = apply<float>(BinaryFunction::kMin, {1, kNan, 2}, {kNan, 1, 3}),
             most = apply<float>(BinaryFunction::kMax, {1, kNan, 2}, {kNan, 1, 3});
  EXPECT_TRUE(nan_at(least, 0) && nan_at(least, 1) && least[2] == 2);
  EXPECT_TRUE(nan_at(most, 0) && nan_at(most, 1) && most[2] == 3);
  EXPECT_EQ(apply<float>(BinaryFunction::kMod, {5.5f, -5.5f, 5.5f, 6}, {3, 3, -3, 3}),
            (List<float>{2.5f, 0.5f, -0.5f, 0}));
  EXPECT_EQ(apply<float>(BinaryFunction::kFmod, {5.5f, -5.5f, 5.5f}, {3, 3, -3}), (List<float>{2.5f, -2.5f, 2.5f}));
  EXPECT_EQ(apply<float>(BinaryFunction::kPow, {3, 2, 4, -2, 0}, {2, -1, 0.5f, 3, 0}),
            (List<float>{9, 0.5f, 2, -8, 1}));
  EXPECT_EQ(apply<float>(BinaryFunction::kDiv, {1, -1}, {0, 0}), (List<float>{kInf, -kInf}));
  EXPECT_EQ(apply<float>(BinaryFunction::kPRelu, {-4, 4}, {0.25f, 0.25f}), (List<float>{-1, 4}));
  EXPECT_EQ(apply<double>(BinaryFunction::kSub, {1e300}, {1}), (List<double>{1e300}));
  const auto round =
      run_op(UnaryParams{UnaryFunction::kRound}, {tensor<float>({6}, {0.5f, 1.5f, 2.5f, -0.5f, -1.5f, 2.6f})});
  EXPECT_EQ(round.values<float>(), (List<float>{0, 2, 2, -0.0f, -2, 3}));
  EXPECT_EQ(run_op(UnaryParams{UnaryFunction::kSign}, {tensor<float>({3}, {-2, 0, kInf})}).values<float>(),
            (List<float>{-1, 0, 1}));
  EXPECT_EQ(run_op(UnaryParams{UnaryFunction::kIsNan}, {tensor<float>({2}, {kNan, kInf})}).values<uint8_t>(),
            (List<uint8_t>{1, 0}));
  const TestTensor x = tensor<float>({4}, {kNan, kInf, -kInf, 1});
  EXPECT_EQ(run_op(UnaryParams{UnaryFunction::kIsInf}, {x}).values<uint8_t>(), (List<uint8_t>{0, 1, 1, 0}));
  EXPECT_EQ(run_op(UnaryParams{UnaryFunction::kIsInf, 1, 0}, {x}).values<uint8_t>(), (List<uint8_t>{0, 0, 1, 0}));
  EXPECT_EQ(run_op(UnaryParams{UnaryFunction::kIsInf, 0, 1}, {x}).values<uint8_t>(), (List<uint8_t>{0, 1, 0, 0}));
}

TEST(Pointwise, EveryUnaryFunctionMatchesLibm) {
  const List<float> xs = {-0.9f, -0.3f, 0, 0.2f, 0.75f, 1.25f, 2.5f};
  for (int i = 0; i < static_cast<int>(UnaryFunction::kCount); ++i) {
    const UnaryParams p{static_cast<UnaryFunction>(i), 0.7, 1.1};
    if (p.function == UnaryFunction::kNot || p.function == UnaryFunction::kBitwiseNot ||
        p.function == UnaryFunction::kIsNan || p.function == UnaryFunction::kIsInf)
      continue;
    SCOPED_TRACE(std::string(to_string(p.function)));
    const auto y = run_op(p, {tensor<float>({7}, xs)}).values<float>();
    const auto wide = run_op(p, {tensor<double>({7}, List<double>(xs.begin(), xs.end()))}).values<double>();
    for (size_t j = 0; j < xs.size(); ++j) {
      const double want = apply_activation_f64({p.function, p.alpha, p.beta}, static_cast<double>(xs[j]));
      if (std::isnan(want) || std::isinf(want)) {
        EXPECT_EQ(std::isnan(want), std::isnan(y[j]));
        continue;
      }
      EXPECT_EQ(wide[j], want);
      EXPECT_NEAR(static_cast<double>(y[j]), want, 1e-6 * std::max(1.0, std::fabs(want))) << xs[j];
    }
  }
}

TEST(Pointwise, LibmFunctionsAreTheNamedOnes) {
  const auto at = [](UnaryFunction f, double x) { return apply_activation_f64({f, 0, 0}, x); };
  EXPECT_DOUBLE_EQ(at(UnaryFunction::kLog, 2), 0.69314718055994531);
  EXPECT_DOUBLE_EQ(at(UnaryFunction::kSin, 1), 0.8414709848078965);
  EXPECT_DOUBLE_EQ(at(UnaryFunction::kCos, 1), 0.54030230586813977);
  EXPECT_DOUBLE_EQ(at(UnaryFunction::kTan, 1), 1.5574077246549023);
  EXPECT_DOUBLE_EQ(at(UnaryFunction::kAsin, 0.5), 0.52359877559829882);
  EXPECT_DOUBLE_EQ(at(UnaryFunction::kAcos, 0.5), 1.0471975511965979);
  EXPECT_DOUBLE_EQ(at(UnaryFunction::kAtan, 1), 0.78539816339744828);
  EXPECT_DOUBLE_EQ(at(UnaryFunction::kSinh, 1), 1.1752011936438014);
  EXPECT_DOUBLE_EQ(at(UnaryFunction::kCosh, 1), 1.5430806348152437);
  EXPECT_DOUBLE_EQ(at(UnaryFunction::kAsinh, 1), 0.88137358701954305);
  EXPECT_DOUBLE_EQ(at(UnaryFunction::kAcosh, 2), 1.3169578969248166);
  EXPECT_DOUBLE_EQ(at(UnaryFunction::kAtanh, 0.5), 0.54930614433405489);
  EXPECT_DOUBLE_EQ(at(UnaryFunction::kErf, 0.5), 0.52049987781304652);
  EXPECT_DOUBLE_EQ(at(UnaryFunction::kSoftplus, 1), 1.3132616875182228);
  EXPECT_DOUBLE_EQ(at(UnaryFunction::kMish, 1), 0.86509838826731034);
  EXPECT_DOUBLE_EQ(at(UnaryFunction::kGelu, 1), 0.84134474606854293);
  EXPECT_NEAR(at(UnaryFunction::kGeluTanh, 1), 0.8411919906082768, 1e-15);
  EXPECT_DOUBLE_EQ(apply_activation_f64({UnaryFunction::kQuickGelu, 1.702, 0}, 1), 0.84579576593282124);
}

TEST(Pointwise, Broadcasting) {
  const auto shape = [](const Shape& a, const Shape& b) {
    Shape y;
    return broadcast_shapes(a, b, y) ? to_string(y) : std::string("none");
  };
  EXPECT_EQ(shape({2, 3}, {3}), "2x3");
  EXPECT_EQ(shape({2, 1, 4}, {5, 1}), "2x5x4");
  EXPECT_EQ(shape({}, {3}), "3");
  EXPECT_EQ(shape({0, 3}, {1, 3}), "0x3");
  EXPECT_EQ(shape({0}, {3}), "none");
  EXPECT_EQ(shape({2}, {3}), "none");
  const BinaryParams sub = binary(BinaryFunction::kSub);
  EXPECT_EQ(run_op(sub, {tensor<float>({2, 1, 2}, {1, 2, 3, 4}), tensor<float>({3, 1}, {10, 20, 30})}).values<float>(),
            (List<float>{-9, -8, -19, -18, -29, -28, -7, -6, -17, -16, -27, -26}));
  EXPECT_EQ(run_op(sub, {tensor<float>({}, {1}), tensor<float>({2}, {10, 20})}).values<float>(),
            (List<float>{-9, -19}));
  EXPECT_EQ(run_op(sub, {tensor<float>({}, {1}), tensor<float>({}, {10})}).values<float>(), (List<float>{-9}));
  EXPECT_EQ(run_op(sub, {tensor<float>({0, 2}, {}), tensor<float>({2}, {10, 20})}).values<float>(), (List<float>{}));
  EXPECT_EQ(
      run_op(sub, {tensor<float>({1, 2, 1, 1}, {1, 2}), tensor<float>({2, 1, 1, 2}, {10, 20, 30, 40})}).values<float>(),
      (List<float>{-9, -19, -8, -18, -29, -39, -28, -38}));
  EXPECT_EQ(refusal(sub, {tensor<float>({2}, {1, 2}), tensor<float>({3}, {1, 2, 3})}),
            "sub: shapes do not broadcast: got 2 and 3, need equal or 1 in each dim");
}

TEST(Pointwise, LogicAndComparison) {
  const TestTensor a = as_bool(tensor<uint8_t>({4}, {0, 0, 1, 1})), b = as_bool(tensor<uint8_t>({4}, {0, 1, 0, 1}));
  EXPECT_EQ(run_op(binary(BinaryFunction::kAnd), {a, b}).values<uint8_t>(), (List<uint8_t>{0, 0, 0, 1}));
  EXPECT_EQ(run_op(binary(BinaryFunction::kOr), {a, b}).values<uint8_t>(), (List<uint8_t>{0, 1, 1, 1}));
  EXPECT_EQ(run_op(binary(BinaryFunction::kXor), {a, b}).values<uint8_t>(), (List<uint8_t>{0, 1, 1, 0}));
  EXPECT_EQ(run_op(binary(BinaryFunction::kEqual), {a, b}).values<uint8_t>(), (List<uint8_t>{1, 0, 0, 1}));
  EXPECT_EQ(run_op(UnaryParams{UnaryFunction::kNot}, {a}).values<uint8_t>(), (List<uint8_t>{1, 1, 0, 0}));
  const TestTensor x = tensor<float>({4}, {1, 2, 3, kNan}), y = tensor<float>({4}, {2, 2, 2, kNan});
  const auto compare = [&](BinaryFunction f) { return run_op(binary(f), {x, y}).values<uint8_t>(); };
  EXPECT_EQ(compare(BinaryFunction::kLess), (List<uint8_t>{1, 0, 0, 0}));
  EXPECT_EQ(compare(BinaryFunction::kLessOrEqual), (List<uint8_t>{1, 1, 0, 0}));
  EXPECT_EQ(compare(BinaryFunction::kGreater), (List<uint8_t>{0, 0, 1, 0}));
  EXPECT_EQ(compare(BinaryFunction::kGreaterOrEqual), (List<uint8_t>{0, 1, 1, 0}));
  EXPECT_EQ(compare(BinaryFunction::kEqual), (List<uint8_t>{0, 1, 0, 0}));
  const TestTensor big = tensor<int64_t>({2}, {INT64_MAX, INT64_MIN}),
                   near = tensor<int64_t>({2}, {INT64_MAX - 1, INT64_MAX});
  EXPECT_EQ(run_op(binary(BinaryFunction::kGreater), {big, near}).values<uint8_t>(), (List<uint8_t>{1, 0}));
  EXPECT_EQ(refusal(binary(BinaryFunction::kAnd), {x, y}), "and: element type: got f32, need bool");
}

TEST(Pointwise, Where) {
  const TestTensor c = as_bool(tensor<uint8_t>({2, 1}, {1, 0}));
  EXPECT_EQ(run_op(WhereParams{}, {c, tensor<int64_t>({3}, {1, 2, 3}), tensor<int64_t>({}, {-1})}).values<int64_t>(),
            (List<int64_t>{1, 2, 3, -1, -1, -1}));
  EXPECT_EQ(
      run_op(WhereParams{}, {c, tensor<uint8_t>({1}, {7}), tensor<uint8_t>({2, 2}, {1, 2, 3, 4})}).values<uint8_t>(),
      (List<uint8_t>{7, 7, 3, 4}));
  EXPECT_NE(refusal(WhereParams{}, {c, tensor<float>({1}, {1}), tensor<double>({1}, {1})}), "");
}

TestTensor cast(const TestTensor& x, DataType to, bool saturate = true) {
  return run_op(CastParams{static_cast<int64_t>(to), saturate}, {x});
}

TEST(Pointwise, CastsSaturateTruncateAndWrap) {
  const TestTensor x = tensor<float>({9}, {1.9f, -1.9f, 300, -300, kNan, kInf, -kInf, 1e20f, -0.5f});
  EXPECT_EQ(cast(x, DataType::kU8).values<uint8_t>(), (List<uint8_t>{1, 0, 255, 0, 0, 255, 0, 255, 0}));
  EXPECT_EQ(cast(x, DataType::kS8).values<int8_t>(), (List<int8_t>{1, -1, 127, -128, 0, 127, -128, 127, 0}));
  EXPECT_EQ(cast(x, DataType::kS64).values<int64_t>(),
            (List<int64_t>{1, -1, 300, -300, 0, INT64_MAX, INT64_MIN, INT64_MAX, 0}));
  EXPECT_EQ(cast(x, DataType::kU64).values<uint64_t>(),
            (List<uint64_t>{1, 0, 300, 0, 0, UINT64_MAX, 0, UINT64_MAX, 0}));
  EXPECT_EQ(cast(x, DataType::kBool).values<uint8_t>(), (List<uint8_t>{1, 1, 1, 1, 1, 1, 1, 1, 1}));
  EXPECT_EQ(cast(tensor<int32_t>({4}, {257, -1, 128, INT32_MIN}), DataType::kU8).values<uint8_t>(),
            (List<uint8_t>{1, 255, 128, 0}));
  EXPECT_EQ(cast(tensor<int64_t>({3}, {INT64_MAX, INT64_MIN, 4294967297}), DataType::kS32).values<int32_t>(),
            (List<int32_t>{-1, 0, 1}));
  EXPECT_EQ(cast(tensor<uint64_t>({1}, {UINT64_MAX}), DataType::kF32).values<float>(),
            (List<float>{18446744073709551616.0f}));
  EXPECT_EQ(cast(tensor<int64_t>({1}, {-9007199254740993}), DataType::kF64).values<double>(),
            (List<double>{-9007199254740992.0}));
  EXPECT_EQ(cast(tensor<int64_t>({2}, {16777217 + 2, 0}), DataType::kF32).values<float>(), (List<float>{16777220, 0}));
  EXPECT_EQ(cast(tensor<double>({3}, {1.0 + 0x1p-11 + 0x1p-40, 65519.999, 1e-8}), DataType::kF16).values<uint16_t>(),
            (List<uint16_t>{0x3c01, 0x7bff, 0}));
  EXPECT_EQ(cast(tensor<float>({2}, {1.00390625f, -2}), DataType::kBF16).values<uint16_t>(),
            (List<uint16_t>{0x3f80, 0xc000}));
  EXPECT_EQ(cast(tensor<int32_t>({4}, {7, 8, 15, -9}), DataType::kS4).values<int8_t>(), (List<int8_t>{7, -8, -1, 7}));
  EXPECT_EQ(cast(as_bool(tensor<uint8_t>({3}, {0, 1, 255})), DataType::kS32).values<int32_t>(),
            (List<int32_t>{0, 1, 1}));
}

TEST(Pointwise, CastsOf8BitFloats) {
  const TestTensor x = tensor<float>({8}, {1, 448, 500, -0.0f, 0x1p-9f, 0x1p-10f, kInf, 1.0625f});
  EXPECT_EQ(cast(x, DataType::kF8E4M3).values<uint8_t>(),
            (List<uint8_t>{0x38, 0x7e, 0x7e, 0x80, 0x01, 0x00, 0x7e, 0x38}));
  EXPECT_EQ(cast(x, DataType::kF8E4M3, false).values<uint8_t>(),
            (List<uint8_t>{0x38, 0x7e, 0x7f, 0x80, 0x01, 0x00, 0x7f, 0x38}));
  EXPECT_EQ(cast(tensor<float>({3}, {57344, 1e6f, 3}), DataType::kF8E5M2, false).values<uint8_t>(),
            (List<uint8_t>{0x7b, 0x7c, 0x42}));
  const TestTensor y = tensor<float>({8}, {1, 240, 250, -0.0f, 0x1p-10f, 0x1p-11f, -kInf, 1.0625f});
  EXPECT_EQ(cast(y, DataType::kF8E4M3Fnuz).values<uint8_t>(), (List<uint8_t>{0x40, 0x7f, 0x7f, 0x00, 0x01, 0x00, 0xff, 0x40}));
  EXPECT_EQ(cast(y, DataType::kF8E4M3Fnuz, false).values<uint8_t>(), (List<uint8_t>{0x40, 0x7f, 0x80, 0x00, 0x01, 0x00, 0x80, 0x40}));
  EXPECT_EQ(cast(tensor<float>({5}, {0.25f, 0.75f, 5, -100, -0.3f}), DataType::kF4E2M1).values<uint8_t>(), (List<uint8_t>{0, 2, 6, 15, 9}));
  EXPECT_EQ(cast(tensor<float>({5}, {0, 0.124f, 1.1f, 4, kInf}), DataType::kF8E8M0).values<uint8_t>(), (List<uint8_t>{0, 124, 128, 129, 254}));
  for (DataType type : {DataType::kF8E4M3, DataType::kF8E5M2, DataType::kF8E4M3Fnuz, DataType::kF8E5M2Fnuz, DataType::kF8E8M0}) {  // every value survives the way to float and back
    List<uint8_t> all(256);
    for (size_t i = 0; i < 256; ++i) all[i] = static_cast<uint8_t>(i);
    TestTensor bytes = tensor<uint8_t>({256}, all);
    bytes.type.dtype = type;
    const TestTensor real = cast(bytes, DataType::kF32);
    const auto back = cast(real, type, false).values<uint8_t>();
    for (size_t i = 0; i < 256; ++i) EXPECT_TRUE(back[i] == all[i] || std::isnan(real.values<float>()[i])) << i;
  }
}

TEST(Pointwise, HalfTypesComputeInFloat) {
  TestTensor x = tensor<uint16_t>({2}, {f32_to_f16(1.5f), f32_to_f16(-3)});
  x.type.dtype = DataType::kF16;
  const auto y = run_op(binary(BinaryFunction::kMul), {x, x}).values<uint16_t>();
  EXPECT_EQ(f16_to_f32(y[0]), 2.25f);
  EXPECT_EQ(f16_to_f32(y[1]), 9.0f);
}

TEST(Pointwise, QuantisedUnaryIsTheFormula) {
  List<uint8_t> all(256);
  for (size_t i = 0; i < 256; ++i) all[i] = static_cast<uint8_t>(i);
  const TestTensor x = tensor<uint8_t>({256}, all, quant(0.05f, 120));
  for (UnaryFunction f : {UnaryFunction::kSigmoid, UnaryFunction::kHardSwish, UnaryFunction::kRelu, UnaryFunction::kExp,
                          UnaryFunction::kSqrt, UnaryFunction::kGelu}) {
    const auto y = run_op(UnaryParams{f}, {x}, quantized<int8_t>(0.031f, -50)).values<int8_t>();
    const auto real = run_op(UnaryParams{f}, {x}, TensorType{}).values<float>();
    for (size_t i = 0; i < 256; ++i) {
      const float v = apply_activation({f, 0, 0}, 0.05f * static_cast<float>(static_cast<int>(i) - 120));
      const double q =
          v != v ? -50 : std::min(127.0, std::max(-128.0, std::nearbyint(static_cast<double>(v / 0.031f)) - 50));
      ASSERT_EQ(y[i], q) << to_string(f) << ' ' << i;
      ASSERT_TRUE(real[i] == v || v != v);
    }
  }
  // With equal scales ReLU is a maximum with z.
  const auto relu = run_op(UnaryParams{UnaryFunction::kRelu}, {x}, quantized<uint8_t>(0.05f, 120)).values<uint8_t>();
  for (size_t i = 0; i < 256; ++i) ASSERT_EQ(relu[i], std::max<size_t>(i, 120));
}

TEST(Pointwise, QuantisedBinaryIsTheFormula) {
  TestRandom random(9);
  const float s_a = 0.041f, s_b = 0.013f, s_y = 0.07f;
  const TestTensor a = random.integers<uint8_t>({3, 1, 50}, 0, 255, quant(s_a, 100)),
                   b = random.integers<int8_t>({4, 50}, -128, 127, quant(s_b, -9));
  for (BinaryFunction f :
       {BinaryFunction::kAdd, BinaryFunction::kSub, BinaryFunction::kMul, BinaryFunction::kDiv, BinaryFunction::kMax})
    for (UnaryFunction g : {UnaryFunction::kIdentity, UnaryFunction::kRelu, UnaryFunction::kSilu})
      for (bool real : {false, true}) {
        SCOPED_TRACE(std::string(to_string(f)) + " " + std::string(to_string(g)));
        const TestTensor y = run_op(binary(f, {g, 0, 0}), {a, b}, real ? TensorType{} : quantized<uint8_t>(s_y, 60));
        for (size_t i = 0; i < 600; ++i) {
          const int32_t qa = a.values<uint8_t>()[i / 200 * 50 + i % 50] - 100, qb = b.values<int8_t>()[i % 200] + 9;
          const bool curved = g == UnaryFunction::kSilu, direct = f <= BinaryFunction::kMul;
          const float divisor = real || curved || !direct ? 1.0f : s_y;
          const double da = static_cast<double>(s_a), db = static_cast<double>(s_b), dy = static_cast<double>(divisor);
          const float m_a = static_cast<float>(da / dy), m_b = static_cast<float>(db / dy);
          const float fa = static_cast<float>(qa), fb = static_cast<float>(qb);
          float t = 0;
          if (f == BinaryFunction::kAdd) t = std::fma(fa, m_a, fb * m_b);
          if (f == BinaryFunction::kSub) t = std::fma(fa, m_a, fb * -m_b);
          if (f == BinaryFunction::kMul) t = static_cast<float>(qa * qb) * static_cast<float>(da * db / dy);
          if (f == BinaryFunction::kDiv) t = (s_a * fa) / (s_b * fb);
          if (f == BinaryFunction::kMax) t = std::max(s_a * fa, s_b * fb);
          if (g == UnaryFunction::kRelu) t = t > 0 || t != t ? t : 0;
          if (curved) t = apply_activation({g, 0, 0}, t);
          if (real) {
            ASSERT_TRUE(y.values<float>()[i] == t || t != t) << i;
            continue;
          }
          if (divisor == 1.0f) t /= s_y;
          const double q = t != t ? 60 : std::min(255.0, std::max(0.0, std::nearbyint(static_cast<double>(t)) + 60));
          ASSERT_EQ(y.values<uint8_t>()[i], g == UnaryFunction::kRelu ? std::max(q, 60.0) : q) << i;
        }
      }
}

TEST(Pointwise, NamesAreUniqueAndComplete) {
  std::vector<std::string_view> names;
  for (int i = 0; i < static_cast<int>(UnaryFunction::kCount); ++i)
    names.push_back(to_string(static_cast<UnaryFunction>(i)));
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
  EXPECT_EQ(to_string(UnaryFunction::kBitwiseNot), "bitwise_not");
  EXPECT_EQ(to_string(UnaryFunction::kAbs), "abs");
  EXPECT_EQ(to_string(UnaryFunction::kQuickGelu), "quick_gelu");
  EXPECT_EQ(to_string(BinaryFunction::kShiftRight), "shift_right");
  EXPECT_EQ(to_string(BinaryFunction::kEqual), "equal");
}

}  // namespace
}  // namespace ingot
