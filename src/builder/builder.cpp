// The facade: import → canonicalise → fuse → calibrate → quantise → tune → plan → verify → write.
#include "ingot/builder.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <new>
#include <set>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "builder/build_report.h"
#include "builder/calibrate.h"
#include "builder/check_report.h"
#include "builder/kernel_compiler.h"
#include "builder/onnx/import_model.h"
#include "builder/run_passes.h"
#include "builder/pipeline.h"
#include "builder/plan/emit_plan.h"
#include "builder/verify_engine.h"
#include "runtime/device_backend.h"
#include "runtime/format/engine_file.h"
#include "runtime/tactic_registry.h"

namespace ingot {
namespace {

// Where a link leads is written; the link stays.
std::string behind_links(const std::string& path) {
  std::error_code error;
  std::filesystem::path at = path;
  for (int i = 0; i < 40 && std::filesystem::is_symlink(std::filesystem::symlink_status(at, error)); ++i) {
    const std::filesystem::path to = std::filesystem::read_symlink(at, error);
    if (error) break;
    at = to.is_absolute() ? to : at.parent_path() / to;
  }
  return at.string();
}

Status check_libraries(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const auto tactics = TacticRegistry::builtin().all();
    if (std::any_of(tactics.begin(), tactics.end(), [&](const Tactic* tactic) { return tactic->info().library == name && !name.empty(); })) continue;
    return Status(StatusCode::kInvalidArgument, "tactics: this program has none of '" + name + "': got a build without it, need one configured with INGOT_WITH_ONEDNN for onednn");
  }
  return {};
}

// Whether an engine takes the shapes of a sample; what else may be wrong with it, feed_sample() says.
bool holds(const Engine& engine, std::span<const NamedTensor> sample) {
  const std::vector<TensorInfo> inputs = engine.inputs();
  for (size_t k = 0; k < sample.size(); ++k) {
    auto input = std::find_if(inputs.begin(), inputs.end(), [&](const TensorInfo& info) { return info.name == sample[k].name; });
    if (input == inputs.end() && k < inputs.size()) input = inputs.begin() + static_cast<std::ptrdiff_t>(k);
    if (input == inputs.end() || input->min.rank != sample[k].shape.rank) continue;
    for (int i = 0; i < input->min.rank; ++i)
      if (sample[k].shape[i] < input->min[i] || sample[k].shape[i] > input->max[i]) return false;
  }
  return true;
}

// Layers on f16 keep their weights as f32, which the file can store in half without loss.
bool holds_widened(const Plan& plan) {
  return std::any_of(plan.steps.begin(), plan.steps.end(), [](const Step& step) { return step.tactic.find(".half") != std::string::npos; }) ||
         std::any_of(plan.bodies.begin(), plan.bodies.end(), holds_widened);
}

// Tactics, memory and verification for one device. `runs_here`: it can be tried out on this machine; `is_here`: and timed, since it
// is this machine's own. `one_of_several`: the samples may be for other profiles.
Expected<OwnedPlan> plan_for(const Graph& graph, DeviceInfo device, bool runs_here, bool is_here, TimingCache& cache, const BuildOptions& options,
                             bool one_of_several = false) {
  device.allow_f16 = options.fp16;
  device.allow_bf16 = options.bf16;
  const bool measured = options.tune && !options.reference_only && is_here;
  const auto costs = measured ? make_measured_cost(device, cache, options.time_budget_s) : make_estimated_cost(device);
  INGOT_ASSIGN(const Selection selection, select_tactics(graph, *costs, device, options));
  INGOT_ASSIGN(EmittedPlan emitted, emit_plan(graph, selection, device, options.stop));
  emitted.owned.plan.halve_blobs = options.fp16 || holds_widened(emitted.owned.plan);
  VerifyResult verified;
  if (options.verify && runs_here) {
    if (options.progress) options.progress({"verifying", 0, 1, -1});
    std::vector<NamedTensor> sample;
    if (options.calibration) {
      INGOT_TRY(options.calibration->rewind());
      INGOT_TRY(options.calibration->next(sample).take_status());
    }
    // The engine under test shares the plan's memory; the plan is copied, its bytes are not.
    RuntimeOptions runtime{options.threads, options.cpu_level, true};
    runtime.loop_limit = kVerifiedIterations;
    INGOT_ASSIGN(const Engine engine, make_engine(OwnedPlan{emitted.owned.plan, emitted.owned.owners, {}}, runtime));
    if (one_of_several && !holds(engine, sample)) sample.clear();
    INGOT_ASSIGN(verified, verify_engine(graph, emitted, engine, sample, options.stop));
  }
  emitted.owned.report_json = build_report_json(graph, selection, emitted, device, options, verified);
  return std::move(emitted.owned);
}

struct Built {
  OwnedPlan plan;                 // for the CPU: every engine has one, or one for each profile
  std::vector<OwnedPlan> others;  // for options.targets
  std::optional<CalibrationTable> table;
  std::vector<std::string> warnings;
};

nlohmann::ordered_json profile_report(const Plan& plan, const nlohmann::ordered_json& report) {
  nlohmann::ordered_json entry;
  for (const ProfileEntry& range : plan.profile)
    entry["inputs"][plan.slots[range.slot].name] = to_string(range.min) + ":" + to_string(range.opt) + ":" + to_string(range.max);
  for (const char* key : {"summary", "memory", "verified"}) entry[key] = report[key];
  return entry;
}

// The contents of blobs, bodies' included: those of plans made one by one are equal, but not at one place.
void collect_blobs(const Plan& plan, std::set<std::string_view>& blobs) {
  for (const auto& blob : plan.blobs) blobs.emplace(reinterpret_cast<const char*>(blob.data()), blob.size());
  for (const Plan& body : plan.bodies) collect_blobs(body, blobs);
}

// One plan for each profile, from a graph of its own, since passes fold what a profile fixes. The report is the first's, with a
// summary of each.
Expected<OwnedPlan> plan_profiles(const std::string& model_path, const BuildOptions& options, const DeviceInfo& device, TimingCache& cache) {
  OwnedPlan all;
  nlohmann::ordered_json report, summaries;
  const size_t count = 1 + options.more_profiles.size();
  uint64_t arena = 0;
  for (size_t i = 0; i < count; ++i) {
    BuildOptions own = options;
    own.more_profiles.clear();
    own.time_budget_s = options.time_budget_s / static_cast<double>(count);
    if (i != 0) own.profiles = options.more_profiles[i - 1];
    if (i != 0) own.dump_graphs_dir.clear();
    const std::string where = "profile " + std::to_string(i + 1);
    auto graph = make_float_graph(model_path, own);
    Status quantised = graph.ok() ? run_quantise_passes(*graph, own) : graph.take_status();
    if (!quantised.ok()) return std::move(quantised).with_context(where);
    auto made = plan_for(*graph, device, true, true, cache, own, true);
    if (!made.ok()) return made.take_status().with_context(where);
    const auto made_report = nlohmann::ordered_json::parse(made->report_json);
    summaries.push_back(profile_report(made->plan, made_report));
    arena = std::max(arena, made->plan.arena_bytes);
    all.owners.insert(all.owners.end(), made->owners.begin(), made->owners.end());
    if (i == 0) report = made_report;
    if (i == 0) all.plan = std::move(made->plan);
    else all.more.push_back(std::move(made->plan));
  }
  std::set<std::string_view> blobs;
  collect_blobs(all.plan, blobs);
  for (const Plan& plan : all.more) collect_blobs(plan, blobs);
  uint64_t weights = 0;
  for (std::string_view blob : blobs) weights += blob.size();
  report["memory"]["arena_bytes"] = arena;
  report["memory"]["weight_bytes"] = weights;
  report["profiles"] = std::move(summaries);
  all.report_json = report.dump(1);
  return all;
}

Status check_profile_count(const BuildOptions& options) {
  if (options.more_profiles.size() >= kMaxProfiles)
    return Status(StatusCode::kInvalidArgument, "profiles: got " + std::to_string(1 + options.more_profiles.size()) + ", need at most " + std::to_string(kMaxProfiles));
  if (!options.more_profiles.empty() && !options.targets.empty())
    return Status(StatusCode::kUnsupported, "several profiles are for the CPU only: leave out --targets, or give one --profile for each input");
  return {};
}

Expected<Built> build_plan(const std::string& model_path, const BuildOptions& given) {
  BuildOptions options = given;
  INGOT_TRY(check_pass_names(options.disabled_passes));
  INGOT_TRY(check_libraries(options.tactic_libraries));
  INGOT_TRY(check_profile_count(options));
  const bool several = !options.more_profiles.empty();
  const bool calibrates = options.int8 && !options.calibration_table && options.calibration;
  Built built;
  INGOT_ASSIGN(TimingCache cache, load_timing_cache(options.timing_cache));
  INGOT_ASSIGN(Graph graph, make_float_graph(model_path, several && calibrates ? with_widest_profile(options) : options));

  for (const std::string& tensor : graph.unused_limits())
    built.warnings.push_back("limit of '" + tensor + "': no tensor of that name has a size that depends on data");
  const bool trained = has_quantisation(graph);
  if (trained && options.int8)
    built.warnings.push_back("the model brings its own Q/DQ: its scales are kept, no calibration is needed");
  if (trained) options.calibration_table.reset();
  if (options.int8 && !trained) {
    if (options.calibration_table) {
      if (!options.calibration_table->model_hash.empty() && options.calibration_table->model_hash != graph.model_hash())
        return Status(StatusCode::kInvalidArgument, "calibration table: was made for another model: got " +
                                                        options.calibration_table->model_hash + ", need " + graph.model_hash() +
                                                        "; calibrate again, or edit its model line if that is meant");
    } else if (options.calibration) {
      INGOT_ASSIGN(options.calibration_table, calibrate_graph(graph, options));
      built.table = options.calibration_table;
    } else {
      return Status(StatusCode::kInvalidArgument, "int8: no calibration data and no Q/DQ in the model; give --calib PATH or --calib-table FILE");
    }
  }
  INGOT_TRY(check_float_layers(graph, options.float_layers));
  const DeviceInfo device = cpu_device({options.threads, options.cpu_level, true});
  if (several) {
    INGOT_ASSIGN(built.plan, plan_profiles(model_path, options, device, cache));
  } else {
    INGOT_TRY(run_quantise_passes(graph, options));
    INGOT_ASSIGN(built.plan, plan_for(graph, device, true, true, cache, options));
  }
  const auto keep_timings = [&]() -> Status {
    return options.timing_cache.empty() || !cache.changed() ? Status() : save_timing_cache(options.timing_cache, cache);
  };
  INGOT_TRY(keep_timings());
  if (options.targets.empty()) return built;
  auto report = nlohmann::ordered_json::parse(built.plan.report_json);
  const Expected<const KernelCompiler*> compiler = kernel_compiler();
  std::optional<Graph> without_chains;
  if (!compiler.ok()) {
    // Nothing but generated kernels runs chains on a GPU.
    built.warnings.push_back("element-wise layers of " + options.targets.front() + " are not fused: " + std::string(compiler.status().message()));
    BuildOptions plain = options;
    plain.disabled_passes.push_back("fuse_pointwise_chain");
    plain.dump_graphs_dir.clear();
    INGOT_ASSIGN(without_chains, make_float_graph(model_path, plain));
    INGOT_TRY(run_quantise_passes(*without_chains, plain));
  }
  for (const std::string& target : options.targets) {
    INGOT_ASSIGN(DeviceInfo other, device_of_target(target));
    other.generated = compiler.ok();
    other.compiler = compiler.ok() ? *compiler : nullptr;
    // A plan is verified where it can run; the reference is the same on every device.
    const Expected<DeviceInfo> here = find_device(other.backend);
    if (TacticRegistry::builtin().all(other.backend).empty()) return here.status().clone().with_context("target " + target);
    const bool runs_here = here.ok() && here->cuda_capability >= other.cuda_capability;
    if (!runs_here)
      built.warnings.push_back("plan for " + target + " is not verified: " +
                               (here.ok() ? "this machine's GPU is older" : std::string(here.status().message())));
    const bool is_here = here.ok() && here->cuda_capability == other.cuda_capability && here->keeps_time;
    if (is_here) {
      other.fingerprint = here->fingerprint;
      other.multiprocessors = here->multiprocessors;
    }
    auto more = plan_for(without_chains ? *without_chains : graph, other, runs_here, is_here, cache, options);
    if (!more.ok()) return std::move(more.take_status()).with_context("target " + target);
    report["other_targets"][target] = nlohmann::ordered_json::parse(more->report_json);
    built.others.push_back(*std::move(more));
  }
  built.plan.report_json = report.dump(1);
  INGOT_TRY(keep_timings());
  return built;
}

// Everything below the facade may throw bad_alloc; nothing above it has to know.
template <class T, class F>
Expected<T> guarded(F&& body) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return Status(StatusCode::kOutOfMemory, "build: out of memory; use a smaller --profile, or --no-verify, which needs less");
  } catch (const std::exception& error) {
    return Status(StatusCode::kInternal, std::string("build: ") + error.what());
  }
}

}  // namespace

