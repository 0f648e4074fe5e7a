// f32 and f64 arithmetic in round to nearest even, and the approximations.
// Approximations (ex2, lg2, sin, cos, tanh, rcp, rsqrt, sqrt, div `.approx`/`.full`) are computed as well as libm can
// and then moved by one unit in the last place, up or down by the argument's bits: what they are on a device is only
// known within an error bound, and a kernel that needs exact values from them must not pass. Powers of two keep exact
// rcp, sqrt and ex2, as they are on devices.
#include <cmath>

#include "ptx/instruction_table.h"
#include "ptx/warp.h"

namespace ingot::ptx {
namespace {

float flush(float x) { return std::fabs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x; }
template <class T>
T saturate(T x) {
  return x >= 1 ? T{1} : x > 0 ? x : T{0};
}

template <auto F, class T, class... S>
void flushed(Warp& w, const Instruction& i, uint32_t lanes) {
  const bool ftz = i.ftz, sat = i.sat;
  each_lane<float, S...>(w, i, lanes, [=](S... x) {
    float r = ftz ? flush(F(flush(x)...)) : F(x...);
    return sat ? saturate(r) : r;
  });
}

template <auto F, class... S>
Exec pick_f32(const Instruction& i) {
  return i.ftz || i.sat ? static_cast<Exec>(flushed<F, float, S...>) : map_lanes<F, float, S...>;
}

template <auto F>
Exec unary(const Match& m, Instruction& i) {
  return m.type == Type::kF64 ? static_cast<Exec>(map_lanes<F, double, double>) : pick_f32<F, float>(i);
}
template <auto F>
Exec binary(const Match& m, Instruction& i) {
  return m.type == Type::kF64 ? static_cast<Exec>(map_lanes<F, double, double, double>) : pick_f32<F, float, float>(i);
}
template <auto F>
Exec ternary(const Match& m, Instruction& i) {
  return m.type == Type::kF64 ? static_cast<Exec>(map_lanes<F, double, double, double, double>)
                              : pick_f32<F, float, float, float>(i);
}

template <class T>
T quiet() {
  return std::bit_cast<T>(static_cast<std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>>(
      sizeof(T) == 8 ? 0x7ff8000000000000u : 0x7fffffffu));
}
template <class T>
T canonical(T x) {
  return x != x ? quiet<T>() : x;
}

constexpr auto add = [](auto a, auto b) { return canonical(a + b); };
constexpr auto sub = [](auto a, auto b) { return canonical(a - b); };
constexpr auto mul = [](auto a, auto b) { return canonical(a * b); };
constexpr auto fused = [](auto a, auto b, auto c) { return canonical(std::fma(a, b, c)); };
constexpr auto divide = [](auto a, auto b) { return canonical(a / b); };
constexpr auto reciprocal = [](auto a) { return canonical(1 / a); };
constexpr auto root = [](auto a) { return canonical(std::sqrt(a)); };

// NaN loses against a number, unless kNan; −0 is less than +0.
template <bool kNan>
constexpr auto minimum = [](auto a, auto b) {
  if (a != a || b != b) return kNan || (a != a && b != b) ? quiet<decltype(a)>() : a != a ? b : a;
  return a < b || (a == b && std::signbit(a)) ? a : b;
};
template <bool kNan>
constexpr auto maximum = [](auto a, auto b) {
  if (a != a || b != b) return kNan || (a != a && b != b) ? quiet<decltype(a)>() : a != a ? b : a;
  return a > b || (a == b && std::signbit(b)) ? a : b;
};
template <auto F>
constexpr auto xor_sign = [](float a, float b) {
  const float r = F(std::fabs(a), std::fabs(b));
  return std::signbit(a) != std::signbit(b) ? -r : r;
};

template <bool kMax, bool kNan>
Exec pick_extreme(const Match& m, Instruction& i) {
  if constexpr (kMax) {
    return m.has("xorsign") ? pick_f32<xor_sign<maximum<kNan>>, float, float>(i) : binary<maximum<kNan>>(m, i);
  } else {
    return m.has("xorsign") ? pick_f32<xor_sign<minimum<kNan>>, float, float>(i) : binary<minimum<kNan>>(m, i);
  }
}
template <bool kMax>
Exec select_extreme(const Match& m, Instruction& i) {
  return m.has("NaN") ? pick_extreme<kMax, true>(m, i) : pick_extreme<kMax, false>(m, i);
}

// One unit in the last place beside the value; exact results, zeros, infinities and NaN stay.
float nudge(double exact, float argument) {
  const float r = static_cast<float>(exact);
  if (!(std::fabs(r) >= 0x1p-126f) || std::isinf(r) || static_cast<double>(r) == exact) return canonical(r);
  const uint32_t hash = std::bit_cast<uint32_t>(argument) * 2654435761u >> 30;
  const uint32_t bits = std::bit_cast<uint32_t>(r);
  if (hash == 0) return std::bit_cast<float>(bits + 1);
  if (hash == 1) return std::bit_cast<float>(bits - 1);
  return r;
}

constexpr auto ex2 = [](float a) { return nudge(std::exp2(static_cast<double>(a)), a); };
constexpr auto lg2 = [](float a) { return nudge(std::log2(static_cast<double>(a)), a); };
constexpr auto sine = [](float a) { return nudge(std::sin(static_cast<double>(a)), a); };
constexpr auto cosine = [](float a) { return nudge(std::cos(static_cast<double>(a)), a); };
constexpr auto tangent = [](float a) { return nudge(std::tanh(static_cast<double>(a)), a); };
constexpr auto rcp_approx = [](float a) { return nudge(1 / static_cast<double>(a), a); };
constexpr auto sqrt_approx = [](float a) { return nudge(std::sqrt(static_cast<double>(a)), a); };
constexpr auto rsqrt = [](float a) { return nudge(1 / std::sqrt(static_cast<double>(a)), a); };
constexpr auto div_approx = [](float a, float b) { return nudge(static_cast<double>(a) / static_cast<double>(b), a); };

// rcp.approx.ftz.f64 and rsqrt.approx.f64 give the upper 20 bits of the mantissa; the low word is zero.
template <auto F>
constexpr auto upper_word = [](double a) {
  const double r = F(a);
  return r != r ? quiet<double>() : std::bit_cast<double>(std::bit_cast<uint64_t>(r) & 0xffffffff00000000u);
};
constexpr auto rsqrt_double = [](double a) { return 1 / std::sqrt(a); };

// Sign changes work on the bits, NaN included.
template <auto F>
Exec sign_bits(const Match& m, Instruction& i) {
  if (m.type == Type::kF64) return map_lanes<F, double, double>;
  return i.ftz ? static_cast<Exec>(flushed<F, float, float>) : map_lanes<F, float, float>;
}
constexpr auto absolute = [](auto a) { return std::fabs(a); };
constexpr auto negated = [](auto a) { return -a; };
constexpr auto with_sign = [](auto sign, auto a) { return std::copysign(a, sign); };

Exec select_testp(const Match& m, Instruction& i) {
  constexpr std::string_view kinds[] = {"finite", "infinite", "number", "notanumber", "normal", "subnormal"};
  for (int k = 0; k < 6; ++k) {
    if (m.slots[0] == kinds[k]) i.flags = static_cast<uint8_t>(k);
  }
  return [](Warp& w, const Instruction& k, uint32_t lanes) {
    uint32_t r = 0;
    for_lanes(lanes, [&](int lane) {
      const uint64_t bits = w.raw(k, 1, lane);
      const int kind = k.type == Type::kF64 ? std::fpclassify(std::bit_cast<double>(bits))
                                            : std::fpclassify(std::bit_cast<float>(static_cast<uint32_t>(bits)));
      const bool is[] = {kind != FP_INFINITE && kind != FP_NAN,
                         kind == FP_INFINITE,
                         kind != FP_NAN,
                         kind == FP_NAN,
                         kind == FP_NORMAL,
                         kind == FP_SUBNORMAL};
      r |= uint32_t{is[k.flags]} << lane;
    });
    w.set_predicate(k.r[0], lanes, r);
  };
}

constexpr Form kForms[] = {
    {"add rn? ftz? sat? f32", "=T T T", binary<add>},
    {"add rn? f64", "=T T T", binary<add>},
    {"sub rn? ftz? sat? f32", "=T T T", binary<sub>},
    {"sub rn? f64", "=T T T", binary<sub>},
    {"mul rn? ftz? sat? f32", "=T T T", binary<mul>},
    {"mul rn? f64", "=T T T", binary<mul>},
    {"fma rn ftz? sat? f32", "=T T T T", ternary<fused>},
    {"fma rn f64", "=T T T T", ternary<fused>},
    {"mad rn ftz? sat? f32", "=T T T T", ternary<fused>},
    {"mad rn f64", "=T T T T", ternary<fused>},
    {"div rn ftz? f32", "=T T T", binary<divide>},
    {"div rn f64", "=T T T", binary<divide>},
    {"div approx|full ftz? f32", "=T T T",
     [](const Match&, Instruction& i) { return pick_f32<div_approx, float, float>(i); }},
    {"rcp rn ftz? f32", "=T T", unary<reciprocal>},
    {"rcp rn f64", "=T T", unary<reciprocal>},
    {"rcp approx ftz? f32", "=T T", [](const Match&, Instruction& i) { return pick_f32<rcp_approx, float>(i); }},
    {"rcp approx ftz f64", "=T T",
     [](const Match&, Instruction&) -> Exec { return map_lanes<upper_word<reciprocal>, double, double>; }},
    {"sqrt rn ftz? f32", "=T T", unary<root>},
    {"sqrt rn f64", "=T T", unary<root>},
    {"sqrt approx ftz? f32", "=T T", [](const Match&, Instruction& i) { return pick_f32<sqrt_approx, float>(i); }},
    {"rsqrt approx ftz? f32", "=T T", [](const Match&, Instruction& i) { return pick_f32<rsqrt, float>(i); }},
    {"rsqrt approx ftz? f64", "=T T",
     [](const Match&, Instruction&) -> Exec { return map_lanes<upper_word<rsqrt_double>, double, double>; }},
    {"ex2 approx ftz? f32", "=T T", [](const Match&, Instruction& i) { return pick_f32<ex2, float>(i); }},
    {"lg2 approx ftz? f32", "=T T", [](const Match&, Instruction& i) { return pick_f32<lg2, float>(i); }},
    {"sin approx ftz? f32", "=T T", [](const Match&, Instruction& i) { return pick_f32<sine, float>(i); }},
    {"cos approx ftz? f32", "=T T", [](const Match&, Instruction& i) { return pick_f32<cosine, float>(i); }},
    {"tanh approx f32", "=T T", [](const Match&, Instruction& i) { return pick_f32<tangent, float>(i); }},
    {"min ftz? NaN? f32", "=T T T", select_extreme<false>},
    {"min ftz? NaN? xorsign abs f32", "=T T T", select_extreme<false>},
    {"min f64", "=T T T", select_extreme<false>},
    {"max ftz? NaN? f32", "=T T T", select_extreme<true>},
    {"max ftz? NaN? xorsign abs f32", "=T T T", select_extreme<true>},
    {"max f64", "=T T T", select_extreme<true>},
    {"abs ftz? f32", "=T T", sign_bits<absolute>},
    {"abs f64", "=T T", sign_bits<absolute>},
    {"neg ftz? f32", "=T T", sign_bits<negated>},
    {"neg f64", "=T T", sign_bits<negated>},
    {"copysign f32|f64", "=T T T", binary<with_sign>},
    {"testp finite|infinite|number|notanumber|normal|subnormal f32|f64", "=p T", select_testp},
};

}  // namespace

std::span<const Form> float_forms() { return kForms; }

}  // namespace ingot::ptx
