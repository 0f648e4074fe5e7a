// Whether a plan makes sense: what it refers to exists, memory is in range and not shared by tensors alive at the same time,
// types agree with the ops' rules. After this, the rest of the runtime trusts the plan.
#pragma once

#include "ingot/status.h"
#include "runtime/plan.h"

namespace ingot {

// The plan may come from a hostile file. Time is about linear in its size.
Status validate_plan(const Plan& plan);

// Whether a valid plan is of the same network as another, for another profile: the same inputs and outputs, but for their dims.
Status validate_same_network(const Plan& first, const Plan& other);

// Whether a step only gives its input another name: an alias op whose first input and output lie at the same place.
bool is_alias_step(const Plan& plan, const Step& step);

// Control flow: workspace that a step needs for its bodies, of which one runs at a time. Their arenas begin where it begins;
// behind them lies, for each state of a loop, the second of two buffers between which it alternates (the first is the step's
// output). `state_offsets`: where these lie, if asked for.
uint64_t body_workspace_bytes(const Plan& plan, const Step& step, std::vector<uint64_t>* state_offsets = nullptr);

}  // namespace ingot
