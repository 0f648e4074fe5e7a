// Types and state spaces of PTX, as the interpreter names them.
#pragma once

#include <cstdint>
#include <string_view>

namespace ingot::ptx {

enum class Type : uint8_t {
  kNone,
  kPred,
  kB8,
  kB16,
  kB32,
  kB64,
  kU8,
  kU16,
  kU32,
  kU64,
  kS8,
  kS16,
  kS32,
  kS64,
  kF16,
  kBF16,
  kF32,
  kF64,
  kF16x2,
  kBF16x2,
  kTF32,
  kU16x2,
  kS16x2,
};

enum class Space : uint8_t { kGeneric, kGlobal, kShared, kLocal, kConst, kParam };

// kNone when `name` (without its dot) is no type.
inline Type type_named(std::string_view name) {
  constexpr std::string_view names[] = {"",    "pred", "b8",    "b16",    "b32",  "b64",   "u8",   "u16",
                                        "u32", "u64",  "s8",    "s16",    "s32",  "s64",   "f16",  "bf16",
                                        "f32", "f64",  "f16x2", "bf16x2", "tf32", "u16x2", "s16x2"};
  for (int i = 1; i < 23; ++i) {
    if (names[i] == name) return static_cast<Type>(i);
  }
  return Type::kNone;
}

// Bytes of one value; 4 for a predicate, of which the register file holds one bit a lane.
inline int size_of(Type t) {
  constexpr uint8_t sizes[] = {0, 4, 1, 2, 4, 8, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8, 4, 4, 4, 4, 4};
  return sizes[static_cast<int>(t)];
}

inline bool is_signed(Type t) { return t >= Type::kS8 && t <= Type::kS64; }
inline bool is_float(Type t) { return t >= Type::kF16 && t <= Type::kF64; }

}  // namespace ingot::ptx
