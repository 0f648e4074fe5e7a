// One arena, one thread pool, the memory that is bound, and a runner of the plan; on a GPU the recording of its launches.
#include "runtime/execution_context.h"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <map>
#include <new>
#include <string>
#include <unordered_map>
#include <vector>

#include "runtime/arena.h"
#include "runtime/plan_runner.h"

namespace ingot {
namespace {

Status unknown(std::string_view tensor, const char* what) {
  return Status(StatusCode::kNotFound, "tensor '" + std::string(tensor) + "': the engine has no such " + what);
}

using Arenas = std::unordered_map<const Plan*, std::byte*>;  // of a plan and all its bodies

Arenas arenas_of(const Plan& plan, std::byte* arena) {
  Arenas arenas{{&plan, arena}};
  for (const Step& step : plan.steps)
    for (uint32_t body : step.bodies) arenas.merge(arenas_of(plan.bodies[body], arena + step.workspace_offset));
  return arenas;
}

// What a context needs to run one of the engine's plans. Those of all profiles work in the same arena: nothing in it outlives
// a change of profile, since the shapes and the values of shape steps are then computed anew.
struct Variant {
  Variant(const LoadedPlan& plan_and_kernels, std::byte* arena)
      : loaded(plan_and_kernels), plan(*loaded.plan), arenas(arenas_of(plan, arena)),
        shapes(plan, [this](const Plan& owner, uint32_t slot) { return arenas.at(&owner) + owner.slots[slot].offset; }) {}

  const LoadedPlan& loaded;
  const Plan& plan;
  const Arenas arenas;
  ShapePass shapes;
  std::unique_ptr<PlanRunner> runner;
  void find_equal_dims();  // once the ranges are there

  std::vector<const ProfileEntry*> ranges;  // per input
  // A dim that is known by its name: another of that name, or a sum of named ones.
  struct NamedDim {
    size_t input;                           // among the inputs
    int dim;
    int64_t factor;
  };
  struct EqualDims {
    NamedDim dim;
    std::vector<NamedDim> sum;
    int64_t more;
  };
  std::vector<EqualDims> equal_dims;
  std::vector<bool> late;                   // per output: of a late step, which needs memory for its largest shape
  // On a GPU.
  std::vector<void*> host_homes;            // per slot: where its value is known to the host, or null
  struct Upload {
    uint32_t slot;
    DeviceIo io;
  };
  std::vector<Upload> uploads;              // results of shape arithmetic that kernels read
};

// How far a shape of the same rank lies outside of a range; 0: inside.
double distance(const Shape& shape, const ProfileEntry& range) {
  double sum = 0;
  for (int i = 0; i < shape.rank; ++i) {
    if (shape[i] < range.min[i]) sum += static_cast<double>(range.min[i]) - static_cast<double>(shape[i]);
    if (shape[i] > range.max[i]) sum += static_cast<double>(shape[i]) - static_cast<double>(range.max[i]);
  }
  return sum;
}

// "input 'ids' dim 1 (seq)"
std::string dim_words(const Variant& variant, size_t input, int dim) {
  const std::vector<std::string>& names = variant.ranges[input]->dim_names;
  const std::string text = "input '" + variant.plan.slots[variant.plan.inputs[input]].name + "' dim " + std::to_string(dim);
  const bool is_named = static_cast<size_t>(dim) < names.size() && !names[static_cast<size_t>(dim)].empty();
  return is_named ? text + " (" + names[static_cast<size_t>(dim)] + ')' : text;
}

}  // namespace

// "past+seq", "2*seq+1": what cannot be read so is not checked.
void Variant::find_equal_dims() {
  std::map<std::string_view, NamedDim> named;
  for (size_t i = 0; i < ranges.size(); ++i)
    for (size_t d = 0; d < ranges[i]->dim_names.size(); ++d) {
      const std::string& name = ranges[i]->dim_names[d];
      if (name.empty()) continue;
      const NamedDim own{i, static_cast<int>(d), 1};
      if (const auto [first, is_new] = named.emplace(name, own); !is_new) equal_dims.push_back({own, {first->second}, 0});
    }
  for (const auto& [name, dim] : named) {
    EqualDims equal{dim, {}, 0};
    bool is_sum = name.find('+') != std::string_view::npos;
    for (std::string_view rest = name; is_sum;) {
      const size_t plus = rest.find('+');
      std::string_view part = rest.substr(0, plus);
      const size_t star = part.find('*');
      const std::string_view number = star == std::string_view::npos ? part : part.substr(0, star);
      uint32_t factor = 0;
      const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), factor);
      const bool has_number = error == std::errc() && end == number.data() + number.size() && factor < (1u << 16);
      if (star != std::string_view::npos) part = part.substr(star + 1);
      const auto known = named.find(part);
      is_sum = star == std::string_view::npos ? has_number || known != named.end() : has_number && known != named.end();
      if (is_sum && known == named.end()) equal.more += factor;
      else if (is_sum) equal.sum.push_back({known->second.input, known->second.dim, has_number ? static_cast<int64_t>(factor) : 1});
      if (plus == std::string_view::npos) break;
      rest.remove_prefix(plus + 1);
    }
    if (is_sum) equal_dims.push_back(std::move(equal));
  }
}

