// 16-bit floats in software: f16 and bf16 as storage, converted to and from float32 with round to nearest even.
#pragma once

#include <cstdint>

namespace ingot {

inline float bits_to_float(uint32_t bits) { return __builtin_bit_cast(float, bits); }
inline uint32_t float_to_bits(float x) { return __builtin_bit_cast(uint32_t, x); }

inline float f16_to_f32(uint16_t h) {
  const uint32_t sign = uint32_t{h} >> 15 << 31, exponent = h >> 10 & 31u, mantissa = h & 1023u;
  if (exponent == 31) return bits_to_float(sign | 0x7f800000u | mantissa << 13);
  if (exponent == 0) {  // mantissa · 2^−24, exact
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return sign ? -magnitude : magnitude;
  }
  return bits_to_float(sign | (exponent + 112) << 23 | mantissa << 13);
}

inline uint16_t f32_to_f16(float x) {
  const uint32_t bits = float_to_bits(x), sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u);   // NaN
  if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);  // ≥ 65520 rounds to ∞
  if (magnitude < 0x38800000u) {  // below 2^−14: adding 0.5 makes ulp 2^−24, and the FPU rounds to it
    const float shifted = bits_to_float(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (float_to_bits(shifted) - 0x3f000000u));
  }
  const uint32_t rounded = magnitude + 0xfffu + (magnitude >> 13 & 1u);
  return static_cast<uint16_t>(sign | ((rounded >> 13) - (112u << 10)));
}

inline float bf16_to_f32(uint16_t b) { return bits_to_float(uint32_t{b} << 16); }

inline uint16_t f32_to_bf16(float x) {
  const uint32_t bits = float_to_bits(x);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>(bits >> 16 | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

// float32 by round to odd: keeps what a second rounding to a narrower type needs.
inline float f64_to_f32_odd(double x) {
  const float nearest = static_cast<float>(x);
  if (!(x == x) || static_cast<double>(nearest) == x) return nearest;
  if (nearest - nearest != 0) return bits_to_float((float_to_bits(nearest) & 0x80000000u) | 0x7f7fffffu);
  uint32_t bits = float_to_bits(nearest);
  const double magnitude = x < 0 ? -x : x, rounded = nearest < 0 ? -static_cast<double>(nearest) : static_cast<double>(nearest);
  if (rounded > magnitude) --bits;  // back to truncation
  return bits_to_float(bits | 1u);
}

struct Half { uint16_t bits; };
struct BFloat16 { uint16_t bits; };

}  // namespace ingot
