// Op calls written as text, for tables of cases. A case is
//   case <name>
//   op <Op> field=value …                      fields as in INGOT_FIELDS; lists as [1,2]; names of enums as words
//   in <type> <shape> [s=<scale> z=<zero point>] : <values>      or  in absent, or  in <type> <shape> unknown
//   out <type> <shape> [s= z=] : <values>      one line per output
//   tol <relative and absolute tolerance>      floats only; default: every bit
//   refused <words>                            in place of out: the type rule fails with a message that holds the words
//   fails <words>                              after out lines: the run fails with such a message
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "runtime/ops/half.h"
#include "runtime/ops/op.h"

namespace ingot {

struct CaseTensor {
  TensorType type;
  std::vector<std::byte> bytes;
  bool present = true, known = true;

  double value(int64_t i) const {
    const auto at = [&]<class T>(T) {
      T element;
      std::memcpy(&element, bytes.data() + static_cast<size_t>(i) * sizeof(T), sizeof(T));
      return static_cast<double>(element);
    };
    switch (type.dtype) {
      case DataType::kF32: return at(float{});
      case DataType::kF64: return at(double{});
      case DataType::kF16: return static_cast<double>(f16_to_f32(static_cast<uint16_t>(at(uint16_t{}))));
      case DataType::kBF16: return static_cast<double>(bf16_to_f32(static_cast<uint16_t>(at(uint16_t{}))));
      case DataType::kS8: return at(int8_t{});
      case DataType::kS16: return at(int16_t{});
      case DataType::kU16: return at(uint16_t{});
      case DataType::kS32: return at(int32_t{});
      case DataType::kU32: return at(uint32_t{});
      case DataType::kS64: return at(int64_t{});
      case DataType::kU64: return at(uint64_t{});
      default: return at(uint8_t{});
    }
  }
};

struct OpCase {
  std::string name, op, expected_error;
  std::vector<Field> fields;
  std::vector<CaseTensor> inputs, outputs;
  double tolerance = 0;
  bool rule_fails = false;
};

inline void append_element(CaseTensor& tensor, const std::string& word) {
  const auto add = [&](auto element) {
    const auto* from = reinterpret_cast<const std::byte*>(&element);
    tensor.bytes.insert(tensor.bytes.end(), from, from + sizeof element);
  };
  const bool is_text_float = is_float(tensor.type.dtype);
  const double number = is_text_float ? std::strtod(word.c_str(), nullptr) : 0;
  const int64_t whole = is_text_float ? 0 : std::strtoll(word.c_str(), nullptr, 10);
  switch (tensor.type.dtype) {
    case DataType::kF32: return add(static_cast<float>(number));
    case DataType::kF64: return add(number);
    case DataType::kF16: return add(f32_to_f16(static_cast<float>(number)));
    case DataType::kBF16: return add(f32_to_bf16(static_cast<float>(number)));
    default: break;
  }
  switch (element_bytes(tensor.type.dtype)) {
    case 1: return add(static_cast<uint8_t>(whole));
    case 2: return add(static_cast<uint16_t>(whole));
    case 4: return add(static_cast<uint32_t>(whole));
    default: return add(whole);
  }
}

inline CaseTensor parse_case_tensor(std::istringstream& line) {
  CaseTensor tensor;
  std::string word;
  line >> word;
  if (word == "absent") {
    tensor.present = false;
    return tensor;
  }
  const auto dtype = parse_data_type(word);
  EXPECT_TRUE(dtype) << word;
  line >> word;
  const auto shape = parse_shape(word);
  EXPECT_TRUE(shape) << word;
  if (!dtype || !shape) return tensor;
  tensor.type.dtype = *dtype;
  tensor.type.shape = *shape;
  while (line >> word && word != ":") {
    if (word == "unknown") {
      tensor.known = false;
    } else if (word.starts_with("s=")) {
      tensor.type.quant.emplace();
      tensor.type.quant->scales = {std::strtof(word.c_str() + 2, nullptr)};
      tensor.type.quant->zero_points = {0};
    } else if (word.starts_with("z=") && tensor.type.quant) {
      tensor.type.quant->zero_points = {static_cast<int32_t>(std::strtol(word.c_str() + 2, nullptr, 10))};
    } else {
      ADD_FAILURE() << "unknown word '" << word << "'";
    }
  }
  while (line >> word) append_element(tensor, word);
  if (tensor.known) {
    EXPECT_EQ(static_cast<int64_t>(tensor.bytes.size()), tensor.type.bytes()) << "values of " << to_string(tensor.type);
  }
  return tensor;
}

inline FieldValue parse_case_field(const std::string& text) {
  const auto is_whole = [](const std::string& s) { return s.find_first_of(".ein") == std::string::npos; };
  if (text.starts_with("[")) {
    std::vector<int64_t> whole;
    std::vector<double> real;
    bool all_whole = true;
    std::istringstream items(text.substr(1, text.size() - 2));
    for (std::string item; std::getline(items, item, ',');) {
      all_whole = all_whole && is_whole(item);
      whole.push_back(std::strtoll(item.c_str(), nullptr, 10));
      real.push_back(std::strtod(item.c_str(), nullptr));
    }
    if (all_whole) return whole;
    return real;
  }
  const char first = text.empty() ? 'a' : text[0];
  if ((first < '0' || first > '9') && first != '-' && first != '.') return text;
  if (is_whole(text)) return static_cast<int64_t>(std::strtoll(text.c_str(), nullptr, 10));
  return std::strtod(text.c_str(), nullptr);
}

// The frame of all such tables: `case <name>` opens a case, '#' a comment, `tol` is a case's tolerance; any other line is read by
// read_line(case, first word, the rest).
template <class Case, class ReadLine>
std::vector<Case> parse_cases(std::istream& text, ReadLine&& read_line) {
  std::vector<Case> cases;
  for (std::string row; std::getline(text, row);) {
    std::istringstream line(row);
    std::string word;
    if (!(line >> word) || word[0] == '#') continue;
    SCOPED_TRACE(row.substr(0, 100));
    if (word == "case") {
      cases.emplace_back();
      line >> cases.back().name;
    } else if (cases.empty()) {
      ADD_FAILURE() << "a line before the first case";
      break;
    } else if (word == "tol") {
      line >> cases.back().tolerance;
    } else {
      read_line(cases.back(), word, line);
    }
  }
  return cases;
}

inline std::vector<OpCase> parse_op_cases(std::istream& text) {
  return parse_cases<OpCase>(text, [](OpCase& c, std::string word, std::istringstream& line) {
    if (word == "op") {
      line >> c.op;
      while (line >> word) {
        const size_t equals = word.find('=');
        c.fields.push_back({word.substr(0, equals), parse_case_field(word.substr(equals + 1))});
      }
    } else if (word == "in") {
      c.inputs.push_back(parse_case_tensor(line));
    } else if (word == "out") {
      c.outputs.push_back(parse_case_tensor(line));
    } else if (word == "refused" || word == "fails") {
      c.rule_fails = word == "refused";
      std::getline(line >> std::ws, c.expected_error);
    } else {
      ADD_FAILURE() << "unknown line '" << word << "'";
    }
  });
}

inline void expect_equal_tensors(const CaseTensor& got, const CaseTensor& want, double tolerance) {
  if (got.bytes == want.bytes) return;
  for (int64_t i = 0; i < want.type.shape.elements(); ++i) {
    const double a = got.value(i), b = want.value(i);
    if (a == b || (std::isnan(a) && std::isnan(b))) continue;
    if (!(std::fabs(a - b) <= tolerance * std::max(1.0, std::fabs(b)))) {
      ADD_FAILURE() << "element " << i << " of " << to_string(want.type) << ": got " << a << ", want " << b;
      return;
    }
  }
}

// Type rule, then the run, both through the op's one entry.
inline void run_op_case(const OpCase& c) {
  SCOPED_TRACE(c.name);
  const auto kind = parse_op_kind(c.op);
  ASSERT_TRUE(kind) << c.op;
  const auto params = params_from_fields(*kind, c.fields);
  ASSERT_TRUE(params.ok()) << params.status().message();
  std::vector<OpInput> known;
  std::vector<ConstTensorRef> inputs;
  for (const CaseTensor& t : c.inputs) {
    const void* values = t.known ? static_cast<const void*>(t.bytes.data()) : nullptr;
    known.push_back(t.present ? OpInput{t.type.dtype, t.type.shape, values, true} : OpInput{});
    inputs.push_back(t.present ? ConstTensorRef{&t.type, t.bytes.data()} : ConstTensorRef{});
  }
  std::vector<OpOutput> types(std::max<size_t>(c.outputs.size(), 1));
  const Status ruled = infer_types(*params, known, types);
  if (c.rule_fails) {
    ASSERT_FALSE(ruled.ok()) << "the type rule gave " << to_string(types[0].shape);
    EXPECT_NE(ruled.message().find(c.expected_error), std::string_view::npos) << ruled.message();
    return;
  }
  ASSERT_TRUE(ruled.ok()) << ruled.message();
  std::vector<CaseTensor> results;
  for (size_t i = 0; i < c.outputs.size(); ++i) {
    const Shape& want = c.outputs[i].type.shape;
    bool fits = types[i].shape.rank == want.rank;
    for (int d = 0; fits && d < want.rank; ++d)
      fits = types[i].counted >> d & 1 ? want[d] <= types[i].shape[d] : want[d] == types[i].shape[d];
    EXPECT_TRUE(fits) << to_string(types[i].shape) << " / " << to_string(want);
    EXPECT_EQ(to_string(types[i].dtype), to_string(c.outputs[i].type.dtype));
    if (!fits) return;
    CaseTensor result{c.outputs[i].type, {}};
    result.type.shape = types[i].shape;
    result.bytes.assign(static_cast<size_t>(result.type.bytes()), std::byte{0xcd});
    results.push_back(std::move(result));
  }
  std::vector<TensorRef> outputs;
  std::vector<Shape> produced;
  for (CaseTensor& t : results) produced.push_back(t.type.shape);
  for (size_t i = 0; i < results.size(); ++i) outputs.push_back({&results[i].type, results[i].bytes.data(), &produced[i]});
  const Status ran = run_reference(*params, inputs, outputs);
  if (!c.expected_error.empty()) {
    ASSERT_FALSE(ran.ok());
    EXPECT_NE(ran.message().find(c.expected_error), std::string_view::npos) << ran.message();
    return;
  }
  ASSERT_TRUE(ran.ok()) << ran.message();
  for (size_t i = 0; i < results.size(); ++i) {
    EXPECT_EQ(to_string(produced[i]), to_string(c.outputs[i].type.shape));
    if (!(produced[i] == c.outputs[i].type.shape)) return;
    results[i].type.shape = produced[i];
    results[i].bytes.resize(static_cast<size_t>(results[i].type.bytes()));
    expect_equal_tensors(results[i], c.outputs[i], c.tolerance);
  }
}

// A table written in a test.
inline void run_op_cases(const std::string& text) {
  std::istringstream stream(text);
  const std::vector<OpCase> cases = parse_op_cases(stream);
  EXPECT_FALSE(cases.empty());
  for (const OpCase& c : cases) run_op_case(c);
}

}  // namespace ingot
