// How Reduce and ArgReduce walk their input: the dims that stay and those that go, each with its stride.
#pragma once

#include "runtime/ops/strided_copy.h"
#include "runtime/ops/type_rule.h"

namespace ingot {

struct DimList {
  int rank = 0;
  std::array<int64_t, Shape::kMaxRank> dims{}, strides{};
};
struct ReducePlan {
  Shape shape;             // of the result
  DimList kept, reduced;   // neighbours merged
  int64_t set_size = 1;    // elements that make one result
};
ReducePlan make_reduce_plan(const Shape& from, const std::array<bool, Shape::kMaxRank>& is_reduced, bool keepdims);

// Calls begin(), then add(offset) for the elements of a set, then end(i), for each result i.
template <class Begin, class Add, class End>
void for_each_set(const ReducePlan& plan, Begin&& begin, Add&& add, End&& end) {
  int64_t i = 0;
  for_each_offset(plan.kept.rank, plan.kept.dims.data(), plan.kept.strides.data(), [&](int64_t base) {
    begin();
    for_each_offset(plan.reduced.rank, plan.reduced.dims.data(), plan.reduced.strides.data(),
                    [&](int64_t offset) { add(base + offset); });
    end(i++);
  });
}

}  // namespace ingot