struct ExecutionContext::Impl {
  Impl(std::shared_ptr<const Engine::Impl> loaded, Arena memory)
      : engine(std::move(loaded)), arena(std::move(memory)), pool(engine->options.threads) {
    for (const LoadedPlan& plan : engine->loaded) variants.push_back(std::make_unique<Variant>(plan, arena.at(0)));
    now = variants[0].get();
  }

  // An input or output: whose memory it uses.
  struct Binding {
    size_t index = 0;  // among the inputs or the outputs
    bool is_input = false;
    Shape shape;       // of an input
    uint64_t most_bytes = 0;  // at its largest shape in all profiles
    Buffer bound;
    Arena own;
    bool refused = false;  // there was no memory for `own`
    DeviceIo io = {};         // on a GPU: what host memory is copied to or from
    bool on_device = false;   // bound to device memory
  };

  Binding* find(std::string_view tensor);  // an input before an output of its name
  Binding* find(std::string_view tensor, bool is_input);
  static uint32_t slot_in(const Plan& plan, const Binding& binding) {
    return binding.is_input ? plan.inputs[binding.index] : plan.outputs[binding.index];
  }
  uint32_t index_of(const Binding& binding) const { return slot_in(now->plan, binding); }
  const Slot& slot_of(const Binding& binding) const { return now->plan.slots[index_of(binding)]; }
  // The shape that its memory must have room for.
  const Shape& shape_to_hold(const Binding& binding) const {
    if (binding.is_input) return binding.shape;
    return now->late[binding.index] ? slot_of(binding).max_shape : now->shapes.shape(index_of(binding));
  }
  uint64_t bytes_now(const Binding& binding) const {
    return static_cast<uint64_t>(shape_to_hold(binding).elements()) * element_bytes(slot_of(binding).type.dtype);
  }
  Status check_bound(const Binding& binding) const;
  Status prepare();
  double distance_to(const Variant& variant, const Binding* only) const;
  Status check_profiles(const Binding* only) const;
  Status check_equal_dims() const;
  void choose_variant();
  Status update_shapes();
  void update_pointers();
  Status run();
  Status move_homes_to_device(Variant& variant, std::vector<void*>& homes);
  Status copy_inputs();
  Status record_run();
  Status run_observed();
  Status run_on_device();
  Status enqueue(void* stream);
  Buffer own_buffer(std::string_view tensor, bool is_input);
  Status bind(Binding& binding, void* data, size_t bytes);

