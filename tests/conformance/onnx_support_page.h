// What the results say to people: the page docs/onnx-support.md and the list of expected failures.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "onnx_case.h"

namespace ingot {

struct CaseOutcome {
  std::vector<CaseResult> modes;
  bool passed() const;
  std::string reason() const;  // of the first failure; says so where not all modes fail
};

// case<TAB>reason, sorted; lines that start with # are remarks.
Expected<std::map<std::string, std::string>> read_expected_failures(const std::string& path);
// Reasons of `before` that start with "by choice: " were written by hand, and stay.
std::string expected_failures_text(const std::vector<OnnxCase>& cases, const std::vector<CaseOutcome>& outcomes,
                                   const std::map<std::string, std::string>& before);

std::string support_page(const std::vector<OnnxCase>& cases, const std::vector<CaseOutcome>& outcomes);

}  // namespace ingot
