// Whether a plan makes sense: what it refers to exists, memory is in range and not shared by tensors alive at the same time,
// types agree with the ops' rules. After this, the rest of the runtime trusts the plan.
#pragma once

#include "ingot/status.h"
#include "runtime/plan.h"

namespace ingot {

// The plan may come from a hostile file. Time is about linear in its size.
Status validate_plan(const Plan& plan);

// Whether a step only gives its input another name: an alias op whose first input and output lie at the same place.
bool is_alias_step(const Plan& plan, const Step& step);

}  // namespace ingot
