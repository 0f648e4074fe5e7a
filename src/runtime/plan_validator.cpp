// Tables first, then steps in order, then memory, then the type rules at the corners of the profile.
#include "runtime/plan_validator.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "runtime/arena.h"
#include "runtime/shape_pass.h"

namespace ingot {
namespace {

// Bounds the time that shape steps take, and the memory that their results need while a plan is checked.
constexpr uint64_t kMaxShapeStepBytes = uint64_t{64} << 20;
constexpr size_t kMaxOperands = 1 << 12;

class Validator {
 public:
  // depth: 0 for a whole network, 1 for the bodies of its steps … shape_step_bytes: counted over all of them.
  Validator(const Plan& plan, int depth, uint64_t& shape_step_bytes)
      : plan_(plan), depth_(depth), produced_by_(plan.slots.size(), kNobody), shape_step_bytes_(shape_step_bytes) {}

  Status run() {
    if (plan_.arena_bytes > kMaxArenaBytes) return bad("arena", "got " + std::to_string(plan_.arena_bytes) + " bytes, need ≤ " + std::to_string(kMaxArenaBytes) + "; build with a smaller --profile");
    for (const auto blob : plan_.blobs)
      if (reinterpret_cast<uintptr_t>(blob.data()) % kArenaAlignment != 0 && !blob.empty()) return bad("blob", "not 64-byte aligned");
    for (const Slot& slot : plan_.slots) INGOT_TRY(check_slot(slot));
    INGOT_TRY(check_bindings());
    INGOT_TRY(check_profile());
    is_known_input_.resize(plan_.slots.size());
    for (uint32_t slot : plan_.known_inputs) {
      if (depth_ == 0 || slot >= plan_.slots.size() || plan_.slots[slot].home != Slot::Home::kInput) return bad("known inputs", "one is no input of a body");
      is_known_input_[slot] = true;
    }
    std::vector<bool> owned(plan_.bodies.size());
    for (size_t i = 0; i < plan_.steps.size(); ++i) {
      INGOT_TRY(check_step(i));
      for (uint32_t body : plan_.steps[i].bodies) {
        if (owned[body]) return bad("step '" + plan_.steps[i].name + "'", "shares a body with another");
        owned[body] = true;
      }
    }
    if (std::find(owned.begin(), owned.end(), false) != owned.end()) return bad("bodies", "one belongs to no step");
    for (uint32_t slot : plan_.outputs)
      if (produced_by_[slot] < 0) return bad("output '" + plan_.slots[slot].name + "'", "no step computes it");
    INGOT_TRY(check_memory());
    return depth_ == 0 ? check_types() : Status();
  }

 private:
  static constexpr int64_t kNobody = -2, kGiven = -1;

  static Status bad(const std::string& where, const std::string& what) {
    return Status(StatusCode::kInvalidEngine, "plan: " + where + ": " + what);
  }
  static std::string name_of(const Slot& slot) { return "tensor '" + slot.name + "'"; }

  Status check_slot(const Slot& slot);
  Status check_quant(const Slot& slot);
  Status check_bindings();
  Status check_profile();
  Status check_step(size_t index);
  Status check_shape_step(const Step& step);
  Status check_late_step(const Step& step) const;
  Status check_control_flow(const Step& step);
  Status check_memory();
  Status check_types();

