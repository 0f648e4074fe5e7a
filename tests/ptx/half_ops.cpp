// Arithmetic of f16, bf16 and their pairs: one rounding from the exact value.
#include <cmath>

#include "ptx/instruction_table.h"
#include "ptx/warp.h"

namespace ingot::ptx {
namespace {

struct F16 {
  static float up(uint32_t bits) { return f16_to_f32(static_cast<uint16_t>(bits)); }
  static uint32_t down(double x) { return x != x ? 0x7fffu : f32_to_f16(f64_to_f32_odd(x)); }
  static constexpr uint32_t kInfinity = 0x7c00;
};
struct BF16 {
  static float up(uint32_t bits) { return bf16_to_f32(static_cast<uint16_t>(bits)); }
  static uint32_t down(double x) { return x != x ? 0x7fffu : f32_to_bf16(f64_to_f32_odd(x)); }
  static constexpr uint32_t kInfinity = 0x7f80;
};

// a + b by round to odd: a second rounding then gives what one would have.
double sum_to_odd(double a, double b) {
  const double s = a + b;
  if (!std::isfinite(s)) return s;
  const double part = s - a, error = (a - (s - part)) + (b - part);
  uint64_t bits = std::bit_cast<uint64_t>(s);
  if (error == 0 || bits & 1) return s;
  bits = (error > 0) == (s > 0) ? bits + 1 : bits - 1;
  return std::bit_cast<double>(bits);
}

enum : uint8_t { kPair = 1, kRelu = 2 };

// F takes and gives doubles.
template <class Format, auto F, int kArity>
void arithmetic(Warp& w, const Instruction& i, uint32_t lanes) {
  const auto one = [&](uint32_t a, uint32_t b, uint32_t c) {
    const auto load = [&](uint32_t bits) {
      bits &= 0xffff;
      if (i.ftz && !(bits & Format::kInfinity)) bits &= 0x8000;
      return static_cast<double>(Format::up(bits));
    };
    double r;
    if constexpr (kArity == 1) r = F(load(a));
    if constexpr (kArity == 2) r = F(load(a), load(b));
    if constexpr (kArity == 3) r = F(load(a), load(b), load(c));
    if (i.sat) r = r >= 1 ? 1 : r > 0 ? r : 0;
    if (i.flags & kRelu && r < 0) r = 0;
    uint32_t bits = Format::down(r);
    if (i.ftz && !(bits & Format::kInfinity)) bits &= 0x8000;
    return bits;
  };
  const auto operand = [&](int k, int lane) { return k < kArity ? w.lane_array<uint32_t>(i.r[k + 1])[lane] : 0; };
  for_lanes(lanes, [&](int lane) {
    const uint32_t a = operand(0, lane), b = operand(1, lane), c = operand(2, lane);
    uint32_t r = one(a, b, c);
    if (i.flags & kPair) r |= one(a >> 16, b >> 16, c >> 16) << 16;
    w.lane_array<uint32_t>(i.r[0])[lane] = r;
  });
}

template <auto F, int kArity>
Exec select(const Match& m, Instruction& i) {
  const bool pair = m.type == Type::kF16x2 || m.type == Type::kBF16x2;
  i.flags = static_cast<uint8_t>((pair ? kPair : 0) | (m.has("relu") ? kRelu : 0));
  return m.type == Type::kF16 || m.type == Type::kF16x2 ? arithmetic<F16, F, kArity> : arithmetic<BF16, F, kArity>;
}

constexpr auto add = [](double a, double b) { return sum_to_odd(a, b); };
constexpr auto sub = [](double a, double b) { return sum_to_odd(a, -b); };
constexpr auto mul = [](double a, double b) { return a * b; };
constexpr auto fused = [](double a, double b, double c) { return sum_to_odd(a * b, c); };
template <bool kNan>
constexpr auto minimum = [](double a, double b) {
  if (a != a || b != b) return kNan || (a != a && b != b) ? std::nan("") : a != a ? b : a;
  return a < b || (a == b && std::signbit(a)) ? a : b;
};
template <bool kNan>
constexpr auto maximum = [](double a, double b) {
  if (a != a || b != b) return kNan || (a != a && b != b) ? std::nan("") : a != a ? b : a;
  return a > b || (a == b && std::signbit(b)) ? a : b;
};
template <auto F>
constexpr auto xor_sign = [](double a, double b) {
  const double r = F(std::fabs(a), std::fabs(b));
  return std::signbit(a) != std::signbit(b) ? -r : r;
};
constexpr auto ex2 = [](double a) { return std::exp2(a); };
constexpr auto tangent = [](double a) { return std::tanh(a); };

template <bool kMax>
Exec select_extreme(const Match& m, Instruction& i) {
  if (m.has("xorsign")) {
    if constexpr (kMax)
      return m.has("NaN") ? select<xor_sign<maximum<true>>, 2>(m, i) : select<xor_sign<maximum<false>>, 2>(m, i);
    return m.has("NaN") ? select<xor_sign<minimum<true>>, 2>(m, i) : select<xor_sign<minimum<false>>, 2>(m, i);
  }
  if constexpr (kMax) return m.has("NaN") ? select<maximum<true>, 2>(m, i) : select<maximum<false>, 2>(m, i);
  return m.has("NaN") ? select<minimum<true>, 2>(m, i) : select<minimum<false>, 2>(m, i);
}

// Sign bits alone change; NaN keeps its bits.
template <uint32_t kAnd, uint32_t kXor>
Exec select_sign(const Match& m, Instruction& i) {
  if (m.has("ftz")) return nullptr;
  const bool pair = m.type == Type::kF16x2 || m.type == Type::kBF16x2;
  i.imm = pair ? 1 : 0;
  return [](Warp& w, const Instruction& k, uint32_t lanes) {
    const uint32_t sides = k.imm ? 0x80008000u : 0x8000u;
    each_lane<uint32_t, uint32_t>(w, k, lanes, [sides](uint32_t a) { return kAnd ? a & ~sides : a ^ sides; });
  };
}

constexpr Form kForms[] = {
    {"add rn? ftz? sat? f16|f16x2", "=T T T", select<add, 2>},
    {"add rn? bf16|bf16x2", "=T T T", select<add, 2>},
    {"sub rn? ftz? sat? f16|f16x2", "=T T T", select<sub, 2>},
    {"sub rn? bf16|bf16x2", "=T T T", select<sub, 2>},
    {"mul rn? ftz? sat? f16|f16x2", "=T T T", select<mul, 2>},
    {"mul rn? bf16|bf16x2", "=T T T", select<mul, 2>},
    {"fma rn ftz? sat|relu? f16|f16x2", "=T T T T", select<fused, 3>},
    {"fma rn relu? bf16|bf16x2", "=T T T T", select<fused, 3>},
    {"min ftz? NaN? f16|f16x2", "=T T T", select_extreme<false>},
    {"min ftz? NaN? xorsign abs f16|f16x2", "=T T T", select_extreme<false>},
    {"min NaN? bf16|bf16x2", "=T T T", select_extreme<false>},
    {"min NaN? xorsign abs bf16|bf16x2", "=T T T", select_extreme<false>},
    {"max ftz? NaN? f16|f16x2", "=T T T", select_extreme<true>},
    {"max ftz? NaN? xorsign abs f16|f16x2", "=T T T", select_extreme<true>},
    {"max NaN? bf16|bf16x2", "=T T T", select_extreme<true>},
    {"max NaN? xorsign abs bf16|bf16x2", "=T T T", select_extreme<true>},
    {"neg f16|f16x2|bf16|bf16x2", "=T T", select_sign<0, 1>},
    {"abs f16|f16x2|bf16|bf16x2", "=T T", select_sign<1, 0>},
    {"ex2 approx f16|f16x2", "=T T", select<ex2, 1>},
    {"ex2 approx ftz bf16|bf16x2", "=T T", select<ex2, 1>},
    {"tanh approx f16|f16x2|bf16|bf16x2", "=T T", select<tangent, 1>},
};

}  // namespace

std::span<const Form> half_forms() { return kForms; }

}  // namespace ingot::ptx