Expected<ShapeProfile> parse_profile(std::string_view text) {
  const auto fail = [&](const char* what) {
    return Status(StatusCode::kInvalidArgument, "profile '" + std::string(text) + "': " + what + "; need input=MIN:OPT:MAX, as x=1x3x48x32:1x3x48x320:8x3x48x960");
  };
  const size_t equals = text.rfind('=');
  if (equals == std::string_view::npos || equals == 0) return fail("no input name");
  ShapeProfile profile;
  profile.input = text.substr(0, equals);
  std::string_view rest = text.substr(equals + 1);
  std::vector<Shape> shapes;
  while (true) {
    const size_t colon = rest.find(':');
    const auto shape = parse_shape(rest.substr(0, colon));
    if (!shape || !shape->is_static()) return fail("a shape cannot be read");
    shapes.push_back(*shape);
    if (colon == std::string_view::npos) break;
    rest.remove_prefix(colon + 1);
  }
  if (shapes.size() != 1 && shapes.size() != 3) return fail("one shape or three");
  profile.min = shapes.front();
  profile.opt = shapes[shapes.size() / 2];
  profile.max = shapes.back();
  if (profile.min.rank != profile.opt.rank || profile.opt.rank != profile.max.rank) return fail("ranks differ");
  for (int i = 0; i < profile.min.rank; ++i)
    if (profile.min[i] > profile.opt[i] || profile.opt[i] > profile.max[i]) return fail("need min ≤ opt ≤ max in each dim");
  return profile;
}