  const Plan& plan_;
  const int depth_;
  std::vector<int64_t> produced_by_;  // step, kGiven or kNobody
  std::vector<bool> is_known_input_;
  uint64_t& shape_step_bytes_;
};

std::optional<uint64_t> checked_bytes(const Shape& shape, DataType dtype) {
  const std::optional<int64_t> count = checked_elements(shape.span());
  if (!count) return std::nullopt;
  // Dims of an empty tensor are bounded as well: rules add and multiply them.
  for (int64_t dim : shape.span())
    if (static_cast<uint64_t>(dim) > kMaxArenaBytes) return std::nullopt;
  const uint64_t bytes = static_cast<uint64_t>(*count) * element_bytes(dtype);
  return bytes <= kMaxArenaBytes ? std::optional(bytes) : std::nullopt;
}

Status Validator::check_slot(const Slot& slot) {
  const std::string where = name_of(slot);
  const TensorType& type = slot.type;
  if (static_cast<int>(type.dtype) >= kDataTypeCount || static_cast<int>(type.layout) > static_cast<int>(Layout::kChannelsLast) ||
      static_cast<int>(slot.home) > static_cast<int>(Slot::Home::kArena))
    return bad(where, "unknown element type, layout or home");
  if (type.shape.rank < 0 || type.shape.rank > Shape::kMaxRank || type.shape.rank != slot.max_shape.rank)
    return bad(where, "rank of shape and largest shape differ or are out of range");
  const std::optional<uint64_t> bytes = checked_bytes(slot.max_shape, type.dtype);
  if (!bytes) return bad(where, "largest shape " + to_string(slot.max_shape) + " is negative or too large");
  for (int i = 0; i < type.shape.rank; ++i)
    if (type.shape[i] != Shape::kDynamic && type.shape[i] != slot.max_shape[i])
      return bad(where, "dim " + std::to_string(i) + ": got " + std::to_string(type.shape[i]) + ", need " + std::to_string(slot.max_shape[i]));
  if (slot.bytes < *bytes || slot.bytes > kMaxArenaBytes)
    return bad(where, "size: got " + std::to_string(slot.bytes) + " bytes, need " + std::to_string(*bytes));
  if (type.layout == Layout::kChannelsLast && type.shape.rank < 3) return bad(where, "channels last needs rank 3 or more");
  if (slot.home != Slot::Home::kArena && type.layout != Layout::kLinear)
    return bad(where, "only tensors in the arena may have another layout than linear");
  if (slot.home == Slot::Home::kArena &&
      (slot.offset % kArenaAlignment != 0 || slot.offset > plan_.arena_bytes || slot.bytes > plan_.arena_bytes - slot.offset))
    return bad(where, "lies outside the arena or is not 64-byte aligned");
  if (slot.home == Slot::Home::kConstant) {
    if (!type.shape.is_static()) return bad(where, "a constant has a varying shape");
    if (slot.offset != kNoIndex) {
      if (slot.offset >= plan_.blobs.size()) return bad(where, "its blob does not exist");
      const size_t size = plan_.blobs[slot.offset].size();
      if (size != 0 && size < *bytes)
        return bad(where, "blob size: got " + std::to_string(size) + " bytes, need " + std::to_string(*bytes));
    }
  }
  return check_quant(slot);
}

Status Validator::check_quant(const Slot& slot) {
  if (!slot.type.quant) return {};
  const QuantParams& quant = *slot.type.quant;
  const Shape& shape = slot.type.shape;
  int64_t low = 0, high = 0;  // of the zero point
  switch (slot.type.dtype) {
    case DataType::kU8: high = 255; break;
    case DataType::kS8: low = -128, high = 127; break;
    case DataType::kU16: high = 65535; break;
    case DataType::kS16: low = -32768, high = 32767; break;
    case DataType::kU4: high = 15; break;
    case DataType::kS4: low = -8, high = 7; break;
    case DataType::kU2: high = 3; break;
    case DataType::kS2: low = -2, high = 1; break;
    case DataType::kS32: break;
    default: return bad(name_of(slot), "element type " + std::string(to_string(slot.type.dtype)) + " cannot be quantised");
  }
  if (quant.axis < -1 || quant.axis >= shape.rank) return bad(name_of(slot), "quantisation axis out of range");
  const int64_t need = quant.axis < 0 ? 1 : shape[quant.axis];
  if (static_cast<int64_t>(quant.scales.size()) != need || quant.zero_points.size() != quant.scales.size())
    return bad(name_of(slot), "scales: got " + std::to_string(quant.scales.size()) + " and " + std::to_string(quant.zero_points.size()) +
                                  " zero points, need " + std::to_string(need));
  for (float scale : quant.scales)
    if (!std::isfinite(scale) || scale <= 0) return bad(name_of(slot), "a scale is not a finite number above 0");
  for (int32_t zero_point : quant.zero_points)
    if (zero_point < low || zero_point > high) return bad(name_of(slot), "zero point " + std::to_string(zero_point) + " is out of range");
  return {};
}

Status Validator::check_bindings() {
  if (plan_.inputs.size() > kMaxOperands || plan_.outputs.size() > kMaxOperands)
    return bad("inputs and outputs", "more than " + std::to_string(kMaxOperands));
  for (const auto& [list, home] : {std::pair(&plan_.inputs, Slot::Home::kInput), {&plan_.outputs, Slot::Home::kOutput}}) {
    std::unordered_set<std::string_view> names;  // an input that goes out again has its name twice
    for (uint32_t slot : *list) {
      if (slot >= plan_.slots.size()) return bad("inputs and outputs", "a tensor does not exist");
      if (plan_.slots[slot].home != home) return bad(name_of(plan_.slots[slot]), "its home is not that of an input or output");
      if (depth_ == 0 && !names.insert(plan_.slots[slot].name).second) return bad(name_of(plan_.slots[slot]), std::string("name of two ") + (home == Slot::Home::kInput ? "inputs" : "outputs"));
    }
  }
  for (uint32_t slot : plan_.inputs) produced_by_[slot] = kGiven;
  std::vector<bool> is_output(plan_.slots.size());
  for (uint32_t slot : plan_.outputs) is_output[slot] = true;
  for (size_t i = 0; i < plan_.slots.size(); ++i) {
    const Slot& slot = plan_.slots[i];
    if (slot.home == Slot::Home::kConstant) produced_by_[i] = kGiven;
    if ((slot.home == Slot::Home::kInput && produced_by_[i] != kGiven) || (slot.home == Slot::Home::kOutput && !is_output[i]))
      return bad(name_of(slot), "has the home of an input or output, but is none");
  }
  return {};
}

Status Validator::check_profile() {
  if (plan_.profile.size() != plan_.inputs.size()) return bad("profile", "needs one entry for each input");
  std::unordered_set<uint32_t> seen;
  std::map<std::string_view, std::array<int64_t, 3>> ranges;  // by name
  for (const ProfileEntry& entry : plan_.profile) {
    if (entry.slot >= plan_.slots.size() || plan_.slots[entry.slot].home != Slot::Home::kInput || !seen.insert(entry.slot).second)
      return bad("profile", "an entry names no input, or one twice");
    const Slot& slot = plan_.slots[entry.slot];
    const Shape& shape = slot.type.shape;
    if (entry.min.rank != shape.rank || entry.opt.rank != shape.rank || !(entry.max == slot.max_shape))
      return bad(name_of(slot), "profile does not match its shape");
    for (int i = 0; i < shape.rank; ++i) {
      const bool varies = shape[i] == Shape::kDynamic;
      const bool ordered = entry.min[i] <= entry.opt[i] && entry.opt[i] <= entry.max[i];
      if (!ordered || (varies ? entry.min[i] < 0 : entry.min[i] != shape[i] || entry.max[i] != shape[i]))
        return bad(name_of(slot), "profile of dim " + std::to_string(i) + ": need 0 ≤ min ≤ opt ≤ max, and the dim itself where fixed");
    }
    if (entry.dim_names.empty()) continue;
    if (depth_ != 0 || entry.dim_names.size() != static_cast<size_t>(shape.rank)) return bad(name_of(slot), "names of dims: need one for each dim of an input");
    for (int i = 0; i < shape.rank; ++i) {
      const std::string& dim_name = entry.dim_names[static_cast<size_t>(i)];
      if (dim_name.size() > kMaxDimNameBytes || (!dim_name.empty() && shape[i] != Shape::kDynamic)) return bad(name_of(slot), "name of dim " + std::to_string(i) + ": too long, or of a fixed dim");
      const std::array<int64_t, 3> range{entry.min[i], entry.opt[i], entry.max[i]};
      if (!dim_name.empty() && ranges.emplace(dim_name, range).first->second != range) return bad(name_of(slot), "name of dim " + std::to_string(i) + ": another dim of that name has another range");
    }
  }
  return {};
}

Status Validator::check_step(size_t index) {
  const Step& step = plan_.steps[index];
  const std::string where = "step '" + step.name + "'";
  if (kind_of(step.params) >= OpKind::kCount) return bad(where, "has no op");
  if (step.inputs.size() > kMaxOperands || step.outputs.empty() || step.outputs.size() > kMaxOperands)
    return bad(where, "number of inputs or outputs is out of range");
  if (step.blob != kNoIndex && step.blob >= plan_.blobs.size()) return bad(where, "its blob does not exist");
  if (step.workspace_bytes != 0 &&
      (step.workspace_offset % kArenaAlignment != 0 || step.workspace_offset > plan_.arena_bytes ||
       step.workspace_bytes > plan_.arena_bytes - step.workspace_offset))
    return bad(where, "workspace lies outside the arena or is not 64-byte aligned");
  for (size_t i = 0; i < step.inputs.size(); ++i) {
    const uint32_t id = step.inputs[i];
    const bool is_packed = i < 32 && (step.packed_inputs >> i & 1) != 0;
    if (id == kNoIndex) continue;
    if (id >= plan_.slots.size()) return bad(where, "input " + std::to_string(i) + " does not exist");
    const Slot& slot = plan_.slots[id];
    if (produced_by_[id] == kNobody) return bad(where, "input '" + slot.name + "' is not computed before it");
    if (slot.home != Slot::Home::kConstant) {
      if (is_packed) return bad(where, "packed input '" + slot.name + "' is no constant");
    } else if (!is_packed && (slot.offset >= plan_.blobs.size() || plan_.blobs[slot.offset].empty()) && slot.bytes != 0) {
      return bad(where, "constant '" + slot.name + "' is not in the file");
    }
  }
  bool has_output = false;
  for (uint32_t id : step.outputs) {
    if (id == kNoIndex) continue;
    has_output = true;
    if (id >= plan_.slots.size()) return bad(where, "an output does not exist");
    const Slot& slot = plan_.slots[id];
    if (slot.home != Slot::Home::kArena && slot.home != Slot::Home::kOutput) return bad(where, "writes to input or constant '" + slot.name + "'");
    if (produced_by_[id] != kNobody) return bad(where, "output '" + slot.name + "' is computed twice");
    produced_by_[id] = static_cast<int64_t>(index);
  }
  if (!has_output) return bad(where, "has no output");
  INGOT_TRY(check_late_step(step));
  if (is_control_flow(kind_of(step.params))) return check_control_flow(step);
  if (!step.bodies.empty()) return bad(where, "has bodies, which its op does not take");
  return step.shape_step ? check_shape_step(step) : Status();
}

// What a late step gives has no shape before the run, so its readers are late too.
Status Validator::check_late_step(const Step& step) const {
  if (step.late && step.shape_step) return bad("step '" + step.name + "'", "is both late and shape arithmetic");
  for (uint32_t id : step.inputs) {
    if (step.late || id == kNoIndex || produced_by_[id] < 0 || plan_.slots[id].type.shape.is_static()) continue;
    if (plan_.steps[static_cast<size_t>(produced_by_[id])].late)
      return bad("step '" + step.name + "'", "reads '" + plan_.slots[id].name + "', whose shape is known late, but is not late itself");
  }
  return {};
}

Status Validator::check_shape_step(const Step& step) {
  const std::string where = "step '" + step.name + "'";
  const OpKind op = kind_of(step.params);
  if (!is_shape_arithmetic(op)) return bad(where, std::string(to_string(op)) + " is no shape arithmetic");
  if (step.packed_inputs != 0 || step.blob != kNoIndex) return bad(where, "shape arithmetic has no packed constants");
  const auto add = [&](const Slot& slot) {
    shape_step_bytes_ += slot.bytes;
    return slot.type.layout == Layout::kLinear && shape_step_bytes_ <= kMaxShapeStepBytes;
  };
  for (uint32_t id : step.inputs) {
    if (id == kNoIndex || op == OpKind::kShape) continue;
    const int64_t producer = produced_by_[id];
    const bool known = plan_.slots[id].home == Slot::Home::kConstant || is_known_input_[id] ||
                       (producer >= 0 && plan_.steps[static_cast<size_t>(producer)].shape_step);
    if (!known)
      return Status(StatusCode::kUnsupported, "plan: " + where + ": shape arithmetic reads '" + plan_.slots[id].name +
                                                  "', which is known only at run time");
    if (!add(plan_.slots[id])) return bad(where, "shape arithmetic on too much data, or not row-major");
  }
  for (uint32_t id : step.outputs) {
    if (id == kNoIndex) continue;
    if (plan_.slots[id].home != Slot::Home::kArena) return bad(where, "shape arithmetic must stay in the arena");
    if (!add(plan_.slots[id])) return bad(where, "shape arithmetic on too much data, or not row-major");
  }
  return {};
}

Status Validator::check_control_flow(const Step& step) {
  const std::string where = "step '" + step.name + "'";
  if (step.shape_step || step.packed_inputs != 0 || step.blob != kNoIndex) return bad(where, "control flow packs nothing and is no shape arithmetic");
  if (depth_ == kMaxBodyDepth) return bad(where, "bodies within bodies: need at most " + std::to_string(kMaxBodyDepth) + " levels");
  if (step.bodies.size() != body_count(kind_of(step.params))) return bad(where, "number of bodies");
  const auto* loop = std::get_if<LoopParams>(&step.params);
  std::vector<OpInput> inputs;
  for (uint32_t id : step.inputs) {
    inputs.emplace_back();
    if (id == kNoIndex) continue;
    // Shapes are checked at the corners of the profile; here any will do that has the right rank.
    inputs.back() = {plan_.slots[id].type.dtype, plan_.slots[id].max_shape, nullptr, true};
    if (plan_.slots[id].type.layout != Layout::kLinear) return bad(where, "an operand of control flow is not row-major");
  }
  for (uint32_t id : step.outputs)
    if (id == kNoIndex || plan_.slots[id].type.layout != Layout::kLinear) return bad(where, "an output of control flow is left out or not row-major");
  for (uint32_t index : step.bodies) {
    if (index >= plan_.bodies.size()) return bad(where, "a body does not exist");
    const Plan& body = plan_.bodies[index];
    if (Status status = check_body_arity(step.params, step.inputs.size(), step.outputs.size(), body.inputs.size(), body.outputs.size()); !status.ok())
      return bad(where, std::string(status.message()));
    if (Status status = Validator(body, depth_ + 1, shape_step_bytes_).run(); !status.ok())
      return std::move(status).with_context(where);
    std::vector<OpInput> taken(body.inputs.size());
    if (Status status = infer_body_inputs(step.params, inputs, taken); !status.ok()) return bad(where, std::string(status.message()));
    for (size_t i = 0; i < taken.size(); ++i)
      if (!taken[i].present || taken[i].dtype != body.slots[body.inputs[i]].type.dtype)
        return bad(where, "input " + std::to_string(i) + " of a body has another type than it is given");
    for (const Step& inner : body.steps)
      for (uint32_t id : body.outputs)
        if (!step.late && inner.late && !body.slots[id].type.shape.is_static() &&
            std::find(inner.outputs.begin(), inner.outputs.end(), id) != inner.outputs.end())
          return bad(where, "a body makes '" + body.slots[id].name + "', whose shape is known late, but the step is not late itself");
    const size_t own = body.outputs.size() - step.outputs.size();  // the next condition is the body's alone
    for (size_t i = 0; i < step.outputs.size(); ++i) {
      const Slot &made = body.slots[body.outputs[own + i]], &kept = plan_.slots[step.outputs[i]];
      const bool stacked = loop && i >= static_cast<size_t>(loop->states);  // only an element of it, checked at each run
      if (made.type.dtype != kept.type.dtype || (!stacked && made.bytes > kept.bytes))
        return bad(where, "output " + std::to_string(i) + " of a body is larger or of another type than the step's");
    }
    if (own != 0 && body.slots[body.outputs[0]].bytes != 1) return bad(where, "the condition that the body makes is not one element");
  }
  if (step.workspace_bytes < body_workspace_bytes(plan_, step)) return bad(where, "its workspace cannot hold its bodies");
  return {};
}

// Sweeps through the steps with the set of ranges that are alive, which must never overlap. Tensors joined by alias steps
// count as one, alive from the first one's birth to the last one's death.
Status Validator::check_memory() {
  struct Block {
    uint64_t begin = 0, end = 0;
    size_t first = 0, last = 0;  // steps
    uint32_t slot = 0;
  };
  std::vector<Block> blocks;
  std::vector<uint32_t> block_of(plan_.slots.size(), kNoIndex);
  const size_t step_count = plan_.steps.size();
  for (size_t i = 0; i < step_count; ++i) {
    const Step& step = plan_.steps[i];
    // Shape steps run ahead of all others and read only the shape of ordinary tensors: they keep none alive.
    for (uint32_t id : step.inputs)
      if (!step.shape_step && id != kNoIndex && block_of[id] != kNoIndex) blocks[block_of[id]].last = std::max(blocks[block_of[id]].last, i);
    const bool alias = is_alias_step(plan_, step);
    for (uint32_t id : step.outputs) {
      if (id == kNoIndex || plan_.slots[id].home != Slot::Home::kArena) continue;
      const Slot& slot = plan_.slots[id];
      if (alias) {
        block_of[id] = block_of[step.inputs[0]];
        Block& block = blocks[block_of[id]];
        block.end = std::max(block.end, slot.offset + slot.bytes);
      } else {
        block_of[id] = static_cast<uint32_t>(blocks.size());
        blocks.push_back({slot.offset, slot.offset + slot.bytes, i, i, id});
      }
      if (step.shape_step) {  // written before the first step, kept for good
        blocks[block_of[id]].first = 0;
        blocks[block_of[id]].last = step_count;
      }
    }
  }
  std::vector<std::vector<uint32_t>> born(step_count), dead(step_count + 1);
  for (uint32_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i].begin == blocks[i].end) continue;
    born[blocks[i].first].push_back(i);
    dead[blocks[i].last].push_back(i);
  }
  struct Range {
    uint64_t end;
    const std::string* name;
  };
  std::map<uint64_t, Range> alive;
  const auto insert = [&](uint64_t begin, uint64_t end, const std::string& name) -> const std::string* {
    const auto next = alive.lower_bound(begin);
    if (next != alive.end() && next->first < end) return next->second.name;
    if (next != alive.begin() && std::prev(next)->second.end > begin) return std::prev(next)->second.name;
    alive.emplace_hint(next, begin, Range{end, &name});
    return nullptr;
  };
  for (size_t i = 0; i < step_count; ++i) {
    const Step& step = plan_.steps[i];
    for (uint32_t b : born[i]) {
      const std::string& name = plan_.slots[blocks[b].slot].name;
      if (const std::string* other = insert(blocks[b].begin, blocks[b].end, name))
        return bad("step '" + step.name + "'", "tensors '" + name + "' and '" + *other + "' share memory");
    }
    if (step.workspace_bytes != 0) {
      if (const std::string* other = insert(step.workspace_offset, step.workspace_offset + step.workspace_bytes, step.name))
        return bad("step '" + step.name + "'", "its workspace shares memory with tensor '" + *other + "'");
      alive.erase(step.workspace_offset);
    }
    for (uint32_t b : dead[i]) alive.erase(blocks[b].begin);
  }
  return {};
}

