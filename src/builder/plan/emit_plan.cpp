// Slots are made for values per layout; alias ops share their input's memory; workspaces are planned like tensors.
#include "builder/plan/emit_plan.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <unordered_map>

#include "builder/plan/plan_memory.h"
#include "runtime/plan_validator.h"
#include "runtime/tactic_registry.h"

namespace ingot {
namespace {

std::shared_ptr<const void> aligned_copy(std::span<const std::byte> bytes, std::span<const std::byte>& view) {
  void* memory = std::aligned_alloc(64, (std::max<size_t>(bytes.size(), 1) + 63) / 64 * 64);
  if (!memory) return nullptr;
  if (!bytes.empty()) std::memcpy(memory, bytes.data(), bytes.size());
  view = {static_cast<const std::byte*>(memory), bytes.size()};
  return {memory, [](const void* p) { std::free(const_cast<void*>(p)); }};
}

// Constants of a network and of its bodies, which often capture the same weights: each is copied once.
struct SharedConstants {
  std::vector<std::shared_ptr<const void>> owners;
  std::unordered_map<const Blob*, std::span<const std::byte>> copies;
};

class Emitter {
 public:
  Emitter(const Graph& graph, const Selection& selection, const DeviceInfo& device, const std::atomic<bool>* stop,
          SharedConstants& constants, bool is_body = false)
      : graph_(graph), selection_(selection), device_(device), stop_(stop), constants_(constants), is_body_(is_body) {}

  Expected<EmittedPlan> run() {
    for (ValueId input : graph_.inputs()) emit_input(input);
    for (NodeId id : graph_.topological_order()) {
      if (stop_ && *stop_) return Status(StatusCode::kInterrupted, "build: interrupted while packing weights");
      INGOT_TRY(emit_node(id));
    }
    for (ValueId output : graph_.outputs()) INGOT_TRY(emit_output(output));
    INGOT_TRY(place());
    result_.owned.plan = std::move(plan_);
    return std::move(result_);
  }

 private:
  using Key = std::pair<ValueId, Layout>;

  uint32_t add_slot(ValueId id, Layout layout, Slot::Home home) {
    const Value& value = graph_.value(id);
    Slot slot;
    slot.name = home == Slot::Home::kOutput ? graph_.output_name(id) : value.name;
    slot.type = value.type;
    slot.type.layout = layout;
    slot.max_shape = graph_.largest_shape(id);
    slot.home = home;
    slot.bytes = static_cast<uint64_t>(slot.max_shape.elements()) * element_bytes(slot.type.dtype);
    plan_.slots.push_back(std::move(slot));
    const auto index = static_cast<uint32_t>(plan_.slots.size() - 1);
    slots_[{id, layout}] = index;
    return index;
  }

  uint32_t add_blob(std::span<const std::byte> bytes) {
    std::span<const std::byte> view;
    constants_.owners.push_back(aligned_copy(bytes, view));
    plan_.blobs.push_back(view);
    return static_cast<uint32_t>(plan_.blobs.size() - 1);
  }

  uint32_t add_constant_blob(const std::shared_ptr<const Blob>& constant) {
    const auto [known, is_new] = constants_.copies.try_emplace(constant.get());
    if (!is_new) {
      plan_.blobs.push_back(known->second);
      return static_cast<uint32_t>(plan_.blobs.size() - 1);
    }
    const uint32_t index = add_blob(*constant);
    known->second = plan_.blobs.back();
    return index;
  }

  // Of a network's input; a body's dims are whatever its node gives.
  std::vector<std::string> dim_names(ValueId id) const {
    std::vector<std::string> names;
    for (DimId dim : is_body_ ? std::vector<DimId>() : graph_.value(id).dims) {
      names.push_back(graph_.symbols().constant_value(dim) ? "" : graph_.symbols().text(dim));
      if (names.back().size() > kMaxDimNameBytes) names.back().clear();
    }
    return names;
  }

  void emit_input(ValueId id) {
    const uint32_t slot = add_slot(id, Layout::kLinear, Slot::Home::kInput);
    plan_.inputs.push_back(slot);
    plan_.profile.push_back({slot, graph_.shape_at(id, kProbeMin), graph_.shape_at(id, kProbeOpt), graph_.shape_at(id, kProbeMax), dim_names(id)});
    if (graph_.is_shape_value(id)) plan_.known_inputs.push_back(slot);
  }

