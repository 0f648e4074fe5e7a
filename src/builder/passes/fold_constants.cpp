// A node whose inputs are all constant is computed now, by its reference code, unless the result would bloat the engine: each
// result is limited, and so is what all of them add to the model. Bodies of control flow get the constants that they capture.
#include <algorithm>
#include <optional>
#include <string>

#include "builder/graph/graph_editor.h"
#include "builder/graph/infer_outputs.h"
#include "builder/passes/passes.h"

namespace ingot {
namespace {

constexpr int64_t kMaxBytes = int64_t{64} << 20;
constexpr int64_t kMaxGrowth = 16;             // times the inputs' bytes,
constexpr int64_t kAlwaysAllowed = 1 << 20;    // except for small results, as of Range and ConstantOfShape
constexpr int64_t kMaxAdded = int64_t{64} << 20;  // by all results, beyond their inputs' bytes,
constexpr int64_t kMaxAddedTimes = 4;             // and these times the model's constants

struct Growth {
  int64_t input_bytes = 0, output_bytes = 0;
};

// Nothing where an operand is not constant. The scales of Q and DQ are for the quantise stage, which must see weights in their
// stored form.
std::optional<Growth> growth_of(const Graph& graph, const Node& node) {
  if (node.kind() == OpKind::kQuantizeLinear || node.kind() == OpKind::kDequantizeLinear || is_control_flow(node.kind())) return std::nullopt;
  Growth growth;
  for (ValueId input : node.inputs) {
    if (input == kNone) continue;
    if (!graph.is_constant(input) || graph.value(input).type.quant) return std::nullopt;
    growth.input_bytes += graph.value(input).type.bytes();
  }
  for (ValueId output : node.outputs) {
    if (output == kNone) continue;
    const TensorType& type = graph.value(output).type;
    if (type.quant || type.bytes() < 0) return std::nullopt;
    growth.output_bytes += type.bytes();
  }
  return growth;
}

// Why a result is too large to be kept; empty if it is not. room: bytes that may still be added.
std::string why_too_large(const Growth& growth, int64_t room) {
  const auto most = [&](const char* what, int64_t need) {
    return "computed in each run: folded it would take " + std::to_string(growth.output_bytes) + " bytes, need ≤ " + std::to_string(need) + what;
  };
  if (growth.output_bytes > kMaxBytes) return most(" for a tensor", kMaxBytes);
  if (growth.output_bytes > std::max(kAlwaysAllowed, kMaxGrowth * growth.input_bytes)) return most(", 16 times its inputs", std::max(kAlwaysAllowed, kMaxGrowth * growth.input_bytes));
  return growth.output_bytes - growth.input_bytes > room ? most(", the rest of what all of the model may add", room) : std::string();
}

// The value of every output; the left-out ones too, since reference code writes all it is given a type for.
Status compute(const Graph& graph, const Node& node, std::vector<Blob>& results) {
  std::vector<BoundedOutput> inferred(node.outputs.size());
  INGOT_TRY(infer_node(graph, node.params, node.inputs, 0, inferred));
  std::vector<TensorType> types;
  for (const BoundedOutput& output : inferred) types.push_back({output.dtype, output.shape, Layout::kLinear, {}});
  std::vector<ConstTensorRef> inputs(node.inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i)
    if (node.inputs[i] != kNone) inputs[i] = {&graph.value(node.inputs[i]).type, graph.value(node.inputs[i]).constant->data()};
  std::vector<TensorRef> outputs;
  results.clear();
  for (const TensorType& type : types) results.emplace_back(static_cast<size_t>(std::max<int64_t>(type.bytes(), 0)));
  for (size_t i = 0; i < types.size(); ++i) outputs.push_back({&types[i], results[i].data()});
  return run_reference(node.params, inputs, outputs);
}

// What bodies capture of constants they hold themselves; their turn to fold comes after.
void sink_constants(GraphEditor& editor, NodeId id) {
  const auto* loop = std::get_if<LoopParams>(&editor.graph().node(id).params);
  const size_t first = loop ? loop->first_capture() : 1;
  for (size_t input = editor.graph().node(id).inputs.size(); input-- > first;) {
    const Node& node = editor.graph().node(id);
    const ValueId outside = node.inputs[input];
    if (!editor.graph().is_constant(outside) || editor.graph().value(outside).type.quant) continue;
    const auto constant = editor.graph().value(outside).constant;
    std::vector<ValueId> inside;
    for (const Graph& body : node.bodies) inside.push_back(body.inputs()[body.inputs().size() - (node.inputs.size() - input)]);
    editor.remove_capture(id, input);
    for (size_t i = 0; i < inside.size(); ++i) GraphEditor(editor.body(id, i)).make_constant(inside[i], constant);
  }
}

}  // namespace

Status fold_constants(Graph& graph, const BuildOptions&) {
  GraphEditor editor(graph);
  std::vector<Blob> results;
  int64_t room = kMaxAdded;
  for (ValueId id = 0; id < graph.value_count(); ++id)
    if (graph.is_constant(id)) room += kMaxAddedTimes * static_cast<int64_t>(graph.value(id).constant->size());
  for (NodeId id : graph.topological_order()) {
    if (!graph.node(id).bodies.empty()) sink_constants(editor, id);
    const auto growth = growth_of(graph, graph.node(id));
    if (!growth) continue;
    if (std::string why = why_too_large(*growth, room); !why.empty()) {
      editor.add_note(id, std::move(why));
      continue;
    }
    room -= std::max<int64_t>(growth->output_bytes - growth->input_bytes, 0);
    // What fails now (an index out of range) fails at run time too, if that place is ever reached.
    if (!compute(graph, graph.node(id), results).ok()) continue;
    const std::vector<ValueId> outputs = graph.node(id).outputs;
    for (size_t i = 0; i < outputs.size(); ++i)
      if (outputs[i] != kNone) editor.make_constant(outputs[i], std::make_shared<const Blob>(std::move(results[i])));
  }
  return Status();
}

}  // namespace ingot
