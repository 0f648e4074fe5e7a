// engine-build: an ONNX model, and calibration data for INT8, become an engine file.
#include <chrono>
#include <filesystem>
#include <map>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>

#include "cli.h"
#include "ingot/builder.h"
#include "model_check.h"
#include "sample_options.h"

namespace {

using namespace ingot;
constexpr const char* kTool = "engine-build";

int fail(const Status& status) { return cli::fail(kTool, status); }

// The files of one build: if one cannot be written, none stays behind.
class Outputs {
 public:
  ~Outputs() {
    if (kept_) return;
    for (const std::string& path : written_)
      if (std::error_code ignored; std::filesystem::is_regular_file(path, ignored)) std::filesystem::remove(path, ignored);
  }
  Status write(const std::string& path, std::span<const std::byte> bytes) {
    if (path.empty()) return {};
    INGOT_TRY(write_file_atomically(path, bytes));
    written_.push_back(path);
    return {};
  }
  void keep() { kept_ = true; }

 private:
  std::vector<std::string> written_;
  bool kept_ = false;
};

// The folder of --dump-graphs: an interrupted build leaves no part of a dump behind.
class DumpFolder {
 public:
  explicit DumpFolder(std::string path) : path_(std::move(path)), was_there_(!path_.empty() && std::filesystem::exists(path_)) {
    for (const auto& name : graphs()) before_.insert(name);
  }
  void undo() const {
    std::error_code ignored;
    for (const auto& name : graphs())
      if (!before_.contains(name)) std::filesystem::remove(name, ignored);
    if (!path_.empty() && !was_there_) std::filesystem::remove(path_, ignored);  // where nothing else is in it
  }

