// The verifier that FlatBuffers generates checks bounds; this file adds what it does not: counts, ranks, names of ops, and a
// budget, because hostile bytes may refer to one long vector from a million places.
#include "runtime/format/plan_codec.h"

#include <string>

#include "runtime/format/plan_generated.h"

namespace ingot {
namespace {

namespace fb = flatbuffers;
using fb::FlatBufferBuilder;
using fb::Offset;

Status bad(std::string what) { return Status(StatusCode::kInvalidEngine, "plan: " + std::move(what)); }

Offset<fb::Vector<int64_t>> write_shape(FlatBufferBuilder& builder, const Shape& shape) {
  return builder.CreateVector(shape.dims.data(), static_cast<size_t>(shape.rank));
}

Offset<format::Slot> write_slot(FlatBufferBuilder& builder, const Slot& slot) {
  Offset<format::Quant> quant;
  if (slot.type.quant) {
    const QuantParams& q = *slot.type.quant;
    const auto scales = builder.CreateVector(q.scales);
    const auto zero_points = builder.CreateVector(q.zero_points);
    quant = format::CreateQuant(builder, scales, zero_points, q.axis, q.trained);
  }
  const auto name = builder.CreateString(slot.name);
  const auto shape = write_shape(builder, slot.type.shape), max_shape = write_shape(builder, slot.max_shape);
  return format::CreateSlot(builder, name, static_cast<uint8_t>(slot.type.dtype), static_cast<uint8_t>(slot.type.layout),
                            static_cast<uint8_t>(slot.home), shape, max_shape, quant, slot.offset, slot.bytes);
}

Offset<format::Field> write_field(FlatBufferBuilder& builder, const Field& field) {
  const auto name = builder.CreateString(field.name);
  const FieldValue& value = field.value;
  Offset<fb::String> text;
  Offset<fb::Vector<int64_t>> integers;
  Offset<fb::Vector<double>> numbers;
  if (const auto* v = std::get_if<std::string>(&value)) text = builder.CreateString(*v);
  if (const auto* v = std::get_if<std::vector<int64_t>>(&value)) integers = builder.CreateVector(*v);
  if (const auto* v = std::get_if<std::vector<double>>(&value)) numbers = builder.CreateVector(*v);
  const auto* integer = std::get_if<int64_t>(&value);
  const auto* number = std::get_if<double>(&value);
  // The order of FieldKind is that of FieldValue.
  return format::CreateField(builder, name, static_cast<format::FieldKind>(value.index()), integer ? *integer : 0,
                             number ? *number : 0.0, text, integers, numbers);
}

Offset<format::Step> write_step(FlatBufferBuilder& builder, const Step& step) {
  const OpKind op = kind_of(step.params);
  const std::vector<Field> all = fields_of(step.params), defaults = fields_of(default_params(op));
  std::vector<Offset<format::Field>> fields;
  for (size_t i = 0; i < all.size(); ++i)
    if (!(all[i] == defaults[i])) fields.push_back(write_field(builder, all[i]));
  const auto name = builder.CreateString(step.name);
  const auto op_name = builder.CreateString(std::string(to_string(op)));
  const auto field_list = builder.CreateVector(fields);
  const auto tactic = builder.CreateString(step.tactic);
  const auto inputs = builder.CreateVector(step.inputs);
  const auto outputs = builder.CreateVector(step.outputs);
  const auto bodies = step.bodies.empty() ? Offset<fb::Vector<uint32_t>>() : builder.CreateVector(step.bodies);
  return format::CreateStep(builder, name, op_name, field_list, tactic, step.tactic_version, inputs, outputs,
                            step.packed_inputs, step.blob, step.workspace_offset, step.workspace_bytes,
                            step.shape_step, step.late, bodies);
}

// The verifier checks where a vector's length lies, but not its elements.
template <class T, class Vector>
bool aligned(const Vector* vector) {
  return vector->size() == 0 || reinterpret_cast<uintptr_t>(vector->Data()) % alignof(T) == 0;
}

// Every element of a vector or string takes at least one byte of the buffer, unless it is referred to twice.
class Reader {
 public:
  explicit Reader(size_t budget) : budget_(budget) {}

