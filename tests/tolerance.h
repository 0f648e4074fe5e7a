// Float tolerances that tests alone hold to; the table of all ops is in builder/float_tolerance.h.
#pragma once

#include <cmath>
#include <optional>
#include <string_view>

#include "builder/float_tolerance.h"

namespace ingot {

// A graph before and after the passes, relative to the value or to 1: f32 sums in another order.
inline constexpr double kAfterPasses = 1e-5;

// Whole graphs, optimised against unoptimised. An output may differ by `relative` of its tensor's largest magnitude, or by
// `spread` times what evaluations with relative errors up to `noise` in every float sum move it; where these move it by more
// than the share `chaotic`, nothing can be said.
struct GraphTolerance {
  double relative = 1e-5, noise = 0x1p-20, spread = 6, chaotic = 0.02;
  uint64_t noise_runs = 6;
};
inline constexpr GraphTolerance kGraphTolerance;
// How far a pass may move a graph's results: each value relative to itself or 1, whichever is more, or relative to the
// largest magnitude of its output. Passes that change numbers on purpose name a class in their cases.
struct PassTolerance {
  double error;
  bool of_largest;
};
inline std::optional<PassTolerance> pass_tolerance(std::string_view name) {
  if (name == "exact") return PassTolerance{0, false};
  if (name == "float") return PassTolerance{1e-4, false};  // the order of sums, folded constants
  if (name == "half") return PassTolerance{1e-3, true};    // weights rounded to 11 bits
  if (name == "int8") return PassTolerance{4e-2, true};    // a few layers with 8-bit operands
  return std::nullopt;
}

// A whole network whose layers compute in halves (f16; bf16), or that has float layers between 8-bit ones: relative to an output's largest magnitude.
inline constexpr double kHalfNetworkTolerance = 2e-2, kBrainNetworkTolerance = 8e-2, kMixedNetworkTolerance = 4e-2;

// Boxes and scores of a detector, a few layers behind its inputs.
inline constexpr double kDetectionTolerance = 1e-5;

}  // namespace ingot