  // The slot of a constant; `packed` ones keep their type only.
  uint32_t constant_slot(ValueId id, bool packed) {
    auto& slots = packed ? packed_slots_ : constant_slots_;
    if (const auto known = slots.find(id); known != slots.end()) return known->second;
    const uint32_t slot = add_slot(id, Layout::kLinear, Slot::Home::kConstant);
    slots_.erase({id, Layout::kLinear});
    plan_.slots[slot].offset = packed ? add_blob({}) : add_constant_blob(graph_.value(id).constant);
    return slots[id] = slot;
  }

  Layout made_layout(ValueId id) const {
    const NodeId producer = graph_.value(id).producer;
    const auto choice = producer == kNone ? selection_.nodes.end() : selection_.nodes.find(producer);
    return choice == selection_.nodes.end() ? Layout::kLinear : layout_of(graph_, id, choice->second.chosen.outputs);
  }

  // The slot of a value in a layout, with the step that reformats it where it isn't there yet.
  Expected<uint32_t> slot_in(ValueId id, Layout layout) {
    if (const auto known = slots_.find({id, layout}); known != slots_.end()) return known->second;
    const Layout made = made_layout(id);
    const auto source = slots_.find({id, made});
    if (source == slots_.end() || made == layout)
      return Status(StatusCode::kInternal, "plan: value '" + graph_.value(id).name + "' is used before it is made");
    const auto reformat = selection_.reformats.find({id, layout});
    if (reformat == selection_.reformats.end())
      return Status(StatusCode::kInternal, "plan: value '" + graph_.value(id).name + "' has no reformat");
    const uint32_t from = source->second, to = add_slot(id, layout, Slot::Home::kArena);
    INGOT_TRY(add_step("reformat " + graph_.value(id).name, *reformat->second.tactic,
                       make_reformat(graph_, id, made, layout), {from}, {to}, kNone));
    plan_.steps.back().late = graph_.value(id).late_dims != 0;
    return to;
  }

  Status add_step(std::string name, const Tactic& tactic, const OwnedProblem& problem, std::vector<uint32_t> inputs,
                  std::vector<uint32_t> outputs, NodeId node) {
    const Problem view = problem.view(device_);
    Step step;
    step.name = std::move(name);
    step.tactic = tactic.info().name;
    step.tactic_version = tactic.info().version;
    step.params = problem.params;
    step.inputs = std::move(inputs);
    step.outputs = std::move(outputs);
    step.packed_inputs = tactic.packed_inputs(view);
    INGOT_ASSIGN(const Blob blob, tactic.prepare(view));
    if (!blob.empty()) step.blob = add_blob(blob);
    step.workspace_bytes = tactic.workspace_bytes(view);
    plan_.steps.push_back(std::move(step));
    result_.step_nodes.push_back(node);
    return {};
  }

  Status emit_node(NodeId id) {
    const Node& node = graph_.node(id);
    const bool shape_step = is_shape_node(graph_, node);
    const Tactic* tactic = nullptr;
    Layout in_layout = Layout::kLinear, out_layout = Layout::kLinear;
    if (shape_step) {
      tactic = TacticRegistry::builtin().for_op(node.kind()).back();
    } else {
      const Candidate& chosen = selection_.nodes.at(id).chosen;
      tactic = chosen.tactic;
      in_layout = chosen.inputs;
      out_layout = chosen.outputs;
    }
    const OwnedProblem problem = make_problem(graph_, node, in_layout, out_layout);
    const uint32_t packed = tactic->packed_inputs(problem.view(device_));
    std::vector<uint32_t> inputs, outputs;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId input = node.inputs[i];
      if (input == kNone) {
        inputs.push_back(kNoIndex);
      } else if (graph_.is_constant(input)) {
        inputs.push_back(constant_slot(input, packed >> i & 1));
      } else if (shape_step) {
        // Shape arithmetic reads a tensor's shape, or a value kept in linear layout: any slot of it will do.
        INGOT_ASSIGN(const uint32_t slot, slot_in(input, made_layout(input)));
        inputs.push_back(slot);
      } else {
        INGOT_ASSIGN(const uint32_t slot, slot_in(input, layout_of(graph_, input, in_layout)));
        inputs.push_back(slot);
      }
    }
    for (ValueId output : node.outputs) {
      if (output == kNone)
        return Status(StatusCode::kUnsupported, "node '" + node.name + "': an output before one that is used is left out");
      const Layout layout = layout_of(graph_, output, out_layout);
      // A graph output made in linear layout goes straight into the caller's memory; shape values stay in the arena.
      const bool direct = graph_.value(output).is_output && layout == Layout::kLinear && !shape_step;
      outputs.push_back(add_slot(output, layout, direct ? Slot::Home::kOutput : Slot::Home::kArena));
    }
    INGOT_TRY(add_step(node.name, *tactic, problem, std::move(inputs), std::move(outputs), id));
    plan_.steps.back().shape_step = shape_step;
    plan_.steps.back().late = !shape_step && graph_.is_late(node);
    return node.bodies.empty() ? Status() : emit_bodies(id, node);
  }

