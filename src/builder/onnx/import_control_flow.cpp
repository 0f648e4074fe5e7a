// If, Loop and Scan. Their bodies become graphs of their own; Scan is a Loop over what it scans, and the batched Scan of
// opset 8 one Loop within another. A Loop whose body cannot be planned as it is, because shapes change from one iteration to
// the next or depend on the iteration number, is written out where the model fixes the number of iterations.
#include <algorithm>
#include <numeric>

#include "builder/onnx/branches.h"
#include "builder/onnx/graph_importer.h"
#include "builder/onnx/node_order.h"
#include "builder/onnx/text.h"

namespace ingot {
namespace {

constexpr int64_t kMostUnrolledNodes = 4096;
constexpr int64_t kMostRounds = int64_t{1} << 36;
constexpr double kMostMovedBytes = 0x1p33;  // by a state that grows, in all rounds: a few seconds
constexpr int kMostAttempts = 4;

const onnx::GraphProto* graph_attribute(NodeImporter& view, std::string_view name) {
  const onnx::AttributeProto* attribute = view.attribute(name);
  if (!view.ok()) return nullptr;
  if (attribute && attribute->has_g()) return &attribute->g();
  view.invalid("needs a graph as attribute " + quoted(name));
  return nullptr;
}

Status unsupported(std::string what) { return Status(StatusCode::kUnsupported, std::move(what)); }
Status invalid(std::string what) { return Status(StatusCode::kInvalidModel, std::move(what)); }

// The rank that a body declares for its input; most declare the iteration number a scalar, some one element.
int declared_rank(const onnx::ValueInfoProto& info) {
  return info.type().has_tensor_type() && info.type().tensor_type().has_shape() ? info.type().tensor_type().shape().dim_size() : 0;
}

Shape element_shape(const Shape& stack) {
  Shape element;
  for (int i = 1; i < stack.rank; ++i) element.dims[static_cast<size_t>(element.rank++)] = stack[i];
  return element;
}

// A state keeps its shape, but for dims that depend on data: these may change from one iteration to the next.
std::vector<DimId> dims_of_state(const Value& initial) {
  std::vector<DimId> dims = initial.dims;
  for (size_t d = 0; d < dims.size(); ++d)
    if (initial.late_dims >> d & 1) dims[d] = kNoDim;
  return dims;
}

// A state that grows by `growth` in a dim is copied in each round.
double moved_bytes(const Value& state, size_t probe, int64_t growth, int64_t rounds) {
  const double bytes = static_cast<double>(state.probe_shapes[probe].elements()) * static_cast<double>(element_bytes(state.type.dtype));
  return bytes * static_cast<double>(growth) * static_cast<double>(rounds) * static_cast<double>(rounds);
}

bool is_constant_true(const Graph& graph, ValueId id) {
  return id != kNone && graph.is_constant(id) && graph.value(id).type.dtype == DataType::kBool &&
         graph.value(id).type.shape.elements() == 1 && (*graph.value(id).constant)[0] != std::byte{0};
}

}  // namespace

GraphImporter::ControlFlowImporter GraphImporter::find_control_flow(std::string_view op_type) {
  if (op_type == "If") return &GraphImporter::import_if;
  if (op_type == "Loop") return &GraphImporter::import_loop;
  if (op_type == "Scan") return &GraphImporter::import_scan;
  return nullptr;
}

// One body behind its own names; inputs that it declares have been given.
Expected<bool> GraphImporter::import_body(int index) {
  if (depth_ > kMaxBodyDepth) return unsupported("bodies within bodies: need at most " + std::to_string(kMaxBodyDepth) + " levels");
  const size_t problems = model_.problems.count();
  check_names();
  INGOT_TRY(import_nodes(index));
  return model_.problems.count() == problems;
}

Expected<bool> GraphImporter::import_if(NodeImporter& view, const onnx::NodeProto& node, int index) {
  const ValueId condition = view.required(0);
  const onnx::GraphProto* graphs[2] = {graph_attribute(view, "then_branch"), graph_attribute(view, "else_branch")};
  if (!view.ok()) return false;
  GraphImporter on_true(model_, *graphs[0], this), on_false(model_, *graphs[1], this);
  bool complete = true;
  for (GraphImporter* branch : {&on_true, &on_false}) {
    if (branch->proto_.input_size() != 0)
      return invalid("a branch has inputs of its own: got " + std::to_string(branch->proto_.input_size()) + ", need none");
    if (branch->proto_.output_size() != node.output_size())
      return invalid("needs a then_branch and an else_branch with as many outputs as the node");
    for (int i = 0; i < node.output_size(); ++i) branch->graph_.share_limit(node.output(i), branch->proto_.output(i).name());
    // Both take the same inputs.
    if (branch == &on_false)
      for (ValueId outside : on_true.captures_) on_false.capture(outside);
    INGOT_ASSIGN(bool is_whole, branch->import_body(index));
    if (is_whole) {
      INGOT_ASSIGN(is_whole, branch->mark_outputs());
    }
    complete = complete && is_whole;
  }
  for (ValueId outside : on_false.captures_) on_true.capture(outside);
  if (!complete) return false;
  std::vector<ValueId> inputs = {condition};
  inputs.insert(inputs.end(), on_true.captures_.begin(), on_true.captures_.end());
  std::vector<Graph> bodies;
  bodies.push_back(std::move(on_true.graph_));
  bodies.push_back(std::move(on_false.graph_));
  view.results(view.add_control_flow(IfParams{}, std::move(inputs), std::move(bodies), static_cast<size_t>(node.output_size()), true));
  return true;
}

// Trip count, condition, states…
Expected<bool> GraphImporter::import_loop(NodeImporter& view, const onnx::NodeProto& node, int index) {
  const onnx::GraphProto* proto = graph_attribute(view, "body");
  if (!view.ok()) return false;
  const int states = std::max(node.input_size() - 2, 0);
  if (proto->input_size() != states + 2 || proto->output_size() < states + 1 || node.output_size() > proto->output_size() - 1)
    return invalid("body: inputs and outputs: got " + std::to_string(proto->input_size()) + " and " + std::to_string(proto->output_size()) +
                   ", need a trip count, a condition and " + std::to_string(states) + " states in, a condition, the states and what the node makes out");
  for (int i = 0; i < states; ++i) view.required(static_cast<size_t>(i + 2));
  const ValueId count = view.input(0), condition = view.input(1);
  if (count != kNone && (view.dtype(count) != DataType::kS64 || view.type(count).shape.elements() != 1))
    view.invalid("trip count: need one element of s64");
  if (condition != kNone && (view.dtype(condition) != DataType::kBool || view.type(condition).shape.elements() != 1))
    view.invalid("condition: need one element of bool");
  if (!view.ok()) return false;
  const double known_count = count == kNone ? -1 : view.constant_scalar(count).value_or(-1);
  const bool can_unroll = known_count >= 0 && (condition == kNone || graph_.is_constant(condition)) &&
                          known_count * std::max(proto->node_size(), 1) <= kMostUnrolledNodes;
  const ModelProblems problems = model_.problems;
  Expected<bool> as_loop = import_as_loop(view, node, *proto, index, !can_unroll);
  const bool refused = as_loop.ok() ? !*as_loop : as_loop.status().code() == StatusCode::kUnsupported;
  if (!refused || !can_unroll) return as_loop;
  model_.problems = problems;
  const bool runs = condition == kNone || is_constant_true(graph_, condition);
  return unroll_loop(view, node, *proto, index, runs ? static_cast<int64_t>(known_count) : 0);
}

// How often a loop may run at each probe; empty where no bound is known.
std::vector<int64_t> GraphImporter::most_rounds(ValueId count) const {
  std::vector<int64_t> rounds;
  for (size_t p = 0; count != kNone && p < graph_.probe_count(); ++p) {
    const Value& value = graph_.value(count);
    const Blob* known = value.constant ? value.constant.get() : !value.probe_values.empty() ? value.probe_values[p].get() : nullptr;
    if (!known && !value.probe_bounds.empty()) known = value.probe_bounds[p].most.get();
    if (!known) return {};
    rounds.push_back(std::max<int64_t>(element_number(DataType::kS64, known->data()).integer, 0));
    if (rounds.back() > kMostRounds) return {};
  }
  return rounds;
}

// After the body was tried with these states: dims in which it changes them become late, bounded by their growth in all rounds
// or by the user's limit. False where nothing is left to change.
Expected<bool> GraphImporter::widen_states(const onnx::NodeProto& node, const GraphImporter& body, size_t first_state, ValueId count,
                                           std::vector<LoopState>& states) const {
  bool widened = false;
  const std::vector<int64_t> rounds = most_rounds(count);
  for (size_t s = 0; s < states.size(); ++s) {
    LoopState& state = states[s];
    const Value& made = body.graph_.value(body.graph_.outputs()[first_state + s]);
    const std::string name = s < static_cast<size_t>(node.output_size()) && !node.output(static_cast<int>(s)).empty()
                                 ? node.output(static_cast<int>(s)) : made.name;
    const auto limit = graph_.limits().find(name);
    if (made.type.shape.rank != state.shapes[0].rank) return unsupported("number of dims of state " + quoted(name) + " changes from one iteration to the next");
    for (int d = 0; d < made.type.shape.rank; ++d) {
      bool changes = false;
      for (size_t p = 0; p < state.shapes.size(); ++p) changes = changes || made.probe_shapes[p][d] != state.shapes[p][d];
      if ((state.late >> d & 1) != 0 || (!changes && (made.late_dims >> d & 1) == 0)) continue;
      const bool has_limit = limit != graph_.limits().end() && d < limit->second.rank && limit->second[d] >= 0;
      for (size_t p = 0; p < state.shapes.size(); ++p) {
        int64_t& most = state.shapes[p][d];
        const int64_t growth = std::max<int64_t>(made.probe_shapes[p][d] - most, 0);
        // What the last round makes may be as large as the limit; what it reads is smaller.
        // Where data decides what a round makes, the next reads as much.
        if (has_limit) most = std::max(most, limit->second[d] - ((made.late_dims >> d & 1) != 0 ? 0 : growth));
        else if (!rounds.empty() && moved_bytes(made, p, growth, rounds[p]) <= kMostMovedBytes) most += growth * rounds[p];
        else
          return unsupported("size of dim " + std::to_string(d) + " of state " + quoted(name) +
                             " changes from one iteration to the next, and no upper bound of it is known that is small enough to run; give a limit, as by --limit '" + name + "=" +
                             to_string(made.type.shape) + "' with a number for that dim");
      }
      state.late |= 1u << d;
      if (!state.dims.empty()) state.dims[static_cast<size_t>(d)] = kNoDim;
      widened = true;
    }
  }
  return widened;
}

Expected<bool> GraphImporter::import_as_loop(NodeImporter& view, const onnx::NodeProto& node, const onnx::GraphProto& proto, int index,
                                             bool may_widen) {
  const auto scalar = [&](int i) { return declared_rank(proto.input(i)) == 1 ? Shape{1} : Shape{}; };
  std::vector<LoopState> states;
  for (int i = 2; i < proto.input_size(); ++i) {
    const Value& state = graph_.value(view.input(static_cast<size_t>(i)));
    states.push_back({state.probe_shapes, state.late_dims, dims_of_state(state)});
  }
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    GraphImporter body(model_, proto, this);
    LoopParams params;
    params.states = node.input_size() - 2;
    body.share_stacked_limits(node, static_cast<int>(params.states), 1);
    params.counted = true;
    ValueId number = body.editor_.add_body_input(proto.input(0).name(), DataType::kS64, std::vector<Shape>(graph_.probe_count()));
    if (scalar(0).rank == 1) {
      const ValueId target = body.editor_.add_constant_of<int64_t>("shape", DataType::kS64, Shape{1}, std::vector<int64_t>{1});
      INGOT_ASSIGN(number, body.editor_.add_op("iteration", ReshapeParams{}, {number, target}, "iteration"));
    }
    body.give(proto.input(0).name(), number);
    // The body runs only while the condition holds, so inside it is true.
    body.give(proto.input(1).name(), body.editor_.add_constant(proto.input(1).name(), {DataType::kBool, scalar(1), Layout::kLinear, {}}, Blob{std::byte{1}}));
    for (size_t s = 0; s < states.size(); ++s) {
      const std::string& name = proto.input(static_cast<int>(s + 2)).name();
      body.give(name, body.editor_.add_body_input(name, view.dtype(view.input(s + 2)), states[s].shapes, states[s].late, states[s].dims));
    }
    INGOT_ASSIGN(bool complete, body.import_body(index));
    if (!complete) return false;
    INGOT_ASSIGN(const ValueId next, body.value_of(proto.output(0).name()));
    if (next == kNone) return false;
    if (is_aggregate(next)) return unsupported("its condition is a sequence or an optional value: need a tensor");
    params.conditional = !is_constant_true(body.graph_, next);
    INGOT_ASSIGN(complete, body.mark_outputs(params.conditional ? 0 : 1));
    if (!complete) return false;
    INGOT_ASSIGN(const bool widened, widen_states(node, body, params.body_result_state(), view.input(0), states));
    if (widened && !may_widen) return unsupported("shapes of its states change");
    if (widened) continue;
    std::vector<ValueId> inputs = {view.input(0), view.input(1)};
    for (int i = 2; i < proto.input_size(); ++i) inputs.push_back(view.input(static_cast<size_t>(i)));
    inputs.insert(inputs.end(), body.captures_.begin(), body.captures_.end());
    std::vector<Graph> bodies;
    bodies.push_back(std::move(body.graph_));
    const auto outputs = view.add_control_flow(params, std::move(inputs), std::move(bodies), static_cast<size_t>(proto.output_size() - 1), true);
    if (Status status = view.take_status(); !status.ok()) return status;
    view.results(outputs);
    return true;
  }
  return unsupported("shapes of its states change from one iteration to the next in ways that have no bound");
}

