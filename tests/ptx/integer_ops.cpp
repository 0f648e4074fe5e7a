// Integer arithmetic. Sums and products are formed unsigned, where wrapping is defined.
#include <algorithm>

#include "ptx/instruction_table.h"
#include "ptx/warp.h"

namespace ingot::ptx {
namespace {

template <class T>
using U = std::make_unsigned_t<T>;

template <auto F, class T, class... More>
Exec same() {
  return map_lanes<F, T, T, More...>;
}

template <auto F>
Exec pick_unary(Type t) {
  switch (t) {
    case Type::kU16:
      return map_lanes<F, uint16_t, uint16_t>;
    case Type::kU32:
      return map_lanes<F, uint32_t, uint32_t>;
    case Type::kU64:
      return map_lanes<F, uint64_t, uint64_t>;
    case Type::kS16:
      return map_lanes<F, int16_t, int16_t>;
    case Type::kS32:
      return map_lanes<F, int32_t, int32_t>;
    case Type::kS64:
      return map_lanes<F, int64_t, int64_t>;
    default:
      return nullptr;
  }
}

template <auto F>
Exec pick_binary(Type t) {
  switch (t) {
    case Type::kU16:
      return map_lanes<F, uint16_t, uint16_t, uint16_t>;
    case Type::kU32:
      return map_lanes<F, uint32_t, uint32_t, uint32_t>;
    case Type::kU64:
      return map_lanes<F, uint64_t, uint64_t, uint64_t>;
    case Type::kS16:
      return map_lanes<F, int16_t, int16_t, int16_t>;
    case Type::kS32:
      return map_lanes<F, int32_t, int32_t, int32_t>;
    case Type::kS64:
      return map_lanes<F, int64_t, int64_t, int64_t>;
    default:
      return nullptr;
  }
}

template <auto F>
Exec pick_ternary(Type t) {
  switch (t) {
    case Type::kU16:
      return map_lanes<F, uint16_t, uint16_t, uint16_t, uint16_t>;
    case Type::kU32:
      return map_lanes<F, uint32_t, uint32_t, uint32_t, uint32_t>;
    case Type::kU64:
      return map_lanes<F, uint64_t, uint64_t, uint64_t, uint64_t>;
    case Type::kS16:
      return map_lanes<F, int16_t, int16_t, int16_t, int16_t>;
    case Type::kS32:
      return map_lanes<F, int32_t, int32_t, int32_t, int32_t>;
    case Type::kS64:
      return map_lanes<F, int64_t, int64_t, int64_t, int64_t>;
    default:
      return nullptr;
  }
}

// The value of twice the width that a product needs.
template <class T>
auto widen(T x) {
  if constexpr (sizeof(T) == 2)
    return static_cast<std::conditional_t<std::is_signed_v<T>, int32_t, uint32_t>>(x);
  else if constexpr (sizeof(T) == 4)
    return static_cast<std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>(x);
  else
    return static_cast<std::conditional_t<std::is_signed_v<T>, __int128, unsigned __int128>>(x);
}

constexpr auto add = [](auto a, auto b) {
  return static_cast<decltype(a)>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
};
constexpr auto sub = [](auto a, auto b) {
  return static_cast<decltype(a)>(static_cast<uint64_t>(a) - static_cast<uint64_t>(b));
};
constexpr auto mul_lo = [](auto a, auto b) {
  return static_cast<decltype(a)>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
};
constexpr auto mul_hi = [](auto a, auto b) {
  return static_cast<decltype(a)>((widen(a) * widen(b)) >> (sizeof(a) * 8));
};
constexpr auto mad_lo = [](auto a, auto b, auto c) { return add(mul_lo(a, b), c); };
constexpr auto mad_hi = [](auto a, auto b, auto c) { return add(mul_hi(a, b), c); };
constexpr auto mul_wide = [](auto a, auto b) { return widen(a) * widen(b); };
constexpr auto mad_wide = [](auto a, auto b, auto c) {
  return static_cast<decltype(c)>(static_cast<uint64_t>(widen(a) * widen(b)) + static_cast<uint64_t>(c));
};
constexpr auto minimum = [](auto a, auto b) { return std::min(a, b); };
constexpr auto maximum = [](auto a, auto b) { return std::max(a, b); };

int32_t clamp_s32(int64_t x) { return static_cast<int32_t>(std::clamp<int64_t>(x, INT32_MIN, INT32_MAX)); }

// Division by zero: the hardware's answer is unspecified; ours is all ones, and the dividend for rem.
constexpr auto divide = [](auto a, auto b) {
  using T = decltype(a);
  if (b == 0) return static_cast<T>(~T{0});
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return sub(T{0}, a);
  }
  return static_cast<T>(a / b);
};
constexpr auto remainder = [](auto a, auto b) {
  using T = decltype(a);
  if (b == 0) return a;
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return T{0};
  }
  return static_cast<T>(a % b);
};