 private:
  std::vector<std::filesystem::path> graphs() const {
    std::vector<std::filesystem::path> found;
    std::error_code error;
    if (path_.empty()) return found;
    for (std::filesystem::directory_iterator it(path_, error), end; !error && it != end; it.increment(error))
      if (it->path().extension() == ".graph") found.push_back(it->path());
    return found;
  }
  std::string path_;
  bool was_there_;
  std::set<std::filesystem::path> before_;
};

struct Flags {
  std::string model, output, calib, calib_table, save_table, report;
  std::vector<std::string> profiles, limits, disabled;
  std::string method = "percentile";
  bool check = false, no_tune = false, no_optimize = false, no_verify = false, calibrate_only = false;
};

// An output that would overwrite an input or another output; empty if there is none.
std::string clashing_paths(const Flags& flags, const std::string& timing_cache, const std::string& json) {
  const std::pair<const char*, const std::string*> paths[] = {
      {"the model", &flags.model}, {"--calib-table", &flags.calib_table}, {"--output", &flags.output}, {"--report", &flags.report},
      {"--save-calib-table", &flags.save_table}, {"--timing-cache", &timing_cache}, {"--json", &json}};
  std::map<std::string, const char*> seen;
  for (const auto& [name, path] : paths) {
    if (path->empty() || *path == "-") continue;
    std::error_code ignored;
    if (std::filesystem::exists(*path, ignored) && !std::filesystem::is_regular_file(*path, ignored)) continue;
    const auto [place, is_new] = seen.emplace(std::filesystem::weakly_canonical(*path, ignored).string(), name);
    if (!is_new) return std::string(name) + " and " + place->second + " are one file: '" + *path + "'";
  }
  return {};
}

Status fill_options(const Flags& flags, BuildOptions& options) {
  for (const std::string& text : flags.profiles) {
    INGOT_ASSIGN(ShapeProfile profile, parse_profile(text));
    add_profile(options, std::move(profile));
  }
  for (const std::string& text : flags.limits) {
    INGOT_ASSIGN(TensorLimit limit, parse_limit(text));
    options.limits.push_back(std::move(limit));
  }
  for (CalibrationMethod method : {CalibrationMethod::kMinMax, CalibrationMethod::kPercentile, CalibrationMethod::kEntropy, CalibrationMethod::kMeanSquaredError})
    if (to_string(method) == flags.method) options.method = method;
  if (!flags.calib_table.empty()) {
    INGOT_ASSIGN(const std::string text, cli::read_text_file(flags.calib_table));
    auto table = CalibrationTable::parse(text);
    if (!table.ok()) return std::move(table.take_status()).with_context("'" + flags.calib_table + "'");
    options.calibration_table = *std::move(table);
  }
  options.disabled_passes = flags.disabled;
  options.tune = !flags.no_tune;
  options.optimize = !flags.no_optimize;
  options.verify = !flags.no_verify;
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Casts an ONNX model into an engine: fused, quantised if asked, tuned for this machine, verified.", kTool);
  app.footer("Exit status: 0 ok; 1 a check failed or an input is wrong; 2 usage; 3 the model uses something unsupported.");
  Flags flags;
  BuildOptions options;
  cli::StandardOptions standard;
  cli::SampleFlags samples;
  app.add_option("model", flags.model, "the .onnx file")->required()->type_name("MODEL");
  app.add_flag("--check", flags.check, "builds nothing: says what is supported and what would run in which precision, by which kernel");
  app.add_option("-o,--output", flags.output, "the engine file (default: the model's name with .engine)")->type_name("FILE");
  app.add_flag("--int8", options.int8, "quantise to INT8, by --calib or --calib-table");
  app.add_flag("--fp16", options.fp16, "stores weights in half precision, and lets GPU plans compute in it (on a CPU they are computed in FP32)");
  app.add_flag("--bf16", options.bf16, "lets GPU plans compute in bfloat16, with f32's range and 8 bits of precision (nothing else changes on a CPU)");
  app.add_option("--calib", flags.calib, "calibration data: a folder of images or arrays, or one file")->type_name("PATH");
  app.add_option("--calib-table", flags.calib_table, "a calibration table made before; needs no data")->type_name("FILE");
  app.add_option("--save-calib-table", flags.save_table, "writes the calibration table of this build")->type_name("FILE");
  app.add_flag("--calibrate-only", flags.calibrate_only, "writes the table (--save-calib-table) and builds no engine");
  app.add_option("--method", flags.method, "how a histogram becomes a range")->capture_default_str()->check(CLI::IsMember({"minmax", "percentile", "entropy", "mse"}));
  app.add_option("--percentile", options.percentile, "share of values kept at each side, in percent")->capture_default_str()->check(cli::finite_range(50, 100));
  app.add_option("--calib-samples", options.max_calibration_samples, "uses at most this many samples (0: all)")->capture_default_str()->check(CLI::NonNegativeNumber);
  app.add_option("--float-layer", options.float_layers, "keeps a layer or tensor in float (may be repeated)")->type_name("NAME");
  cli::add_sample_flags(app, samples);
  app.add_option("--profile", flags.profiles, "dims of dynamic inputs, min:opt:max, as 'x=1x3x48x32:1x3x48x320:8x3x48x960'; several parted by commas; a second one of an input opens a further profile of the engine")->delimiter(',')->type_name("PROFILE")->check(CLI::Validator(cli::check_profile, ""));
  app.add_option("--limit", flags.limits, "the most that a tensor's dims may be where they depend on data, as 'boxes=1000x4', ? for no limit; several parted by commas")->delimiter(',')->type_name("LIMIT")->check(CLI::Validator(cli::check_limit, ""));
  app.add_option("--threads", options.threads, "threads that a run will use; tuned for")->capture_default_str()->check(CLI::Range(1, 1024));
  cli::add_cpu_level_option(app, options.cpu_level);
  app.add_option("--targets", options.targets, "plans to add to the CPU's, parted by commas: cuda-sm_80, cuda-sm_86, cuda-sm_89, cuda-sm_90; needs no GPU")->delimiter(',')->type_name("TARGET")->check(CLI::IsMember({"cuda-sm_80", "cuda-sm_86", "cuda-sm_89", "cuda-sm_90"}));
  app.add_option("--timing-cache", options.timing_cache, "timings are read from and added to this file")->type_name("FILE");
  app.add_option("--time-budget", options.time_budget_s, "seconds for timing kernels, of the whole build a part (0: as long as it takes)")->capture_default_str()->check(cli::finite_range(0, 1e6));
  app.add_flag("--no-tune", flags.no_tune, "estimated costs instead of measured ones: the same on every machine");
  app.add_flag("--no-optimize", flags.no_optimize, "no optional passes");
  app.add_flag("--reference", options.reference_only, "every layer by reference code: slow, the oracle");
  app.add_flag("--no-verify", flags.no_verify, "does not replay the engine against reference code");
  app.add_option("--tactics", options.tactic_libraries, "permits kernels of a library, whose runs allocate: onednn")->type_name("LIBRARY")->check(CLI::IsMember({"onednn"}));
  app.add_option("--disable-pass", flags.disabled, "leaves a pass out (may be repeated)")->type_name("PASS");
  app.add_option("--dump-graphs", options.dump_graphs_dir, "writes the graph after each pass into a folder")->type_name("DIR");
  app.add_option("--report", flags.report, "writes the build report as JSON")->type_name("FILE");
  cli::add_standard_options(app, standard);
  if (const auto done = cli::parse(app, argc, argv)) return *done;
  cli::keep_stdout_for_json(standard);

  if (flags.check && (!flags.output.empty() || !flags.report.empty() || !flags.save_table.empty() || flags.calibrate_only || !options.timing_cache.empty()))
    return cli::usage(kTool, "--check: builds nothing, so that no file is written but that of --json");
  if (flags.output.empty()) flags.output = std::filesystem::path(flags.model).replace_extension(".engine").string();
  if (!flags.calib.empty() && !flags.calib_table.empty()) return cli::usage(kTool, "--calib and --calib-table: give one of them");
  if (!options.int8 && !flags.calibrate_only) {
    const std::pair<const char*, bool> given[] = {{"--calib-table", !flags.calib_table.empty()},
        {"--save-calib-table", !flags.save_table.empty()}, {"--method", app.count("--method") > 0}, {"--percentile", app.count("--percentile") > 0},
        {"--float-layer", app.count("--float-layer") > 0}};
    for (const auto& [name, is_given] : given)
      if (is_given) return cli::usage(kTool, std::string(name) + ": does nothing without --int8; add --int8, or leave it out");
  }
  if (!flags.calib.empty() && !options.int8 && !flags.calibrate_only)
    std::cerr << kTool << ": note: --calib without --int8: the samples only give the sizes of open dims and verify the engine; add --int8 to quantise\n";
  if (flags.calibrate_only && flags.save_table.empty()) return cli::usage(kTool, "--calibrate-only: needs --save-calib-table FILE");
  if (flags.calibrate_only && flags.calib.empty()) return cli::usage(kTool, "--calibrate-only: needs --calib PATH");
  if (const std::string clash = clashing_paths(flags, options.timing_cache, standard.json_path); !clash.empty()) return cli::usage(kTool, clash);
  if (Status status = fill_options(flags, options); !status.ok()) return fail(status);

  SampleFiles files;
  if (!flags.calib.empty()) {
    auto names = model_input_names(flags.model);
    if (!names.ok()) return fail(names.status());
    auto opened = cli::open_samples(flags.calib, samples, *std::move(names));
    if (!opened.ok()) return fail(opened.status());
    files = *std::move(opened);
    options.calibration = files.source.get();
  }

  if (flags.check) return cli::check_and_print(kTool, flags.model, options, standard);

  const auto start = std::chrono::steady_clock::now();
  cli::ProgressLine line;
  std::string stage;
  auto stage_start = start;
  options.progress = [&](const Progress& progress) {
    const auto now = std::chrono::steady_clock::now();
    if (stage != progress.stage) {
      stage = progress.stage;
      stage_start = now;
    }
    double left = progress.seconds_left;
    if (left < 0 && progress.done > 0 && progress.total > 0)
      left = std::chrono::duration<double>(now - stage_start).count() * static_cast<double>(progress.total - progress.done) / static_cast<double>(progress.done);
    line.update(progress.stage, progress.done, progress.total, left);
  };
  options.stop = cli::stop_on_interrupt();

  Outputs outputs;
  const auto write_table = [&](const CalibrationTable& table) {
    const std::string text = table.to_text();
    return outputs.write(flags.save_table, std::as_bytes(std::span(text)));
  };
  if (flags.calibrate_only) {
    auto table = calibrate(flags.model, options);
    line.clear();
    if (!table.ok()) return fail(table.status());
    if (Status status = write_table(*table); !status.ok()) return fail(status);
    outputs.keep();
    std::cout << flags.save_table << ": " << table->ranges.size() << " tensors, " << table->samples << " samples, " << table->method << '\n';
    return cli::finish(kTool, {});
  }

  const DumpFolder dumps(options.dump_graphs_dir);
  auto result = build(flags.model, options);
  line.clear();
  if (!result.ok() && result.status().code() == StatusCode::kInterrupted) dumps.undo();
  if (!result.ok()) return fail(result.status());
  for (const std::string& warning : result->warnings) std::cerr << kTool << ": note: " << warning << '\n';
  if (!flags.save_table.empty()) {
    if (!result->calibration_table) return cli::fail(kTool, Status(StatusCode::kInvalidArgument, "--save-calib-table: this build made no table"));
    if (Status status = write_table(*result->calibration_table); !status.ok()) return fail(status);
  }
  if (Status status = outputs.write(flags.report, std::as_bytes(std::span(result->report_json))); !status.ok()) return fail(status);
  if (*options.stop) return fail(Status(StatusCode::kInterrupted, "build: interrupted before the engine was written"));
  if (Status status = outputs.write(flags.output, result->engine); !status.ok()) return fail(status);

  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const auto report = nlohmann::json::parse(result->report_json);
  const auto& summary = report["summary"];
  nlohmann::json json = {{"engine", flags.output}, {"engine_bytes", result->engine.size()}, {"seconds", seconds},
                         {"summary", summary}, {"memory", report["memory"]}, {"warnings", result->warnings}};
  if (Status status = cli::write_json(standard, json); !status.ok()) return fail(status);
  outputs.keep();
  std::printf("%s: %.1f KB, %d layers (%d in int8), arena %.1f KB, %.1f s\n", flags.output.c_str(),
              static_cast<double>(result->engine.size()) / 1e3, summary["layers"].get<int>(), summary["int8_layers"].get<int>(),
              report["memory"]["arena_bytes"].get<double>() / 1e3, seconds);
  if (report["run_allocates"].get<bool>()) std::printf("runs of this engine allocate: some layers are oneDNN's (--tactics)\n");
  if (report.contains("fp16")) std::printf("fp16: %s\n", report["fp16"].get<std::string>().c_str());
  if (report.contains("bf16")) std::printf("bf16: %s\n", report["bf16"].get<std::string>().c_str());
  return cli::finish(kTool, {});
}
