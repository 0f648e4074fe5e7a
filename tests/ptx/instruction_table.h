// The instructions that are known, as patterns. What no pattern takes is refused: an opcode or modifier that is
// silently dropped would make every test above it worthless.
//
// pattern   the opcode and one slot a modifier, in PTX's order: "add rn|rz ftz? f32"; `?` makes a slot optional
// operands  one word each. T is the last type of the pattern, D its first. `=` a destination, `~` may be wider than the
// type, a digit
//           a vector of so many, `v` a vector by the modifier .v2/.v4, `?` after it: may be absent.
//             T D W(twice T) u32 b64 …   a register or an immediate of that size
//             p  =p  =pq                 predicates; =pq: one, or two as `p|q`;  =dp: a value and perhaps a predicate,
//             `d|p`; =ep: of b32 a                          an address in brackets;  =pack  pack: all of a vector, or
//             one register #                          an integer constant, to Instruction::imm
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptx/program.h"

namespace ingot::ptx {

struct Operand {
  enum Kind : uint8_t { kRegister, kConstant, kAddress, kVector, kPair, kName } kind = kName;
  Type type = Type::kNone;       // of a register
  uint32_t place = kNoRegister;  // of a register; of the base register of an address
  bool negated = false;
  int float_bits = 0;             // a constant written as 0f… or 0d…
  uint64_t value = 0;             // of a constant
  int64_t displacement = 0;       // of an address
  Space space = Space::kGeneric;  // where the variable of an address lives, if one is named
  std::vector<Operand> parts;
  std::string_view name;
};

struct Match {
  std::vector<std::string_view> slots;  // what stands in each slot of the pattern; empty: absent
  Type first = Type::kNone, type = Type::kNone;
  bool has(std::string_view modifier) const {
    for (const auto s : slots) {
      if (s == modifier) return true;
    }
    return false;
  }
};

struct Form {
  const char* pattern;
  const char* operands;
  Exec (*select)(const Match&, Instruction&);  // null result: refused
};

std::span<const Form> integer_forms();
std::span<const Form> bit_forms();
std::span<const Form> float_forms();
std::span<const Form> rounded_forms();
std::span<const Form> half_forms();
std::span<const Form> compare_forms();
std::span<const Form> convert_forms();
std::span<const Form> memory_forms();
std::span<const Form> atomic_forms();
std::span<const Form> async_copy_forms();
std::span<const Form> matrix_forms();
std::span<const Form> warp_forms();

// Gives constants a place in the register file.
struct ConstantPlaces {
  virtual uint32_t place(uint64_t value, bool wide) = 0;

 protected:
  ~ConstantPlaces() = default;
};

// Fills all but line, source and guard. Throws PtxError that says why no form takes it.
Instruction decode(std::string_view opcode, const std::vector<Operand>& operands, ConstantPlaces& constants);

// Every opcode that has a form, sorted.
std::vector<std::string> known_opcodes();

// What the forms accept and none of these instructions ("add.sat.s32") has: "<pattern>: <modifier>" for each choice of
// each slot, "absent" among them where a slot is optional.
std::vector<std::string> choices_missing_in(std::span<const std::string> instructions);

}  // namespace ingot::ptx
