// setp, set, selp, slct. A comparison is made for all 32 lanes at once and becomes a word, one bit a lane.
#include <cmath>

#include "ptx/instruction_table.h"
#include "ptx/warp.h"

namespace ingot::ptx {
namespace {

constexpr std::string_view kComparisons[] = {"eq", "ne",  "lt",  "le",  "gt",  "ge",  "lo",  "ls",  "hi",
                                             "hs", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"};
constexpr int kNum = 16, kUnordered = 10, kUnsigned = 6;

float flush(float x) { return std::fabs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x; }

template <class Load>
uint32_t compare(int how, Load load) {
  const auto loop = [&](auto f) {
    uint32_t r = 0;
    for (int lane = 0; lane < 32; ++lane) {
      const auto [a, b] = load(lane);
      r |= uint32_t{f(a, b)} << lane;
    }
    return r;
  };
  switch (how) {
    case 0:
      return loop([](auto a, auto b) { return a == b; });
    case 1:
      return loop([](auto a, auto b) { return a != b && a == a && b == b; });
    case 2:
    case 6:
      return loop([](auto a, auto b) { return a < b; });
    case 3:
    case 7:
      return loop([](auto a, auto b) { return a <= b; });
    case 4:
    case 8:
      return loop([](auto a, auto b) { return a > b; });
    case 5:
    case 9:
      return loop([](auto a, auto b) { return a >= b; });
    case 10:
      return loop([](auto a, auto b) { return a == b || a != a || b != b; });
    case 11:
      return loop([](auto a, auto b) { return a != b; });
    case 12:
      return loop([](auto a, auto b) { return !(a >= b); });
    case 13:
      return loop([](auto a, auto b) { return !(a > b); });
    case 14:
      return loop([](auto a, auto b) { return !(a <= b); });
    case 15:
      return loop([](auto a, auto b) { return !(a < b); });
    case kNum:
      return loop([](auto a, auto b) { return a == a && b == b; });
    default:
      return loop([](auto a, auto b) { return a != a || b != b; });
  }
}

// Operands a and b are `first` and the one after it; `half` picks the upper half of a pair.
uint32_t compare_operands(Warp& w, const Instruction& i, int first, int how, int half) {
  const auto with = [&]<class T>(T) {
    const auto *a = w.lane_array<T>(i.r[first]), *b = w.lane_array<T>(i.r[first + 1]);
    return compare(how, [=](int lane) { return std::pair{from_raw<T>(a[lane]), from_raw<T>(b[lane])}; });
  };
  const auto with_half = [&](auto up) {
    const auto *a = w.lane_array<uint32_t>(i.r[first]), *b = w.lane_array<uint32_t>(i.r[first + 1]);
    return compare(how, [=](int lane) {
      return std::pair{up(static_cast<uint16_t>(a[lane] >> half)), up(static_cast<uint16_t>(b[lane] >> half))};
    });
  };
  switch (i.type) {
    case Type::kU16:
    case Type::kB16:
      return with(uint16_t{});
    case Type::kU32:
    case Type::kB32:
      return with(uint32_t{});
    case Type::kU64:
    case Type::kB64:
      return with(uint64_t{});
    case Type::kS16:
      return with(int16_t{});
    case Type::kS32:
      return with(int32_t{});
    case Type::kS64:
      return with(int64_t{});
    case Type::kF64:
      return with(double{});
    case Type::kF16:
    case Type::kF16x2:
      return with_half([](uint16_t x) { return f16_to_f32(x); });
    case Type::kBF16:
    case Type::kBF16x2:
      return with_half([](uint16_t x) { return bf16_to_f32(x); });
    default:
      break;
  }
  const auto *a = w.lane_array<float>(i.r[first]), *b = w.lane_array<float>(i.r[first + 1]);
  return compare(how, [a, b, ftz = i.ftz](int lane) {
    const float x = std::bit_cast<float>(a[lane]), y = std::bit_cast<float>(b[lane]);
    return ftz ? std::pair{flush(x), flush(y)} : std::pair{x, y};
  });
}

uint32_t combine(int how, uint32_t a, uint32_t b) { return how == 1 ? a & b : how == 2 ? a | b : how == 3 ? a ^ b : a; }
bool is_pair(Type t) { return t == Type::kF16x2 || t == Type::kBF16x2; }

void set_predicates(Warp& w, const Instruction& i, uint32_t lanes) {  // p, q, a, b, c
  const int how = static_cast<int>(i.imm & 31), join = static_cast<int>(i.imm >> 5);
  const uint32_t first = compare_operands(w, i, 2, how, 0);
  uint32_t c = join ? w.predicate(i.r[4]) : 0;
  if (i.predicate_not) c = ~c;
  const uint32_t second = is_pair(i.type) ? compare_operands(w, i, 2, how, 16) : ~first;
  w.set_predicate(i.r[0], lanes, combine(join, first, c));
  w.set_predicate(i.r[1], lanes, combine(join, second, c));
}

bool set_comparison(const Match& m, Instruction& i) {
  for (int k = 0; k < 18; ++k) {
    if (kComparisons[k] == m.slots[0]) i.imm = k;
  }
  const bool real = is_float(m.type) || is_pair(m.type);
  if (i.imm >= kUnordered && !real) return false;
  if (i.imm >= kUnsigned && i.imm < kUnordered && (real || is_signed(m.type))) return false;
  const std::string_view join = m.slots[1];
  i.imm |= (join == "and" ? 1 : join == "or" ? 2 : join == "xor" ? 3 : 0) << 5;
  return true;
}

Exec select_setp(const Match& m, Instruction& i) { return set_comparison(m, i) ? set_predicates : nullptr; }

void set_values(Warp& w, const Instruction& i, uint32_t lanes) {  // d, a, b, c
  const int how = static_cast<int>(i.imm & 31), join = static_cast<int>(i.imm >> 5);
  uint32_t c = join ? w.predicate(i.r[3]) : 0;
  if (i.predicate_not) c = ~c;
  const uint32_t low = combine(join, compare_operands(w, i, 1, how, 0), c);
  const uint32_t high = is_pair(i.type) ? combine(join, compare_operands(w, i, 1, how, 16), c) : 0;
  const uint32_t yes[] = {~0u, std::bit_cast<uint32_t>(1.0f), 0x3c00, 0x3f80};  // by the destination's kind
  auto* d = w.lane_array<uint32_t>(i.r[0]);
  for_lanes(lanes, [&](int lane) {
    const auto bit = [&](uint32_t mask) { return mask >> lane & 1; };
    const uint32_t one = yes[i.flags & 3];
    d[lane] = i.flags & 4 ? (bit(low) ? one & 0xffff : 0) | (bit(high) ? one << 16 : 0) : bit(low) ? one : 0;
  });
}

Exec select_set(const Match& m, Instruction& i) {
  if (!set_comparison(m, i)) return nullptr;
  const Type d = m.first;
  if (is_pair(m.type) && size_of(d) != 4) return nullptr;
  i.flags = d == Type::kF32                          ? 1
            : d == Type::kF16 || d == Type::kF16x2   ? 2
            : d == Type::kBF16 || d == Type::kBF16x2 ? 3
                                                     : 0;
  if (is_pair(m.type)) i.flags |= 4;
  return set_values;
}

Exec select_selp(const Match& m, Instruction&) {
  const auto exec = [](auto zero) -> Exec {
    using T = decltype(zero);
    return [](Warp& w, const Instruction& i, uint32_t lanes) {
      const uint32_t p = w.predicate(i.r[3]) ^ (i.predicate_not ? ~0u : 0);
      const auto *a = w.lane_array<T>(i.r[1]), *b = w.lane_array<T>(i.r[2]);
      auto* d = w.lane_array<T>(i.r[0]);
      for_lanes(lanes, [&](int lane) { d[lane] = p >> lane & 1 ? a[lane] : b[lane]; });
    };
  };
  return size_of(m.type) == 8 ? exec(uint64_t{}) : exec(uint32_t{});
}

Exec select_slct(const Match&, Instruction&) {
  return [](Warp& w, const Instruction& k, uint32_t lanes) {
    for_lanes(lanes, [&](int lane) {
      const uint32_t c = w.lane_array<uint32_t>(k.r[3])[lane];
      float f = std::bit_cast<float>(c);
      if (k.ftz) f = flush(f);
      const bool take = k.type == Type::kF32 ? f >= 0 : static_cast<int32_t>(c) >= 0;
      w.set_raw(k, 0, lane, w.raw(k, take ? 1 : 2, lane));
    });
  };
}

#define INT_TYPES "b16|b32|b64|u16|u32|u64|s16|s32|s64"
#define ORDER "eq|ne|lt|le|gt|ge"
#define FLOAT_ORDER ORDER "|equ|neu|ltu|leu|gtu|geu|num|nan"
constexpr Form kForms[] = {
    {"setp eq|ne and|or|xor? b16|b32|b64", "=pq T T p?", select_setp},
    {"setp " ORDER " and|or|xor? s16|s32|s64", "=pq T T p?", select_setp},
    {"setp " ORDER "|lo|ls|hi|hs and|or|xor? u16|u32|u64", "=pq T T p?", select_setp},
    {"setp " FLOAT_ORDER " and|or|xor? f64", "=pq T T p?", select_setp},
    {"setp " FLOAT_ORDER " and|or|xor? ftz? f32|f16|f16x2", "=pq T T p?", select_setp},
    {"setp " FLOAT_ORDER " and|or|xor? bf16|bf16x2", "=pq T T p?", select_setp},
    {"set eq|ne and|or|xor? u32|s32|f32 b16|b32|b64", "=D T T p?", select_set},
    {"set " ORDER " and|or|xor? u32|s32|f32 s16|s32|s64", "=D T T p?", select_set},
    {"set " ORDER "|lo|ls|hi|hs and|or|xor? u32|s32|f32 u16|u32|u64", "=D T T p?", select_set},
    {"set " FLOAT_ORDER " and|or|xor? u32|s32|f32 f64", "=D T T p?", select_set},
    {"set " FLOAT_ORDER " and|or|xor? ftz? u32|s32|f32 f32|f16", "=D T T p?", select_set},
    {"set " FLOAT_ORDER " and|or|xor? u32|s32 bf16", "=D T T p?", select_set},
    {"set " FLOAT_ORDER " and|or|xor? f16 f16", "=D T T p?", select_set},
    {"set " FLOAT_ORDER " and|or|xor? bf16 bf16", "=D T T p?", select_set},
    {"set " FLOAT_ORDER " and|or|xor? f16x2 f16x2", "=D T T p?", select_set},
    {"set " FLOAT_ORDER " and|or|xor? bf16x2 bf16x2", "=D T T p?", select_set},
    {"selp " INT_TYPES "|f32|f64", "=T T T p", select_selp},
    {"slct " INT_TYPES "|f32|f64 s32", "=D D D T", select_slct},
    {"slct ftz? " INT_TYPES "|f32|f64 f32", "=D D D T", select_slct},
};

}  // namespace

std::span<const Form> compare_forms() { return kForms; }

}  // namespace ingot::ptx
