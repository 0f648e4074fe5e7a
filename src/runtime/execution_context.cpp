// One arena, one thread pool, the memory that is bound, and a runner of the plan.
#include "runtime/execution_context.h"

#include <algorithm>
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

}  // namespace

struct ExecutionContext::Impl {
  Impl(std::shared_ptr<const Engine::Impl> loaded, Arena memory)
      : engine(std::move(loaded)), plan(engine->plan()), arena(std::move(memory)), pool(engine->options.threads),
        arenas(arenas_of(plan, arena.at(0))),
        shapes(plan, [this](const Plan& owner, uint32_t slot) { return arenas.at(&owner) + owner.slots[slot].offset; }),
        resources{&pool, arena.at(align_up(plan.arena_bytes)), engine->options.loop_limit},
        runner(engine->loaded, arena.at(0), shapes, resources) {}

  // An input or output: whose memory it uses.
  struct Binding {
    uint32_t slot = 0;
    bool is_input = false;
    bool late = false;  // an output of a late step: needs memory for its largest shape
    Buffer bound;
    Arena own;
  };
  using Arenas = std::unordered_map<const Plan*, std::byte*>;  // of the plan and all its bodies

  static Arenas arenas_of(const Plan& plan, std::byte* arena);
  Binding* find(std::string_view tensor);
  Binding* find(std::string_view tensor, bool is_input);
  uint64_t bytes_now(const Binding& binding) const {
    const Slot& slot = plan.slots[binding.slot];
    const Shape& shape = binding.late ? slot.max_shape : shapes.shape(binding.slot);
    return static_cast<uint64_t>(shape.elements()) * element_bytes(slot.type.dtype);
  }
  Status check_bound(const Binding& binding) const;
  void prepare();
  Status update_shapes();
  Status run();
  Buffer own_buffer(std::string_view tensor, bool is_input);

  const std::shared_ptr<const Engine::Impl> engine;
  const Plan& plan;
  Arena arena;
  ThreadPool pool;
  const Arenas arenas;
  ShapePass shapes;
  RunResources resources;
  PlanRunner runner;
  std::vector<Binding> bindings;  // inputs, then outputs
  StepObserver* observer = nullptr;
  bool shapes_stale = true, pointers_stale = true;
};

ExecutionContext::Impl::Arenas ExecutionContext::Impl::arenas_of(const Plan& plan, std::byte* arena) {
  Arenas arenas{{&plan, arena}};
  for (const Step& step : plan.steps)
    for (uint32_t body : step.bodies) arenas.merge(arenas_of(plan.bodies[body], arena + step.workspace_offset));
  return arenas;
}

ExecutionContext::Impl::Binding* ExecutionContext::Impl::find(std::string_view tensor) {
  for (Binding& binding : bindings)
    if (plan.slots[binding.slot].name == tensor) return &binding;
  return nullptr;
}

ExecutionContext::Impl::Binding* ExecutionContext::Impl::find(std::string_view tensor, bool is_input) {
  Binding* binding = find(tensor);
  return binding && binding->is_input == is_input ? binding : nullptr;
}

void ExecutionContext::Impl::prepare() {
  for (uint32_t slot : plan.inputs) bindings.push_back({slot, true, false, {}, {}});
  for (uint32_t slot : plan.outputs) bindings.push_back({slot, false, false, {}, {}});
  for (const Step& step : plan.steps)
    for (Binding& binding : bindings)
      if (step.late && std::find(step.outputs.begin(), step.outputs.end(), binding.slot) != step.outputs.end()) binding.late = true;
  for (const ProfileEntry& entry : plan.profile) shapes.set_input_shape(entry.slot, entry.opt);
}

Status ExecutionContext::Impl::update_shapes() {
  if (!shapes_stale) return {};
  INGOT_TRY(shapes.run());
  runner.take_shapes();
  shapes_stale = false;
  return {};
}

Status ExecutionContext::Impl::check_bound(const Binding& binding) const {
  const Slot& slot = plan.slots[binding.slot];
  const uint64_t need = bytes_now(binding);
  if (binding.bound.bytes >= need && (binding.bound.data || need == 0)) return {};
  const std::string where = std::string(binding.is_input ? "input '" : "output '") + slot.name + "'";
  if (!binding.bound.data) return Status(StatusCode::kInvalidArgument, where + ": no memory is bound; call bind() first");
  return Status(StatusCode::kInvalidArgument, where + ": memory is too small: got " + std::to_string(binding.bound.bytes) +
                                                  " bytes, need " + std::to_string(need) + " for shape " +
                                                  to_string(binding.late ? slot.max_shape : shapes.shape(binding.slot)));
}

Status ExecutionContext::Impl::run() {
  INGOT_TRY(update_shapes());
  for (const Binding& binding : bindings) INGOT_TRY(check_bound(binding));
  if (pointers_stale)
    for (const Binding& binding : bindings) runner.bind(binding.slot, binding.bound.data);
  pointers_stale = false;
  resources.iterations = 0;
  return runner.run(observer);
}

