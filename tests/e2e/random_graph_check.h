// One program, built and run in many ways that must agree: evaluated by reference code, planned unoptimised, optimised with
// tactics and layouts drawn at random, at every probe, thread count and instruction set; INT8 and exact results by byte.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "e2e/random_program.h"

namespace ingot::random_graphs {

struct CheckOptions {
  uint64_t seed = 0;      // of tactics, instruction set, calibration method
  bool int8 = false;      // calibrate on the program's own data and quantise
  std::vector<std::string> disabled_passes;
};

struct CheckResult {
  std::string failure;    // "<kind>: <what>"; empty: all agreed
  int compared = 0;       // float outputs compared with what the program evaluates to
  int unstable = 0;       // of them such that rounding errors alone can change wholly: not judged
  int integer_steps = 0;  // steps of the optimised engine that compute in 8 bits
  size_t nodes_before = 0, nodes_after = 0;
};

CheckResult check(const Program& program, const CheckOptions& options);
// The optimised graph, for a report.
std::string optimised_text(const Program& program, const CheckOptions& options);

}  // namespace ingot::random_graphs