  // The plans of a control-flow node's bodies; the step emitted last runs them.
  Status emit_bodies(NodeId id, const Node& node) {
    Step& step = plan_.steps.back();
    for (size_t k = 0; k < node.bodies.size(); ++k) {
      Expected<EmittedPlan> body = Emitter(node.bodies[k], selection_.bodies.at(id)[k], device_, stop_, constants_, true).run();
      if (!body.ok()) return body.take_status().with_context("body of node '" + node.name + "'");
      step.bodies.push_back(static_cast<uint32_t>(plan_.bodies.size()));
      plan_.bodies.push_back(std::move(body->owned.plan));
      result_.bodies.push_back(*std::move(body));
    }
    step.workspace_bytes = body_workspace_bytes(plan_, step);
    return {};
  }

  // Copies what no step writes into bound memory: constants, inputs, shape values, channels-last results.
  Status emit_output(ValueId id) {
    const auto direct = slots_.find({id, Layout::kLinear});
    if (direct != slots_.end() && plan_.slots[direct->second].home == Slot::Home::kOutput &&
        std::find(plan_.outputs.begin(), plan_.outputs.end(), direct->second) == plan_.outputs.end()) {
      plan_.outputs.push_back(direct->second);
      return {};
    }
    uint32_t from;
    Layout layout = Layout::kLinear;
    const Tactic* tactic = TacticRegistry::builtin().for_op(OpKind::kIdentity, device_.backend).back();
    if (graph_.is_constant(id)) {
      from = constant_slot(id, false);
    } else {
      layout = made_layout(id);
      if (direct == slots_.end()) {
        INGOT_ASSIGN(from, slot_in(id, layout));
        if (const auto reformat = selection_.reformats.find({id, Layout::kLinear}); reformat != selection_.reformats.end())
          tactic = reformat->second.tactic;
      } else {
        layout = Layout::kLinear;
        from = direct->second;
      }
    }
    const auto kept = slots_.find({id, Layout::kLinear});
    const uint32_t kept_slot = kept == slots_.end() ? kNoIndex : kept->second;
    const uint32_t to = add_slot(id, Layout::kLinear, Slot::Home::kOutput);
    if (kept_slot != kNoIndex) slots_[{id, Layout::kLinear}] = kept_slot;
    plan_.outputs.push_back(to);
    INGOT_TRY(add_step("copy " + graph_.value(id).name, *tactic, make_reformat(graph_, id, layout, Layout::kLinear), {from}, {to}, kNone));
    plan_.steps.back().late = graph_.value(id).late_dims != 0;
    return {};
  }

  // Slots that share memory because a step only relabels them.
  uint32_t root(uint32_t slot) const {
    while (alias_[slot] != slot) slot = alias_[slot];
    return slot;
  }

  void find_aliases() {
    alias_.resize(plan_.slots.size());
    for (uint32_t i = 0; i < alias_.size(); ++i) alias_[i] = i;
    for (const Step& step : plan_.steps) {
      if (step.shape_step || !is_alias_op(kind_of(step.params))) continue;
      const uint32_t from = step.inputs[0], to = step.outputs[0];
      const Slot &source = plan_.slots[from], &target = plan_.slots[to];
      const bool same_order = source.type.layout == target.type.layout &&
                              (source.type.layout == Layout::kLinear || kind_of(step.params) == OpKind::kIdentity);
      if (same_order && source.home == Slot::Home::kArena && target.home == Slot::Home::kArena &&
          !is_shape_slot_[from] && source.type.dtype == target.type.dtype)
        alias_[to] = root(from);
    }
  }