  const std::shared_ptr<const Engine::Impl> engine;
  Arena arena;
  ThreadPool pool;
  RunResources resources;
  std::vector<std::unique_ptr<Variant>> variants;  // per profile
  Variant* now = nullptr;                          // the one that serves
  std::vector<Binding> bindings;  // inputs, then outputs
  StepObserver* observer = nullptr;
  bool shapes_stale = true, pointers_stale = true;
  std::unique_ptr<DeviceRun> device;  // null on the CPU
  bool recording_stale = true;
  std::vector<std::vector<std::byte>> observed_bytes;
};

ExecutionContext::Impl::Binding* ExecutionContext::Impl::find(std::string_view tensor) {
  for (Binding& binding : bindings)
    if (slot_of(binding).name == tensor) return &binding;
  return nullptr;
}

ExecutionContext::Impl::Binding* ExecutionContext::Impl::find(std::string_view tensor, bool is_input) {
  for (Binding& binding : bindings)
    if (binding.is_input == is_input && slot_of(binding).name == tensor) return &binding;
  return nullptr;
}

Status ExecutionContext::Impl::prepare() {
  const Plan& first = variants[0]->plan;
  for (size_t i = 0; i < first.inputs.size(); ++i) bindings.push_back({i, true, {}, 0, {}, {}, false, {}, false});
  for (size_t i = 0; i < first.outputs.size(); ++i) bindings.push_back({i, false, {}, 0, {}, {}, false, {}, false});
  for (size_t v = 0; v < variants.size(); ++v) {
    Variant& variant = *variants[v];
    const Plan& plan = variant.plan;
    for (uint32_t slot : plan.inputs) variant.ranges.push_back(engine->range_of(v, slot));
    variant.find_equal_dims();
    variant.late.resize(plan.outputs.size());
    std::vector<bool> is_late(plan.slots.size());
    for (const Step& step : plan.steps)
      for (uint32_t slot : step.outputs)
        if (step.late && slot != kNoIndex) is_late[slot] = true;
    for (size_t i = 0; i < plan.outputs.size(); ++i) variant.late[i] = is_late[plan.outputs[i]];
    for (Binding& binding : bindings) binding.most_bytes = std::max(binding.most_bytes, plan.slots[slot_in(plan, binding)].bytes);
  }
  for (Binding& binding : bindings)
    if (binding.is_input) binding.shape = variants[0]->ranges[binding.index]->opt;

  resources.pool = &pool;
  resources.loop_limit = engine->options.loop_limit;
  resources.shared_workspace = arena.at(engine->plan_arena_bytes());
  for (const auto& variant : variants) {
    std::vector<void*> homes = PlanRunner::homes_of(variant->loaded, arena.at(0));
    auto* workspaces = static_cast<std::byte*>(arena.at(0));
    if (device) {
      INGOT_TRY(move_homes_to_device(*variant, homes));
      resources.stream = device->stream();
      resources.host_homes = &variant->host_homes;
      workspaces = static_cast<std::byte*>(device->arena());
    }
    variant->runner = std::make_unique<PlanRunner>(variant->loaded, std::move(homes), workspaces, variant->shapes, resources);
  }
  return {};
}

// How far the inputs' shapes, or one's, lie outside of a profile; 0: inside.
double ExecutionContext::Impl::distance_to(const Variant& variant, const Binding* only) const {
  double sum = 0;
  for (const Binding& binding : bindings)
    if (binding.is_input && (!only || only == &binding)) sum += distance(binding.shape, *variant.ranges[binding.index]);
  return sum;
}

