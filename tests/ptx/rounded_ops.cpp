// f32 and f64 arithmetic in the directed rounding modes: the FPU's mode is set around the loop, and the operations stay
// in functions that the compiler does not look into (it takes the mode for fixed).
#include <cfenv>
#include <cmath>

#include "ptx/instruction_table.h"
#include "ptx/warp.h"

namespace ingot::ptx {
namespace {

float flush(float x) { return std::fabs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x; }

enum Operation { kAdd, kSub, kMul, kFma, kDiv, kRcp, kSqrt };

template <class T>
[[gnu::noinline, gnu::noipa]] T compute(int operation, T a, T b, T c) {
  switch (operation) {
    case kAdd:
      return a + b;
    case kSub:
      return a - b;
    case kMul:
      return a * b;
    case kFma:
      return std::fma(a, b, c);
    case kDiv:
      return a / b;
    case kRcp:
      return 1 / a;
    default:
      return std::sqrt(a);
  }
}

template <class T>
void rounded(Warp& w, const Instruction& i, uint32_t lanes) {
  const auto get = [&](int operand, int lane) {
    return i.r[operand] == kNoRegister ? T{} : from_raw<T>(w.lane_array<T>(i.r[operand])[lane]);
  };
  for_lanes(lanes, [&](int lane) {
    T x[3] = {get(1, lane), get(2, lane), get(3, lane)};
    if constexpr (sizeof(T) == 4) {
      if (i.ftz)
        for (T& v : x) v = flush(v);
    }
    std::fesetround(static_cast<int>(i.imm));
    T r = compute<T>(i.flags, x[0], x[1], x[2]);
    std::fesetround(FE_TONEAREST);
    if constexpr (sizeof(T) == 4) {
      if (i.ftz) r = flush(r);
      if (r != r) r = std::bit_cast<float>(0x7fffffffu);
    } else if (r != r) {
      r = std::bit_cast<double>(uint64_t{0x7ff8000000000000u});
    }
    if (i.sat) r = r >= 1 ? T{1} : r > 0 ? r : T{0};
    w.lane_array<T>(i.r[0])[lane] = to_raw<T>(r);
  });
}

template <int kOperation>
Exec select(const Match& m, Instruction& i) {
  i.flags = kOperation;
  i.imm = m.has("rz") ? FE_TOWARDZERO : m.has("rm") ? FE_DOWNWARD : FE_UPWARD;
  return m.type == Type::kF64 ? static_cast<Exec>(rounded<double>) : rounded<float>;
}

constexpr Form kForms[] = {
    {"add rz|rm|rp ftz? sat? f32", "=T T T", select<kAdd>},   {"add rz|rm|rp f64", "=T T T", select<kAdd>},
    {"sub rz|rm|rp ftz? sat? f32", "=T T T", select<kSub>},   {"sub rz|rm|rp f64", "=T T T", select<kSub>},
    {"mul rz|rm|rp ftz? sat? f32", "=T T T", select<kMul>},   {"mul rz|rm|rp f64", "=T T T", select<kMul>},
    {"fma rz|rm|rp ftz? sat? f32", "=T T T T", select<kFma>}, {"fma rz|rm|rp f64", "=T T T T", select<kFma>},
    {"div rz|rm|rp ftz? f32", "=T T T", select<kDiv>},        {"div rz|rm|rp f64", "=T T T", select<kDiv>},
    {"rcp rz|rm|rp ftz? f32", "=T T", select<kRcp>},          {"rcp rz|rm|rp f64", "=T T", select<kRcp>},
    {"sqrt rz|rm|rp ftz? f32", "=T T", select<kSqrt>},        {"sqrt rz|rm|rp f64", "=T T", select<kSqrt>},
};

}  // namespace

std::span<const Form> rounded_forms() { return kForms; }

}  // namespace ingot::ptx
