// Replays an engine step by step against reference code before it is handed out: integer results to the byte, float results
// within tolerance.
#pragma once

#include <atomic>

#include "builder/graph/graph.h"
#include "builder/plan/emit_plan.h"
#include "ingot/builder.h"
#include "ingot/runtime.h"

namespace ingot {

// RuntimeOptions::loop_limit of an engine under verification: what more iterations would show, these show.
inline constexpr int64_t kVerifiedIterations = 1000;

struct VerifyResult {
  int64_t steps = 0, exact_steps = 0;  // compared in all; of these to the byte
  double largest_error = 0;            // of float results, relative to the largest magnitude of their tensor
};

// Runs `sample` (empty: seeded random inputs at the profile's opt) and compares every step's result with what reference code
// makes of the same inputs. kCheckFailed names the first step that differs. Of control flow the steps inside the bodies are
// compared, at each time they run.
Expected<VerifyResult> verify_engine(const Graph& graph, const EmittedPlan& emitted, const Engine& engine,
                                     std::span<const NamedTensor> sample, const std::atomic<bool>* stop = nullptr);

}  // namespace ingot
