// What tests of tactics share, of whatever backend: the problems, and how far a result may be from the reference's.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "problem_data.h"
#include "runtime/ops/half.h"
#include "runtime/tactic_registry.h"
#include "tolerance.h"

namespace ingot {

inline std::vector<TestProblem> all_problems() {
  std::vector<std::filesystem::path> files;
  const char* moved = std::getenv("INGOT_SOURCE_DIR");  // where a program built elsewhere finds the tree
  for (const auto& entry : std::filesystem::directory_iterator(std::string(moved ? moved : INGOT_SOURCE_DIR) + "/tests/cases/problems"))
    if (entry.path().extension() == ".txt") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  std::vector<TestProblem> problems;
  for (const auto& file : files) {
    auto some = read_problems(file.string());
    EXPECT_TRUE(some.ok()) << some.status().message();
    if (some.ok()) std::move(some->begin(), some->end(), std::back_inserter(problems));
  }
  return problems;
}

inline bool is_reference(const Tactic& tactic) { return tactic.info().name.ends_with(".reference"); }

inline bool has_tolerance(DataType type) { return type == DataType::kF32 || type == DataType::kF16 || type == DataType::kBF16; }

// The element at byte `at` of a tensor of such a type.
inline float number_at(DataType type, const std::vector<std::byte>& bytes, size_t at) {
  uint16_t half;
  if (type != DataType::kF32) std::memcpy(&half, &bytes[at], sizeof half);
  if (type == DataType::kF16) return f16_to_f32(half);
  if (type == DataType::kBF16) return bf16_to_f32(half);
  float x;
  std::memcpy(&x, &bytes[at], sizeof x);
  return x;
}

// The largest magnitude among the values of a float operand; 1 for others.
inline double largest(const Operand& operand, const std::vector<std::byte>& values) {
  if (!has_tolerance(operand.type.dtype)) return 1;
  double most = 0;
  for (size_t at = 0; at < values.size(); at += element_bytes(operand.type.dtype))
    most = std::max(most, std::fabs(static_cast<double>(number_at(operand.type.dtype, values, at))));
  return most;
}

// How far a result may be from the reference: float arithmetic alone has a tolerance.
struct Allowed {
  bool exact = true;
  Tolerance tolerance;
  double terms = 1, magnitude = 1;

  // `arithmetic`: what the tactic rounds operands to.
  static Allowed of(const TestProblem& problem, const ReferenceRun& run, DataType arithmetic) {
    Allowed a;
    const DataType type = problem.outputs[0].type.dtype;
    if (!has_tolerance(problem.inputs[0].type.dtype) || !has_tolerance(type)) return a;
    a.tolerance = tolerance_of(problem.params, type == DataType::kF32 ? arithmetic : type);
    a.exact = a.tolerance.relative == 0;
    const OpKind op = kind_of(problem.params);
    if (op == OpKind::kConv || op == OpKind::kConvTranspose || op == OpKind::kMatMul || op == OpKind::kAttention || op == OpKind::kRecurrent || op == OpKind::kDeformConv) {
      // Every term is a product of two inputs (attention: a weight below 1 and a value).
      const size_t second = op == OpKind::kAttention ? 2 : 1;
      a.magnitude = largest(problem.inputs[second], run.inputs[second]) * (op == OpKind::kAttention ? 1 : largest(problem.inputs[0], run.inputs[0]));
      if (op == OpKind::kDeformConv && problem.inputs.size() > 4) a.magnitude *= std::max(1.0, largest(problem.inputs[4], run.inputs[4]));
      const Shape& w = run.input_shapes[second];
      a.terms = static_cast<double>(w.elements()) / static_cast<double>(std::max<int64_t>(1, op == OpKind::kConv ? w[0] : w[w.rank - 1]));
    }
    return a;
  }
};

// Empty, or what differs.
inline std::string compare(const TestProblem& problem, const ReferenceRun& run, const std::vector<std::vector<std::byte>>& results,
                           DataType arithmetic = DataType::kF32) {
  const Allowed allowed = Allowed::of(problem, run, arithmetic);
  for (size_t i = 0; i < results.size(); ++i) {
    if (results[i].size() != run.outputs[i].size())
      return "another size: got " + std::to_string(results[i].size()) + " bytes, need " + std::to_string(run.outputs[i].size());
    const size_t element = element_bytes(problem.outputs[i].type.dtype);
    const DataType type = problem.outputs[i].type.dtype;
    const bool exact = allowed.exact || !has_tolerance(type);
    size_t different = 0, first = 0;
    const auto number = [&](const std::vector<std::byte>& bytes, size_t at) { return number_at(type, bytes, at); };
    for (size_t at = 0; at < results[i].size(); at += element) {
      if (std::memcmp(&results[i][at], &run.outputs[i][at], element) == 0) continue;
      if (!exact && allowed.tolerance.allows(number(results[i], at), number(run.outputs[i], at), allowed.terms, allowed.magnitude)) continue;
      if (different++ == 0) first = at / element;
    }
    if (different == 0) continue;
    std::string text = std::to_string(different) + " of " + std::to_string(results[i].size() / element) +
                       " elements differ, first at " + std::to_string(first);
    if (element == 1)
      text += ": got " + std::to_string(static_cast<int>(results[i][first])) + ", need " +
              std::to_string(static_cast<int>(run.outputs[i][first]));
    if (has_tolerance(type))
      text += ": got " + std::to_string(number(results[i], first * element)) + ", need " + std::to_string(number(run.outputs[i], first * element));
    return text;
  }
  return {};
}

}  // namespace ingot
