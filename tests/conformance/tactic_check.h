// What tests of tactics share, of whatever backend: the problems, and how far a result may be from the reference's.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "problem_data.h"
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

// The largest magnitude among the values of an f32 operand; 1 for others.
inline double largest(const Operand& operand, const std::vector<std::byte>& values) {
  if (operand.type.dtype != DataType::kF32) return 1;
  double most = 0;
  for (size_t at = 0; at < values.size(); at += sizeof(float)) {
    float x;
    std::memcpy(&x, &values[at], sizeof x);
    most = std::max(most, std::fabs(static_cast<double>(x)));
  }
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
    if (problem.inputs[0].type.dtype != DataType::kF32 || problem.outputs[0].type.dtype != DataType::kF32) return a;
    a.tolerance = tolerance_of(problem.params, arithmetic);
    a.exact = a.tolerance.relative == 0;
    const OpKind op = kind_of(problem.params);
    if (op == OpKind::kConv || op == OpKind::kConvTranspose || op == OpKind::kMatMul || op == OpKind::kAttention || op == OpKind::kRecurrent) {
      // Every term is a product of two inputs (attention: a weight below 1 and a value).
      const size_t second = op == OpKind::kAttention ? 2 : 1;
      a.magnitude = largest(problem.inputs[second], run.inputs[second]) * (op == OpKind::kAttention ? 1 : largest(problem.inputs[0], run.inputs[0]));
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
    const bool exact = allowed.exact || problem.outputs[i].type.dtype != DataType::kF32;
    size_t different = 0, first = 0;
    const auto number = [&](const std::vector<std::byte>& bytes, size_t at) {
      float x;
      std::memcpy(&x, &bytes[at], sizeof x);
      return x;
    };
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
    if (problem.outputs[i].type.dtype == DataType::kF32)
      text += ": got " + std::to_string(number(results[i], first * 4)) + ", need " + std::to_string(number(run.outputs[i], first * 4));
    return text;
  }
  return {};
}

}  // namespace ingot
