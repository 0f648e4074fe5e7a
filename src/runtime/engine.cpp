// From a plan to an Engine: validate, find each step's tactic, ask whether it supports the step here, load it.
#include "runtime/engine.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <new>
#include <set>
#include <string>

#include "runtime/arena.h"
#include "runtime/execution_context.h"
#include "runtime/format/engine_file.h"
#include "runtime/format/plan_codec.h"
#include "runtime/loaded_engine.h"
#include "runtime/ops/half.h"
#include "runtime/plan_validator.h"
#include "runtime/tactic_registry.h"

namespace ingot {
namespace {

constexpr int kMaxThreads = 1024;

struct TargetRow {
  std::string_view name;
  CpuLevel level;
};
// In order of preference.
constexpr TargetRow kTargets[] = {{"cpu-avx512-vnni", CpuLevel::kAvx512Vnni},
                                  {"cpu-avx-vnni", CpuLevel::kAvxVnni},
                                  {"cpu-x86-64-v3", CpuLevel::kAvx2},
                                  {"cpu-x86-64", CpuLevel::kScalar}};

Status check_options(const RuntimeOptions& options) {
  if (options.threads < 1 || options.threads > kMaxThreads)
    return Status(StatusCode::kInvalidArgument, "runtime options: threads: got " + std::to_string(options.threads) +
                                                    ", need 1…" + std::to_string(kMaxThreads));
  if (!options.cpu_level.empty() && !parse_cpu_level(options.cpu_level))
    return Status(StatusCode::kInvalidArgument, "runtime options: cpu level: got '" + options.cpu_level +
                                                    "', need scalar, avx2, avx_vnni or avx512_vnni");
  if (options.loop_limit < 1)
    return Status(StatusCode::kInvalidArgument, "runtime options: loop limit: got " + std::to_string(options.loop_limit) + ", need 1 or more");
  if (!options.backend.empty() && options.backend != "cpu" && options.backend != "cuda")
    return Status(StatusCode::kInvalidArgument, "runtime options: backend: got '" + options.backend + "', need cpu or cuda");
  return {};
}

Status out_of_memory(const char* where) { return Status(StatusCode::kOutOfMemory, std::string(where) + ": out of memory; it needs the weights, the arena and some more"); }

Operand operand_of(const Plan& plan, uint32_t slot_index, bool packed) {
  Operand operand;
  if (slot_index == kNoIndex) return operand;
  const Slot& slot = plan.slots[slot_index];
  operand.present = true;
  operand.type = slot.type;
  operand.max_shape = slot.max_shape;
  operand.is_constant = slot.home == Slot::Home::kConstant;
  if (operand.is_constant && !packed && slot.offset < plan.blobs.size()) {
    const auto blob = plan.blobs[slot.offset];
    const auto bytes = static_cast<size_t>(std::max<int64_t>(slot.type.bytes(), 0));
    if (blob.size() >= bytes) operand.constant = blob.first(bytes);
  }
  return operand;
}

Status load_step(Engine::Impl& engine, const Plan& plan, const Step& step, LoadedStep& loaded) {
  const Tactic* tactic = TacticRegistry::builtin().find(step.tactic);
  if (!tactic && step.tactic.find(".onednn") != std::string::npos)
    return Status(StatusCode::kVersionMismatch, "tactic '" + step.tactic + "' needs oneDNN, which this program was built without; "
                                                "build the engine without --tactics onednn, or link ingot_onednn and call add_onednn_tactics()");
  if (engine.device.backend != Backend::kCpu && !step.bodies.empty())
    return Status(StatusCode::kUnsupported, "control flow is not supported on a GPU; load the engine's CPU plan");
  if (engine.device.backend != Backend::kCpu && step.late)
    return Status(StatusCode::kUnsupported, "shapes that depend on data are not supported on a GPU; load the engine's CPU plan");
  if (tactic && tactic->info().name.starts_with("cuda.") != (engine.device.backend == Backend::kCuda))
    return Status(StatusCode::kInvalidEngine, "tactic '" + step.tactic + "' is not for this plan's target; rebuild the engine");
  if (!tactic || tactic->info().op != kind_of(step.params))
    return Status(StatusCode::kVersionMismatch, "tactic '" + step.tactic + "' is not known to this runtime for " +
                                                    std::string(to_string(kind_of(step.params))) +
                                                    "; rebuild the engine or update the runtime");
  if (tactic->info().version != step.tactic_version)
    return Status(StatusCode::kVersionMismatch, "tactic '" + step.tactic + "': version: got " + std::to_string(step.tactic_version) +
                                                    ", need " + std::to_string(tactic->info().version) + "; rebuild the engine");
  if (!step.bodies.empty()) return {};  // the context runs its bodies
  std::vector<Operand> inputs, outputs;
  for (size_t i = 0; i < step.inputs.size(); ++i)
    inputs.push_back(operand_of(plan, step.inputs[i], i < 32 && (step.packed_inputs >> i & 1) != 0));
  for (uint32_t slot : step.outputs) outputs.push_back(operand_of(plan, slot, false));
  const Problem problem{step.params, inputs, outputs, engine.device};
  if (const Support support = tactic->supports(problem); !support)
    return Status(StatusCode::kInvalidEngine, "tactic '" + step.tactic + "' refused it: " + support.refusal + "; rebuild the engine");
  if (tactic->packed_inputs(problem) != step.packed_inputs)
    return Status(StatusCode::kInvalidEngine, "tactic '" + step.tactic + "': packed inputs: got " + std::to_string(step.packed_inputs) +
                                                  ", need " + std::to_string(tactic->packed_inputs(problem)) + "; rebuild the engine");
  engine.run_allocates = engine.run_allocates || !tactic->info().library.empty();
  const uint64_t workspace = tactic->workspace_bytes(problem);
  if (workspace > kMaxArenaBytes) return Status(StatusCode::kInvalidEngine, "tactic '" + step.tactic + "' needs too much workspace");
  if (workspace > step.workspace_bytes) {
    loaded.shared_workspace = true;
    engine.shared_workspace_bytes = std::max(engine.shared_workspace_bytes, workspace);
  }
  const std::span<const std::byte> blob = step.blob == kNoIndex ? std::span<const std::byte>() : plan.blobs[step.blob];
  Expected<std::unique_ptr<Kernel>> kernel = tactic->load(problem, blob);
  if (!kernel.ok()) return kernel.take_status().with_context("tactic '" + step.tactic + "'");
  if (!*kernel) return Status(StatusCode::kInternal, "tactic '" + step.tactic + "' gave no kernel");
  loaded.kernel = *std::move(kernel);
  return {};
}

Status load_steps(Engine::Impl& engine, const Plan& plan, LoadedPlan& loaded) {
  loaded.plan = &plan;
  loaded.steps.resize(plan.steps.size());
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const Step& step = plan.steps[i];
    loaded.steps[i].late = step.late;
    loaded.steps[i].alias = is_alias_step(plan, step);
    if (step.shape_step) continue;
    Status status = load_step(engine, plan, step, loaded.steps[i]);
    if (!status.ok()) return std::move(status).with_context("step '" + step.name + "'");
  }
  loaded.constants.resize(plan.slots.size());
  for (size_t i = 0; i < plan.slots.size(); ++i) {
    const Slot& slot = plan.slots[i];
    if (slot.home == Slot::Home::kConstant && slot.offset < plan.blobs.size()) loaded.constants[i] = plan.blobs[slot.offset].data();
  }
  loaded.bodies.resize(plan.bodies.size());
  for (size_t i = 0; i < plan.bodies.size(); ++i) INGOT_TRY(load_steps(engine, plan.bodies[i], loaded.bodies[i]));
  return {};
}

std::string profile_name(size_t index) { return "profile " + std::to_string(index + 1); }

Expected<Engine> load_plan(OwnedPlan owned, const RuntimeOptions& options, std::string remark) {
  INGOT_TRY(check_options(options));
  INGOT_TRY(validate_plan(owned.plan));
  if (owned.more.size() >= kMaxProfiles)
    return Status(StatusCode::kInvalidEngine, "profiles: got " + std::to_string(owned.more.size() + 1) + ", need at most " + std::to_string(kMaxProfiles));
  for (size_t i = 0; i < owned.more.size(); ++i) {
    Status status = validate_plan(owned.more[i]);
    if (status.ok()) status = validate_same_network(owned.plan, owned.more[i]);
    if (!status.ok()) return std::move(status).with_context(profile_name(i + 1));
  }
  auto engine = std::make_shared<Engine::Impl>();
  engine->owned = std::move(owned);
  engine->options = options;
  engine->device = cpu_device(options);
  engine->remark = std::move(remark);
  if (engine->owned.plan.target.starts_with("cuda-")) {
    INGOT_ASSIGN(engine->device, find_device(Backend::kCuda));
    engine->device.threads = options.threads;
    engine->device.allow_f16 = engine->device.allow_bf16 = true;  // permitted, or not used, when the plan was made
    engine->device.generated = true;
    if (!engine->owned.more.empty()) return Status(StatusCode::kUnsupported, "several profiles are not supported on a GPU; build with one --profile for each input");
  }
  engine->loaded.resize(engine->profiles());
  for (size_t i = 0; i < engine->profiles(); ++i) {
    Status status = load_steps(*engine, engine->plan(i), engine->loaded[i]);
    if (!status.ok()) return i == 0 ? std::move(status) : std::move(status).with_context(profile_name(i));
  }
  if (engine->device.backend != Backend::kCpu) {
    if (engine->shared_workspace_bytes != 0)
      return Status(StatusCode::kInvalidEngine, "a step needs more workspace than planned; rebuild the engine");
    INGOT_ASSIGN(engine->on_device, upload_constants(engine->device.backend, engine->plan()));
  }
  return Engine(std::shared_ptr<const Engine::Impl>(std::move(engine)));
}

// Replaces blobs stored in half precision by memory that holds them in f32, in a plan and its bodies; one that several of
// them name is widened once.
class Widener {
 public:
  // A sound file names each of its halves about once; a hostile one could name a hundred thousand that overlap.
  Widener(OwnedPlan& owned, uint64_t most_bytes) : owned_(owned), bytes_left_(most_bytes) {}