void add_profile(BuildOptions& options, ShapeProfile profile) {
  std::vector<ShapeProfile>& latest = options.more_profiles.empty() ? options.profiles : options.more_profiles.back();
  const bool known = std::any_of(latest.begin(), latest.end(), [&](const ShapeProfile& p) { return p.input == profile.input; });
  if (known) options.more_profiles.push_back({std::move(profile)});
  else latest.push_back(std::move(profile));
}

Expected<TensorLimit> parse_limit(std::string_view text) {
  const size_t equals = text.rfind('=');
  const auto shape = equals == std::string_view::npos ? std::nullopt : parse_shape(text.substr(equals + 1));
  if (!shape || equals == 0)
    return Status(StatusCode::kInvalidArgument, "limit '" + std::string(text) + "': need tensor=SHAPE, as boxes=1000x4, with ? for a dim without a limit");
  return TensorLimit{std::string(text.substr(0, equals)), *shape};
}

Expected<BuildResult> build(const std::string& model_path, const BuildOptions& options) {
  return guarded<BuildResult>([&]() -> Expected<BuildResult> {
    INGOT_ASSIGN(Built built, build_plan(model_path, options));
    BuildResult result;
    std::vector<EngineTarget> targets = {{&built.plan.plan}};
    for (const Plan& more : built.plan.more) targets.push_back({&more});
    for (const OwnedPlan& other : built.others) targets.push_back({&other.plan});
    INGOT_ASSIGN(result.engine, encode_engine(targets, built.plan.report_json));
    result.report_json = std::move(built.plan.report_json);
    result.calibration_table = std::move(built.table);
    result.warnings = std::move(built.warnings);
    return result;
  });
}