// Whether some profile holds the shapes of all inputs, or of one; else what is wrong by the nearest.
Status ExecutionContext::Impl::check_profiles(const Binding* only) const {
  size_t nearest = 0;
  double least = 0;
  for (size_t i = 0; i < variants.size(); ++i) {
    const double far = distance_to(*variants[i], only);
    if (far == 0) return {};
    if (i == 0 || far < least) nearest = i, least = far;
  }
  for (const Binding& binding : bindings) {
    if (!binding.is_input || (only && only != &binding)) continue;
    const ProfileEntry& range = *variants[nearest]->ranges[binding.index];
    for (int i = 0; i < binding.shape.rank; ++i) {
      if (binding.shape[i] >= range.min[i] && binding.shape[i] <= range.max[i]) continue;
      std::string text = dim_words(*variants[nearest], binding.index, i) + ": got " + std::to_string(binding.shape[i]) + ", need " +
                         std::to_string(range.min[i]);
      if (range.min[i] != range.max[i]) text += "…" + std::to_string(range.max[i]);
      if (variants.size() > 1)
        text += " in the nearest of the engine's profiles, " + std::to_string(nearest + 1) + " of " + std::to_string(variants.size());
      return Status(StatusCode::kInvalidArgument, text);
    }
  }
  return Status(StatusCode::kInternal, "no profile holds the inputs' shapes");
}

// Whether dims of one name are equal, and sums are sums: what the engine was built on.
Status ExecutionContext::Impl::check_equal_dims() const {
  for (const Variant::EqualDims& equal : now->equal_dims) {
    const int64_t got = bindings[equal.dim.input].shape[equal.dim.dim];
    int64_t need = equal.more;
    for (const Variant::NamedDim& part : equal.sum) need += part.factor * bindings[part.input].shape[part.dim];
    if (got == need) continue;
    const bool is_plain = equal.sum.size() == 1 && equal.sum[0].factor == 1 && equal.more == 0;
    return Status(StatusCode::kInvalidArgument, dim_words(*now, equal.dim.input, equal.dim.dim) + ": got " + std::to_string(got) + ", need " + std::to_string(need) +
                                                    (is_plain ? ", the size of " + dim_words(*now, equal.sum[0].input, equal.sum[0].dim) : std::string()));
  }
  return {};
}

void ExecutionContext::Impl::choose_variant() {
  for (const auto& variant : variants) {
    if (distance_to(*variant, nullptr) != 0) continue;
    pointers_stale = pointers_stale || now != variant.get();
    now = variant.get();
    break;
  }
  for (const Binding& binding : bindings)
    if (binding.is_input) now->shapes.set_input_shape(index_of(binding), binding.shape);
}

Status ExecutionContext::Impl::update_shapes() {
  if (!shapes_stale) return {};
  INGOT_TRY(check_profiles(nullptr));
  choose_variant();
  INGOT_TRY(check_equal_dims());
  INGOT_TRY(now->shapes.run());
  now->runner->take_shapes();
  shapes_stale = false;
  recording_stale = true;
  return {};
}

void ExecutionContext::Impl::update_pointers() {
  if (!pointers_stale) return;
  for (const Binding& binding : bindings)
    now->runner->bind(index_of(binding), device && !binding.on_device ? binding.io.device : binding.bound.data);
  recording_stale = true;
  pointers_stale = false;
}

Status ExecutionContext::Impl::check_bound(const Binding& binding) const {
  const Slot& slot = slot_of(binding);
  const uint64_t need = bytes_now(binding);
  if (binding.bound.bytes >= need && (binding.bound.data || need == 0)) return {};
  const std::string where = std::string(binding.is_input ? "input '" : "output '") + slot.name + "'";
  if (!binding.bound.data && binding.refused)
    return Status(StatusCode::kOutOfMemory, where + ": got no memory, need " + std::to_string(binding.most_bytes) + " bytes");
  if (!binding.bound.data) return Status(StatusCode::kInvalidArgument, where + ": no memory is bound; call bind() first");
  return Status(StatusCode::kInvalidArgument, where + ": memory is too small: got " + std::to_string(binding.bound.bytes) +
                                                  " bytes, need " + std::to_string(need) + " for shape " +
                                                  to_string(shape_to_hold(binding)));
}