  Status place() {
    is_shape_slot_.assign(plan_.slots.size(), false);
    for (const Step& step : plan_.steps)
      if (step.shape_step)
        for (uint32_t output : step.outputs)
          if (output != kNoIndex) is_shape_slot_[output] = true;
    find_aliases();

    const auto last_step = static_cast<uint32_t>(plan_.steps.empty() ? 0 : plan_.steps.size() - 1);
    std::vector<Lifetime> blocks;
    std::vector<uint32_t> block_of(plan_.slots.size(), kNoIndex);
    const auto touch = [&](uint32_t slot, uint32_t step, bool is_write) {
      if (slot == kNoIndex || plan_.slots[slot].home != Slot::Home::kArena) return;
      const uint32_t owner = root(slot);
      if (block_of[owner] == kNoIndex) {
        block_of[owner] = static_cast<uint32_t>(blocks.size());
        blocks.push_back({0, step, step, 0});
        if (is_shape_slot_[slot]) blocks.back().first = 0, blocks.back().last = last_step;
      }
      Lifetime& block = blocks[block_of[owner]];
      block.bytes = std::max(block.bytes, plan_.slots[slot].bytes);
      block.last = std::max(block.last, step);
      (void)is_write;
    };
    std::vector<uint32_t> workspace_block(plan_.steps.size(), kNoIndex);
    for (uint32_t i = 0; i < plan_.steps.size(); ++i) {
      const Step& step = plan_.steps[i];
      // Shape arithmetic runs before all steps and reads only shapes of ordinary tensors: it keeps none of them alive.
      if (!step.shape_step)
        for (uint32_t input : step.inputs) touch(input, i, false);
      for (uint32_t output : step.outputs) touch(output, i, true);
      if (step.workspace_bytes > 0 && !step.shape_step) {
        workspace_block[i] = static_cast<uint32_t>(blocks.size());
        blocks.push_back({step.workspace_bytes, i, i, 0});
      }
    }
    plan_.arena_bytes = plan_memory(blocks);
    result_.peak_live_bytes = ingot::peak_live_bytes(blocks);
    for (uint32_t slot = 0; slot < plan_.slots.size(); ++slot)
      if (plan_.slots[slot].home == Slot::Home::kArena && block_of[root(slot)] != kNoIndex)
        plan_.slots[slot].offset = blocks[block_of[root(slot)]].offset;
    for (uint32_t i = 0; i < plan_.steps.size(); ++i) {
      if (workspace_block[i] != kNoIndex) plan_.steps[i].workspace_offset = blocks[workspace_block[i]].offset;
      else plan_.steps[i].workspace_bytes = 0;
    }
    return {};
  }

  const Graph& graph_;
  const Selection& selection_;
  const DeviceInfo& device_;
  const std::atomic<bool>* stop_;
  SharedConstants& constants_;
  const bool is_body_;
  Plan plan_;
  EmittedPlan result_;
  std::map<Key, uint32_t> slots_;
  std::map<ValueId, uint32_t> constant_slots_, packed_slots_;
  std::vector<uint32_t> alias_;
  std::vector<bool> is_shape_slot_;
};

}  // namespace

Expected<EmittedPlan> emit_plan(const Graph& graph, const Selection& selection, const DeviceInfo& device,
                                const std::atomic<bool>* stop) {
  SharedConstants constants;
  INGOT_ASSIGN(EmittedPlan emitted, Emitter(graph, selection, device, stop, constants).run());
  emitted.owned.owners = std::move(constants.owners);
  Plan& plan = emitted.owned.plan;
  plan.target = device.backend == Backend::kCpu ? "cpu-x86-64" : "cuda-sm_" + std::to_string(device.cuda_capability);
  plan.device_fingerprint = device.fingerprint;
  plan.model_hash = graph.model_hash();
  return emitted;
}

}  // namespace ingot
