// cvt: from any type to any, with one rounding. The general road leads through long double, which holds every source
// exactly; common conversions have loops of their own.
#include <cmath>

#include "ptx/instruction_table.h"
#include "ptx/warp.h"

namespace ingot::ptx {
namespace {

enum Rounding : uint8_t { kNearest, kZero, kDown, kUp, kAway };  // kAway: ties away from zero (.rna)
enum : uint8_t { kToInteger = 8, kRelu = 16 };

bool flushes(long double x) { return std::fabs(x) < 0x1p-126L; }

long double load(uint64_t raw, Type t) {
  switch (t) {
    case Type::kU8:
      return static_cast<uint8_t>(raw);
    case Type::kU16:
      return static_cast<uint16_t>(raw);
    case Type::kU32:
      return static_cast<uint32_t>(raw);
    case Type::kU64:
      return static_cast<long double>(raw);
    case Type::kS8:
      return static_cast<int8_t>(raw);
    case Type::kS16:
      return static_cast<int16_t>(raw);
    case Type::kS32:
      return static_cast<int32_t>(raw);
    case Type::kS64:
      return static_cast<long double>(static_cast<int64_t>(raw));
    case Type::kF16:
      return static_cast<long double>(f16_to_f32(static_cast<uint16_t>(raw)));
    case Type::kBF16:
      return static_cast<long double>(bf16_to_f32(static_cast<uint16_t>(raw)));
    case Type::kF64:
      return static_cast<long double>(std::bit_cast<double>(raw));
    default:
      return static_cast<long double>(std::bit_cast<float>(static_cast<uint32_t>(raw)));
  }
}

// A float format by its number of mantissa bits and least exponent, as bits of a number of `width` bits.
struct Format {
  int width, mantissa, least_exponent, most_exponent;
};
Format format_of(Type t) {
  switch (t) {
    case Type::kF16:
      return {16, 10, -14, 15};
    case Type::kBF16:
      return {16, 7, -126, 127};
    case Type::kTF32:
      return {32, 10, -126, 127};
    case Type::kF64:
      return {64, 52, -1022, 1023};
    default:
      return {32, 23, -126, 127};
  }
}

long double round_to_integer(long double x, Rounding r) {
  switch (r) {
    case kZero:
      return std::trunc(x);
    case kDown:
      return std::floor(x);
    case kUp:
      return std::ceil(x);
    case kAway:
      return std::round(x);
    default:
      return std::nearbyint(x);
  }
}

uint64_t store_float(long double x, Type t, Rounding rounding) {
  const Format f = format_of(t);
  const int shift = t == Type::kTF32 ? 13 : 0;  // tf32 is an f32 whose low bits are zero
  const int field = f.width - 1 - f.mantissa - shift;
  const uint64_t infinity = ((uint64_t{1} << field) - 1) << f.mantissa,
                 sign = std::signbit(x) ? uint64_t{1} << (f.width - 1 - shift) : 0;
  if (x != x) return t == Type::kF64 ? 0x7ff8000000000000u : f.width == 16 ? 0x7fff : 0x7fffffff;
  const Rounding r = sign && rounding == kDown ? kUp : sign && rounding == kUp ? kDown : rounding;
  long double magnitude = std::fabs(x);
  if (std::isinf(magnitude)) return (infinity | sign) << shift;
  if (magnitude == 0) return sign << shift;
  int exponent = std::ilogb(magnitude);
  if (exponent < f.least_exponent) exponent = f.least_exponent;
  const long double scaled =
      round_to_integer(std::ldexp(magnitude, f.mantissa - exponent), r);  // below 2^(mantissa + 1), or just that
  uint64_t bits = static_cast<uint64_t>(scaled);
  // An implicit one carries into the exponent field by itself.
  bits += static_cast<uint64_t>(exponent - f.least_exponent) << f.mantissa;
  if (bits >= infinity) bits = r == kZero || r == kDown ? infinity - 1 : infinity;
  return (bits | sign) << shift;
}

uint64_t store_integer(long double x, Type d, Type s) {
  const int bits = size_of(d) * 8;
  if (x != x) return size_of(d) == 8 || s == Type::kF64 ? uint64_t{1} << (bits - 1) : 0;
  const long double low = is_signed(d) ? -std::ldexp(1.0L, bits - 1) : 0,
                    high = is_signed(d) ? std::ldexp(1.0L, bits - 1) - 1 : std::ldexp(1.0L, bits) - 1;
  if (x < low) x = low;
  if (x > high) x = high;
  return x < 0 ? static_cast<uint64_t>(static_cast<int64_t>(x)) : static_cast<uint64_t>(x);
}

// The value in a register of `bytes`: the upper bits of a wider register are its sign's or zero.
uint64_t extend(uint64_t value, Type t) {
  switch (t) {
    case Type::kS8:
      return static_cast<uint64_t>(static_cast<int8_t>(value));
    case Type::kS16:
      return static_cast<uint64_t>(static_cast<int16_t>(value));
    case Type::kS32:
      return static_cast<uint64_t>(static_cast<int32_t>(value));
    case Type::kU8:
      return static_cast<uint8_t>(value);
    case Type::kU16:
      return static_cast<uint16_t>(value);
    case Type::kU32:
      return static_cast<uint32_t>(value);
    default:
      return value;
  }
}

void convert(Warp& w, const Instruction& i, uint32_t lanes) {
  const Type d = static_cast<Type>(i.imm), s = i.type;
  const Rounding rounding = static_cast<Rounding>(i.flags & 7);
  const bool f32_source = s == Type::kF32, to_float = is_float(d) || d == Type::kTF32;
  for_lanes(lanes, [&](int lane) {
    const uint64_t raw = w.raw(i, 1, lane);
    if (!is_float(s) && !to_float && !i.sat) {  // the low bits, in full
      w.set_raw(i, 0, lane, extend(extend(raw, s), d));
      return;
    }
    long double x = load(raw, s);
    if (i.ftz && f32_source && flushes(x)) x = std::copysign(0.0L, x);
    if (i.flags & kToInteger) x = std::copysign(round_to_integer(x, rounding), x);
    if (to_float) {
      if (i.sat) x = x >= 1 ? 1 : x > 0 ? x : 0;
      if (i.flags & kRelu && !(x > 0)) x = x != x ? x : 0;
      uint64_t bits = store_float(x, d, i.flags & kToInteger ? kNearest : rounding);
      if (i.ftz && d == Type::kF32 && !(bits & 0x7f800000)) bits &= 0x80000000;
      w.set_raw(i, 0, lane, bits);
    } else {
      w.set_raw(i, 0, lane, extend(store_integer(x, d, s), d));
    }
  });
}

int32_t to_s32(float x, float rounded) {
  if (!(x == x)) return 0;
  return rounded >= 0x1p31f ? INT32_MAX : rounded < -0x1p31f ? INT32_MIN : static_cast<int32_t>(rounded);
}

Exec fast(Type d, Type s, const Instruction& i) {
  const bool integer = i.flags & kToInteger;
  const int rounding = i.flags & 7;
  if (i.ftz || i.sat || i.flags & kRelu) return nullptr;
  const auto is = [&](Type a, Type b) {
    return d == a && s == b && !(i.wide & 1) == (size_of(a) < 8) && !(i.wide & 2) == (size_of(b) < 8);
  };
  if (is(Type::kS64, Type::kS32)) return map_lanes<[](int32_t a) { return int64_t{a}; }, int64_t, int32_t>;
  if (is(Type::kU64, Type::kU32)) return map_lanes<[](uint32_t a) { return uint64_t{a}; }, uint64_t, uint32_t>;
  if (is(Type::kU32, Type::kU64))
    return map_lanes<[](uint64_t a) { return static_cast<uint32_t>(a); }, uint32_t, uint64_t>;
  if (is(Type::kU16, Type::kU32))
    return map_lanes<[](uint32_t a) { return static_cast<uint16_t>(a); }, uint16_t, uint32_t>;
  if (is(Type::kU32, Type::kU16)) return map_lanes<[](uint16_t a) { return uint32_t{a}; }, uint32_t, uint16_t>;
  if (is(Type::kF32, Type::kF16)) return map_lanes<[](Half a) { return f16_to_f32(a.bits); }, float, Half>;
  if (rounding == kNearest) {
    if (is(Type::kF32, Type::kS32)) return map_lanes<[](int32_t a) { return static_cast<float>(a); }, float, int32_t>;
    if (is(Type::kS32, Type::kF32) && integer)
      return map_lanes<[](float a) { return to_s32(a, std::nearbyint(a)); }, int32_t, float>;
  }
  if (rounding == kZero && integer && is(Type::kS32, Type::kF32))
    return map_lanes<[](float a) { return to_s32(a, std::trunc(a)); }, int32_t, float>;
  return nullptr;
}

bool needs_rounding(Type d, Type s) {
  const auto rank = [](Type t) { return t == Type::kF64 ? 3 : t == Type::kF32 ? 2 : 1; };
  if (!is_float(s)) return true;
  return rank(d) < rank(s) || (rank(d) == 1 && rank(s) == 1 && d != s);
}

Exec select_cvt(const Match& m, Instruction& i) {
  const Type d = m.first, s = m.type;
  const std::string_view r = m.slots[0];
  const bool integer_rounding = r.size() == 3 && r != "rna";
  i.imm = static_cast<int64_t>(d);
  i.flags = r.empty() || r[1] == 'n' ? (r == "rna" ? kAway : kNearest)
            : r[1] == 'z'            ? kZero
            : r[1] == 'm'            ? kDown
                                     : kUp;
  if (integer_rounding) i.flags |= kToInteger;
  if (m.has("relu")) i.flags |= kRelu;
  // Which rounding a pair of types takes is part of the grammar.
  const bool to_float = is_float(d) || d == Type::kTF32;
  bool legal;
  if (d == Type::kTF32) {
    legal = !r.empty();
  } else if (!is_float(s) && !to_float) {
    legal = r.empty();
  } else if (!to_float) {
    legal = integer_rounding;
  } else if (is_float(s) && d == s) {
    legal = r.empty() || integer_rounding;
  } else {
    legal = !integer_rounding && r.empty() != needs_rounding(d, s);
  }
  if (!legal) return nullptr;
  if (const Exec special = fast(d, s, i)) return special;
  return convert;
}

// The first source becomes the upper half.
Exec select_pair(const Match& m, Instruction& i) {
  i.imm = static_cast<int64_t>(m.first == Type::kF16x2 ? Type::kF16 : Type::kBF16);
  i.flags = m.slots[0] == "rz" ? kZero : kNearest;
  if (m.has("relu")) i.flags |= kRelu;
  return [](Warp& w, const Instruction& k, uint32_t lanes) {
    each_lane<uint32_t, float, float>(w, k, lanes, [&](float a, float b) {
      const auto half = [&](float x) {
        if (k.flags & kRelu && x < 0) x = 0;
        return static_cast<uint32_t>(
            store_float(static_cast<long double>(x), static_cast<Type>(k.imm), static_cast<Rounding>(k.flags & 7)));
      };
      return half(a) << 16 | half(b);
    });
  };
}

Exec select_pack(const Match& m, Instruction& i) {
  i.imm = static_cast<int64_t>(m.first);
  return [](Warp& w, const Instruction& k, uint32_t lanes) {
    const Type d = static_cast<Type>(k.imm);
    const int bits = size_of(d) * 8;
    for_lanes(lanes, [&](int lane) {
      const auto clamped = [&](int operand) {
        return static_cast<uint32_t>(store_integer(static_cast<int32_t>(w.raw(k, operand, lane)), d, Type::kS32)) &
               ((1u << bits) - 1);
      };
      const uint32_t rest = k.r[3] == kNoRegister ? 0 : static_cast<uint32_t>(w.raw(k, 3, lane)) << (2 * bits);
      w.set_raw(k, 0, lane, rest | clamped(1) << bits | clamped(2));
    });
  };
}

#define INTS "u8|u16|u32|u64|s8|s16|s32|s64"
constexpr Form kForms[] = {
    {"cvt rn|rz|rm|rp|rni|rzi|rmi|rpi? ftz? sat? " INTS "|f16|f32|f64|bf16 " INTS "|f16|f32|f64|bf16", "=~D ~T",
     select_cvt},
    {"cvt rn|rz relu f16|bf16 f32", "=D T", select_cvt},
    {"cvt rn|rz relu? f16x2|bf16x2 f32", "=D T T", select_pair},
    {"cvt rna tf32 f32", "=D T", select_cvt},
    {"cvt rn|rz relu? tf32 f32", "=D T", select_cvt},
    {"cvt pack sat u16|s16 s32", "=b32 T T", select_pack},
    {"cvt pack sat u8|s8 s32 b32", "=b32 s32 s32 b32", select_pack},
};

}  // namespace

std::span<const Form> convert_forms() { return kForms; }

}  // namespace ingot::ptx
