// The build explains itself: for every layer its precision, tactic, time, runner-up, and why it is as it is. Deterministic:
// no dates, no paths, no wall-clock times but those of the timing cache.
#pragma once

#include <string>

#include "builder/plan/emit_plan.h"
#include "builder/tune/select_tactics.h"
#include "builder/verify_engine.h"
#include "ingot/builder.h"

namespace ingot {

// What a layer computes in: the type it multiplies, not the type it stores; "none" where it only moves data.
std::string precision_of(const Graph& graph, const Node& node);

std::string build_report_json(const Graph& graph, const Selection& selection, const EmittedPlan& plan,
                              const DeviceInfo& device, const BuildOptions& options, const VerifyResult& verified);

}  // namespace ingot
