// Moves, logic, shifts, bit fields and byte permutations; conversions of addresses between state spaces.
#include <bit>

#include "ptx/instruction_table.h"
#include "ptx/warp.h"

namespace ingot::ptx {
namespace {

template <auto F>
Exec bits_binary(Type t) {
  switch (size_of(t)) {
    case 2:
      return map_lanes<F, uint16_t, uint16_t, uint16_t>;
    case 4:
      return map_lanes<F, uint32_t, uint32_t, uint32_t>;
    case 8:
      return map_lanes<F, uint64_t, uint64_t, uint64_t>;
    default:
      return nullptr;
  }
}

template <auto F>
Exec bits_unary(Type t) {
  switch (size_of(t)) {
    case 2:
      return map_lanes<F, uint16_t, uint16_t>;
    case 4:
      return map_lanes<F, uint32_t, uint32_t>;
    case 8:
      return map_lanes<F, uint64_t, uint64_t>;
    default:
      return nullptr;
  }
}

// Predicates are one word a warp: logic is the word's, kept to the lanes that run.
template <auto F>
void predicate_logic(Warp& w, const Instruction& i, uint32_t lanes) {
  const uint32_t b = w.predicate(i.r[2]);
  w.set_predicate(i.r[0], lanes, static_cast<uint32_t>(F(w.predicate(i.r[1]), i.predicate_not ? ~b : b)));
}

template <auto F>
Exec select_logic(const Match& m, Instruction& i) {
  if (m.type != Type::kPred) return bits_binary<F>(m.type);
  return i.predicate_not ? nullptr : static_cast<Exec>(predicate_logic<F>);  // '!' is no part of and, or, xor
}

Exec select_not(const Match& m, Instruction&) {
  if (m.type == Type::kPred)
    return [](Warp& w, const Instruction& i, uint32_t lanes) { w.set_predicate(i.r[0], lanes, ~w.predicate(i.r[1])); };
  return bits_unary<[](auto a) { return static_cast<decltype(a)>(~a); }>(m.type);
}

Exec select_cnot(const Match& m, Instruction&) {
  return bits_unary<[](auto a) { return static_cast<decltype(a)>(a == 0); }>(m.type);
}

Exec select_mov(const Match& m, Instruction& i) {
  if (m.type == Type::kPred) {
    return [](Warp& w, const Instruction& k, uint32_t lanes) {
      const uint32_t from = w.predicate(k.r[1]);
      w.set_predicate(k.r[0], lanes, k.predicate_not ? ~from : from);
    };
  }
  (void)i;
  return bits_unary<[](auto a) { return a; }>(m.type);
}

// mov.b32 {lo, hi}, r and back: operands in order, the register last or first.
Exec select_unpack(const Match& m, Instruction& i) {
  i.imm = size_of(m.type) * 8 / i.vector;
  return [](Warp& w, const Instruction& k, uint32_t lanes) {
    for_lanes(lanes, [&](int lane) {
      const uint64_t value = w.raw(k, k.vector, lane);
      for (int e = 0; e < k.vector; ++e) w.set_raw(k, e, lane, value >> (k.imm * e) & ((uint64_t{1} << k.imm) - 1));
    });
  };
}

Exec select_pack(const Match& m, Instruction& i) {
  i.imm = size_of(m.type) * 8 / i.vector;
  return [](Warp& w, const Instruction& k, uint32_t lanes) {
    for_lanes(lanes, [&](int lane) {
      uint64_t value = 0;
      for (int e = 0; e < k.vector; ++e) value |= (w.raw(k, e + 1, lane) & ((uint64_t{1} << k.imm) - 1)) << (k.imm * e);
      w.set_raw(k, 0, lane, value);
    });
  };
}

Exec select_lop3(const Match&, Instruction&) {
  return [](Warp& w, const Instruction& k, uint32_t lanes) {
    const uint32_t t = static_cast<uint32_t>(k.imm);
    each_lane<uint32_t, uint32_t, uint32_t, uint32_t>(w, k, lanes, [t](uint32_t a, uint32_t b, uint32_t c) {
      uint32_t r = 0;
      for (uint32_t row = 0; row < 8; ++row) {
        if (t >> row & 1) r |= (row & 4 ? a : ~a) & (row & 2 ? b : ~b) & (row & 1 ? c : ~c);
      }
      return r;
    });
  };
}

Exec select_shl(const Match& m, Instruction&) {
  constexpr auto shift = [](auto a, uint32_t n) {
    return n >= sizeof(a) * 8 ? decltype(a){0} : static_cast<decltype(a)>(a << n);
  };
  switch (size_of(m.type)) {
    case 2:
      return map_lanes<shift, uint16_t, uint16_t, uint32_t>;
    case 4:
      return map_lanes<shift, uint32_t, uint32_t, uint32_t>;
    default:
      return map_lanes<shift, uint64_t, uint64_t, uint32_t>;
  }
}

Exec select_shr(const Match& m, Instruction&) {
  constexpr auto shift = [](auto a, uint32_t n) {
    constexpr uint32_t bits = sizeof(a) * 8;
    if (n >= bits) return static_cast<decltype(a)>(a < 0 ? -1 : 0);
    return static_cast<decltype(a)>(a >> n);
  };
  switch (m.type) {
    case Type::kS16:
      return map_lanes<shift, int16_t, int16_t, uint32_t>;
    case Type::kS32:
      return map_lanes<shift, int32_t, int32_t, uint32_t>;
    case Type::kS64:
      return map_lanes<shift, int64_t, int64_t, uint32_t>;
    default:
      break;
  }
  switch (size_of(m.type)) {
    case 2:
      return map_lanes<shift, uint16_t, uint16_t, uint32_t>;
    case 4:
      return map_lanes<shift, uint32_t, uint32_t, uint32_t>;
    default:
      return map_lanes<shift, uint64_t, uint64_t, uint32_t>;
  }
}

template <bool kLeft, bool kWrap>
constexpr auto funnel = [](uint32_t low, uint32_t high, uint32_t n) {
  n = kWrap ? n & 31 : (n > 32 ? 32 : n);
  const uint64_t both = uint64_t{high} << 32 | low;
  return static_cast<uint32_t>(kLeft ? (both << n) >> 32 : both >> n);
};

template <auto F>
Exec words() {
  return map_lanes<F, uint32_t, uint32_t, uint32_t, uint32_t>;
}

Exec select_shf(const Match& m, Instruction&) {
  if (m.slots[0] == "l") return m.has("wrap") ? words<funnel<true, true>>() : words<funnel<true, false>>();
  return m.has("wrap") ? words<funnel<false, true>>() : words<funnel<false, false>>();
}

constexpr auto permute = [](uint32_t a, uint32_t b, uint32_t selector) {
  const uint64_t bytes = uint64_t{b} << 32 | a;
  uint32_t r = 0;
  for (int k = 0; k < 4; ++k) {
    const uint32_t s = selector >> (4 * k) & 15;
    uint32_t byte = static_cast<uint32_t>(bytes >> (8 * (s & 7))) & 255;
    if (s & 8) byte = byte & 128 ? 255 : 0;
    r |= byte << (8 * k);
  }
  return r;
};

// The selector that a mode of prmt and the low bits of its control stand for.
template <int kMode>
constexpr auto permute_mode = [](uint32_t a, uint32_t b, uint32_t c) {
  constexpr uint16_t selectors[6][4] = {
      {0x3210, 0x4321, 0x5432, 0x6543}, {0x5670, 0x6701, 0x7012, 0x0123}, {0x0000, 0x1111, 0x2222, 0x3333},
      {0x3210, 0x3211, 0x3222, 0x3333}, {0x0000, 0x1110, 0x2210, 0x3210}, {0x1010, 0x3232, 0x1010, 0x3232},
  };
  return permute(a, b, selectors[kMode][c & 3]);
};

Exec select_prmt(const Match& m, Instruction&) {
  const std::string_view mode = m.slots[1];
  if (mode.empty()) return words<permute>();
  if (mode == "f4e") return words<permute_mode<0>>();
  if (mode == "b4e") return words<permute_mode<1>>();
  if (mode == "rc8") return words<permute_mode<2>>();
  if (mode == "ecl") return words<permute_mode<3>>();
  if (mode == "ecr") return words<permute_mode<4>>();
  return words<permute_mode<5>>();
}

// Bits [pos, pos + len) of a; beyond its top come copies of the field's sign, or of a's.
constexpr auto extract = [](auto a, uint32_t pos, uint32_t len) {
  using T = decltype(a);
  using V = std::make_unsigned_t<T>;
  constexpr uint32_t bits = sizeof(T) * 8;
  pos &= 255;
  len &= 255;
  const V value = static_cast<V>(a);
  const uint32_t sign_at = pos + len - 1 < bits - 1 ? pos + len - 1 : bits - 1;
  const bool negative = std::is_signed_v<T> && len && (value >> sign_at & 1);
  V r = negative ? static_cast<V>(~V{0}) : V{0};
  for (uint32_t k = 0; k < len && k < bits && pos + k < bits; ++k) {
    r = static_cast<V>((r & ~(V{1} << k)) | (value >> (pos + k) & 1) << k);
  }
  return static_cast<T>(r);
};

Exec select_bfe(const Match& m, Instruction&) {
  switch (m.type) {
    case Type::kU32:
      return map_lanes<extract, uint32_t, uint32_t, uint32_t, uint32_t>;
    case Type::kU64:
      return map_lanes<extract, uint64_t, uint64_t, uint32_t, uint32_t>;
    case Type::kS32:
      return map_lanes<extract, int32_t, int32_t, uint32_t, uint32_t>;
    default:
      return map_lanes<extract, int64_t, int64_t, uint32_t, uint32_t>;
  }
}

constexpr auto insert = [](auto a, auto b, uint32_t pos, uint32_t len) {
  using T = decltype(a);
  constexpr uint32_t bits = sizeof(T) * 8;
  pos &= 255;
  len &= 255;
  if (pos >= bits || len == 0) return b;
  const T ones = static_cast<T>(len >= bits ? ~T{0} : (T{1} << len) - 1) << pos;
  return static_cast<T>((b & ~ones) | ((a << pos) & ones));
};

Exec select_bfi(const Match& m, Instruction&) {
  return size_of(m.type) == 4 ? static_cast<Exec>(map_lanes<insert, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t>)
                              : map_lanes<insert, uint64_t, uint64_t, uint64_t, uint32_t, uint32_t>;
}

template <auto F>
Exec count(Type t) {
  return size_of(t) == 4 ? static_cast<Exec>(map_lanes<F, uint32_t, uint32_t>) : map_lanes<F, uint32_t, uint64_t>;
}

Exec select_popc(const Match& m, Instruction&) {
  return count<[](auto a) { return static_cast<uint32_t>(std::popcount(a)); }>(m.type);
}
Exec select_clz(const Match& m, Instruction&) {
  return count<[](auto a) { return static_cast<uint32_t>(std::countl_zero(a)); }>(m.type);
}
Exec select_brev(const Match& m, Instruction&) {
  return bits_unary<[](auto a) {
    decltype(a) r = 0;
    for (size_t k = 0; k < sizeof(a) * 8; ++k) r = static_cast<decltype(a)>(r << 1 | (a >> k & 1));
    return r;
  }>(m.type);
}

// Place of the highest bit that differs from the sign; with shiftamt the left shift that brings it to the top.
template <bool kShift>
constexpr auto find_high = [](auto a) {
  using V = std::make_unsigned_t<decltype(a)>;
  const V x = static_cast<V>(a < 0 ? ~a : a);
  if (x == 0) return ~0u;
  return kShift ? static_cast<uint32_t>(std::countl_zero(x))
                : static_cast<uint32_t>(sizeof(V) * 8 - 1) - static_cast<uint32_t>(std::countl_zero(x));
};

template <bool kShift>
Exec pick_bfind(Type t) {
  switch (t) {
    case Type::kU32:
      return map_lanes<find_high<kShift>, uint32_t, uint32_t>;
    case Type::kU64:
      return map_lanes<find_high<kShift>, uint32_t, uint64_t>;
    case Type::kS32:
      return map_lanes<find_high<kShift>, uint32_t, int32_t>;
    default:
      return map_lanes<find_high<kShift>, uint32_t, int64_t>;
  }
}
Exec select_bfind(const Match& m, Instruction&) {
  return m.has("shiftamt") ? pick_bfind<true>(m.type) : pick_bfind<false>(m.type);
}

template <bool kWrap>
constexpr auto bit_mask = [](uint32_t at, uint32_t len) {
  if (kWrap) {
    at &= 31;
    len &= 31;
  }
  if (at > 31 || len == 0) return 0u;
  const uint32_t ones = len >= 32 ? ~0u : (1u << len) - 1;
  return ones << at;
};
Exec select_bmsk(const Match& m, Instruction&) {
  return m.has("wrap") ? static_cast<Exec>(map_lanes<bit_mask<true>, uint32_t, uint32_t, uint32_t>)
                       : map_lanes<bit_mask<false>, uint32_t, uint32_t, uint32_t>;
}

// Generic addresses are an offset in a window of their own, but for global memory, where both are the same.
uint64_t window_of(std::string_view space) {
  if (space.starts_with("shared")) return kSharedWindow;
  if (space == "local") return kLocalWindow;
  if (space == "param" || space == "param::entry") return kParamWindow;
  return 0;
}

Exec select_cvta(const Match& m, Instruction& i) {
  const bool to = m.slots[0] == "to";
  const uint64_t window = window_of(m.slots[1]);
  i.imm = static_cast<int64_t>(to ? uint64_t{0} - window : window);
  return [](Warp& w, const Instruction& k, uint32_t lanes) {
    each_lane<uint64_t, uint64_t>(w, k, lanes, [d = static_cast<uint64_t>(k.imm)](uint64_t a) { return a + d; });
  };
}

Exec select_isspacep(const Match& m, Instruction& i) {
  i.imm = static_cast<int64_t>(window_of(m.slots[0]));
  i.flags = m.slots[0] == "const";
  return [](Warp& w, const Instruction& k, uint32_t lanes) {
    uint32_t r = 0;
    for_lanes(lanes, [&](int lane) {
      const uint64_t address = w.raw(k, 1, lane), window = static_cast<uint64_t>(k.imm);
      const bool other = address >= kSharedWindow && address < kParamWindow + kWindowBytes;
      const bool inside = window ? address - window < kWindowBytes : !other && !k.flags;
      r |= uint32_t{inside} << lane;
    });
    w.set_predicate(k.r[0], lanes, r);
  };
}

constexpr Form kForms[] = {
    {"and pred|b16|b32|b64", "=T T T", select_logic<[](auto a, auto b) { return static_cast<decltype(a)>(a & b); }>},
    {"or pred|b16|b32|b64", "=T T T", select_logic<[](auto a, auto b) { return static_cast<decltype(a)>(a | b); }>},
    {"xor pred|b16|b32|b64", "=T T T", select_logic<[](auto a, auto b) { return static_cast<decltype(a)>(a ^ b); }>},
    {"not pred|b16|b32|b64", "=T T", select_not},
    {"cnot b16|b32|b64", "=T T", select_cnot},
    {"mov pred|b16|b32|b64|u16|u32|u64|s16|s32|s64|f32|f64|f16|f16x2|bf16|bf16x2", "=T T", select_mov},
    {"mov b32|b64", "=pack T", select_unpack},
    {"mov b32|b64", "=T pack", select_pack},
    {"lop3 b32", "=T T T T #", select_lop3},
    {"shl b16|b32|b64", "=T T u32", select_shl},
    {"shr b16|b32|b64|u16|u32|u64|s16|s32|s64", "=T T u32", select_shr},
    {"shf l|r clamp|wrap b32", "=T T T u32", select_shf},
    {"prmt b32 f4e|b4e|rc8|ecl|ecr|rc16?", "=b32 b32 b32 b32", select_prmt},
    {"bfe u32|u64|s32|s64", "=T T u32 u32", select_bfe},
    {"bfi b32|b64", "=T T T u32 u32", select_bfi},
    {"popc b32|b64", "=u32 T", select_popc},
    {"clz b32|b64", "=u32 T", select_clz},
    {"brev b32|b64", "=T T", select_brev},
    {"bfind shiftamt? u32|u64|s32|s64", "=u32 T", select_bfind},
    {"bmsk clamp|wrap b32", "=T T T", select_bmsk},
    {"cvta to? const|global|local|shared|param|shared::cta|param::entry u64", "=T T", select_cvta},
    {"isspacep const|global|local|shared|param|shared::cta|param::entry", "=p u64", select_isspacep},
};

}  // namespace

std::span<const Form> bit_forms() { return kForms; }

}  // namespace ingot::ptx