// What limits a stacked output, limits its elements; outputs of the body before the states: `first`.
void GraphImporter::share_stacked_limits(const onnx::NodeProto& node, int states, int first) {
  for (int i = states; i < node.output_size() && first + i < proto_.output_size(); ++i)
    graph_.share_limit(node.output(i), proto_.output(first + i).name(), 1);
}

// Iteration by iteration in this graph: each is a copy of the body with names of its own.
Expected<bool> GraphImporter::unroll_loop(NodeImporter& view, const onnx::NodeProto& node, const onnx::GraphProto& proto, int index,
                                          int64_t count) {
  const size_t states = static_cast<size_t>(node.input_size() - 2), stacked = static_cast<size_t>(proto.output_size() - 1) - states;
  std::vector<ValueId> values;
  for (size_t i = 0; i < states; ++i) values.push_back(view.input(i + 2));
  std::vector<std::vector<ValueId>> elements(stacked);
  for (int64_t i = 0; i < count; ++i) {
    INGOT_ASSIGN(const onnx::GraphProto body, branch_with_own_names(proto, node_label(node, index) + "/" + std::to_string(i), scope_.tensor_names));
    const auto one = [&](int k) { return declared_rank(proto.input(k)) == 1 ? Shape{1} : Shape{}; };
    const std::vector<int64_t> number = {i};
    values_[body.input(0).name()] = editor_.add_constant_of<int64_t>(body.input(0).name(), DataType::kS64, one(0), number);
    values_[body.input(1).name()] = editor_.add_constant(body.input(1).name(), {DataType::kBool, one(1), Layout::kLinear, {}}, Blob{std::byte{1}});
    for (size_t s = 0; s < states; ++s) values_[body.input(static_cast<int>(s + 2)).name()] = values[s];
    INGOT_TRY(import_renamed(body, index, depth_ + 1));
    INGOT_ASSIGN(const ValueId next, value_of(body.output(0).name()));
    if (next == kNone) return false;
    if (is_aggregate(next)) return unsupported("its condition is a sequence or an optional value: need a tensor");
    if (!graph_.is_constant(next)) return unsupported("its condition is computed at run time while shapes change from one iteration to the next");
    for (int s = 1; s < body.output_size(); ++s) {
      INGOT_ASSIGN(const ValueId made, value_of(body.output(s).name()));
      if (made == kNone) return false;
      if (static_cast<size_t>(s) <= states) values[static_cast<size_t>(s - 1)] = made;
      else if (is_aggregate(made)) return unsupported("a stacked output is a sequence or an optional value: need a tensor");
      else elements[static_cast<size_t>(s - 1) - states].push_back(view.unsqueeze(made, {0}));
    }
    if (!is_constant_true(graph_, next)) break;
  }
  for (std::vector<ValueId>& parts : elements) {
    if (parts.empty()) return unsupported("a stacked output of no iterations has no known shape");
    values.push_back(view.concat(parts, 0));
  }
  view.results(values);
  return true;
}