Status Validator::check_types() {
  std::vector<std::unique_ptr<std::byte[]>> scratch;
  ShapePass pass(plan_, [&](const Plan& plan, uint32_t slot) -> void* {
    return scratch.emplace_back(new std::byte[plan.slots[slot].bytes + 1]()).get();
  });
  for (const Shape ProfileEntry::*corner : {&ProfileEntry::min, &ProfileEntry::opt, &ProfileEntry::max}) {
    for (const ProfileEntry& entry : plan_.profile) pass.set_input_shape(entry.slot, entry.*corner);
    Status status = pass.run();
    if (!status.ok()) {
      const StatusCode code = status.code() == StatusCode::kUnsupported ? StatusCode::kUnsupported : StatusCode::kInvalidEngine;
      return Status(code, "plan: " + std::string(status.message()));
    }
  }
  if (Status status = pass.check_late_steps(); !status.ok())
    return Status(StatusCode::kInvalidEngine, "plan: " + std::string(status.message()));
  return {};
}

}  // namespace

bool is_alias_step(const Plan& plan, const Step& step) {
  const OpKind op = kind_of(step.params);
  if (!is_alias_op(op) || step.inputs.empty() || step.inputs[0] == kNoIndex || step.outputs.size() != 1 ||
      step.outputs[0] == kNoIndex)
    return false;
  const Slot& in = plan.slots[step.inputs[0]];
  const Slot& out = plan.slots[step.outputs[0]];
  return in.home == Slot::Home::kArena && out.home == Slot::Home::kArena && in.offset == out.offset &&
         in.type.dtype == out.type.dtype && in.type.layout == out.type.layout &&
         (in.type.layout == Layout::kLinear || op == OpKind::kIdentity);
}