Status ExecutionContext::Impl::run() {
  INGOT_TRY(update_shapes());
  for (const Binding& binding : bindings) INGOT_TRY(check_bound(binding));
  if (device) return run_on_device();
  update_pointers();
  resources.iterations = 0;
  return now->runner->run(observer);
}

// Shape arithmetic is the host's: its values are made in the host's arena, and taken from there to the device's where kernels read them.
Status ExecutionContext::Impl::move_homes_to_device(Variant& variant, std::vector<void*>& homes) {
  const Plan& plan = variant.plan;
  variant.host_homes.assign(homes.size(), nullptr);
  std::vector<bool> is_shape(plan.slots.size()), is_read(plan.slots.size());
  for (const Step& step : plan.steps) {
    for (uint32_t slot : step.outputs)
      if (step.shape_step && slot != kNoIndex) is_shape[slot] = true;
    for (uint32_t slot : step.inputs)
      if (!step.shape_step && slot != kNoIndex) is_read[slot] = true;
  }
  for (uint32_t i = 0; i < plan.slots.size(); ++i) {
    const Slot& slot = plan.slots[i];
    void* const host = homes[i];
    if (slot.home == Slot::Home::kArena) homes[i] = static_cast<std::byte*>(device->arena()) + slot.offset;
    if (slot.home == Slot::Home::kConstant) homes[i] = const_cast<void*>(engine->on_device->at(i));
    if (slot.home == Slot::Home::kConstant || is_shape[i]) variant.host_homes[i] = host;
    if (!is_shape[i] || !is_read[i]) continue;
    INGOT_ASSIGN(void* const staging, device->allocate_staging(slot.bytes));
    variant.uploads.push_back({i, {homes[i], staging}});
  }
  return {};
}

// What the host has for a run, to the device.
Status ExecutionContext::Impl::copy_inputs() {
  for (const Binding& binding : bindings)
    if (binding.is_input && !binding.on_device) INGOT_TRY(device->copy_in(binding.io, bytes_now(binding)));
  for (const Variant::Upload& upload : now->uploads) {
    const Slot& slot = now->plan.slots[upload.slot];
    const uint64_t bytes = static_cast<uint64_t>(now->shapes.shape(upload.slot).elements()) * element_bytes(slot.type.dtype);
    std::copy_n(static_cast<const std::byte*>(now->host_homes[upload.slot]), bytes, static_cast<std::byte*>(upload.io.staging));
    INGOT_TRY(device->copy_in(upload.io, bytes));
  }
  return {};
}

// Memory for what is bound to the host's, addresses, and the graph of a run: after a change of shapes or memory.
Status ExecutionContext::Impl::record_run() {
  INGOT_TRY(device->enter());
  for (Binding& binding : bindings) {
    if (binding.on_device || binding.io.device) continue;
    INGOT_ASSIGN(binding.io, device->allocate_io(binding.most_bytes));
    pointers_stale = true;
  }
  update_pointers();
  if (!recording_stale) return {};
  INGOT_TRY(device->begin_recording());
  Status status = copy_inputs();
  if (status.ok()) status = now->runner->launch();
  for (const Binding& binding : bindings)
    if (status.ok() && !binding.is_input && !binding.on_device) status = device->copy_out(binding.io, bytes_now(binding));
  Status ended = device->end_recording();  // also after an error: the stream must leave its recording
  INGOT_TRY(std::move(status));
  INGOT_TRY(std::move(ended));
  recording_stale = false;
  return {};
}

Status ExecutionContext::Impl::run_on_device() {
  INGOT_TRY(record_run());
  for (const Binding& binding : bindings)
    if (binding.is_input && !binding.on_device)
      std::copy_n(static_cast<const std::byte*>(binding.bound.data), bytes_now(binding), static_cast<std::byte*>(binding.io.staging));
  if (observer) INGOT_TRY(run_observed());
  else INGOT_TRY(device->replay(nullptr));
  INGOT_TRY(device->synchronize());
  for (const Binding& binding : bindings)
    if (!binding.is_input && !binding.on_device)
      std::copy_n(static_cast<const std::byte*>(binding.io.staging), bytes_now(binding), static_cast<std::byte*>(binding.bound.data));
  return {};
}