template <auto F, class E>
constexpr auto in_halves = [](uint32_t a, uint32_t b) {
  const auto half = [](uint32_t x, int k) { return static_cast<E>(x >> (16 * k)); };
  const auto put = [](E x, int k) { return uint32_t{static_cast<uint16_t>(x)} << (16 * k); };
  return put(F(half(a, 0), half(b, 0)), 0) | put(F(half(a, 1), half(b, 1)), 1);
};
constexpr auto max_relu = [](auto a, auto b) { return std::max<decltype(a)>(std::max(a, b), 0); };
constexpr auto min_relu = [](auto a, auto b) { return std::max<decltype(a)>(std::min(a, b), 0); };

template <auto F>
Exec pick_halves(Type t) {
  return t == Type::kU16x2 ? map_lanes<in_halves<F, uint16_t>, uint32_t, uint32_t, uint32_t>
                           : map_lanes<in_halves<F, int16_t>, uint32_t, uint32_t, uint32_t>;
}

Exec select_add(const Match& m, Instruction& i) {
  if (i.sat)
    return map_lanes<[](int32_t a, int32_t b) { return clamp_s32(int64_t{a} + b); }, int32_t, int32_t, int32_t>;
  if (m.type == Type::kU16x2 || m.type == Type::kS16x2) return pick_halves<add>(m.type);
  return pick_binary<add>(m.type);
}

Exec select_sub(const Match& m, Instruction& i) {
  if (i.sat)
    return map_lanes<[](int32_t a, int32_t b) { return clamp_s32(int64_t{a} - b); }, int32_t, int32_t, int32_t>;
  return pick_binary<sub>(m.type);
}

Exec select_mul(const Match& m, Instruction&) {
  return m.has("hi") ? pick_binary<mul_hi>(m.type) : pick_binary<mul_lo>(m.type);
}
Exec select_mad(const Match& m, Instruction& i) {
  if (i.sat) {
    return map_lanes<[](int32_t a, int32_t b, int32_t c) { return clamp_s32(int64_t{mul_hi(a, b)} + c); }, int32_t,
                     int32_t, int32_t, int32_t>;
  }
  return m.has("hi") ? pick_ternary<mad_hi>(m.type) : pick_ternary<mad_lo>(m.type);
}

Exec select_mul_wide(const Match& m, Instruction&) {
  switch (m.type) {
    case Type::kU16:
      return map_lanes<mul_wide, uint32_t, uint16_t, uint16_t>;
    case Type::kS16:
      return map_lanes<mul_wide, int32_t, int16_t, int16_t>;
    case Type::kU32:
      return map_lanes<mul_wide, uint64_t, uint32_t, uint32_t>;
    case Type::kS32:
      return map_lanes<mul_wide, int64_t, int32_t, int32_t>;
    default:
      return nullptr;
  }
}

Exec select_mad_wide(const Match& m, Instruction&) {
  switch (m.type) {
    case Type::kU16:
      return map_lanes<mad_wide, uint32_t, uint16_t, uint16_t, uint32_t>;
    case Type::kS16:
      return map_lanes<mad_wide, int32_t, int16_t, int16_t, int32_t>;
    case Type::kU32:
      return map_lanes<mad_wide, uint64_t, uint32_t, uint32_t, uint64_t>;
    case Type::kS32:
      return map_lanes<mad_wide, int64_t, int32_t, int32_t, int64_t>;
    default:
      return nullptr;
  }
}

// Products of the low 24 bits: bits 0..31, or 16..47.
template <bool kHigh, class T>
constexpr auto mul24 = [](T a, T b) {
  const auto low = [](T x) { return static_cast<int64_t>(static_cast<T>(static_cast<uint32_t>(x) << 8) >> 8); };
  return static_cast<T>((low(a) * low(b)) >> (kHigh ? 16 : 0));
};
template <bool kHigh, class T>
constexpr auto mad24 = [](T a, T b, T c) { return add(mul24<kHigh, T>(a, b), c); };