// States…, scanned…; from opset 9. Axes other than 0 become transpositions outside the loop.
Expected<bool> GraphImporter::import_scan(NodeImporter& view, const onnx::NodeProto& node, int index) {
  const onnx::GraphProto* proto = graph_attribute(view, "body");
  const int64_t scanned = view.integer("num_scan_inputs", 0);
  if (!view.ok()) return false;
  const bool batched = view.version() < 9;  // opset 8: sequence lengths first, dim 0 of everything is the batch
  const size_t first = batched ? 1 : 0, operands = static_cast<size_t>(proto->input_size());
  if (scanned < 1 || scanned > proto->input_size() || view.input_count() != operands + first ||
      proto->output_size() < proto->input_size() - scanned || node.output_size() > proto->output_size())
    return invalid("inputs and outputs do not match those of the body, or scans nothing");
  LoopParams params;
  params.scanned = scanned;
  params.states = proto->input_size() - scanned;
  const size_t states = static_cast<size_t>(params.states), stacked = static_cast<size_t>(proto->output_size()) - states;
  const auto list = [&](std::string_view name, size_t count) {
    std::vector<int64_t> values = view.integers(name);
    if (!values.empty() && values.size() != count) view.invalid("attribute " + quoted(name) + " needs a number for each tensor");
    return values;
  };
  params.backward_inputs = list(batched ? "directions" : "scan_input_directions", static_cast<size_t>(scanned));
  params.backward_outputs = list("scan_output_directions", stacked);
  for (const auto* directions : {&params.backward_inputs, &params.backward_outputs})
    for (int64_t direction : *directions)
      if (direction != 0 && direction != 1) view.invalid("a direction is neither 0 nor 1");
  const std::vector<int64_t> input_axes = list("scan_input_axes", static_cast<size_t>(scanned)), output_axes = list("scan_output_axes", stacked);
  std::vector<ValueId> values;
  for (size_t i = 0; i < operands; ++i) {
    ValueId value = view.required(i + first);
    if (!view.ok()) return false;
    if (i >= states && view.rank(value) < static_cast<int>(first) + 1) view.invalid("a scanned tensor is a scalar");
    if (i >= states && !input_axes.empty()) value = move_axis(view, value, view.axis(input_axes[i - states], view.rank(value)), 0);
    values.push_back(value);
  }
  if (!view.ok()) return false;
  Expected<std::vector<ValueId>> outputs = batched ? add_batched_scan(view, *proto, params, values, index) : add_scan(view, node, *proto, params, values, index, output_axes.empty());
  if (!outputs.ok()) return outputs.take_status();
  if (outputs->empty()) return view.ok() ? false : true;
  for (size_t i = 0; i < stacked && !output_axes.empty(); ++i) {
    ValueId& value = (*outputs)[states + i];
    value = move_axis(view, value, 0, view.axis(output_axes[i], view.rank(value)));
  }
  view.results(*outputs);
  return true;
}

