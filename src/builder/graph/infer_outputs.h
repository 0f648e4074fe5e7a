// What a node makes, before it is added: types at each probe, values of shape arithmetic or bounds of them, and formulas.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "builder/graph/graph.h"
#include "builder/graph/infer_dims.h"
#include "ingot/status.h"
#include "runtime/ops/shape_bounds.h"

namespace ingot {

struct InferredOutput {
  DataType dtype = DataType::kF32;
  std::vector<Shape> shapes;                        // at each probe
  uint32_t late = 0;
  std::vector<std::shared_ptr<const Blob>> values;  // at each probe; empty: unknown, or constant
  std::vector<Value::Bounds> bounds;                // at each probe; empty: none
  std::shared_ptr<const Blob> constant;
  OutputFormulas formulas;
};

// One for each name; that of an output that is left out is empty. Late dims are held to the graph's limits of those names, which
// are added to used_limits; one that has no bound at all is refused. The error names the node and what its type rule said.
Expected<std::vector<InferredOutput>> infer_outputs(const Graph& graph, const std::string& name, const OpParams& params,
                                                    std::span<const ValueId> inputs, std::span<const Graph> bodies,
                                                    std::span<const std::string> output_names, std::set<std::string>& used_limits);

// Every output type of the node as its type rule gives it now, with upper bounds of late dims. Of bodies only what
// they take and make is looked at.
Status infer_node(const Graph& graph, const OpParams& params, std::span<const ValueId> inputs, size_t probe,
                  std::span<BoundedOutput> outputs, std::span<const Graph> bodies = {});

}  // namespace ingot