Exec select_mul24(const Match& m, Instruction&) {
  const bool high = m.has("hi");
  if (m.type == Type::kU32)
    return high ? map_lanes<mul24<true, uint32_t>, uint32_t, uint32_t, uint32_t>
                : map_lanes<mul24<false, uint32_t>, uint32_t, uint32_t, uint32_t>;
  return high ? map_lanes<mul24<true, int32_t>, int32_t, int32_t, int32_t>
              : map_lanes<mul24<false, int32_t>, int32_t, int32_t, int32_t>;
}

Exec select_mad24(const Match& m, Instruction&) {
  const bool high = m.has("hi");
  if (m.type == Type::kU32) {
    return high ? map_lanes<mad24<true, uint32_t>, uint32_t, uint32_t, uint32_t, uint32_t>
                : map_lanes<mad24<false, uint32_t>, uint32_t, uint32_t, uint32_t, uint32_t>;
  }
  return high ? map_lanes<mad24<true, int32_t>, int32_t, int32_t, int32_t, int32_t>
              : map_lanes<mad24<false, int32_t>, int32_t, int32_t, int32_t, int32_t>;
}

Exec select_min(const Match& m, Instruction&) {
  if (m.type == Type::kU16x2 || m.type == Type::kS16x2)
    return m.has("relu") ? pick_halves<min_relu>(m.type) : pick_halves<minimum>(m.type);
  return m.has("relu") ? pick_binary<min_relu>(m.type) : pick_binary<minimum>(m.type);
}
Exec select_max(const Match& m, Instruction&) {
  if (m.type == Type::kU16x2 || m.type == Type::kS16x2)
    return m.has("relu") ? pick_halves<max_relu>(m.type) : pick_halves<maximum>(m.type);
  return m.has("relu") ? pick_binary<max_relu>(m.type) : pick_binary<maximum>(m.type);
}

Exec select_sad(const Match& m, Instruction&) {
  return pick_ternary<[](auto a, auto b, auto c) { return add(c, a < b ? sub(b, a) : sub(a, b)); }>(m.type);
}
Exec select_neg(const Match& m, Instruction&) {
  return pick_unary<[](auto a) { return sub(decltype(a){0}, a); }>(m.type);
}
Exec select_abs(const Match& m, Instruction&) {
  return pick_unary<[](auto a) { return a < 0 ? sub(decltype(a){0}, a) : a; }>(m.type);
}

// Sums of byte products, or of the byte pair kPair of b with the halves of a.
template <class A, class B>
constexpr auto dp4a = [](uint32_t a, uint32_t b, uint32_t c) {
  for (int k = 0; k < 32; k += 8)
    c += static_cast<uint32_t>(int32_t{static_cast<A>(a >> k)} * int32_t{static_cast<B>(b >> k)});
  return c;
};
template <class A, class B, int kPair>
constexpr auto dp2a = [](uint32_t a, uint32_t b, uint32_t c) {
  for (int k = 0; k < 2; ++k)
    c += static_cast<uint32_t>(int32_t{static_cast<A>(a >> 16 * k)} *
                               int32_t{static_cast<B>(b >> (8 * k + 16 * kPair))});
  return c;
};
template <auto F>
Exec words() {
  return map_lanes<F, uint32_t, uint32_t, uint32_t, uint32_t>;
}

Exec select_dp4a(const Match& m, Instruction&) {
  const bool a = is_signed(m.first), b = is_signed(m.type);
  if (a) return b ? words<dp4a<int8_t, int8_t>>() : words<dp4a<int8_t, uint8_t>>();
  return b ? words<dp4a<uint8_t, int8_t>>() : words<dp4a<uint8_t, uint8_t>>();
}

template <int kPair>
Exec pick_dp2a(bool a, bool b) {
  if (a) return b ? words<dp2a<int16_t, int8_t, kPair>>() : words<dp2a<int16_t, uint8_t, kPair>>();
  return b ? words<dp2a<uint16_t, int8_t, kPair>>() : words<dp2a<uint16_t, uint8_t, kPair>>();
}
Exec select_dp2a(const Match& m, Instruction&) {
  return m.has("hi") ? pick_dp2a<1>(is_signed(m.first), is_signed(m.type))
                     : pick_dp2a<0>(is_signed(m.first), is_signed(m.type));
}