  Status widen_all(Plan& plan) {
    for (uint32_t index : plan.halved) {
      std::span<const std::byte>& blob = plan.blobs[index];
      const auto [known, is_new] = widened_.try_emplace({blob.data(), blob.size()});
      if (is_new) INGOT_TRY(widen(blob, known->second));
      blob = known->second;
    }
    plan.halved.clear();
    for (Plan& body : plan.bodies) INGOT_TRY(widen_all(body));
    return {};
  }

 private:
  Status widen(std::span<const std::byte> half, std::span<const std::byte>& wide) {
    if (half.size() > bytes_left_) return Status(StatusCode::kInvalidEngine, "blobs: halves overlap too often");
    bytes_left_ -= half.size();
    const size_t count = half.size() / sizeof(uint16_t);
    INGOT_ASSIGN(Arena memory, Arena::allocate(count * sizeof(float)));
    auto owner = std::make_shared<Arena>(std::move(memory));
    auto* values = static_cast<float*>(static_cast<void*>(owner->at(0)));
    for (size_t i = 0; i < count; ++i) {
      uint16_t bits;
      std::memcpy(&bits, half.data() + i * sizeof bits, sizeof bits);
      values[i] = f16_to_f32(bits);
    }
    wide = {static_cast<const std::byte*>(static_cast<const void*>(values)), count * sizeof(float)};
    owned_.owners.push_back(std::move(owner));
    return {};
  }