Expected<Engine> build_and_load(const std::string& model_path, const BuildOptions& options) {
  return guarded<Engine>([&]() -> Expected<Engine> {
    INGOT_ASSIGN(Built built, build_plan(model_path, options));
    return make_engine(std::move(built.others.empty() ? built.plan : built.others.back()), {options.threads, options.cpu_level, true});
  });
}

Expected<CalibrationTable> calibrate(const std::string& model_path, const BuildOptions& options) {
  return guarded<CalibrationTable>([&]() -> Expected<CalibrationTable> {
    if (!options.calibration) return Status(StatusCode::kInvalidArgument, "calibration: no samples given");
    INGOT_ASSIGN(const Graph graph, make_float_graph(model_path, with_widest_profile(options)));
    return calibrate_graph(graph, options);
  });
}

Expected<std::string> check_model(const std::string& model_path, const BuildOptions& options) {
  return guarded<std::string>([&]() -> Expected<std::string> {
    for (const std::vector<ShapeProfile>& bucket : options.more_profiles) {
      BuildOptions own = options;
      own.profiles = bucket;
      INGOT_TRY(check_report_json(model_path, own).take_status());
    }
    return check_report_json(model_path, options);  // the first profile's
  });
}

Expected<std::vector<std::string>> model_input_names(const std::string& model_path) {
  INGOT_ASSIGN(const std::vector<ModelInput> inputs, read_model_inputs(model_path));
  std::vector<std::string> names;
  for (const ModelInput& input : inputs) names.push_back(input.name);
  return names;
}