// Carry chains: flags bit 0: takes the carry, bit 1: leaves it, bit 2: subtracts, bit 3: adds the product's high half,
// bit 4: its low one.
template <class T>
void carry_chain(Warp& w, const Instruction& i, uint32_t lanes) {
  const bool product = i.flags & 24;
  auto* d = w.lane_array<T>(i.r[0]);
  const auto *a = w.lane_array<T>(i.r[1]), *b = w.lane_array<T>(i.r[2]);
  const auto* c = product ? w.lane_array<T>(i.r[3]) : nullptr;
  for_lanes(lanes, [&](int lane) {
    const uint32_t bit = 1u << lane;
    unsigned __int128 x = a[lane], y = b[lane];
    if (product) {
      const bool is_signed_type = is_signed(i.type);
      T part =
          i.flags & 16 ? static_cast<T>(x * y)
          : is_signed_type
              ? static_cast<T>(mul_hi(static_cast<std::make_signed_t<T>>(x), static_cast<std::make_signed_t<T>>(y)))
              : static_cast<T>(mul_hi(static_cast<T>(x), static_cast<T>(y)));
      x = part;
      y = c[lane];
    }
    const unsigned carry = i.flags & 1 && w.carry & bit ? 1 : 0;
    const unsigned __int128 sum = i.flags & 4 ? x - y - carry : x + y + carry;
    d[lane] = static_cast<T>(sum);
    if (i.flags & 2) w.carry = (sum >> (sizeof(T) * 8)) & 1 ? w.carry | bit : w.carry & ~bit;
  });
}

template <int kFlags>
Exec select_carry(const Match& m, Instruction& i) {
  i.flags = static_cast<uint8_t>(kFlags | (m.has("cc") ? 2 : 0) | (m.has("hi") ? 8 : 0) | (m.has("lo") ? 16 : 0));
  return size_of(m.type) == 8 ? carry_chain<uint64_t> : carry_chain<uint32_t>;
}

constexpr Form kForms[] = {
    {"add u16|u32|u64|s16|s32|s64|u16x2|s16x2", "=T T T", select_add},
    {"add sat s32", "=T T T", select_add},
    {"sub u16|u32|u64|s16|s32|s64", "=T T T", select_sub},
    {"sub sat s32", "=T T T", select_sub},
    {"add cc u32|s32|u64|s64", "=T T T", select_carry<0>},
    {"addc cc? u32|s32|u64|s64", "=T T T", select_carry<1>},
    {"sub cc u32|s32|u64|s64", "=T T T", select_carry<4>},
    {"subc cc? u32|s32|u64|s64", "=T T T", select_carry<5>},
    {"mad lo|hi cc u32|s32|u64|s64", "=T T T T", select_carry<0>},
    {"madc lo|hi cc? u32|s32|u64|s64", "=T T T T", select_carry<1>},
    {"mul lo|hi u16|u32|u64|s16|s32|s64", "=T T T", select_mul},
    {"mul wide u16|u32|s16|s32", "=W T T", select_mul_wide},
    {"mad lo|hi u16|u32|u64|s16|s32|s64", "=T T T T", select_mad},
    {"mad hi sat s32", "=T T T T", select_mad},
    {"mad wide u16|u32|s16|s32", "=W T T W", select_mad_wide},
    {"mul24 lo|hi u32|s32", "=T T T", select_mul24},
    {"mad24 lo|hi u32|s32", "=T T T T", select_mad24},
    {"sad u16|u32|u64|s16|s32|s64", "=T T T T", select_sad},
    {"div u16|u32|u64|s16|s32|s64", "=T T T", [](const Match& m, Instruction&) { return pick_binary<divide>(m.type); }},
    {"rem u16|u32|u64|s16|s32|s64", "=T T T",
     [](const Match& m, Instruction&) { return pick_binary<remainder>(m.type); }},
    {"abs s16|s32|s64", "=T T", select_abs},
    {"neg s16|s32|s64", "=T T", select_neg},
    {"min u16|u32|u64|u16x2|s16|s64|s16x2|s32", "=T T T", select_min},
    {"min relu s16x2|s32", "=T T T", select_min},
    {"max u16|u32|u64|u16x2|s16|s64|s16x2|s32", "=T T T", select_max},
    {"max relu s16x2|s32", "=T T T", select_max},
    {"dp4a s32|u32 s32|u32", "=b32 b32 b32 b32", select_dp4a},
    {"dp2a lo|hi s32|u32 s32|u32", "=b32 b32 b32 b32", select_dp2a},
};

}  // namespace

std::span<const Form> integer_forms() { return kForms; }

}  // namespace ingot::ptx
