// Bodies of small_float.h.
#include "runtime/ops/small_float.h"

#include <algorithm>
#include <cmath>

namespace ingot {
namespace {

// Patterns without sign where nothing else is said.
struct Format {
  int mantissa_bits, bias;
  uint8_t sign, largest;
  uint8_t infinity, nan;  // what an overflow and NaN become; beyond `largest`
  bool has_infinity;      // the top exponent holds ∞ and NaN
  bool nan_for_zero;      // fnuz: there is no −0, its pattern is the only NaN
};
constexpr Format kE4M3{3, 7, 0x80, 0x7e, 0x7f, 0x7f, false, false}, kE5M2{2, 15, 0x80, 0x7b, 0x7c, 0x7f, true, false},
    kE4M3Fnuz{3, 8, 0x80, 0x7f, 0, 0, false, true}, kE5M2Fnuz{2, 16, 0x80, 0x7f, 0, 0, false, true},
    kE2M1{1, 1, 8, 7, 7, 0, false, false};  // has neither ∞ nor NaN: they give 6 and −0

const Format& format_of(DataType type) {
  switch (type) {
    case DataType::kF8E4M3: return kE4M3;
    case DataType::kF8E4M3Fnuz: return kE4M3Fnuz;
    case DataType::kF8E5M2Fnuz: return kE5M2Fnuz;
    case DataType::kF4E2M1: return kE2M1;
    default: return kE5M2;
  }
}

constexpr uint8_t kPowerNan = 0xff;
constexpr int kPowerBias = 127;

uint8_t real_to_power(double x, bool saturate) {
  if (x != x) return kPowerNan;
  if (!(x > 0)) return 0;
  int exponent = 0;
  const double fraction = std::isinf(x) ? 1 : std::frexp(x, &exponent);  // x = fraction · 2^exponent, fraction in [0.5, 1)
  const int biased = std::isinf(x) ? kPowerNan : exponent - (fraction == 0.5) + kPowerBias;
  if (biased >= kPowerNan) return saturate ? kPowerNan - 1 : kPowerNan;
  return static_cast<uint8_t>(std::max(biased, 0));
}

}  // namespace

double small_float_to_real(DataType type, uint8_t bits) {
  if (type == DataType::kF8E8M0) return bits == kPowerNan ? NAN : std::ldexp(1.0, bits - kPowerBias);
  const Format& f = format_of(type);
  if (f.nan_for_zero && bits == f.sign) return NAN;
  const int magnitude = bits & (f.sign - 1), mantissa = magnitude & ((1 << f.mantissa_bits) - 1);
  const int exponent = magnitude >> f.mantissa_bits;
  double x;
  if (magnitude > f.largest) x = f.has_infinity && mantissa == 0 ? INFINITY : NAN;
  else if (exponent == 0) x = std::ldexp(mantissa, 1 - f.bias - f.mantissa_bits);
  else x = std::ldexp((1 << f.mantissa_bits) + mantissa, exponent - f.bias - f.mantissa_bits);
  return bits & f.sign ? -x : x;
}

uint8_t real_to_small_float(DataType type, double x, bool saturate) {
  if (type == DataType::kF8E8M0) return real_to_power(x, saturate);
  const Format& f = format_of(type);
  if (f.nan_for_zero && x != x) return f.sign;
  if (type == DataType::kF4E2M1 && x != x) return f.sign;
  const auto sign = static_cast<uint8_t>(std::signbit(x) ? f.sign : 0);
  if (x != x) return sign | f.nan;
  const auto overflow = static_cast<uint8_t>(saturate ? sign | f.largest : f.nan_for_zero ? f.sign : sign | f.infinity);
  const double magnitude = std::fabs(x);
  if (std::isinf(x)) return overflow;
  int exponent = 0;
  std::frexp(magnitude, &exponent);                                       // magnitude in [2^(exponent−1), 2^exponent)
  if (magnitude == 0) exponent = -1100;
  const int unit = std::max(exponent - 1, 1 - f.bias) - f.mantissa_bits;  // exponent of one ulp
  const double rounded = std::nearbyint(std::ldexp(magnitude, -unit));
  if (rounded == 0) return f.nan_for_zero ? uint8_t{0} : sign;
  if (std::ldexp(rounded, unit) > small_float_to_real(type, f.largest)) return overflow;
  // Counting ulps from 0: a mantissa that rounds up carries into the exponent by itself.
  const int steps = static_cast<int>(rounded) + ((unit - (1 - f.bias - f.mantissa_bits)) << f.mantissa_bits);
  return static_cast<uint8_t>(sign | steps);
}

}  // namespace ingot
