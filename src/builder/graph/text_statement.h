// The one grammar of graph dumps, rewrite patterns and pass tests, read line by line into statements:
//   %x = input f32[1:2:8x4x8x8]                        min:opt:max where a dim is dynamic
//   %w = const f32[8x4x3x3] random(7)                  or [1,2,…], fill(0.5), random(seed, low, high), any, hash(…)
//   %y, %i = Pool(%x) {function="max", kernel=[2,2]} @name : u8 s=0.02 z=3, s64
//   output %y, %i
//   body … end                                         behind an op of control flow: its bodies, graphs like the whole text
// `#` starts a comment. A name with other characters than letters, digits and _ . / - is quoted: %"a:0"; `_` is a value
// left out; `Binary.add(…)` is short for {function="add"}. In patterns only: `A|B(…)` for either op, operands marked `:const`, `:once`, `?`, number operands, and the
// field value `*`.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ingot/types.h"
#include "runtime/ops/op.h"

namespace ingot {

struct TextOperand {
  std::string name;  // empty: left out, or a literal
  bool constant = false, once = false, optional = false;
  std::optional<double> literal;  // a constant of this one value
};

struct TextNumber {
  double real = 0;
  int64_t whole = 0;
  bool is_whole = false;
};

struct TextData {
  enum Kind { kList, kFill, kRandom, kAny, kHash } kind = kAny;
  std::vector<TextNumber> numbers;  // the list, the filling value, or seed [, low, high]
};

// Element type and quantisation that override what the type rule says.
struct TextStorage {
  DataType dtype = DataType::kF32;
  std::optional<QuantParams> quant;
};

struct TextStatement {
  enum Kind { kInput, kConst, kOp, kOutput, kBody, kEnd } kind = kOp;
  int line = 0;
  std::vector<TextOperand> results;
  std::vector<OpKind> ops;
  std::vector<TextOperand> operands;  // of an op, or what `output` names
  std::vector<Field> fields;
  std::vector<std::string> free_fields;  // those given as `*`
  std::string node_name;
  DataType dtype = DataType::kF32;
  std::vector<std::vector<int64_t>> dims;  // of input and const: each with 1, 3 or 4 numbers
  TextData data;
  std::vector<std::optional<TextStorage>> storage;  // one for each result, or empty
};

// Errors name the line.
Expected<std::vector<TextStatement>> parse_statements(std::string_view text);

std::string quoted_value_name(std::string_view name);  // "%x", or with quotes where needed

}  // namespace ingot