Buffer ExecutionContext::Impl::own_buffer(std::string_view tensor, bool is_input) {
  Binding* binding = find(tensor, is_input);
  if (!binding) return {};
  const Slot& slot = plan.slots[binding->slot];
  if (binding->own.empty()) {
    Expected<Arena> memory = Arena::allocate(slot.bytes);
    if (!memory.ok()) return {};
    binding->own = *std::move(memory);
    // A context that is run before its inputs are filled shall not show what the memory held before.
    std::fill_n(binding->own.at(0), slot.bytes, std::byte{0});
  }
  binding->bound = {binding->own.at(0), slot.bytes};
  pointers_stale = true;
  return binding->bound;
}

Expected<ExecutionContext> make_context(std::shared_ptr<const Engine::Impl> engine) {
  const uint64_t bytes = align_up(engine->plan().arena_bytes) + engine->shared_workspace_bytes;
  Expected<Arena> arena = Arena::allocate(bytes);
  if (!arena.ok()) return arena.take_status().with_context("create context");
  auto impl = std::make_unique<ExecutionContext::Impl>(std::move(engine), *std::move(arena));
  impl->prepare();
  INGOT_TRY(impl->update_shapes());
  return ExecutionContext(std::move(impl));
}

ExecutionContext::ExecutionContext(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ExecutionContext::ExecutionContext(ExecutionContext&&) noexcept = default;
ExecutionContext& ExecutionContext::operator=(ExecutionContext&&) noexcept = default;
ExecutionContext::~ExecutionContext() = default;

Status ExecutionContext::bind(std::string_view tensor, void* data, size_t bytes) {
  Impl::Binding* binding = impl_->find(tensor);
  if (!binding) return unknown(tensor, "input or output");
  const Slot& slot = impl_->plan.slots[binding->slot];
  if (!data) return Status(StatusCode::kInvalidArgument, "bind '" + slot.name + "': got a null pointer");
  if (reinterpret_cast<uintptr_t>(data) % element_bytes(slot.type.dtype) != 0)
    return Status(StatusCode::kInvalidArgument, "bind '" + slot.name + "': memory is not aligned for " +
                                                    std::string(to_string(slot.type.dtype)));
  const Buffer before = binding->bound;
  binding->bound = {data, bytes};
  // With other inputs' shapes still to be set, output sizes are not known yet: run() checks again.
  if (!impl_->shapes_stale || binding->is_input) {
    if (Status status = impl_->check_bound(*binding); !status.ok()) {
      binding->bound = before;
      return std::move(status).with_context("bind");
    }
  }
  impl_->pointers_stale = true;
  return {};
}

Status ExecutionContext::set_shape(std::string_view tensor, const Shape& shape) {
  Impl::Binding* binding = impl_->find(tensor, true);
  if (!binding) return unknown(tensor, "input");
  const ProfileEntry& profile = *impl_->engine->profile_of(binding->slot);
  if (shape.rank != profile.min.rank)
    return Status(StatusCode::kInvalidArgument, "input '" + std::string(tensor) + "' rank: got " + std::to_string(shape.rank) +
                                                    ", need " + std::to_string(profile.min.rank));
  for (int i = 0; i < shape.rank; ++i)
    if (shape[i] < profile.min[i] || shape[i] > profile.max[i]) {
      const bool fixed = profile.min[i] == profile.max[i];
      return Status(StatusCode::kInvalidArgument,
                    "input '" + std::string(tensor) + "' dim " + std::to_string(i) + ": got " + std::to_string(shape[i]) +
                        ", need " + std::to_string(profile.min[i]) + (fixed ? "" : "…" + std::to_string(profile.max[i])));
    }
  if (impl_->shapes.shape(binding->slot) == shape) return {};
  impl_->shapes.set_input_shape(binding->slot, shape);
  impl_->shapes_stale = true;
  return {};
}

Expected<Shape> ExecutionContext::shape(std::string_view tensor) const {
  const Impl::Binding* binding = impl_->find(tensor);
  if (!binding) return unknown(tensor, "input or output");
  if (!binding->is_input) INGOT_TRY(impl_->update_shapes());
  return impl_->shapes.shape(binding->slot);
}

Buffer ExecutionContext::input_buffer(std::string_view tensor) { return impl_->own_buffer(tensor, true); }
Buffer ExecutionContext::output_buffer(std::string_view tensor) { return impl_->own_buffer(tensor, false); }

Status ExecutionContext::run() noexcept try {
  return impl_->run();
} catch (const std::bad_alloc&) {
  // Only an error's text is ever allocated here.
  return Status(StatusCode::kOutOfMemory, "run");
}

void ExecutionContext::set_observer(StepObserver* observer) noexcept { impl_->observer = observer; }

}  // namespace ingot