  OwnedPlan& owned_;
  uint64_t bytes_left_;
  std::map<std::pair<const std::byte*, size_t>, std::span<const std::byte>> widened_;
};

Status no_cuda_plan() { return Status(StatusCode::kDeviceMismatch, "the file has no CUDA plan; rebuild the engine with --backend cuda"); }

// The plan for the newest GPU that is not newer than this one.
const EngineFile::Target* best_cuda_target(const EngineFile& file, int capability) {
  const EngineFile::Target* best = nullptr;
  int best_capability = 0;
  for (const EngineFile::Target& target : file.targets) {
    if (!target.name.starts_with("cuda-")) continue;
    const Expected<DeviceInfo> device = device_of_target(target.name);
    if (!device.ok() || device->cuda_capability > capability || device->cuda_capability <= best_capability) continue;
    best = &target;
    best_capability = device->cuda_capability;
  }
  return best;
}

// The further rows of a target: its plans for other profiles. Each has bytes of its own, so that what is decoded is bounded by
// the file's size.
Status decode_more(const EngineFile& file, const EngineFile::Target& first, OwnedPlan& owned) {
  const std::byte* end = first.plan.data() + first.plan.size();
  for (const EngineFile::Target& row : file.targets) {
    if (&row == &first || row.name != first.name) continue;
    const std::string where = profile_name(owned.more.size() + 1);
    if (owned.more.size() + 1 >= kMaxProfiles) return Status(StatusCode::kInvalidEngine, where + ": need at most " + std::to_string(kMaxProfiles));
    if (row.plan.data() < end) return Status(StatusCode::kInvalidEngine, where + ": its plan overlaps another, or stands before it");
    end = row.plan.data() + row.plan.size();
    Expected<Plan> plan = decode_plan(row.plan, file.blobs);
    if (!plan.ok()) return plan.take_status().with_context(where);
    owned.more.push_back(*std::move(plan));
  }
  return {};
}

Expected<Engine> load_target(const EngineFile& file, const EngineFile::Target& target, std::shared_ptr<const void> owner,
                             const RuntimeOptions& options, std::string remark) {
  INGOT_ASSIGN(Plan plan, decode_plan(target.plan, file.blobs));
  if (plan.target != target.name)
    return Status(StatusCode::kInvalidEngine, "target: got plan of '" + plan.target + "', need '" + target.name + "'");
  OwnedPlan owned{std::move(plan), {std::move(owner)}, std::string(file.report_json)};
  if (!target.name.starts_with("cuda-")) INGOT_TRY(decode_more(file, target, owned));
  Widener widener(owned, 4 * file.blobs.size());
  INGOT_TRY(widener.widen_all(owned.plan));
  for (Plan& more : owned.more) INGOT_TRY(widener.widen_all(more));
  return load_plan(std::move(owned), options, std::move(remark));
}

Expected<Engine> load_bytes(std::span<const std::byte> bytes, std::shared_ptr<const void> owner, const RuntimeOptions& options) {
  INGOT_TRY(check_options(options));
  INGOT_ASSIGN(const EngineFile file, read_engine_file(bytes, options.verify_checksums));
  std::string offered, remark;
  for (size_t i = 0; i < file.targets.size(); ++i)
    if (i == 0 || file.targets[i].name != file.targets[i - 1].name) offered += (i == 0 ? "" : ", ") + file.targets[i].name;
  if (options.backend != "cpu") {
    const bool has_plan = offered.find("cuda-") != std::string::npos;
    const Expected<DeviceInfo> device = has_plan ? find_device(Backend::kCuda) : Expected<DeviceInfo>(no_cuda_plan());
    const EngineFile::Target* best = device.ok() ? best_cuda_target(file, device->cuda_capability) : nullptr;
    if (best) return load_target(file, *best, std::move(owner), options, {});
    if (device.ok()) remark = "CUDA plans are for newer GPUs: got " + offered + ", need at most cuda-sm_" + std::to_string(device->cuda_capability);
    else if (has_plan) remark = device.status().message();
    if (options.backend == "cuda") return device.ok() ? Status(StatusCode::kDeviceMismatch, remark) : device.status().clone();
  }
  const CpuLevel level = cpu_device(options).cpu.level;
  for (const TargetRow& row : kTargets) {
    // A CPU with AVX512-VNNI need not have AVX-VNNI.
    const bool runs = row.level == CpuLevel::kAvxVnni ? level == row.level : row.level <= level;
    if (!runs) continue;
    for (const EngineFile::Target& target : file.targets)
      if (target.name == row.name) return load_target(file, target, std::move(owner), options, std::move(remark));
  }
  return Status(StatusCode::kDeviceMismatch, "no plan for this machine: got " + offered + ", need one that runs on " +
                                                 std::string(to_string(level)) + "; rebuild the engine with target cpu-x86-64");
}

TensorInfo info_of(const Engine::Impl& engine, size_t profile, uint32_t index) {
  const Slot& slot = engine.plan(profile).slots[index];
  TensorInfo info{slot.name, slot.type.dtype, slot.type.shape, slot.max_shape, slot.max_shape, slot.max_shape, {}};
  if (const ProfileEntry* entry = engine.range_of(profile, index)) info.min = entry->min, info.opt = entry->opt, info.dim_names = entry->dim_names;
  return info;
}

// What an input or output is over all profiles.
std::vector<TensorInfo> merged(const Engine::Impl& engine, std::vector<uint32_t> Plan::*tensors) {
  std::vector<TensorInfo> list;
  for (uint32_t slot : engine.plan().*tensors) list.push_back(info_of(engine, 0, slot));
  for (size_t p = 1; p < engine.profiles(); ++p)
    for (size_t i = 0; i < list.size(); ++i) {
      const TensorInfo more = info_of(engine, p, (engine.plan(p).*tensors)[i]);
      TensorInfo& info = list[i];
      for (int d = 0; d < info.shape.rank; ++d) {
        if (more.shape[d] != info.shape[d]) info.shape[d] = Shape::kDynamic;
        info.min[d] = std::min(info.min[d], more.min[d]);
        info.max[d] = std::max(info.max[d], more.max[d]);
      }
      if (tensors == &Plan::outputs) info.min = info.opt = info.max;
    }
  return list;
}

}  // namespace