  bool text(const fb::String* from, std::string& to) {
    if (!from) return true;
    if (!spend(from->size())) return false;
    to.assign(from->c_str(), from->size());
    return true;
  }
  template <class T, class U>
  bool list(const fb::Vector<U>* from, std::vector<T>& to) {
    if (!from) return true;
    if (!aligned<U>(from) || !spend(size_t{from->size()} * sizeof(U))) return false;
    to.assign(from->begin(), from->end());
    return true;
  }
  bool shape(const fb::Vector<int64_t>* from, Shape& to) {
    if (!from) return true;
    if (!aligned<int64_t>(from) || from->size() > static_cast<size_t>(Shape::kMaxRank)) return false;
    to.rank = static_cast<int>(from->size());
    for (fb::uoffset_t i = 0; i < from->size(); ++i) to.dims[i] = from->Get(i);
    return true;
  }

 private:
  bool spend(size_t bytes) { return bytes <= budget_ && (budget_ -= bytes, true); }
  size_t budget_;
};

Status read_slot(Reader& reader, const format::Slot& from, Slot& to) {
  if (!reader.text(from.name(), to.name)) return bad("slot name: text is shared too often");
  if (from.dtype() >= kDataTypeCount) return bad("slot '" + to.name + "': unknown element type");
  if (from.layout() > static_cast<uint8_t>(Layout::kChannelsLast)) return bad("slot '" + to.name + "': unknown layout");
  if (from.home() > static_cast<uint8_t>(Slot::Home::kArena)) return bad("slot '" + to.name + "': unknown home");
  to.type.dtype = static_cast<DataType>(from.dtype());
  to.type.layout = static_cast<Layout>(from.layout());
  to.home = static_cast<Slot::Home>(from.home());
  if (!reader.shape(from.shape(), to.type.shape) || !reader.shape(from.max_shape(), to.max_shape))
    return bad("slot '" + to.name + "': rank: need at most 8, aligned");
  if (const format::Quant* quant = from.quant()) {
    QuantParams& q = to.type.quant.emplace();
    if (!reader.list(quant->scales(), q.scales) || !reader.list(quant->zero_points(), q.zero_points))
      return bad("slot '" + to.name + "': scales are shared too often or not aligned");
    q.axis = quant->axis();
    q.trained = quant->trained();
  }
  to.offset = from.offset();
  to.bytes = from.bytes();
  return {};
}

bool read_field(Reader& reader, const format::Field& from, Field& to) {
  if (!reader.text(from.name(), to.name)) return false;
  switch (from.kind()) {
    case format::FieldKind::Integer: to.value = from.integer(); return true;
    case format::FieldKind::Number: to.value = from.number(); return true;
    case format::FieldKind::Text: return reader.text(from.text(), to.value.emplace<std::string>());
    case format::FieldKind::Integers: return reader.list(from.integers(), to.value.emplace<std::vector<int64_t>>());
    case format::FieldKind::Numbers: return reader.list(from.numbers(), to.value.emplace<std::vector<double>>());
  }
  return false;
}

Status read_step(Reader& reader, const format::Step& from, Step& to) {
  std::string op_name;
  if (!reader.text(from.name(), to.name) || !reader.text(from.op(), op_name) || !reader.text(from.tactic(), to.tactic) ||
      !reader.list(from.inputs(), to.inputs) || !reader.list(from.outputs(), to.outputs) || !reader.list(from.bodies(), to.bodies))
    return bad("step: text or lists are shared too often");
  const std::optional<OpKind> op = parse_op_kind(op_name);
  if (!op)
    return Status(StatusCode::kVersionMismatch, "plan: step '" + to.name + "': op '" + op_name +
                                                    "' is not known to this runtime; rebuild the engine or update the runtime");
  std::vector<Field> fields;
  if (from.fields()) {
    if (from.fields()->size() > 64) return bad("step '" + to.name + "': more than 64 parameters");
    for (const format::Field* field : *from.fields())
      if (!read_field(reader, *field, fields.emplace_back())) return bad("step '" + to.name + "': malformed parameter");
  }
  Expected<OpParams> params = params_from_fields(*op, fields);
  if (!params.ok()) return bad("step '" + to.name + "': " + std::string(params.status().message()));
  to.params = *std::move(params);
  to.tactic_version = from.tactic_version();
  to.packed_inputs = from.packed_inputs();
  to.blob = from.blob();
  to.workspace_offset = from.workspace_offset();
  to.workspace_bytes = from.workspace_bytes();
  to.shape_step = from.shape_step();
  to.late = from.late();
  return {};
}

template <class Vector>
size_t count(const Vector* vector) {
  return vector ? vector->size() : 0;
}

// Counts over a plan and all its bodies.
struct Totals {
  size_t slots = 0, steps = 0, blobs = 0, plans = 0;
  bool fit() const {
    return slots <= kMaxSlots && steps <= kMaxSteps && blobs <= kMaxSlots + kMaxSteps && plans <= kMaxSteps;
  }
};

Offset<format::Plan> write_plan(FlatBufferBuilder& builder, const Plan& plan, const PlaceBlob& place, Totals& totals) {
  totals.slots += plan.slots.size(), totals.steps += plan.steps.size();
  std::vector<Offset<format::Plan>> bodies;
  for (const Plan& body : plan.bodies) bodies.push_back(write_plan(builder, body, place, totals));
  std::vector<Offset<format::Slot>> slots;
  for (const Slot& slot : plan.slots) slots.push_back(write_slot(builder, slot));
  std::vector<Offset<format::Step>> steps;
  for (const Step& step : plan.steps) steps.push_back(write_step(builder, step));
  std::vector<Offset<format::ProfileEntry>> profile;
  for (const ProfileEntry& entry : plan.profile) {
    const auto min = write_shape(builder, entry.min), opt = write_shape(builder, entry.opt), max = write_shape(builder, entry.max);
    Offset<fb::Vector<Offset<fb::String>>> names;
    if (!entry.dim_names.empty()) names = builder.CreateVectorOfStrings(entry.dim_names);
    profile.push_back(format::CreateProfileEntry(builder, entry.slot, min, opt, max, names));
  }
  std::vector<format::BlobRange> blobs;
  std::vector<uint32_t> halved;
  for (std::span<const std::byte> blob : plan.blobs) {
    const BlobRange range = place(blob);
    if (range.halved) halved.push_back(static_cast<uint32_t>(blobs.size()));
    blobs.emplace_back(range.offset, range.bytes);
  }

  const auto slot_list = builder.CreateVector(slots);
  const auto step_list = builder.CreateVector(steps);
  const auto inputs = builder.CreateVector(plan.inputs);
  const auto outputs = builder.CreateVector(plan.outputs);
  const auto profile_list = builder.CreateVector(profile);
  const auto blob_list = builder.CreateVectorOfStructs(blobs);
  const auto halved_list = halved.empty() ? Offset<fb::Vector<uint32_t>>() : builder.CreateVector(halved);
  const auto target = builder.CreateString(plan.target);
  const auto fingerprint = builder.CreateString(plan.device_fingerprint);
  const auto hash = builder.CreateString(plan.model_hash);
  const auto body_list = bodies.empty() ? Offset<fb::Vector<Offset<format::Plan>>>() : builder.CreateVector(bodies);
  const auto known = plan.known_inputs.empty() ? Offset<fb::Vector<uint32_t>>() : builder.CreateVector(plan.known_inputs);
  return format::CreatePlan(builder, slot_list, step_list, inputs, outputs, profile_list, blob_list, plan.arena_bytes, target,
                            fingerprint, hash, halved_list, body_list, known);
}

Status read_plan(Reader& reader, const format::Plan& from, std::span<const std::byte> blobs, int depth, Totals& totals, Plan& plan) {
  totals.slots += count(from.slots()) + count(from.profile()), totals.steps += count(from.steps());
  totals.blobs += count(from.blobs()), totals.plans += count(from.bodies());
  if (!totals.fit() || count(from.profile()) > kMaxSlots) return bad("too many slots or steps");
  plan.slots.resize(count(from.slots()));
  for (size_t i = 0; i < plan.slots.size(); ++i)
    INGOT_TRY(read_slot(reader, *from.slots()->Get(static_cast<fb::uoffset_t>(i)), plan.slots[i]));
  plan.steps.resize(count(from.steps()));
  for (size_t i = 0; i < plan.steps.size(); ++i)
    INGOT_TRY(read_step(reader, *from.steps()->Get(static_cast<fb::uoffset_t>(i)), plan.steps[i]));
  if (!reader.list(from.inputs(), plan.inputs) || !reader.list(from.outputs(), plan.outputs) ||
      !reader.text(from.target(), plan.target) || !reader.text(from.device_fingerprint(), plan.device_fingerprint) ||
      !reader.text(from.model_hash(), plan.model_hash) || !reader.list(from.known_inputs(), plan.known_inputs))
    return bad("text or lists are shared too often");
  if (from.profile())
    for (const format::ProfileEntry* entry : *from.profile()) {
      ProfileEntry& to = plan.profile.emplace_back();
      to.slot = entry->slot();
      if (!reader.shape(entry->min(), to.min) || !reader.shape(entry->opt(), to.opt) || !reader.shape(entry->max(), to.max))
        return bad("profile: rank: need at most 8, aligned");
      if (!entry->dim_names()) continue;
      if (entry->dim_names()->size() > static_cast<size_t>(Shape::kMaxRank)) return bad("profile: names of dims: need at most 8");
      for (const fb::String* name : *entry->dim_names())
        if (!reader.text(name, to.dim_names.emplace_back())) return bad("text or lists are shared too often");
    }
  if (from.blobs() && !aligned<format::BlobRange>(from.blobs())) return bad("blob list is not aligned");
  if (from.blobs())
    for (const format::BlobRange* range : *from.blobs()) {
      if (range->offset() % 64 != 0 || range->offset() > blobs.size() || range->bytes() > blobs.size() - range->offset())
        return bad("blob " + std::to_string(plan.blobs.size()) + " lies outside its section");
      plan.blobs.push_back(blobs.subspan(range->offset(), range->bytes()));
    }
  plan.arena_bytes = from.arena_bytes();
  if (!reader.list(from.halved(), plan.halved)) return bad("text or lists are shared too often");
  for (size_t i = 0; i < plan.halved.size(); ++i)
    if (plan.halved[i] >= plan.blobs.size() || (i > 0 && plan.halved[i] <= plan.halved[i - 1]) || plan.blobs[plan.halved[i]].size() % 2 != 0)
      return bad("list of halved blobs makes no sense");
  plan.halve_blobs = !plan.halved.empty();
  if (depth == kMaxBodyDepth && count(from.bodies()) != 0)
    return bad("bodies within bodies: need at most " + std::to_string(kMaxBodyDepth) + " levels");
  plan.bodies.resize(count(from.bodies()));
  for (size_t i = 0; i < plan.bodies.size(); ++i)
    INGOT_TRY(read_plan(reader, *from.bodies()->Get(static_cast<fb::uoffset_t>(i)), blobs, depth + 1, totals, plan.bodies[i]));
  return {};
}

}  // namespace

Expected<std::vector<std::byte>> encode_plan(const Plan& plan, const PlaceBlob& place) {
  FlatBufferBuilder builder(1 << 16);
  Totals totals;
  format::FinishPlanBuffer(builder, write_plan(builder, plan, place, totals));
  if (builder.GetSize() > kMaxPlanBytes || !totals.fit())
    return Status(StatusCode::kUnsupported, "encode plan: the network is too large: got " + std::to_string(totals.steps) +
                                                " steps in " + std::to_string(builder.GetSize()) + " bytes, need ≤ " +
                                                std::to_string(kMaxSteps) + " in " + std::to_string(kMaxPlanBytes));
  const auto* data = reinterpret_cast<const std::byte*>(builder.GetBufferPointer());
  return std::vector<std::byte>(data, data + builder.GetSize());
}

Expected<Plan> decode_plan(std::span<const std::byte> bytes, std::span<const std::byte> blobs) {
  if (bytes.size() > kMaxPlanBytes || bytes.size() < 16)
    return bad("size: got " + std::to_string(bytes.size()) + " bytes, need 16…" + std::to_string(kMaxPlanBytes));
  const auto* data = reinterpret_cast<const uint8_t*>(bytes.data());
  fb::Verifier::Options options;
  options.max_depth = 8 + kMaxBodyDepth;
  options.max_tables = 1000000;
  fb::Verifier verifier(data, bytes.size(), options);
  if (!format::VerifyPlanBuffer(verifier)) return bad("malformed table");
  Plan plan;
  Reader reader(bytes.size());
  Totals totals;
  INGOT_TRY(read_plan(reader, *format::GetPlan(data), blobs, 0, totals, plan));
  return plan;
}

}  // namespace ingot
