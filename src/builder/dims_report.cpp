// Bodies of dims_report.h.
#include "builder/dims_report.h"

#include <set>

namespace ingot {

using Json = nlohmann::ordered_json;

namespace {

void add_dims(const Graph& graph, std::set<DimId>& dims) {
  for (ValueId id = 0; id < graph.value_count(); ++id) {
    const Value& value = graph.value(id);
    if (value.is_input || value.producer != kNone) dims.insert(value.dims.begin(), value.dims.end());
  }
  for (NodeId id = 0; id < graph.node_count(); ++id)
    for (const Graph& body : graph.node(id).bodies)
      if (graph.node(id).alive) add_dims(body, dims);
}

}  // namespace

Json value_list(const Graph& graph, std::span<const ValueId> values) {
  Json list = Json::array();
  for (ValueId id : values) {
    if (id == kNone) continue;
    list.push_back({{"name", graph.value(id).name}, {"type", to_string(graph.value(id).type)}});
    if (!graph.value(id).dims.empty()) list.back()["formula"] = graph.formula_text(id);
  }
  return list;
}

Json dims_report(const Graph& graph) {
  std::set<DimId> dims;
  add_dims(graph, dims);
  Json symbols = Json::object(), unknown = Json::object();
  for (const SymbolicDims::Named& dim : graph.symbols().named({dims.begin(), dims.end()}))
    (dim.is_symbol ? symbols : unknown)[dim.name] = std::to_string(dim.low) + "…" + std::to_string(dim.high);
  Json report;
  report["inputs"] = value_list(graph, graph.inputs());
  report["outputs"] = value_list(graph, graph.outputs());
  report["symbols"] = std::move(symbols);
  report["unknown"] = std::move(unknown);
  return report;
}

}  // namespace ingot