DeviceInfo cpu_device(const RuntimeOptions& options) {
  DeviceInfo device;
  device.name = "cpu";
  device.cpu = detect_cpu_features();
  if (const auto level = parse_cpu_level(options.cpu_level)) device.cpu = narrowed(device.cpu, *level);
  device.threads = options.threads;
  device.fingerprint = cpu_model_name() + "; " + std::string(to_string(device.cpu.level)) + (device.cpu.avx512 ? " avx512" : "") +
                       "; " + std::to_string(options.threads) + (options.threads == 1 ? " thread" : " threads");
  return device;
}

const ProfileEntry* Engine::Impl::range_of(size_t profile, uint32_t slot) const {
  for (const ProfileEntry& entry : plan(profile).profile)
    if (entry.slot == slot) return &entry;
  return nullptr;
}

Expected<Engine> make_engine(OwnedPlan plan, const RuntimeOptions& options) try {
  return load_plan(std::move(plan), options, {});
} catch (const std::bad_alloc&) {
  return out_of_memory("make engine");
}

Expected<Engine> Engine::load_file(const std::string& path, const RuntimeOptions& options) try {
  const std::string where = "engine '" + path + "'";
  Expected<MappedFile> file = map_file(path);
  if (!file.ok()) return file.take_status().with_context(where);
  Expected<Engine> engine = load_bytes(file->bytes, std::move(file->owner), options);
  if (!engine.ok()) return engine.take_status().with_context(where);
  return engine;
} catch (const std::bad_alloc&) {
  return out_of_memory("load engine");
}

