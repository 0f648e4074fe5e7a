// engine-run: runs an engine on data, times it, or profiles it layer by layer.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "cli.h"
#include "ingot/builder.h"
#include "latency.h"
#include "run_samples.h"
#include "runtime/step_observer.h"
#include "sample_options.h"

namespace {

using namespace ingot;
using Clock = std::chrono::steady_clock;
constexpr const char* kTool = "engine-run";

struct Flags {
  std::string engine, onnx, data, outputs_dir, format = "pb";
  std::vector<std::string> inputs, shapes, profiles, limits;
  bool bench = false, profile = false;
  double seconds = 3;
  RuntimeOptions runtime;
  cli::SampleFlags samples;
  cli::StandardOptions standard;
};

// Medians: a mean over runs that other programs interrupt says little about a layer.
class Profiler final : public StepObserver {
 public:
  struct Row {
    std::string name, tactic;
    std::vector<double> each_us;
    double median_us = 0;
  };
  std::vector<Row> rows;
  void after_step(size_t index, const Step& step, std::span<const ConstTensorRef>, std::span<const ConstTensorRef>, double elapsed_us) override {
    if (rows.size() <= index) rows.resize(index + 1);
    if (rows[index].name.empty()) rows[index] = {step.name, step.tactic, {}};
    rows[index].each_us.push_back(elapsed_us);
  }
  void conclude() {
    for (Row& row : rows)
      if (!row.each_us.empty()) {
        const auto middle = row.each_us.begin() + static_cast<ptrdiff_t>(row.each_us.size() / 2);
        std::nth_element(row.each_us.begin(), middle, row.each_us.end());
        row.median_us = *middle;
      }
  }
};

Expected<Engine> load(const Flags& flags, SampleSource* samples) {
  if (flags.onnx.empty()) return Engine::load_file(flags.engine, flags.runtime);
  BuildOptions options;
  options.threads = flags.runtime.threads;
  options.cpu_level = flags.runtime.cpu_level;
  options.verify = false;
  options.tune = flags.bench || flags.profile;
  options.calibration = samples;  // for the shapes only
  for (const std::string& text : flags.profiles) {
    INGOT_ASSIGN(ShapeProfile profile, parse_profile(text));
    options.profiles.push_back(std::move(profile));
  }
  for (const std::string& text : flags.limits) {
    INGOT_ASSIGN(TensorLimit limit, parse_limit(text));
    options.limits.push_back(std::move(limit));
  }
  return build_and_load(flags.onnx, options);
}

Status run_all(const Flags& flags, const Engine& engine, SampleSource& source) {
  INGOT_ASSIGN(ExecutionContext context, engine.create_context());
  cli::own_outputs(context, engine);
  if (!flags.outputs_dir.empty()) {
    std::error_code error;
    std::filesystem::create_directories(flags.outputs_dir, error);
    if (error) return Status(StatusCode::kDeviceError, "'" + flags.outputs_dir + "': cannot be made: " + error.message());
  }
  INGOT_TRY(source.rewind());
  std::vector<NamedTensor> sample;
  int64_t count = 0;
  while (true) {
    INGOT_ASSIGN(const bool more, source.next(sample));
    if (!more) break;
    INGOT_TRY(feed_sample(context, engine, sample));
    INGOT_TRY(context.run());
    INGOT_ASSIGN(const std::vector<NamedTensor> outputs, cli::outputs_of(context, engine));
    if (!flags.outputs_dir.empty()) {
      if (flags.format == "npz") {
        char name[32];
        std::snprintf(name, sizeof name, "/%04lld.npz", static_cast<long long>(count));
        INGOT_TRY(save_tensors(flags.outputs_dir + name, outputs));
      } else {
        // One sample: out_0.pb …; more: a folder for each.
        std::string folder = flags.outputs_dir;
        if (flags.inputs.empty()) {
          folder += "/sample_" + std::to_string(count);
          std::filesystem::create_directories(folder);
        }
        for (size_t i = 0; i < outputs.size(); ++i)
          INGOT_TRY(save_tensors(folder + "/out_" + std::to_string(i) + ".pb", {&outputs[i], 1}));
      }
    } else {
      for (const NamedTensor& output : outputs) {
        std::printf("%s %s %s", output.name.c_str(), std::string(to_string(output.dtype)).c_str(), to_string(output.shape).c_str());
        if (output.dtype == DataType::kF32)
          for (size_t i = 0; i < std::min<size_t>(output.data.size() / 4, 8); ++i)
            std::printf(" %.6g", static_cast<double>(reinterpret_cast<const float*>(output.data.data())[i]));
        std::printf("\n");
      }
    }
    ++count;
  }
  std::printf("%lld samples%s%s\n", static_cast<long long>(count), flags.outputs_dir.empty() ? "" : ", outputs in ", flags.outputs_dir.c_str());
  return {};
}

Status time_it(const Flags& flags, const Engine& engine, SampleSource* source) {
  INGOT_ASSIGN(ExecutionContext context, engine.create_context());
  cli::own_outputs(context, engine);
  std::vector<NamedTensor> sample;
  bool has_sample = false;
  if (source) {
    INGOT_TRY(source->rewind());
    INGOT_ASSIGN(has_sample, source->next(sample));
  }
  if (has_sample) INGOT_TRY(feed_sample(context, engine, sample));
  else INGOT_TRY(cli::feed_random(context, engine));
  for (const std::string& text : flags.shapes) {
    INGOT_ASSIGN(const ShapeProfile shape, parse_profile(text));
    INGOT_TRY(context.set_shape(shape.input, shape.opt));
  }
  const auto* stop = cli::stop_on_interrupt();
  for (int i = 0; i < 3; ++i) INGOT_TRY(context.run());
  Profiler profiler;
  if (flags.profile) context.set_observer(&profiler);
  std::vector<double> milliseconds;
  const auto start = Clock::now();
  const auto end = start + std::chrono::duration<double>(flags.seconds);
  while (milliseconds.empty() || (Clock::now() < end && !*stop)) {
    const auto before = Clock::now();
    INGOT_TRY(context.run());
    milliseconds.push_back(std::chrono::duration<double, std::milli>(Clock::now() - before).count());
  }
  if (*stop) return Status(StatusCode::kInterrupted, "interrupted while timing");
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  const cli::LatencySummary latency = cli::summarize(milliseconds);
  int64_t batch = 1;
  if (!engine.inputs().empty()) {
    INGOT_ASSIGN(const Shape shape, context.shape(engine.inputs()[0].name));
    if (shape.rank > 0) batch = shape[0];
  }
  const double throughput = static_cast<double>(latency.runs) * static_cast<double>(batch) / seconds;
  if (flags.profile) {
    double total = 0;
    profiler.conclude();
    for (const auto& row : profiler.rows) total += row.median_us;
    std::printf("%10s %6s  %-34s %s\n", "us", "share", "tactic", "layer");
    for (const auto& row : profiler.rows)
      if (!row.name.empty())
        std::printf("%10.1f %5.1f%%  %-34s %s\n", row.median_us, 100 * row.median_us / total, row.tactic.c_str(), row.name.c_str());
  }
  std::printf("latency ms: min %.3f  median %.3f  mean %.3f  p90 %.3f  p99 %.3f   (%zu runs, batch %lld, %d threads)\n", latency.min,
              latency.median, latency.mean, latency.p90, latency.p99, latency.runs, static_cast<long long>(batch), flags.runtime.threads);
  std::printf("throughput: %.1f per second\n", throughput);
  nlohmann::json json = {{"latency_ms", cli::to_json(latency)}, {"throughput_per_s", throughput}, {"threads", flags.runtime.threads},
                         {"target", engine.target()}, {"batch", batch}, {"runs", latency.runs}, {"arena_bytes", engine.arena_bytes()},
                         {"weight_bytes", engine.weight_bytes()}, {"peak_resident_bytes", cli::peak_resident_bytes()}};
  if (flags.profile) {
    json["profile"] = nlohmann::json::array();
    for (const auto& row : profiler.rows)
      if (!row.name.empty())
        json["profile"].push_back({{"layer", row.name}, {"tactic", row.tactic}, {"microseconds", row.median_us}});
  }
  return cli::write_json(flags.standard, json);
}

Status run(const Flags& flags) {
  std::unique_ptr<SampleSource> source;
  if (!flags.inputs.empty()) {
    std::vector<NamedTensor> sample;
    for (const std::string& path : flags.inputs) {
      INGOT_ASSIGN(std::vector<NamedTensor> tensors, load_tensors(path));
      for (NamedTensor& tensor : tensors) sample.push_back(std::move(tensor));
    }
    if (!flags.onnx.empty()) {
      // The model's names: files are given in its order, whatever they call themselves.
      INGOT_ASSIGN(const std::vector<std::string> names, model_input_names(flags.onnx));
      const auto named = [&](const NamedTensor& tensor) { return std::find(names.begin(), names.end(), tensor.name) != names.end(); };
      if (sample.size() == names.size() && !std::all_of(sample.begin(), sample.end(), named))
        for (size_t i = 0; i < names.size(); ++i) sample[i].name = names[i];
    }
    source = std::make_unique<cli::MemorySource>(std::vector<std::vector<NamedTensor>>{std::move(sample)});
  } else if (!flags.data.empty()) {
    std::vector<std::string> names;
    if (!flags.onnx.empty()) {
      INGOT_ASSIGN(names, model_input_names(flags.onnx));
    } else {
      INGOT_ASSIGN(const Engine engine, Engine::load_file(flags.engine, flags.runtime));
      for (const TensorInfo& input : engine.inputs()) names.push_back(input.name);
    }
    INGOT_ASSIGN(SampleFiles files, cli::open_samples(flags.data, flags.samples, std::move(names)));
    source = std::move(files.source);
  }
  INGOT_ASSIGN(const Engine engine, load(flags, source.get()));
  cli::note_remark(kTool, engine);
  std::printf("target %s\n", std::string(engine.target()).c_str());
  const bool only_outputs = source || (!flags.onnx.empty() && engine.inputs().empty());
  if (only_outputs && !source) source = std::make_unique<cli::MemorySource>(std::vector<std::vector<NamedTensor>>{{}});
  if (source && !flags.bench && !flags.profile) return run_all(flags, engine, *source);
  return time_it(flags, engine, source.get());
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Runs an engine on data, times it, or profiles it layer by layer.", kTool);
  app.footer("Without data it times the engine on random inputs. With --inputs or --data it runs them, and writes the outputs to\n"
             "--outputs-dir or prints their first values.\n"
             "Exit status: 0 ok; 1 an input is wrong; 2 usage; 3 the model uses something unsupported.");
  Flags flags;
  auto* engine = app.add_option("engine", flags.engine, "the engine file")->type_name("ENGINE");
  auto* onnx = app.add_option("--onnx", flags.onnx, "an ONNX model instead: built in FP32, in memory")->type_name("MODEL");
  engine->excludes(onnx);
  app.add_option("--inputs", flags.inputs, "one run's inputs, in the model's order: a.pb,b.pb (also .npy, .npz)")->delimiter(',')->type_name("FILES");
  app.add_option("--data", flags.data, "samples: a folder of images or arrays, or one file")->type_name("PATH");
  app.add_option("--outputs-dir", flags.outputs_dir, "writes out_0.pb, out_1.pb … (or NNNN.npz, see --format)")->type_name("DIR");
  app.add_option("--format", flags.format, "of the outputs: pb or npz")->capture_default_str()->check(CLI::IsMember({"pb", "npz"}));
  app.add_option("--profile-shapes", flags.profiles, "with --onnx: dims of dynamic inputs, min:opt:max")->delimiter(',')->type_name("PROFILE")->check(CLI::Validator(cli::check_profile, ""));
  app.add_option("--limit", flags.limits, "with --onnx: the most that a tensor's dims may be where they depend on data")->delimiter(',')->type_name("LIMIT")->check(CLI::Validator(cli::check_limit, ""));
  app.add_option("--shape", flags.shapes, "when timing: sets an input's shape, as x=1x3x48x320")->type_name("SHAPE")->check(CLI::Validator(cli::check_profile, ""));
  app.add_flag("--bench", flags.bench, "times it");
  app.add_flag("--profile", flags.profile, "times every layer");
  app.add_option("--threads", flags.runtime.threads, "threads of a run")->capture_default_str()->check(CLI::Range(1, 1024));
  cli::add_cpu_level_option(app, flags.runtime.cpu_level);
  cli::add_backend_option(app, flags.runtime.backend);
  app.add_option("--seconds", flags.seconds, "how long to time")->capture_default_str()->check(cli::finite_range(1e-3, 1e6));
  cli::add_sample_flags(app, flags.samples);
  cli::add_standard_options(app, flags.standard);
  if (const auto done = cli::parse(app, argc, argv)) return *done;
  cli::keep_stdout_for_json(flags.standard);
  if (flags.engine.empty() == flags.onnx.empty()) {
    return cli::usage(kTool, "give an engine file, or --onnx MODEL");
  }
  return cli::finish(kTool, run(flags));
}
