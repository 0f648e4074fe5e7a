// atom and red. Lanes take their turn in order; kernels that use them run block after block.
#include <algorithm>
#include <cmath>

#include "ptx/instruction_table.h"
#include "ptx/memory_access.h"

namespace ingot::ptx {
namespace {

enum Operation : uint8_t { kAnd, kOr, kXor, kExch, kAdd, kInc, kDec, kMin, kMax, kCas };
constexpr std::string_view kNames[] = {"and", "or", "xor", "exch", "add", "inc", "dec", "min", "max", "cas"};

uint32_t add_half(uint32_t a, uint32_t b, bool bf16) {
  const auto up = [&](uint32_t x) {
    return static_cast<double>(bf16 ? bf16_to_f32(static_cast<uint16_t>(x)) : f16_to_f32(static_cast<uint16_t>(x)));
  };
  const float sum = f64_to_f32_odd(up(a) + up(b));
  return bf16 ? f32_to_bf16(sum) : f32_to_f16(sum);
}

uint64_t combine(Operation op, Type t, uint64_t old, uint64_t b, uint64_t c) {
  const auto as = [&](auto zero, auto f) {
    using T = decltype(zero);
    return static_cast<uint64_t>(to_raw<T>(f(from_raw<T>(static_cast<decltype(to_raw<T>(zero))>(old)),
                                             from_raw<T>(static_cast<decltype(to_raw<T>(zero))>(b)))));
  };
  const auto numbers = [&](auto f) {
    switch (t) {
      case Type::kS32:
        return as(int32_t{}, f);
      case Type::kS64:
        return as(int64_t{}, f);
      case Type::kU64:
      case Type::kB64:
        return as(uint64_t{}, f);
      case Type::kF64:
        return as(double{}, f);
      case Type::kF32:
        return as(float{}, f);
      default:
        return as(uint32_t{}, f);
    }
  };
  switch (op) {
    case kAnd:
      return old & b;
    case kOr:
      return old | b;
    case kXor:
      return old ^ b;
    case kExch:
      return b;
    case kCas:
      return old == b ? c : old;
    case kInc:
      return static_cast<uint32_t>(old) >= static_cast<uint32_t>(b) ? 0 : old + 1;
    case kDec:
      return old == 0 || static_cast<uint32_t>(old) > static_cast<uint32_t>(b) ? b : old - 1;
    case kMin:
      return numbers([](auto x, auto y) { return std::min(x, y); });
    case kMax:
      return numbers([](auto x, auto y) { return std::max(x, y); });
    case kAdd:
      break;
  }
  const bool bf16 = t == Type::kBF16 || t == Type::kBF16x2;
  const uint32_t low = static_cast<uint32_t>(old), add = static_cast<uint32_t>(b);
  if (t == Type::kF16 || t == Type::kBF16) return add_half(low, add, bf16);
  if (t == Type::kF16x2 || t == Type::kBF16x2)
    return add_half(low, add, bf16) | add_half(low >> 16, add >> 16, bf16) << 16;
  if (t == Type::kF32 || t == Type::kF64) return numbers([](auto x, auto y) { return x + y; });
  return old + b;
}

void atomic(Warp& w, const Instruction& i, uint32_t lanes) {  // flags: the operation, 128: red, without a destination
  const bool reduction = i.flags & 128;
  const Operation op = static_cast<Operation>(i.flags & 15);
  const int a = reduction ? 0 : 1;
  const uint32_t size = static_cast<uint32_t>(size_of(i.type));
  uint64_t address[32];
  w.block->counters.atomics += static_cast<uint64_t>(std::popcount(lanes));
  for_lanes(lanes, [&](int lane) {
    const Place at = place_of(i.space, address_of(w, i, a, lane, i.displacement));
    address[lane] = at.address;
    uint64_t old = 0;
    load(w, i, lane, at, &old, size, true);
    const uint64_t b = w.raw(i, a + 1, lane), c = op == kCas ? w.raw(i, a + 2, lane) : 0;
    const uint64_t mask = size == 8 ? ~uint64_t{0} : (uint64_t{1} << size * 8) - 1;
    const uint64_t fresh = combine(op, i.type, old, b & mask, c & mask);
    store(w, i, lane, at, &fresh, size, true);
    if (!reduction) w.set_raw(i, 0, lane, old);
  });
  if (place_of(i.space, address[std::countr_zero(lanes)]).space == Space::kGlobal)
    count_global(w, address, lanes, size);
}

template <bool kReduction>
Exec select(const Match& m, Instruction& i) {
  for (size_t k = 0; k < std::size(kNames); ++k) {
    if (m.has(kNames[k])) i.flags = static_cast<uint8_t>(k | (kReduction ? 128 : 0));
  }
  const Space named = m.has("global")                           ? Space::kGlobal
                      : m.has("shared") || m.has("shared::cta") ? Space::kShared
                                                                : Space::kGeneric;
  if (i.space != Space::kGeneric && i.space != named) return nullptr;
  i.space = named;
  const int a = kReduction ? 0 : 1;
  if (named != Space::kShared && i.r[a] != kNoRegister && !(i.wide >> a & 1)) return nullptr;
  return atomic;
}

#define ATOM "atom relaxed|acquire|release|acq_rel? cta|cluster|gpu|sys? global|shared|shared::cta? "
#define RED "red relaxed|release? cta|cluster|gpu|sys? global|shared|shared::cta? "
constexpr Form kForms[] = {
    {ATOM "and|or|xor b32|b64", "=T a T", select<false>},
    {ATOM "exch b32|b64", "=T a T", select<false>},
    {ATOM "cas b16|b32|b64", "=T a T T", select<false>},
    {ATOM "add u32|s32|u64|f32|f64", "=T a T", select<false>},
    {ATOM "add noftz f16|f16x2|bf16|bf16x2", "=T a T", select<false>},
    {ATOM "inc|dec u32", "=T a T", select<false>},
    {ATOM "min|max u32|s32|u64|s64", "=T a T", select<false>},
    {RED "and|or|xor b32|b64", "a T", select<true>},
    {RED "add u32|s32|u64|f32|f64", "a T", select<true>},
    {RED "add noftz f16|f16x2|bf16|bf16x2", "a T", select<true>},
    {RED "inc|dec u32", "a T", select<true>},
    {RED "min|max u32|s32|u64|s64", "a T", select<true>},
};

}  // namespace

std::span<const Form> atomic_forms() { return kForms; }

}  // namespace ingot::ptx