Expected<Engine> Engine::load(std::span<const std::byte> file, const RuntimeOptions& options) try {
  Expected<Engine> engine = load_bytes(file, nullptr, options);
  if (!engine.ok()) return engine.take_status().with_context("engine");
  return engine;
} catch (const std::bad_alloc&) {
  return out_of_memory("load engine");
}

std::vector<TensorInfo> Engine::inputs() const { return merged(*impl_, &Plan::inputs); }
std::vector<TensorInfo> Engine::outputs() const { return merged(*impl_, &Plan::outputs); }

size_t Engine::profiles() const { return impl_->profiles(); }

std::vector<TensorInfo> Engine::inputs(size_t profile) const {
  std::vector<TensorInfo> list;
  if (profile >= profiles()) return list;
  for (uint32_t slot : plan(profile).inputs) list.push_back(info_of(*impl_, profile, slot));
  return list;
}

size_t Engine::arena_bytes() const { return impl_->plan_arena_bytes() + impl_->shared_workspace_bytes; }

size_t Engine::weight_bytes() const {
  std::set<const std::byte*> counted;  // equal blobs are stored once
  size_t bytes = 0;
  const auto add = [&](const auto& self, const Plan& plan) -> void {
    for (const auto blob : plan.blobs)
      if (!blob.empty() && counted.insert(blob.data()).second) bytes += blob.size();
    for (const Plan& body : plan.bodies) self(self, body);
  };
  for (size_t i = 0; i < profiles(); ++i) add(add, plan(i));
  return bytes;
}

std::string_view Engine::report_json() const { return impl_->owned.report_json; }
std::string_view Engine::model_hash() const { return plan().model_hash; }
bool Engine::run_allocates() const { return impl_->run_allocates; }
std::string_view Engine::remark() const { return impl_->remark; }
std::string_view Engine::target() const { return plan().target; }
const Plan& Engine::plan(size_t profile) const { return impl_->plan(profile); }

Expected<ExecutionContext> Engine::create_context() const try {
  return make_context(impl_);
} catch (const std::bad_alloc&) {
  return out_of_memory("create context");
}

std::string_view version() { return INGOT_VERSION; }

}  // namespace ingot