// Step by step, with each step's operands brought to the host: slow, for profilers and verification.
Status ExecutionContext::Impl::run_observed() {
  using Clock = std::chrono::steady_clock;
  const Plan& plan = now->plan;
  INGOT_TRY(copy_inputs());
  INGOT_TRY(device->synchronize());
  std::vector<ConstTensorRef> observed;
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    if (!now->loaded.steps[i].kernel) continue;
    const Clock::time_point start = Clock::now();
    INGOT_TRY(now->runner->launch_step(i));
    INGOT_TRY(device->synchronize());
    const double elapsed_us = std::chrono::duration<double, std::micro>(Clock::now() - start).count();
    const Step& step = plan.steps[i];
    const PlanRunner::StepOperands operands = now->runner->operands(i);
    const size_t count = operands.slots.size(), inputs = step.inputs.size();
    observed.assign(count, {});
    observed_bytes.resize(std::max(observed_bytes.size(), count));
    for (size_t k = 0; k < count; ++k) {
      const uint32_t slot = operands.slots[k];
      if (slot == kNoIndex) continue;
      const void* where = operands.pointers[k] ? now->host_homes[slot] : nullptr;
      if (!where && operands.pointers[k]) {
        observed_bytes[k].resize(static_cast<size_t>(now->shapes.shape(slot).elements()) * element_bytes(plan.slots[slot].type.dtype));
        INGOT_TRY(device->read(observed_bytes[k].data(), operands.pointers[k], observed_bytes[k].size()));
        where = observed_bytes[k].data();
      }
      observed[k] = {&now->shapes.types()[slot], where};
    }
    observer->after_step(i, step, std::span(observed).first(inputs), std::span(observed).subspan(inputs), elapsed_us);
  }
  for (const Binding& binding : bindings)
    if (!binding.is_input && !binding.on_device) INGOT_TRY(device->copy_out(binding.io, bytes_now(binding)));
  return {};
}

Status ExecutionContext::Impl::enqueue(void* stream) {
  if (!device) return run();
  INGOT_TRY(update_shapes());
  for (const Binding& binding : bindings) {
    INGOT_TRY(check_bound(binding));
    if (!binding.on_device)
      return Status(StatusCode::kInvalidArgument, std::string(binding.is_input ? "input '" : "output '") + slot_of(binding).name +
                                                      "': enqueue() needs device memory, and host memory is bound; bind() device memory, or call run()");
  }
  INGOT_TRY(record_run());
  return device->replay(stream);
}

Buffer ExecutionContext::Impl::own_buffer(std::string_view tensor, bool is_input) {
  Binding* binding = find(tensor, is_input);
  if (!binding) return {};
  if (binding->own.empty()) {
    Expected<Arena> memory = Arena::allocate(binding->most_bytes);
    binding->refused = !memory.ok();
    if (!memory.ok()) return {};
    binding->own = *std::move(memory);
    // A context that is run before its inputs are filled shall not show what the memory held before.
    std::fill_n(binding->own.at(0), binding->most_bytes, std::byte{0});
  }
  binding->bound = {binding->own.at(0), binding->most_bytes};
  binding->on_device = false;
  pointers_stale = true;
  return binding->bound;
}

Expected<ExecutionContext> make_context(std::shared_ptr<const Engine::Impl> engine) {
  const uint64_t bytes = engine->plan_arena_bytes() + engine->shared_workspace_bytes;
  Expected<Arena> arena = Arena::allocate(bytes);
  if (!arena.ok()) return arena.take_status().with_context("create context");
  auto impl = std::make_unique<ExecutionContext::Impl>(std::move(engine), *std::move(arena));
  if (impl->engine->on_device) {
    INGOT_ASSIGN(impl->device, impl->engine->on_device->create_run(bytes));
  }
  INGOT_TRY(impl->prepare());
  INGOT_TRY(impl->update_shapes());
  return ExecutionContext(std::move(impl));
}