ValueId GraphImporter::move_axis(NodeImporter& view, ValueId value, int64_t from, int64_t to) {
  if (!view.ok() || from == to) return value;
  std::vector<int64_t> perm(static_cast<size_t>(view.rank(value)));
  std::iota(perm.begin(), perm.end(), 0);
  perm.erase(perm.begin() + from);
  perm.insert(perm.begin() + to, from);
  return view.transpose(value, perm);
}

// The body of a scan, given the values outside that it runs on.
Expected<bool> GraphImporter::import_scan_body(const std::vector<ValueId>& values, size_t states, int index) {
  for (int i = 0; i < proto_.input_size(); ++i) {
    const Value& value = outer_->graph_.value(values[static_cast<size_t>(i)]);
    std::vector<Shape> shapes = value.probe_shapes;
    const bool is_element = static_cast<size_t>(i) >= states;
    std::vector<DimId> dims = is_element ? value.dims : dims_of_state(value);
    for (Shape& shape : shapes)
      if (is_element) shape = element_shape(shape);
    if (is_element && !dims.empty()) dims.erase(dims.begin());
    give(proto_.input(i).name(),
         editor_.add_body_input(proto_.input(i).name(), value.type.dtype, std::move(shapes), is_element ? value.late_dims >> 1 : value.late_dims, std::move(dims)));
  }
  INGOT_ASSIGN(const bool complete, import_body(index));
  if (!complete) return false;
  return mark_outputs();
}