Status write_file_atomically(const std::string& given, std::span<const std::byte> bytes) {
  const std::string path = behind_links(given);
  std::string beside = path + ".XXXXXX";
  const auto fail = [&](const std::string& doing) {
    return Status(StatusCode::kDeviceError, "'" + given + "': " + doing + ": " + std::strerror(errno));
  };
  // A device or a pipe is written to; only a file may be replaced.
  struct stat target;
  const bool special = ::stat(path.c_str(), &target) == 0 && !S_ISREG(target.st_mode);
  const int file = special ? ::open(path.c_str(), O_WRONLY | O_CLOEXEC) : ::mkstemp(beside.data());
  if (file < 0) return fail(special ? "cannot be opened for writing" : "cannot create a file beside it");
  size_t written = 0;
  while (written < bytes.size()) {
    const ssize_t count = ::write(file, bytes.data() + written, bytes.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      Status status = fail("write failed");
      ::close(file);
      if (!special) ::unlink(beside.c_str());
      return status;
    }
    written += static_cast<size_t>(count);
  }
  if (special) return ::close(file) == 0 ? Status() : fail("write failed");
  const mode_t mask = ::umask(0);
  ::umask(mask);
  const bool kept = ::fchmod(file, 0666 & ~mask) == 0 && ::fsync(file) == 0;
  if (::close(file) != 0 || !kept || ::rename(beside.c_str(), path.c_str()) != 0) {
    Status status = fail("write failed");
    ::unlink(beside.c_str());
    return status;
  }
  return {};
}

}  // namespace ingot