uint64_t body_workspace_bytes(const Plan& plan, const Step& step, std::vector<uint64_t>* state_offsets) {
  uint64_t bytes = 0;
  for (uint32_t index : step.bodies) bytes = std::max(bytes, align_up(plan.bodies[index].arena_bytes));
  const auto* loop = std::get_if<LoopParams>(&step.params);
  for (size_t i = 0; loop && i < static_cast<size_t>(loop->states); ++i) {
    if (state_offsets) state_offsets->push_back(bytes);
    bytes += align_up(plan.slots[step.outputs[i]].bytes);
  }
  return bytes;
}

Status validate_plan(const Plan& plan) {
  uint64_t shape_step_bytes = 0;
  return Validator(plan, 0, shape_step_bytes).run();
}

Status validate_same_network(const Plan& first, const Plan& other) {
  const auto bad = [](const std::string& what, const std::string& got, const std::string& need) {
    return Status(StatusCode::kInvalidEngine, "plan: " + what + ": got " + got + ", need " + need + " as the first profile's plan has");
  };
  if (other.target != first.target) return bad("target", "'" + other.target + "'", "'" + first.target + "'");
  if (other.model_hash != first.model_hash) return bad("model", other.model_hash, first.model_hash);
  for (const bool is_input : {true, false}) {
    const std::vector<uint32_t>& want = is_input ? first.inputs : first.outputs;
    const std::vector<uint32_t>& have = is_input ? other.inputs : other.outputs;
    if (have.size() != want.size()) return bad(is_input ? "number of inputs" : "number of outputs", std::to_string(have.size()), std::to_string(want.size()));
    for (size_t i = 0; i < want.size(); ++i) {
      const Slot& a = first.slots[want[i]];
      const Slot& b = other.slots[have[i]];
      const std::string where = (is_input ? "input '" : "output '") + a.name + "'";
      if (b.name != a.name) return bad(where, "'" + b.name + "'", "'" + a.name + "'");
      if (b.type.dtype != a.type.dtype || !(b.type.quant == a.type.quant))
        return bad(where + " type", std::string(to_string(b.type.dtype)), std::string(to_string(a.type.dtype)));
      if (b.max_shape.rank != a.max_shape.rank)
        return bad(where + " rank", std::to_string(b.max_shape.rank), std::to_string(a.max_shape.rank));
    }
  }
  return {};
}

}  // namespace ingot