Expected<std::vector<ValueId>> GraphImporter::add_scan(NodeImporter& view, const onnx::NodeProto& node, const onnx::GraphProto& proto,
                                                       const LoopParams& params, const std::vector<ValueId>& values, int index, bool named) {
  GraphImporter body(model_, proto, this);
  if (named) body.share_stacked_limits(node, static_cast<int>(params.states), 0);
  INGOT_ASSIGN(const bool complete, body.import_scan_body(values, static_cast<size_t>(params.states), index));
  if (!complete) return std::vector<ValueId>();
  std::vector<ValueId> inputs = {kNone, kNone};
  inputs.insert(inputs.end(), values.begin(), values.end());
  inputs.insert(inputs.end(), body.captures_.begin(), body.captures_.end());
  std::vector<Graph> bodies;
  bodies.push_back(std::move(body.graph_));
  return view.add_control_flow(params, std::move(inputs), std::move(bodies), static_cast<size_t>(proto.output_size()), named);
}

// Outside a loop over the batch, inside it the scan. Where a sequence ends before its length, states stay and outputs are 0.
Expected<std::vector<ValueId>> GraphImporter::add_batched_scan(NodeImporter& view, const onnx::GraphProto& proto, const LoopParams& params,
                                                               const std::vector<ValueId>& values, int index) {
  const ValueId lengths = view.input(0);
  if (lengths != kNone && std::count(params.backward_inputs.begin(), params.backward_inputs.end(), 1) != 0)
    return unsupported("sequence lengths together with reverse directions");
  static const onnx::GraphProto kNoProto;
  GraphImporter rows(model_, kNoProto, this);
  LoopParams outer;
  outer.scanned = static_cast<int64_t>(values.size()) + (lengths != kNone ? 1 : 0);
  std::vector<ValueId> inputs = {kNone, kNone}, given;
  const auto row_of = [&](ValueId value) {
    const Value& whole = graph_.value(value);
    std::vector<Shape> shapes = whole.probe_shapes;
    for (Shape& shape : shapes) shape = element_shape(shape);
    std::vector<DimId> dims = whole.dims;
    if (!dims.empty()) dims.erase(dims.begin());
    inputs.push_back(value);
    return rows.editor_.add_body_input(whole.name, whole.type.dtype, std::move(shapes), whole.late_dims >> 1, std::move(dims));
  };
  for (ValueId value : values) given.push_back(row_of(value));
  const ValueId length = lengths == kNone ? kNone : row_of(lengths);

  GraphImporter steps(model_, proto, &rows);
  LoopParams inner = params;
  if (length != kNone) {
    inner.counted = true;
    steps.editor_.add_body_input("iteration", DataType::kS64, std::vector<Shape>(graph_.probe_count()));
  }
  const size_t states = static_cast<size_t>(params.states);
  INGOT_ASSIGN(const bool complete, steps.import_scan_body(given, states, index));
  if (!complete) return std::vector<ValueId>();
  if (length != kNone) INGOT_TRY(steps.mask_behind(length, states));
  std::vector<ValueId> inner_inputs = {kNone, kNone};
  inner_inputs.insert(inner_inputs.end(), given.begin(), given.end());
  inner_inputs.insert(inner_inputs.end(), steps.captures_.begin(), steps.captures_.end());
  std::vector<Graph> bodies;
  bodies.push_back(std::move(steps.graph_));
  std::vector<std::string> names;
  for (const auto& output : proto.output()) names.push_back(output.name());
  INGOT_ASSIGN(const GraphEditor::Added added, rows.editor_.add_node(view.name() + "/sequence", inner, std::move(inner_inputs), std::move(names), std::move(bodies)));
  for (ValueId output : added.outputs) rows.editor_.mark_output(output);
  inputs.insert(inputs.end(), rows.captures_.begin(), rows.captures_.end());
  bodies.clear();
  bodies.push_back(std::move(rows.graph_));
  return view.add_control_flow(outer, std::move(inputs), std::move(bodies), added.outputs.size());
}

// Replaces the outputs of a scan's body, whose input 0 is the iteration number, by what they are behind the sequence's end.
Status GraphImporter::mask_behind(ValueId length_outside, size_t states) {
  const ValueId length = capture(length_outside), number = graph_.inputs()[0];
  INGOT_ASSIGN(const ValueId active, editor_.add_op("active", BinaryParams{BinaryFunction::kLess, {}}, {number, length}, "active"));
  const std::vector<ValueId> outputs(graph_.outputs().begin(), graph_.outputs().end());
  editor_.clear_outputs();
  for (size_t i = 0; i < outputs.size(); ++i) {
    ValueId otherwise;
    if (i < states) {
      otherwise = graph_.inputs()[1 + i];
    } else {
      const DataType dtype = graph_.value(outputs[i]).type.dtype;
      otherwise = editor_.add_constant("zero", {dtype, Shape{}, Layout::kLinear, {}}, Blob(element_bytes(dtype)));
    }
    INGOT_ASSIGN(const ValueId kept, editor_.add_op("mask", WhereParams{}, {active, outputs[i], otherwise}, "masked"));
    editor_.mark_output(kept);
  }
  return {};
}

}  // namespace ingot