ExecutionContext::ExecutionContext(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ExecutionContext::ExecutionContext(ExecutionContext&&) noexcept = default;
ExecutionContext& ExecutionContext::operator=(ExecutionContext&&) noexcept = default;
ExecutionContext::~ExecutionContext() = default;

Status ExecutionContext::bind(std::string_view tensor, void* data, size_t bytes) {
  Impl::Binding* binding = impl_->find(tensor);
  return binding ? impl_->bind(*binding, data, bytes) : unknown(tensor, "input or output");
}

Status ExecutionContext::bind_output(std::string_view tensor, void* data, size_t bytes) {
  Impl::Binding* binding = impl_->find(tensor, false);
  return binding ? impl_->bind(*binding, data, bytes) : unknown(tensor, "output");
}

Status ExecutionContext::Impl::bind(Binding& binding, void* data, size_t bytes) {
  const Slot& slot = slot_of(binding);
  if (!data) return Status(StatusCode::kInvalidArgument, "bind '" + slot.name + "': got a null pointer");
  if (reinterpret_cast<uintptr_t>(data) % element_bytes(slot.type.dtype) != 0)
    return Status(StatusCode::kInvalidArgument, "bind '" + slot.name + "': memory is not aligned for " +
                                                    std::string(to_string(slot.type.dtype)));
  const Buffer before = binding.bound;
  const bool was_on_device = binding.on_device;
  binding.bound = {data, bytes};
  binding.on_device = device && is_device_memory(engine->device.backend, data);
  // With other inputs' shapes still to be set, output sizes are not known yet: run() checks again.
  if (!shapes_stale || binding.is_input) {
    if (Status status = check_bound(binding); !status.ok()) {
      binding.bound = before;
      binding.on_device = was_on_device;
      return std::move(status).with_context("bind");
    }
  }
  pointers_stale = true;
  return {};
}

Status ExecutionContext::set_shape(std::string_view tensor, const Shape& shape) {
  Impl::Binding* binding = impl_->find(tensor, true);
  if (!binding) return unknown(tensor, "input");
  const Shape before = binding->shape;
  if (shape.rank != before.rank)
    return Status(StatusCode::kInvalidArgument, "input '" + std::string(tensor) + "' rank: got " + std::to_string(shape.rank) +
                                                    ", need " + std::to_string(before.rank));
  if (before == shape) return {};
  binding->shape = shape;
  if (Status status = impl_->check_profiles(binding); !status.ok()) {
    binding->shape = before;
    return status;
  }
  impl_->shapes_stale = true;
  return {};
}

Expected<Shape> ExecutionContext::shape(std::string_view tensor) const {
  const Impl::Binding* binding = impl_->find(tensor);
  if (!binding) return unknown(tensor, "input or output");
  if (binding->is_input) return binding->shape;
  INGOT_TRY(impl_->update_shapes());
  return impl_->now->shapes.shape(impl_->index_of(*binding));
}

Buffer ExecutionContext::input_buffer(std::string_view tensor) { return impl_->own_buffer(tensor, true); }
Buffer ExecutionContext::output_buffer(std::string_view tensor) { return impl_->own_buffer(tensor, false); }

Status ExecutionContext::run() noexcept try {
  return impl_->run();
} catch (const std::bad_alloc&) {
  // Only an error's text is ever allocated here.
  return Status(StatusCode::kOutOfMemory, "run: out of memory");
}

Status ExecutionContext::enqueue(void* stream) noexcept try {
  return impl_->enqueue(stream);
} catch (const std::bad_alloc&) {
  return Status(StatusCode::kOutOfMemory, "enqueue");
}

void ExecutionContext::set_observer(StepObserver* observer) noexcept { impl_->observer = observer; }

}  // namespace ingot
